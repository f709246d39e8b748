"""Writes test/golden/philox.json: the first numbers of TensorFlow's random ops, for fixed seeds.

Run with a Python that has TensorFlow 2.x:  python tools/golden/philox.py test/golden/philox.json [count]
Floats are written as the hexadecimal digits of their bits, integers as decimal text.
"""
import json
import sys

import numpy as np
import tensorflow as tf

# The first uniform float32 of the last pair is 0, whose logarithm the normals must avoid.
SEEDS = [(42, 7), (123456789012, 98765432109876), (1, 6018600)]


def bits(values):
    values = np.asarray(values).ravel()
    if np.issubdtype(values.dtype, np.integer):
        return [str(v) for v in values]
    unsigned = values.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[values.dtype.itemsize])
    return [format(int(v), "x") for v in unsigned]


def run(make):
    """The op's first value: a graph of its own, so that no earlier call has advanced the generator."""
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        return session.run(make())


def draw(count):
    for seed, seed2 in SEEDS:
        seeds = dict(seed=seed, seed2=seed2)
        for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
            for distribution, op in (
                ("uniform", tf.raw_ops.RandomUniform),
                ("normal", tf.raw_ops.RandomStandardNormal),
                ("truncatedNormal", tf.raw_ops.TruncatedNormal),
            ):
                values = run(lambda: op(shape=[count], dtype=dtype, **seeds))
                yield dict(distribution=distribution, dtype=dtype.name, values=bits(values), **seeds)
        for dtype, low, high in ((tf.int32, -5, 1000), (tf.int32, -(2**31), 2**31 - 1), (tf.int64, -(10**18), 3 * 10**18)):
            values = run(
                lambda: tf.raw_ops.RandomUniformInt(
                    shape=[count], minval=tf.constant(low, dtype), maxval=tf.constant(high, dtype), **seeds
                )
            )
            yield dict(
                distribution="uniformInt", dtype=dtype.name, low=str(low), high=str(high), values=bits(values), **seeds
            )


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 19
    with open(sys.argv[1], "w") as file:
        cases = ",\n".join(json.dumps(case) for case in draw(count))
        file.write(f"[\n{cases}\n]\n")
