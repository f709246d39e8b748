"""Writes test/golden/randomRuns.json: what seeded random functions of TensorFlow give in three runs of one session.

Run with a Python that has TensorFlow 2.x:  python tools/golden/randomRuns.py test/golden/randomRuns.json
Floats are written as the hexadecimal digits of their bits, integers as decimal text.
"""
import json
import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

RUNS = 3


def bits(values):
    values = np.asarray(values).ravel()
    if np.issubdtype(values.dtype, np.integer):
        return [str(v) for v in values]
    unsigned = values.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[values.dtype.itemsize])
    return [format(int(v), "x") for v in unsigned]


# The names match those in test/whole/random.test.ts. Odd sizes show that a run leaves no half-used block behind.
PROGRAMS = {
    "uniform": lambda: tf.random_uniform([3, 3], -1, 3, seed=5),
    "uniform64": lambda: tf.random_uniform([3], seed=5, dtype=tf.float64),
    "integers": lambda: tf.random_uniform([5], 0, 1000, dtype=tf.int32, seed=6),
    "integers64": lambda: tf.random_uniform([3], -7, 10**10, dtype=tf.int64, seed=6),
    "normal": lambda: tf.random_normal([5], 1.5, 0.5, seed=7),
    "normal16": lambda: tf.random_normal([5], seed=7, dtype=tf.float16),
    "truncated": lambda: tf.truncated_normal([7], stddev=0.1, seed=8),
    "shuffle": lambda: tf.random_shuffle(tf.range(10), seed=9),
    "shuffleRows": lambda: tf.random_shuffle(tf.reshape(tf.range(12), [6, 2]), seed=9),
    "multinomial": lambda: tf.multinomial([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]], 5, seed=10),
    "gamma": lambda: tf.random_gamma([2], [0.5, 1.0, 3.0], seed=11),
    "dropout": lambda: tf.nn.dropout(tf.ones([10]), rate=0.4, seed=12),
    "graphSeed": lambda: tf.random_uniform([3]),
    "graphSeedAgain": lambda: tf.random_uniform([3]),
}


def main(path):
    golden = {}
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = {}
        for name, make in PROGRAMS.items():
            if name == "graphSeed":
                tf.set_random_seed(1234)
            tensors[name] = make()
        for name, tensor in tensors.items():
            golden[name] = [bits(session.run(tensor)) for _ in range(RUNS)]
    with open(path, "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


main(sys.argv[1])
