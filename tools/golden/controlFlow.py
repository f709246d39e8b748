"""What real TensorFlow makes of the programs in test/front/controlFlow/programs.ts: controlFlow.py OUTPUT."""
import hashlib
import json
import sys

import numpy as np
from graphMode import tf, tf2

programs = {}


def program(f):
    programs[f.__name__.rstrip('_')] = f


def x(shape=(3,)):
    return tf.placeholder(tf.float32, shape, name='x')


@program
def cond():
    a = x()
    return tf.cond(tf.greater(a[0], 0), lambda: tf.sin(tf.tanh(a)), lambda: tf.exp(tf.square(a))), [a]


@program
def condStructure():
    a = x()
    r = tf.cond(tf.less(a[0], 0),
                lambda: {'first': tf.sin(a), 'rest': [a, tf.square(a)]},
                lambda: {'first': a, 'rest': [tf.exp(a), tf.zeros_like(a)]})
    return r['first'] * r['rest'][0] + r['rest'][1], [a]


@program
def condUnconnected():
    a = x()
    return tf.cond(tf.less(a[0], 0), lambda: tf.ones([3]), lambda: a * a), [a]


@program
def nestedCond():
    a = x([])
    return tf.cond(tf.greater(a, 1), lambda: tf.sin(a),
                   lambda: tf.cond(tf.less(a, 0), lambda: tf.square(a), lambda: a * 3)), [a]


@program
def condVariable():
    a = x([])
    v = tf.get_variable('v', [], initializer=tf.constant_initializer(3))
    return tf.cond(tf.greater(a, 0), lambda: tf.multiply(tf.sin(v.value()), a), lambda: tf.multiply(a, v)), [a, v]


@program
def condGather():
    a = x([])
    table = tf.get_variable('table', [4, 2], initializer=tf.ones_initializer())
    return tf.cond(tf.greater(a, 0), lambda: tf.reduce_sum(tf.gather(table, [1, 3])) * a,
                   lambda: tf.reduce_sum(tf.gather(table, [0, 0, 2]))), [table]


@program
def case():
    a = x()
    return tf.case([(tf.less(a[0], 0), lambda: tf.sin(a)), (tf.less(a[1], 0), lambda: tf.cos(a))],
                   default=lambda: tf.square(a)), [a]


@program
def switchCase():
    a = x()
    index = tf.cast(tf.multiply(a[2], 3), tf.int32)
    return tf.switch_case(index, [lambda: tf.sin(a), lambda: tf.cos(a), lambda: tf.multiply(a, a), lambda: tf.exp(a)]), [a]


@program
def while_():
    a = x()
    _, y = tf.while_loop(lambda i, b: tf.less(i, 4), lambda i, b: (i + 1, tf.tanh(b * a)), [tf.constant(0), a])
    return y, [a]


@program
def whileUnknown():
    a = x([None, 2])
    _, y = tf.while_loop(lambda i, b: tf.less(i, 3), lambda i, b: (i + 1, tf.sin(b * tf.reduce_sum(a, 0))), [tf.constant(0), a])
    return y, [a]


@program
def whileVariable():
    a = x()
    v = tf.get_variable('v', [3], initializer=tf.constant_initializer(0.5))
    _, y = tf.while_loop(lambda i, b: tf.less(i, 3), lambda i, b: (i + 1, tf.tanh(b * v + a)), [tf.constant(0), a], name='loop')
    return y, [a, v]


@program
def whileGather():
    a = x([])
    table = tf.get_variable('table', [4, 2], initializer=tf.ones_initializer())
    _, y = tf.while_loop(lambda i, b: tf.less(i, 3),
                         lambda i, b: (i + 1, b * tf.reduce_sum(tf.gather(table, tf.stack([i, i])))), [tf.constant(0), a])
    return y, [a, table]


@program
def whileNever():
    a = x()
    _, y = tf.while_loop(lambda i, b: tf.less(i, 0), lambda i, b: (i + 1, tf.sin(b)), [tf.constant(0), a])
    return y, [a]


@program
def whileByValue():
    a = x([])
    return tf.while_loop(lambda b: tf.less(b, 10), lambda b: b * b + 1.5, [a]), [a]


@program
def maximumIterations():
    a = x()
    _, y = tf.while_loop(lambda i, b: tf.less(i, 100), lambda i, b: (i + 1, tf.sin(b) * a), [tf.constant(0), a],
                         maximum_iterations=3)
    return y, [a]


@program
def shapeInvariants():
    a = x()
    _, y = tf.while_loop(lambda i, b: tf.less(i, 3), lambda i, b: (i + 1, tf.concat([b, tf.sin(b)], 0)), [tf.constant(0), a],
                         shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
    return tf.reduce_sum(tf.square(y)), [a]


@program
def structures():
    a = x()
    _, r = tf.while_loop(lambda i, r: tf.less(i, 2),
                         lambda i, r: (i + 1, {'s': r['t'][0] * r['s'], 't': [tf.sin(r['t'][0]), r['t'][1] * r['s']]}),
                         [tf.constant(0), {'s': a, 't': [tf.exp(a), tf.square(a)]}])
    return r['s'] + r['t'][0] + r['t'][1], [a]


@program
def nestedWhile():
    a = x([])

    def body(i, b):
        _, inner = tf.while_loop(lambda j, c: tf.less(j, i + 1), lambda j, c: (j + 1, tf.sin(c * a)), [tf.constant(0), b])
        return i + 1, inner * b

    _, y = tf.while_loop(lambda i, b: tf.less(i, 3), body, [tf.constant(0), a])
    return y, [a]


@program
def whileInCond():
    a = x([])

    def loop():
        return tf.while_loop(lambda i, b: tf.less(i, 3), lambda i, b: (i + 1, tf.sin(b * a)), [tf.constant(0), a])[1]

    return tf.cond(tf.greater(a, 0), loop, lambda: tf.square(a)), [a]


@program
def condInWhile():
    a = x([])
    _, y = tf.while_loop(
        lambda i, b: tf.less(i, 4),
        lambda i, b: (i + 1, tf.cond(tf.equal(tf.floormod(i, 2), 0), lambda: tf.sin(b * a), lambda: tf.square(b))),
        [tf.constant(0), a])
    return y, [a]


@program
def gradientInside():
    a = x([])
    return tf.cond(tf.greater(a, 0), lambda: tf.gradients(tf.pow(a, 3), [a])[0], lambda: tf.square(a)), [a]


@program
def mapFn():
    a = x([None, 2])
    return tf.map_fn(lambda row: tf.reduce_sum(tf.sin(row)) * row, a), [a]


@program
def mapFnKnown():
    a = x()
    return tf.map_fn(lambda element: tf.tanh(element) * tf.reduce_sum(a), a), [a]


@program
def mapFnStructure():
    a = x([None, 2])
    pairs = tf.map_fn(lambda r: [r['p'] * r['q'], tf.reduce_sum(r['q'])], {'p': a, 'q': tf.square(a)},
                      dtype=[tf.float32, tf.float32])
    return tf.reduce_sum(pairs[0]) * pairs[1], [a]


@program
def scan():
    a = x([None, 2])
    return tf.scan(lambda total, row: total * row, a), [a]


@program
def scanReverse():
    a = x()
    return tf.scan(lambda total, element: total + tf.sin(element), a, initializer=2.5, reverse=True), [a]


@program
def foldl():
    a = x([None, 2])
    return tf.foldl(lambda total, row: total * row, a), [a]


@program
def foldr():
    a = x()
    return tf.foldr(lambda total, element: total * element + 1, a, initializer=0.5), [a]


@program
def tensorArray():
    a = x()
    array = tf.TensorArray(tf.float32, size=3)
    for i in range(3):
        array = array.write(i, a * (i + 1))
    return array.stack() * array.read(1), [a]


@program
def tensorArrayLoop():
    a = x()
    rows = tf.TensorArray(tf.float32, size=3).unstack(a)
    _, out = tf.while_loop(lambda i, out: tf.less(i, 3), lambda i, out: (i + 1, out.write(i, tf.square(rows.read(i)) * a)),
                           [tf.constant(0), tf.TensorArray(tf.float32, size=0, dynamic_size=True)])
    return out.stack(), [a]


@program
def tensorArrayPieces():
    a = x()
    gathered = tf.TensorArray(tf.float32, size=3).unstack(tf.square(a)).gather([2, 0])
    pieces = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(tf.sin(a), [1, 2]).concat()
    scattered = tf.TensorArray(tf.float32, size=3).scatter([2, 1, 0], tf.exp(a)).stack()
    return tf.concat([gathered, pieces, scattered], 0), [a]


@program
def functionCall():
    a = x([])
    v = tf.get_variable('v', [], initializer=tf.constant_initializer(3))
    f = tf2.function(lambda b: tf.sin(tf.tanh(b) * v), autograph=False)
    return f(f(a)), [a, v]


@program
def functionInLoop():
    a = x([])
    f = tf2.function(lambda b: tf.sin(tf.tanh(b) * a), autograph=False)
    _, y = tf.while_loop(lambda i, b: tf.less(i, 3), lambda i, b: (i + 1, f(b)), [tf.constant(0), a])
    return y, [a]


@program
def loopInFunction():
    a = x([])
    f = tf2.function(lambda b: tf.while_loop(lambda i, c: tf.less(i, 3), lambda i, c: (i + 1, tf.sin(c * b)), [tf.constant(0), b])[1],
                     autograph=False)
    return f(a), [a]


@program
def condInFunction():
    a = x([])
    f = tf2.function(lambda b: tf.cond(tf.greater(b, 0), lambda: tf.sin(tf.tanh(b)), lambda: tf.square(b)), autograph=False)
    return f(a), [a]


FEEDS = {0: [1.3, -0.4], 1: [[0.4, -0.6, 1.1], [-0.5, 0.2, 0.9]],
         2: [[[0.5, -1], [2, 0.3], [1.5, 1.2]], [[-0.7, 0.4], [0.1, 1.1]]]}


def dense(gradients):
    return [tf.convert_to_tensor(g) if g is not None else None for g in gradients]


def rows(graph):
    return [f"{n.name} {n.op} {' '.join(n.input)}" for n in graph.as_graph_def().node]


def outcome(build):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        y, by = build()
        first = dense(tf.gradients(y, by))
        reached = [g for g in first if g is not None]
        nodes = rows(graph)
        second = dense(tf.gradients(reached, by))
        digest = hashlib.sha256('\n'.join(rows(graph)).encode()).hexdigest()
        placeholder = graph.get_tensor_by_name('x:0')
        if tf.global_variables():
            session.run(tf.global_variables_initializer())
        fetches = [y] + first + second
        runs = []
        for value in FEEDS[len(placeholder.shape)]:
            found = session.run([t for t in fetches if t is not None], {placeholder: value})
            runs.append([None if t is None else np.asarray(found.pop(0), np.float64).tolist() for t in fetches])
        return {'nodes': nodes, 'digest': digest, 'runs': runs}


with open(sys.argv[1], 'w') as out:
    lines = [f'{json.dumps(name)}:{json.dumps(outcome(f), separators=(",", ":"))}' for name, f in programs.items()]
    out.write('{\n' + ',\n'.join(lines) + '\n}\n')
