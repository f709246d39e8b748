"""The same small program in TensorFlow's own process and on the server named by the first argument; prints both as JSON."""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def train(target):
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        t = tf.placeholder(tf.int64, [None], name="t")
        w = tf.get_variable("w", [4, 3], use_resource=True)
        b = tf.get_variable("b", [3], initializer=tf.zeros_initializer(), use_resource=True)
        logits = tf.matmul(x, w) + b
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=logits))
        step = tf.train.AdamOptimizer(0.1).minimize(loss)
        rng = np.random.RandomState(1)
        feed = {x: rng.randn(8, 4).astype(np.float32), t: rng.randint(0, 3, 8)}
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            losses = [float(session.run([loss, step], feed)[0]) for _ in range(20)]
            grown = tf.argmax(logits, 1)
            errors = {}
            try:
                session.run(logits)
            except tf.errors.OpError as error:
                errors["unfed"] = [type(error).__name__, error.op.name]
            partial = session.partial_run_setup([logits, loss], [x, t])
            first = session.partial_run(partial, logits, {x: feed[x]})
            second = session.partial_run(partial, loss, {t: feed[t]})
            call = session.make_callable(grown, [x])
            return {
                "losses": losses,
                "weights": session.run(w).tolist(),
                "classes": session.run(grown, feed).tolist(),
                "called": call(feed[x]).tolist(),
                "errors": errors,
                "partial": [first.tolist(), float(second)],
                "text": session.run(tf.constant([b"a", b"\xff"])).tolist() == [b"a", b"\xff"],
            }


print("RESULT " + json.dumps({"theirs": train(""), "ours": train(sys.argv[1])}))
