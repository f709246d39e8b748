"""Replays recorded runs in TensorFlow and prints, per program, how far the results are apart.

The last column is how far TensorFlow is from itself after all runs when the floats that are fed differ in their last bit:
training makes differences of rounding grow, and no other implementation can be nearer than that.
"""
import base64
import json
import sys

import numpy as np
import tensorflow as tf2

tf = tf2.compat.v1
tf.disable_eager_execution()
# One after the other, so that random numbers in loops are drawn in order.
config = tf.ConfigProto(inter_op_parallelism_threads=1)


def decoded(array):
    return np.frombuffer(base64.b64decode(array['data']), dtype=array['dtype']).reshape(array['shape'])


def difference(ours, theirs):
    """The largest difference, relative to the size of the numbers."""
    if ours.shape != theirs.shape:
        return float('inf')
    if ours.dtype.kind != 'f':
        return float(np.mean(ours != theirs)) if ours.size else 0.0
    return float(np.max(np.abs(ours - theirs) / (1 + np.abs(theirs)))) if ours.size else 0.0


def last_bit(array):
    return np.nextafter(array, np.float32(np.inf)) if array.dtype.kind == 'f' else array


def replay(folder, name, changed=lambda array: array):
    """The results of all runs of a program."""
    graph_def = tf.GraphDef.FromString(open(f'{folder}/{name}.pb', 'rb').read())
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name='')
        with tf.Session(config=config) as sess:
            for run in json.load(open(f'{folder}/{name}.json')):
                feeds = {k: changed(decoded(v)) for k, v in run['feeds'].items()}
                yield sess.run([run['fetches'], run['targets']], feeds)[0]


def worst(pairs):
    return max((difference(np.asarray(a), np.asarray(b)) for a, b in pairs), default=0.0)


folder, *programs = sys.argv[1:]
failed = False
print(f"{'program':<20}{'runs':>6}{'first 10':>12}{'first 50':>12}{'all':>12}{'last bits':>12}")
for name in programs:
    runs = json.load(open(f'{folder}/{name}.json'))
    theirs = list(replay(folder, name))
    ours = [worst(zip(map(decoded, run['results']), values)) for run, values in zip(runs, theirs)]
    rounding = max((worst(zip(a, b)) for a, b in zip(replay(folder, name, last_bit), theirs)), default=0.0)
    table = [max(ours[:n], default=0.0) for n in (10, 50, len(ours))] + [rounding]
    print(f'{name:<20}{len(ours):>6}' + ''.join(f'{x:>12.1e}' for x in table))
    # A wrong number would be far off at once.
    failed |= table[0] > 1e-4 or table[2] > max(1e-3, 10 * rounding)
sys.exit(1 if failed else 0)
