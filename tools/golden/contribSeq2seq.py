"""Writes test/golden/front/contribSeq2seq.json: what TensorFlow 1.15's attention, helpers, losses and beam search compute when
they are told more than usual.

    TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/contribSeq2seq.py SOURCES

SOURCES is the folder that contribSources.py tells about.
"""
from contribSources import case, core, data, gradients, load, rnn_cell_impl, seq2seq, tf, write

sequence_loss = load("tensorflow.contrib.seq2seq.python.ops.loss").sequence_loss
MEMORY, LENGTHS = (2, 5, 3), [5, 3]


def training():
    return seq2seq.TrainingHelper(data(8, 2, 4, 3), [4, 3], name="mine")


def luong():
    return seq2seq.LuongAttention(4, data(5, *MEMORY), LENGTHS)


class Remembering(seq2seq.LuongAttention):
    """Attention that avoids what it has looked at: its state is the sum of all alignments so far, and how many they are."""

    def __call__(self, query, state):
        looks, count = state
        score = tf.einsum("bd,btd->bt", query, self.keys) - looks
        alignments = tf.nn.softmax(score)
        return alignments, (looks + alignments, count + 1.0)

    def initial_state(self, batch_size, dtype):
        return self.initial_alignments(batch_size, dtype), tf.zeros([batch_size], dtype)

    @property
    def state_size(self):
        return self.alignments_size, tf.TensorShape([])


def decode(wrapper, start, states):
    decoder = seq2seq.BasicDecoder(wrapper, training(), start)
    outputs, state, lengths = seq2seq.dynamic_decode(decoder)
    results = [outputs.rnn_output, outputs.sample_id, lengths, *states(state)]
    return results + gradients(outputs.rnn_output)


@case("wrapper.attentionFn")
def _():
    def attend(mechanism, output, state, layer):
        alignments, following = mechanism(output, state=state)
        context = tf.reduce_sum(alignments[:, :, None] * mechanism.values, 1)
        return tf.tanh(layer(context)), alignments, following

    cell = rnn_cell_impl.GRUCell(4)
    wrapper = seq2seq.AttentionWrapper(cell, luong(), attention_layer_size=3, attention_fn=attend, name="attended")
    return decode(wrapper, wrapper.zero_state(2, tf.float32), lambda s: [s.alignments, s.attention_state, s.time])


@case("wrapper.ownState")
def _():
    cell = rnn_cell_impl.GRUCell(4)
    mechanism = Remembering(4, data(5, *MEMORY), LENGTHS)
    wrapper = seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=3)
    return decode(wrapper, wrapper.zero_state(2, tf.float32), lambda s: [s.alignments, *s.attention_state])


@case("wrapper.list")
def _():
    wrapper = seq2seq.AttentionWrapper(rnn_cell_impl.GRUCell(4), [luong()], attention_layer_size=[3])
    return decode(wrapper, wrapper.zero_state(2, tf.float32), lambda s: [*s.alignments, *s.attention_state])


@case("wrapper.initialCellState")
def _():
    wrapper = seq2seq.AttentionWrapper(rnn_cell_impl.GRUCell(4), luong(), initial_cell_state=data(3, 2, 4))
    return decode(wrapper, wrapper.zero_state(2, tf.float32), lambda s: [s.cell_state, s.attention])


@case("wrapper.clone")
def _():
    wrapper = seq2seq.AttentionWrapper(rnn_cell_impl.BasicLSTMCell(4), luong(), output_attention=False)
    start = wrapper.zero_state(2, tf.float32)
    start = start.clone(cell_state=rnn_cell_impl.LSTMStateTuple(data(3, 2, 4), data(4, 2, 4)), attention=data(6, 2, 3))
    return decode(wrapper, start, lambda s: [s.cell_state.c, s.cell_state.h, s.attention])


def helped(helper, width=6):
    cell = rnn_cell_impl.GRUCell(4)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32), core.Dense(width, name="out"))
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=6)
    return [outputs.rnn_output, outputs.sample_id, lengths, state]


@case("helper.inferenceIds")
def _():
    table = data(4, 6, 3)
    helper = seq2seq.InferenceHelper(
        lambda y: tf.cast(tf.argmax(y, -1), tf.int32),
        [],
        tf.int32,
        data(8, 2, 3),
        lambda ids: tf.equal(ids, 5),
        lambda ids: tf.gather(table, ids),
    )
    return helped(helper)


@case("helper.custom")
def _():
    helper = seq2seq.CustomHelper(
        lambda: (tf.fill([2], False), data(8, 2, 3)),
        lambda time, outputs, state: outputs[:, :2] + state[:, :2],
        lambda time, outputs, state, sample_ids: (
            tf.fill([2], time >= 3),
            tf.concat([sample_ids, outputs[:, :1]], 1),
            0.5 * state,
        ),
        sample_ids_shape=[2],
        sample_ids_dtype=tf.float32,
    )
    return helped(helper)


LOSSES = {
    "average": {},
    "averageTime": dict(average_across_batch=False),
    "averageBatch": dict(average_across_timesteps=False),
    "none": dict(average_across_timesteps=False, average_across_batch=False),
    "sum": dict(
        average_across_timesteps=False, average_across_batch=False, sum_over_timesteps=True, sum_over_batch=True
    ),
    "sumTime": dict(average_across_timesteps=False, average_across_batch=False, sum_over_timesteps=True),
    "sumBatch": dict(average_across_timesteps=False, average_across_batch=False, sum_over_batch=True),
    "mixed": dict(average_across_timesteps=False, sum_over_timesteps=True),
    "function": dict(softmax_loss_function=lambda labels, logits: tf.reduce_sum(logits, 1) * tf.cast(labels, tf.float32)),
}


@case("sequenceLoss")
def _():
    logits, targets = data(2, 3, 4, 5), tf.constant([[1, 0, 4, 2], [3, 3, 0, 1], [2, 1, 0, 4]])
    # An example without any weight has no loss, rather than none at all.
    weights = tf.constant([[1.0, 0.5, 0.0, 0.0], [1.0, 1.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    return [sequence_loss(logits, targets, weights, **options) for options in LOSSES.values()]


def searched(cell, iterations, **options):
    # With a number of examples that is known only when it runs, TensorFlow does put the history in order.
    starts = tf.placeholder_with_default(tf.constant([0, 1]), [None])
    start = cell.zero_state(6, tf.float32)
    layer = core.Dense(6, name="out")
    decoder = seq2seq.BeamSearchDecoder(cell, 3.0 * data(4, 6, 3), starts, 5, start, 3, layer, **options)
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=iterations)
    steps = outputs.beam_search_decoder_output
    return [outputs.predicted_ids, steps.scores, steps.parent_ids, state.log_probs, state.lengths, lengths], state


def attentive(mechanisms=1):
    memory, lengths = seq2seq.tile_batch(4.0 * data(5, *MEMORY), 3), seq2seq.tile_batch(tf.constant(LENGTHS), 3)
    made = [seq2seq.BahdanauAttention(4, memory, lengths) for _ in range(mechanisms)]
    given, sizes = (made[0], 3) if mechanisms == 1 else (made, [3] * mechanisms)
    cell = rnn_cell_impl.GRUCell(4)
    return seq2seq.AttentionWrapper(cell, given, attention_layer_size=sizes, alignment_history=True)


@case("beamSearch.oneStep")
def _():
    return searched(rnn_cell_impl.GRUCell(4), 1)[0]


@case("beamSearch.noStep")
def _():
    return searched(rnn_cell_impl.GRUCell(4), 0)[0][4:]


@case("beamSearch.reordered")
def _():
    found, state = searched(attentive(), 6, length_penalty_weight=tf.constant(0.6))
    return [*found, state.cell_state.alignment_history]


@case("beamSearch.asWritten")
def _():
    found, state = searched(attentive(), 6, length_penalty_weight=0.6, reorder_tensor_arrays=False)
    return [*found, state.cell_state.alignment_history.stack()]


@case("beamSearch.coveredBySeveral")
def _():
    found, state = searched(attentive(2), 6, coverage_penalty_weight=0.4)
    return [*found, state.accumulated_attention_probs, *state.cell_state.alignment_history]


write("contribSeq2seq.json")
