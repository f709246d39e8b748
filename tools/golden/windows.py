"""Writes what TensorFlow's pooling, sampled losses and CTC build and give: windows.py OUTPUT.

For each case: the nodes of the call, of its gradients and of the gradients of those, each as "name type inputs", and the
values of all of them. The cases stand under the same names in test/backend/windows.test.ts.
"""
import json
import os
import sys

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import numpy as np
from graphMode import tf

CASES = {}


def case(name, build, order=1):
    CASES[name] = (build, order)


class Inputs:
    """Placeholders of a case, with the values to feed; all of them are differentiated."""

    def __init__(self):
        self.feeds = {}
        self.sources = []

    def __call__(self, shape, name="x", static=0, seed=1):
        count = int(np.prod(shape))
        unit = (np.sin(np.arange(count) * 1.7 + seed) * 43758.5453) % 1.0
        tensor = tf.placeholder(tf.float32, shape if static == 0 else static, name=name)
        self.feeds[tensor] = (4 * unit - 2).astype(np.float32).reshape(shape)
        self.sources.append(tensor)
        return tensor


nn = tf.nn
case("maxPool", lambda x: nn.max_pool(x([2, 5, 6, 3]), 2, 2, "SAME"), 2)
case("maxPool lists", lambda x: nn.max_pool(x([1, 5, 6, 2]), [1, 3, 2, 1], [1, 2, 1, 1], "VALID", name="mine"), 2)
case("maxPool unknown", lambda x: nn.max_pool(x([1, 4, 4, 2], static=[None, None, 4, 2]), [2, 2], [1, 2], "VALID"), 2)
case("maxPool explicit", lambda x: nn.max_pool(x([1, 5, 6, 2]), 3, 2, [[0, 0], [1, 2], [0, 1], [0, 0]]))
case("maxPool1d", lambda x: nn.max_pool1d(x([2, 7, 3]), 3, 2, "SAME"), 2)
case("maxPool2d", lambda x: nn.max_pool2d(x([1, 4, 4, 2]), 2, 1, "VALID"))
case("maxPool3d", lambda x: nn.max_pool3d(x([1, 3, 4, 4, 2]), 2, [1, 2, 1], "SAME"), 2)
case("maxPoolV2", lambda x: nn.max_pool_v2(x([1, 3, 4, 4, 2]), 2, 2, "VALID"))
case("avgPool", lambda x: nn.avg_pool(x([2, 5, 6, 3]), 2, 2, "SAME"), 2)
case("avgPool2d", lambda x: nn.avg_pool2d(x([1, 5, 6, 2], static=[None, 5, 6, 2]), [3, 2], [2, 1], "VALID"), 2)
case("avgPool1d", lambda x: nn.avg_pool1d(x([2, 7, 3]), 3, 2, "VALID"), 2)
case("avgPool3d", lambda x: nn.avg_pool3d(x([1, 3, 4, 4, 2]), [2, 2, 3], 2, "SAME"), 2)
case("avgPoolV2", lambda x: nn.avg_pool_v2(x([1, 4, 4, 2]), 2, 2, "VALID"))
case("maxPoolWithArgmax", lambda x: nn.max_pool_with_argmax(x([2, 5, 6, 3]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"))
case("pool max", lambda x: nn.pool(x([1, 6, 5, 2]), [2, 3], "MAX", "SAME", strides=[2, 1]))
case("pool avg", lambda x: nn.pool(x([1, 6, 2]), [2], "AVG", "VALID"))
case("pool volume", lambda x: nn.pool(x([1, 3, 3, 3, 1]), [2, 2, 2], "MAX", "VALID", name="mine"))
case("pool dilated", lambda x: nn.pool(x([1, 7, 6, 2]), [2, 2], "MAX", "VALID", dilation_rate=[2, 3]))
case("lrn", lambda x: nn.local_response_normalization(x([2, 2, 3, 7]), depth_radius=2, bias=1.5, alpha=0.3, beta=0.7))
case("lrn default", lambda x: nn.lrn(x([1, 2, 2, 12])))
case("fractionalMaxPool", lambda x: nn.fractional_max_pool(
    x([2, 9, 11, 2]), [1.0, 1.44, 1.73, 1.0], pseudo_random=True, overlapping=True, deterministic=True, seed=5, seed2=9))
case("fractionalAvgPool", lambda x: nn.fractional_avg_pool(
    x([1, 9, 11, 2]), [1.0, 1.5, 1.7, 1.0], deterministic=True, seed=5, seed2=9))

LABELS = [[1, 4], [0, 7], [3, 3]]


def sampled(function, **options):
    def build(x):
        labels = tf.constant(LABELS, tf.int64)
        return function(x([8, 4], "w"), x([8], "b", seed=2), labels, x([3, 4], "h", seed=3), 5, 8, num_true=2, **options)

    return build


def drawn(sampler, **options):
    def build(x):
        labels = tf.constant(LABELS, tf.int64)
        values = sampler(labels, 2, 4, True, 8, seed=3, **options)
        return [*values, nn.nce_loss(x([8, 4], "w"), x([8], "b"), labels, x([3, 4], "h"), 4, 8, 2, values)]

    return build


def seeded(build):
    def make(x):
        tf.set_random_seed(11)
        return build(x)

    return make


case("nceLoss", seeded(sampled(nn.nce_loss)))
case("nceLoss without hits", seeded(sampled(nn.nce_loss, remove_accidental_hits=True, name="mine")))
case("sampledSoftmaxLoss", sampled(nn.sampled_softmax_loss, seed=4))
case("sampledSoftmaxLoss div", lambda x: nn.sampled_softmax_loss(
    [x([4, 3], "w0"), x([4, 3], "w1", seed=2)], x([8], "b"), tf.constant([[1], [5]]), x([2, 3], "h"), 3, 8,
    partition_strategy="div", seed=7))
case("uniformCandidateSampler", drawn(nn.uniform_candidate_sampler))
case("logUniformCandidateSampler", drawn(nn.log_uniform_candidate_sampler))
case("learnedUnigramCandidateSampler", drawn(nn.learned_unigram_candidate_sampler))
case("fixedUnigramCandidateSampler", drawn(nn.fixed_unigram_candidate_sampler, unigrams=[1.0, 2, 3, 4, 1, 1, 5, 2]))
case("allCandidateSampler", lambda x: nn.all_candidate_sampler(tf.constant(LABELS, tf.int64), 2, 8, True))

SPARSE = ([[0, 0], [0, 1], [1, 0]], [0, 2, 1], [2, 2])


def labels():
    return tf.SparseTensor(SPARSE[0], tf.constant(SPARSE[1], tf.int32), SPARSE[2])


case("ctcLoss", lambda x: nn.ctc_loss(labels(), x([5, 2, 4]), [5, 4]))
case("ctcLoss batch major", lambda x: nn.ctc_loss(labels(), x([2, 5, 4]), [5, 3], ctc_merge_repeated=False, time_major=False))
case("ctcGreedyDecoder", lambda x: [*parts(nn.ctc_greedy_decoder(x([6, 2, 4]), [6, 3]))])
case("ctcBeamSearchDecoder", lambda x: [*parts(nn.ctc_beam_search_decoder(x([6, 2, 4]), [6, 3], 5, 2))])
case("ctcBeamSearchDecoderV2", lambda x: [*parts(nn.ctc_beam_search_decoder_v2(x([6, 2, 4]), [6, 3]))])


def parts(decoded):
    paths, scores = decoded
    for path in paths:
        yield from (path.indices, path.values, path.dense_shape)
    yield scores


def listed(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def text(op):
    inputs = [t.op.name if t.value_index == 0 else t.name for t in op.inputs]
    return " ".join([op.name, op.type, *inputs, *sorted("^" + c.name for c in op.control_inputs)])


def record(build, order):
    with tf.Graph().as_default() as graph:
        x = Inputs()
        outputs = listed(build(x))
        fetches = list(outputs)
        for _ in range(order):
            floats = [y for y in outputs if y.dtype.is_floating]
            if not x.sources:
                break
            try:
                outputs = [tf.convert_to_tensor(g) for g in tf.gradients(floats, x.sources) if g is not None]
            except LookupError:
                break
            fetches += outputs
        nodes = [text(op) for op in graph.get_operations()]
        with tf.Session() as session:
            values = session.run(fetches, x.feeds)
    plain = lambda v: [float(f"{number:.8g}") for number in np.ravel(v).tolist()]
    return {"nodes": nodes, "values": [plain(v) for v in values]}


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        lines = [f"{json.dumps(name)}: {json.dumps(record(*made))}" for name, made in CASES.items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
