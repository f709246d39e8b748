"""Writes test/golden/summaries.json and test/golden/io/events.out.tfevents.golden: what TensorFlow makes of summaries.

Run: TF_CPP_MIN_LOG_LEVEL=3 /opt/tfenv/bin/python tools/golden/summaries.py
"""
import base64
import glob
import json
import os
import shutil
import tempfile

import numpy as np
import tensorflow

tf = tensorflow.compat.v1
tf.disable_eager_execution()
tf.enable_resource_variables()
here = os.path.dirname(os.path.abspath(__file__))
golden = os.path.join(here, '../../test/golden')
random = np.random.RandomState(7)


def encoded(data):
    return base64.b64encode(data).decode()


def array(value):
    return {'dtype': tf.as_dtype(value.dtype).name, 'shape': list(value.shape), 'data': encoded(value.tobytes())}


def histograms(session):
    bfloat16 = tf.bfloat16.as_numpy_dtype
    values = [
        random.randn(60).astype(np.float32),
        (random.randn(40) * 1e-9).astype(np.float64),
        (random.randn(5, 6) * 1e3).astype(np.int32),
        np.array([0, -0.0, 1e-12, -1e-12, 1.1e-12, 1e20, -1e20, 3e38], np.float32),
        random.randint(0, 255, [30]).astype(np.uint8),
        random.randn(30).astype(np.float16),
        random.randn(30).astype(bfloat16),
        np.array([2**62, -2**62, 5, 2**53 + 1], np.int64),
        np.zeros([0], np.float32),
        np.array([1e300, -1e300, 1e-300], np.float64),
        random.exponential(size=[50]).astype(np.float32) * 100,
    ]
    return [
        {'values': array(v), 'summary': encoded(session.run(tf.raw_ops.HistogramSummary(tag='h', values=v)))}
        for v in values
    ]


def images(session):
    nan, inf = np.nan, np.inf
    bad = np.array([1.5, nan, 0.5, inf, 2.5, 1.0], np.float32).reshape([1, 2, 3, 1])
    cases = [
        (random.rand(2, 3, 4, 3).astype(np.float32) * 7, 3, None),
        (random.randn(2, 5, 4, 1).astype(np.float32) * 0.01, 1, None),
        (random.randn(3, 4, 4, 4).astype(np.float64) * 1e5, 2, None),
        (random.randn(1, 6, 5, 3).astype(np.float16), 3, None),
        (random.rand(1, 6, 5, 1).astype(np.float16), 3, None),
        (random.randint(0, 256, [4, 3, 3, 3]).astype(np.uint8), 3, None),
        (bad, 1, None),
        (np.tile(bad, [1, 1, 1, 3]) - 1, 1, [9, 8, 7]),
        (np.zeros([1, 2, 2, 1], np.float32), 1, None),
        (np.full([1, 2, 2, 1], -1e-8, np.float32), 1, None),
    ]
    result = []
    for tensor, max_images, color in cases:
        extra = {} if color is None else {'bad_color': tensorflow.make_tensor_proto(np.array(color, np.uint8))}
        op = tf.raw_ops.ImageSummary(tag='i', tensor=tensor, max_images=max_images, **extra)
        values = tf.Summary.FromString(session.run(op)).value
        pixels = [session.run(tf.image.decode_png(v.image.encoded_image_string)) for v in values]
        result.append({
            'tensor': array(tensor), 'maxImages': max_images, 'badColor': color,
            'values': [{'tag': v.tag, 'height': v.image.height, 'width': v.image.width,
                        'colorspace': v.image.colorspace, 'pixels': encoded(p.tobytes())}
                       for v, p in zip(values, pixels)],
        })
    return result


def sounds(session):
    cases = [
        (random.randn(2, 7).astype(np.float32), 44100.0, 3),
        ((random.randint(-70000, 70000, [4, 5, 2]) / 65536).astype(np.float32), 11025.5, 2),
        (np.array([[0.5, -0.5, 1.5, -1.5, 2.5, 32766.5, 1e9, np.nan]], np.float32) / 32768, 0.3, 1),
    ]
    return [
        {'tensor': array(t), 'sampleRate': rate, 'maxOutputs': n, 'summary': encoded(session.run(
            tf.raw_ops.AudioSummaryV2(tag='a', tensor=t, sample_rate=rate, max_outputs=n)))}
        for t, rate, n in cases
    ]


def tensors(session):
    cases = [np.array(3.5, np.float32), random.randn(2, 2), np.array([b'a', b'\xff'], object), np.array([True, False]),
             np.array([1 + 2j], np.complex64), np.zeros([0, 3], np.int64)]
    metadata = tf.SummaryMetadata(
        plugin_data=tf.SummaryMetadata.PluginData(plugin_name='p', content=b'c'), display_name='d',
        summary_description='s').SerializeToString()
    result = []
    for t in cases:
        op = tf.raw_ops.TensorSummaryV2(tag='t', tensor=t, serialized_summary_metadata=metadata)
        given = [encoded(x) for x in t.flat] if t.dtype == object else array(t)
        result.append({'tensor': given, 'metadata': encoded(metadata), 'summary': encoded(session.run(op))})
    return result


def names():
    """A graph with every function in scopes and families, twice; the test builds the same."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name='x')
        for _ in range(2):
            tf.summary.scalar('loss', tf.constant(1.0))
        tf.summary.scalar('odd name/(1)', 2.0)
        tf.summary.scalar('/slash', 2.0, family='fam')
        with tf.name_scope('layer'):
            tf.summary.histogram('weights', x)
            tf.summary.histogram('weights', x, family='all')
            tf.summary.image('pictures', tf.zeros([1, 2, 2, 3]), max_outputs=2, family='all')
            tf.summary.audio('tone', tf.zeros([1, 8]), 8000)
        with tf.name_scope('layer'):
            tf.summary.text('note', tf.constant(['a', 'b']))
            tf.summary.tensor_summary('t', [1, 2], summary_description='about', display_name='shown',
                                      collections=['mine'])
        tf.summary.merge([tf.summary.scalar('a', 1), tf.summary.scalar('b', 2)], collections=['merged'])
        tf.summary.merge_all()
        tf.summary.merge_all(scope='layer', name='some')
        tf.summary.merge_all(key='mine', name='scope/mine')
        nodes = []
        for node in graph.as_graph_def().node:
            tag = ''
            if node.op == 'Const' and node.attr['dtype'].type == tf.string.as_datatype_enum:
                tag = encoded(b'|'.join(np.atleast_1d(tensorflow.make_ndarray(node.attr['value'].tensor)).tolist()))
            nodes.append([node.name, node.op, list(node.input), tag])
        keys = [tf.GraphKeys.SUMMARIES, 'mine', 'merged']
        return {'nodes': nodes, 'collections': {k: [t.name for t in tf.get_collection(k)] for k in keys}}


def events():
    """An event file of TensorFlow's own, with something of every kind."""
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name='x')
        tf.summary.scalar('mean', tf.reduce_mean(x))
        tf.summary.histogram('values', x)
        tf.summary.text('note', tf.constant('**hello**'))
        merged = tf.summary.merge_all()
        writer = tf.summary.FileWriter(folder, graph)
        with tf.Session() as session:
            for step in range(3):
                writer.add_summary(session.run(merged, {x: [step, 2.0 * step, -1.0]}), step)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.CHECKPOINT, checkpoint_path='ckpt/model-2'), 2)
        writer.add_run_metadata(tf.RunMetadata(), 'run', 2)
        writer.close()
    path = glob.glob(folder + '/events*')[0]
    shutil.copy(path, os.path.join(golden, 'io/events.out.tfevents.golden'))
    listed = []
    for e in tf.train.summary_iterator(path):
        listed.append({
            'step': e.step, 'wallTime': e.wall_time, 'what': e.WhichOneof('what'),
            'values': [{'tag': v.tag, 'kind': v.WhichOneof('value'), 'simpleValue': v.simple_value,
                        'plugin': v.metadata.plugin_data.plugin_name, 'num': v.histo.num} for v in e.summary.value],
            'status': e.session_log.status, 'graphBytes': len(e.graph_def), 'metaGraphBytes': len(e.meta_graph_def),
            'runTag': e.tagged_run_metadata.tag,
        })
    shutil.rmtree(folder)
    return listed


with tf.Session() as session:
    content = {'histograms': histograms(session), 'images': images(session), 'sounds': sounds(session),
               'tensors': tensors(session)}
content.update({'names': names(), 'events': events()})
with open(os.path.join(golden, 'summaries.json'), 'w') as file:
    json.dump(content, file, separators=(',', ':'))
    file.write('\n')
