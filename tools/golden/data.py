"""Golden values for test/whole/data: the elements that TensorFlow makes for pipelines, and the nodes they are made of.

    python tools/golden/data.py > test/golden/data/pipelines.json
"""
import json

import numpy as np
from graphMode import plain, tf

tf.logging.set_verbosity('FATAL')
D, E = tf.data.Dataset, tf.data.experimental


def lengths(n):
    return D.range(1, n + 1).map(lambda x: tf.fill([x], x))


def sparse():
    return tf.SparseTensor([[0, 1], [0, 3], [2, 0]], [5.5, 6., 7.], [3, 4])


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def examples():
    ints = lambda *v: tf.train.Feature(int64_list=tf.train.Int64List(value=v))
    floats = lambda *v: tf.train.Feature(float_list=tf.train.FloatList(value=v))
    text = lambda *v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v))
    return [
        example(x=floats(1.5, 2), n=ints(7, 8), a=text(b'one'), s=ints(1, 2)),
        example(x=floats(3.5, 4)),
        example(x=floats(5.5, 6), n=ints(9), a=text(b'three'), s=ints(3)),
    ]

PIPELINES = {
    'tensors': lambda: D.from_tensors([1, 2, 3]),
    'slices of a tuple': lambda: D.from_tensor_slices((tf.constant([1, 2, 3]), tf.constant([[1.5], [2.5], [3.5]]))),
    'slices of a record': lambda: D.from_tensor_slices({'b': tf.constant(['x', 'y']), 'a': tf.constant([1, 2])}),
    'range': lambda: D.range(2, 20, 5),
    'range down': lambda: D.range(5, 0, -2),
    'map': lambda: D.range(4).map(lambda x: x * 10),
    'map to a tuple': lambda: D.range(3).map(lambda x: (x, x + 1)).map(lambda a, b: a * b),
    'map in parallel': lambda: D.range(6).map(lambda x: x * 10, num_parallel_calls=3),
    'filter': lambda: D.range(10).filter(lambda x: x > 6),
    'flatMap': lambda: D.range(1, 4).flat_map(lambda x: D.from_tensors(x).repeat(x)),
    'interleave': lambda: D.range(1, 6).interleave(lambda x: D.from_tensors(x).repeat(x), cycle_length=2, block_length=3),
    'interleave in parallel': lambda: D.range(1, 6).interleave(
        lambda x: D.from_tensors(x).repeat(x), cycle_length=3, block_length=2, num_parallel_calls=2),
    'batch': lambda: D.range(7).batch(3),
    'batch without remainder': lambda: D.range(7).batch(3, drop_remainder=True),
    'batch in parallel': lambda: D.range(7).batch(3, num_parallel_calls=2),
    'padded batch': lambda: lengths(5).padded_batch(2, padded_shapes=[None]),
    'padded batch of a size': lambda: lengths(4).map(lambda x: (x, tf.size(x))).padded_batch(
        3, padded_shapes=([5], []), padding_values=(np.int64(-1), 0), drop_remainder=True),
    'unbatch': lambda: D.range(6).batch(4).apply(E.unbatch()),
    'shuffle': lambda: D.range(20).shuffle(7, seed=3),
    'shuffle repeated': lambda: D.range(6).shuffle(4, seed=5).repeat(3),
    'shuffle in the same order': lambda: D.range(6).shuffle(4, seed=5, reshuffle_each_iteration=False).repeat(3),
    'shuffle after repeat': lambda: D.range(5).repeat(3).shuffle(8, seed=11),
    'shuffle and repeat': lambda: D.range(6).apply(E.shuffle_and_repeat(4, count=3, seed=2)),
    'shuffle and repeat with a large buffer': lambda: D.range(4).apply(E.shuffle_and_repeat(100, count=6, seed=2)),
    'repeat': lambda: D.range(3).repeat(2),
    'take and skip': lambda: D.range(10).take(7).skip(4),
    'shard': lambda: D.range(10).shard(3, 1),
    'concatenate': lambda: D.range(3).concatenate(D.range(10, 12)),
    'zip': lambda: D.zip((D.range(3), D.range(10, 20))),
    'window': lambda: D.range(10).window(3, shift=2, stride=2, drop_remainder=True).flat_map(lambda w: w.batch(3)),
    'window with remainder': lambda: D.range(7).window(3).flat_map(lambda w: w.batch(3)),
    'cache': lambda: D.range(4).cache().repeat(2),
    'prefetch': lambda: D.range(4).prefetch(2),
    'enumerate': lambda: D.range(10, 13).enumerate(start=5),
    'mapAndBatch': lambda: D.range(7).apply(E.map_and_batch(lambda x: x * 2, 3)),
    'parallelInterleave': lambda: D.range(1, 5).apply(E.parallel_interleave(lambda x: D.from_tensors(x).repeat(x), 2)),
    'groupByWindow': lambda: D.range(11).apply(E.group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), 3)),
    'groupByReducer': lambda: D.range(10).apply(E.group_by_reducer(
        lambda x: x % 3, E.Reducer(lambda k: k * 100, lambda s, x: s + x, lambda s: s * 2))),
    'bucketBySequenceLength': lambda: lengths(8).apply(
        E.bucket_by_sequence_length(lambda x: tf.size(x), [3, 6], [2, 2, 2])),
    'scan': lambda: D.range(5).apply(E.scan(np.int64(0), lambda s, x: (s + x, s * x))),
    'takeWhile': lambda: D.range(10).apply(E.take_while(lambda x: x < 4)),
    'unique': lambda: D.from_tensor_slices([3, 1, 3, 2, 1]).apply(E.unique()),
    'sampleFromDatasets': lambda: E.sample_from_datasets(
        [D.range(0, 8), D.range(100, 108), D.range(200, 208)], weights=[0.5, 0.3, 0.2], seed=9),
    'sampleFromDatasets alike': lambda: E.sample_from_datasets([D.range(0, 6), D.range(100, 106)], seed=4),
    'chooseFromDatasets': lambda: E.choose_from_datasets(
        [D.range(3), D.range(10, 20)], D.from_tensor_slices(tf.constant([0, 1, 1, 0, 1], tf.int64))),
    'RandomDataset': lambda: E.RandomDataset(seed=3).take(6),
    'Counter': lambda: E.Counter(start=3, step=2).take(4),
    'ignoreErrors': lambda: D.from_tensor_slices([1.5, 2., 0., 4.]).map(
        lambda x: tf.check_numerics(tf.realdiv(1., x), "bad")).apply(E.ignore_errors()),
    'an error': lambda: D.from_tensor_slices([1, 2, 0, 4]).map(lambda x: tf.floordiv(12, x)),
    'different shapes': lambda: lengths(3).batch(2),
    'a graph seed': lambda: (tf.set_random_seed(7), D.range(8).shuffle(4))[1],
    'a sparse tensor': lambda: D.from_tensors(sparse()),
    'a sparse tensor beside a number': lambda: D.from_tensors({'a': 1, 'b': sparse()}),
    'slices of a sparse tensor': lambda: D.from_tensor_slices((sparse(), tf.constant([1, 2, 3]))),
    'batches of sparse tensors': lambda: D.from_tensor_slices(sparse()).batch(2),
    'map to sparse tensors': lambda: D.range(1, 4).map(
        lambda x: tf.SparseTensor([[0], [2]], tf.stack([x, -x]), [4])).map(lambda s: tf.sparse.to_dense(s)),
    'filter and repeat sparse tensors': lambda: D.from_tensor_slices(sparse()).filter(
        lambda s: tf.size(s.values) > 0).repeat(2),
    'unbatch sparse tensors': lambda: D.from_tensors((sparse(), tf.constant([1, 2, 3]))).apply(E.unbatch()),
    'zip and concatenate sparse tensors': lambda: D.zip((D.from_tensor_slices(sparse()), D.range(3))).concatenate(
        D.zip((D.from_tensor_slices(sparse()), D.range(10, 12)))),
    'fromSparseTensorSlices': lambda: D.from_sparse_tensor_slices(sparse()),
    'denseToSparseBatch': lambda: lengths(5).apply(E.dense_to_sparse_batch(2, [6])),
    'denseToSparseBatch of any size': lambda: lengths(3).apply(E.dense_to_sparse_batch(2, [None])),
    'a batch with an error': lambda: D.from_tensor_slices([1.5, 0., 3., 4., 5., 6., 7.]).map(
        lambda x: tf.check_numerics(tf.realdiv(1., x), 'bad')).batch(3),
    'zip with an error': lambda: D.zip((D.from_tensor_slices([1.5, 0., 4.]).map(
        lambda x: tf.check_numerics(tf.realdiv(1., x), 'bad')), D.range(3))),
    'random numbers in a map': lambda: D.range(3).map(
        lambda x: tf.random_uniform([], maxval=1000, dtype=tf.int32, seed=5)).repeat(2),
    'random numbers in a dataset of a function': lambda: D.range(2).flat_map(
        lambda x: D.range(2).map(lambda y: tf.random_uniform([], maxval=1000, dtype=tf.int32, seed=5))),
    'parseExampleDataset': lambda: D.from_tensor_slices(examples()).batch(2).apply(E.parse_example_dataset({
        'x': tf.FixedLenFeature([2], tf.float32), 'n': tf.VarLenFeature(tf.int64),
        'a': tf.FixedLenFeature([], tf.string, 'none'),
        's': tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-1)})),
    'parseExampleDataset with sparse features': lambda: D.from_tensor_slices(examples()).batch(3).apply(
        E.parse_example_dataset({'m': tf.SparseFeature('s', 'n', tf.int64, 10)}, num_parallel_calls=2)),
    'random numbers in a filter': lambda: D.range(12).filter(
        lambda x: tf.random_uniform([], seed=5) > 0.5),
}
# Random numbers of Python's `random` module stand behind no seed, so every pipeline here has one.


def run(make):
    with tf.Graph().as_default() as graph:
        dataset = make()
        iterator = tf.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        nodes = [[n.name, n.op] for n in graph.as_graph_def().node]
        with tf.Session() as session:
            elements = run_through(session, iterator, element)
            assert run_through(session, iterator, element) == elements, 'begun again, it gives something else'
    return {'elements': elements, 'nodes': nodes}


def run_through(session, iterator, element):
    session.run(iterator.initializer)
    elements = []
    while True:
        try:
            elements.append(plain(session.run(element)))
        except tf.errors.OutOfRangeError:
            return elements
        except tf.errors.OpError as error:
            elements.append({'error': type(error).__name__})


print(json.dumps({name: run(make) for name, make in PIPELINES.items()}))
