"""TensorFlow's side of tools/examples/main.ts: reads and parses our records, and writes its own with what it parses of them.

Run by main.ts with the folder of the files and the number of examples.
"""
import base64
import json
import os
import sys

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
folder, count = sys.argv[1], int(sys.argv[2])
compressions = ["", "GZIP", "ZLIB"]


def example(i):
    features = {
        "whole": tf.train.Feature(int64_list=tf.train.Int64List(value=[i, -i, i * 2**40, 2**63 - 1 - i])),
        "real": tf.train.Feature(float_list=tf.train.FloatList(value=[(i - k) / 8 for k in range(i % 7)])),
        "bytes": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes([i % 256, 255, 0]), f"größe {i}".encode()])),
        "nothing": tf.train.Feature(),
    }
    if i % 3 == 0:
        features["some"] = tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
    return tf.train.Example(features=tf.train.Features(feature=features))


def parsed(records):
    with tf.Graph().as_default(), tf.Session() as session:
        result = session.run(tf.parse_example(records, {
            "whole": tf.FixedLenFeature([4], tf.int64),
            "real": tf.VarLenFeature(tf.float32),
            "bytes": tf.FixedLenFeature([2], tf.string),
            "some": tf.FixedLenFeature([], tf.int64, default_value=-5),
        }))
    return {
        "whole": [str(x) for x in result["whole"].flat],
        "indices": [str(x) for x in result["real"].indices.flat],
        "real": [float(x) for x in result["real"].values],
        "bytes": [base64.b64encode(x).decode() for x in result["bytes"].flat],
        "some": [str(x) for x in result["some"]],
    }


def path(who, compression):
    return os.path.join(folder, f"{who}{compression}.tfrecords")


def read(who, compression):
    options = tf.io.TFRecordOptions(compression_type=compression)
    return list(tf.io.tf_record_iterator(path(who, compression), options))


problems = []
expected = [example(i) for i in range(count)]
with open(os.path.join(folder, "ours.json")) as file:
    ours = json.load(file)
for compression in compressions:
    records = read("ours", compression)
    if [tf.train.Example.FromString(r) for r in records] != expected:
        problems.append(f"our file ({compression or 'plain'}) does not hold the examples")
    if parsed(records) != ours:
        problems.append(f"our file ({compression or 'plain'}) is parsed differently")
    with tf.io.TFRecordWriter(path("theirs", compression), tf.io.TFRecordOptions(compression_type=compression)) as writer:
        for message in expected:
            writer.write(message.SerializeToString())
with open(os.path.join(folder, "theirs.json"), "w") as file:
    # As JSON.stringify writes it: whole floats without a point.
    text = json.dumps(parsed(read("theirs", "")), separators=(",", ":"))
    file.write(text.replace(".0,", ",").replace(".0]", "]"))
for problem in problems:
    print("examples:", problem)
sys.exit(1 if problems else 0)
