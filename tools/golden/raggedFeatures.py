"""Ragged features of parsed Examples, as test/golden/io/raggedFeatures.json: raggedFeatures.py > OUTPUT."""
import json
import os
import re

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


def sequence(steps):
    """A sequence example with these examples as its steps; its context is the first of all."""
    def feature(values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    context = {key: feature(values) for key, values in EXAMPLES[0].items()}
    lists = {key: tf.train.FeatureList(feature=[feature(step[key]) for step in steps]) for key in EXAMPLES[0]}
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=context), feature_lists=tf.train.FeatureLists(feature_list=lists)
    ).SerializeToString()


def plain(value):
    return value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()


cases = {}
for name, partitions in PARTITIONS.items():
    built = [getattr(R, kind)(argument) for kind, argument in partitions]
    feature = R(tf.int64, value_key="v", partitions=built, row_splits_dtype=tf.int64 if name == "ids" else tf.int32)
    records = [serialized(example) for example in EXAMPLES]
    sequences = [sequence(EXAMPLES[:2]), sequence([]), sequence(EXAMPLES[2:])]
    asked = {"context_features": {"x": feature}, "sequence_features": {"x": feature}}
    steps = tf.io.parse_sequence_example(sequences, **asked)
    of_one = tf.io.parse_single_sequence_example(sequences[0], **asked)
    dataset = tf.data.Dataset.from_tensor_slices(records).batch(3)
    (parsed,) = dataset.apply(tf.data.experimental.parse_example_dataset({"x": feature}))
    assert plain(parsed["x"]) == plain(tf.io.parse_example(records, {"x": feature})["x"])
    cases[name] = {
        "partitions": partitions,
        "context": [plain(steps[0]["x"]), plain(of_one[0]["x"])],
        "steps": [plain(steps[1]["x"]), plain(of_one[1]["x"])],
        "batch": plain(tf.io.parse_example(records, {"x": feature})["x"]),
        "single": plain(tf.io.parse_single_example(records[0], {"x": feature})["x"]),
    }

WRONG = {
    "RowSplits": [[1, 2], [0, 2, 1], [0, 1]],
    "RowLengths": [[1, -1, 2], [1]],
    "RowStarts": [[1], [0, 5], [0, 2, 1]],
    "RowLimits": [[1], [2, 1, 2]],
    "ValueRowIds": [[1, 0], [-1, 0]],
}


def complaint(parse):
    """The first words of what is wrong; without anything wrong, the rows."""
    try:
        return plain(parse()["x"])
    except tf.errors.InvalidArgumentError as error:
        return re.search(r"Arguments to \w+ do not form a valid [\w:]+", error.message)[0]


wrong = []
for kind, lists in WRONG.items():
    feature = {"x": R(tf.int64, value_key="v", partitions=[getattr(R, kind)("p")], validate=True)}
    for numbers in lists:
        record = serialized({"v": [7, 8], "p": numbers})
        batch = complaint(lambda: tf.io.parse_example([record], feature))
        single = complaint(lambda: tf.io.parse_single_example(record, feature))
        wrong.append({"kind": kind, "numbers": numbers, "batch": batch, "single": single})
print(json.dumps({"examples": EXAMPLES, "cases": cases, "wrong": wrong}))
