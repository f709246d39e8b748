"""Writes test/golden/front/weightSweep.json: all losses with all reductions, and all metrics over three batches, with weights of
every shape, those that do not fit included.

    TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/weightSweep.py
"""
import json
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
from graphMode import tf

TARGET = os.path.join(os.path.dirname(__file__), "../../test/golden/front/weightSweep.json")


def numbers(seed, shape):
    return np.sin(seed + 0.9 * np.arange(int(np.prod(shape)))).reshape(shape)


def scores(seed, *shape):
    return numbers(seed, shape).astype(np.float32)


def shares(seed, *shape):
    """Numbers between 0 and 1."""
    return (0.5 + 0.45 * numbers(seed, shape)).astype(np.float32)


def flags(seed, *shape):
    return numbers(seed, shape) > 0


def classes(seed, count, *shape):
    return np.floor((numbers(seed, shape) + 1) / 2 * 0.999 * count).astype(np.int64)


def weights_of(shape):
    """Some of them 0."""
    values = np.abs(numbers(5, shape)).astype(np.float32)
    return np.where(values < 0.45, 0, values).astype(np.float32)

SHAPES = [None, [], [1], [3], [4], [3, 1], [1, 4], [1, 1], [3, 4], [2, 4], [4, 1], [3, 4, 1], [1, 3, 4]]
one_hot = np.eye(4, dtype=np.float32)[[1, 3, 0]]
LOSSES = {
    "absolute_difference": [scores(1, 3, 4), scores(2, 3, 4)],
    "hinge_loss": [flags(1, 3, 4).astype(np.float32), scores(2, 3, 4)],
    "huber_loss": [3 * scores(1, 3, 4), scores(2, 3, 4)],
    "log_loss": [flags(1, 3, 4).astype(np.float32), shares(2, 3, 4)],
    "mean_squared_error": [scores(1, 3, 4), scores(2, 3, 4)],
    "mean_pairwise_squared_error": [scores(1, 3, 4), scores(2, 3, 4)],
    "sigmoid_cross_entropy": [flags(1, 3, 4).astype(np.float32), scores(2, 3, 4)],
    "softmax_cross_entropy": [one_hot, scores(2, 3, 4)],
    "sparse_softmax_cross_entropy": [np.array([1, 3, 0]), scores(2, 3, 4)],
    "cosine_distance": [scores(1, 3, 4), scores(2, 3, 4)],
}
REDUCTIONS = ["none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size", "weighted_sum_by_nonzero_weights"]
# What metrics take besides weights, for a batch; and their options.
METRICS = {
    "mean": (lambda b: [scores(b, 3, 4)], {}),
    "mean_tensor": (lambda b: [scores(b, 3, 4)], {}),
    "accuracy": (lambda b: [classes(b, 3, 3, 4), classes(b + 1, 3, 3, 4)], {}),
    "mean_absolute_error": (lambda b: [scores(b, 3, 4), scores(b + 1, 3, 4)], {}),
    "mean_squared_error": (lambda b: [scores(b, 3, 4), scores(b + 1, 3, 4)], {}),
    "root_mean_squared_error": (lambda b: [scores(b, 3, 4), scores(b + 1, 3, 4)], {}),
    "mean_relative_error": (lambda b: [scores(b, 3, 4), scores(b + 1, 3, 4), shares(b, 3, 4)], {}),
    "mean_cosine_distance": (lambda b: [scores(b, 3, 4), scores(b + 1, 3, 4)], dict(dim=1)),
    "percentage_below": (lambda b: [scores(b, 3, 4)], dict(threshold=0.2)),
    "precision": (lambda b: [flags(b, 3, 4), flags(b + 1, 3, 4)], {}),
    "recall": (lambda b: [flags(b, 3, 4), flags(b + 1, 3, 4)], {}),
    "true_positives": (lambda b: [flags(b, 3, 4), flags(b + 1, 3, 4)], {}),
    "false_positives": (lambda b: [flags(b, 3, 4), flags(b + 1, 3, 4)], {}),
    "true_negatives": (lambda b: [flags(b, 3, 4), flags(b + 1, 3, 4)], {}),
    "false_negatives": (lambda b: [flags(b, 3, 4), flags(b + 1, 3, 4)], {}),
    "auc": (lambda b: [flags(b, 3, 4), shares(b + 1, 3, 4)], dict(num_thresholds=20)),
    "precision_at_thresholds": (lambda b: [flags(b, 3, 4), shares(b + 1, 3, 4)], dict(thresholds=[0.3, 0.6])),
    "recall_at_thresholds": (lambda b: [flags(b, 3, 4), shares(b + 1, 3, 4)], dict(thresholds=[0.3, 0.6])),
    "true_positives_at_thresholds": (lambda b: [flags(b, 3, 4), shares(b + 1, 3, 4)], dict(thresholds=[0.3, 0.6])),
    "sensitivity_at_specificity": (lambda b: [flags(b, 3, 4), shares(b + 1, 3, 4)], dict(specificity=0.6, num_thresholds=20)),
    "specificity_at_sensitivity": (lambda b: [flags(b, 3, 4), shares(b + 1, 3, 4)], dict(sensitivity=0.6, num_thresholds=20)),
    "mean_iou": (lambda b: [classes(b, 3, 3, 4), classes(b + 1, 3, 3, 4)], dict(num_classes=3)),
    "mean_per_class_accuracy": (lambda b: [classes(b, 3, 3, 4), classes(b + 1, 3, 3, 4)], dict(num_classes=3)),
    "recall_at_k": (lambda b: [classes(b, 4, 3, 1), scores(b + 1, 3, 4)], dict(k=2)),
    "precision_at_k": (lambda b: [classes(b, 4, 3, 1), scores(b + 1, 3, 4)], dict(k=2)),
    "average_precision_at_k": (lambda b: [classes(b, 4, 3, 2), scores(b + 1, 3, 4)], dict(k=3)),
}


def rounded(value):
    found = [float(f"{x:.6g}") for x in np.asarray(value, np.float64).ravel()]
    return [None if np.isnan(x) else x for x in found]


def given_weights(shape):
    return {} if shape is None else {"weights": tf.constant(weights_of(shape))}


def loss(name, arrays, shape, reduction):
    more = {"axis": 1} if name == "cosine_distance" else {}
    if name != "mean_pairwise_squared_error":
        more["reduction"] = reduction
    with tf.Graph().as_default(), tf.Session() as sess:
        try:
            found = getattr(tf.losses, name)(*map(tf.constant, arrays), **given_weights(shape), **more)
            return rounded(sess.run(found))
        except (ValueError, tf.errors.InvalidArgumentError):
            return "refused"


def metric(name, batch, options, shape):
    options = dict(options)
    with tf.Graph().as_default(), tf.Session() as sess:
        try:
            inputs = [tf.placeholder(array.dtype, array.shape) for array in batch(0)]
            extra = [options.pop(key) for key in ("threshold", "specificity", "sensitivity", "num_classes", "thresholds", "k", "dim") if key in options]
            made = getattr(tf.metrics, name)(
                *inputs, *extra, **options, **given_weights(shape), metrics_collections=["values"], updates_collections="updates"
            )
            value, update = made
            assert tf.get_collection("values") == [value] and tf.get_collection("updates") == [update]
            names = [[v.op.name, v.shape.as_list()] for v in tf.local_variables()]
            sess.run(tf.local_variables_initializer())
            runs = [rounded(sess.run(update, dict(zip(inputs, batch(b))))) for b in (1, 4, 6)]
            return {"variables": names, "updates": runs, "value": rounded(sess.run(value))}
        except (ValueError, tf.errors.InvalidArgumentError):
            return "refused"


golden = {"losses": {}, "metrics": {}}
for name, arrays in LOSSES.items():
    reductions = REDUCTIONS if name != "mean_pairwise_squared_error" else REDUCTIONS[:1]
    golden["losses"][name] = [[loss(name, arrays, shape, reduction) for reduction in reductions] for shape in SHAPES]
for name, (batch, options) in METRICS.items():
    golden["metrics"][name] = [metric(name, batch, options, shape) for shape in SHAPES]
with open(TARGET, "w") as file:
    parts = []
    for kind, records in golden.items():
        lines = [f"  {json.dumps(name)}: {json.dumps(record, separators=(',', ':'))}" for name, record in records.items()]
        parts.append(f" {json.dumps(kind)}: {{\n" + ",\n".join(lines) + "\n }")
    file.write("{\n" + ",\n".join(parts) + "\n}\n")
