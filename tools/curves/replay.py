"""Replays recorded runs in TensorFlow and prints, per program, how far the results are apart.

`each 5`: TensorFlow is given our variables before every fifth run, so that five steps are compared from the same state. This
is what tells whether an op computes something else.

`first 10`, `first 50`, `all`: both train by themselves from the same beginning. Training makes differences of rounding grow:
Adam divides a gradient by its own size, so a gradient that is zero but for rounding moves a weight as far as any other. The
last two columns say how far TensorFlow gets from itself that way: with its other kernels (TF_ENABLE_ONEDNN_OPTS), and when the
floats that are fed change by a last bit. No other implementation can be nearer than that.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile

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
    """One part in 2^23 more or less, as rounding may give it."""
    if array.dtype.kind != 'f':
        return array
    signs = np.where(np.arange(array.size) * 7 % 11 < 5, -1, 1).reshape(array.shape)
    return (array * (1 + signs * 2.0**-23)).astype(array.dtype)


def assigner(graph):
    """A function that gives the variables of a session other values."""
    made = {}

    def assign(sess, state):
        for name, value in state.items():
            if name not in made:
                target = graph.get_tensor_by_name(name + ':0')
                given = tf.placeholder(value['dtype'], value['shape'])
                made[name] = given, tf.raw_ops.AssignVariableOp(resource=target, value=given)
        sess.run([op for _, op in made.values()], {given: decoded(state[name]) for name, (given, _) in made.items()})

    return assign


def replay(folder, name, changed=lambda array: array, follows=False):
    """The results of all runs of a program; with `follows`, from our variables where there are any."""
    graph_def = tf.GraphDef.FromString(open(f'{folder}/{name}.pb', 'rb').read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name='')
        assign = assigner(graph)
        with tf.Session(config=config) as sess:
            for number, run in enumerate(json.load(open(f'{folder}/{name}.json'))):
                state = f'{folder}/{name}.{number}.json'
                if follows and os.path.exists(state):
                    assign(sess, json.load(open(state)))
                feeds = {k: changed(decoded(v)) for k, v in run['feeds'].items()}
                yield sess.run([run['fetches'], run['targets']], feeds)[0]


def with_other_kernels(folder, name):
    """The results in another process, which uses oneDNN if this one does not, and the other way round."""
    uses = os.environ.get('TF_ENABLE_ONEDNN_OPTS', '1') != '0'
    with tempfile.NamedTemporaryFile(suffix='.npz') as file:
        environment = {**os.environ, 'TF_ENABLE_ONEDNN_OPTS': '0' if uses else '1'}
        subprocess.run([sys.executable, __file__, '--save', file.name, folder, name], env=environment, check=True)
        saved = np.load(file.name)
        for number in range(len(json.load(open(f'{folder}/{name}.json')))):
            yield [saved[key] for key in sorted(saved.files) if key.startswith(f'{number:04}-')]


def worst(pairs):
    return max((difference(np.asarray(a), np.asarray(b)) for a, b in pairs), default=0.0)


def main(folder, programs):
    failed = False
    columns = ['program', 'steps', 'each 5', 'first 10', 'first 50', 'all', 'kernels', 'last bits']
    print(f'{columns[0]:<20}{columns[1]:>6}' + ''.join(f'{title:>12}' for title in columns[2:]))
    for name in programs:
        runs = json.load(open(f'{folder}/{name}.json'))
        results = [list(map(decoded, run['results'])) for run in runs]
        theirs = list(replay(folder, name))
        steps = [worst(zip(a, b)) for a, b in zip(results, replay(folder, name, follows=True))]
        apart = [worst(zip(a, b)) for a, b in zip(results, theirs)]
        own = [
            max((worst(zip(a, b)) for a, b in zip(others, theirs)), default=0.0)
            for others in (with_other_kernels(folder, name), replay(folder, name, last_bit))
        ]
        table = [max(steps), *(max(apart[:n], default=0.0) for n in (10, 50, len(apart))), *own]
        steps_done = sum(1 for run in runs if run['fetches'])
        print(f'{name:<20}{steps_done:>6}' + ''.join(f'{x:>12.1e}' for x in table), flush=True)
        # A wrong number would be far off at once.
        failed |= steps_done < 100 or max(steps) > 1e-4 or max(apart[:10]) > 1e-4 or table[3] > max(1e-3, 3 * max(own))
    sys.exit(1 if failed else 0)


def save(file, folder, name):
    results = replay(folder, name)
    np.savez(file, **{f'{i:04}-{j:02}': value for i, values in enumerate(results) for j, value in enumerate(values)})


if sys.argv[1] == '--save':
    save(*sys.argv[2:])
else:
    main(sys.argv[1], sys.argv[2:])
