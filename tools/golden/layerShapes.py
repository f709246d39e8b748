"""Writes test/golden/front/layerShapes.json: for inputs of many shapes, whether the layers of tf.layers take them, and the shape of
what they give, as a node and from compute_output_shape.

    TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/layerShapes.py
"""
import json
import os

import tensorflow as tf2
from tensorflow.python.keras.legacy_tf_layers import convolutional as conv, core, pooling

tf = tf2.compat.v1
tf.disable_eager_execution()
tf.enable_resource_variables()
TARGET = os.path.join(os.path.dirname(__file__), "../../test/golden/front/layerShapes.json")
SHAPES = [None, [4], [None, 6], [2, None], [2, 7, 3], [None, None, 3], [2, 7, None]]
SHAPES += [[2, 7, 6, 3], [None, 7, None, 3], [2, 7, 6, None], [2, None, 6, 4], [2, 7, 6, 5, 3], [None, None, 6, 5, 3], [2, 7, 6, 5, None]]
first = dict(data_format="channels_first")
LAYERS = {
    "Dense": lambda: core.Dense(4),
    "Flatten": lambda: core.Flatten(),
    "Dropout": lambda: core.Dropout(0.5),
    "Conv1D": lambda: conv.Conv1D(4, 3, strides=2),
    "Conv1DDilated": lambda: conv.Conv1D(4, 2, dilation_rate=2),
    "Conv1DFirst": lambda: conv.Conv1D(4, 2, padding="same", **first),
    "Conv2D": lambda: conv.Conv2D(4, [3, 2], strides=[2, 1]),
    "Conv2DSame": lambda: conv.Conv2D(4, 3, strides=2, padding="same"),
    "Conv2DFirst": lambda: conv.Conv2D(4, 2, **first),
    "Conv3D": lambda: conv.Conv3D(4, 2, strides=[1, 2, 3]),
    "Conv3DFirst": lambda: conv.Conv3D(4, 2, padding="same", **first),
    "Conv2DTranspose": lambda: conv.Conv2DTranspose(4, 3, strides=2),
    "Conv2DTransposeSame": lambda: conv.Conv2DTranspose(4, 3, strides=[2, 1], padding="same"),
    "Conv3DTranspose": lambda: conv.Conv3DTranspose(4, 2, strides=2),
    "SeparableConv1D": lambda: conv.SeparableConv1D(4, 3, depth_multiplier=2),
    "SeparableConv2D": lambda: conv.SeparableConv2D(4, 3, strides=2, padding="same"),
    "MaxPooling1D": lambda: pooling.MaxPooling1D(2, 2),
    "AveragePooling1DSame": lambda: pooling.AveragePooling1D(3, 2, padding="same"),
    "AveragePooling2D": lambda: pooling.AveragePooling2D([3, 2], [2, 1]),
    "MaxPooling2DFirst": lambda: pooling.MaxPooling2D(2, 2, padding="same", **first),
    "MaxPooling3D": lambda: pooling.MaxPooling3D(2, [1, 2, 3]),
    "AveragePooling3DFirst": lambda: pooling.AveragePooling3D(2, 2, **first),
}


def listed(shape):
    return None if shape.rank is None else shape.as_list()


def attempt(compute):
    try:
        return compute()
    except (ValueError, TypeError, tf.errors.InvalidArgumentError, AttributeError, IndexError, AssertionError, NotImplementedError):
        return "refused"


def record(make, shape):
    with tf.Graph().as_default():
        rank = getattr(make(), "rank", None)
        # TensorFlow 2 takes more axes before those of an image; TensorFlow 1 does not.
        if rank is not None and shape is not None and len(shape) != rank + 2:
            return "refused"
        applied = attempt(lambda: listed(make().apply(tf.placeholder(tf.float32, shape)).shape))
        if applied == "refused" or shape is None:
            return applied
        return [applied, attempt(lambda: listed(make().compute_output_shape(tf.TensorShape(shape))))]


with open(TARGET, "w") as file:
    rows = {name: [record(make, shape) for shape in SHAPES] for name, make in LAYERS.items()}
    lines = [f" {json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in rows.items()]
    file.write("{\n" + ",\n".join(lines) + "\n}\n")
