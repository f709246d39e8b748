"""Graphs with functions, branches and loops, built by TensorFlow with control flow v2: what runs must give the same.

python tools/golden/functional_graphs.py > test/golden/functionalGraphs.json
"""
import base64
import json

import numpy as np
from graphMode import tf, tf2

cases = []


def case(name, build, feeds, runs=1):
    """`build` gives placeholders by name and fetches; each of `feeds` is one run."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(7)
        fetches = build()
        init = tf.global_variables_initializer() if tf.global_variables() else None
        with tf.Session() as sess:
            if init is not None:
                sess.run(init)
            results = []
            for feed in feeds:
                for _ in range(runs):
                    values = sess.run(fetches, {k + ':0': v for k, v in feed.items()})
                    results.append([np.asarray(v).tolist() for v in values])
        cases.append({
            'name': name,
            'graph': base64.b64encode(graph.as_graph_def().SerializeToString()).decode(),
            'init': init.name if init is not None else None,
            'feeds': [{k: np.asarray(v).tolist() for k, v in f.items()} for f in feeds for _ in range(runs)],
            'fetches': [f.name for f in fetches],
            'results': results,
        })


def x32(shape=None, name='x'):
    return tf.placeholder(tf.float32, shape, name=name)


def cond():
    x = x32([2])
    p = tf.placeholder(tf.bool, [], name='p')
    y = tf.cond(p, lambda: tf.square(x) + 1.0, lambda: tf.sin(x))
    g = tf.gradients(y, x)[0]
    return [y, g, tf.gradients(g, x)[0]]


case('cond', cond, [{'x': [1, 2], 'p': True}, {'x': [1, 2], 'p': False}, {'x': [3, 4], 'p': True}])


def nested_cond():
    x = x32([])
    y = tf.cond(x > 0, lambda: tf.cond(x > 10, lambda: x * 3.0, lambda: x * x), lambda: -x)
    return [y, tf.gradients(y, x)[0]]


case('nested cond', nested_cond, [{'x': v} for v in (20.0, 3.0, -1.0)])


def case_op():
    i = tf.placeholder(tf.int32, [], name='i')
    x = x32([])
    return [tf.switch_case(i, [lambda: x + 1.0, lambda: x * 2.0, lambda: x * x])]


case('case', case_op, [{'i': i, 'x': 3.0} for i in (0, 1, 2, 7, -1)])


def known_loop():
    x = x32([2])
    _, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x + 0.5), [0, x])
    g = tf.gradients(y, x)[0]
    return [y, g, tf.gradients(g, x)[0]]


case('loop with a known count', known_loop, [{'x': [1.5, -0.5]}, {'x': [0.25, 1.0]}])


def data_loop():
    x = x32([])
    n = tf.placeholder(tf.int32, [], name='n')
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.sin(y) * x), [0, x])
    g = tf.gradients(y, x)[0]
    return [y, g, tf.gradients(g, x)[0]]


case('loop whose count is fed', data_loop, [{'x': 1.25, 'n': n} for n in (0, 1, 3, 7, 3, 2, 4, 5, 6, 8, 9, 10, 3)])


def value_loop():
    x = x32([])
    y = tf.while_loop(lambda y: tf.reduce_sum(y) < 100.0, lambda y: [y * 2.0], [x])
    return [y, tf.gradients(y, x)[0]]


case('loop until a value is large', value_loop, [{'x': 3.0}, {'x': 60.0}, {'x': 200.0}])


def nested_loops():
    x = x32([])

    def outer(i, y):
        _, z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x), [0, y])
        return i + 1, z + 1.0

    _, y = tf.while_loop(lambda i, y: i < 4, outer, [0, x])
    return [y, tf.gradients(y, x)[0]]


case('nested loops', nested_loops, [{'x': 1.1}, {'x': 0.5}])


def cond_in_loop():
    x = x32([])
    _, y = tf.while_loop(
        lambda i, y: i < 6,
        lambda i, y: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: y + x)), [0, x])
    return [y, tf.gradients(y, x)[0]]


case('cond in a loop', cond_in_loop, [{'x': 1.1}])


def growing():
    x = x32([1, 2])
    _, y = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, tf.concat([y, y * 2.0], 0)), [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])])
    return [y, tf.gradients(y, x)[0]]


case('loop variable that grows', growing, [{'x': [[1, 2]]}])


def map_scan_fold():
    x = x32([None, 2])
    a = tf.map_fn(lambda r: r * r + 1.0, x)
    b = tf.scan(lambda s, r: s * 0.5 + r, x)
    c = tf.foldl(lambda s, r: s * 0.5 + r, x)
    d = tf.foldr(lambda s, r: s * 0.5 + r, x)
    return [a, b, c, d] + [tf.gradients(t, x)[0] for t in (a, b, c, d)]


case('map, scan, fold', map_scan_fold, [{'x': [[1, 2], [3, 4], [5, 6]]}, {'x': [[1, 2]]}])


def tensor_array():
    x = x32([3, 2])
    ta = tf.TensorArray(tf.float32, 3).unstack(x)
    out = tf.TensorArray(tf.float32, 3)
    _, out = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t.write(2 - i, ta.read(i) * 2.0)), [0, out])
    y = out.stack()
    z = out.gather([2, 0])
    return [y, z, out.concat() if False else tf.reduce_sum(y), tf.gradients(y, x)[0], tf.gradients(z, x)[0]]


case('tensor array in a loop', tensor_array, [{'x': [[1, 2], [3, 4], [5, 6]]}])


def variable_in_loop():
    v = tf.get_variable('v', initializer=[1.0, 2.0])
    x = x32([2])

    def body(i, y):
        with tf.control_dependencies([v.assign_add(x + 0.0 * y)]):  # each trip waits for the one before
            return i + 1, y + v.read_value()

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x])
    with tf.control_dependencies([y]):
        after = v.read_value()
    return [y, after]


case('variable assigned in a loop', variable_in_loop, [{'x': [1, 1]}, {'x': [2, 3]}])


def weight_in_loop():
    w = tf.get_variable('w', initializer=[[0.5, -0.25], [0.125, 1.0]])
    x = x32([1, 2])
    n = tf.placeholder(tf.int32, [], name='n')
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w))), [0, x])
    return [y] + tf.gradients(y, [w, x])


case('weights in a loop', weight_in_loop, [{'x': [[1, 2]], 'n': n} for n in (1, 4)])


def random_in_loop():
    _, y = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y + tf.random_uniform([2], seed=3)), [0, tf.zeros([2])])
    z = tf.cond(tf.constant(True), lambda: tf.random_normal([2], seed=4), lambda: tf.zeros([2]))
    return [y, z]


case('random numbers in a loop', random_in_loop, [{}, {}])


def lstm():
    from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl
    x = x32([2, 5, 3])
    n = tf.placeholder(tf.int32, [2], name='n')
    cell = rnn_cell_impl.BasicLSTMCell(4)
    y, state = tf.nn.dynamic_rnn(cell, x, sequence_length=n, dtype=tf.float32)
    loss = tf.reduce_sum(y * y)
    return [y, state.c, state.h] + tf.gradients(loss, tf.trainable_variables() + [x])

numbers = np.linspace(-1, 1, 30).reshape(2, 5, 3).astype('f')
case('dynamic rnn', lstm, [{'x': numbers, 'n': [5, 3]}, {'x': numbers, 'n': [2, 4]}])


def defun():
    from tensorflow.python.framework import function

    @function.Defun(tf.float32, tf.float32, func_name='MulAdd')
    def mul_add(a, b):
        return a * b + 1.0, a - b

    x = x32([2])
    y, z = mul_add(x, x * 2.0)

    @tf2.function
    def square(t):
        return t * t

    return [y, z, square(x), tf.gradients(square(x), x)[0]]


case('functions', defun, [{'x': [1, 2]}])
print(json.dumps(cases))
