"""Writes test/golden/front/contribLayers.json: what the layers of TensorFlow 1.15's tf.contrib.layers compute.

    TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/contribLayers.py SOURCES

SOURCES is the folder that contribSources.py tells about. TensorFlow has no kernels for channels first on a CPU, so these cases are
computed with channels last and turned round.
"""
from contribSources import case, data, framework, layers, load, module, optimizers, place, regularizers, tf, with_updates, write

sparse_ops = module("tensorflow.contrib.layers.python.ops")
place("tensorflow.contrib.layers.python.ops.sparse_ops", sparse_ops)
sparse_ops.dense_to_sparse_tensor = tf.sparse.from_dense
groups = load("tensorflow.contrib.layers.python.layers.normalization")
summaries = load("tensorflow.contrib.layers.python.layers.summaries")
embedding_ops = module("tensorflow.contrib.layers.python.layers.embedding_ops")
embedding_ops.safe_embedding_lookup_sparse = tf.nn.safe_embedding_lookup_sparse
encoders = load("tensorflow.contrib.layers.python.layers.encoders")
arg_scope = framework.arg_scope
L2 = regularizers.l2_regularizer


def turned(layer, *shape, **options):
    """A layer of images or volumes with channels first."""
    axes = list(range(len(shape)))
    last = [0, *axes[2:], 1]
    first = [0, axes[-1], *axes[1:-1]]
    return tf.transpose(layer(tf.transpose(data(2, *shape), last), **options), first)


def switched(training, shape, turn=False, **options):
    x = data(2, *shape)
    training = tf.placeholder_with_default(training, [])
    if turn:
        y = layers.batch_norm(tf.transpose(x, [0, 2, 3, 1]), is_training=training, **options)
        return tf.transpose(y, [0, 3, 1, 2])
    return layers.batch_norm(x, is_training=training, **options)


def with_dimensions(layer, *inputs, **options):
    """A layer that asks the sizes of shapes for their value, as in TensorFlow 1."""
    tf.disable_v2_tensorshape()
    try:
        return layer(*inputs, **options)
    finally:
        tf.enable_v2_tensorshape()


def scoped():
    with arg_scope([layers.conv2d, layers.fully_connected], activation_fn=tf.nn.tanh, weights_regularizer=L2(0.1)):
        with arg_scope([layers.conv2d], padding="VALID", stride=2) as scope:
            h = layers.conv2d(data(2, 1, 6, 6, 2), 3, 3)
        h = layers.conv2d(h, 2, [2, 2], activation_fn=None)
        y = layers.fully_connected(layers.flatten(h), 2)
    with arg_scope(scope):
        return y + tf.reduce_sum(layers.conv2d(data(3, 1, 5, 5, 1), 1, 3, scope="again"))


NETS = {
    "maxPool3d": lambda: layers.max_pool3d(data(2, 1, 4, 5, 4, 2), 2),
    "maxPool3dFirst": lambda: layers.max_pool3d(data(2, 1, 2, 4, 5, 4), [2, 3, 2], stride=1, data_format="NCDHW"),
    "avgPool3d": lambda: layers.avg_pool3d(data(2, 1, 4, 5, 4, 2), [1, 2, 3], stride=[1, 2, 1], padding="SAME"),
    "avgPool3dFirst": lambda: layers.avg_pool3d(data(2, 1, 2, 4, 5, 4), 2, data_format="NCDHW", padding="SAME"),
    "maxPool2dFirst": lambda: turned(layers.max_pool2d, 1, 2, 5, 5, kernel_size=[3, 2], stride=[2, 1]),
    "avgPool2dFirst": lambda: turned(layers.avg_pool2d, 1, 2, 5, 5, kernel_size=3, padding="SAME"),
    "pool1": lambda: layers.pool(data(2, 2, 7, 3), 3, "MAX", stride=2),
    "pool2": lambda: layers.pool(data(2, 1, 6, 7, 2), [2, 3], "AVG", padding="SAME", stride=[1, 2]),
    "pool2Dilated": lambda: layers.pool(data(2, 1, 6, 7, 2), 2, "MAX", dilation_rate=[2, 1]),
    "conv1d": lambda: layers.conv1d(data(2, 2, 6, 3), 4, 3, rate=2),
    "conv2dFirst": lambda: turned(layers.conv2d, 1, 2, 5, 6, num_outputs=3, kernel_size=[3, 2], stride=[1, 2]),
    "conv3d": lambda: layers.conv3d(data(2, 1, 4, 5, 4, 2), 2, [2, 3, 2], stride=[1, 2, 1], padding="VALID"),
    "conv3dFirst": lambda: turned(layers.conv3d, 1, 2, 4, 4, 4, num_outputs=2, kernel_size=2, stride=2),
    "conv2dTranspose": lambda: layers.conv2d_transpose(data(2, 1, 3, 4, 2), 3, 3, stride=[2, 1]),
    "conv2dTransposeFirst": lambda: turned(
        layers.conv2d_transpose, 1, 2, 3, 4, num_outputs=3, kernel_size=3, stride=2, padding="VALID"
    ),
    "conv3dTranspose": lambda: layers.conv3d_transpose(data(2, 1, 2, 3, 2, 2), 2, 3, stride=2, biases_initializer=None),
    "separableConv2d": lambda: layers.separable_conv2d(data(2, 1, 5, 5, 2), 3, 3, depth_multiplier=2, stride=2),
    "separableConv2dRate": lambda: layers.separable_conv2d(
        data(2, 1, 6, 6, 2), 2, [3, 2], rate=2, weights_regularizer=L2(0.1), activation_fn=None
    ),
    "separableConv2dOnly": lambda: layers.separable_conv2d(data(2, 1, 5, 5, 2), None, 3, depth_multiplier=2),
    "separableConv2dNormalized": lambda: layers.separable_conv2d(
        data(2, 2, 4, 4, 2), None, 3, normalizer_fn=layers.layer_norm, padding="VALID"
    ),
    "separableConv2dFirst": lambda: turned(layers.separable_conv2d, 1, 2, 5, 5, num_outputs=3, kernel_size=3),
    "conv2dInPlane": lambda: layers.conv2d_in_plane(data(2, 1, 4, 5, 3), [1, 2], stride=[1, 1]),
    "biasAdd": lambda: layers.bias_add(data(2, 3, 4), activation_fn=tf.nn.relu, regularizer=L2(0.3)),
    "biasAddFirst": lambda: layers.bias_add(data(2, 2, 3, 2, 2), data_format="NCHW", scope="mine"),
    "softmax": lambda: layers.softmax(data(2, 2, 3, 4)),
    "spatialSoftmax": lambda: layers.spatial_softmax(data(2, 2, 3, 4, 2), temperature=0.5),
    "spatialSoftmaxFirst": lambda: layers.spatial_softmax(data(2, 2, 3, 4, 2), data_format="NCHW", trainable=False),
    "maxout": lambda: layers.maxout(data(2, 3, 8), 4),
    "maxoutAxis": lambda: layers.maxout(data(2, 3, 6, 2), 2, axis=1),
    "unitNorm": lambda: layers.unit_norm(data(2, 3, 4), 1),
    "poincareNormalize": lambda: layers.poincare_normalize(data(2, 3, 4)),
    "oneHotEncoding": lambda: layers.one_hot_encoding([2, 0, 1], 4, on_value=2.0, off_value=-1.0),
    "imagesToSequence": lambda: layers.images_to_sequence(data(2, 2, 3, 4, 2)),
    "imagesToSequenceFirst": lambda: layers.images_to_sequence(data(2, 2, 3, 4, 2), data_format="NCHW"),
    "sequenceToImages": lambda: layers.sequence_to_images(data(2, 4, 6, 3), 3),
    "sequenceToImagesFirst": lambda: layers.sequence_to_images(data(2, 4, 6, 3), 2, "channels_first"),
    "elu": lambda: layers.elu(data(2, 3, 4), 2),
    "repeat": lambda: layers.repeat(data(2, 3, 4), 2, layers.fully_connected, 3),
    "stack": lambda: layers.stack(data(2, 1, 6, 6, 2), layers.conv2d, [(3, [3, 3]), (2, [1, 1])], scope="deep"),
    "instanceNorm": lambda: with_dimensions(groups.instance_norm, data(2, 2, 3, 4, 3), activation_fn=tf.nn.tanh),
    "instanceNormFirst": lambda: with_dimensions(groups.instance_norm, data(2, 2, 3, 4, 2), data_format="NCHW", epsilon=0.1),
    "groupNorm": lambda: with_dimensions(groups.group_norm, data(2, 2, 3, 2, 4), groups=2),
    "groupNormFirst": lambda: with_dimensions(
        groups.group_norm, data(2, 2, 6, 3, 2), groups=3, channels_axis=1, reduction_axes=[2, 3], scale=False, mean_close_to_zero=True
    ),
    "embedSequence": lambda: encoders.embed_sequence(tf.constant([[1, 3], [0, 1]]), 5, 2, regularizer=L2(0.2)),
    "bowEncoder": lambda: encoders.bow_encoder(tf.constant([[1, 3, 0], [0, 0, 0], [2, 2, 4]]), 5, 2),
    "bowEncoderDense": lambda: encoders.bow_encoder(tf.constant([[1, 3, 0], [2, 2, 4]]), 5, 2, sparse_lookup=False),
    "argScope": scoped,
    "trainingRows": lambda: switched(True, [6, 3], decay=0.8, scale=True),
    "servingRows": lambda: switched(False, [6, 3], decay=0.8, scale=True),
    "trainingImages": lambda: switched(True, [2, 2, 3, 2], decay=0.8),
    "servingImages": lambda: switched(False, [2, 2, 3, 2], decay=0.8),
    "trainingAtOnce": lambda: switched(True, [2, 2, 3, 2], decay=0.8, updates_collections=None),
    "servingAtOnce": lambda: switched(False, [2, 2, 3, 2], decay=0.8, updates_collections=None),
    "trainingComposed": lambda: switched(True, [6, 3], decay=0.8, fused=False, updates_collections=None),
    "servingComposed": lambda: switched(False, [6, 3], decay=0.8, fused=False, updates_collections=None),
    "trainingFirst": lambda: switched(True, [2, 2, 3, 2], True, decay=0.8, scale=True),
    "trainingFirstComposed": lambda: switched(True, [2, 2, 3, 2], True, decay=0.8, scale=True, fused=False),
    "servingFirst": lambda: switched(False, [2, 2, 3, 2], True, decay=0.8),
}
for name, make in NETS.items():
    steps = 2 if "training" in name or "serving" in name else 1
    case(name, steps)(lambda: with_updates(make()) + tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))


@case("summaries")
def _():
    x = data(2, 2, 3)
    for y in (tf.nn.relu(x, name="cut"), tf.nn.relu6(x), tf.tanh(x)):
        tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, y)
    summaries.summarize_activations()
    summaries.summarize_tensor(tf.reduce_sum(x), "total")
    summaries.summarize_tensors([x, tf.reduce_max(x)])
    tf.add_to_collection(tf.GraphKeys.WEIGHTS, x)
    summaries.summarize_weights("other")
    summaries.summarize_weights("Con")
    return [x]


LOSSES = {
    "multiplied": lambda w, b: dict(gradient_multipliers={w: tf.constant([1.0, 0.5, 0.0]), "b:0": 3.0}),
    "clippedTogether": lambda w, b: dict(clip_gradients=0.2, gradient_multipliers={"w:0": 0.5}),
    "clippedByFunction": lambda w, b: dict(clip_gradients=lambda pairs: [(tf.clip_by_value(g, -0.1, 0.1), v) for g, v in pairs]),
    "onlySome": lambda w, b: dict(variables=[b]),
    "noNoise": lambda w, b: dict(gradient_noise_scale=0.0),
}
for name, options in LOSSES.items():

    def make():
        step = tf.train.get_or_create_global_step()
        w, b = tf.get_variable("w", [3]), tf.get_variable("b", [])
        loss = tf.reduce_sum(tf.square(w * data(2, 3) + b - 1.0))
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        train = optimizers.optimize_loss(loss, step, None, optimizer, summaries=[], **options(w, b))
        with tf.control_dependencies([train]):
            return [train, w.read_value(), b.read_value(), step.read_value()]

    case(f"optimizeLoss.{name}", steps=3)(make)

write("contribLayers.json")
