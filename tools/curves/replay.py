"""Replays recorded runs in TensorFlow and prints, per program, how far the results are apart."""
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


folder, *programs = sys.argv[1:]
failed = False
print(f"{'program':<20}{'runs':>6}{'first 10':>12}{'first 50':>12}{'all':>12}")
for name in programs:
    graph_def = tf.GraphDef.FromString(open(f'{folder}/{name}.pb', 'rb').read())
    runs = json.load(open(f'{folder}/{name}.json'))
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name='')
        with tf.Session(config=config) as sess:
            worst = []
            for run in runs:
                feeds = {k: decoded(v) for k, v in run['feeds'].items()}
                values, _ = sess.run([run['fetches'], run['targets']], feeds)
                worst.append(max([difference(decoded(a), b) for a, b in zip(run['results'], values)], default=0.0))
    table = [max(worst[:n], default=0.0) for n in (10, 50, len(worst))]
    print(f'{name:<20}{len(worst):>6}' + ''.join(f'{x:>12.1e}' for x in table))
    # Rounding differs and grows from step to step; a wrong number would be far off at once.
    failed |= table[0] > 1e-4 or table[2] > 2e-2
sys.exit(1 if failed else 0)
