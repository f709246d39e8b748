"""Writes test/golden/front/contribReference.json: what TensorFlow 1.15's own layers, attention and decoders compute.

    TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/contribReference.py SOURCES

SOURCES is the folder that contribSources.py tells about.
"""
from contribSources import (
    case,
    core,
    data,
    gradients,
    initializers,
    layers,
    normalization,
    optimizers,
    regularizers,
    rnn_cell_impl,
    seq2seq,
    tf,
    with_updates,
    write,
)


def batch_normalization(shape, **options):
    x = data(2, *shape)
    return with_updates(normalization.batch_normalization(x, **options))


BATCHES = {
    # Some versions of 1.15 fuse rows too, which remembers another variance; those of TensorFlow itself do not.
    "rows": ([6, 3], dict(training=True, fused=False, momentum=0.8)),
    "rowsInference": ([6, 3], dict(training=False, fused=False)),
    "images": ([2, 2, 3, 2], dict(training=True, momentum=0.8)),
    "imagesComposed": ([2, 2, 3, 2], dict(training=True, fused=False, momentum=0.8)),
    "imagesChannelsFirst": ([2, 3, 2, 2], dict(training=True, axis=1, fused=False, momentum=0.8)),
    "imagesInference": ([2, 2, 3, 2], dict(training=False)),
    "noScale": ([2, 2, 3, 2], dict(training=True, scale=False, momentum=0.8)),
    "fusedAskedOfRows": ([6, 3], dict(training=True, fused=False, momentum=0.8)),
    "renorm": ([6, 3], dict(training=True, renorm=True, renorm_momentum=0.7, momentum=0.8)),
    "renormClipped": (
        [2, 2, 3, 2],
        dict(training=True, renorm=True, momentum=0.8, renorm_clipping=dict(rmin=0.9, rmax=1.1, dmax=0.2)),
    ),
    "virtual": ([6, 3], dict(training=True, virtual_batch_size=2, momentum=0.8)),
    "virtualImages": ([4, 2, 3, 2], dict(training=True, virtual_batch_size=2, momentum=0.8)),
    "virtualChannelsFirst": ([4, 3, 2], dict(training=True, axis=1, virtual_batch_size=2, momentum=0.8)),
    "virtualInference": ([6, 3], dict(training=False, virtual_batch_size=2)),
    "adjustment": (
        [6, 3],
        dict(training=True, momentum=0.8, adjustment=lambda shape: (tf.constant([1.5, 0.5, 2.0]), tf.fill([3], 0.25))),
    ),
}
for name, (shape, options) in BATCHES.items():
    case(f"batchNormalization.{name}", steps=3)(lambda: batch_normalization(shape, **options))

CONTRIB_BATCHES = {
    "plain": ([6, 3], {}),
    "images": ([2, 2, 3, 2], dict(decay=0.8, scale=True)),
    "atOnce": ([2, 2, 3, 2], dict(decay=0.8, updates_collections=None)),
    "rowsAtOnce": ([6, 3], dict(decay=0.8, updates_collections=None, scale=True, center=False)),
    "composedAtOnce": ([6, 3], dict(decay=0.8, updates_collections=None, fused=False)),
    "inference": ([6, 3], dict(is_training=False)),
    "weights": ([4, 3], dict(decay=0.8, fused=False, batch_weights=tf.constant)),
    "debiased": ([6, 3], dict(decay=0.8, zero_debias_moving_mean=True, updates_collections=None)),
    "renorm": ([6, 3], dict(decay=0.8, renorm=True, renorm_decay=0.7)),
}


def contrib_batch(shape, options):
    if "batch_weights" in options:
        options = {**options, "batch_weights": tf.constant([1.0, 2.0, 0.5, 0.0])}
    return with_updates(layers.batch_norm(data(2, *shape), **options))


for name, (shape, options) in CONTRIB_BATCHES.items():
    case(f"batchNorm.{name}", steps=3)(lambda: contrib_batch(shape, options))

LAYER_NORMS = {
    "rows": ([4, 5], {}),
    "plain": ([4, 5], dict(center=False, scale=False)),
    "images": ([2, 2, 3, 2], dict(scale=False)),
    "axes": ([2, 2, 3, 2], dict(begin_norm_axis=2, begin_params_axis=2, activation_fn=tf.nn.tanh)),
}
for name, (shape, options) in LAYER_NORMS.items():
    case(f"layerNorm.{name}")(lambda: with_updates(layers.layer_norm(data(2, *shape), **options)))

L2, L1 = regularizers.l2_regularizer, regularizers.l1_regularizer
NETS = {
    "fullyConnected": lambda: layers.fully_connected(data(2, 3, 4), 2, weights_regularizer=L2(0.1), biases_regularizer=L1(0.2)),
    "fullyConnectedTwice": lambda: layers.fully_connected(layers.fully_connected(data(2, 3, 4), 3), 2, activation_fn=None),
    "fullyConnectedWide": lambda: layers.fully_connected(data(2, 2, 3, 4), 2, biases_initializer=None),
    "fullyConnectedNormalized": lambda: layers.fully_connected(
        data(2, 5, 4), 2, normalizer_fn=layers.batch_norm, normalizer_params=dict(decay=0.5)
    ),
    "conv2d": lambda: layers.conv2d(data(2, 1, 5, 5, 2), 3, 3, stride=2),
    "conv2dRate": lambda: layers.conv2d(data(2, 1, 6, 6, 2), 2, [2, 3], rate=2, padding="VALID", activation_fn=None),
    "conv2dNormalized": lambda: layers.conv2d(data(2, 2, 4, 4, 2), 2, 3, normalizer_fn=layers.layer_norm, scope="mine"),
    "maxPool2d": lambda: layers.max_pool2d(data(2, 1, 5, 5, 2), 3),
    "maxPool2dSame": lambda: layers.max_pool2d(data(2, 1, 5, 5, 2), [3, 2], stride=[1, 2], padding="SAME"),
    "avgPool2d": lambda: layers.avg_pool2d(data(2, 1, 5, 5, 2), 2),
    "flatten": lambda: layers.flatten(data(2, 2, 3, 2)),
    "dropout": lambda: layers.dropout(data(2, 5, 5), keep_prob=0.6, seed=3),
    "dropoutIdle": lambda: layers.dropout(data(2, 5, 5), keep_prob=0.6, is_training=False),
    "separate": lambda: layers.layer_norm(layers.stack(data(2, 3, 4), layers.fully_connected, [5, 2], scope="fc")),
}
for name, make in NETS.items():
    case(f"layers.{name}")(lambda: with_updates(make()) + tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))


@case("regularizers")
def _():
    w = data(2, 3, 4)
    both = regularizers.l1_l2_regularizer(0.3, 0.7)
    summed = regularizers.sum_regularizer([L1(0.3), L2(0.2), L2(0.0)])
    return [L1(0.4)(w), L2(0.4)(w), both(w), summed(w), regularizers.apply_regularization(L2(0.5), [w, 2.0 * w])]


@case("xavier")
def _():
    make, scaling = initializers.xavier_initializer, initializers.variance_scaling_initializer
    return [
        make(seed=5)([4, 6]),
        make(uniform=False, seed=5)([4, 6]),
        make(seed=5)([3, 3, 2, 4]),
        scaling(seed=9)([4, 6]),
        scaling(factor=1.0, mode="FAN_OUT", uniform=True, seed=9)([2, 3, 4]),
    ]


def optimized(**options):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [3])
    b = tf.get_variable("b", [])
    loss = tf.reduce_sum(tf.square(w * data(2, 3) + b - 1.0))
    train = optimizers.optimize_loss(loss, step, **options)
    with tf.control_dependencies([train]):
        return [train, w.read_value(), b.read_value(), step.read_value()]


def decay(rate, step):
    return tf.train.exponential_decay(rate, step, 2, 0.5)


LOSSES = {
    "plain": dict(learning_rate=0.1, optimizer="SGD"),
    "clipped": dict(learning_rate=0.1, optimizer="Adam", clip_gradients=0.5),
    "decayed": dict(learning_rate=0.1, optimizer="Momentum", learning_rate_decay_fn=decay),
    "multiplied": dict(learning_rate=0.1, optimizer="Adagrad", gradient_multipliers={"w:0": 0.1}),
    "summaries": dict(
        learning_rate=0.1,
        optimizer="RMSProp",
        clip_gradients=0.5,
        learning_rate_decay_fn=decay,
        summaries=["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"],
    ),
    "class": dict(learning_rate=0.1, optimizer=tf.train.FtrlOptimizer, summaries=[]),
    "made": dict(learning_rate=None, optimizer=lambda: tf.train.GradientDescentOptimizer(0.2), increment_global_step=False),
    "adaptive": dict(learning_rate=0.1, optimizer="SGD", clip_gradients=optimizers.adaptive_clipping_fn(decay=0.9)),
}
for name, options in LOSSES.items():
    case(f"optimizeLoss.{name}", steps=3)(lambda: optimized(**options))

MECHANISMS = {
    "bahdanau": lambda m, n: seq2seq.BahdanauAttention(4, m, n),
    "bahdanauNormalized": lambda m, n: seq2seq.BahdanauAttention(4, m, n, normalize=True),
    "luong": lambda m, n: seq2seq.LuongAttention(4, m, n),
    "luongScaled": lambda m, n: seq2seq.LuongAttention(4, m, n, scale=True),
    "bahdanauMonotonic": lambda m, n: seq2seq.BahdanauMonotonicAttention(4, m, n, normalize=True, score_bias_init=-1.0),
    "bahdanauMonotonicRecursive": lambda m, n: seq2seq.BahdanauMonotonicAttention(4, m, n, mode="recursive"),
    "luongMonotonic": lambda m, n: seq2seq.LuongMonotonicAttention(4, m, n, scale=True),
    "luongMonotonicHard": lambda m, n: seq2seq.LuongMonotonicAttention(4, m, n, mode="hard"),
    "custom": lambda m, n: seq2seq.LuongAttention(
        4, m, n, probability_fn=seq2seq.hardmax, custom_key_value_fn=lambda k, v: (2.0 * k, v + 1.0)
    ),
}
MEMORY, LENGTHS = (2, 5, 3), [5, 3]


def decoded(decoder, history=(), **options):
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, **options)
    arrays = state.alignment_history if history else ()
    arrays = arrays if isinstance(arrays, tuple) else (arrays,)
    return [outputs.rnn_output, outputs.sample_id, lengths, *(array.stack() for array in arrays)]


def attended(mechanisms, lengths=(4, 3), decode=None, helper=None, **options):
    made = [MECHANISMS[m](data(5, *MEMORY), LENGTHS) for m in mechanisms]
    cell = rnn_cell_impl.GRUCell(4)
    wrapper = seq2seq.AttentionWrapper(cell, made if len(made) > 1 else made[0], alignment_history=True, **options)
    helper = helper or seq2seq.TrainingHelper(data(8, 2, 4, 3), list(lengths))
    decoder = seq2seq.BasicDecoder(wrapper, helper, wrapper.zero_state(2, tf.float32))
    results = decoded(decoder, history=True, **(decode or {}))
    return results + gradients(results[0])


for name in MECHANISMS:
    case(f"attention.{name}")(lambda: attended([name], attention_layer_size=3))
WRAPPERS = {
    "context": dict(mechanisms=["luong"], output_attention=False),
    "several": dict(mechanisms=["bahdanau", "luong", "bahdanau"], attention_layer_size=[2, 3, 2]),
    "inputs": dict(mechanisms=["luong"], cell_input_fn=lambda x, a: x + a, attention_layer_size=3),
    "imputed": dict(mechanisms=["luong"], attention_layer_size=3, decode=dict(impute_finished=True)),
    "timeMajor": dict(mechanisms=["luong"], decode=dict(output_time_major=True, maximum_iterations=2)),
}
for name, options in WRAPPERS.items():
    case(f"wrapper.{name}")(lambda: attended(**options))


@case("wrapper.layer")
def _():
    layer = core.Dense(3, activation=tf.nn.tanh, name="own")
    return attended(["luong"], attention_layer=layer)


EMBEDDING = (6, 3)
HELPERS = {
    "greedy": lambda e: seq2seq.GreedyEmbeddingHelper(e, [0, 1], 5),
    "sampled": lambda e: seq2seq.SampleEmbeddingHelper(e, [0, 1], 5, softmax_temperature=0.5, seed=3),
    "scheduled": lambda e: seq2seq.ScheduledEmbeddingTrainingHelper(
        data(8, 2, 5, 3), [5, 4], e, 0.5, seed=3, scheduling_seed=4
    ),
    "scheduledOutputs": lambda e: seq2seq.ScheduledOutputTrainingHelper(
        data(8, 2, 5, 3), [5, 4], 0.5, seed=3, next_inputs_fn=lambda y: 2.0 * y[:, :3]
    ),
    "scheduledAuxiliary": lambda e: seq2seq.ScheduledOutputTrainingHelper(
        data(8, 2, 5, 6), [5, 4], 0.5, seed=3, auxiliary_inputs=data(9, 2, 5, 2)
    ),
    "inference": lambda e: seq2seq.InferenceHelper(
        lambda y: tf.tanh(y), [6], tf.float32, data(8, 2, 6), lambda s: tf.greater(s[:, 0], 5.0)
    ),
}


def helped(name):
    cell = rnn_cell_impl.GRUCell(4)
    helper = HELPERS[name](data(4, *EMBEDDING))
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32), core.Dense(6, name="out"))
    return decoded(decoder, maximum_iterations=6)


for name in HELPERS:
    case(f"helper.{name}")(lambda: helped(name))


def searched(attention=False, **options):
    cell = rnn_cell_impl.GRUCell(4)
    if attention:
        memory = seq2seq.tile_batch(data(5, *MEMORY), 3)
        mechanism = seq2seq.BahdanauAttention(4, memory, seq2seq.tile_batch(tf.constant(LENGTHS), 3))
        cell = seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=3, alignment_history=True)
    start = cell.zero_state(6, tf.float32)
    layer = core.Dense(6, name="out")
    decoder = seq2seq.BeamSearchDecoder(cell, data(4, *EMBEDDING), [0, 1], 5, start, 3, layer, **options)
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=6)
    steps = outputs.beam_search_decoder_output
    found = [outputs.predicted_ids, steps.scores, steps.predicted_ids, steps.parent_ids, state.log_probs, state.lengths]
    if not attention:
        return [*found, lengths]
    # TensorFlow 2 does not let the decoder see what the array knows of its shape, so the beams are put in order here.
    history = state.cell_state.alignment_history.stack()
    return [*found, lengths, seq2seq.gather_tree_from_array(history, tf.transpose(steps.parent_ids, [1, 0, 2]), state.lengths)]


SEARCHES = {
    "plain": {},
    "penalized": dict(length_penalty_weight=0.8),
    "attention": dict(attention=True),
    "covered": dict(attention=True, coverage_penalty_weight=0.3),
}
for name, options in SEARCHES.items():
    case(f"beamSearch.{name}")(lambda: searched(**options))

write("contribReference.json")
