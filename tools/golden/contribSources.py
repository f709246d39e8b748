"""TensorFlow 1.15's own tf.contrib and layers, for the scripts that write what they compute: contrib*.py beside this file.

The first argument of those scripts is a folder with the Python files of TensorFlow 1.15 (`tensorflow/contrib/...`,
`tensorflow/python/keras/layers/...`, `tensorflow/python/layers/...`). They are loaded on top of the installed TensorFlow 2, which
has neither tf.contrib nor tf.layers.batch_normalization any more. Variables get numbers that depend on their place among all
variables, as in the tests.
"""
import importlib.util
import json
import os
import sys
import types

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
from graphMode import tf
from tensorflow.python.distribute import distribute_lib
from tensorflow.python.framework import ops, smart_cond
from tensorflow.python.keras import layers as keras_layers
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl
from tensorflow.python.keras.legacy_tf_layers import base, convolutional, core, pooling
from tensorflow.python.keras.mixed_precision import policy
from tensorflow.python.keras.utils import tf_utils
from tensorflow.python.ops import array_ops, control_flow_ops
from tensorflow.python.trackable import base as trackable

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test/golden/front")


def module(name, **contents):
    """A module that takes the place of one that TensorFlow 2 has not."""
    made = types.ModuleType(name)
    made.__dict__.update(contents)
    made.__path__ = []
    place(name, made)
    return made


def place(name, made):
    sys.modules[name] = made
    parent, _, leaf = name.rpartition(".")
    setattr(sys.modules[parent], leaf, made)


def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(sys.argv[1], name.replace(".", "/") + ".py"))
    made = importlib.util.module_from_spec(spec)
    place(name, made)
    spec.loader.exec_module(made)
    return made


def walked(ids, parents, lengths, end):
    """The op GatherTree of tf.contrib.seq2seq."""
    beams = np.full_like(ids, end)
    for batch in range(ids.shape[1]):
        for beam in range(ids.shape[2]):
            at, length = beam, min(len(ids), lengths[batch])
            for time in reversed(range(length)):
                beams[time, batch, beam] = ids[time, batch, at]
                at = parents[time, batch, at]
            ends = np.flatnonzero(beams[:length, batch, beam] == end)
            if len(ends):
                beams[ends[0] :, batch, beam] = end
    return beams


def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token):
    beams = tf.numpy_function(walked, [step_ids, parent_ids, max_sequence_lengths, end_token], tf.int32)
    beams.set_shape(step_ids.shape)
    return beams


for name, present in (("base", base), ("core", core), ("convolutional", convolutional), ("pooling", pooling)):
    place(f"tensorflow.python.layers.{name}", present)
module("tensorflow.python.training.tracking")
place("tensorflow.python.training.tracking.base", trackable)
place("tensorflow.python.distribute.distribution_strategy_context", distribute_lib)
module("tensorflow.python.keras.mixed_precision.experimental")
place("tensorflow.python.keras.mixed_precision.experimental.policy", policy)
contrib = "tensorflow.contrib"
for name in ("", ".util", ".framework", ".framework.python", ".framework.python.ops", ".framework.python.framework"):
    module(contrib + name)
for name in (".layers", ".layers.python", ".layers.python.layers", ".seq2seq", ".seq2seq.python", ".seq2seq.python.ops"):
    module(contrib + name)
module(f"{contrib}.util.loader", load_op_library=lambda path: None)
module(f"{contrib}.seq2seq.ops")
module(f"{contrib}.seq2seq.ops.gen_beam_search_ops", gather_tree=gather_tree)
module(f"{contrib}.framework.python.ops.gen_variable_ops")
framework = sys.modules[f"{contrib}.framework"]
for name in ("ops.arg_scope", "framework.tensor_util", "ops.variables"):
    for key, value in vars(load(f"{contrib}.framework.python.{name}")).items():
        if callable(value):
            framework.__dict__.setdefault(key, value)
            sys.modules[f"{contrib}.framework.python.ops"].__dict__.setdefault(key, value)
# Names that have moved since.
ops.Tensor, ops.IndexedSlices = tf.Tensor, tf.IndexedSlices
control_flow_ops.cond, control_flow_ops.while_loop, control_flow_ops.Assert = tf.cond, tf.while_loop, tf.Assert
np.Inf, array_ops.stack = np.inf, tf.stack
tf_utils.smart_cond, tf_utils.constant_value = smart_cond.smart_cond, smart_cond.smart_constant_value
keras_layers.BatchNormalization = load("tensorflow.python.keras.layers.normalization").BatchNormalization
normalization = load("tensorflow.python.layers.normalization")
for name in ("utils", "initializers", "regularizers", "layers", "optimizers"):
    load(f"{contrib}.layers.python.layers.{name}")
layers = sys.modules[f"{contrib}.layers.python.layers.layers"]
regularizers = sys.modules[f"{contrib}.layers.python.layers.regularizers"]
initializers = sys.modules[f"{contrib}.layers.python.layers.initializers"]
optimizers = sys.modules[f"{contrib}.layers.python.layers.optimizers"]
seq2seq = types.SimpleNamespace()
for name in ("decoder", "helper", "sampler", "basic_decoder", "attention_wrapper", "beam_search_ops", "beam_search_decoder"):
    seq2seq.__dict__.update(vars(load(f"{contrib}.seq2seq.python.ops.{name}")))


def numbers(seed, shape):
    count = int(np.prod(shape))
    return np.sin(seed + 0.9 * np.arange(count)).reshape(shape).astype(np.float32)


def data(seed, *shape):
    return tf.constant(numbers(seed, shape))


def positive(name):
    return any(part in name for part in ("variance", "stddev", "gamma"))


def fill(sess):
    """Numbers for all variables of floating type, by their place."""
    for place_, variable in enumerate(tf.global_variables()):
        shape = variable.shape.as_list()
        if variable.dtype.base_dtype != tf.float32 or "OptimizeLoss" in variable.name or "biased" in variable.name:
            continue
        values = numbers(3 * place_ + 1, shape)
        sess.run(variable.assign(1 + 0.3 * values if positive(variable.name) else 0.5 * values))


def rounded(array):
    return [float(f"{x:.6g}") for x in np.asarray(array, np.float64).ravel()]


def gradients(y):
    """Of a sum with weights, by all trainable variables."""
    weights = tf.reshape(tf.cos(tf.range(tf.cast(tf.size(y), tf.float32))), tf.shape(y))
    found = tf.gradients(tf.reduce_sum(y * weights), tf.trainable_variables())
    return [tf.convert_to_tensor(g) for g in found if g is not None]

CASES = {}


def case(name, steps=1):
    """A function that builds a graph and gives what is fetched in each step."""

    def register(make):
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            graph.seed = 7
            fetches = make()
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            fill(sess)
            runs = [[rounded(v) for v in sess.run(fetches)] for _ in range(steps)]
            CASES[name] = {
                "variables": [[v.name, v.shape.as_list(), v in tf.trainable_variables()] for v in tf.global_variables()],
                "updates": len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)),
                "losses": len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)),
                "summaries": [t.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)],
                "runs": runs,
            }

    return register


def with_updates(y):
    """The result and its gradients; then what is remembered, after the updates."""
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    found = [y, *gradients(y)]
    with tf.control_dependencies([*found, *updates]):
        moving = [v for v in tf.global_variables() if v not in tf.trainable_variables()]
        return [*found, *(v.read_value() for v in moving)]


def write(name):
    """Writes all cases so far to a file of golden values."""
    lines = [f" {json.dumps(key)}: {json.dumps(record, separators=(',', ':'))}" for key, record in CASES.items()]
    with open(os.path.join(FOLDER, name), "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
