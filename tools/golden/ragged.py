"""Writes test/golden/ragged.json: values and nodes of small programs with ragged tensors, from real TensorFlow.

    /opt/tfenv/bin/python tools/golden/ragged.py > test/golden/ragged.json
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf2  # noqa: E402

tf = tf2.compat.v1
tf.disable_eager_execution()
Ragged = tf2.RaggedTensor
raw = tf2.raw_ops


def fed(value, dtype=tf.float32):
    return tf.placeholder_with_default(tf.constant(value, dtype), [None] + list(tf.constant(value).shape[1:]))


def splits(value):
    return fed(value, tf.int64)


def nested():
    return Ragged.from_nested_row_splits(fed([1, 2, 3, 4, 5]), [splits([0, 2, 3]), splits([0, 2, 2, 5])], validate=False)


def rows():
    return Ragged.from_row_splits(fed([1, 2, 3, 4, 5]), splits([0, 2, 2, 5]), validate=False)


def gradient(make):
    x = fed([1, 2, 3, 4, 5])
    y = make(Ragged.from_row_splits(x, splits([0, 2, 2, 5]), validate=False))
    return [y, tf.convert_to_tensor(tf.gradients(tf.square(y), x)[0])]


def variants(batched, output_rank, pick=lambda x: x):
    def program():
        encoded = raw.RaggedTensorToVariant(
            rt_nested_splits=nested().nested_row_splits, rt_dense_values=nested().flat_values, batched_input=batched)
        back = raw.RaggedTensorFromVariant(
            encoded_ragged=pick(encoded), input_ragged_rank=-1, output_ragged_rank=output_rank, Tvalues=tf.float32)
        return list(back[0]) + [back[1]]
    return program


def through_variants(pick=lambda x: x):
    x = fed([1, 2, 3, 4, 5])
    encoded = raw.RaggedTensorToVariant(rt_nested_splits=[splits([0, 2, 2, 5])], rt_dense_values=x, batched_input=True)
    back = raw.RaggedTensorFromVariant(
        encoded_ragged=pick(encoded), input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32)
    return [tf.convert_to_tensor(tf.gradients(tf.square(back[1]), x)[0])]


PROGRAMS = {
    "rows": lambda: [rows().row_lengths(), rows().value_rowids(), rows().nrows(), rows().bounding_shape()],
    "nested": lambda: [nested().row_lengths(), nested().values.row_lengths(), nested().bounding_shape()],
    "lengths": lambda: [Ragged.from_row_lengths(fed([1, 2, 3]), splits([2, 0, 1]), validate=False).row_splits],
    "rowids": lambda: [Ragged.from_value_rowids(fed([1, 2, 3]), splits([0, 0, 2]), validate=False).row_splits,
                       Ragged.from_value_rowids(fed([1, 2, 3]), splits([0, 0, 2]), nrows=5, validate=False).row_splits],
    "toTensor": lambda: [rows().to_tensor(), rows().to_tensor(default_value=7.0, shape=[None, 2]), nested().to_tensor()],
    "toSparse": lambda: [x for r in (rows(), nested()) for s in [r.to_sparse()] for x in (s.indices, s.values, s.dense_shape)],
    "constant": lambda: [x for r in (tf2.ragged.constant([[1, 2], [], [3]]), tf2.ragged.constant([[[1.5, 2.0]], [], [[3.0], []]]),
                                     tf2.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1))
                         for x in list(r.nested_row_splits) + [r.flat_values]],
    "mapped": lambda: [tf2.ragged.map_flat_values(tf.square, nested()).to_tensor()],
    "range": lambda: [x for r in (tf2.ragged.range([0, 5], [3, 7]), tf2.ragged.range([3, 0, 2]), tf2.ragged.range([5.0], [2.0], -1.5))
                      for x in (r.row_splits, r.values)],
    "segments": lambda: [tf2.ragged.row_splits_to_segment_ids(splits([0, 2, 2, 3])), tf2.ragged.segment_ids_to_row_splits([0, 0, 2])],
    "sparse": lambda: [Ragged.from_sparse(tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [4, 2])).row_splits],
    "toTensorGradient": lambda: gradient(lambda r: r.to_tensor(shape=[2, 1])),
    "toSparseGradient": lambda: gradient(lambda r: r.to_sparse().values),
    "gatherGradient": lambda: gradient(lambda r: tf2.gather(r, [2, 0, 0]).flat_values),
    "variant": variants(False, 2),
    "batchOfVariants": variants(True, 2),
    "oneOfVariants": variants(True, 1, lambda x: x[1]),
    "variantGradient": through_variants,
    "slicedVariantGradient": lambda: through_variants(lambda x: x[1:]),
    "split": lambda: [tf2.strings.split(["a b", "", " c  d e"]).row_splits, tf2.strings.split(["a b", "", " c  d e"]).values],
}


def plain(array):
    return {"dtype": array.dtype.name.replace("object", "string").replace("bytes", "string"), "shape": list(array.shape),
            "data": [x.decode() if isinstance(x, bytes) else x for x in array.reshape([-1]).tolist()]}


golden = {}
for name, program in PROGRAMS.items():
    with tf.Graph().as_default(), tf.Session() as session:
        golden[name] = [plain(value) for value in session.run(program())]
print(json.dumps(golden, indent=1))
