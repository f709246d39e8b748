"""Writes test/golden/front/contribRnn.json: what cells, wrappers and stacks of TensorFlow 1.15's tf.contrib.rnn compute.

    TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/contribRnn.py SOURCES

SOURCES is the folder that contribSources.py tells about, with `tensorflow/contrib/rnn/python/ops` in it.
"""
import sys

from contribSources import case, data, gradients, load, module, place, rnn_cell_impl, tf, write
from tensorflow.python.util import nest

nest.is_sequence = nest.is_nested
contrib = "tensorflow.contrib"
for name in (".compiler", ".rnn", ".rnn.python", ".rnn.python.ops"):
    module(contrib + name)
place(f"{contrib}.compiler.jit", None)
place("tensorflow.python.ops.rnn_cell_impl", rnn_cell_impl)
load(f"{contrib}.rnn.python.ops.core_rnn_cell")
cells = load(f"{contrib}.rnn.python.ops.rnn_cell")
core = sys.modules[f"{contrib}.rnn.python.ops.core_rnn_cell"]
stacks = load(f"{contrib}.rnn.python.ops.rnn")
GRU = rnn_cell_impl.GRUCell
CELLS = {
    "LayerNormBasicLSTMCell": lambda: cells.LayerNormBasicLSTMCell(4, forget_bias=0.5, norm_gain=0.8, norm_shift=0.1),
    "LayerNormBasicLSTMCellPlain": lambda: cells.LayerNormBasicLSTMCell(4, layer_norm=False, activation=tf.nn.relu),
    "UGRNNCell": lambda: cells.UGRNNCell(4, forget_bias=0.5),
    "InputProjectionWrapper": lambda: core.InputProjectionWrapper(GRU(4), 2, activation=tf.tanh),
    "OutputProjectionWrapper": lambda: core.OutputProjectionWrapper(GRU(4), 2),
    "HighwayWrapper": lambda: cells.HighwayWrapper(GRU(3), carry_bias_init=0.5),
    "HighwayWrapperApart": lambda: cells.HighwayWrapper(GRU(3), couple_carry_transform_gates=False),
}


def parts(state):
    return list(state) if isinstance(state, tuple) else [state]


for name, make in CELLS.items():

    @case(name)
    def _():
        outputs, state = tf.nn.dynamic_rnn(make(), data(3, 2, 5, 3), dtype=tf.float32, sequence_length=[5, 3])
        return [outputs, *parts(state), *gradients(outputs)]


@case("stackBidirectionalRnn")
def _():
    outputs, fw, bw = stacks.stack_bidirectional_rnn(
        [GRU(3), GRU(2)],
        [GRU(2), GRU(2)],
        tf.unstack(data(3, 2, 4, 3), axis=1),
        initial_states_fw=[data(4, 2, 3), data(5, 2, 2)],
        dtype=tf.float32,
        sequence_length=[4, 2],
    )
    return [*outputs, *fw, *bw, *gradients(tf.stack(outputs))]


@case("stackBidirectionalDynamicRnn")
def _():
    outputs, fw, bw = stacks.stack_bidirectional_dynamic_rnn(
        [GRU(3), GRU(2)], [GRU(2), GRU(2)], data(3, 4, 2, 3), dtype=tf.float32, sequence_length=[4, 2], time_major=True
    )
    return [outputs, *fw, *bw, *gradients(outputs)]


write("contribRnn.json")
