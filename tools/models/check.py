"""Reads what tools/models/main.ts has written, in real TensorFlow, and writes models and checkpoints for it to read.

Run by main.ts: python check.py FOLDER
"""
import json
import os
import subprocess
import sys

import numpy as np
import tensorflow as tf2

tf = tf2.compat.v1
folder = sys.argv[1]
with open(os.path.join(folder, 'expected.json')) as f:
    expected = json.load(f)
feed = np.array(expected['input'], np.float32)
failed = []


def check(what, got, want, tolerance=1e-4):
    same = np.allclose(np.array(got, np.float64), np.array(want, np.float64), rtol=tolerance, atol=tolerance)
    print('ok   ' if same else 'WRONG', what)
    if not same:
        print('   got ', got, '\n   want', want)
        failed.append(what)


def equal(what, got, want):
    print('ok   ' if got == want else 'WRONG', what)
    if got != want:
        print('   got ', got, '\n   want', want)
        failed.append(what)


def saved_models():
    for name in ['simple', 'full']:
        path = os.path.join(folder, name)
        model = tf2.saved_model.load(path)
        outputs = model.signatures['serving_default'](x=tf2.constant(feed))
        check('tf.saved_model.load of %s' % name, outputs['y'].numpy(), expected['y'])
        if name == 'full':
            equal('its asset', outputs['content'].numpy(), b'cat\ndog\n')
        with tf.Graph().as_default(), tf.Session() as sess:
            meta = tf.saved_model.load(sess, ['serve'], path)
            signature = meta.signature_def['serving_default']
            y = sess.run(signature.outputs['y'].name, {signature.inputs['x'].name: feed})
            check('tf.compat.v1.saved_model.load of %s' % name, y, expected['y'])
    out = os.path.join(folder, 'cli')
    np.save(os.path.join(folder, 'x.npy'), feed)
    cli = os.path.join(os.path.dirname(sys.executable), 'saved_model_cli')
    run = subprocess.run([cli, 'run', '--dir', os.path.join(folder, 'simple'), '--tag_set', 'serve',
                          '--signature_def', 'serving_default', '--inputs', 'x=%s/x.npy' % folder, '--outdir', out],
                         capture_output=True, text=True)
    if run.returncode != 0:
        print(run.stderr[-2000:])
        failed.append('saved_model_cli')
    else:
        check('saved_model_cli run', np.load(os.path.join(out, 'y.npy')), expected['y'])


def checkpoints():
    path = tf2.train.latest_checkpoint(os.path.join(folder, 'checkpoints'))
    equal('latest checkpoint', os.path.basename(path), 'model-17')
    for suffix, names in [('-17', None), ('-sharded', None), ('-old', ['hidden/kernel', 'w'])]:
        reader = tf.train.NewCheckpointReader(os.path.join(folder, 'checkpoints', 'model' + suffix))
        for name, want in expected['values'].items():
            if names and name not in names:
                continue
            got = reader.get_tensor(name)
            if want['dtype'] == 'string':
                equal('%s of model%s' % (name, suffix), [x.decode() for x in got.ravel()], want['values'])
            else:
                check('%s of model%s' % (name, suffix), got.astype(np.float64).ravel(), want['values'])
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(path + '.meta')
        saver.restore(sess, path)
        check('import_meta_graph and restore', sess.run('y:0', {'x:0': feed}), expected['y'])
        trainable = sorted(v.name for v in tf.trainable_variables())
        equal('its variables', trainable, ['hidden/bias:0', 'hidden/kernel:0', 'table/part_0:0', 'table/part_1:0', 'w:0'])
        equal('its global step', int(sess.run(tf.train.get_global_step(graph))), 17)
        saver.save(sess, os.path.join(folder, 'checkpoints', 'theirs'), write_state=False)
    with tf.Graph().as_default(), tf.Session() as sess:
        definition = tf.GraphDef()
        with open(os.path.join(folder, 'frozen.pb'), 'rb') as f:
            definition.ParseFromString(f.read())
        y, = tf.import_graph_def(definition, return_elements=['y:0'], name='')
        check('frozen graph', sess.run(y, {'x:0': feed}), expected['y'])
    with tf.Graph().as_default():
        from google.protobuf import text_format
        definition = tf.GraphDef()
        with open(os.path.join(folder, 'graph.pbtxt')) as f:
            text_format.Parse(f.read(), definition)
        tf.import_graph_def(definition, name='')
        print('ok    graph as text')


def write_theirs():
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../golden/savedModels.py')
    subprocess.run([sys.executable, golden, os.path.join(folder, 'theirs')], check=True, capture_output=True)
    models = {
        'theirs/v1': {'feeds': {'x': [[1, 10]]}, 'outputs': {'y': [32, 43], 'words': ['one\ntwo\n']}},
        'theirs/v2': {'feeds': {'x': [[1, 0], [0, 1]]}, 'outputs': {'y': [12, 18, 24, 36, 42, 48], 'calls': [1]}},
    }
    values = {}
    for name, want in expected['values'].items():
        values[name] = want['values'] if want['dtype'] == 'string' else [round(x * 1e4) / 1e4 for x in want['values']]
    with open(os.path.join(folder, 'theirs.json'), 'w') as f:
        json.dump({'models': models, 'checkpoints': {'checkpoints/theirs': values}}, f)


saved_models()
checkpoints()
write_theirs()
sys.exit(1 if failed else 0)
