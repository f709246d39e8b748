"""Writes test/golden/front/ctcDense.json: losses, gradients and unique labels of tf.nn.ctc_loss_v2 and tf.nn.ctc_unique_labels.

    TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/ctcDense.py
"""
import json
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf2

tf = tf2.compat.v1
tf.disable_eager_execution()
TARGET = os.path.join(os.path.dirname(__file__), "../../test/golden/front/ctcDense.json")


def numbers(seed, shape):
    return np.sin(seed + 0.9 * np.arange(int(np.prod(shape)))).reshape(shape)


LABELS = [[1, 2, 0], [3, 3, 3], [2, 2, 1], [0, 0, 0]]
SHIFTED = [[0, 2, 0], [0, 0, 3], [2, 2, 0], [3, 0, 0]]
CASES = {
    "plain": dict(labels=LABELS, label_length=[2, 3, 3, 0], logit_length=[5, 5, 5, 5]),
    "shorter": dict(labels=LABELS, label_length=[2, 3, 1, 0], logit_length=[5, 5, 3, 2]),
    "batchMajor": dict(labels=LABELS, label_length=[2, 3, 3, 0], logit_length=[5, 5, 5, 4], logits_time_major=False),
    "blankLast": dict(labels=[[1, 2, 0], [0, 0, 0], [2, 2, 1], [0, 0, 0]], label_length=[2, 3, 3, 1], logit_length=[5, 5, 5, 5], blank_index=-1),
    "blankInside": dict(labels=SHIFTED, label_length=[2, 3, 3, 1], logit_length=[5, 5, 5, 5], blank_index=1),
    "sparse": dict(labels=[[0, 2], [2, 2], [3, 0], [2, 3]], sparse=True, logit_length=[5, 5, 4, 5], blank_index=1),
    "sparseLast": dict(labels=[[0, 2], [2, 2], [1, 0], [2, 0]], sparse=True, logit_length=[5, 5, 4, 5], blank_index=-1),
    "impossible": dict(labels=LABELS, label_length=[2, 3, 3, 0], logit_length=[5, 4, 3, 5]),
}


def sparse(rows):
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = tf.constant([value for row in rows for value in row])
    return tf.SparseTensor(indices, values, [len(rows), max(map(len, rows))])


def rounded(array):
    return [float(f"{x:.6g}") for x in np.asarray(array, np.float64).ravel()]


golden = {}
for name, given in CASES.items():
    options = {key: given[key] for key in ("logits_time_major", "blank_index") if key in given}
    shape = [4, 5, 4] if name == "batchMajor" else [5, 4, 4]
    with tf.Graph().as_default(), tf.Session() as sess:
        logits = tf.constant(numbers(2, shape), tf.float32)
        labels = sparse(given["labels"]) if given.get("sparse") else tf.constant(given["labels"])
        loss = tf.nn.ctc_loss_v2(labels, logits, given.get("label_length"), tf.constant(given["logit_length"]), **options)
        (gradient,) = tf.gradients(loss * tf.constant([1.0, 2.0, 0.5, -1.0]), logits)
        found = sess.run([loss, gradient])
    golden[name] = {**given, "shape": shape, "loss": rounded(found[0]), "gradient": rounded(found[1])}
with tf.Session() as sess:
    rows = [[3, 4, 4, 3], [1, 1, 1, 0], [5, 6, 7, 8]]
    unique, indices = sess.run(tf.nn.ctc_unique_labels(tf.constant(rows)))
    golden["unique"] = {"labels": rows, "unique": unique.tolist(), "indices": indices.tolist()}
with open(TARGET, "w") as file:
    lines = [f" {json.dumps(key)}: {json.dumps(record, separators=(',', ':'))}" for key, record in golden.items()]
    file.write("{\n" + ",\n".join(lines) + "\n}\n")
