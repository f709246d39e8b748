"""Writes test/golden/io/{old,old-0000?-of-00002,objects.*,sharded.*}: checkpoints of the rarer kinds, by real TensorFlow.

Run: /opt/tfenv/bin/python tools/golden/checkpoints.py
"""
import glob
import os
import shutil
import tempfile

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, '../../test/golden/io')


def old_format(folder):
    values = [
        ('bools', np.array([True, False])),
        ('bytes', np.array([1, 2, 255], np.uint8)),
        ('complex', np.array([1.5 - 2j], np.complex64)),
        ('doubles', np.array([[0.1]])),
        ('halves', np.array([0.5, -2], np.float16)),
        ('ints', np.array([-1, 7], np.int32)),
        ('longs', np.array([2**40, -3], np.int64)),
        ('scalar', np.float32(2.5)),
        ('texts', np.array([b'one', 'größer'.encode(), b''], object)),
        ('weights', np.arange(6, dtype=np.float32).reshape(2, 3)),
    ]
    whole = np.arange(12, dtype=np.float32).reshape(4, 3)
    with tf.Graph().as_default(), tf.Session() as sess:
        names = [name for name, _ in values] + ['parts', 'parts']
        slices = [''] * len(values) + ['4 3 0,2:-', '4 3 2,2:0,3']
        data = [tf.constant(value) for _, value in values] + [tf.constant(whole[:2]), tf.constant(whole[2:])]
        sess.run(tf.raw_ops.SaveSlices(filename=os.path.join(folder, 'old'), tensor_names=names,
                                       shapes_and_slices=slices, data=data))
        for i in range(2):
            part = os.path.join(folder, 'oldshards-0000%d-of-00002' % i)
            sess.run(tf.raw_ops.SaveSlices(filename=part, tensor_names=['own%d' % i, 'parts'],
                                           shapes_and_slices=['', '4 3 %d,2:-' % (2 * i)],
                                           data=[tf.constant(float(i)), tf.constant(whole[2 * i:2 * i + 2])]))


def objects(folder):
    code = '''
import tensorflow as tf
class Net(tf.Module):
  def __init__(self):
    self.kernel = tf.Variable([[1.0, 2.0]], name="dense/kernel")
    self.bias = tf.Variable([0.5], name="dense/bias")
tf.train.Checkpoint(model=Net()).write(%r)
''' % os.path.join(folder, 'objects')
    path = os.path.join(folder, 'make_objects.py')
    with open(path, 'w') as f:
        f.write(code)
    os.system('/opt/tfenv/bin/python ' + path)
    os.remove(path)


def sharded(folder):
    with tf.Graph().as_default():
        with tf.device('/cpu:0'):
            a = tf.get_variable('a', initializer=[1.0, 2.0])
        with tf.device('/cpu:1'):
            b = tf.get_variable('b', initializer=tf.constant([3.0, 4.0], tf.bfloat16))
        p = tf.get_variable('p', initializer=lambda shape, dtype, partition_info: tf.reshape(
            tf.range(6.0), [3, 2])[partition_info.var_offset[0]:partition_info.var_offset[0] + shape[0]], shape=[3, 2],
            partitioner=tf.fixed_size_partitioner(2))
        saver = tf.train.Saver(sharded=True)
        with tf.Session(config=tf.ConfigProto(device_count={'CPU': 2})) as sess:
            sess.run(tf.global_variables_initializer())
            saver.save(sess, os.path.join(folder, 'sharded'), write_state=False, write_meta_graph=False)


def main():
    tf.disable_eager_execution()
    tf.enable_resource_variables()
    with tempfile.TemporaryDirectory() as folder:
        old_format(folder)
        objects(folder)
        sharded(folder)
        for path in sorted(glob.glob(os.path.join(folder, '*'))):
            if os.path.isfile(path):
                print(os.path.basename(path), os.path.getsize(path))
                shutil.copy(path, TARGET)


if __name__ == '__main__':
    main()
