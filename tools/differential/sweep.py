"""Random arguments of convolutions, pooling and normalization, on a tensorloom server and on TensorFlow itself.

    python sweep.py grpc://localhost:PORT [CASES_PER_FAMILY] [SEED]

Compared are the results, the gradients and the gradients of these. Where TensorFlow has no kernel for the CPU (channels first,
gradients of dilated filters, groups), it computes the same by other ops: with channels last, with zeros between the filter's
elements, group by group.
"""
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

TARGET = sys.argv[1]
CASES = int(sys.argv[2]) if len(sys.argv) > 2 else 20
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1


class Case:
    """Inputs drawn at random, and what to compare: what the server runs beside what TensorFlow runs."""

    def __init__(self, random):
        self.random, self.feeds, self.sources, self.text, self.most = random, {}, [], [], 2

    def tensor(self, shape, dtype=np.float64, differentiable=True, low=-1.0):
        value = self.random.uniform(low, 1.0, shape).astype(dtype)
        source = tf.placeholder(dtype, shape)
        self.feeds[source] = value
        if differentiable:
            self.sources.append(source)
        return source

    def note(self, **values):
        self.text += [f"{key}={value}" for key, value in values.items()]

    def choose(self, *values):
        return values[self.random.integers(len(values))]

    def size(self, low, high):
        return int(self.random.integers(low, high + 1))


def first(x):
    """Channels last to channels first."""
    return tf.transpose(x, [0, x.shape.ndims - 1, *range(1, x.shape.ndims - 1)])


def last(x):
    return tf.transpose(x, [0, *range(2, x.shape.ndims), 1])


def stretched(filters, rates):
    """A filter with zeros between its elements, which does what a dilated one does."""
    for axis, rate in enumerate(rates):
        if rate == 1:
            continue
        size = filters.shape[axis]
        rows = tf.split(filters, size, axis)
        gap = tf.zeros([rate - 1 if i == axis else n for i, n in enumerate(filters.shape)], filters.dtype)
        filters = tf.concat([part for row in rows for part in (row, gap)][:-1], axis)
    return filters


def windows(case, axes, explicit=True):
    """Sizes of an image and a window with strides, dilations and padding that fit."""
    kernel = [case.size(1, 3) for _ in range(axes)]
    strides = [case.size(1, 3) for _ in range(axes)]
    # TensorFlow refuses to stride and dilate at once.
    rates = [case.size(1, 2) for _ in range(axes)] if max(strides) == 1 else [1] * axes
    image = [(k - 1) * r + 1 + case.size(0, 4) for k, r in zip(kernel, rates)]
    padding = case.choose("SAME", "VALID", "EXPLICIT") if explicit else case.choose("SAME", "VALID")
    # In volumes, TensorFlow's kernels move the first window inwards where strides leave out the end of an image, which neither
    # their gradients nor its documentation do.
    if axes == 3 and any((-(-n // s) - 1) * s + k < n for n, k, s in zip(image, kernel, strides)):
        padding = "VALID"
    pads = [[case.size(0, k - 1), case.size(0, k - 1)] for k in kernel] if padding == "EXPLICIT" else []
    return kernel, strides, rates, image, padding, pads


def convolution(case, axes):
    kernel, strides, rates, image, padding, pads = windows(case, axes, explicit=axes == 2)
    depth, filters = case.size(1, 3), case.size(1, 4)
    groups = case.choose(1, 1, 2) if axes == 2 else 1
    isFirst = bool(case.choose(0, 1))
    x = case.tensor([case.size(1, 2), *image, depth * groups])
    w = case.tensor([*kernel, depth, filters * groups])
    case.note(image=x.shape, filter=w.shape, strides=strides, rates=rates, padding=padding, pads=pads, groups=groups, first=isFirst)
    convolve = tf.nn.conv2d if axes == 2 else tf.nn.conv3d
    format = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[axes][isFirst]
    all = lambda spatial, rest: [rest, rest, *spatial] if isFirst else [rest, *spatial, rest]
    y = convolve(first(x) if isFirst else x, w, strides=all(strides, 1), padding=all(pads, [0, 0]) if pads else padding,
        data_format=format, dilations=all(rates, 1))  # fmt: skip
    plain = [[0, 0], *pads, [0, 0]] if pads else padding
    parts = [
        convolve(part, stretched(share, rates), strides=[1, *strides, 1], padding=plain)
        for part, share in zip(tf.split(x, groups, -1), tf.split(w, groups, -1))
    ]
    return last(y) if isFirst else y, tf.concat(parts, -1)


def depthwise(case):
    kernel, strides, rates, image, padding, pads = windows(case, 2)
    strides = [strides[0]] * 2  # TensorFlow has no kernel for unequal ones
    rates = rates if strides[0] == 1 else [1, 1]
    depth, multiplier, isFirst = case.size(1, 3), case.size(1, 3), bool(case.choose(0, 1))
    x, w = case.tensor([case.size(1, 2), *image, depth]), case.tensor([*kernel, depth, multiplier])
    case.note(image=x.shape, filter=w.shape, strides=strides, rates=rates, padding=padding, pads=pads, first=isFirst)
    all = lambda spatial, rest: [rest, rest, *spatial] if isFirst else [rest, *spatial, rest]
    y = tf.raw_ops.DepthwiseConv2dNative(
        input=first(x) if isFirst else x, filter=w, strides=all(strides, 1), padding=padding, dilations=all(rates, 1),
        data_format="NCHW" if isFirst else "NHWC", explicit_paddings=np.ravel(all(pads, [0, 0])).tolist() if pads else [])  # fmt: skip
    plain = tf.raw_ops.DepthwiseConv2dNative(
        input=x, filter=stretched(w, rates), strides=[1, *strides, 1], padding=padding,
        explicit_paddings=np.ravel([[0, 0], *pads, [0, 0]]).tolist() if pads else [])  # fmt: skip
    return last(y) if isFirst else y, plain


def transposed(case, axes):
    kernel, strides, _, image, padding, _ = windows(case, axes, explicit=False)
    depth, filters, isFirst = case.size(1, 3), case.size(1, 3), bool(case.choose(0, 1))
    sizes = [-(-(n if padding == "SAME" else n - k + 1) // s) for n, k, s in zip(image, kernel, strides)]
    batch = case.size(1, 2)
    x, w = case.tensor([batch, *sizes, filters]), case.tensor([*kernel, depth, filters])
    case.note(image=x.shape, filter=w.shape, output=image, strides=strides, padding=padding, first=isFirst)
    grow = tf.nn.conv2d_transpose if axes == 2 else tf.nn.conv3d_transpose
    plain = grow(x, w, [batch, *image, depth], [1, *strides, 1], padding)
    if not isFirst:
        return plain, plain
    format = "NCHW" if axes == 2 else "NCDHW"
    return last(grow(first(x), w, [batch, depth, *image], [1, 1, *strides], padding, data_format=format)), plain


def pooling(case, axes, kind):
    kernel, strides, _, image, padding, pads = windows(case, axes, explicit=axes == 2 and kind == "MAX")
    isFirst = bool(case.choose(0, 1))
    case.most = 1 if padding == "EXPLICIT" else 2  # TensorFlow's MaxPoolGradGrad does not know it
    dtype = np.float64 if axes == 2 else np.float32  # volumes are pooled in float32 and halves only
    x = case.tensor([case.size(1, 2), *image, case.size(1, 3)], dtype)
    case.note(image=x.shape, kernel=kernel, strides=strides, padding=padding, pads=pads, first=isFirst)
    pool = {(2, "MAX"): tf.nn.max_pool2d, (2, "AVG"): tf.nn.avg_pool2d, (3, "MAX"): tf.nn.max_pool3d, (3, "AVG"): tf.nn.avg_pool3d}[axes, kind]  # fmt: skip
    plain = pool(x, [1, *kernel, 1], [1, *strides, 1], [[0, 0], *pads, [0, 0]] if pads else padding)
    if not isFirst:
        return plain, plain
    format = "NCHW" if axes == 2 else "NCDHW"
    channels = [[0, 0], [0, 0], *pads] if pads else padding
    return last(pool(first(x), [1, 1, *kernel], [1, 1, *strides], channels, data_format=format)), plain


def batch_norm(case, axes):
    isTraining, isFirst = bool(case.choose(0, 1)), bool(case.choose(0, 1))
    depth = case.size(1, 4)
    x = case.tensor([case.size(1, 3), *[case.size(2, 4) for _ in range(axes)], depth], np.float32)
    scale, offset = case.tensor([depth], np.float32), case.tensor([depth], np.float32)
    mean, variance = case.tensor([depth], np.float32, False), case.tensor([depth], np.float32, False, low=0.1)
    epsilon = case.choose(1e-3, 1e-2)
    factor = case.choose(1.0, 0.9) if isTraining else 1.0
    case.note(image=x.shape, training=isTraining, epsilon=epsilon, factor=factor, first=isFirst)
    run = lambda x, format: tf.raw_ops.FusedBatchNormV3(
        x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=epsilon, exponential_avg_factor=factor,
        data_format=format, is_training=isTraining)  # fmt: skip
    # For volumes the op has a kernel on GPUs only: the reference has one axis of all of them, which comes to the same.
    flat = tf.reshape(x, [x.shape[0], -1, 1, depth])
    plain = run(flat, "NHWC")
    reference = [tf.reshape(plain.y, x.shape), plain.batch_mean, plain.batch_variance]
    formats = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[axes]
    ours = run(first(x) if isFirst else x, formats[isFirst])
    return [last(ours.y) if isFirst else ours.y, ours.batch_mean, ours.batch_variance], reference


def local_response(case):
    x = case.tensor([case.size(1, 2), case.size(1, 3), case.size(1, 3), case.size(1, 6)], np.float32)
    attrs = dict(depth_radius=case.size(0, 4), bias=case.choose(0.5, 1.0, 2.0), alpha=case.choose(0.1, 1.0), beta=case.choose(0.5, 0.75, 1.0))  # fmt: skip
    case.note(image=x.shape, **attrs)
    y = tf.nn.local_response_normalization(x, **attrs)
    return y, y


def morphology(case):
    kernel, strides, rates, image, padding, _ = windows(case, 2, explicit=False)
    x, w = case.tensor([case.size(1, 2), *image, 2]), case.tensor([*kernel, 2])
    case.note(image=x.shape, filter=w.shape, strides=strides, rates=rates, padding=padding)
    y = tf.raw_ops.Dilation2D(input=x, filter=w, strides=[1, *strides, 1], rates=[1, *rates, 1], padding=padding)
    return y, y


# How often each can be differentiated in TensorFlow.
FAMILIES = {
    "Conv2D": (lambda c: convolution(c, 2), 2),
    "Conv3D": (lambda c: convolution(c, 3), 2),
    "DepthwiseConv2dNative": (depthwise, 2),
    "conv2d_transpose": (lambda c: transposed(c, 2), 2),
    "conv3d_transpose": (lambda c: transposed(c, 3), 2),
    "MaxPool": (lambda c: pooling(c, 2, "MAX"), 2),
    "AvgPool": (lambda c: pooling(c, 2, "AVG"), 2),
    "MaxPool3D": (lambda c: pooling(c, 3, "MAX"), 2),
    "AvgPool3D": (lambda c: pooling(c, 3, "AVG"), 2),
    "FusedBatchNormV3, images": (lambda c: batch_norm(c, 2), 2),
    "FusedBatchNormV3, volumes": (lambda c: batch_norm(c, 3), 2),
    "LRN": (local_response, 1),
    "Dilation2D": (morphology, 1),
}


def derivatives(case, outputs, order):
    """The outputs, and gradients of weighted sums of them, and of weighted sums of these; the weights are the same each time."""
    random = np.random.default_rng(7)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    result, level = list(outputs), outputs[:1]
    for _ in range(min(order, case.most)):
        total = [random.uniform(-1, 1, y.shape.as_list()).astype(y.dtype.as_numpy_dtype) for y in level]
        level = [tf.convert_to_tensor(g) for g in tf.gradients(level, case.sources, total) if g is not None]
        result += level
    return result


def check(name, build, order, number):
    random = np.random.default_rng([SEED, number, *map(ord, name)])
    with tf.Graph().as_default():
        case = Case(random)
        try:
            ours, reference = build(case)
            ours, reference = derivatives(case, ours, order), derivatives(case, reference, order)
            with tf.Session() as session:
                expected = session.run(reference, case.feeds)
        except (ValueError, tf.errors.OpError) as error:
            return None, f"TensorFlow: {str(error).strip().splitlines()[-1]} ({', '.join(case.text)})"
        try:
            with tf.Session(TARGET) as session:
                found = session.run(ours, case.feeds)
        except tf.errors.OpError as error:
            return np.inf, f"{error.message.splitlines()[0][:200]} ({', '.join(case.text)})"
        exact = all(y.dtype == tf.float64 for y in reference)
        worst = max(float(np.max(np.abs(a - b) / (1 + np.abs(b)), initial=0)) for a, b in zip(found, expected))
        return worst, ", ".join(case.text) if worst > (1e-10 if exact else 2e-5) else None


failures = 0
print(f"{'family':<28}{'cases':>7}{'skipped':>9}{'worst':>10}")
for family, (build, order) in FAMILIES.items():
    worst, skipped, texts = 0.0, 0, []
    for number in range(CASES):
        difference, text = check(family, build, order, number)
        skipped += difference is None
        worst = max(worst, difference or 0.0)
        if text:
            texts.append(text)
            failures += difference is not None
    print(f"{family:<28}{CASES - skipped:>7}{skipped:>9}{worst:>10.1e}", flush=True)
    for text in texts:
        print("   ", text)
sys.exit(1 if failures else 0)
