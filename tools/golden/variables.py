"""Writes test/golden/variables.json: node lists and results of programs with variables and scopes, from real TensorFlow.

Run: TF_CPP_MIN_LOG_LEVEL=3 python -P tools/golden/variables.py
"""
import json
import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
cases = {}


def case(build):
    with tf.Graph().as_default() as graph:
        result = build()
        nodes = [[n.name, n.op, list(n.input)] for n in graph.as_graph_def().node]
        cases[build.__name__] = {"nodes": nodes, "result": result}


@case
def resource():
    v = tf.Variable(tf.zeros([2, 2]), name="v")
    tf.matmul(v, v)
    v + 1.0
    v * v
    tf.add(v, 1.0)
    v.assign(tf.ones([2, 2]))
    a = v.assign_add(tf.ones([2, 2]))
    tf.identity(a)
    v.read_value()
    v.value()
    -v
    v[0]
    v[0:1].assign([[1.0, 2.5]])
    tf.assign(v, [[1.5, 2.0], [3.0, 4.0]])
    tf.scatter_update(v, [0], [[1.5, 2]])
    v.scatter_add(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0])))
    v.sparse_read([0])
    tf.gather(v, [0])
    tf.scatter_nd_update(v, [[0]], [[1.5, 2]])
    v.scatter_nd_add([[0]], [[1.5, 2]])
    tf.is_variable_initialized(v)
    tf.global_variables_initializer()
    tf.report_uninitialized_variables()
    return [str(v), str(a)]


@case
def forms():
    tf.Variable(1.5)
    tf.Variable([1, 2], name="x/y")
    tf.Variable(lambda: tf.zeros([3]), name="lam", trainable=False)
    tf.Variable(3)
    return [v.name for v in tf.trainable_variables()]


@case
def reference():
    v = tf.Variable(tf.zeros([2, 2]), name="v", use_resource=False)
    tf.matmul(v, v)
    v + 1.0
    v.assign(tf.ones([2, 2]))
    v.assign_add(tf.ones([2, 2]))
    v.value()
    v.read_value()
    v[0:1].assign([[1.0, 2.5]])
    tf.scatter_update(v, [0], [[1.5, 2]])
    tf.is_variable_initialized(v)
    tf.assign(v, [[1.5, 2], [3, 4]])
    v.scatter_nd_add([[0]], [[1.5, 2]])
    tf.Variable(lambda: tf.zeros([3]), name="lam", use_resource=False)
    tf.Variable(1.5, use_resource=False)
    return [str(v)]


@case
def getVariable():
    with tf.variable_scope("s"):
        tf.get_variable("w", [2, 3])
        tf.get_variable("b", [3], initializer=tf.zeros_initializer())
        tf.get_variable("c", initializer=tf.constant([1.5, 2]))
        tf.get_variable("d", [], dtype=tf.int32, initializer=tf.constant_initializer(3))
        tf.get_variable("e", [2], tf.int32)
        tf.get_variable("f", initializer=[1.5, 2.0])
        tf.get_variable("k", initializer=lambda: tf.ones([2]))
        tf.get_variable("r", [2, 2], regularizer=lambda x: tf.reduce_sum(x))
    with tf.variable_scope("s", reuse=True):
        tf.get_variable("w")
        tf.ones([1])
    with tf.variable_scope(None, "q"):
        tf.get_variable("w", [1])
    with tf.variable_scope(None, "q"):
        tf.get_variable("w", [1])
    return [t.name for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]


@case
def scopes():
    out = []
    with tf.variable_scope("a") as a:
        out += [a.name, a.original_name_scope]
        with tf.variable_scope("b") as b:
            out += [b.name, b.original_name_scope, tf.get_variable("v", [1]).name, tf.ones([1]).name]
        with tf.variable_scope("b") as b2:
            out += [b2.name, b2.original_name_scope, tf.get_variable("w", [1]).name, tf.ones([1]).name]
    with tf.variable_scope(b):
        out += [tf.get_variable("x", [1]).name, tf.ones([1]).name]
    with tf.variable_scope("c"):
        with tf.variable_scope(b) as b3:
            out += [b3.name, b3.original_name_scope, tf.get_variable("y", [1]).name, tf.ones([1]).name]
    with tf.variable_scope(a, reuse=True):
        with tf.variable_scope("b"):
            out += [tf.get_variable("v").name, tf.ones([1]).name]
    with tf.name_scope("n"):
        with tf.variable_scope("d"):
            out += [tf.get_variable("v", [1]).name, tf.ones([1]).name]
        with tf.variable_scope("e", auxiliary_name_scope=False) as e:
            out += [e.name, e.original_name_scope, tf.get_variable("v", [1]).name, tf.ones([1]).name]
    with tf.variable_scope("t", reuse=tf.AUTO_REUSE):
        out += [tf.get_variable("v", [1]) is tf.get_variable("v", [1])]
    for _ in range(2):
        with tf.variable_scope(None, default_name="dflt"):
            with tf.variable_scope(None, default_name="inner"):
                out += [tf.get_variable("v", [1]).name, tf.ones([1]).name]
            with tf.variable_scope(None, default_name="inner"):
                out += [tf.get_variable("v", [1]).name, tf.ones([1]).name]
    with tf.variable_scope("cg", custom_getter=lambda getter, name, *args, **kw: getter(name + "_outer", *args, **kw)):
        with tf.variable_scope("in", custom_getter=lambda getter, name, *args, **kw: getter(name + "_inner", *args, **kw)):
            out += [tf.get_variable("v", [1]).name]
    with tf.variable_scope("", reuse=None):
        out += [tf.get_variable("root", [1]).name, tf.ones([1]).name]
    with tf.variable_scope("init", initializer=tf.ones_initializer(), dtype=tf.float64) as s:
        v = tf.get_variable("v", [1])
        out += [v.initial_value.op.type, v.dtype.name, [x.name for x in s.global_variables()]]
    return out


@case
def partitioned():
    p = tf.get_variable("p", [5, 2], partitioner=tf.fixed_size_partitioner(2))
    tf.identity(p)
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3)):
        q = tf.get_variable("q", [4], initializer=tf.zeros_initializer())
        r = tf.get_variable("r", initializer=tf.constant([1.5, 2, 3]))
    tf.get_variable("one", [5, 2], partitioner=tf.fixed_size_partitioner(1))
    return [[v.name for v in p], [v.name for v in q], [list(v.shape) for v in q], [v.name for v in r]]


@case
def initializers():
    for name, make in [
        ("identity", tf.initializers.identity()),
        ("gain", tf.initializers.identity(gain=2.5)),
        ("glorotNormal", tf.glorot_normal_initializer(seed=3)),
        ("uniform", tf.random_uniform_initializer(-1, 2.5)),
        ("normal", tf.random_normal_initializer(1.5, 2.5)),
        ("truncated", tf.truncated_normal_initializer(seed=1)),
        ("unit", tf.uniform_unit_scaling_initializer()),
        ("he", tf.initializers.he_normal()),
        ("lecun", tf.initializers.lecun_uniform()),
    ]:
        tf.get_variable(name, [3, 3] if name == "identity" else [2, 3], initializer=make)
    tf.get_variable("big", [100, 100], initializer=tf.zeros_initializer())
    tf.get_variable("fill", [4], initializer=tf.constant_initializer([1, 2]))


@case
def orthogonal():
    tf.get_variable("wide", [2, 3], initializer=tf.orthogonal_initializer())
    tf.get_variable("tall", [2, 3, 4], initializer=tf.orthogonal_initializer(gain=1.5))


def values():
    out = {}
    for name, make in [
        ("glorotUniform", tf.glorot_uniform_initializer(seed=3)),
        ("glorotNormal", tf.glorot_normal_initializer(seed=3)),
        ("heUniform", tf.initializers.he_uniform(seed=5)),
        ("heNormal", tf.initializers.he_normal(seed=5)),
        ("lecunUniform", tf.initializers.lecun_uniform(seed=5)),
        ("lecunNormal", tf.initializers.lecun_normal(seed=5)),
        ("randomUniform", tf.random_uniform_initializer(-1, 2.5, seed=2)),
        ("randomNormal", tf.random_normal_initializer(1.5, 2.5, seed=2)),
        ("truncatedNormal", tf.truncated_normal_initializer(0.5, 2.0, seed=2)),
        ("uniformUnitScaling", tf.uniform_unit_scaling_initializer(1.5, seed=2)),
        ("varianceScaling", tf.variance_scaling_initializer(2.0, "fan_out", "untruncated_normal", seed=2)),
        ("constant", tf.constant_initializer([1, 2])),
        ("orthogonal", tf.orthogonal_initializer(seed=4)),
        ("identity", tf.initializers.identity(gain=2.5)),
    ]:
        with tf.Graph().as_default(), tf.Session() as sess:
            out[name] = sess.run(make([3, 4])).tolist()
    return out


path = os.path.join(os.path.dirname(__file__), "..", "..", "test", "golden", "variables.json")
with open(path, "w") as f:
    json.dump({"cases": cases, "initializers": values()}, f, separators=(",", ":"))
    f.write("\n")
