"""Writes test/golden/front/imageLayers.json with real TensorFlow: nodes, variables, values and gradients of layers for images.

Run: TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/imageLayers.py
A case applies a layer to a placeholder `x`, sums the squares of the result and differentiates that by `x` and all variables.
Convolutions with channels first cannot run on TensorFlow's CPU, so those cases have nodes only.
"""
import json
import os

# oneDNN gives the gradient of a maximum to one of several equal elements, TensorFlow's own kernels as we do.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow.compat.v1 as tf

from front import TARGET, built
from tensorflow.python.keras import backend
from tensorflow.python.keras.legacy_tf_layers import convolutional as conv
from tensorflow.python.keras.legacy_tf_layers import core
from tensorflow.python.keras.legacy_tf_layers import pooling as pool

# Asking for devices adds nodes to the present graph the first time.
with tf.Graph().as_default():
    backend._get_available_gpus()

KEYS = [
    tf.GraphKeys.GLOBAL_VARIABLES,
    tf.GraphKeys.TRAINABLE_VARIABLES,
    tf.GraphKeys.REGULARIZATION_LOSSES,
]


def pattern(shape):
    """Numbers that are exact in every float type."""
    n = int(np.prod(shape))
    return np.array([((i * 7) % 11 - 5) / 4 for i in range(n)], np.float32).reshape(shape)


def case(apply, static, fed, runs=True):
    def make():
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, static, name="x")
        y = apply(x)
        loss = tf.reduce_sum(tf.square(y))
        grads = tf.gradients(loss, [x] + tf.trainable_variables())
        return ([y, *grads] if runs else None), {x: pattern(fed)}

    return built(make, KEYS)


def rounded(value):
    return [rounded(v) for v in value] if isinstance(value, list) else float(f"{value:.8g}")


def half(weights):
    return 0.5 * tf.nn.l2_loss(weights)


def cases():
    line, image, volume = (None, 6, 2), (None, 5, 6, 2), (None, 3, 4, 3, 2)

    def of(static, fed=None):
        sizes = fed or [2 if d is None else d for d in static]
        return dict(static=static, fed=sizes)

    yield "conv1d", case(lambda x: conv.conv1d(x, 3, 2), **of(line))
    yield "conv1dStrides", case(
        lambda x: conv.conv1d(x, 3, 3, strides=2, padding="same", activation=tf.nn.relu, name="steps"), **of(line)
    )
    yield "conv1dDilation", case(lambda x: conv.conv1d(x, 2, [2], dilation_rate=2, use_bias=False), **of(line))
    yield "conv1dChannelsFirst", case(
        lambda x: conv.conv1d(x, 3, 2, data_format="channels_first"), **of((None, 2, 6)), runs=False
    )
    yield "conv2d", case(lambda x: conv.conv2d(x, 3, 3), **of(image))
    yield "conv2dUnknownSizes", case(
        lambda x: conv.conv2d(x, 2, [2, 3], padding="SAME"), **of((None, None, None, 2), [2, 3, 4, 2])
    )
    yield "conv2dStrides", case(
        lambda x: conv.conv2d(
            x, 3, (3, 2), strides=(2, 1), padding="same", activation=tf.nn.relu,
            bias_initializer=tf.constant_initializer(0.25), kernel_regularizer=half, bias_regularizer=half,
        ),
        **of(image),
    )
    yield "conv2dDilation", case(lambda x: conv.conv2d(x, 2, 2, dilation_rate=(2, 3), padding="same"), **of(image))
    yield "conv2dChannelsFirst", case(
        lambda x: conv.conv2d(x, 3, 3, data_format="channels_first", name="first"), **of((None, 2, 5, 6)), runs=False
    )
    yield "conv3d", case(lambda x: conv.conv3d(x, 2, 2), **of(volume))
    yield "conv3dStrides", case(lambda x: conv.conv3d(x, 2, (2, 3, 1), strides=(1, 2, 2), padding="same"), **of(volume))
    yield "conv3dChannelsFirst", case(
        lambda x: conv.conv3d(x, 2, 2, data_format="channels_first"), **of((None, 2, 3, 4, 3)), runs=False
    )

    yield "conv2dTranspose", case(lambda x: conv.conv2d_transpose(x, 3, 3), **of((None, 3, 4, 2)))
    yield "conv2dTransposeStrides", case(
        lambda x: conv.conv2d_transpose(x, 2, (3, 2), strides=2, padding="same", activation=tf.nn.relu),
        **of((2, 3, 4, 2)),
    )
    yield "conv2dTransposeUnknownSizes", case(
        lambda x: conv.conv2d_transpose(x, 2, 3, strides=(2, 1)), **of((None, None, None, 2), [1, 2, 3, 2])
    )
    yield "conv2dTransposeChannelsFirst", case(
        lambda x: conv.conv2d_transpose(x, 3, 3, data_format="channels_first"), **of((None, 2, 3, 4)), runs=False
    )
    yield "conv3dTranspose", case(lambda x: conv.conv3d_transpose(x, 2, 2, strides=2), **of((None, 2, 2, 3, 2)))
    yield "conv3dTransposeSame", case(
        lambda x: conv.conv3d_transpose(x, 2, 3, strides=(1, 2, 1), padding="same", use_bias=False),
        **of((None, 2, 2, 3, 2)),
    )
    yield "conv3dTransposeChannelsFirst", case(
        lambda x: conv.conv3d_transpose(x, 2, 2, data_format="channels_first"), **of((None, 2, 2, 2, 3)), runs=False
    )

    yield "separableConv1d", case(lambda x: conv.separable_conv1d(x, 3, 2, depth_multiplier=2), **of(line))
    yield "separableConv1dStrides", case(
        lambda x: conv.separable_conv1d(x, 3, 3, strides=2, padding="same", activation=tf.nn.relu), **of(line)
    )
    yield "separableConv1dDilation", case(lambda x: conv.separable_conv1d(x, 3, 2, dilation_rate=2), **of(line))
    yield "separableConv2d", case(lambda x: conv.separable_conv2d(x, 3, 3), **of(image))
    yield "separableConv2dStrides", case(
        lambda x: conv.separable_conv2d(
            x, 3, 3, strides=(2, 2), padding="same", depth_multiplier=2, depthwise_regularizer=half,
            pointwise_regularizer=half,
        ),
        **of(image),
    )
    yield "separableConv2dDilation", case(
        lambda x: conv.separable_conv2d(x, 2, 2, dilation_rate=(2, 2), padding="same", use_bias=False), **of(image)
    )
    yield "separableConv2dChannelsFirst", case(
        lambda x: conv.separable_conv2d(x, 3, 2, data_format="channels_first"), **of((None, 2, 5, 6)), runs=False
    )

    for kind, op in (("max", "max_pooling"), ("average", "average_pooling")):
        for rank, shape in ((1, line), (2, image), (3, volume)):
            function = getattr(pool, f"{op}{rank}d")
            first = (shape[0], shape[-1], *shape[1:-1])
            yield f"{kind}Pooling{rank}d", case(lambda x, f=function: f(x, 2, 2), **of(shape))
            yield f"{kind}Pooling{rank}dSame", case(
                lambda x, f=function: f(x, 3, 2, padding="same", name="smaller"), **of(shape)
            )
            yield f"{kind}Pooling{rank}dChannelsFirst", case(
                lambda x, f=function: f(x, 2, 1, data_format="channels_first"), **of(first), runs=False
            )

    def twice(x):
        layer = conv.Conv2D(2, 2, name="shared", padding="same")
        return layer(layer(x)) + conv.conv2d(conv.conv2d(x, 3, 1), 2, 1)

    yield "conv2dTwice", case(twice, **of(image))

    def dropout_chosen():
        training = tf.placeholder(tf.bool, [], name="training")
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = core.dropout(x, 0.4, training=training, seed=3)
        return [tf.gradients(y, x)[0], y], {training: False, x: pattern([4, 3])}

    yield "dropoutChosen", built(dropout_chosen, KEYS, branches=True)


if __name__ == "__main__":
    lines = []
    for name, record in cases():
        if "values" in record:
            record["values"] = rounded(record["values"])
        lines.append(f" {json.dumps(name)}: {json.dumps(record)}")
    with open(os.path.join(TARGET, "imageLayers.json"), "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
