"""Writes test/golden/front/batchNormalization.json with real TensorFlow: nodes and values of batch normalization.

Run: TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/batchNormalization.py
TensorFlow 2 has no tf.layers.batch_normalization any more, so what 1.15 builds is put together here from the functions that
are left, in the order that is seen in graphs of 1.15. Each case runs three steps with their updates, then once without training.
"""
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import json

import numpy as np
import tensorflow.compat.v1 as tf

from front import TARGET, built
from imageLayers import pattern, rounded
from tensorflow.python.framework.smart_cond import smart_cond, smart_constant_value
from tensorflow.python.ops import state_ops


class Statistics:
    """The variables of a layer and the way from one batch to the next."""

    def __init__(self, size, momentum, center, scale, renorm, channels_shape, is_fused):
        def variable(name, value, trainable=False):
            initializer = tf.ones_initializer() if value else tf.zeros_initializer()
            return tf.get_variable(name, channels_shape or [size], initializer=initializer, trainable=trainable)

        def root(shape, dtype=None, partition_info=None):
            return tf.sqrt(tf.ones_initializer()(shape, dtype=dtype))

        self.momentum = momentum
        self.gamma = variable("gamma", 1, True) if scale else None
        if is_fused and not scale:
            self.gamma = tf.constant(1.0, shape=[size])
        self.beta = variable("beta", 0, True) if center else None
        if is_fused and not center:
            self.beta = tf.constant(0.0, shape=[size])
        self.mean = variable("moving_mean", 0)
        self.variance = variable("moving_variance", 1)
        if renorm:
            shape = channels_shape or [size]
            self.stddev = tf.get_variable("moving_stddev", shape, initializer=root, trainable=False)
            self.renorm_mean = variable("renorm_mean", 0)
            self.renorm_stddev = tf.get_variable("renorm_stddev", shape, initializer=root, trainable=False)

    def move(self, variable, value, momentum):
        with tf.name_scope("AssignMovingAvg") as scope:
            with tf.colocate_with(variable):
                decay = tf.convert_to_tensor(1.0 - momentum, name="decay")
                return state_ops.assign_sub(variable, (variable - value) * decay, name=scope)


def fused(x, s, training, axis, epsilon):
    data_format = "NCHW" if axis == 1 else "NHWC"
    tf.shape(x)
    y, mean, variance = smart_cond(
        training,
        lambda: tf.nn.fused_batch_norm(x, s.gamma, s.beta, epsilon=epsilon, data_format=data_format),
        lambda: tf.nn.fused_batch_norm(
            x, s.gamma, s.beta, mean=s.mean, variance=s.variance, epsilon=epsilon, is_training=False, data_format=data_format
        ),
    )
    known = smart_constant_value(training)
    momentum = (
        smart_cond(training, lambda: s.momentum, lambda: 1.0) if known is None else tf.convert_to_tensor(s.momentum)
    )
    if known is not False:
        for variable, value in ((s.mean, mean), (s.variance, variance)):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, s.move(variable, value, momentum).op)
    return y


def renormed(s, mean, variance, training, epsilon, momentum, clipping):
    stddev = tf.sqrt(variance + epsilon)
    lower = tf.maximum(s.renorm_stddev, tf.sqrt(epsilon))
    r = stddev / lower
    d = (mean - s.renorm_mean) / lower
    with tf.control_dependencies([r, d]):
        mean, stddev = tf.identity(mean), tf.identity(stddev)
    if clipping:
        r = tf.minimum(tf.maximum(r, clipping["rmin"]), clipping["rmax"])
        d = tf.minimum(tf.maximum(d, -clipping["dmax"]), clipping["dmax"])
    r, d = (
        smart_cond(training, lambda: r, lambda: tf.ones_like(r)),
        smart_cond(training, lambda: d, lambda: tf.zeros_like(d)),
    )
    updates = []
    for variable, value in ((s.renorm_mean, mean), (s.renorm_stddev, stddev)):
        copy = tf.identity(value)
        updates.append(
            smart_cond(training, lambda: s.move(variable, copy, momentum), lambda: tf.identity(variable))
        )
    with tf.control_dependencies(updates):
        return r, d, tf.identity(mean), tf.identity(variance)


def composed(x, s, training, axes, epsilon, renorm=None):
    ndims = len(x.shape)
    reduced = [i for i in range(ndims) if i not in axes]
    broadcast = [x.shape[i] if i in axes else 1 for i in range(ndims)]

    def along(v):
        short = v is not None and len(v.shape) != ndims and reduced != list(range(ndims - 1))
        return tf.reshape(v, broadcast) if short else v

    scale, offset = along(s.gamma), along(s.beta)
    known = smart_constant_value(training)
    if known is False:
        mean, variance = s.mean, s.variance
    else:
        batch_mean, batch_variance = tf.nn.moments(x, reduced, keep_dims=len(axes) > 1)
        mean = smart_cond(training, lambda: batch_mean, lambda: tf.convert_to_tensor(s.mean))
        variance = smart_cond(training, lambda: batch_variance, lambda: tf.convert_to_tensor(s.variance))
        new_mean, new_variance = mean, variance
        if renorm is not None:
            r, d, new_mean, new_variance = renormed(s, mean, variance, training, epsilon, **renorm)
            r, d = along(tf.stop_gradient(r, name="renorm_r")), along(tf.stop_gradient(d, name="renorm_d"))
            if scale is not None:
                r, d = r * scale, d * scale
            scale, offset = r, d if offset is None else d + offset

        def stddev_moved():
            moved = s.move(s.stddev, tf.sqrt(new_variance + epsilon), s.momentum)
            value = tf.nn.relu(moved * moved - epsilon)
            with tf.name_scope("AssignNewValue") as scope, tf.colocate_with(s.variance):
                return state_ops.assign(s.variance, value, name=scope)

        def variance_moved():
            return s.move(s.variance, new_variance, s.momentum)

        for update in (
            smart_cond(training, lambda: s.move(s.mean, new_mean, s.momentum), lambda: s.mean),
            smart_cond(training, variance_moved if renorm is None else stddev_moved, lambda: s.variance),
        ):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update.op)
    mean, variance = tf.cast(mean, x.dtype), tf.cast(variance, x.dtype)
    offset = None if offset is None else tf.cast(offset, x.dtype)
    scale = None if scale is None else tf.cast(scale, x.dtype)
    y = tf.nn.batch_normalization(x, along(mean), along(variance), offset, scale, epsilon)
    y.set_shape(x.shape)
    return y


def batch_normalization(
    x, training, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, is_fused=None, renorm=None
):
    axes = [a % len(x.shape) for a in (axis if isinstance(axis, list) else [axis])]
    whole = [x.shape[i] if i in axes else 1 for i in range(len(x.shape))]
    with tf.variable_scope("batch_normalization"):
        channels_shape = whole if len(axes) > 1 else None
        if is_fused is None:
            is_fused = len(x.shape) == 4 and renorm is None and len(axes) == 1
        s = Statistics(x.shape[axes[0]], momentum, center, scale, renorm is not None, channels_shape, is_fused)
        if is_fused:
            return fused(x, s, training, axes[0], epsilon)
        return composed(x, s, training, axes, epsilon, renorm)


KEYS = [tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES, tf.GraphKeys.UPDATE_OPS]


def case(shape, training, runs=True, **options):
    def make():
        x = tf.placeholder(tf.float32, [None, *shape[1:]], name="x")
        feeds = {x: pattern(shape)}
        mode = training
        if training == "fed":
            mode = tf.placeholder(tf.bool, [], name="training")
            feeds[mode] = True
        y = batch_normalization(x, mode, **options)
        gradients = tf.gradients(tf.reduce_sum(y * y * y), [x] + tf.trainable_variables())
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            tf.no_op(name="updates")
        moving = [v for v in tf.global_variables() if v not in tf.trainable_variables()]
        graph = tf.get_default_graph()
        return ([y, *gradients, graph.get_operation_by_name("updates"), *moving] if runs else None), feeds

    return built(make, KEYS, steps=3, branches=True)


def cases():
    image, rows = [2, 2, 3, 2], [4, 3]
    for name, training in (("Training", True), ("Inference", False), ("Fed", "fed")):
        yield f"images{name}", case(image, training, momentum=0.8)
        yield f"rows{name}", case(rows, training, momentum=0.8)
    yield "imagesComposed", case(image, True, is_fused=False, epsilon=1e-2)
    yield "imagesChannelsFirst", case([2, 3, 2, 2], True, axis=1, runs=False)
    yield "imagesChannelsFirstComposed", case([2, 3, 2, 2], True, axis=1, is_fused=False)
    yield "volumes", case([2, 2, 2, 1, 2], True)
    yield "severalAxes", case([4, 2, 3], True, axis=[1, 2])
    yield "imagesPlain", case(image, True, center=False, scale=False)
    yield "rowsNoCenter", case(rows, True, center=False)
    yield "rowsNoScale", case(rows, "fed", scale=False)
    free = dict(momentum=0.9, clipping=None)
    clipped = dict(momentum=0.9, clipping=dict(rmin=0.6, rmax=1.5, dmax=0.25))
    yield "renorm", case(rows, True, renorm=free, momentum=0.8)
    yield "renormClipped", case(image, True, renorm=clipped, momentum=0.8)
    yield "renormFed", case(rows, "fed", renorm=clipped)
    yield "renormInference", case(rows, False, renorm=free)


if __name__ == "__main__":
    lines = []
    for name, record in cases():
        if "values" in record:
            record["values"] = [[rounded(v) for v in step if v is not None] for step in record["values"]]
        lines.append(f" {json.dumps(name)}: {json.dumps(record)}")
    with open(os.path.join(TARGET, "batchNormalization.json"), "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
