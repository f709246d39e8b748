"""Writes test/golden/print.json: arrays and how NumPy prints them.

Run: python -P tools/golden/print.py > test/golden/print.json
"""
import json
import numpy as np

rng = np.random.RandomState(7)
f32, f64 = np.float32, np.float64
arrays = [
    np.array([-0.0036429009, 0.5], f32), np.array([[1e-5, 1], [2.5, 1000.5]], f32), np.array([1e10, 1.5], f32),
    np.array([0.1, 0.25], f32), np.array([[-1.5, 2]], f32), np.array([], f32), np.zeros((2, 0, 3), f32),
    np.array([1.5, 2], np.float16), np.array([0.1, 3.14, 65504], np.float16), np.array([0.1, 1 / 3], f64),
    np.array([[1.5, np.nan, np.inf], [-1e10, 1e-10, 2]], f32), np.array([np.nan, -np.inf, 1.25], f32),
    np.array([np.nan, np.inf], f32), np.array([1e-5, 1e-6], f32), np.array([123456.789, 0.001], f32),
    np.array([1, 2, 3], f32), np.array([0, -0.0, 0], f32), np.array([0.02161124, 0.00898417, -0.0036429, -0.01626997], f32),
    np.array([1e16, 1], f64), np.array([99999999, 1e6], f64), np.array([1e300, -1e-300], f64), np.array([1e-4, 0.1], f64),
    rng.randn(3, 4).astype(f32), rng.randn(2, 3, 2).astype(f32), rng.randn(20).astype(f32), rng.randn(2, 15), rng.randn(40) * 1e9,
    np.arange(1500, dtype=f32) / 7, np.arange(1200, dtype=f32).reshape(40, 30), np.arange(2000, dtype=np.int32).reshape(2, 10, 100),
    np.arange(40, dtype=np.int32), np.array([-5, 100, 7], np.int64), np.array([[True, False], [False, False]]), np.array([200, 3], np.uint8),
    np.array([1 + 2j, 3.5 - 1j], np.complex128), np.array([[0.1 + 1e-7j, -2j]], np.complex64), np.array([np.nan * 1j, 1], np.complex64),
    f32(1e-7), f32(0.1), f32(3), f32(-2.5), f64(1e22), f64(1 / 3), f64(1e-5), f32(np.nan), f32(-np.inf), np.int32(7), np.bool_(True), f64(123456789.125),
]


def number(x):
    if isinstance(x, complex):
        return [number(x.real), number(x.imag)]
    if isinstance(x, float) and not np.isfinite(x):
        return str(x)
    if isinstance(x, float) and x == 0 and np.signbit(x):
        return '-0'
    return x


rows = [{'dtype': a.dtype.name, 'shape': list(a.shape), 'values': [number(x) for x in a.ravel().tolist()], 'text': str(a)} for a in arrays]
texts = [b'a', 'b\u00e9'.encode(), b"it's", b'two\n"lines"', b'back\\slash', b'\x00\xff']
rows.append({'dtype': 'string', 'shape': [len(texts)], 'values': [list(t) for t in texts], 'text': str(np.array(texts, object))})
print('[\n' + ',\n'.join(json.dumps(row, separators=(',', ':')) for row in rows) + '\n]')
