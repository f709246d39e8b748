"""Writes test/golden/randomDigests.json: SHA-256 of many normals of TensorFlow, of an odd count, by distribution.

Run with a Python that has TensorFlow 2.x:  python tools/golden/randomDigests.py test/golden/randomDigests.json
"""
import hashlib
import json
import sys

import tensorflow as tf

COUNT = 1_000_003
SEEDS = dict(seed=87654321, seed2=4711)


def digest(op):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        return hashlib.sha256(session.run(op(shape=[COUNT], dtype=tf.float32, **SEEDS)).tobytes()).hexdigest()


if __name__ == "__main__":
    ops = dict(normal=tf.raw_ops.RandomStandardNormal, truncatedNormal=tf.raw_ops.TruncatedNormal)
    with open(sys.argv[1], "w") as file:
        json.dump(dict(count=COUNT, **SEEDS, **{name: digest(op) for name, op in ops.items()}), file, indent=2)
        file.write("\n")
