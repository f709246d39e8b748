"""Writes what TensorFlow's reductions, products, segments and nn functions build and give: mathNn.py OUTPUT.

For each case: the nodes of the call and of its gradients, each as "name type inputs", and the values of both. The cases
stand under the same names in test/backend/mathNn.test.ts.
"""
import json
import sys

import numpy as np
from graphMode import tf, tf2

CASES = {}


def case(name, build):
    CASES[name] = build


class Inputs:
    """Placeholders of a case, with the values to feed; the floats among them are differentiated."""

    def __init__(self):
        self.feeds = {}
        self.sources = []

    def __call__(self, shape, name="x", static=0, seed=1, low=-2.0, high=2.0, diff=True):
        count = int(np.prod(shape)) if shape else 1
        unit = (np.sin(np.arange(count) * 1.7 + seed) * 43758.5453) % 1.0
        tensor = tf.placeholder(tf.float64, shape if static == 0 else static, name=name)
        self.feeds[tensor] = (low + (high - low) * unit).reshape(shape)
        if diff:
            self.sources.append(tensor)
        return tensor

    def ints(self, values, name="ids", static=0):
        values = np.array(values, np.int32)
        tensor = tf.placeholder(tf.int32, values.shape if static == 0 else static, name=name)
        self.feeds[tensor] = values
        return tensor


STATIC = {"full": [2, 3], "part": [None, 3], "unknown": None}
for kind, static in STATIC.items():
    for op in ["sum", "mean", "prod", "max", "min", "logsumexp"]:
        reduce = getattr(tf, "reduce_" + op)
        case(f"{op} {kind}", lambda x, f=reduce, s=static: f(x([2, 3], static=s)))
        case(f"{op} {kind} 1", lambda x, f=reduce, s=static: f(x([2, 3], static=s), 1))
        case(f"{op} {kind} keep", lambda x, f=reduce, s=static: f(x([2, 3], static=s), [-1], keepdims=True))

case("euclideanNorm", lambda x: tf.math.reduce_euclidean_norm(x([2, 3], static=[None, 3]), 1))
case("std", lambda x: tf.math.reduce_std(x([2, 3]), 1))
case("variance", lambda x: tf.math.reduce_variance(x([2, 3], static=None)))
case("countNonzero", lambda x: tf.count_nonzero(x([2, 3])))
case("all", lambda x: tf.reduce_all(tf.greater(x([2, 3]), 0), 1))
case("argmax", lambda x: tf.argmax(x([2, 3]), 1))
case("argmin", lambda x: tf.argmin(x([2, 3]), -1, output_type=tf.int32))
case("matmul", lambda x: tf.matmul(x([2, 3]), x([3, 4], "y", seed=2)))
case("matmul ta", lambda x: tf.matmul(x([3, 2]), x([3, 4], "y", seed=2), transpose_a=True))
case("matmul tb", lambda x: tf.matmul(x([2, 3]), x([4, 3], "y", seed=2), transpose_b=True))
case("matmul tab", lambda x: tf.matmul(x([3, 2]), x([4, 3], "y", seed=2), transpose_a=True, transpose_b=True))
case("matmul batch", lambda x: tf.matmul(x([5, 2, 3]), x([3, 4], "y", seed=2)))
case("matmul batch unknown", lambda x: tf.matmul(x([5, 3, 2]), x([5, 3, 4], "y", [None, 3, 4], 2), transpose_a=True))
case("matmul operator", lambda x: x([2, 3]) @ x([3, 4], "y", seed=2))
case("matmul literals", lambda x: tf.matmul([[1.5, 2.0]], [[3.0], [4.0]]))
case("cumsum", lambda x: tf.cumsum(x([2, 3]), 1, exclusive=True))
case("cumprod", lambda x: tf.cumprod(x([2, 3]), 1))
case("cumulativeLogsumexp", lambda x: tf.math.cumulative_logsumexp(x([2, 3]), 1))
for name, op in {
    "relu": tf.nn.relu, "relu6": tf.nn.relu6, "elu": tf.nn.elu, "selu": tf.nn.selu, "leakyRelu": tf.nn.leaky_relu,
    "softplus": tf.nn.softplus, "softsign": tf.nn.softsign, "crelu": tf.nn.crelu, "gelu": tf2.nn.gelu,
}.items():  # fmt: skip
    case(name, lambda x, f=op: f(x([2, 3], static=[None, 3], low=-3.0, high=8.0)))
case("gelu approximate", lambda x: tf2.nn.gelu(x([2, 3]), approximate=True))
case("biasAdd", lambda x: tf.nn.bias_add(x([2, 3], static=[None, 3]), x([3], "b", seed=3)))
case("biasAdd NCHW", lambda x: tf.nn.bias_add(x([2, 3, 2]), x([3], "b", seed=3), data_format="NCHW"))
case("softmax", lambda x: tf.nn.softmax(x([2, 3], static=[None, 3])))
case("softmax 0", lambda x: tf.nn.softmax(x([2, 3], static=[None, 3]), 0))
case("softmax -2", lambda x: tf.nn.softmax(x([2, 3, 2], static=[None, 3, 2]), -2, name="sm"))
case("logSoftmax 1", lambda x: tf.nn.log_softmax(x([2, 3, 2]), 1))


def pair(x, shape, static=0):
    """Labels between 0 and 1, and logits."""
    return dict(labels=x(shape, "l", static, 1, 0.0, 1.0), logits=x(shape, "z", static, 4))


case("softmaxCrossEntropy", lambda x: tf.nn.softmax_cross_entropy_with_logits(**pair(x, [4, 3])))
case("softmaxCrossEntropyV2", lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(**pair(x, [4, 3], [None, 3])))
case("softmaxCrossEntropyV2 axis", lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(**pair(x, [4, 2, 3]), axis=1))
case("sparseSoftmaxCrossEntropy", lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(
    labels=x.ints([0, 2, 1, 1], "l"), logits=x([4, 3], "z", [None, 3], 4)))  # fmt: skip
case("sparseSoftmaxCrossEntropy 3", lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(
    labels=x.ints([[0, 2], [1, 1]], "l"), logits=x([2, 2, 3], "z", seed=4), name="foo"))  # fmt: skip
case("sparseSoftmaxCrossEntropy unknown", lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(
    labels=x.ints([[0, 2], [1, 1]], "l", [None, 2]), logits=x([2, 2, 3], "z", [None, None, 3], 4)))  # fmt: skip
case("sigmoidCrossEntropy", lambda x: tf.nn.sigmoid_cross_entropy_with_logits(**pair(x, [4, 3])))
case("weightedCrossEntropy", lambda x: tf.nn.weighted_cross_entropy_with_logits(**pair(x, [4, 3]), pos_weight=2.5))
case("logPoissonLoss", lambda x: tf.nn.log_poisson_loss(
    x([4], "l", low=0.0, high=3.0), x([4], "z", seed=4), compute_full_loss=True))  # fmt: skip
case("l2Loss", lambda x: tf.nn.l2_loss(x([2, 3])))
case("l2Normalize", lambda x: tf.nn.l2_normalize(x([2, 3]), 1))
case("moments", lambda x: tf.nn.moments(x([4, 3]), [0]))
case("moments keep", lambda x: tf.nn.moments(x([4, 3], static=[None, 3]), [0, 1], keep_dims=True))
case("weightedMoments", lambda x: tf.nn.weighted_moments(x([4, 3]), [0], x([4, 1], "w", low=0.0, high=1.0)))
case("sufficientStatistics", lambda x: tf.nn.normalize_moments(
    *tf.nn.sufficient_statistics(x([4, 3], static=[None, 3]), [0])))  # fmt: skip
case("batchNormalization", lambda x: tf.nn.batch_normalization(
    x([4, 3]), x([3], "m"), x([3], "v", low=0.5, high=1.0), x([3], "o"), x([3], "s"), 1e-3))  # fmt: skip
case("xwPlusB", lambda x: tf.nn.xw_plus_b(x([4, 3]), x([3, 2], "w"), x([2], "b")))
case("reluLayer", lambda x: tf.nn.relu_layer(x([4, 3]), x([3, 2], "w"), x([2], "b")))
case("dropout", lambda x: tf.nn.dropout(x([4, 3]), keep_prob=0.6, seed=7))
case("dropout noise", lambda x: tf.nn.dropout(x([4, 3]), rate=0.6, seed=7, noise_shape=[None, 1]))
case("dropout tensor", lambda x: tf.nn.dropout(
    x([4, 3], static=[None, 3]), keep_prob=x([], "kp", low=0.5, high=0.9, diff=False), seed=7))  # fmt: skip
for op in ["sum", "mean", "max", "min", "prod"]:
    segment = getattr(tf, "segment_" + op)
    case(f"segment {op}", lambda x, f=segment: f(x([4, 2], static=[None, 2], low=1.0), x.ints([0, 0, 2, 2])))
for op in ["sum", "max", "min", "prod", "mean", "sqrt_n"]:
    segment = getattr(tf, "unsorted_segment_" + op)
    case(f"unsorted {op}", lambda x, f=segment: f(x([4, 2], static=[None, 2], low=1.0), x.ints([0, -1, 2, 2]), 3))
for op in ["sum", "mean", "sqrt_n"]:
    segment = getattr(tf, "sparse_segment_" + op)
    case(f"sparse {op}", lambda x, f=segment: f(x([4, 2], low=1.0), x.ints([3, 1, 1], "i"), x.ints([0, 0, 2])))
case("topK", lambda x: tf.nn.top_k(x([3, 4], static=[None, 4]), 2))
case("bincount", lambda x: tf.bincount(x.ints([1, 2, 2, 5])))
case("cross", lambda x: tf.cross(x([2, 3]), x([2, 3], "y", seed=2)))
EINSUMS = {
    "ij,jk->ik": [[2, 3], [3, 4]], "ij->ji": [[2, 3]], "ii->i": [[3, 3]], "ii": [[3, 3]], "i,j->ij": [[2], [3]],
    "...ij,...jk->...ik": [[5, 1, 2, 3], [4, 3, 2]], "abc,cd->abd": [[2, 3, 4], [4, 2]], "ij,ij->": [[2, 3], [2, 3]],
    "ij->i": [[2, 3]], "ijk->ki": [[2, 3, 4]], "ij,k->i": [[2, 3], [4]], "ij,jk,kl->il": [[2, 3], [3, 4], [4, 2]],
}  # fmt: skip
for equation, shapes in EINSUMS.items():
    case("einsum " + equation, lambda x, e=equation, s=shapes: tf.einsum(
        e, *[x(shape, "xyz"[k], seed=k + 1) for k, shape in enumerate(s)]))  # fmt: skip
case("tensordot", lambda x: tf.tensordot(x([2, 3, 4]), x([4, 3], "y"), [[1, 2], [1, 0]]))
case("tensordot unknown", lambda x: tf.tensordot(x([2, 3, 4], static=[None, 3, 4]), x([4, 3], "y"), [[2], [0]]))
case("norm", lambda x: tf.norm(x([2, 3])))
case("norm 1", lambda x: tf.norm(x([2, 3]), ord=1, axis=1))
case("norm 3", lambda x: tf.norm(x([2, 3]), ord=3, axis=1, keepdims=True))
case("norm inf", lambda x: tf.norm(x([2, 3]), ord=np.inf, axis=[0, 1]))
case("trace", lambda x: tf.trace(x([3, 3])))
case("embeddingLookup", lambda x: tf.nn.embedding_lookup(x([4, 2]), x.ints([1, 3, 1])))
case("embeddingLookup mod", lambda x: tf.nn.embedding_lookup(
    [x([2, 2]), x([2, 2], "y", seed=2)], x.ints([1, 3, 0])))  # fmt: skip
case("embeddingLookup div", lambda x: tf.nn.embedding_lookup(
    [x([3, 2]), x([2, 2], "y", seed=2)], x.ints([1, 3, 0]), partition_strategy="div"))  # fmt: skip
case("matrixInverse", lambda x: tf.matrix_inverse(x([2, 2, 2])))
case("matrixDeterminant", lambda x: tf.matrix_determinant(x([2, 2, 2])))
case("matrixSolve", lambda x: tf.matrix_solve(x([2, 2]), x([2, 3], "y", seed=2)))
case("matrixTriangularSolve", lambda x: tf.matrix_triangular_solve(x([3, 2, 2]), x([2, 3], "y", seed=2), lower=False))
case("qr", lambda x: tf.qr(x([3, 2])))
case("betainc", lambda x: tf.betainc(x([3], "a", low=0.5), x([3], "b", seed=2, low=0.5), x([3], low=0.1, high=0.9)))
case("lbeta", lambda x: tf.lbeta(x([2, 3], low=0.5)))
case("histogramFixedWidth", lambda x: tf.histogram_fixed_width(x([2, 3]), tf.constant([-1.0, 1.0], tf.float64), nbins=4))
case("histogramFixedWidthBins", lambda x: tf.histogram_fixed_width_bins(x([2, 3], diff=False), tf.constant([-1.0, 1.0], tf.float64), nbins=4))
case("logdet", lambda x: tf.linalg.logdet(tf.eye(2, dtype=tf.float64) * 9 + tf.matmul(x([2, 2]), x([2, 2], "y"), transpose_b=True)))
case("matrixRank", lambda x: tf.linalg.matrix_rank(x([2, 3, 2])))
case("matrixRank unknown", lambda x: tf.linalg.matrix_rank(x([3, 2], static=[None, 2], diff=False)))
case("normalize", lambda x: tf.linalg.normalize(x([2, 3]), axis=1))
case("pinv", lambda x: tf.linalg.pinv(x([3, 2], diff=False)))
case("pinv unknown", lambda x: tf.linalg.pinv(x([3, 2], static=[None, 2], diff=False)))
case("lu solve", lambda x: tf.linalg.lu_solve(*tf.linalg.lu(x([2, 2], diff=False)), x([2, 1], "y")))
case("lu solve batch", lambda x: tf.linalg.lu_solve(*tf.linalg.lu(x([2, 3, 3], diff=False)), x([3, 2], "y")))
case("lu inverse", lambda x: tf.linalg.lu_matrix_inverse(*tf.linalg.lu(x([2, 2], diff=False))))
case("lu reconstruct", lambda x: tf.linalg.lu_reconstruct(*tf.linalg.lu(x([3, 3], diff=False))))
case("lu reconstruct batch", lambda x: tf.linalg.lu_reconstruct(*tf.linalg.lu(x([2, 3, 3], diff=False))))
case("lstsq", lambda x: tf.linalg.lstsq(x([3, 2]), x([3, 1], "y", seed=2), l2_regularizer=0.5))
case("lstsq wide", lambda x: tf.linalg.lstsq(x([2, 3]), x([2, 1], "y", seed=2)))
case("lstsq unknown", lambda x: tf.linalg.lstsq(x([3, 2], static=[None, 2]), x([3, 1], "y", seed=2)))
case("lstsq op", lambda x: tf.linalg.lstsq(x([3, 2], diff=False), x([3, 1], "y", seed=2, diff=False), fast=False))
case("sqrtm", lambda x: tf.linalg.sqrtm(tf.eye(2, dtype=tf.float64) * 9 + x([2, 2])))
case("logm", lambda x: tf.abs(tf.linalg.logm(tf.cast(
    tf.eye(2, dtype=tf.float64) * 9 + x([2, 2], diff=False), tf.complex128))))
case("expm", lambda x: tf.linalg.expm(x([2, 2])))
case("expm large", lambda x: tf.linalg.expm(x([2, 2, 2], low=-9, high=9, static=[None, 2, 2])))
case("polyval", lambda x: tf.math.polyval([x([3], "a"), tf.constant(2.0, tf.float64), x([3], "b", seed=2)], x([3])))
for kind, weights in {"": None, " weights": [0.5, 1.0, 2.0]}.items():
    for combiner in ["sum", "mean", "sqrtn"]:

        def lookup(x, combiner=combiner, weights=weights):
            table = x([2, 3])
            where = [[0, 0], [0, 1], [2, 0]]
            ids = tf.SparseTensor(where, [1, 0, 1], [3, 2])
            given = None if weights is None else tf.SparseTensor(where, tf.constant(weights, tf.float64), [3, 2])
            return tf.nn.embedding_lookup_sparse(table, ids, given, combiner=combiner)

        case(f"embeddingLookupSparse {combiner}{kind}", lookup)
case("embeddingLookupSparse tables", lambda x: tf.nn.embedding_lookup_sparse(
    [x([2, 3]), x([2, 3], "y", seed=2)], tf.SparseTensor([[0, 0], [0, 1]], x.ints([1, 2]), [2, 2]), None, max_norm=1.5))
for length in [6, 5]:
    case(f"rfft {length}", lambda x, n=length: tf.real(tf.signal.rfft(x([2, n]))))
    case(f"rfft2d {length}", lambda x, n=length: tf.imag(tf.signal.rfft2d(x([2, 3, n]))))
    case(f"irfft {length}", lambda x, n=length: tf.signal.irfft(
        tf.complex(x([2, n // 2 + 1]), x([2, n // 2 + 1], "y", seed=2)), [n]))
    case(f"irfft2d {length}", lambda x, n=length: tf.signal.irfft2d(
        tf.complex(x([3, n // 2 + 1]), x([3, n // 2 + 1], "y", seed=2)), [3, n]))
case("rfft unknown", lambda x: tf.real(tf.signal.rfft(x([2, 6], static=[None, None]))))
case("rfft padded", lambda x: tf.real(tf.signal.rfft(x([2, 6]), [8])))
case("rfft padded unknown", lambda x: tf.real(tf.signal.rfft(x([2, 6], static=[None, None], diff=False), x.ints([8]))))
case("irfft unknown", lambda x: tf.signal.irfft(tf.complex(x([2, 4], static=[None, None]), x([2, 4], "y", seed=2))))
case("irfft2d unknown", lambda x: tf.signal.irfft2d(tf.complex(x([2, 4], static=[None, None]), x([2, 4], "y", static=[None, None]))))
case("rfft3d", lambda x: tf.real(tf.signal.rfft3d(x([2, 3, 4], diff=False))))
case("irfft3d", lambda x: tf.signal.irfft3d(tf.complex(x([2, 3, 4], diff=False), x([2, 3, 4], "y", diff=False))))
case("rgbToYuv", lambda x: tf.image.rgb_to_yuv(x([2, 2, 3])))
case("yiqToRgb", lambda x: tf.image.yiq_to_rgb(tf.image.rgb_to_yiq(x([2, 2, 3]))))
for kind, arguments in {
    "": dict(size=[3, 5]), " nearest": dict(size=[3, 5], method=1), " same": dict(size=[2, 4]),
    " corners": dict(size=[3, 5], align_corners=True),
}.items():  # fmt: skip
    case(f"resizeImages{kind}", lambda x, a=arguments: tf.image.resize_images(x([2, 4, 3]), **a))
case("resizeImages unknown", lambda x: tf.image.resize_images(
    x([1, 2, 4, 3], static=[None, None, None, 3]), [8, 5], preserve_aspect_ratio=True))
case("batchNormWithGlobalNormalization", lambda x: tf.nn.batch_norm_with_global_normalization(
    x([2, 3]), x([3], "m"), x([3], "v", low=1.0), x([3], "b"), x([3], "g"), 1e-3, True))
for kind, dims in {"square": [2, 2], "tall": [3, 2], "wide": [2, 2, 3]}.items():
    case(f"svd {kind}", lambda x, d=dims: tf.reduce_sum(tf.svd(x(d), compute_uv=False), -1))
    case(f"svd {kind} vectors", lambda x, d=dims: (lambda s, u, v: [
        s, tf.matmul(u * tf.expand_dims(tf.exp(s), -2), v, adjoint_b=True)])(*tf.svd(x(d))))
case("svd full", lambda x: (lambda s, u, v: [
    s, tf.matmul(u * tf.expand_dims(s, -2), v[:, :2], adjoint_b=True), tf.matmul(v[:, 2:], v[:, 2:], adjoint_b=True)])(
        *tf.svd(x([2, 3]), full_matrices=True)))
case("svd complex", lambda x: (lambda s, u, v: [s, tf.abs(tf.matmul(u * tf.expand_dims(tf.cast(
    tf.exp(s), tf.complex128), -2), v, adjoint_b=True))])(*tf.svd(tf.complex(x([3, 2]), x([3, 2], "y", seed=2)))))
case("randomGamma", lambda x: tf.random_gamma([3], x([2], "a", low=0.5), x([2], "b", low=0.5, seed=2), tf.float64, seed=1))
case("sparseToDense", lambda x: tf.sparse.to_dense(tf.SparseTensor([[0, 0], [1, 2]], x([2]), [2, 3])))


def text(operation):
    inputs = [t.name if t.value_index else t.op.name for t in operation.inputs]
    return " ".join([operation.name, operation.type, *inputs, *sorted("^" + c.name for c in operation.control_inputs)])


def run(build):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        inputs = Inputs()
        made = build(inputs)
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        floats = [y for y in outputs if y.dtype.is_floating]
        gradients = tf.gradients(floats, inputs.sources) if floats and inputs.sources else []
        fetches = outputs + [tf.convert_to_tensor(g) for g in gradients if g is not None]
        values = session.run(fetches, inputs.feeds)
        return {
            "nodes": [text(operation) for operation in graph.get_operations()],
            "values": [[float(f"{v:.9g}") for v in np.asarray(value).astype(np.float64).ravel()] for value in values],
        }


with open(sys.argv[1], "w") as out:
    lines = [f"{json.dumps(name)}: {json.dumps(run(build), separators=(',', ':'))}" for name, build in CASES.items()]
    out.write("{\n" + ",\n".join(lines) + "\n}\n")
