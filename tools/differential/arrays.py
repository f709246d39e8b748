"""Arrays of the record files, and how far two of them are apart."""
import base64

import ml_dtypes
import numpy as np

special = {"bfloat16": ml_dtypes.bfloat16}

# Largest relative difference that counts as equal, by type.
tolerances = {
    "float16": 4e-3,
    "bfloat16": 3.2e-2,
    "float32": 2e-5,
    "float64": 1e-9,
    "complex64": 2e-5,
    "complex128": 1e-9,
}


def read(record):
    shape = record["shape"]
    if record["dtype"] == "string":
        flat = [base64.b64decode(x) for x in record["data"]]
        array = np.empty(len(flat), dtype=object)
        array[:] = flat
        return array.reshape(shape)
    dtype = np.dtype(special.get(record["dtype"], record["dtype"]))
    return np.frombuffer(base64.b64decode(record["data"]), dtype=dtype).reshape(shape)


def difference(ours, theirs):
    """The largest relative difference; a text when type or shape differ."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype == object or theirs.dtype == object:
        same = ours.shape == theirs.shape and all(a == b for a, b in zip(ours.flat, theirs.flat))
        return 0.0 if same else f"strings differ: {ours.tolist()} vs {theirs.tolist()}"
    if ours.dtype != theirs.dtype:
        return f"type {ours.dtype} vs {theirs.dtype}"
    if ours.shape != theirs.shape:
        return f"shape {list(ours.shape)} vs {list(theirs.shape)}"
    if ours.size == 0:
        return 0.0
    if ours.dtype.kind in "iub":
        return 0.0 if np.array_equal(ours, theirs) else f"{ours.tolist()} vs {theirs.tolist()}"
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    a, b = ours.astype(wide).ravel(), theirs.astype(wide).ravel()
    if wide is np.complex128:
        a, b = a.view(np.float64), b.view(np.float64)
    worst = 0.0
    for x, y in zip(a, b):
        if x == y or (np.isnan(x) and np.isnan(y)):
            continue
        if not (np.isfinite(x) and np.isfinite(y)):
            return f"{x} vs {y}"
        worst = max(worst, abs(x - y) / max(1.0, abs(y)))
    return worst


def verdict(ours, theirs, tolerance=None):
    """(difference, complaint or None)."""
    d = difference(ours, theirs)
    if isinstance(d, str):
        return float("inf"), d[:300]
    limit = max(tolerance or 0.0, tolerances.get(np.asarray(ours).dtype.name, 0.0))
    if d > limit:
        return d, f"differs by {d:.3g}: {np.asarray(ours).ravel()[:6]} vs {np.asarray(theirs).ravel()[:6]}"
    return d, None
