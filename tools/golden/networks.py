"""Fills in what TensorFlow gives for the calls in test/golden/networks.json: values, gradients and gradients of gradients.

    /opt/tfenv/bin/python tools/golden/networks.py

Arrays are made by the same generator in the test. Of every result its size, a sum with weights and a sum of sizes is kept.
"""
import json
import math
import os

import numpy as np
import tensorflow as tf2

tf = tf2.compat.v1
tf.disable_eager_execution()
path = os.path.join(os.path.dirname(__file__), '../../test/golden/networks.json')


def elements(spec):
    if 'data' in spec:
        return np.array(spec['data'], spec['dtype']).reshape(spec['shape'])
    state, count = spec['seed'] * 7919 + 1, math.prod(spec['shape'])
    numbers = []
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2147483648
        numbers.append(spec['lo'] + (spec['hi'] - spec['lo']) * state / 2147483648)
    floats = spec['dtype'].startswith('float')
    return np.array(numbers if floats else np.floor(numbers), spec['dtype']).reshape(spec['shape'])


def tensor(spec, inputs):
    """A tensor for every description in an argument."""
    if isinstance(spec, list):
        return [tensor(x, inputs) for x in spec]
    if not isinstance(spec, dict):
        return spec
    if 't' in spec:
        made = tf.constant(elements(spec))
        if spec.get('d'):
            inputs.append(made)
        return made
    (kind, (indices, values, shape)), = spec.items()
    types = {'sparse': tf.int32, 'sparse64': tf.int64, 'sparsef': tf.float32}
    return tf.SparseTensor(indices, tf.constant(values, types[kind]), shape)


def flat(value):
    if isinstance(value, tf.SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, (list, tuple)):
        return [y for x in value for y in flat(x)]
    return [value] if isinstance(value, tf.Tensor) else []


def digest(array):
    numbers = np.asarray(array, np.float64).ravel()
    weights = np.cos(np.arange(numbers.size))
    return [numbers.size, float(f'{numbers @ weights:.7g}'), float(f'{np.abs(numbers).sum():.7g}')]


def results(case):
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        inputs = []
        function = tf
        for part in case['fn'].split('.'):
            function = getattr(function, part)
        args = [tensor(a, inputs) for a in case['args']]
        options = {k: tensor(v, inputs) for k, v in {**case['kw'], **case.get('kw2', {})}.items()}
        ys = flat(function(*args, **options))
        loss = tf.constant(0.0)
        for y in ys:
            if y.dtype.is_floating:
                weights = tf.reshape(tf.cos(tf.range(tf.cast(tf.size(y), tf.float32))), tf.shape(y))
                loss += tf.reduce_sum(tf.cast(y, tf.float32) * weights)
        first = [tf.convert_to_tensor(g) for g in tf.gradients(loss, inputs) if g is not None] if inputs else []
        second = []
        if first and case.get('second', 1):
            squares = tf.add_n([tf.reduce_sum(tf.square(tf.cast(g, tf.float32))) for g in first])
            second = [tf.convert_to_tensor(g) for g in tf.gradients(squares, inputs) if g is not None]
        with tf.Session() as sess:
            return [list(map(digest, part)) for part in sess.run([ys, first, second])]


cases = json.load(open(path))
for case in cases:
    try:
        case['gives'] = results(case)
    except LookupError:  # TensorFlow has no gradient of this gradient
        case['second'] = 0
        case['gives'] = results(case)
with open(path, 'w') as file:
    file.write('[\n' + ',\n'.join(json.dumps(case, separators=(',', ':')) for case in cases) + '\n]\n')
