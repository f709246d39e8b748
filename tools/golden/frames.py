"""Writes test/golden/frames.json: graphs with control flow by frames, as TensorFlow 1.x builds them, and their values.

    /opt/tfenv/bin/python tools/golden/frames.py
"""
import base64
import gzip
import json
import os
import random
import re

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import control_flow_ops, functional_ops, gen_data_flow_ops, gen_functional_ops
from tensorflow.python.training import moving_averages

tf.disable_v2_behavior()
tf.disable_control_flow_v2()
tf.disable_resource_variables()

cases = []


def plain(value):
    value = np.asarray(value)
    if value.dtype == object or value.dtype.kind == "S":
        return np.vectorize(lambda b: b.decode())(value).tolist()
    return value.tolist()


def case(build):
    """`build` gives runs: (fetches, feeds) pairs in order. Fetches are tensors or operations."""
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        runs = build()
        init = tf.global_variables_initializer()
        steps = []
        for fetches, feeds in [([init], {})] + runs:
            fetches = [f._ref() if isinstance(f, tf.Variable) else f for f in fetches]
            tensors = [f for f in fetches if isinstance(f, tf.Tensor)]
            targets = [f for f in fetches if not isinstance(f, tf.Tensor)]
            step = {
                "feeds": {k.name: plain(v) for k, v in feeds.items()},
                "fetches": [f.name for f in tensors],
                "targets": [f.name for f in targets],
            }
            try:
                values, _ = session.run((tensors, targets), feeds)
                step["results"] = [plain(v) for v in values]
            except tf.errors.OpError as error:
                text = re.sub(r"(?s)Graph execution error:\n\n(Detected at .*?Node: '[^']*'\n)?", "", error.message)
                step["error"] = {"code": error.error_code, "message": text.split("\n")[0]}
            steps.append(step)
        definition = graph.as_graph_def()
        kinds = {node.op for node in definition.node}
        cases.append({
            "name": build.__name__,
            "graph": base64.b64encode(gzip.compress(definition.SerializeToString(deterministic=True), mtime=0)).decode(),
            "ops": sorted(k for k in kinds if any(w in k for w in (
                "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "Trigger", "Stack", "TensorArray"))),
            "steps": steps,
        })
    return build


@case
def branches():
    x = tf.placeholder(tf.float32, [3], name="x")
    p = tf.placeholder(tf.bool, [], name="p")
    y = tf.cond(p, lambda: x * x + tf.constant([1., 2., 3.]), lambda: tf.reduce_sum(x) - x)
    both = tf.cond(p, lambda: (x, tf.constant(1)), lambda: (-x, tf.constant(2)))
    g, = tf.gradients(y, x)
    g2, = tf.gradients(tf.reduce_sum(g * g), x)
    fetches = [y, both[0], both[1], g, g2]
    return [(fetches, {x: [1, 2, 4], p: b}) for b in (True, False, True)]


@case
def nested_branches():
    x = tf.placeholder(tf.float32, [], name="x")
    def inner(sign):
        return tf.cond(x > 10., lambda: sign * x, lambda: tf.cond(x > 5., lambda: sign * x * 2., lambda: sign * 0.5))
    y = tf.cond(x > 0., lambda: inner(1.), lambda: inner(-1.))
    z = tf.case([(x < 0., lambda: tf.constant("negative")), (x > 100., lambda: tf.constant("huge"))],
                default=lambda: tf.as_string(x, precision=1), exclusive=True)
    g, = tf.gradients(y, x)
    return [([y, z, g], {x: v}) for v in (-3., 2., 7., 11., 200.)]


@case
def branches_with_variables():
    v = tf.get_variable("v", [2], initializer=tf.constant_initializer([1., 2.]))
    p = tf.placeholder(tf.bool, [], name="p")
    change = tf.cond(p, lambda: tf.assign_add(v, [10., 10.]), lambda: tf.assign(v, [0., 0.]))
    same = tf.cond(p, lambda: v, lambda: v + 1.)
    skip = tf.cond(p, lambda: tf.group(tf.assign_sub(v, [1., 1.])), lambda: tf.no_op())
    skip = skip.op if isinstance(skip, tf.Tensor) else skip
    return [([v], {}), ([change], {p: True}), ([same], {p: True}), ([same], {p: False}), ([skip], {p: False}), ([v], {}),
            ([skip], {p: True}), ([v], {}), ([change], {p: False}), ([v], {})]


@case
def reference_branches():
    v = tf.get_variable("v", [2], initializer=tf.constant_initializer([1., 2.]))
    w = tf.get_variable("w", [2], initializer=tf.constant_initializer([5., 6.]))
    p = tf.placeholder(tf.bool, [], name="p")
    off, on = control_flow_ops.ref_switch(v._ref(), p)
    off_w, on_w = control_flow_ops.ref_switch(w._ref(), p)
    # One of two variables, chosen when the graph runs, is changed in place.
    chosen, index = control_flow_ops.merge([off, on_w])
    changed = tf.assign_add(chosen, [100., 200.])
    uninitialized = tf.Variable([7., 8.], trainable=False, collections=[], name="late")
    _, late = control_flow_ops.ref_switch(uninitialized._ref(), p)
    init = tf.assign(late, uninitialized.initial_value)
    return [([changed, index], {p: True}), ([v, w], {}), ([changed, index], {p: False}), ([v, w], {}),
            ([off], {p: True}), ([init.op], {p: False}), ([uninitialized], {}), ([init.op], {p: True}), ([uninitialized], {})]


@case
def loops():
    n = tf.placeholder(tf.int32, [], name="n")
    x = tf.placeholder(tf.float32, [2], name="x")
    i, total = tf.while_loop(lambda i, _: i < n, lambda i, t: (i + 1, t * 2. + x), [0, tf.zeros([2])])
    # The shape grows with every iteration.
    _, longer = tf.while_loop(lambda i, _: i < n, lambda i, t: (i + 1, tf.concat([t, [tf.cast(i, tf.float32)]], 0)),
                              [tf.constant(0), x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
    count = tf.while_loop(lambda i: i < n, lambda i: i + 2, [0], parallel_iterations=1)
    limited = tf.while_loop(lambda i: i < n, lambda i: i + 1, [0], maximum_iterations=3)
    return [([i, total, longer, count, limited], {n: k, x: [1, -1]}) for k in (0, 1, 5, 12)]


@case
def nested_loops():
    n = tf.placeholder(tf.int32, [], name="n")
    def row(i, total):
        _, total = tf.while_loop(lambda j, _: j <= i, lambda j, t: (j + 1, t + j * i), [0, total])
        def inner_branch():
            return tf.while_loop(lambda k, _: k < 3, lambda k, t: (k + 1, t + 1000), [0, total])[1]
        return i + 1, tf.cond(tf.equal(i % 2, 0), inner_branch, lambda: total)
    _, result = tf.while_loop(lambda i, _: i < n, row, [0, 0], parallel_iterations=3)
    return [([result], {n: k}) for k in (0, 1, 4, 7)]


@case
def loop_in_branch_not_taken():
    p = tf.placeholder(tf.bool, [], name="p")
    x = tf.placeholder(tf.float32, [], name="x")
    loop = lambda: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), [0, x])[1]
    y = tf.cond(p, loop, lambda: x)
    z = tf.cond(p, lambda: x, lambda: tf.cond(x > 0., loop, lambda: -x))
    g, = tf.gradients(y + z, x)
    return [([y, z, g], {p: b, x: v}) for b in (True, False) for v in (2., -2.)]


@case
def loop_gradients():
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.get_variable("w", [2, 2], initializer=tf.constant_initializer([[0.5, 0.1], [-0.3, 0.9]]))
    n = tf.placeholder(tf.int32, [], name="n")
    def step(i, h):
        h = tf.tanh(tf.matmul(h[tf.newaxis], w)[0]) + x
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: h * 2., lambda: tf.sin(h))
    _, h = tf.while_loop(lambda i, _: i < n, step, [0, x])
    loss = tf.reduce_sum(h * h)
    first = tf.gradients(loss, [x, w])
    again = tf.gradients(h[0], [x, w])
    return [([loss] + first + again, {x: [0.3, -0.7], n: k}) for k in (0, 1, 4)]


@case
def nested_loop_gradients():
    x = tf.placeholder(tf.float32, [], name="x")
    def outer(i, y):
        _, y = tf.while_loop(lambda j, _: j < i + 1, lambda j, y: (j + 1, y * x + 1.), [0, y])
        return i + 1, y + tf.square(x)
    _, y = tf.while_loop(lambda i, _: i < 3, outer, [0, x])
    g, = tf.gradients(y, x)
    return [([y, g], {x: v}) for v in (0.5, -1.25)]


@case
def loops_with_variables():
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    n = tf.placeholder(tf.int32, [], name="n")
    def body(i):
        with tf.control_dependencies([tf.assign_add(v, tf.cast(i, tf.float32))]):
            return i + 1
    loop = tf.while_loop(lambda i: i < n, body, [0])
    with tf.control_dependencies([loop]):
        after = tf.identity(v.read_value())
    guarded = tf.while_loop(lambda i: i < n, lambda i: tf.cond(i > 2, lambda: tf.cast(tf.assign_add(v, 1.), tf.int32) * 0 + i + 1, lambda: i + 1), [0])
    return [([after], {n: 4}), ([after], {n: 3}), ([guarded], {n: 6}), ([v], {})]


@case
def reads_before_assignments():
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(2.))
    n = tf.placeholder(tf.int32, [], name="n")
    def body(i):
        # The variable is read outside of the loop, and yet shows what the iterations before have assigned.
        change = tf.cond(i >= 0, lambda: tf.assign(v, tf.square(v)), lambda: v)
        with tf.control_dependencies([change]):
            return i + 1
    loop = tf.while_loop(lambda i: i < n, body, [0])
    return [([loop], {n: 3}), ([v], {}), ([loop], {n: 1}), ([v], {})]


@case
def assertions():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0.), ["not positive:", x]), tf.assert_less(x, 10.)]):
        y = tf.log(x)
    return [([y], {x: [1, 2]}), ([y], {x: [1, -2]}), ([y], {x: [1, 20]}), ([y], {x: [3, 4]})]


@case
def dead_fetches():
    x = tf.placeholder(tf.float32, [], name="x")
    off, on = control_flow_ops.switch(x, x > 0.)
    one, _ = control_flow_ops.merge([off + 1.])
    some = control_flow_ops.merge([off * 2., on * 3.])
    with tf.control_dependencies([off]):
        waiting = tf.constant(5.)
    with tf.control_dependencies([off.op]):
        not_waiting = tf.constant(6.)
    return [([off, some[0], some[1], waiting, not_waiting], {x: -1.}), ([on, some[0], some[1]], {x: 1.}), ([off], {x: 1.}),
            ([on, one], {x: 1.}), ([waiting], {x: 1.}), ([not_waiting], {x: 1.}), ([off.op, waiting.op], {x: 1.})]


@case
def triggers():
    x = tf.placeholder(tf.float32, [], name="x")
    off, _ = control_flow_ops.switch(x, x > 0.)
    with tf.control_dependencies([off]):
        trigger = control_flow_ops.control_trigger()
    with tf.control_dependencies([trigger]):
        y = tf.constant(1.)
    return [([y], {x: 1.}), ([y], {x: -1.})]


@case
def tensor_arrays():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    n = tf.shape(x)[0]
    array = tf.TensorArray(tf.float32, n, clear_after_read=False).unstack(x)
    third = array.read(2)
    some = array.gather([2, 0])
    squares = tf.TensorArray(tf.float32, n)
    _, squares = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a.write(i, tf.square(array.read(i)))), [0, squares])
    stacked = squares.stack()
    pieces = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
    joined = pieces.concat()
    growing = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False).write(3, x).write(0, x[:1])
    size = growing.size()
    loss = tf.reduce_sum(third) + 2. * tf.reduce_sum(some * some) + tf.reduce_sum(stacked * stacked) + tf.reduce_sum(joined * [3., 4.])
    g, = tf.gradients(loss, x)
    again, = tf.gradients(tf.reduce_sum(stacked), x)
    return [([third, some, stacked, joined, size, growing.read(3), loss, g, again], {x: [[1, 2], [3, 4], [5, 6]]})]


@case
def tensor_array_errors():
    i = tf.placeholder(tf.int32, [], name="i")
    array = tf.TensorArray(tf.float32, 3, element_shape=[2])
    written = array.write(0, [1., 2.])
    zeros = written.read(i)
    other = tf.TensorArray(tf.float32, 2, infer_shape=False)
    size = lambda a: gen_data_flow_ops.tensor_array_size_v3(a.handle, a.flow)
    twice = size(other.write(i, 1.).write(0, [2.]))
    growing = tf.TensorArray(tf.float32, 2, dynamic_size=True)
    closed = growing.close()
    with tf.control_dependencies([closed]):
        after = size(growing)
    return [([zeros], {i: 0}), ([zeros], {i: 1}), ([zeros], {i: 5}), ([zeros], {i: -1}), ([twice], {i: 1}), ([twice], {i: 0}),
            ([twice], {i: 7}), ([after], {})]


@case
def stacks():
    i = tf.placeholder(tf.int32, [], name="i")
    handle = gen_data_flow_ops.stack_v2(2, elem_type=tf.float32, stack_name="s")
    first = gen_data_flow_ops.stack_push_v2(handle, tf.constant([1., 2.]))
    with tf.control_dependencies([first]):
        second = gen_data_flow_ops.stack_push_v2(handle, tf.constant([[3.]]))
    with tf.control_dependencies([second]):
        top = gen_data_flow_ops.stack_pop_v2(handle, tf.float32)
    with tf.control_dependencies([top]):
        below = gen_data_flow_ops.stack_pop_v2(handle, tf.float32)
    with tf.control_dependencies([below]):
        empty = gen_data_flow_ops.stack_pop_v2(handle, tf.float32)
    old = gen_data_flow_ops._stack(elem_type=tf.int32, stack_name="old")
    pushed = gen_data_flow_ops.stack_push(old, i)
    with tf.control_dependencies([pushed]):
        popped = gen_data_flow_ops.stack_pop(old, tf.int32)
    return [([top, below], {}), ([popped], {i: 4}), ([popped], {i: 5})]


@case
def maps_and_scans():
    x = tf.placeholder(tf.float32, [4, 2], name="x")
    mapped = tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)
    pair = tf.map_fn(lambda ab: ab[0] * ab[1], (x, -x), dtype=tf.float32)
    strings = tf.map_fn(lambda s: tf.string_join([s, "!"]), tf.constant(["a", "b"]))
    scanned = tf.scan(lambda a, row: a * 0.5 + row, x)
    left = tf.foldl(lambda a, row: a + tf.square(row), x)
    right = tf.foldr(lambda a, row: a * 0.5 - row, x, initializer=tf.ones([2]))
    loss = sum(tf.reduce_sum(t * t) for t in (mapped, pair, scanned, left, right))
    g, = tf.gradients(loss, x)
    return [([mapped, pair, strings, scanned, left, right, g], {x: np.arange(8.).reshape(4, 2) / 4})]


@case
def random_in_loops():
    n = tf.placeholder(tf.int32, [], name="n")
    _, total = tf.while_loop(lambda i, _: i < n, lambda i, t: (i + 1, t + tf.random_uniform([2], seed=5)), [0, tf.zeros([2])])
    y = tf.cond(n > 2, lambda: tf.random_normal([], seed=6), lambda: tf.constant(0.))
    return [([total, y], {n: k}) for k in (3, 1, 4)]


@case
def moving_average():
    v = tf.get_variable("v", [2], initializer=tf.constant_initializer([1., 3.]))
    average = tf.train.ExponentialMovingAverage(0.9, zero_debias=True)
    update = average.apply([v])
    grow = tf.assign_add(v, [1., 2.])
    debiased = moving_averages.assign_moving_average(tf.get_variable("m", [2], initializer=tf.zeros_initializer()), v, 0.8)
    return [([update], {}), ([average.average(v)], {}), ([grow], {}), ([update], {}), ([average.average(v)], {}), ([debiased], {}), ([debiased], {})]


class LstmCell(object):
    """An LSTM of plain ops; Keras 3 has taken TensorFlow's own cells away."""

    def __init__(self, units):
        self.units = units
        self.state_size = (units, units)
        self.output_size = units

    def zero_state(self, batch, dtype):
        return (tf.zeros([batch, self.units], dtype), tf.zeros([batch, self.units], dtype))

    def __call__(self, inputs, state, scope=None):
        c, h = state
        with tf.variable_scope(scope or "lstm"):
            width = inputs.get_shape()[1].value + self.units
            values = np.sin(np.arange(width * 4 * self.units).reshape(width, -1)).astype(np.float32) / 3
            kernel = tf.get_variable("kernel", values.shape, initializer=tf.constant_initializer(values))
            bias = tf.get_variable("bias", [4 * self.units], initializer=tf.zeros_initializer())
            i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([inputs, h], 1), kernel), bias), 4, 1)
            c = tf.sigmoid(f + 1.) * c + tf.sigmoid(i) * tf.tanh(j)
            h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


def recurrent(swap):
    x = tf.placeholder(tf.float32, [2, 5, 3], name="x")
    lengths = tf.placeholder(tf.int32, [2], name="lengths")
    outputs, state = tf.nn.dynamic_rnn(LstmCell(4), x, lengths, dtype=tf.float32, swap_memory=swap)
    loss = tf.reduce_mean(tf.square(outputs - 0.3)) + tf.reduce_mean(tf.square(state[0]))
    train = tf.train.MomentumOptimizer(0.5, 0.9).minimize(loss)
    feed = {x: np.cos(np.arange(30.)).reshape(2, 5, 3), lengths: [5, 3]}
    kernel, bias = tf.trainable_variables()
    steps = [([loss, train], feed) for _ in range(5)]
    return steps + [([outputs, state[0], state[1], kernel, bias], feed)]


@case
def recurrent_training():
    return recurrent(False)


@case
def recurrent_training_swapping():
    return recurrent(True)


@case
def recurrent_training_adam():
    x = tf.placeholder(tf.float32, [2, 5, 3], name="x")
    outputs, _ = tf.nn.dynamic_rnn(LstmCell(4), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs - 0.3))
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    rng = np.random.RandomState(2)
    return [([loss, train], {x: rng.randint(-8, 8, [2, 5, 3]) / 8.}) for _ in range(100)]


@case
def feeds_inside_branches():
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.square(x, name="y")
    z = tf.cond(x > 0., lambda: y + 1., lambda: y - 1.)
    return [([z], {x: 2., y: 100.}), ([z], {x: -2.}), ([y, z], {x: 3., y: 5.})]


@case
def functions_with_frames():
    @function.Defun(tf.float32, tf.int32)
    def power(x, n):
        _, y = tf.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, tf.cond(i > 1, lambda: y * x, lambda: y + x)), [0, x])
        return y
    x = tf.placeholder(tf.float32, [], name="x")
    n = tf.placeholder(tf.int32, [], name="n")
    y = power(x, n)
    z = tf.cond(x > 0., lambda: power(-x, 2), lambda: power(x, n) + 1.)
    _, w = tf.while_loop(lambda i, _: i < 3, lambda i, w: (i + 1, tf.reshape(power(w, i), [])), [0, x])
    return [([y, z, w], {x: v, n: k}) for v in (1.5, -0.5) for k in (0, 1, 4)]


@case
def older_calls():
    @function.Defun(tf.int32, tf.float32, tf.float32)
    def body(i, x, y):
        return x + tf.cast(i, tf.float32) * y, tf.cond(x > 0., lambda: y, lambda: -y)
    @function.Defun(tf.int32, tf.float32)
    def two(i, x):
        return x, x
    @function.Defun(tf.float32)
    def double(x):
        return x * 2.
    x = tf.placeholder(tf.float32, [], name="x")
    n = tf.placeholder(tf.int32, [], name="n")
    loop = functional_ops.For(1, n, 2, [x, 0.5], body)
    down = functional_ops.For(n, 0, -1, [x, 0.5], body)
    wrong = functional_ops.For(0, 2, 1, [x], two)
    remote = functional_ops.remote_call(args=[x], Tout=[tf.float32], f=double, target="/job:localhost/replica:0/task:0/cpu:0")
    truth = gen_functional_ops.to_bool(x)
    return [(list(loop) + list(remote) + [truth], {x: v, n: k}) for v in (1.5, 0.) for k in (1, 2, 8)] + [
        (down, {x: 1., n: 3}), (loop, {x: 1., n: 0}), (down, {x: 1., n: -2}), (wrong, {x: 1.})]


class RandomProgram(object):
    """Branches and loops in each other, over a few numbers and a reference variable."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, values):
        return self.random.choice(values)

    def term(self, values):
        a, b = self.value(values), self.value(values)
        return self.random.choice([
            lambda: a + b, lambda: a - b * 0.5, lambda: a * b * 0.25, lambda: tf.tanh(a), lambda: tf.maximum(a, b),
            lambda: a + self.random.randint(-3, 3), lambda: tf.constant(self.random.randint(-3, 3) / 2.) + a,
            lambda: tf.constant(float(self.random.randint(-3, 3))),
        ])()

    def predicate(self, values):
        return self.term(values) > self.random.choice([self.term(values), tf.constant(0.)])

    def block(self, values, depth):
        """A few steps; gives the values there are after them."""
        values = list(values)
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if depth > 0 and kind < 0.3:
                values += self.branch(values, depth - 1)
            elif depth > 0 and kind < 0.55:
                values += self.loop(values, depth - 1)
            else:
                values.append(self.term(values))
        return values

    def branch(self, values, depth):
        count = self.random.randint(1, 2)
        side = lambda: self.block(values, depth)[-count:]
        result = tf.cond(self.predicate(values), side, side)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def loop(self, values, depth):
        count, trips = self.random.randint(1, 2), self.random.randint(0, 4)
        start = [self.value(values) for _ in range(count)]
        stops = self.random.random() < 0.3
        def go_on(i, *now):
            counted = i < trips
            return tf.logical_and(counted, self.predicate(list(now) + values)) if stops else counted
        def body(i, *now):
            after = self.block(list(now) + values, depth)
            return [i + 1] + [tf.clip_by_value(v, -9., 9.) for v in after[-count:]]
        return list(tf.while_loop(go_on, body, [tf.constant(0)] + start, parallel_iterations=self.random.choice([1, 2, 10]))[1:])

    def __call__(self):
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.placeholder(tf.float32, [], name="y")
        v = tf.get_variable("v", [], initializer=tf.constant_initializer(0.75))
        values = self.block([x, y, v.read_value()], 3)
        results = [t for t in values[3:] if t.op.type != "Const"] or [x + y]
        change = tf.assign(v, tf.clip_by_value(results[-1], -2., 2.))
        gradients = [g for g in tf.gradients(tf.add_n(results), [x, y]) if g is not None]
        return [(results + gradients, {x: a, y: b}) for a, b in ((0.5, -1.), (2., 0.25))] + [
            ([change], {x: 1., y: 1.}), (results, {x: -1., y: 0.5})]


for seed in range(24):
    program = RandomProgram(seed)
    program.__name__ = "random_%d" % seed
    case(program)

def gradient_nodes():
    """The nodes that tf.gradients adds to a graph of tensor arrays, and what they give."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [3, 2], name="x")
        array = tf.TensorArray(tf.float32, 3, infer_shape=False, clear_after_read=False).scatter([0, 1, 2], x)
        some = array.gather([2, 0])
        again = tf.TensorArray(tf.float32, 1, infer_shape=False).write(0, array.read(1)).read(0)
        pieces = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2]).concat()
        ys = [again * again, some, pieces * 3.]
        forward = graph.as_graph_def()
        count = len(graph.get_operations())
        gradient, = tf.gradients(ys, [x])
        value = session.run(gradient, {x: [[1, 2], [3, 4], [5, 6]]})
        nodes = [[op.name, op.type, [t.name for t in op.inputs], [c.name for c in op.control_inputs]]
                 for op in graph.get_operations()[count:]]
        encoded = base64.b64encode(gzip.compress(forward.SerializeToString(deterministic=True), mtime=0)).decode()
        return {"graph": encoded, "ys": [y.name for y in ys], "nodes": nodes, "value": plain(value)}


def save(name, text):
    with open(os.path.join(os.path.dirname(__file__), "../../test/golden", name), "w") as file:
        file.write(text)


save("tensorArrayGradients.json", json.dumps(gradient_nodes()) + "\n")
save("frames.json", "[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
for c in cases:
    print(c["name"], len(c["graph"]), [s["error"]["message"][:90] for s in c["steps"] if "error" in s])
print(sorted({op for c in cases for op in c["ops"]}))
