"""TensorFlow's side of bench/spine.ts: the same graphs, one JSON object with microseconds (or milliseconds for the graph rows)."""
import json, os, time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def measure(body, calls, rounds=7):
    for _ in range(calls):
        body()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            body()
        times.append((time.perf_counter() - start) / calls * 1e6)
    times.sort()
    return {"median": times[len(times) // 2], "min": times[0], "max": times[-1]}


rows = {}

with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [4])
    y = x
    for _ in range(5):
        y = tf.tanh(y + 1.0)
    with tf.Session() as sess:
        fed = np.ones(4, np.float32)
        rows["ten ops, run"] = measure(lambda: sess.run(y, {x: fed}), 300)
        call = sess.make_callable(y, [x])
        rows["ten ops, callable"] = measure(lambda: call(fed), 300)

with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [None, 784])
    labels = tf.placeholder(tf.float32, [None, 10])
    h = x
    for i, (a, b) in enumerate([(784, 512), (512, 512)]):
        w = tf.get_variable("w%d" % i, [a, b])
        h = tf.nn.relu(tf.matmul(h, w) + tf.get_variable("b%d" % i, [b]))
    logits = tf.matmul(h, tf.get_variable("w2", [512, 10])) + tf.get_variable("b2", [10])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        xs, ys = np.random.rand(128, 784).astype("f"), np.eye(10, dtype="f")[np.random.randint(10, size=128)]
        rows["MLP 784-512-512-10 step, batch 128"] = measure(lambda: sess.run(step, {x: xs, labels: ys}), 20, 5)

with tf.Graph().as_default():
    start = time.perf_counter()
    x = tf.placeholder(tf.float32, [4])
    y = x
    for _ in range(100_000):
        y = tf.add(y, x)
    rows["100,000 nodes, build (ms)"] = {"median": (time.perf_counter() - start) * 1e3}
    with tf.Session() as sess:
        start = time.perf_counter()
        sess.run(y, {x: np.ones(4, np.float32)})
        rows["100,000 nodes, first run (ms)"] = {"median": (time.perf_counter() - start) * 1e3}

with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [None])
    y = x * 2.0
    s = tf.reduce_sum(x)
    data = np.ones(25_000_000, np.float32)
    with tf.Session() as sess:
        rows["for scale: a copy of 100 MB to new memory"] = measure(lambda: data.copy(), 3, 5)
        rows["feed 100 MB, fetch its sum"] = measure(lambda: sess.run(s, {x: data}), 3, 5)
        rows["feed and fetch 100 MB"] = measure(lambda: sess.run(y, {x: data}), 3, 5)
        # Python gives memory back when the last name for it goes.
        for how in ("not looked at", "given back"):
            rows[f"feed and fetch 100 MB, {how}"] = rows["feed and fetch 100 MB"]

print(json.dumps(rows))
