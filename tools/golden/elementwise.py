"""Writes what TensorFlow's elementwise functions build and give: elementwise.py OUTPUT.

`graphs`: for a call, the nodes it adds together with those of its first and second gradients, and their values.
`values`: for an op, its results on each element type that TensorFlow's CPU kernels take.
"""
import base64
import json
import sys

import numpy as np
import tensorflow as tensorflow

tf = tensorflow.compat.v1
tf.disable_eager_execution()
tf.enable_resource_variables()
random = np.random.RandomState(3)

FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
SIGNED = ["int8", "int16", "int32", "int64"]
INTEGERS = SIGNED + ["uint8", "uint16", "uint32", "uint64"]

UNARY = """abs negative sign square sqrt rsqrt reciprocal exp expm1 log log1p sin cos tan asin acos atan sinh cosh tanh
asinh acosh atanh sigmoid erf erfc erfinv ndtri lgamma digamma floor round log_sigmoid real imag conj angle zeros_like
ones_like erfcinv reciprocal_no_nan""".split()
BINARY = """add subtract multiply divide div realdiv floordiv floormod truncatediv div_no_nan multiply_no_nan pow maximum
minimum squared_difference xdivy xlogy xlog1py atan2 igamma igammac zeta polygamma nextafter complex less equal
not_equal""".split()
OPERATORS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "pow": lambda x, y: x**y,
    "less": lambda x, y: x < y,
    "greaterEqual": lambda x, y: x >= y,
}
# Where a function is defined and smooth.
RANGES = {
    "acosh": (1.1, 4), "sqrt": (0.2, 3), "rsqrt": (0.2, 3), "log": (0.2, 3), "log1p": (0.2, 3), "lgamma": (0.5, 4),
    "digamma": (0.5, 4), "ndtri": (0.05, 0.95), "erfcinv": (0.1, 1.9), "igamma": (0.5, 4), "igammac": (0.5, 4),
    "zeta": (1.5, 4), "polygamma": (1, 4), "pow": (0.5, 2), "xlogy": (0.5, 3), "xlog1py": (0.5, 3), "xdivy": (0.5, 3),
}  # fmt: skip


def packed(array):
    array = np.asarray(array)
    return {"dtype": array.dtype.name, "shape": list(array.shape), "bytes": base64.b64encode(array.tobytes()).decode()}


def function(name):
    return getattr(tf, name) if hasattr(tf, name) else getattr(tf.math, name)


def example(dtype, shape, low, high):
    kind = getattr(tf, dtype).as_numpy_dtype
    if dtype == "bool":
        return np.asarray(random.rand(*shape) < 0.5)
    if dtype in INTEGERS:
        return np.asarray(random.randint(1, 9, shape)).astype(kind)
    value = random.uniform(low, high, shape)
    if dtype in COMPLEX:
        value = value + 1j * random.uniform(low, high, shape)
    return np.asarray(value).astype(kind)


graphs = []


def graph(call, build, inputs, order=2):
    """`inputs` are (dtype, static shape, shape of the value)."""
    with tf.Graph().as_default() as g:
        low, high = RANGES.get(call[1], (0.1, 0.9))
        xs = [tf.placeholder(getattr(tf, dtype), static) for dtype, static, _ in inputs]
        values = [example(dtype, shape, low, high) for dtype, _, shape in inputs]
        if call[1] == "polygamma":
            values[0] = np.round(values[0])
        result = build(*xs)
        fetches = list(result) if isinstance(result, (list, tuple)) else [result]
        present = []
        level = fetches
        for _ in range(order):
            level = tf.gradients([tf.real(t) if t.dtype.is_complex else t for t in level], xs)
            present.append([t is not None for t in level])
            level = [t for t in level if t is not None]
            fetches = fetches + level
            if not level:
                break
        nodes = [" ".join([n.name, n.op, *n.input]) for n in g.as_graph_def().node]
        with tf.Session() as session:
            outputs = session.run(fetches, dict(zip(xs, values)))
    graphs.append({
        "call": call,
        "inputs": [[dtype, static] for dtype, static, _ in inputs],
        "feeds": [packed(v) for v in values],
        "gradients": present,
        "nodes": nodes,
        "outputs": [packed(v) for v in outputs],
    })  # fmt: skip


for name in UNARY:
    for dtype in ["float32", "complex128"]:
        if dtype == "complex128" and name in ["erf", "erfc", "erfinv", "erfcinv", "ndtri", "lgamma", "digamma", "floor", "round", "log_sigmoid"]:
            continue
        graph(["function", name], function(name), [(dtype, [2], (2,))], order=2 if dtype == "float32" else 1)
    graph(["function", name], function(name), [("float64", [None], (3,))], order=0)
no_gradient = ["less", "equal", "not_equal"]
for name in BINARY:
    for left, right, x, y in [
        ([2, 2], [2, 2], (2, 2), (2, 2)),
        ([2, 1], [1, 2], (2, 1), (1, 2)),
        ([None, 2], [2], (2, 2), (2,)),
        ([None, 2], [None, 2], (1, 2), (2, 2)),
        ([], [2], (), (2,)),
    ]:
        order = 0 if name in no_gradient else 2 if left == [2, 2] and name not in ["igamma", "igammac"] else 1
        graph(["function", name], function(name), [("float32", left, x), ("float32", right, y)], order)
for name, build in OPERATORS.items():
    order = 0 if name in ["less", "greaterEqual"] else 1
    graph(["operator", name], build, [("float32", [2, 2], (2, 2)), ("float32", [2], (2,))], order)
    for dtype in ["float32", "int32"]:
        graph(["literal", name], lambda x, build=build: build(x, 2), [(dtype, [2], (2,))], 0)
pair = [("bool", [2], (2,))] * 2
graph(["operator", "logicalAnd"], lambda x, y: x & y, pair, 0)
graph(["operator", "logicalOr"], lambda x, y: x | y, pair, 0)
graph(["operator", "logicalXor"], lambda x, y: x ^ y, pair, 0)
graph(["operator", "mul"], lambda x, y: x * y, pair, 0)
for source, target in [("float32", "float64"), ("float32", "int32"), ("complex64", "complex128"), ("float32", "float32")]:
    graph(["cast", target], lambda x: tf.cast(x, getattr(tf, target)), [(source, [2], (2,))], 1)
for source, target in [("float32", "uint8"), ("float32", "int32"), ("int32", "uint8"), ("bfloat16", "half"), ("float64", "float32")]:
    graph(["saturateCast", target], lambda x: tf.saturate_cast(x, getattr(tf, target)), [(source, [2], (2,))], 0)
square = ("float32", [2, 2], (2, 2))
for condition, shape in [([2, 2], (2, 2)), ([2], (2,)), ([], ())]:
    graph(["function", "where"], tf.where, [("bool", condition, shape), square, square])
graph(["function", "where_v2"], tf.where_v2, [("bool", [2, 1], (2, 1)), ("float32", [2], (2,)), ("float32", [], ())])
graph(["list", "add_n"], lambda *xs: tf.add_n(xs), [square] * 3)
graph(["list", "global_norm"], lambda *xs: tf.global_norm(xs), [square, ("float32", [2], (2,))])
graph(["bounds", "clip_by_value"], lambda x: tf.clip_by_value(x, 0.25, 0.75), [square])
graph(["bound", "clip_by_norm"], lambda x: tf.clip_by_norm(x, 0.5), [square])
graph(["bound", "clip_by_average_norm"], lambda x: tf.clip_by_average_norm(x, 0.5), [square])
graph(["lists", "clip_by_global_norm"], lambda *xs: tf.clip_by_global_norm(xs, 0.5)[0], [square, ("float32", [2], (2,))], 1)
graph(["raw", "ClipByValue"], lambda x, a, b: tf.raw_ops.ClipByValue(t=x, clip_value_min=a, clip_value_max=b), [square, ("float32", [], ()), square], 1)

values = []
SPECIAL = [0.0, -0.0, 1.0, -1.5, 2.5, 0.5, np.inf, -np.inf, np.nan, 1e-3, -100.0, 30.0]


def operand(dtype, kind="any"):
    count = len(SPECIAL)
    numpy_type = getattr(tf, dtype).as_numpy_dtype
    if dtype in COMPLEX:
        return (random.randn(count) + 1j * random.randn(count)).astype(numpy_type)
    if dtype in INTEGERS:
        limits = np.iinfo(numpy_type)
        ints = random.randint(max(limits.min, -20), 21, count).astype(numpy_type)
        ints[:4] = [limits.max, limits.min, 0, 1]
        if kind == "divisor":
            ints[ints == 0] = 3
        if kind == "small":
            ints = random.randint(0, 5, count).astype(numpy_type)
        return ints
    if kind == "shuffled":
        return random.permutation(SPECIAL).astype(numpy_type)
    return np.array(SPECIAL).astype(numpy_type)


def value(op, inputs, **attrs):
    with tf.Graph().as_default():
        types = {k: getattr(tf, v) if isinstance(v, str) else v for k, v in attrs.items()}
        outputs = getattr(tf.raw_ops, op)(**{k: tf.constant(v) for k, v in inputs.items()}, **types)
        with tf.Session() as session:
            result = session.run(outputs)
    values.append({"op": op, "attrs": attrs, "inputs": [packed(v) for v in inputs.values()], "output": packed(result)})


def each(ops, dtypes, ports, second="shuffled"):
    for op in ops.split():
        for dtype in dtypes:
            inputs = {port: operand(dtype, "any" if i == 0 else second) for i, port in enumerate(ports)}
            value(op, inputs)


each("AddV2 Sub Mul Maximum Minimum", FLOATS + INTEGERS, "xy")
each("AddV2 Sub Mul RealDiv Pow DivNoNan SquaredDifference Equal Xlogy", COMPLEX, "xy")
each("RealDiv FloorDiv FloorMod Pow MulNoNan DivNoNan SquaredDifference Xdivy Xlogy Xlog1py", FLOATS, "xy")
each("TruncateDiv FloorDiv FloorMod", INTEGERS, "xy", "divisor")
each("Pow", SIGNED, "xy", "small")
each("Equal NotEqual Less LessEqual Greater GreaterEqual", ["float32", "bfloat16", "int8", "uint64"], "xy")
each("BitwiseAnd BitwiseOr BitwiseXor", INTEGERS, "xy")
each("LeftShift RightShift", INTEGERS, "xy", "small")
each("Invert PopulationCount", INTEGERS, "x")
each("Neg Sign", FLOATS + COMPLEX + SIGNED, "x")
each("Abs", FLOATS + SIGNED, "x")
each("Square", FLOATS + COMPLEX + INTEGERS, "x")
each("Exp Expm1 Log Log1p Sqrt Rsqrt Reciprocal Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Sigmoid", FLOATS + COMPLEX, "x")
each("Floor Ceil Round Erfc IsNan IsInf IsFinite", FLOATS, "x")
each("Erf Lgamma Digamma Rint", ["float32"], "x")
each("TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad", FLOATS + COMPLEX, ["y", "dy"])
each("NextAfter", ["float32", "float64"], ["x1", "x2"])
each("Atan2", FLOATS, ["y", "x"])
for source in FLOATS + COMPLEX + INTEGERS + ["bool"]:
    for target in ["float16", "bfloat16", "float32", "float64", "complex64", "int8", "uint8", "int32", "uint64", "bool"]:
        if source == "bool":
            given = np.array([True, False])
        elif source in FLOATS and target not in FLOATS:
            # What an integer type cannot hold is undefined in C, and TensorFlow's kernels differ among themselves.
            given = np.array([0.0, 1.9, 2.5, 100.5]).astype(getattr(tf, source).as_numpy_dtype)
        elif source in COMPLEX:
            given = np.abs(operand(source)).astype(getattr(tf, source).as_numpy_dtype)
        else:
            given = operand(source)
        value("Cast", {"x": given}, DstT=target)
for target in ["bfloat16", "float16"]:
    value("Cast", {"x": operand("float32")}, DstT=target, Truncate=True)

with open(sys.argv[1], "w") as file:
    rows = lambda items: "[\n" + ",\n".join(json.dumps(x, separators=(",", ":")) for x in items) + "\n]"
    file.write('{"graphs":' + rows(graphs) + ',\n"values":' + rows(values) + "}\n")
