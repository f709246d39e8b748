"""Zeros of both signs, denormals, the ends of the range, infinities and NaN, through every op that computes with floats:
on tensorloom servers and on TensorFlow itself.

    python extremes.py LEVEL=grpc://localhost:PORT… [PATTERN]

Every combination of such arguments is tried in vectors of several lengths, since what vector code does to the body of an array and
to its end may differ. Where TensorFlow does not agree with itself about a combination, any of its answers will do; ours must be
the same everywhere. NaN are all alike; numbers that are neither zero, infinite nor NaN need only be near each other.
What differs and may do so is in extremes.json, with the reason. PATTERN picks probes by name.
"""
import json
import os
import re
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")

import ml_dtypes
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

TARGETS = dict(given.split("=", 1) for given in sys.argv[1:] if "=grpc" in given)
ONLY = next((given for given in sys.argv[1:] if "=grpc" not in given), "")
LENGTHS = [1, 3, 8, 16, 17, 37]
FLOATS = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
NEAR = {"float32": 2e-5, "float64": 1e-9, "float16": 4e-3, "bfloat16": 3.2e-2}


def specials(dtype):
    info = ml_dtypes.finfo(dtype)
    tiny = info.smallest_normal
    below = np.nextafter(np.array(tiny, dtype), np.array(0, dtype))
    sizes = [0.0, info.smallest_subnormal, below, tiny, 1.0, 0.5, 3.0, np.array(info.max, np.float64) / 16, info.max, np.inf]
    return np.array([s * float(x) for x in sizes for s in (1, -1)] + [np.nan], np.float64).astype(dtype)


class Probe:
    """A graph with inputs, and results of which each element belongs to a combination of arguments."""

    def __init__(self, dtype):
        self.dtype, self.feeds, self.fetches, self.arguments = dtype, {}, [], []

    def tensor(self, value):
        x = tf.placeholder(value.dtype, value.shape)
        self.feeds[x] = value
        return x

    def expect(self, tensor, names):
        """`names` says what each element of the tensor comes from: equal names, equal answers."""
        assert tensor.shape.num_elements() == len(names), (tensor.shape, len(names))
        self.fetches.append(tensor)
        self.arguments.append(names)


def stretches(count, length):
    """All of `count` in vectors of one length; the last begins again from the front."""
    for start in range(0, count, length):
        yield np.arange(start, start + length) % count


def elementwise(op, arity, fuse=True):
    """Alone, of every second element of an array, between choices that change nothing, and broadcast."""

    def between(p, length):
        """The op of arguments that are chosen, its result chosen too."""
        truth = p.tensor(np.full(length, True))
        keep = lambda x: tf.where(truth, x, tf.zeros_like(x))
        return lambda *xs: keep(op(*[keep(x) for x in xs]))

    def build(p):
        values = specials(p.dtype)
        shown = [text(v) for v in values]
        grid = [g.ravel() for g in np.meshgrid(*[np.arange(len(values))] * arity, indexing="ij")]
        for length in LENGTHS if arity == 1 else [3, 17]:
            for at in stretches(len(grid[0]), length):
                parts = [values[g[at]] for g in grid]
                names = [", ".join(shown[g[i]] for g in grid) for i in at]
                p.expect(op(*map(p.tensor, parts)), names)
                if length == 17:
                    p.expect(op(*[p.tensor(np.stack([x, x], 1))[:, 0] for x in parts]), names)
                    if fuse:
                        p.expect(between(p, length)(*map(p.tensor, parts)), names)
        if arity == 2:
            whole = p.tensor(values)
            for v, name in zip(values, shown):
                one = p.tensor(np.array(v, p.dtype))
                p.expect(op(whole, one), [f"{u}, {name}" for u in shown])
                p.expect(op(one, whole), [f"{name}, {u}" for u in shown])
            p.expect(op(p.tensor(values[:, None]), whole), [f"{u}, {v}" for u in shown for v in shown])

    return build


def gradient(op, arity):
    """Derivatives by every argument, for every gradient that may come in."""

    def build(p):
        values = specials(p.dtype)
        shown = [text(v) for v in values]
        grid = [g.ravel() for g in np.meshgrid(*[np.arange(len(values))] * (arity + 1), indexing="ij")]
        if arity == 2:  # one more argument makes too many combinations: only some gradients
            keep = np.isin(grid[2], [i for i, s in enumerate(shown) if s in ("0", "1", "NaN")])
            grid = [g[keep] for g in grid]
        for length in [3, 37]:
            if length == 3 and arity == 2:
                continue
            for at in stretches(len(grid[0]), length):
                *xs, dy = [p.tensor(values[g[at]]) for g in grid]
                for i, found in enumerate(tf.gradients(op(*xs), xs, dy)):
                    if found is not None:
                        p.expect(tf.convert_to_tensor(found), [f"d/d{i} at " + ", ".join(shown[g[k]] for g in grid) for k in at])

    return build


def reduction(op, axis):
    """Rows of ones or zeros with one special value at the front and one at the end."""

    def build(p):
        values = specials(p.dtype)
        shown = [text(v) for v in values]
        values, shown = zip(*[(v, s) for v, s in zip(values, shown) if not re.fullmatch(r"-?(0\.5|3|[\d.]+e\+\d+|3840|4094)", s)])
        for length in LENGTHS:
            for filler in (1, 0):
                pairs = [(i, j) for i in range(len(values)) for j in range(len(values))] if length > 1 else [(i, i) for i in range(len(values))]
                rows = np.full((len(pairs), length), filler, p.dtype)
                rows[:, 0], rows[:, -1] = [values[i] for i, _ in pairs], [values[j] for _, j in pairs]
                y = op(p.tensor(rows if axis == 1 else rows.T.copy()), axis)
                names = [f"[{shown[i]}, {length - 2} x {filler}, {shown[j]}]" if length > 1 else f"[{shown[i]}]" for i, j in pairs]
                if y.shape.ndims > 1:
                    y = y if axis == 1 else tf.transpose(y)
                    names = [f"{name} at {i}" for name in names for i in range(y.shape[1])]
                elif length in (3, 37) and filler == 1:
                    for name, row in list(zip(names, rows))[::29]:
                        alone = op(p.tensor(row if axis == 0 else row[None, :]), axis)
                        p.expect(alone if axis == 1 else alone[None], [name])
                p.expect(y, names)

    return build


def cast(to):
    def build(p):
        more = [127.5, 128, 255, 256, 129, 32767, 32768, 65535, 65536, 2147483520, 2147483648, 2147483904, 4294967040, 4294967296, 9.2e18,
                9.3e18, 1.8e19, 1.9e19, 2.5, 65504, 65519, 65520, 3.4e38, 3.5e38, 1e-40, 1e-45, 6e-8, 3e-8, 1e-310]  # fmt: skip
        with np.errstate(all="ignore"):
            values = np.concatenate([specials(p.dtype), np.array(more).astype(p.dtype), -np.array(more).astype(p.dtype)])
        for length in LENGTHS:
            for at in stretches(len(values), length):
                p.expect(tf.cast(p.tensor(values[at]), to), [text(x) for x in values[at]])

    return build


UNARY = dict(
    abs=tf.abs, neg=tf.negative, sign=tf.sign, square=tf.square, sqrt=tf.sqrt, rsqrt=tf.rsqrt, reciprocal=tf.math.reciprocal, exp=tf.exp,
    expm1=tf.math.expm1, log=tf.log, log1p=tf.math.log1p, sin=tf.sin, cos=tf.cos, tan=tf.tan, asin=tf.asin, acos=tf.acos, atan=tf.atan,
    sinh=tf.sinh, cosh=tf.cosh, tanh=tf.tanh, asinh=tf.asinh, acosh=tf.acosh, atanh=tf.atanh, sigmoid=tf.sigmoid, erf=tf.math.erf,
    erfc=tf.math.erfc, erfinv=tf.math.erfinv, ndtri=tf.math.ndtri, lgamma=tf.lgamma, digamma=tf.digamma, floor=tf.floor, ceil=tf.ceil, rint=tf.math.rint,
    round=tf.round, relu=tf.nn.relu, relu6=tf.nn.relu6, elu=tf.nn.elu, selu=tf.nn.selu, softplus=tf.nn.softplus, softsign=tf.nn.softsign,
    leaky_relu=tf.nn.leaky_relu, log_sigmoid=tf.math.log_sigmoid, i0e=tf.math.bessel_i0e, i1e=tf.math.bessel_i1e, swish=tf.nn.swish,
    identity=tf.identity,
)  # fmt: skip
TESTS = dict(is_nan=tf.is_nan, is_inf=tf.is_inf, is_finite=tf.is_finite)
KINKS = {"sign", "floor", "ceil", "rint", "round"}
zero = lambda x: tf.constant(0, x.dtype)
one = lambda x: tf.constant(1, x.dtype)
zeros = lambda x: tf.zeros(x.shape, x.dtype)
ones = lambda x: tf.ones(x.shape, x.dtype)
IDENTITIES = {
    "x + 0": lambda x: x + zero(x),
    "0 + x": lambda x: zero(x) + x,
    "x + -0": lambda x: x + tf.constant(-0.0, x.dtype),
    "x - 0": lambda x: x - zero(x),
    "0 - x": lambda x: zero(x) - x,
    "x * 1": lambda x: x * one(x),
    "1 * x": lambda x: one(x) * x,
    "x * 0": lambda x: x * zero(x),
    "x / 1": lambda x: x / one(x),
    "x * -1": lambda x: x * -one(x),
    "x * 2 * 0.5": lambda x: x * tf.constant(2, x.dtype) * tf.constant(0.5, x.dtype),
    "x + zeros": lambda x: x + zeros(x),
    "x - zeros": lambda x: x - zeros(x),
    "x * ones": lambda x: x * ones(x),
    "x * zeros": lambda x: x * zeros(x),
    "x / ones": lambda x: x / ones(x),
    "zeros / x": lambda x: zeros(x) / x,
    "zeros_like(x)": lambda x: tf.zeros_like(x) * x,
    "x ^ 0": lambda x: tf.pow(x, zero(x)),
    "x ^ 1": lambda x: tf.pow(x, one(x)),
    "x ^ 2": lambda x: tf.pow(x, tf.constant(2, x.dtype)),
    "x ^ 3": lambda x: tf.pow(x, tf.constant(3, x.dtype)),
    "x ^ 0.5": lambda x: tf.pow(x, tf.constant(0.5, x.dtype)),
    "x ^ -0.5": lambda x: tf.pow(x, tf.constant(-0.5, x.dtype)),
    "x ^ -1": lambda x: tf.pow(x, tf.constant(-1, x.dtype)),
    "x - x": lambda x: x - x,
    "x / x": lambda x: x / x,
    "x + x": lambda x: x + x,
    "x * x": lambda x: x * x,
    "-(-x)": lambda x: -(-x),
    "1 / (1 / x)": lambda x: tf.math.reciprocal(tf.math.reciprocal(x)),
    "sqrt(x) * sqrt(x)": lambda x: tf.sqrt(x) * tf.sqrt(x),
    "x / 2": lambda x: x / tf.constant(2, x.dtype),
    "x * 3 + x * 3": lambda x: x * tf.constant(3, x.dtype) + x * tf.constant(3, x.dtype),
    "log(exp(x))": lambda x: tf.log(tf.exp(x)),
    "exp(-log(x))": lambda x: tf.exp(-tf.log(x)),
    "max(x, 0)": lambda x: tf.maximum(x, zero(x)),
    "max(0, x)": lambda x: tf.maximum(zero(x), x),
    "min(x, 0)": lambda x: tf.minimum(x, zero(x)),
    "clip": lambda x: tf.clip_by_value(x, -one(x), one(x)),
    "clip at 0": lambda x: tf.clip_by_value(x, zero(x), one(x)),
    "x == x": lambda x: tf.cast(tf.equal(x, x), x.dtype),
    "AddN([x])": lambda x: tf.add_n([x]),
    "AddN([x, 0])": lambda x: tf.add_n([x, zeros(x)]),
    "AddN([x, x, x])": lambda x: tf.add_n([x, x, x]),
    "cast there and back": lambda x: tf.cast(tf.cast(x, tf.float64 if x.dtype != tf.float64 else tf.float32), x.dtype),
    "abs(abs)": lambda x: tf.abs(tf.abs(x)),
    "stop_gradient": tf.stop_gradient,
    "where(x > 0, x, 0)": lambda x: tf.where(x > 0, x, zeros(x)),
    "where(isnan, 0, x)": lambda x: tf.where(tf.is_nan(x), zeros(x), x),
    "concat": lambda x: tf.concat([x, x], 0)[x.shape[0] :],
    "gather": lambda x: tf.gather(x, list(range(x.shape[0]))),
    "pad": lambda x: tf.pad(x, [[1, 1]])[1:-1],
    "tile": lambda x: tf.tile(x, [2])[x.shape[0] :],
    "reverse": lambda x: tf.reverse(tf.reverse(x, [0]), [0]),
    "x * sigmoid(x)": lambda x: x * tf.sigmoid(x),
    "matmul by 1": lambda x: tf.reshape(tf.matmul(tf.reshape(x, [-1, 1]), tf.ones([1, 1], x.dtype)), [-1]),
    "bias_add 0": lambda x: tf.reshape(tf.nn.bias_add(tf.reshape(x, [-1, 1]), tf.zeros([1], x.dtype)), [-1]),
    "sum of one": lambda x: tf.reduce_sum(tf.reshape(x, [-1, 1]), 1),
    "mean of one": lambda x: tf.reduce_mean(tf.reshape(x, [-1, 1]), 1),
    "max of one": lambda x: tf.reduce_max(tf.reshape(x, [-1, 1]), 1),
    "prod of one": lambda x: tf.reduce_prod(tf.reshape(x, [-1, 1]), 1),
}  # fmt: skip
BINARY = dict(
    add=tf.add, sub=tf.subtract, mul=tf.multiply, div=tf.realdiv, div_no_nan=tf.div_no_nan, floordiv=tf.floordiv, floormod=tf.floormod,
    truncatemod=tf.truncatemod, pow=tf.pow, maximum=tf.maximum, minimum=tf.minimum, squared_difference=tf.math.squared_difference, atan2=tf.atan2,
    nextafter=tf.math.nextafter, xdivy=tf.math.xdivy, xlogy=tf.math.xlogy, multiply_no_nan=tf.math.multiply_no_nan, xlog1py=tf.math.xlog1py,
    where=lambda x, y: tf.where(x > y, x, y),
)  # fmt: skip
SPECIAL_BINARY = dict(igamma=tf.igamma, igammac=tf.igammac, zeta=tf.zeta, polygamma=tf.polygamma)
COMPARE = dict(
    eq=tf.equal, ne=tf.not_equal, lt=tf.less, le=tf.less_equal, gt=tf.greater, ge=tf.greater_equal,
    approximate=lambda x, y: tf.raw_ops.ApproximateEqual(x=x, y=y, tolerance=1e-5),
)  # fmt: skip
REDUCTIONS = dict(
    sum=tf.reduce_sum, prod=tf.reduce_prod, max=tf.reduce_max, min=tf.reduce_min, mean=tf.reduce_mean, logsumexp=tf.reduce_logsumexp,
    argmax=tf.argmax, argmin=tf.argmin, norm=lambda x, a: tf.norm(x, axis=a), norm1=lambda x, a: tf.norm(x, ord=1, axis=a),
    norminf=lambda x, a: tf.norm(x, ord=np.inf, axis=a), variance=tf.math.reduce_variance, euclidean=tf.math.reduce_euclidean_norm,
    any=lambda x, a: tf.reduce_any(tf.is_nan(x), a), all=lambda x, a: tf.reduce_all(x > 0, a), count=tf.math.count_nonzero,
    cumsum=tf.cumsum, cumprod=tf.cumprod, cumsum_reverse=lambda x, a: tf.cumsum(x, a, exclusive=True, reverse=True),
    cumlogsumexp=tf.math.cumulative_logsumexp, l2_normalize=lambda x, a: tf.math.l2_normalize(x, a),
    standardize=lambda x, a: (x - tf.reduce_mean(x, a, keepdims=True)) * tf.rsqrt(tf.math.reduce_variance(x, a, keepdims=True) + tf.cast(1e-3, x.dtype)),
    summed_exp=lambda x, a: tf.reduce_sum(tf.exp(x), a), max_neg=lambda x, a: tf.reduce_max(-x, a), sum_abs=lambda x, a: tf.reduce_sum(tf.abs(x), a),
)  # fmt: skip
ROWS = dict(
    softmax=lambda x, a: tf.nn.softmax(x), log_softmax=lambda x, a: tf.nn.log_softmax(x), log_of_softmax=lambda x, a: tf.log(tf.nn.softmax(x)),
    top_k=lambda x, a: tf.nn.top_k(x, x.shape[-1])[0], top_k_at=lambda x, a: tf.nn.top_k(x, x.shape[-1])[1],
    top_1=lambda x, a: tf.nn.top_k(x, 1)[0], top_1_at=lambda x, a: tf.nn.top_k(x, 1)[1], top_2=lambda x, a: tf.nn.top_k(x, min(2, x.shape[-1]))[1],
    sort=lambda x, a: tf.sort(x), sort_down=lambda x, a: tf.sort(x, direction="DESCENDING"), argsort=lambda x, a: tf.argsort(x),
    argsort_down=lambda x, a: tf.argsort(x, direction="DESCENDING"),
    nth_element=lambda x, a: tf.raw_ops.NthElement(input=x, n=x.shape[-1] // 2),
    cross_entropy=lambda x, a: tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.one_hot([0] * x.shape[0], x.shape[-1], dtype=x.dtype), logits=x),
    cross_entropy_labels=lambda x, a: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=tf.ones_like(x)),
    cross_entropy_gradient=lambda x, a: tf.gradients(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.one_hot([0] * x.shape[0], x.shape[-1], dtype=x.dtype), logits=x), x)[0],
    sparse_cross_entropy=lambda x, a: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0] * x.shape[0], logits=x),
    sparse_cross_entropy_gradient=lambda x, a: tf.gradients(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0] * x.shape[0], logits=x), x)[0],
    softmax_gradient=lambda x, a: tf.round(tf.gradients(tf.nn.softmax(x), x, tf.cast(tf.reshape(tf.range(x.shape.num_elements()) % 3 - 1, x.shape), x.dtype))[0] * 64),
    in_top_k=lambda x, a: tf.nn.in_top_k(x, [0] * x.shape[0], 2), in_top_1=lambda x, a: tf.nn.in_top_k(x, [x.shape[-1] - 1] * x.shape[0], 1),
    max_gradient=lambda x, a: tf.gradients(tf.reduce_max(x, 1), x)[0], min_gradient=lambda x, a: tf.gradients(tf.reduce_min(x, 1), x)[0],
    prod_gradient=lambda x, a: tf.gradients(tf.reduce_prod(x, 1), x)[0], logsumexp_gradient=lambda x, a: tf.gradients(tf.reduce_logsumexp(x, 1), x)[0],
    cumprod_gradient=lambda x, a: tf.gradients(tf.cumprod(x, 1), x)[0], norm_gradient=lambda x, a: tf.gradients(tf.norm(x, axis=1), x)[0],
    matmul=lambda x, a: tf.matmul(x, tf.ones([x.shape[-1], 1], x.dtype))[:, 0], matmul_17=lambda x, a: tf.matmul(x, tf.ones([x.shape[-1], 17], x.dtype))[:, 16],
    matmul_0=lambda x, a: tf.matmul(x, tf.zeros([x.shape[-1], 17], x.dtype))[:, 3],
    clip_by_norm=lambda x, a: tf.clip_by_norm(x, 1.0, [1]), moments=lambda x, a: tf.concat(tf.nn.moments(x, [1]), 0)[: x.shape[0]],
    segment_max=lambda x, a: tf.math.segment_max(tf.transpose(x), [0] * x.shape[1])[0], segment_min=lambda x, a: tf.math.segment_min(tf.transpose(x), [0] * x.shape[1])[0],
    segment_sum=lambda x, a: tf.math.segment_sum(tf.transpose(x), [0] * x.shape[1])[0], segment_prod=lambda x, a: tf.math.segment_prod(tf.transpose(x), [0] * x.shape[1])[0],
    segment_mean=lambda x, a: tf.math.segment_mean(tf.transpose(x), [0] * x.shape[1])[0],
    unsorted_max=lambda x, a: tf.math.unsorted_segment_max(tf.transpose(x), [0] * x.shape[1], 1)[0],
    unsorted_min=lambda x, a: tf.math.unsorted_segment_min(tf.transpose(x), [0] * x.shape[1], 1)[0],
    unsorted_sum=lambda x, a: tf.math.unsorted_segment_sum(tf.transpose(x), [0] * x.shape[1], 1)[0],
    unsorted_prod=lambda x, a: tf.math.unsorted_segment_prod(tf.transpose(x), [0] * x.shape[1], 1)[0],
    unsorted_mean=lambda x, a: tf.math.unsorted_segment_mean(tf.transpose(x), [0] * x.shape[1], 1)[0],
    scatter_nd=lambda x, a: tf.scatter_nd([[0]] * x.shape[1], tf.transpose(x), [1, x.shape[0]])[0],
    scatter_max=lambda x, a: tf.tensor_scatter_nd_max(tf.zeros([1, x.shape[0]], x.dtype), [[0]] * x.shape[1], tf.transpose(x))[0],
    scatter_min=lambda x, a: tf.tensor_scatter_nd_min(tf.zeros([1, x.shape[0]], x.dtype), [[0]] * x.shape[1], tf.transpose(x))[0],
    scatter_add=lambda x, a: tf.tensor_scatter_nd_add(tf.zeros([1, x.shape[0]], x.dtype), [[0]] * x.shape[1], tf.transpose(x))[0],
    scatter_sub=lambda x, a: tf.tensor_scatter_nd_sub(tf.zeros([1, x.shape[0]], x.dtype), [[0]] * x.shape[1], tf.transpose(x))[0],
    max_pool=lambda x, a: tf.nn.max_pool(image(x), [1, 1, x.shape[1], 1], [1, 1, 1, 1], "VALID")[0, :, 0, 0],
    max_pool_same=lambda x, a: tf.nn.max_pool(image(x), [1, 1, 3, 1], [1, 1, 1, 1], "SAME")[0, :, :, 0],
    avg_pool=lambda x, a: tf.nn.avg_pool(image(x), [1, 1, x.shape[1], 1], [1, 1, 1, 1], "VALID")[0, :, 0, 0],
    avg_pool_same=lambda x, a: tf.nn.avg_pool(image(x), [1, 1, 3, 1], [1, 1, 1, 1], "SAME")[0, :, :, 0],
    max_pool_at=lambda x, a: tf.raw_ops.MaxPoolWithArgmax(input=image(x), ksize=[1, 1, x.shape[1], 1], strides=[1, 1, 1, 1], padding="VALID")[1][0, :, 0, 0] % x.shape[1],
    max_pool_gradient=lambda x, a: tf.gradients(tf.nn.max_pool(image(x), [1, 1, x.shape[1], 1], [1, 1, 1, 1], "VALID"), x)[0],
    max_pool_same_gradient=lambda x, a: tf.gradients(tf.nn.max_pool(image(x), [1, 1, 3, 1], [1, 1, 1, 1], "SAME"), x)[0],
    avg_pool_gradient=lambda x, a: tf.gradients(tf.nn.avg_pool(image(x), [1, 1, 3, 1], [1, 1, 1, 1], "SAME"), x, image(x))[0],
    conv=lambda x, a: tf.nn.conv2d(image(x), tf.ones([1, x.shape[1], 1, 1], x.dtype), [1, 1, 1, 1], "VALID")[0, :, 0, 0],
    conv_same=lambda x, a: tf.nn.conv2d(image(x), tf.ones([1, 3, 1, 17], x.dtype), [1, 1, 1, 1], "SAME")[0, :, :, 16],
    conv_0=lambda x, a: tf.nn.conv2d(image(x), tf.zeros([1, 3, 1, 3], x.dtype), [1, 1, 1, 1], "SAME")[0, :, :, 2],
    batch_norm=lambda x, a: tf.transpose(tf.raw_ops.FusedBatchNormV3(x=tf.reshape(tf.transpose(x), [1, 1, x.shape[1], x.shape[0]]), scale=tf.ones([x.shape[0]]), offset=tf.zeros([x.shape[0]]), mean=[], variance=[])[0][0, 0]),
    bias_add=lambda x, a: tf.nn.bias_add(x, tf.zeros([x.shape[1]], x.dtype)), lrn=lambda x, a: tf.nn.lrn(tf.reshape(x, [1, 1, *x.shape]))[0, 0],
    dilation=lambda x, a: tf.nn.erosion2d(image(x), tf.zeros([1, 3, 1], x.dtype), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")[0, :, :, 0],
    add_n=lambda x, a: tf.add_n([x, x, -x]), sigmoid_cross_entropy=lambda x, a: tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(x), logits=x),
    searchsorted=lambda x, a: tf.searchsorted(tf.sort(tf.where(tf.is_nan(x), tf.zeros_like(x), x)), x),
)  # fmt: skip


def image(x):
    """Rows as rows of one image with one channel."""
    return tf.reshape(x, [1, *x.shape, 1])


def probes():
    tables = {"unary": (1, {**UNARY, **TESTS}), "identity": (1, IDENTITIES), "binary": (2, {**BINARY, **COMPARE}), "special": (2, SPECIAL_BINARY)}
    for kind, (arity, table) in tables.items():
        for name, op in table.items():
            yield f"{kind}/{name}", elementwise(op, arity, fuse=name not in TESTS and name not in COMPARE)
            if name in {**UNARY, **BINARY} and kind != "identity" and name not in KINKS and name not in ("nextafter", "truncatemod"):  # these have none
                yield f"gradient/{name}", gradient(op, arity)
    for name, op in REDUCTIONS.items():
        yield f"reduce/{name}/rows", reduction(op, 1)
        yield f"reduce/{name}/columns", reduction(op, 0)
    for name, op in ROWS.items():
        yield f"rows/{name}", reduction(op, 1)
    for to in ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool", "complex64"):
        yield f"cast/{to}", cast(to)


def text(x):
    if isinstance(x, (tuple, list)):
        return "(" + ", ".join(map(text, x)) + ")"
    a = np.asarray(x)
    if a.dtype.kind in "iub":
        return str(int(a)) if a.dtype.kind != "b" else str(bool(a))
    if a.dtype.kind == "c":
        return str(a)
    v = float(a)
    if np.isnan(v):
        return "NaN"
    info = ml_dtypes.finfo(a.dtype)
    sign = "-" if np.signbit(v) else ""
    v = abs(v)
    named = {0.0: "0", float(info.smallest_subnormal): "denmin", float(info.smallest_normal): "tiny", float(info.max): "max", np.inf: "inf"}
    if v in named:
        return sign + named[v]
    if v < float(info.smallest_normal):
        return sign + ("den" if v > float(info.smallest_normal) * 0.99 else f"den({v:.4g})")
    return f"{sign}{v:.9g}"


def canonical(x):
    """Equal bits for equal numbers: all NaN are one."""
    if x.dtype.kind in "iub":
        return x
    parts = x.view(np.float32 if x.dtype == np.complex64 else x.dtype)
    parts = np.where(np.isnan(parts), np.array(np.nan, parts.dtype), parts)
    found = parts.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[parts.dtype.itemsize])
    return found if x.dtype.kind != "c" else found[..., 0::2].astype(np.uint64) << 32 | found[..., 1::2]


def alike(a, b, near):
    same = canonical(a) == canonical(b)
    if a.dtype.kind in "iubc":
        return same
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        close = np.isfinite(x) & np.isfinite(y) & (x != 0) & (y != 0) & (np.abs(x - y) <= near * np.maximum(np.abs(x), np.abs(y)))
    return same | close


def run(p, target=""):
    with tf.Session(target) as session:
        return np.concatenate([np.atleast_1d(r).ravel() for r in session.run(p.fetches, p.feeds)])


def check(build, dtype):
    """How many combinations there are, and text for each whose answer is not TensorFlow's; or why TensorFlow has none."""
    near = NEAR[np.dtype(dtype).name]
    with tf.Graph().as_default():
        p = Probe(dtype)
        try:
            build(p)
            theirs = run(p)
        except (ValueError, TypeError, tf.errors.OpError, NotImplementedError) as error:
            return None, (str(error).strip().splitlines() or [repr(error)])[-1][:150]
        ours = {}
        for level, target in TARGETS.items():
            try:
                ours[level] = run(p, target)
            except tf.errors.OpError as error:
                return 0, {f"fails: {error.message.splitlines()[0][:200]}": {level}}
    names = [name for group in p.arguments for name in group]
    places = {}
    for i, name in enumerate(names):
        places.setdefault(name, []).append(i)
    found = {}
    for level, values in ours.items():
        for i in np.flatnonzero(~alike(values, theirs, near)):
            answers = theirs[places[names[i]]]
            if not alike(np.full_like(answers, values[i]), answers, near).any():
                shown = " or ".join(dict.fromkeys(map(text, answers)))
                found.setdefault(f"{names[i]} -> {text(values[i])}, not {shown}", set()).add(level)
    # What ours is must depend neither on where it stands nor on the processor.
    first = np.array([places[name][0] for name in names])
    for level, values in ours.items():
        for i in np.flatnonzero(~alike(values, next(iter(ours.values()))[first], near)):
            found.setdefault(f"{names[i]} -> {text(values[i])} and {text(next(iter(ours.values()))[first[i]])}", set()).add(level)
    return len(places), found


def main():
    with open(os.path.join(os.path.dirname(__file__), "extremes.json")) as file:
        accepted = json.load(file)
    total = 0
    for name, build in probes():
        if not re.search(ONLY, name):
            continue
        for type_name, dtype in FLOATS.items():
            count, found = check(build, dtype)
            if count is None:
                continue  # TensorFlow has no kernel
            left = {}
            for line, levels in found.items():
                full = f"{name} {type_name} {line}"
                rule = next((rule for rule in accepted if re.search(rule["cases"], full)), None)
                if rule:
                    rule["used"] = rule.get("used", 0) + 1
                else:
                    left[line] = levels
            total += len(left)
            print(f"{name:<32}{type_name:<10}{count:>7} combinations{len(found) - len(left):>7} accepted{len(left):>7} differ", flush=True)
            for line, levels in list(left.items())[:10]:
                print(f"      {line}   [{', '.join(sorted(levels))}]")
    for rule in accepted:
        print(f"accepted {rule.get('used', 0):5}  {rule['cases']}: {rule['why']}")
    sys.exit(1 if total else 0)


main()
