"""Writes what TensorFlow's convolution functions build and give: convolution.py OUTPUT.

For each case: the nodes of the call and of its gradients, each as "name type inputs", and the values of both. The cases
stand under the same names in test/backend/convolution.test.ts. Kernels for channels first are missing in TensorFlow on
processors: of such cases only the nodes are written.
"""
import json
import sys

import numpy as np
import tensorflow as tensorflow

tf = tensorflow.compat.v1
tf.disable_eager_execution()

CASES = {}


def case(name, build):
    CASES[name] = build


class Inputs:
    """Placeholders of a case, with the values to feed; they are differentiated."""

    def __init__(self):
        self.feeds = {}
        self.sources = []

    def __call__(self, shape, name="x", static=0, seed=1):
        count = int(np.prod(shape))
        unit = (np.sin(np.arange(count) * 1.7 + seed) * 43758.5453) % 1.0
        tensor = tf.placeholder(tf.float64, shape if static == 0 else static, name=name)
        self.feeds[tensor] = (4 * unit - 2).reshape(shape)
        self.sources.append(tensor)
        return tensor

    def filter(self, shape, static=0):
        return self(shape, "f", static, 2)


ones = [1, 1, 1, 1]
case("conv2d", lambda x: tf.nn.conv2d(x([2, 4, 5, 2]), x.filter([3, 2, 2, 3]), ones, "SAME"))
case("conv2d valid", lambda x: tf.nn.conv2d(x([1, 6, 5, 2]), x.filter([3, 2, 2, 2]), strides=2, padding="VALID"))
case("conv2d explicit", lambda x: tf.nn.conv2d(
    x([1, 4, 3, 1]), x.filter([2, 2, 1, 2]), [1, 2], [[0, 0], [1, 0], [2, 1], [0, 0]]))  # fmt: skip
case("conv2d unknown", lambda x: tf.nn.conv2d(x([1, 4, 3, 2], static=[None, None, 3, 2]), x.filter([2, 2, 2, 2]), ones, "SAME"))
case("conv2d unknown rank", lambda x: tf.nn.conv2d(x([1, 4, 3, 2], static=None), x.filter([2, 2, 2, 2]), ones, "SAME"))
case("conv2d first", lambda x: tf.nn.conv2d(
    x([1, 2, 4, 3]), x.filter([2, 2, 2, 2]), [1, 2], "SAME", data_format="NCHW"))  # fmt: skip
case("conv2d batches", lambda x: tf.nn.conv2d(x([2, 1, 3, 3, 1]), x.filter([2, 2, 1, 2]), ones, "VALID"))
case("conv2d unknown batches", lambda x: tf.nn.conv2d(
    x([2, 1, 3, 3, 1], static=[None, 1, None, 3, 1]), x.filter([2, 2, 1, 2]), ones, "VALID"))  # fmt: skip
case("conv2d literals", lambda x: tf.nn.conv2d(np.ones([1, 2, 2, 1]), np.ones([2, 2, 1, 1]), ones, "VALID"))


def twice(x):
    image, taps = x([1, 4, 3, 2]), x.filter([2, 3, 2, 2])
    return tf.gradients(tf.square(tf.nn.conv2d(image, taps, ones, "SAME")), [image, taps])


case("conv2d twice", twice)
case("conv2d input", lambda x: tf.nn.conv2d_backprop_input(
    [1, 4, 3, 2], x.filter([2, 2, 2, 3]), x([1, 2, 3, 3]), [1, 2, 1, 1], "SAME"))  # fmt: skip
case("conv2d filter", lambda x: tf.nn.conv2d_backprop_filter(
    x([1, 4, 3, 2]), [2, 2, 2, 3], x([1, 2, 3, 3], "y"), [1, 2, 1, 1], "SAME"))  # fmt: skip

case("conv1d", lambda x: tf.nn.conv1d(x([2, 5, 2]), x.filter([3, 2, 2]), 2, "SAME"))
case("conv1d named", lambda x: tf.nn.conv1d(x([2, 5, 2]), x.filter([3, 2, 2]), stride=[1], padding="VALID", name="c"))
case("conv1d first", lambda x: tf.nn.conv1d(x([2, 2, 5]), x.filter([3, 2, 2]), 2, "SAME", data_format="NCW"))
case("conv1d batches", lambda x: tf.nn.conv1d(x([2, 1, 5, 2]), x.filter([3, 2, 2]), 1, "SAME"))
case("conv1dTranspose", lambda x: tf.nn.conv1d_transpose(x([2, 3, 2]), x.filter([3, 1, 2]), [2, 6, 1], 2))
case("conv1dTranspose tensor", lambda x: tf.nn.conv1d_transpose(
    x([2, 3, 2]), x.filter([3, 1, 2]), tf.constant([2, 5, 1]), [1], "VALID"))  # fmt: skip
case("conv1dTranspose first", lambda x: tf.nn.conv1d_transpose(
    x([2, 2, 3]), x.filter([3, 1, 2]), [2, 1, 6], 2, data_format="NCW"))  # fmt: skip

case("conv3d", lambda x: tf.nn.conv3d(x([1, 3, 2, 3, 2]), x.filter([2, 1, 2, 2, 2]), [1, 2, 1, 1, 1], "SAME"))
case("conv3d first", lambda x: tf.nn.conv3d(
    x([1, 2, 3, 2, 3]), x.filter([2, 1, 2, 2, 2]), [1, 1, 2, 1, 1], "SAME", data_format="NCDHW"))  # fmt: skip


def twice3d(x):
    image, taps = x([1, 2, 2, 3, 1]), x.filter([2, 1, 2, 1, 2])
    return tf.gradients(tf.square(tf.nn.conv3d(image, taps, [1, 1, 1, 1, 1], "SAME")), [image, taps])


case("conv3d twice", twice3d)
case("conv3dTranspose", lambda x: tf.nn.conv3d_transpose(
    x([1, 2, 2, 2, 2]), x.filter([2, 1, 2, 1, 2]), [1, 4, 2, 4, 1], [1, 2, 1, 2, 1]))  # fmt: skip
case("conv2dTranspose", lambda x: tf.nn.conv2d_transpose(x([1, 2, 3, 2]), x.filter([3, 2, 1, 2]), [1, 4, 6, 1], 2))
case("conv2dTranspose valid", lambda x: tf.nn.conv2d_transpose(
    x([1, 2, 3, 2]), x.filter([3, 2, 1, 2]), tf.stack([1, 4, 4, 1]), ones, "VALID", name="up"))  # fmt: skip
case("convTranspose", lambda x: tensorflow.nn.conv_transpose(
    x([1, 2, 3, 2]), x.filter([3, 2, 1, 2]), [1, 4, 6, 1], 2))  # fmt: skip
case("convTranspose 1", lambda x: tensorflow.nn.conv_transpose(x([2, 3, 2]), x.filter([3, 1, 2]), [2, 6, 1], 2))

for axes, shape in {1: [2, 5, 2], 2: [1, 4, 5, 2], 3: [1, 3, 3, 4, 1]}.items():
    taps = [2] * axes + [shape[-1], 2]
    case(f"convolution {axes}", lambda x, s=shape, t=taps: tf.nn.convolution(x(s), x.filter(t), "SAME"))
    case(f"convolution {axes} dilated", lambda x, s=shape, t=taps: tf.nn.convolution(
        x(s), x.filter(t), "SAME", dilation_rate=[2] * (len(s) - 2)))  # fmt: skip
case("convolution strides", lambda x: tf.nn.convolution(x([1, 4, 5, 2]), x.filter([2, 2, 2, 1]), "VALID", strides=[2, 1]))
case("convolution batches", lambda x: tf.nn.convolution(x([2, 1, 3, 3, 1]), x.filter([2, 2, 1, 1]), "VALID"))
case("convolution literals", lambda x: tf.nn.convolution(np.ones([1, 3, 1]), np.ones([2, 1, 1]), "VALID"))
case("convolution first dilated", lambda x: tf.nn.convolution(
    x([1, 2, 4, 5]), x.filter([2, 2, 2, 2]), "SAME", dilation_rate=[2, 1], data_format="NCHW"))  # fmt: skip
case("convolution valid dilated", lambda x: tf.nn.convolution(
    x([1, 5, 5, 1]), x.filter([2, 2, 1, 1]), "VALID", dilation_rate=[3, 2], name="c"))  # fmt: skip
case("convolution unknown dilated", lambda x: tf.nn.convolution(
    x([1, 5, 5, 1], static=[None, None, 5, 1]), x.filter([3, 2, 1, 1]), "SAME", dilation_rate=[2, 2]))  # fmt: skip
case("atrousConv2d", lambda x: tf.nn.atrous_conv2d(x([1, 5, 4, 2]), x.filter([3, 2, 2, 1]), 2, "SAME"))
case("atrousConv2d 1", lambda x: tf.nn.atrous_conv2d(x([1, 5, 4, 2]), x.filter([3, 2, 2, 1]), 1, "SAME"))
for padding, out in {"SAME": [1, 5, 4, 1], "VALID": [1, 7, 5, 1]}.items():
    case(f"atrousConv2dTranspose {padding}", lambda x, p=padding, o=out: tf.nn.atrous_conv2d_transpose(
        x([1, o[1], o[2], 2] if p == "SAME" else [1, 3, 3, 2]), x.filter([3, 2, 1, 2]), o, 2, p))  # fmt: skip
case("atrousConv2dTranspose tensor", lambda x: tf.nn.atrous_conv2d_transpose(
    x([1, 5, 4, 2]), x.filter([3, 2, 1, 2], [None, None, 1, 2]), tf.constant([1, 5, 4, 1]), 2, "SAME"))  # fmt: skip
case("atrousConv2dTranspose 1", lambda x: tf.nn.atrous_conv2d_transpose(
    x([1, 5, 4, 2]), x.filter([3, 2, 1, 2]), [1, 5, 4, 1], 1, "SAME"))  # fmt: skip
case("withSpaceToBatch", lambda x: tf.nn.with_space_to_batch(
    x([1, 5, 4, 2]), [2, 1], "VALID", lambda t, n, p: tf.nn.conv2d(t, np.ones([2, 2, 2, 1]), ones, p)))  # fmt: skip
case("withSpaceToBatch spatial", lambda x: tf.nn.with_space_to_batch(
    x([1, 2, 6, 1]), [2], "VALID", lambda t, n, p: tf.nn.conv2d(t, np.ones([1, 2, 1, 1]), ones, p), spatial_dims=[2]))  # fmt: skip

case("depthwise", lambda x: tf.nn.depthwise_conv2d(x([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), [1, 2, 2, 1], "SAME"))
case("depthwise rate", lambda x: tf.nn.depthwise_conv2d(x([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), ones, "SAME", rate=[2, 1]))
case("depthwise explicit", lambda x: tf.nn.depthwise_conv2d(
    x([1, 4, 5, 2]), x.filter([3, 2, 2, 1]), ones, [[0, 0], [1, 1], [2, 0], [0, 0]], rate=[2, 2]))  # fmt: skip
case("depthwise first", lambda x: tf.nn.depthwise_conv2d(
    x([1, 2, 4, 5]), x.filter([3, 2, 2, 2]), ones, "SAME", data_format="NCHW"))  # fmt: skip
case("depthwise native", lambda x: tf.nn.depthwise_conv2d_native(x([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), ones, "VALID"))


def twiceDepthwise(x):
    image, taps = x([1, 3, 3, 2]), x.filter([2, 2, 2, 1])
    return tf.gradients(tf.square(tf.nn.depthwise_conv2d_native(image, taps, ones, "SAME")), [image, taps])


case("depthwise twice", twiceDepthwise)
case("depthwise input", lambda x: tf.nn.depthwise_conv2d_native_backprop_input(
    [1, 4, 3, 2], x.filter([2, 2, 2, 2]), x([1, 2, 2, 4]), [1, 2, 2, 1], "SAME"))  # fmt: skip
case("depthwise filter", lambda x: tf.nn.depthwise_conv2d_native_backprop_filter(
    x([1, 4, 3, 2]), [2, 2, 2, 2], x([1, 2, 2, 4], "y"), [1, 2, 2, 1], "SAME"))  # fmt: skip
case("separable", lambda x: tf.nn.separable_conv2d(
    x([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), x([1, 1, 4, 3], "p", seed=3), [1, 2, 2, 1], "SAME"))  # fmt: skip
case("separable rate", lambda x: tf.nn.separable_conv2d(
    x([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), x([1, 1, 4, 3], "p", seed=3), ones, "VALID", rate=[1, 2]))  # fmt: skip
case("dilation2d", lambda x: tf.nn.dilation2d(x([1, 4, 5, 2]), x.filter([3, 2, 2]), [1, 2, 1, 1], [1, 1, 2, 1], "SAME"))
case("erosion2d", lambda x: tf.nn.erosion2d(x([1, 4, 5, 2]), x.filter([3, 2, 2]), ones, ones, "VALID"))


def text(operation):
    inputs = [t.name if t.value_index else t.op.name for t in operation.inputs]
    return " ".join([operation.name, operation.type, *inputs, *sorted("^" + c.name for c in operation.control_inputs)])


def rounded(value):
    return [float(f"{v:.8g}") for v in np.asarray(value).ravel()]


def run(name, build):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        inputs = Inputs()
        made = build(inputs)
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        gradients = tf.gradients(outputs, inputs.sources) if inputs.sources else []
        fetches = outputs + [tf.convert_to_tensor(g) for g in gradients if g is not None]
        values = None if " first" in name else [rounded(v) for v in session.run(fetches, inputs.feeds)]
        return {"nodes": [text(operation) for operation in graph.get_operations()], "values": values}


with open(sys.argv[1], "w") as out:
    lines = [f"{json.dumps(name)}: {json.dumps(run(name, build), separators=(',', ':'))}" for name, build in CASES.items()]
    out.write("{\n" + ",\n".join(lines) + "\n}\n")
