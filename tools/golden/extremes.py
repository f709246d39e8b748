"""Writes what TensorFlow gives for zeros of both signs, denormals, the ends of the range, infinities and NaN: extremes.py OUTPUT.

The body of an array and its end go through different code in TensorFlow, which gives different answers in places: `outputs` has
those of a long array, and those of the same elements in arrays of three where these are others.
"""
import base64
import json
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

UNARY = """Abs Neg Sign Square Sqrt Rsqrt Reciprocal Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh
Sigmoid Erfc Floor Ceil Rint Round IsNan IsInf IsFinite Relu Relu6 Softplus Softsign LeakyRelu""".split()
BINARY = """AddV2 Sub Mul RealDiv DivNoNan FloorMod TruncateMod Pow Maximum Minimum SquaredDifference NextAfter MulNoNan Xdivy Equal
NotEqual Less LessEqual Greater GreaterEqual ReciprocalGrad SqrtGrad RsqrtGrad TanhGrad SigmoidGrad EluGrad SeluGrad
SoftplusGrad SoftsignGrad LeakyReluGrad""".split()
# Of rows of three.
FOLDS = "Sum Prod Max Min Mean ArgMax ArgMin Cumsum Cumprod".split()
NORMS = ["Softmax", "LogSoftmax"]


def specials(dtype):
    info = np.finfo(dtype)
    below = np.nextafter(info.tiny, dtype(0))
    sizes = [0, below, info.tiny, 1, 0.5, info.max, np.inf]
    return np.array([s * np.float64(x) for x in sizes for s in (1, -1)] + [np.nan], dtype)


def packed(array):
    return {"dtype": array.dtype.name, "shape": list(array.shape), "bytes": base64.b64encode(array.tobytes()).decode()}


def run(op, inputs):
    raw = getattr(tf.raw_ops, op)
    names = list(raw.__signature__.parameters)
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = {}
        outputs = []
        for group in inputs:
            tensors = []
            for value in group:
                tensor = tf.placeholder(value.dtype, value.shape) if value.ndim else tf.constant(value)
                if value.ndim:
                    feeds[tensor] = value
                tensors.append(tensor)
            found = raw(**dict(zip(names, tensors)))
            outputs.append(found)
        return session.run(outputs, feeds)


def same(a, b):
    one = lambda x: np.where(np.isnan(x), np.array(np.nan, x.dtype), x) if x.dtype.kind == "f" else x
    return one(a).tobytes() == one(b).tobytes()


def case(op, arguments, names, width=3):
    """In one piece, and in pieces of three rows."""
    inputs = [arguments[name] for name in names]
    (whole,) = run(op, [inputs])
    cut = lambda x, i: x[i : i + width] if x.ndim else x
    pieces = np.concatenate(run(op, [[cut(x, i) for x in inputs] for i in range(0, len(inputs[0]), width)]))
    outputs = [whole] if same(whole, pieces) else [whole, pieces]
    return {"op": op, "inputs": names, "outputs": [packed(x) for x in outputs]}


def main():
    arguments, cases = {"axis": np.array(1, np.int32)}, []
    for dtype in (np.float32, np.float64):
        values = specials(dtype)
        first, second = [x.ravel() for x in np.meshgrid(values, values, indexing="ij")]
        many, x, y, rows = [f"{dtype.__name__} {name}" for name in ("values", "x", "y", "rows")]
        # Values often enough to fill vectors.
        arguments |= {many: np.tile(values, 4), x: first, y: second, rows: np.stack([first, np.ones_like(first), second], 1)}
        cases += [case(op, arguments, [many]) for op in UNARY]
        cases += [case(op, arguments, [x, y]) for op in BINARY]
        cases += [case(op, arguments, [rows, "axis"] if op in FOLDS else [rows]) for op in FOLDS + NORMS]
    lines = lambda items: ",\n".join(json.dumps(item) for item in items)
    with open(sys.argv[1], "w") as file:
        shared = ",\n".join(f"{json.dumps(name)}: {json.dumps(packed(value))}" for name, value in arguments.items())
        file.write(f'{{"arguments": {{\n{shared}\n}},\n"cases": [\n{lines(cases)}\n]}}\n')


main()
