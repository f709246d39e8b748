"""Writes test/golden/front/metaGraphs.json: meta graphs, saver nodes and frozen graphs as real TensorFlow makes them.

Run: /opt/tfenv/bin/python tools/golden/metaGraphs.py
"""
import base64
import json
import os
import zlib

from graphMode import tf

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, '../../test/golden/front/metaGraphs.json')


def packed(message):
    return base64.b64encode(zlib.compress(message.SerializeToString(deterministic=True), 9)).decode()


def dense():
    with tf.variable_scope('layer'):
        w = tf.get_variable('w', [2, 3], initializer=tf.zeros_initializer())
        b = tf.get_variable('b', [3], initializer=tf.zeros_initializer(), trainable=False)
    x = tf.placeholder(tf.float32, [None, 2], name='x')
    y = tf.add(tf.matmul(x, w), b, name='y')
    return x, y


def plain():
    tf.train.get_or_create_global_step()
    x, y = dense()
    tf.add_to_collection('inputs', x)
    tf.add_to_collection('outputs', y)
    tf.add_to_collection('outputs', y.op)
    tf.add_to_collection('counts', 3)
    tf.add_to_collection('counts', 4)
    tf.add_to_collection('rates', 0.5)
    tf.add_to_collection('names', 'one')
    tf.add_to_collection(tf.GraphKeys.LOCAL_VARIABLES, tf.Variable(1.0, name='local', trainable=False, collections=[]))
    saver = tf.train.Saver(max_to_keep=3)
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    return saver.export_meta_graph()


def references():
    with tf.variable_scope('s', use_resource=False):
        tf.get_variable('p', [4, 3], partitioner=tf.fixed_size_partitioner(2), initializer=tf.zeros_initializer())
        tf.get_variable('b', [3], initializer=tf.zeros_initializer())
    return tf.train.Saver().export_meta_graph()


def partitioned():
    tf.get_variable('p', [4, 3], partitioner=tf.fixed_size_partitioner(2), initializer=tf.zeros_initializer())
    tf.get_variable('b', [3], initializer=tf.zeros_initializer())
    return tf.train.Saver().export_meta_graph()


def sharded():
    with tf.device('/cpu:0'):
        tf.get_variable('w', [2, 3], initializer=tf.zeros_initializer())
    with tf.device('/cpu:1'):
        tf.get_variable('b', [3], initializer=tf.zeros_initializer())
    tf.get_variable('c', [3], initializer=tf.zeros_initializer())
    return tf.train.Saver(sharded=True, keep_checkpoint_every_n_hours=2).export_meta_graph()


def reshape():
    w = tf.get_variable('w', [2, 3], initializer=tf.zeros_initializer())
    b = tf.get_variable('b', [3], use_resource=False, initializer=tf.zeros_initializer())
    return tf.train.Saver({'x': w, 'a': b}, reshape=True, name='mine', filename='here').export_meta_graph()


def old_format():
    w = tf.get_variable('w', [2, 3], initializer=tf.zeros_initializer())
    b = tf.get_variable('b', [3], use_resource=False, initializer=tf.zeros_initializer())
    return tf.train.Saver([w, b], write_version=tf.train.SaverDef.V1, sharded=True).export_meta_graph()


def scope():
    x, y = dense()
    with tf.name_scope('outer'):
        with tf.name_scope('inner'):
            z = tf.multiply(y, 2.0, name='z')
        tf.add(z, x[0, 0], name='sum')
    return tf.train.export_meta_graph(export_scope='outer')


def cleared():
    with tf.device('/cpu:0'):
        dense()
    tf.train.Saver(name='one')
    saver = tf.train.Saver(name='two')
    return saver.export_meta_graph(clear_devices=True, clear_extraneous_savers=True, strip_default_attrs=True)


PROGRAMS = [plain, references, partitioned, sharded, reshape, old_format, scope, cleared]


def frozen(use_resource):
    x = tf.placeholder(tf.float32, [None, 3], name='x')
    with tf.variable_scope('a', use_resource=use_resource):
        w = tf.get_variable('w', [3, 2], initializer=tf.constant_initializer(0.5))
        e = tf.get_variable('e', [5, 2], initializer=tf.constant_initializer(0.25))
    y = tf.matmul(x, w)
    z = tf.nn.embedding_lookup(e, [1, 2])
    tf.add(y, z, name='out')
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    return tf.graph_util.convert_variables_to_constants(sess, tf.get_default_graph().as_graph_def(), ['out'])


def training_nodes():
    x = tf.placeholder(tf.float32, [2], name='x')
    a = tf.identity(x, name='a')
    b = tf.check_numerics(a, 'bad', name='b')
    with tf.control_dependencies([b]):
        c = tf.identity(a, name='c')
    d = tf.stop_gradient(tf.identity(c, name='kept'), name='d')
    tf.add(d, 1.0, name='out')
    return tf.graph_util.remove_training_nodes(tf.get_default_graph().as_graph_def(), protected_nodes=['kept'])


def main():
    result = {'metaGraphs': {}, 'graphs': {}}
    for program in PROGRAMS:
        with tf.Graph().as_default():
            result['metaGraphs'][program.__name__] = packed(program())
    for name, make in [('frozen', lambda: frozen(True)), ('frozenReferences', lambda: frozen(False)),
                       ('trainingNodes', training_nodes)]:
        with tf.Graph().as_default():
            result['graphs'][name] = packed(make())
    with open(TARGET, 'w') as f:
        json.dump(result, f, indent=1, sort_keys=True)
        f.write('\n')


if __name__ == '__main__':
    main()
