"""Writes test/golden/io/parsing.json with real TensorFlow: nodes and values of the functions that parse examples and text.

Run: TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/parsing.py
Each case gives its nodes in the order they were made, as `name = Op(inputs)`, and what it runs to. test/null/io/parsing.test.ts
builds the same cases under the same names. Examples are serialized in a fixed order, in base64.
"""
import base64
import json
import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.logging.set_verbosity(tf.logging.FATAL)
tf.disable_eager_execution()
TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "test", "golden", "io", "parsing.json")


def ints(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def texts(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features))


def sequence(context, lists):
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=context),
        feature_lists=tf.train.FeatureLists(
            feature_list={k: tf.train.FeatureList(feature=v) for k, v in lists.items()}))


messages = {
    "one": example(age=ints(29), name=texts(b"Ann"), scores=floats(0.5, -1.25), ix=ints(4, 1), iy=ints(0, 2),
                   value=floats(10, 20), big=ints(2**63 - 1, -2**63)),
    "two": example(name=texts(b"", b"\xff\x00"), scores=floats(1, 2, 3, 4), ix=ints(7), iy=ints(1), value=floats(30)),
    "empty": tf.train.Example(),
    "steps": sequence({"id": ints(5), "tags": texts(b"a", b"b")},
                      {"x": [floats(1, 2), floats(3, 4)], "words": [texts(b"to"), texts(), texts(b"be", b"or")]}),
    "short": sequence({"id": ints(6)}, {"x": [floats(9, 8)]}),
}
serialized = {k: m.SerializeToString(deterministic=True) for k, m in messages.items()}
batch = [serialized[k] for k in ("one", "two", "empty")]
sequences = [serialized[k] for k in ("steps", "short")]


def element(x):
    """Bytes as text, and integers that JavaScript's numbers cannot hold as text too."""
    if isinstance(x, bytes):
        return x.decode("latin1")
    return str(x) if isinstance(x, int) and abs(x) >= 2**53 else x


def plain(value):
    if isinstance(value, tf.SparseTensorValue):
        return [plain(part) for part in value]
    nested = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    deep = lambda v: [deep(x) for x in v] if isinstance(v, list) else element(v)
    return deep(nested)


def nodes(graph):
    return [f"{n.name} = {n.op}({', '.join(n.input)})" for n in graph.as_graph_def().node]


def features():
    return {
        "age": tf.FixedLenFeature([], tf.int64, default_value=-1),
        "name": tf.VarLenFeature(tf.string),
        "scores": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
        "padded": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True, default_value=7.0),
        "pair": tf.FixedLenFeature([2], tf.string, default_value=["p", "q"]),
        "line": tf.SparseFeature("ix", "value", tf.float32, 10),
        "plane": tf.SparseFeature(["ix", "iy"], "value", tf.float32, [10, 3], already_sorted=True),
    }


def sparse():
    return tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 4])


cases = {
    "example": lambda: tf.parse_example(batch, features()),
    "named": lambda: tf.parse_example(batch[:1], {"age": tf.FixedLenFeature([], tf.int64)}, name="mine",
                                      example_names=["first"]),
    "single": lambda: tf.parse_single_example(serialized["one"], features()),
    "ofUnknownRank": lambda: tf.parse_single_example(
        tf.placeholder_with_default(tf.constant(serialized["one"]), None), {"big": tf.VarLenFeature(tf.int64)}),
    "sequences": lambda: dict(enumerate(tf.io.parse_sequence_example(
        sequences,
        context_features={"id": tf.FixedLenFeature([], tf.int64), "tags": tf.VarLenFeature(tf.string)},
        sequence_features={"x": tf.FixedLenSequenceFeature([2], tf.float32), "words": tf.VarLenFeature(tf.string),
                           "none": tf.FixedLenSequenceFeature([3], tf.int64, allow_missing=True)}))),
    "oneSequence": lambda: dict(enumerate(tf.parse_single_sequence_example(
        serialized["steps"],
        context_features={"id": tf.FixedLenFeature([], tf.int64)},
        sequence_features={"x": tf.FixedLenSequenceFeature([2], tf.float32), "words": tf.VarLenFeature(tf.string)}))),
    "raw": lambda: {"a": tf.decode_raw(["abcd", "efgh"], tf.uint16),
                    "b": tf.decode_raw("ab", tf.int16, little_endian=False, name="turned")},
    "csv": lambda: dict(enumerate(tf.decode_csv(
        ["1,2.5,x", ',,"y ""z"""'], [[7], tf.constant([0.5]), [""]], name="rows"))),
    "selected": lambda: dict(enumerate(tf.decode_csv(
        tf.constant("1;NA;3"), [["?"], ["!"]], field_delim=";", na_value="NA", select_cols=[1, 2]))),
    "tensor": lambda: {"a": tf.io.parse_tensor(tf.io.serialize_tensor([[1.5, 2.0]]), tf.float32)},
    "sparse": lambda: {"a": tf.deserialize_many_sparse(tf.serialize_many_sparse(sparse()), tf.float32, rank=1),
                       "b": tf.serialize_sparse(sparse(), name="whole")},
    "text": lambda: {"a": tf.encode_base64(["a", "bc"], pad=True), "b": tf.decode_base64("_-8"),
                     "c": tf.decode_json_example('{"features":{"feature":{"a":{"int64List":{"value":[1]}}}}}'),
                     "d": tf.io.decode_compressed("plain")},
}


def record(make):
    with tf.Graph().as_default() as graph:
        fetches = make()
        made = nodes(graph)
        with tf.Session() as session:
            values = session.run(fetches)
    flat = lambda v: {str(k): flat(x) for k, x in sorted(v.items(), key=lambda e: str(e[0]))} if isinstance(v, dict) else plain(v)
    return {"nodes": made, "values": flat(values)}


result = {
    "serialized": {k: base64.b64encode(v).decode() for k, v in serialized.items()},
    "cases": {k: record(make) for k, make in cases.items()},
}
with open(TARGET, "w") as file:
    json.dump(result, file, indent=1, sort_keys=True, ensure_ascii=True)
    file.write("\n")
