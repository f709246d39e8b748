"""Datasets with ragged tensors in their elements, and batches of elements of different sizes.

    python tools/golden/raggedDatasets.py test/golden/data
"""
import json
import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow as tf

D = tf.data.Dataset
ragged = tf.ragged.constant([[1, 2], [], [3], [4, 5, 6], [7]])
deep = tf.ragged.constant([[[1], [2, 3]], [], [[4]]])


def lengths(n):
    return D.range(n).map(lambda x: tf.fill([x % 3], x))


def matrices():
    return D.range(4).map(lambda x: {'m': tf.fill([x, 2], x), 'n': tf.fill([2, x], 1.5), 'id': x})


datasets = {
    'batch': lambda: lengths(5).apply(tf.data.experimental.dense_to_ragged_batch(2)),
    'batch without remainder': lambda: lengths(5).ragged_batch(2, drop_remainder=True, row_splits_dtype=tf.int32),
    'batches of records': lambda: matrices().ragged_batch(3),
    'batches of batches': lambda: lengths(5).ragged_batch(2).batch(2),
    'batch of pairs': lambda: D.zip((lengths(3), D.range(3))).ragged_batch(2),
    'rows': lambda: D.from_tensor_slices(ragged),
    'whole': lambda: D.from_tensors((ragged, deep)),
    'rows of rows': lambda: D.from_tensor_slices(deep),
    'rows in batches': lambda: D.from_tensor_slices(ragged).batch(2),
    'map to ragged': lambda: D.range(3).map(lambda x: tf.RaggedTensor.from_row_lengths(tf.range(3) + tf.cast(x, tf.int32), [1, 0, 2])).batch(2),
    'map of ragged': lambda: D.from_tensor_slices(deep).map(lambda row: tf.reduce_sum(row.flat_values)),
    'unbatch': lambda: D.from_tensors(deep).unbatch(),
    'repeated': lambda: D.from_tensor_slices(ragged).repeat(2).batch(3),
}


def plain(value):
    if isinstance(value, dict):
        return {key: plain(x) for key, x in value.items()}
    if isinstance(value, tuple):
        return [plain(x) for x in value]
    return value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()


result = {name: [plain(element) for element in make()] for name, make in datasets.items()}
with open(os.path.join(sys.argv[1], 'ragged.json'), 'w') as file:
    file.write('{\n' + ',\n'.join(f'{json.dumps(k)}: {json.dumps(v)}' for k, v in result.items()) + '\n}\n')
