"""Writes test/golden/front/inputPipelines.json: the nodes that TensorFlow's queue-based input functions add.

    python tools/golden/inputPipelines.py
"""
import json
import os

import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()


def nodes(build):
  with tf.Graph().as_default() as graph:
    build()
    return [
        {
            'name': op.name,
            'op': op.type,
            'inputs': [i.name for i in op.inputs] + ['^' + c.name for c in op.control_inputs],
            'shapes': [None if o.shape.rank is None else o.shape.as_list() for o in op.outputs],
        }
        for op in graph.get_operations()
    ]


def element():
  return [tf.constant([1.0, 2.0], name='x'), tf.constant(3, name='y')]


def string_producer():
  tf1.train.string_input_producer(['a', 'b'], num_epochs=2, seed=1)


def plain_producer():
  tf1.train.input_producer(tf.constant([[1.0], [2.0]], name='rows'), shuffle=False)


def reading():
  queue = tf1.train.string_input_producer(['a', 'b'], shuffle=False, name='files')
  _, line = tf1.TextLineReader(skip_header_lines=1).read(queue)
  tf1.train.batch([line], batch_size=3)


def slices():
  x, y = tf1.train.slice_input_producer([tf.constant([[1.0], [2.0]], name='a'), tf.constant([3, 4], name='b')], num_epochs=1)
  tf1.train.batch({'x': x, 'y': y}, batch_size=2, num_threads=2, allow_smaller_final_batch=True, name='pairs')


def range_producer():
  tf1.train.range_input_producer(5, capacity=8, name='numbers')


def shuffled():
  tf1.train.shuffle_batch(element(), batch_size=4, capacity=20, min_after_dequeue=10, seed=7)


def many():
  tf1.train.batch([tf.constant([[1.0], [2.0]], name='x')], batch_size=4, enqueue_many=True, capacity=16)


def padded():
  x = tf1.placeholder(tf.float32, [None, 3], name='x')
  tf1.train.batch([x], batch_size=4, dynamic_pad=True)


def joined():
  tf1.train.batch_join([element(), element()], batch_size=4)
  tf1.train.shuffle_batch_join([element(), element()], batch_size=4, capacity=20, min_after_dequeue=10)


def kept_rows():
  x = tf.constant([[1.0], [2.0]], name='x')
  tf1.train.maybe_batch([x], tf.constant([True, False], name='keep'), batch_size=4, enqueue_many=True)


def kept():
  tf1.train.maybe_batch(element(), tf1.placeholder(tf.bool, [], name='keep'), batch_size=4)


def sparse():
  st = tf.SparseTensor(tf.constant([[0, 1]], tf.int64, name='i'), tf.constant([5.0], name='v'), tf.constant([2, 3], tf.int64, name='s'))
  tf1.train.batch([st, tf.constant(1, name='d')], batch_size=2)


def queues():
  q = tf1.RandomShuffleQueue(10, 2, [tf.int32], shapes=[[]], seed=3)
  q.enqueue([1])
  tf1.PaddingFIFOQueue(10, [tf.int32], [[None]]).dequeue_many(2)
  tf1.PriorityQueue(10, [tf.string], [[]]).dequeue()
  tf1.QueueBase.from_list(0, [q, tf1.RandomShuffleQueue(10, 2, [tf.int32], shapes=[[]], shared_name='shared')])
  reader = tf1.WholeFileReader()
  reader.num_records_produced()
  reader.reset()


cases = [string_producer, plain_producer, reading, slices, range_producer, shuffled, many, padded, joined, kept_rows, kept, sparse, queues]
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, '../../test/golden/front/inputPipelines.json'), 'w') as out:
  out.write('{\n')
  out.write(',\n'.join(
      json.dumps(case.__name__) + ': [\n' + ',\n'.join(json.dumps(node) for node in nodes(case)) + '\n]' for case in cases))
  out.write('\n}\n')
