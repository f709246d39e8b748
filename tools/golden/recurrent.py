"""Recurrent cells and loops of TensorFlow 1.x: variables, outputs, states and gradients for the same seeds.

python tools/golden/recurrent.py > test/golden/recurrent.json
"""
import json

import numpy as np
from graphMode import tf, tf2
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl as cells

x_value = (np.sin(np.arange(2 * 4 * 3) * 0.7)).reshape(2, 4, 3).astype('f')
golden = {'x': x_value.tolist()}


def record(name, build):
    with tf.Graph().as_default():
        tf.set_random_seed(11)
        x = tf.placeholder(tf.float32, [2, 4, 3], name='x')
        fetches = [t for t in tf2.nest.flatten(build(x))]
        variables = tf.trainable_variables()
        loss = tf.add_n([tf.reduce_sum(tf.square(t)) for t in fetches])
        gradients = tf.gradients(loss, variables + [x])
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            values, grads = sess.run([fetches, gradients], {x: x_value})
        golden[name] = {
            'variables': [[v.name, v.shape.as_list()] for v in variables],
            'names': [t.name for t in fetches],
            'values': [v.tolist() for v in values],
            'gradients': [g.tolist() for g in grads],
        }


def dynamic(cell, **options):
    def build(x):
        outputs, state = tf.nn.dynamic_rnn(cell(), x, dtype=tf.float32, **options)
        return [outputs, state]
    return build


record('basic', dynamic(lambda: cells.BasicRNNCell(5)))
record('gru', dynamic(lambda: cells.GRUCell(5)))
record('lstm', dynamic(lambda: cells.BasicLSTMCell(5)))
record('lstmLengths', dynamic(lambda: cells.BasicLSTMCell(5), sequence_length=[2, 4]))
record('lstmFull', dynamic(lambda: cells.LSTMCell(5, use_peepholes=True, num_proj=3, cell_clip=0.5, proj_clip=0.25)))
record('multi', dynamic(lambda: cells.MultiRNNCell([cells.BasicLSTMCell(4), cells.GRUCell(3)])))
record('dropout', dynamic(lambda: cells.DropoutWrapper(
    cells.GRUCell(5), input_keep_prob=0.5, output_keep_prob=0.75, state_keep_prob=0.5, seed=5), parallel_iterations=1))  # steps that overlap draw in any order
record('variational', dynamic(lambda: cells.DropoutWrapper(
    cells.BasicLSTMCell(5), input_keep_prob=0.5, output_keep_prob=0.75, state_keep_prob=0.5, seed=5,
    variational_recurrent=True, input_size=tf.TensorShape([3]), dtype=tf.float32)))
record('residual', dynamic(lambda: cells.ResidualWrapper(cells.GRUCell(3))))


def time_major(x):
    return list(tf.nn.dynamic_rnn(cells.GRUCell(5), tf.transpose(x, [1, 0, 2]), dtype=tf.float32, time_major=True))


record('timeMajor', time_major)


def static(x):
    outputs, state = tf.nn.static_rnn(cells.BasicLSTMCell(5), tf.unstack(x, axis=1), dtype=tf.float32)
    return [outputs, state]


record('static', static)


def static_lengths(x):
    outputs, state = tf.nn.static_rnn(
        cells.GRUCell(5), tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=[2, 4])
    return [outputs, state]


record('staticLengths', static_lengths)


def bidirectional(x):
    return list(tf.nn.bidirectional_dynamic_rnn(
        cells.GRUCell(4), cells.BasicLSTMCell(3), x, dtype=tf.float32, sequence_length=[3, 4]))


record('bidirectional', bidirectional)


def static_bidirectional(x):
    return list(tf.nn.static_bidirectional_rnn(
        cells.GRUCell(4), cells.GRUCell(3), tf.unstack(x, axis=1), dtype=tf.float32))


record('staticBidirectional', static_bidirectional)


def raw(x):
    inputs = tf.transpose(x, [1, 0, 2])
    cell = cells.GRUCell(5)

    def loop(time, output, state, loop_state):
        finished = time >= tf.constant([2, 4])
        next_state = cell.zero_state(2, tf.float32) if output is None else state
        done = tf.reduce_all(finished)
        next_input = tf.cond(done, lambda: tf.zeros([2, 3]), lambda: inputs[time])
        return finished, next_input, next_state, output, None

    outputs, state, _ = tf.nn.raw_rnn(cell, loop)
    return [outputs.stack(), state]


record('raw', raw)
print(json.dumps(golden))
