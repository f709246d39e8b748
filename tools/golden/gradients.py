"""Writes the nodes that tf.gradients and its relatives add in TensorFlow: gradients.py OUTPUT."""
import json
import sys

import tensorflow as tensorflow

tf = tensorflow.compat.v1
tf.disable_eager_execution()
tf.enable_resource_variables()

programs = {}


def program(f):
    with tf.Graph().as_default() as graph:
        f()
    nodes = []
    for node in graph.as_graph_def().node:
        row = [node.name, node.op, list(node.input)]
        if "_class" in node.attr:
            row.append([s.decode() for s in node.attr["_class"].list.s])
        nodes.append(row)
    programs[f.__name__] = nodes


def x4():
    return tf.placeholder(tf.float32, [4], name="x")


@program
def single():
    x = x4()
    tf.gradients(tf.square(x), x)


@program
def severalYs():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.multiply(x, x)
    z = tf.add(tf.exp(x), y)
    tf.gradients([y, z], [x, y])


@program
def gradYs():
    x = x4()
    y = tf.square(x)
    tf.gradients(y, x, grad_ys=[[1.0, 2.0, 3.0, 4.0]])
    tf.gradients(y, x, grad_ys=x)


@program
def unusedOutputs():
    x = x4()
    a, _ = tf.split(x, 2)
    tf.gradients(a, x)


@program
def unconnected():
    x = x4()
    p = tf.placeholder(tf.float32, [2], name="p")
    q = tf.placeholder(tf.float32, [None], name="q")
    assert tf.gradients(tf.exp(x), [p, q], unconnected_gradients="zero")[0] is not None
    assert tf.gradients(tf.exp(x), p) == [None]


@program
def pairwise():
    x = x4()
    y = tf.add(tf.add(x, x), x)
    tf.gradients(y, x, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)


@program
def sparse():
    x = tf.placeholder(tf.float32, [4, 2], name="x")
    y = tf.add(tf.gather(x, [0, 1]), tf.gather(x, [1, 2]))
    tf.gradients(y, x)


@program
def colocated():
    x = x4()
    y = tf.multiply(x, x)
    tf.gradients(tf.add(y, y), x, colocate_gradients_with_ops=True)


@program
def gated():
    x = x4()
    tf.gradients(tf.multiply(x, x), x, gate_gradients=True)


@program
def integers():
    x = tf.placeholder(tf.int32, [4], name="x")
    assert tf.gradients(tf.multiply(x, x), x) == [None]


@program
def stopped():
    a = tf.placeholder(tf.float32, [], name="a")
    b = tf.multiply(a, 2.0)
    tf.gradients(tf.add(a, b), [a, b], stop_gradients=[a, b])


@program
def overridden():
    tf.RegisterGradient("Tripled")(lambda op, dy: tf.multiply(dy, 3.0))
    x = x4()
    with tf.get_default_graph().gradient_override_map({"Exp": "Tripled"}):
        y = tf.exp(x)
    tf.gradients(y, x)


@program
def custom():
    f = tf.custom_gradient(lambda x: (tf.exp(x), lambda dy: tf.multiply(dy, x)))
    x = x4()
    dx = tf.gradients(f(x), x)
    tf.gradients(dx, x)


@program
def secondOrder():
    x = x4()
    dx = tf.gradients(tf.multiply(tf.multiply(x, x), x), x)
    tf.gradients(dx, x, name="second")


tf.enable_control_flow_v2()


@program
def hessian():
    x = tf.placeholder(tf.float32, [None], name="x")
    tf.hessians(tf.reduce_sum(tf.multiply(tf.square(x), x)), x)


tf.disable_control_flow_v2()


@program
def groups():
    x = x4()
    y = tf.add(x, 1.0)
    tf.group(x, y)
    tf.tuple([x, y, None])
    tf.no_op()
    tf.group()
    with tf.device("/cpu:0"):
        z = tf.multiply(x, 2.0)
    tf.group(x, z, name="both")


@program
def checks():
    x = tf.placeholder(tf.int32, [4], name="x")
    y = tf.placeholder(tf.int32, None, name="y")
    r = tf.placeholder(tf.int32, [], name="r")
    tf.assert_equal(x, y)
    tf.assert_equal(x, x)
    tf.assert_positive(x)
    tf.assert_non_positive(x)
    tf.assert_less(x, 3, message="m", name="named")
    tf.assert_rank(y, 2)
    tf.assert_rank(x, 1)
    tf.assert_rank(x, r)
    tf.assert_rank_at_least(y, 1)
    tf.assert_rank_in(y, [1, 2])
    tf.assert_integer(x)
    tf.assert_type(x, tf.int32)
    tf.Assert(tf.reduce_all(tf.greater(x, 0)), ["hello", x])


with open(sys.argv[1], "w") as out:
    out.write("{\n" + ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in programs.items()) + "\n}\n")
