"""Writes test/golden/variableUpdates.json: nodes and values of gathers from variables, their gradients, and scatter updates."""
import json
import pathlib

import numpy as np
from graphMode import tf

ROWS = np.ones((2, 3)) * 2.5
CASES = {}


def squared(y, v):
    return [y, tf.gradients(y * y, v)[0]]


for name, indices in {'rows': [[1], [3], [1]], 'elements': [[1, 2], [3, 0]], 'batch': [[[1], [3]]]}.items():
    CASES[f'gatherNd {name}'] = lambda v, i=indices: squared(tf.gather_nd(v, i), v)
CASES['gather'] = lambda v: squared(tf.gather(v, [1, 3, 1]), v)
for name in ['update', 'add', 'sub']:
    CASES[f'scatterNd {name}'] = lambda v, n=name: [getattr(tf, 'scatter_nd_' + n)(v, [[1], [3]], ROWS)]
for name in ['max', 'min']:
    CASES[f'scatterNd {name}'] = lambda v, n=name: [getattr(v, 'scatter_nd_' + n)([[1], [3]], ROWS)]
for name in ['add', 'sub', 'mul', 'div', 'min', 'max', 'update']:
    CASES[f'scatter {name}'] = lambda v, n=name: [getattr(tf, 'scatter_' + n)(v, [1, 3], ROWS)]


def text(op):
    inputs = [t.name if t.value_index else t.op.name for t in op.inputs]
    return ' '.join([op.name, op.type, *inputs, *sorted('^' + c.name for c in op.control_inputs)])


def parts(value):
    return [np.asarray(p).ravel().tolist() for p in (value if isinstance(value, tuple) else (value,))]


def run(build):
    graph = tf.Graph()
    with graph.as_default():
        v = tf.Variable(np.arange(12, dtype=np.float64).reshape(4, 3), name='v')
        fetches = build(v)
        nodes = [text(op) for op in graph.get_operations()]
        with tf.Session() as session:
            session.run(v.initializer)
            return {'nodes': nodes, 'values': [parts(session.run(fetch)) for fetch in fetches]}


target = pathlib.Path(__file__).parents[2] / 'test/golden/variableUpdates.json'
target.write_text(json.dumps({name: run(build) for name, build in CASES.items()}, indent=1) + '\n')
