"""TensorFlow's side of bench/data.ts: reads names of rows, runs each once, answers with the seconds it took.

Run by bench/data.ts with the folder of its files. A row is a function of its name that gives what is to be timed.
"""
import base64
import os
import sys
import time

import tensorflow.compat.v1 as tf

folder = sys.argv[1]
now = time.process_time if sys.argv[2:] == ["cpu"] else time.perf_counter
config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
runs_per_call = 20
tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.FATAL)


def in_graph(build):
    graph = tf.Graph()
    with graph.as_default():
        made = build()
    return tf.Session(graph=graph, config=config), made


def reading(name, compression=""):
    """The records in batches of a thousand, so that Python's loop costs nothing."""
    def build():
        dataset = tf.data.TFRecordDataset(os.path.join(folder, name + ".tfrecords"), compression_type=compression)
        iterator = tf.data.make_initializable_iterator(dataset.batch(1000))
        return iterator.initializer, tf.size(iterator.get_next())

    session, (initializer, size) = in_graph(build)

    def run():
        session.run(initializer)
        try:
            while True:
                session.run(size)
        except tf.errors.OutOfRangeError:
            pass

    return run


def records_written():
    record = os.urandom(1000)

    def run():
        with tf.io.TFRecordWriter(os.path.join(folder, "theirs.tfrecords")) as writer:
            for _ in range(50000):
                writer.write(record)

    return run


def parsing(name, build):
    with open(os.path.join(folder, name + ".txt")) as file:
        strings = [base64.b64decode(line) for line in file.read().split("\n")]

    def make():
        x = tf.placeholder(tf.string, [len(strings)])
        return x, build(x)

    session, (x, fetches) = in_graph(make)
    step = session.make_callable(tf.nest.flatten(fetches, expand_composites=True), [x])

    def run():
        for _ in range(runs_per_call):
            step(strings)

    return run


def decoding(name, decode):
    with open(os.path.join(folder, name + ".bin"), "rb") as file:
        contents = file.read()

    def make():
        x = tf.placeholder(tf.string, [])
        return x, decode(x)

    session, (x, image) = in_graph(make)
    step = session.make_callable(image.op, [x])

    def run():
        for _ in range(400):
            step(contents)

    return run


def augmentation(d):
    names = [os.path.join(folder, "pictures", f"{i}.png") for i in range(1000)]

    def one(name):
        image = tf.image.decode_png(tf.read_file(name), channels=3)
        image.set_shape([64, 64, 3])
        return tf.image.random_flip_left_right(tf.image.convert_image_dtype(image, tf.float32), seed=1)

    return d.from_tensor_slices(names).map(one, num_parallel_calls=4).batch(32)


def ten_features(x):
    kinds = {"count": (4, tf.int64), "ratio": (3, tf.float32), "word": (3, tf.string)}
    return tf.parse_example(x, {f"{kind}{k}": tf.FixedLenFeature([], dtype)
                                for kind, (n, dtype) in kinds.items() for k in range(n)})


def images(x):
    return tf.parse_example(x, {"image": tf.FixedLenFeature([784], tf.float32), "label": tf.FixedLenFeature([], tf.int64)})


def sparse(x):
    return tf.parse_example(x, {"ids": tf.VarLenFeature(tf.int64), "words": tf.VarLenFeature(tf.string)})


def csv(x):
    return tf.decode_csv(x, [[0.0]] * 8 + [[""]] * 2)


def csv_files(_):
    columns = [tf.float32] * 8 + [tf.string] * 2
    return tf.data.experimental.CsvDataset(os.path.join(folder, "table.csv"), columns).batch(256)


def checkpoint(work):
    def build():
        for i in range(4):
            tf.get_variable(f"v{i}", [2500, 2500], initializer=tf.random_uniform_initializer(0, 1, seed=i))
        return tf.train.Saver(), tf.global_variables_initializer()

    session, (saver, initialize) = in_graph(build)
    session.run(initialize)
    os.makedirs(os.path.join(folder, "theirs"), exist_ok=True)
    prefix = os.path.join(folder, "theirs", "model")
    saver.save(session, prefix)

    def run():
        with session.graph.as_default():
            work(saver, session, prefix)

    return run



def pipeline(make):
    def build():
        iterator = tf.data.make_initializable_iterator(make(tf.data.Dataset))
        return iterator.initializer, tf.nest.flatten(iterator.get_next())[0].op

    session, (initializer, step) = in_graph(build)
    begin, next_one = session.make_callable(initializer), session.make_callable(step)

    def run():
        begin()
        try:
            while True:
                next_one()
        except tf.errors.OutOfRangeError:
            pass

    return run


rows = {
    "records_of_1_KB": lambda: reading("records_of_1_KB"),
    "records_of_100_KB": lambda: reading("records_of_100_KB"),
    "records_gzip": lambda: reading("records_gzip", "GZIP"),
    "records_written": records_written,
    "examples_of_10_features": lambda: parsing("examples_of_10_features", ten_features),
    "examples_of_784_floats": lambda: parsing("examples_of_784_floats", images),
    "examples_sparse": lambda: parsing("examples_sparse", sparse),
    "csv_of_10_columns": lambda: parsing("csv_of_10_columns", csv),
    "csv_files": lambda: pipeline(csv_files),
    "checkpoint_saved": lambda: checkpoint(lambda saver, s, p: saver.save(s, p, write_meta_graph=False)),
    "data_one_by_one": lambda: pipeline(lambda d: d.range(5000)),
    "data_range_batch": lambda: pipeline(lambda d: d.range(200000).batch(1000)),
    "data_map": lambda: pipeline(lambda d: d.range(20000).map(lambda x: x * 2).batch(1000)),
    "data_map_in_parallel": lambda: pipeline(
        lambda d: d.range(20000).map(lambda x: x * 2, num_parallel_calls=4).batch(1000)),
    "data_filter": lambda: pipeline(lambda d: d.range(20000).filter(lambda x: tf.equal(x % 2, 0)).batch(1000)),
    "data_shuffled_images": lambda: pipeline(
        lambda d: d.from_tensor_slices(tf.zeros([2000, 784])).repeat(10).shuffle(5000, seed=1).batch(128)),
    "checkpoint_restored": lambda: checkpoint(lambda saver, s, p: saver.restore(s, p)),
}

rows.update({
    "png_of_256_pixels": lambda: decoding("png_of_256_pixels", tf.image.decode_png),
    "png_of_28_pixels": lambda: decoding("png_of_28_pixels", tf.image.decode_png),
    "jpeg_of_256_pixels": lambda: decoding("jpeg_of_256_pixels", tf.image.decode_jpeg),
    "jpeg_of_32_pixels": lambda: decoding("jpeg_of_32_pixels", tf.image.decode_jpeg),
    "png_files_augmented": lambda: pipeline(augmentation),
})

ready = {}
print("ready", flush=True)
for line in sys.stdin:
    name = line.strip()
    try:
        if name not in ready:
            ready.clear()
            ready[name] = rows[name]()
        start = now()
        ready[name]()
        print(now() - start, flush=True)
    except Exception as error:
        print(error, file=sys.stderr)
        print("nan", flush=True)
