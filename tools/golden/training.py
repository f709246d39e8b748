"""Writes test/golden/training.json with real TensorFlow: ten steps of every optimizer and the nodes of a small model.

Run: TF_CPP_MIN_LOG_LEVEL=3 python -P tools/golden/training.py
The model multiplies an embedding-like variable W (dense, or rows of it) with fixed numbers; the TypeScript test builds
the same one. `steps` are the values of W after each step, `slots` those of the optimizer's variables at the end; a model's nodes, with
those of the gradients, are listed once, and per optimizer only what it adds.
"""
import json
import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.FATAL)

T = tf.train
OPTIMIZERS = {
    "GradientDescent": lambda step: T.GradientDescentOptimizer(0.1),
    "Momentum": lambda step: T.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda step: T.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda step: T.AdamOptimizer(0.1),
    "AdamBetas": lambda step: T.AdamOptimizer(0.1, beta1=0.5, beta2=0.75, epsilon=0.25, name="Mine"),
    "Adagrad": lambda step: T.AdagradOptimizer(0.1),
    "AdagradDA": lambda step: T.AdagradDAOptimizer(
        0.1, step, l1_regularization_strength=0.001, l2_regularization_strength=0.25
    ),
    "Adadelta": lambda step: T.AdadeltaOptimizer(0.5),
    "RMSProp": lambda step: T.RMSPropOptimizer(0.1, momentum=0.5),
    "CenteredRMSProp": lambda step: T.RMSPropOptimizer(0.1, centered=True),
    "Ftrl": lambda step: T.FtrlOptimizer(0.1, l1_regularization_strength=0.001, l2_regularization_strength=0.25),
    "FtrlPower": lambda step: T.FtrlOptimizer(0.1, learning_rate_power=-0.25, beta=0.5),
    "FtrlShrinkage": lambda step: T.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "ProximalGradientDescent": lambda step: T.ProximalGradientDescentOptimizer(
        0.1, l1_regularization_strength=0.001, l2_regularization_strength=0.25
    ),
    "ProximalAdagrad": lambda step: T.ProximalAdagradOptimizer(
        0.1, l1_regularization_strength=0.001, l2_regularization_strength=0.25
    ),
}
START = np.array([[1.5, -2.0], [0.25, 3.0], [-1.25, 0.5]])


def model(sparse, resource, dtype):
    w = tf.Variable(START.astype(dtype), name="W", use_resource=resource)
    rows = tf.gather(w, [0, 2, 0]) if sparse else w
    return w, tf.reduce_sum(tf.square(rows - 0.75), name="loss")


def nodes(graph):
    return [" ".join([n.name, n.op, *n.input]) for n in graph.as_graph_def().node]


def plain(values):
    """As few digits as tell any two float32 numbers apart; more for float64."""
    digits = 14 if np.asarray(values).dtype == np.float64 else 9
    return [float(f"{x:.{digits}g}") for x in np.asarray(values, np.float64).ravel()]


def run(name, sparse, resource, dtype, with_nodes):
    with tf.Graph().as_default() as graph:
        w, loss = model(sparse, resource, dtype)
        step = T.get_or_create_global_step()
        optimizer = OPTIMIZERS[name](step)
        pairs = optimizer.compute_gradients(loss)
        computed = len(nodes(graph))
        train = optimizer.apply_gradients(pairs, global_step=step)
        made = nodes(graph)
        if with_nodes:
            variant = f"{'sparse' if sparse else 'dense'} {'resource' if resource else 'reference'}"
            models[variant] = made[:computed]
        steps = []
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(10):
                sess.run(train)
                steps.append(plain(sess.run(w)))
            slots = {v.op.name: plain(sess.run(v)) for v in optimizer.variables()}
    out = {"steps": steps, "slots": slots, "slotNames": optimizer.get_slot_names()}
    if with_nodes:
        out["nodes"] = made[computed:]
    return out


models = {}
runs = {}
for name in OPTIMIZERS:
    for sparse in (False, True):
        for resource in (True, False):
            for dtype in ("float32", "float64", "float16") if resource and not sparse else ("float32",):
                if dtype != "float32" and name.startswith("Proximal"):
                    continue  # Python does not cast their hyperparameters
                if dtype == "float64" and name == "AdamBetas":
                    continue
                key = f"{name} {'sparse' if sparse else 'dense'} {'resource' if resource else 'reference'} {dtype}"
                try:
                    runs[key] = run(name, sparse, resource, dtype, dtype == "float32")
                except Exception as error:  # pylint: disable=broad-except
                    print("left out", key, str(error)[:200])


def schedules():
    makers = {
        "exponentialDecay": lambda s: T.exponential_decay(0.1, s, 10, 0.5),
        "exponentialStairs": lambda s: T.exponential_decay(0.1, s, 10, 0.5, staircase=True, name="mine"),
        "naturalExpDecay": lambda s: T.natural_exp_decay(0.1, s, 10, 0.5),
        "inverseTimeDecay": lambda s: T.inverse_time_decay(0.1, s, 10, 0.5),
        "piecewiseConstant": lambda s: T.piecewise_constant(s, [5, 20], [0.1, 0.05, 0.01]),
        "polynomialDecay": lambda s: T.polynomial_decay(0.1, s, 30, 0.01, power=0.5),
        "polynomialCycle": lambda s: T.polynomial_decay(0.1, s, 10, 0.01, power=0.5, cycle=True),
        "cosineDecay": lambda s: T.cosine_decay(0.1, s, 30, alpha=0.25),
        "cosineDecayRestarts": lambda s: T.cosine_decay_restarts(0.1, s, 10, t_mul=1.5, m_mul=0.5, alpha=0.25),
        "cosineRestartsEven": lambda s: T.cosine_decay_restarts(0.1, s, 10, t_mul=1.0, m_mul=0.5),
        "linearCosineDecay": lambda s: T.linear_cosine_decay(0.1, s, 30, num_periods=1.5),
        "noisyLinearCosineDecay": lambda s: T.noisy_linear_cosine_decay(
            0.1, s, 30, initial_variance=0.25, variance_decay=0.75, num_periods=1.5
        ),
    }
    out = {}
    for name, make in makers.items():
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            tf.set_random_seed(7)
            step = T.get_or_create_global_step()
            rate = make(step)
            made = nodes(graph)
            value = tf.placeholder(tf.int64, [])
            move = step.assign(value)
            values = []
            for k in (0, 1, 5, 6, 10, 17, 20, 21, 29, 30, 45):
                sess.run(move, {value: k})
                values += plain(sess.run(rate))
            out[name] = {"nodes": made, "values": values}
    return out


def averages():
    out = {}
    for name, debias, tensor, counted in [
        ("variable", False, False, False),
        ("counted", False, False, True),
        ("tensor", False, True, False),
        ("debiased", True, True, False),
    ]:
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            v = tf.Variable([1.5, 2.0], name="v")
            step = T.get_or_create_global_step()
            value = tf.identity(v, name="t") if tensor else v
            ema = T.ExponentialMovingAverage(0.9, num_updates=step if counted else None, zero_debias=debias)
            update = ema.apply([value])
            made = nodes(graph)
            change = v.assign_add([1.0, -0.5])
            tick = step.assign_add(1)
            sess.run(tf.global_variables_initializer())
            values = []
            for _ in range(5):
                sess.run([change, tick])
                sess.run(update)
                values.append(plain(sess.run(ema.average(value))))
            out[name] = {
                "nodes": made,
                "values": values,
                "averageName": ema.average_name(value),
                "restore": sorted(ema.variables_to_restore()),
            }
    return out


path = os.path.join(os.path.dirname(__file__), "..", "..", "test", "golden", "training.json")
with open(path, "w") as f:
    json.dump({"models": models, "runs": runs, "schedules": schedules(), "averages": averages()}, f, separators=(",", ":"))
    f.write("\n")
