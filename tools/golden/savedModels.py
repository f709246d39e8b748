"""Writes test/golden/savedModels/{v1,v2}: SavedModels as real TensorFlow makes them, with the results they give.

Run: /opt/tfenv/bin/python tools/golden/savedModels.py [FOLDER]
"""
import json
import os
import shutil
import sys
import tempfile

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow as tf2  # noqa: E402

tf = tf2.compat.v1
HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, '../../test/golden/savedModels')


def version2(path):
    class Model(tf2.Module):
        def __init__(self):
            super().__init__()
            self.w = tf2.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name='w')
            self.b = tf2.Variable([0.5, 0.25, 0.0], name='b')
            self.calls = tf2.Variable(0, name='calls', trainable=False)

        @tf2.function(input_signature=[tf2.TensorSpec([None, 2], tf2.float32, name='x')])
        def serve(self, x):
            self.calls.assign_add(1)
            y = tf2.matmul(x, self.w) + self.b
            i = tf2.constant(0)
            while i < 3:
                y = y * 2.0
                i += 1
            if tf2.reduce_sum(x) > 0.0:
                y = tf2.nn.relu(y)
            else:
                y = -y
            return {'y': y, 'calls': self.calls.read_value()}

    model = Model()
    tf2.saved_model.save(model, path, signatures=model.serve)


def version1(path):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name='x')
        with tf.device('/cpu:0'):
            w = tf.get_variable('w', initializer=[[1.0, 2.0], [3.0, 4.0]])
        p = tf.get_variable('p', [2], partitioner=tf.fixed_size_partitioner(2), initializer=tf.ones_initializer())
        y = tf.add(tf.matmul(x, w), tf.convert_to_tensor(p), name='y')
        source = os.path.join(tempfile.mkdtemp(), 'words.txt')
        with open(source, 'w') as f:
            f.write('one\ntwo\n')
        asset = tf.constant(source, name='words')
        text = tf.Variable('', name='text', collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
        read = text.assign(tf.io.read_file(asset))
        main = tf.group(read, name='load_words')
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            signature = tf.saved_model.predict_signature_def({'x': x}, {'y': y, 'words': text.read_value()})
            builder = tf.saved_model.Builder(path)
            builder.add_meta_graph_and_variables(sess, ['serve'], signature_def_map={'serving_default': signature},
                                                 assets_collection=[asset], main_op=main)
            builder.add_meta_graph(['serve', 'gpu'], clear_devices=True)
            builder.save()


def main():
    for name, make in [('v2', version2), ('v1', version1)]:
        path = os.path.join(TARGET, name)
        shutil.rmtree(path, ignore_errors=True)
        make(path)
        fingerprint = os.path.join(path, 'fingerprint.pb')
        if os.path.exists(fingerprint):
            os.remove(fingerprint)
    for folder, _, files in os.walk(TARGET):
        for name in files:
            print(os.path.relpath(os.path.join(folder, name), TARGET), os.path.getsize(os.path.join(folder, name)))


if __name__ == '__main__':
    main()
