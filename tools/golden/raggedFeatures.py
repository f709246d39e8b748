"""Ragged features of parsed Examples, as test/golden/io/raggedFeatures.json: raggedFeatures.py > OUTPUT."""
import json
import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import tensorflow as tf

R = tf.io.RaggedFeature
EXAMPLES = [
    {"v": [3, 1, 4, 1, 5, 9], "splits": [0, 2, 3, 3, 6], "outer": [0, 2, 3, 4], "lengths": [2, 1, 0, 3], "starts": [0, 2, 3, 3], "limits": [2, 3, 3, 6], "ids": [0, 0, 1, 3, 3, 3]},
    {"v": [], "splits": [0], "outer": [0], "lengths": [], "starts": [], "limits": [], "ids": []},
    {"v": [2, 7, 1, 8, 2, 8], "splits": [0, 3, 4, 6], "outer": [0, 1, 1, 3], "lengths": [3, 1, 2], "starts": [0, 3, 4], "limits": [3, 4, 6], "ids": [0, 0, 0, 1, 2, 2]},
]  # fmt: skip
PARTITIONS = {
    "none": [],
    "splits": [["RowSplits", "splits"]],
    "lengths": [["RowLengths", "lengths"]],
    "starts": [["RowStarts", "starts"]],
    "limits": [["RowLimits", "limits"]],
    "ids": [["ValueRowIds", "ids"]],
    "uniform": [["UniformRowLength", 2]],
    "rows of rows": [["RowSplits", "outer"], ["RowSplits", "splits"]],
    "uniform inside": [["UniformRowLength", 1], ["RowLengths", "lengths"]],
    "uniform rows in rows": [["UniformRowLength", 3], ["UniformRowLength", 2]],
}


def serialized(example):
    feature = {key: tf.train.Feature(int64_list=tf.train.Int64List(value=values)) for key, values in example.items()}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def plain(value):
    return value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()


cases = {}
for name, partitions in PARTITIONS.items():
    built = [getattr(R, kind)(argument) for kind, argument in partitions]
    feature = R(tf.int64, value_key="v", partitions=built, row_splits_dtype=tf.int64 if name == "ids" else tf.int32)
    records = [serialized(example) for example in EXAMPLES]
    cases[name] = {
        "partitions": partitions,
        "batch": plain(tf.io.parse_example(records, {"x": feature})["x"]),
        "single": plain(tf.io.parse_single_example(records[0], {"x": feature})["x"]),
    }
print(json.dumps({"examples": EXAMPLES, "cases": cases}))
