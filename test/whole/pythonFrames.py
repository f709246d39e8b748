"""A TensorFlow 1.x training program with loops, branches and reference variables, in TensorFlow's own process and on the
server named by the first argument; prints both outcomes as JSON."""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.disable_control_flow_v2()
tf.disable_resource_variables()


def train(target):
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        x = tf.placeholder(tf.float32, [4, 6, 2], name="x")
        goal = tf.placeholder(tf.float32, [4], name="goal")
        w = tf.get_variable("w", [5, 3], initializer=tf.random_normal_initializer(stddev=0.5))
        out = tf.get_variable("out", [3, 1], initializer=tf.random_normal_initializer(stddev=0.5))
        rate = tf.get_variable("rate", [], initializer=tf.constant_initializer(0.2), trainable=False)
        steps = tf.train.get_or_create_global_step()
        inputs = tf.TensorArray(tf.float32, 6).unstack(tf.transpose(x, [1, 0, 2]))
        def turn(i, h):
            h = tf.tanh(tf.matmul(tf.concat([inputs.read(i), h], 1), w))
            return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: h, lambda: tf.nn.dropout(h, rate=0.2, seed=4))
        # One iteration at a time: with more, threads race for the random numbers.
        _, h = tf.while_loop(lambda i, _: i < 6, turn, [0, tf.zeros([4, 3])], parallel_iterations=1)
        loss = tf.reduce_mean(tf.square(tf.matmul(h, out)[:, 0] - goal))
        train_op = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=steps)
        with tf.control_dependencies([train_op]):
            slower = tf.cond(steps % 5 > 3, lambda: tf.assign(rate, rate * 0.5), lambda: rate)
        kinds = {op.type for op in graph.get_operations()}
        rng = np.random.RandomState(1)
        feed = {x: rng.randn(4, 6, 2), goal: rng.randn(4)}
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            history = [[float(v) for v in session.run([loss, slower], feed)] for _ in range(25)]
            return {
                "history": history,
                "weights": session.run(w).tolist(),
                "kinds": sorted(k for k in ("RefSwitch", "VariableV2", "Enter", "StackPushV2", "TensorArrayReadV3") if k in kinds),
            }


print("RESULT " + json.dumps({"theirs": train(""), "ours": train(sys.argv[1])}))
