"""Writes test/golden/front/*.json with real TensorFlow: the nodes and values of losses, metrics and layers.

Run: TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/front.py [losses|metrics|layers ...]
Each case gives its nodes in the order they were made, as `name = Op(inputs)` with the inputs as positions in that list,
what some fetches run to, and the members of collections. The TypeScript tests build the same cases under the same names.
"""
import json
import os
import sys
import warnings

import numpy as np
from graphMode import tf

from tensorflow.python.keras.legacy_tf_layers import core as layers

warnings.filterwarnings("ignore")
tf.logging.set_verbosity(tf.logging.FATAL)

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "..", "..", "test", "golden", "front")


def nodes(graph):
    made = graph.as_graph_def().node
    position = {n.name: i for i, n in enumerate(made)}

    def source(text):
        control, name = text.startswith("^"), text.lstrip("^")
        name, _, port = name.partition(":")
        return ("^" if control else "") + str(position[name]) + (f":{port}" if port else "")

    return [f"{n.name} = {n.op}({' '.join(map(source, n.input))})" for n in made]


def plain(value):
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value


def built(make, collections=(), steps=1):
    """The graph that `make` builds, and what the fetches it returns run to, `steps` times."""
    with tf.Graph().as_default() as graph:
        fetches, feeds = make()
        record = {"nodes": nodes(graph)}
        for key in collections:
            names = [getattr(x, "name", str(x)) for x in tf.get_collection(key)]
            if names:
                record.setdefault("collections", {})[key] = names
        if fetches is not None:
            initializers = [tf.global_variables_initializer(), tf.local_variables_initializer()]
            with tf.Session(graph=graph) as session:
                session.run(initializers)
                values = [[plain(session.run(f, feeds)) for f in fetches] for _ in range(steps)]
            record["values"] = values
        return record

LABELS = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
SCORES = np.array([[0.9, 0.2, 0.4], [0.3, 0.6, 0.7]], np.float32)


def pair(shape=(2, 3), dtype=tf.float32):
    labels = tf.placeholder(dtype, shape, name="labels")
    scores = tf.placeholder(tf.float32, shape, name="scores")
    return labels, scores, {labels: LABELS, scores: SCORES}


def loss_cases():
    def loss(function, shape=(2, 3), feed_weights=None, weights_shape=None, dtype=tf.float32, **options):
        def make():
            labels, scores, feeds = pair(shape, dtype)
            if feed_weights is not None:
                options["weights"] = tf.placeholder(tf.float32, weights_shape, name="weights")
                feeds[options["weights"]] = np.array(feed_weights, np.float32)
            return [function(labels, scores, **options)], feeds

        return built(make, [tf.GraphKeys.LOSSES])

    yield "absoluteDifference", loss(tf.losses.absolute_difference)
    yield "cosineDistance", loss(tf.losses.cosine_distance, axis=1)
    yield "hingeLoss", loss(tf.losses.hinge_loss)
    yield "huberLoss", loss(tf.losses.huber_loss, delta=0.5)
    yield "logLoss", loss(tf.losses.log_loss)
    yield "meanPairwiseSquaredError", loss(tf.losses.mean_pairwise_squared_error)
    yield "meanSquaredError", loss(tf.losses.mean_squared_error)
    yield "sigmoidCrossEntropy", loss(tf.losses.sigmoid_cross_entropy)
    yield "softmaxCrossEntropy", loss(tf.losses.softmax_cross_entropy)
    yield "sigmoidCrossEntropySmooth", loss(tf.losses.sigmoid_cross_entropy, label_smoothing=0.1)
    yield "softmaxCrossEntropySmooth", loss(tf.losses.softmax_cross_entropy, label_smoothing=0.1)
    yield "meanSquaredErrorOfUnknownBatch", loss(tf.losses.mean_squared_error, shape=(None, 3))
    yield "meanSquaredErrorOfIntegers", loss(tf.losses.mean_squared_error, dtype=tf.int32)
    yield "absoluteDifferenceScope", loss(tf.losses.absolute_difference, scope="mine", weights=0.5)
    yield "weightsPerRow", loss(
        tf.losses.mean_squared_error, feed_weights=[[0.0], [2.0]], weights_shape=[2, 1]
    )
    yield "weightsPerElement", loss(
        tf.losses.mean_pairwise_squared_error, feed_weights=[[1.0], [2.0]], weights_shape=[2, 1]
    )
    yield "weightsLiteral", loss(tf.losses.absolute_difference, weights=[[1.5, 0.0, 1.0]])
    for key in ("NONE", "SUM", "MEAN", "SUM_OVER_BATCH_SIZE", "SUM_BY_NONZERO_WEIGHTS"):
        reduction = getattr(tf.losses.Reduction, key)
        yield f"reduction {key}", loss(
            tf.losses.mean_squared_error, reduction=reduction, feed_weights=[[0.5], [0.0]], weights_shape=[2, 1]
        )

    def sparse():
        labels = tf.placeholder(tf.int64, [None], name="labels")
        scores = tf.placeholder(tf.float32, [None, 3], name="scores")
        return [tf.losses.sparse_softmax_cross_entropy(labels, scores)], {labels: [0, 2], scores: SCORES}

    yield "sparseSoftmaxCrossEntropy", built(sparse, [tf.GraphKeys.LOSSES])

    def sparse_column():
        labels = tf.placeholder(tf.int32, [2, 1], name="labels")
        weights = tf.placeholder(tf.float32, [2, 1], name="weights")
        scores = tf.placeholder(tf.float32, [2, 3], name="scores")
        feeds = {labels: [[0], [2]], weights: [[1.0], [0.5]], scores: SCORES}
        return [tf.losses.sparse_softmax_cross_entropy(labels, scores, weights)], feeds

    yield "sparseSoftmaxCrossEntropyOfColumns", built(sparse_column, [tf.GraphKeys.LOSSES])

    yield "weightsOfUnknownShape", loss(
        tf.losses.mean_squared_error, shape=(None, 3), feed_weights=[[0.5], [0.0]], weights_shape=None
    )
    yield "lossOfUnknownRank", loss(tf.losses.absolute_difference, shape=None, feed_weights=2.0, weights_shape=[])

    def sparse_unknown():
        labels = tf.placeholder(tf.int32, None, name="labels")
        weights = tf.placeholder(tf.float32, None, name="weights")
        scores = tf.placeholder(tf.float32, [None, 3], name="scores")
        feeds = {labels: [[0], [2]], weights: [[1.0], [0.5]], scores: SCORES}
        labels.set_shape([None, None])
        return [tf.losses.sparse_softmax_cross_entropy(labels, scores, weights)], feeds

    yield "sparseSoftmaxCrossEntropyOfUnknownWeights", built(sparse_unknown, [tf.GraphKeys.LOSSES])

    def total():
        labels, scores, feeds = pair()
        tf.losses.mean_squared_error(labels, scores)
        tf.losses.hinge_loss(labels, scores)
        tf.losses.add_loss(tf.constant(2.5))
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.25))
        fetches = [
            tf.losses.get_total_loss(),
            tf.losses.get_total_loss(add_regularization_losses=False, name="bare"),
            tf.losses.get_regularization_loss(),
            tf.losses.get_total_loss(scope="hinge_loss", name="of_scope", add_regularization_losses=False),
        ]
        return fetches, feeds

    yield "totals", built(total, [tf.GraphKeys.LOSSES, tf.GraphKeys.REGULARIZATION_LOSSES])

    def no_regularization():
        return [tf.losses.get_regularization_loss()], {}

    yield "noRegularization", built(no_regularization)


def metric_cases():
    keys = [tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES, tf.GraphKeys.GLOBAL_VARIABLES, "m", "u"]
    collected = dict(metrics_collections=["m"], updates_collections="u")
    # The batches of the three steps: labels, predictions in [0, 1], weights.
    chances = np.array([0.1, 0.8, 0.4, 0.6, 0.35, 0.9], np.float32)
    truths = np.array([0, 1, 1, 0, 0, 1], np.float32)
    weights_fed = np.array([1, 0.5, 2, 1, 0, 1], np.float32)

    def metric(function, *args, shape=(6,), label_type=tf.float32, weighted=False, feeds=(truths, chances), **options):
        def make():
            labels = tf.placeholder(label_type, shape, name="labels")
            predictions = tf.placeholder(label_type if feeds[1].dtype != np.float32 else tf.float32, shape, name="predictions")
            fed = {labels: feeds[0].reshape([6 if d is None else d for d in shape]), predictions: feeds[1].reshape([6 if d is None else d for d in shape])}
            if weighted:
                options["weights"] = tf.placeholder(tf.float32, [6], name="weights")
                fed[options["weights"]] = weights_fed
            value, update = function(labels, predictions, *args, **options)
            return [update, value], fed

        return built(make, keys, steps=2)

    def values_metric(function, *args, weighted=False, **options):
        def make():
            values = tf.placeholder(tf.float32, [6], name="values")
            fed = {values: chances}
            if weighted:
                options["weights"] = tf.placeholder(tf.float32, [6], name="weights")
                fed[options["weights"]] = weights_fed
            value, update = function(values, *args, **options)
            return [update, value], fed

        return built(make, keys, steps=2)

    m = tf.metrics
    classes = (np.array([0, 1, 2, 1, 2, 0], np.int64), np.array([0, 2, 2, 1, 1, 0], np.int64))
    yield "mean", values_metric(m.mean, **collected)
    yield "meanWeighted", values_metric(m.mean, weighted=True)
    yield "meanTensor", values_metric(m.mean_tensor, weighted=True)
    yield "percentageBelow", values_metric(m.percentage_below, 0.5)
    yield "accuracy", metric(m.accuracy, label_type=tf.int64, feeds=classes, **collected)
    yield "accuracyWeighted", metric(m.accuracy, label_type=tf.int64, feeds=classes, weighted=True, name="mine")
    yield "accuracyOfUnknownBatch", metric(m.accuracy, label_type=tf.int64, feeds=classes, shape=(None,))
    yield "meanAbsoluteError", metric(m.mean_absolute_error)
    yield "meanSquaredError", metric(m.mean_squared_error, weighted=True)
    yield "rootMeanSquaredError", metric(m.root_mean_squared_error, **collected)
    yield "meanRelativeError", built(relative, keys, steps=2)
    yield "meanCosineDistance", metric(m.mean_cosine_distance, 0, shape=(2, 3), feeds=(truths, chances), **collected)
    yield "precision", metric(m.precision, label_type=tf.bool, feeds=(truths > 0, chances > 0.5), **collected)
    yield "recall", metric(m.recall, feeds=(truths, np.float32(chances > 0.5)), weighted=True)
    for name in ("true_positives", "false_positives", "true_negatives", "false_negatives"):
        yield camel(name), metric(getattr(m, name), feeds=(truths, np.float32(chances > 0.5)), **collected)
        yield camel(name) + "AtThresholds", metric(getattr(m, name + "_at_thresholds"), [0.3, 0.5, 0.7])
    yield "truePositivesWeighted", metric(m.true_positives, feeds=(truths, np.float32(chances > 0.5)), weighted=True)
    yield "precisionAtThresholds", metric(m.precision_at_thresholds, [0.3, 0.5, 0.7], weighted=True)
    yield "recallAtThresholds", metric(m.recall_at_thresholds, [0.3, 0.5, 0.7])
    yield "auc", metric(m.auc, **collected)
    yield "aucWeighted", metric(m.auc, weighted=True, num_thresholds=10)
    yield "aucPrecisionRecall", metric(m.auc, curve="PR", num_thresholds=10)
    yield "aucCareful", metric(m.auc, curve="PR", num_thresholds=10, summation_method="careful_interpolation")
    yield "aucMinoring", metric(m.auc, num_thresholds=10, summation_method="minoring")
    yield "aucMajoring", metric(m.auc, thresholds=[0.7, 0.2], summation_method="majoring")
    yield "sensitivityAtSpecificity", metric(m.sensitivity_at_specificity, 0.6, num_thresholds=20)
    yield "specificityAtSensitivity", metric(m.specificity_at_sensitivity, 0.6, num_thresholds=20)
    yield "meanIou", metric(m.mean_iou, 3, label_type=tf.int64, feeds=classes)
    yield "meanIouWeighted", metric(m.mean_iou, 3, label_type=tf.int64, feeds=classes, weighted=True, shape=(6,))
    yield "meanPerClassAccuracy", metric(m.mean_per_class_accuracy, 3, label_type=tf.int64, feeds=classes)
    yield "meanPerClassAccuracyWeighted", metric(
        m.mean_per_class_accuracy, 3, label_type=tf.int64, feeds=classes, weighted=True
    )

    scores = np.array([[0.1, 0.7, 0.2, 0.0], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]], np.float32)

    def top(function, *args, labels=((1, 2), (3, 1), (0, 9)), weighted=False, **options):
        def make():
            wanted = np.array(labels, np.int64)
            target = tf.placeholder(tf.int64, wanted.shape, name="labels")
            predictions = tf.placeholder(tf.float32, [3, 4], name="predictions")
            fed = {target: wanted, predictions: scores}
            if weighted:
                options["weights"] = tf.placeholder(tf.float32, [3], name="weights")
                fed[options["weights"]] = [1, 0.5, 2]
            value, update = function(target, predictions, *args, **options)
            return [update, value], fed

        return built(make, keys, steps=2)

    yield "recallAtK", top(m.recall_at_k, 2, **collected)
    yield "recallAtKOfVector", top(m.recall_at_k, 2, labels=(1, 3, 0))
    yield "recallAtKOfClass", top(m.recall_at_k, 2, class_id=1)
    yield "precisionAtK", top(m.precision_at_k, 2, weighted=True, name="mine")
    yield "precisionAtKOfClass", top(m.precision_at_k, 2, class_id=1)
    yield "averagePrecisionAtK", top(m.average_precision_at_k, 3)
    yield "averagePrecisionAtKWeighted", top(m.average_precision_at_k, 2, weighted=True, **collected)

    def indices(function, **options):
        def make():
            target = tf.placeholder(tf.int64, [2, 3], name="labels")
            found = tf.placeholder(tf.int32, [2, 2], name="found")
            value, update = function(target, found, **options)
            return [update, value], {target: [[1, 1, 2], [0, 3, 0]], found: [[1, 1], [4, 0]]}

        return built(make, keys, steps=2)

    def unknown(function, **options):
        def make():
            labels = tf.placeholder(tf.int64, None, name="labels")
            predictions = tf.placeholder(tf.int64, None, name="predictions")
            weights = tf.placeholder(tf.float32, None, name="weights")
            value, update = function(labels, predictions, weights=weights, **options)
            return [update, value], {labels: [1, 2, 2], predictions: [[1], [3], [2]], weights: [[1], [3], [2]]}

        return built(make, keys, steps=2)

    yield "accuracyOfUnknownRank", unknown(m.accuracy)
    yield "precisionOfUnknownRank", unknown(m.precision)

    def sparse(function, k, weighted=False, **options):
        def make():
            target = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], tf.constant([1, 2, 3, 0, 9], tf.int64), [3, 2])
            predictions = tf.placeholder(tf.float32, [3, 4], name="predictions")
            fed = {predictions: scores}
            if weighted:
                options["weights"] = tf.placeholder(tf.float32, [3], name="weights")
                fed[options["weights"]] = [1, 0.5, 2]
            value, update = function(target, predictions, k, **options)
            return [update, value], fed

        return built(make, keys, steps=2)

    yield "recallAtKOfSparse", sparse(m.recall_at_k, 2)
    yield "recallAtKOfSparseClass", sparse(m.recall_at_k, 2, class_id=2)
    yield "precisionAtKOfSparse", sparse(m.precision_at_k, 3, weighted=True)
    yield "averagePrecisionAtKOfSparse", sparse(m.average_precision_at_k, 3)
    yield "averagePrecisionAtOneOfSparse", sparse(m.average_precision_at_k, 1, weighted=True)

    def at_k_of_unknown():
        target = tf.placeholder(tf.int64, None, name="labels")
        predictions = tf.placeholder(tf.float32, [None, 4], name="predictions")
        value, update = m.recall_at_k(target, predictions, 2, class_id=1)
        average, average_update = m.average_precision_at_k(target, predictions, 2)
        fed = {target: [1, 3, 0], predictions: scores}
        return [update, value, average_update, average], fed

    yield "atKOfUnknownRank", built(at_k_of_unknown, keys, steps=2)
    yield "recallAtTopK", indices(m.recall_at_top_k)
    yield "precisionAtTopK", indices(m.precision_at_top_k, k=2)


def layer_cases():
    keys = [
        tf.GraphKeys.GLOBAL_VARIABLES,
        tf.GraphKeys.TRAINABLE_VARIABLES,
        tf.GraphKeys.REGULARIZATION_LOSSES,
    ]

    def layer(apply, shape=(None, 4), dtype=tf.float32):
        def make():
            apply(tf.placeholder(dtype, shape, name="x"))
            return None, {}

        return built(make, keys)

    def shared(x):
        with tf.variable_scope("test"):
            layers.dense(x, 3)
        with tf.variable_scope("test", reuse=True):
            layers.dense(x, 3)

    def named(x):
        layers.dense(x, 3, name="fc", activation=tf.nn.relu)
        layers.dense(x, 3, name="fc", reuse=True, activation=tf.nn.relu)
        layers.dense(x, 3)
        layers.dense(x, 2)

    def applied(x):
        layer = layers.Dense(3, name="fc", activity_regularizer=tf.reduce_sum)
        layer(x)
        layer.apply(x)
        layers.Dense(4, name="fc", trainable=False)(x)
        with tf.variable_scope("outer", initializer=tf.zeros_initializer()):
            layers.Dense(4)(x)

    def half(weights):
        return 0.5 * tf.nn.l2_loss(weights)

    yield "denseShared", layer(shared)
    yield "denseNamed", layer(named)
    yield "denseApplied", layer(applied)
    yield "denseOptions", layer(
        lambda x: layers.dense(
            x, 3, use_bias=True, kernel_initializer=tf.ones_initializer(), bias_initializer=tf.constant_initializer(0.5),
            kernel_regularizer=half, bias_regularizer=half,
        )
    )
    yield "denseOfSequences", layer(lambda x: layers.dense(x, 3, use_bias=False), shape=(None, 5, 4))
    yield "denseOfKnownSequences", layer(lambda x: layers.dense(x, 3), shape=(2, 5, 4))
    yield "denseOfDoubles", layer(lambda x: layers.dense(x, 3), dtype=tf.float64)
    yield "dropoutTraining", layer(lambda x: layers.dropout(x, 0.4, training=True, seed=3))
    yield "dropoutIdle", layer(lambda x: layers.dropout(x))
    yield "dropoutNoise", layer(lambda x: layers.dropout(x, 0.5, noise_shape=[None, 1], training=True))
    yield "flatten", layer(layers.flatten, shape=(None, 2, 3))
    yield "flattenKnownBatch", layer(layers.flatten, shape=(5, None, 3))
    yield "flattenUnknown", layer(layers.flatten, shape=(None, None, 3))
    yield "flattenVector", layer(layers.flatten, shape=(None,))
    yield "flattenUnknownRank", layer(layers.flatten, shape=None)
    yield "flattenChannelsFirst", layer(lambda x: layers.flatten(x, data_format="channels_first"), shape=(None, 2, 3))


def relative():
    labels = tf.placeholder(tf.float32, [6], name="labels")
    predictions = tf.placeholder(tf.float32, [6], name="predictions")
    normalizer = tf.placeholder(tf.float32, [6], name="normalizer")
    value, update = tf.metrics.mean_relative_error(labels, predictions, normalizer)
    feeds = {labels: [1, 2, 3, 4, 5, 6], predictions: [2, 2, 1, 4, 4, 9], normalizer: [1, 2, 0, 4, 5, 6]}
    return [update, value], feeds


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


FAMILIES = {"losses": loss_cases, "metrics": metric_cases, "layers": layer_cases}

if __name__ == "__main__":
    os.makedirs(TARGET, exist_ok=True)
    for family in sys.argv[1:] or FAMILIES:
        with open(os.path.join(TARGET, f"{family}.json"), "w") as file:
            json.dump(dict(FAMILIES[family]()), file, indent=1)
            file.write("\n")
