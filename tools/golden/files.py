"""Files of TensorFlow's formats: records, and a checkpoint with several types, strings and a partitioned tensor.

python tools/golden/files.py   (writes test/golden/io/*)
"""
import os
import shutil

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np
import tensorflow as tf2

tf = tf2.compat.v1
tf.disable_eager_execution()
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../test/golden/io')
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)

records = [b'abc', b'', bytes(range(256)) * 3, 'größer'.encode()]
for name, options in (('plain', ''), ('gzip', 'GZIP'), ('zlib', 'ZLIB')):
    with tf.io.TFRecordWriter(f'{folder}/{name}.tfrecords', options) as writer:
        for record in records:
            writer.write(record)

with tf.Graph().as_default(), tf.Session() as sess:
    whole = np.arange(24, dtype='f').reshape(4, 6)
    long = np.arange(70 * 100, dtype='int16').reshape(100, 70)
    names = ['weights', 'ints', 'doubles', 'half', 'brain', 'flags', 'complex', 'texts', 'scalar', 'empty', 'ümlaut',
             'parts', 'parts', 'long', 'long']
    slices = [''] * 11 + ['4 6 0,2:-', '4 6 2,2:0,6', '200 70 0,100:-', '200 70 100,100:-']
    tensors = [
        np.linspace(-1, 1, 12, dtype='f').reshape(3, 4), np.array([1, -2, 3], 'int64'), np.array([[0.1]]),
        np.array([1.5, -2], 'float16'), tf.constant([1.5, 3], tf.bfloat16), np.array([True, False]),
        np.array([1 + 2j], 'complex64'), np.array([b'one', b'', b'x' * 200]), np.float32(7), np.zeros([0, 3], 'f'),
        np.array([1], 'uint8'), whole[:2], whole[2:], long, long + 1]
    sess.run(tf.raw_ops.SaveV2(prefix=f'{folder}/several', tensor_names=names, shape_and_slices=slices, tensors=tensors))
    many = [f'layer{i:04d}/kernel' for i in range(3000)]
    sess.run(tf.raw_ops.SaveV2(
        prefix=f'{folder}/many', tensor_names=many, shape_and_slices=[''] * 3000,
        tensors=[np.int8(i % 100) for i in range(3000)]))
