"""Writes the nodes and values that TensorFlow's array functions and their gradients give: arrayOps.py OUTPUT."""
import json
import sys

import numpy as np
import tensorflow as tensorflow

tf = tensorflow.compat.v1
tf.disable_eager_execution()
tf.enable_resource_variables()

programs = {}
feeds = {}


def plain(value):
    value = np.asarray(value)
    if value.dtype == object:
        return {"dtype": "string", "shape": list(value.shape), "data": [x.decode() for x in value.ravel()]}
    data = [bool(x) if value.dtype == bool else float(x) for x in value.ravel()]
    return {"dtype": str(value.dtype), "shape": list(value.shape), "data": data}


def fed(value, shape, name="x", dtype=tf.float32):
    """A placeholder of the static shape, fed with the value."""
    x = tf.placeholder(dtype, shape, name=name)
    feeds[x] = np.asarray(value, dtype=dtype.as_numpy_dtype)
    return x


def counting(shape, static=None, name="x"):
    """Fed with 1.5, 2.5, 3.5 … in the given shape."""
    return fed(np.arange(int(np.prod(shape))).reshape(shape) + 1.5, shape if static is None else static, name)


def program(f):
    feeds.clear()
    with tf.Graph().as_default() as graph:
        outputs = f()
        nodes = []
        for node in graph.as_graph_def().node:
            row = [node.name, node.op, list(node.input)]
            if "_class" in node.attr:
                row.append([s.decode() for s in node.attr["_class"].list.s])
            nodes.append(row)
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        shapes = [None if t.shape.rank is None else t.shape.as_list() for t in outputs]
        with tf.Session() as session:
            values = session.run(list(outputs), feeds)
    programs[f.__name__] = {"nodes": nodes, "shapes": shapes, "values": [plain(v) for v in values]}


def grads(y, x):
    """First and second derivatives of a curved function of y, as dense tensors."""
    first = tf.gradients(tf.square(y), x)[0]
    dense = tf.convert_to_tensor(first)
    second = tf.convert_to_tensor(tf.gradients(dense, x)[0])
    return [y, dense, second]


@program
def shapes():
    x = counting([2, 3])
    y = counting([2, 3], [None, 3], "y")
    return [tf.shape(x), tf.shape(y), tf.size(x), tf.size(y), tf.rank(x), *tf.shape_n([x, y]), tf.shape(y, out_type=tf.int64)]


@program
def filled():
    n = tf.placeholder_with_default(tf.constant([2, 2]), [2], name="n")
    m = tf.placeholder_with_default(tf.constant(3), [], name="m")
    return [tf.zeros([2, 3]), tf.ones([40, 30], tf.int32), tf.zeros(n), tf.ones([m, 2]), tf.zeros([2], tf.string), tf.fill([2, 2], 7), tf.ones([2], tf.bool), tf.zeros(m)]


@program
def reshaped():
    x = counting([4, 3], [None, 3])
    n = tf.shape(x)[0]
    y = tf.reshape(x, [n, 3, 1])
    return grads(tf.reshape(y, [-1, n]), x) + [y]


@program
def expanded():
    x = counting([2, 3])
    return grads(tf.squeeze(tf.expand_dims(tf.expand_dims(x, 0), -1), [0]), x)


@program
def transposed():
    x = counting([2, 3, 4], [None, 3, None])
    return grads(tf.transpose(x, [2, 0, 1]), x) + [tf.transpose(x), tf.matrix_transpose(x)]


@program
def transposedUnknown():
    x = fed([[1.5, 2.5], [3.5, 4.5]], None)
    return [tf.transpose(x), tf.matrix_transpose(x)]


@program
def conjugated():
    x = tf.constant([[1 + 2j, 3 - 4j]], tf.complex64)
    y = tf.transpose(x, conjugate=True)
    return [tf.real(y), tf.imag(y)]


@program
def concatenated():
    x = counting([2, 3])
    y = counting([2, 2], name="y")
    return grads(tf.concat([x, y, x], 1), x) + [tf.concat([x], 0)]


@program
def concatenatedUnknown():
    x = counting([2, 3], [None, None])
    y = counting([4, 3], [None, 3], "y")
    return grads(tf.concat([x, y], 0), x)


@program
def concatenatedMany():
    x = counting([2, 1])
    return grads(tf.concat([x] * 17, 1), x)


@program
def stacked():
    x = counting([2, 3])
    y = counting([2, 3], name="y")
    return grads(tf.stack([x, y], axis=1), x) + [tf.stack([[1, 2], [3, 4]]), tf.stack([x, y]), tf.parallel_stack([x, y])]


@program
def packedNested():
    x = counting([], name="x")
    return [tf.convert_to_tensor([[x, 1.0], [2.0, 3.0]]), tf.stack([x, 5.0], name="s")]


@program
def unstacked():
    x = counting([2, 3])
    a, b, c = tf.unstack(x, axis=1)
    return grads(a * b + c, x)


@program
def splitEven():
    x = counting([4, 3])
    a, b = tf.split(x, 2)
    return grads(a * b, x)


@program
def splitSizes():
    x = counting([4, 3])
    a, b = tf.split(x, [1, 2], axis=1)
    return grads(a * b, x)


@program
def sliced():
    x = counting([4, 3], [None, 3])
    return grads(tf.slice(x, [1, 0], [2, -1]), x)


@program
def items():
    x = counting([4, 3, 2])
    n = tf.placeholder_with_default(tf.constant(1), [], name="n")
    m = tf.placeholder_with_default(tf.constant(1, tf.int64), [], name="m")
    return [x[0], x[1:, ::2], x[..., -1], x[:, tf.newaxis, 1], x[::-1, 2:0:-1], x[n], x[n:, :], x[m, 1:m + 1], x[...], x[2:, 0, ..., tf.newaxis]]


@program
def itemGradients():
    x = counting([4, 3], [None, 3])
    return grads(x[1::2, tf.newaxis, -1], x)


@program
def stridedSlices():
    x = counting([4, 3])
    return grads(tf.strided_slice(x, [0, 2], [3, 0], [2, -1]), x) + [tf.strided_slice(x, [1], [3])]


@program
def padded():
    x = counting([2, 3], [None, 3])
    return grads(tf.pad(x, [[1, 0], [2, 1]]), x) + [tf.pad(x, [[1, 0], [0, 1]], constant_values=5.0)]


@program
def mirrored():
    x = counting([2, 3])
    return grads(tf.pad(x, [[1, 1], [2, 2]], "REFLECT"), x)


@program
def mirroredSymmetric():
    x = counting([2, 3])
    return grads(tf.pad(x, [[1, 2], [3, 0]], "SYMMETRIC"), x)


@program
def tiled():
    x = counting([2, 3], [None, 3])
    return grads(tf.tile(x, [2, 3]), x)


@program
def reversedAxes():
    x = counting([2, 3])
    return grads(tf.reverse(x, [1]), x)


@program
def reversedSequence():
    x = counting([2, 3, 2])
    return grads(tf.reverse_sequence(x, [2, 3], seq_axis=1), x)


@program
def gathered():
    x = counting([4, 3], [None, 3])
    return grads(tf.gather(x, [[1, 3], [1, 0]]), x)


@program
def gatheredAxis():
    x = counting([2, 3, 2])
    return grads(tf.gather(x, [2, 2, 0], axis=1), x)


@program
def gatheredBatch():
    x = counting([2, 3])
    return grads(tf.gather(x, np.array([[2, 0], [1, 1]], np.int64), axis=1, batch_dims=1), x)


@program
def gatheredTuples():
    x = counting([2, 3])
    return grads(tf.gather_nd(x, [[0, 1], [1, 2], [0, 1]]), x)


@program
def gatheredRows():
    x = counting([2, 3])
    return grads(tf.gather_nd(x, [[1], [1]]), x)


@program
def gatheredTupleBatches():
    x = counting([2, 3])
    return grads(tf.gather_nd(x, [[[2], [0]], [[1], [1]]], batch_dims=1), x)


@program
def batchGathered():
    x = counting([2, 3])
    return grads(tf.batch_gather(x, [[2, 0], [1, 1]]), x)


@program
def scattered():
    x = counting([3])
    return grads(tf.scatter_nd([[4], [1], [4]], x, [6]), x)


@program
def tensorScattered():
    t = counting([4], name="t")
    x = counting([2])
    y = tf.tensor_scatter_update(t, [[3], [0]], x)
    z = tf.tensor_scatter_add(y, [[1], [1]], x)
    return grads(tf.tensor_scatter_sub(z, [[2], [0]], x), x)


@program
def tensorScatteredExtremes():
    t = counting([4], name="t")
    x = counting([2])
    y = tf.tensor_scatter_nd_max(t, [[3], [0]], x)
    return grads(tf.tensor_scatter_nd_min(y, [[1], [2]], x), x)


@program
def oneHots():
    return [tf.one_hot([0, 2], 3), tf.one_hot([[0, 2]], 3, on_value=5, off_value=1, axis=0), tf.one_hot([1], 2, True, False)]


@program
def ranges():
    n = tf.placeholder_with_default(tf.constant(3), [], name="n")
    return [tf.range(5), tf.range(3, 18, 5), tf.range(n), tf.range(0.5, 2.5, 0.5), tf.range(1, n, dtype=tf.int64), tf.range(0, 3, dtype=tf.float32)]


@program
def linspaced():
    x = counting([2])
    return grads(tf.linspace(x, 10.5, 4), x)


@program
def linspacedNodes():
    x = counting([2])
    return tf.linspace(x, 10.5, 4)


@program
def broadcasted():
    x = counting([3, 1], [None, 1])
    return grads(tf.broadcast_to(x, [2, 3, 4]), x) + [tf.broadcast_dynamic_shape([2, 1], [3])]


@program
def stitched():
    x = counting([2, 2])
    y = counting([2], name="y")
    return grads(tf.dynamic_stitch([[2, 0], 1], [x, y]), x)


@program
def partitioned():
    x = counting([3, 2])
    a, b = tf.dynamic_partition(x, [1, 0, 1], 2)
    return grads(tf.concat([a, b], 0), x)


@program
def uniques():
    y, idx = tf.unique([3, 1, 3])
    z, zi, count = tf.unique_with_counts(["b", "a", "b"])
    out, pos = tf.setdiff1d([1, 2, 3], [2])
    return [y, idx, z, zi, count, out, pos]


@program
def diagonals():
    x = counting([3])
    return grads(tf.diag_part(tf.diag(x)), x)


@program
def matrixDiagonals():
    x = counting([2, 3])
    return grads(tf.matrix_diag_part(tf.matrix_diag(x, k=1)), x)


@program
def matrixDiagonalsUnknown():
    x = counting([2, 3, 4], [2, None, 4])
    y = tf.matrix_diag_part(x, k=1)
    return [y, tf.gradients(tf.square(y), x)[0]]


@program
def matrixDiagonalsSet():
    x = counting([2, 3])
    d = counting([2], name="d")
    return grads(tf.matrix_set_diag(x, d), x) + grads(tf.matrix_set_diag(x, d), d)


@program
def bands():
    x = counting([3, 3])
    return grads(tf.matrix_band_part(x, 1, 0), x)


@program
def eyes():
    n = tf.placeholder_with_default(tf.constant(2), [], name="n")
    return [tf.eye(2), tf.eye(2, 3, batch_shape=[2]), tf.eye(n), tf.eye(n, 3)]


@program
def rolled():
    x = counting([2, 3])
    return grads(tf.roll(x, [1, -1], [0, 1]), x)


@program
def spaceBatches():
    x = counting([1, 4, 3, 1])
    return grads(tf.space_to_batch_nd(x, [2, 2], [[0, 0], [1, 0]]), x)


@program
def batchSpaces():
    x = counting([4, 2, 2, 1])
    return grads(tf.batch_to_space_nd(x, [2, 2], [[0, 0], [1, 0]]), x) + [tf.batch_to_space(x, [[0, 0], [0, 0]], 2)]


@program
def spaceDepths():
    x = counting([1, 4, 2, 1])
    return grads(tf.space_to_depth(x, 2), x)


@program
def depthSpaces():
    x = counting([1, 1, 2, 4])
    return grads(tf.depth_to_space(x, 2), x)


@program
def masks():
    n = fed([1, 3], [2], dtype=tf.int32)
    x = counting([2, 3], name="y")
    m = fed([True, False], [2], "m", tf.bool)
    return [tf.sequence_mask(n), tf.sequence_mask(n, 4, tf.float32), tf.boolean_mask(x, m), tf.boolean_mask(x, [True, False, True], axis=1)]


@program
def maskedGradients():
    x = counting([2, 3], [None, 3])
    m = fed([True, False], [None], "m", tf.bool)
    return grads(tf.boolean_mask(x, m), x)


@program
def grids():
    x = counting([2])
    return list(tf.meshgrid(x, [3.0, 4.0, 5.0])) + list(tf.meshgrid(x, [3.0, 4.0], indexing="ij"))


@program
def repeated():
    x = counting([2, 3])
    return grads(tf.repeat(x, 2, axis=0), x) + [tf.repeat([1, 2, 3], [2, 0, 1])]


@program
def repeatedColumns():
    x = counting([2, 3])
    return tf.repeat(x, [1, 0, 2], axis=1)


@program
def tiledStatic():
    x = counting([2, 3])
    return grads(tf.tile(x, [2, 3]), x)


@program
def emptyShapes():
    x = counting([1])
    return grads(tf.reshape(x, []), x) + [tf.fill([], 7)]


@program
def searched():
    return [tf.searchsorted([1, 3, 5], [3, 4]), tf.searchsorted([1, 3, 5], [3, 4], side="right")]


@program
def requiredPaddings():
    n = fed([5, 7], [2], dtype=tf.int32)
    return list(tf.required_space_to_batch_paddings([5], [2])) + list(tf.required_space_to_batch_paddings(n, [2, 3]))


@program
def identities():
    x = counting([2])
    a, b = tf.identity_n([x, x * 2])
    y = tf.placeholder_with_default(tf.identity(a) * b, [None])
    return grads(tf.check_numerics(tf.ensure_shape(y, [2]), "msg"), x) + [tf.stop_gradient(x), tf.guarantee_const(tf.constant(1))]


@program
def finite():
    x = counting([2])
    return [tf.verify_tensor_all_finite(x, "bad"), tf.debugging.check_numerics(x, "bad")]


@program
def inverted():
    return [tf.invert_permutation([2, 0, 1]), tf.unravel_index([2, 5, 7], [3, 3])]


with open(sys.argv[1], "w") as file:
    file.write("{\n")
    file.write(",\n".join(f"{json.dumps(name)}: {json.dumps(p)}" for name, p in programs.items()))
    file.write("\n}\n")
