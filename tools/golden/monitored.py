"""Writes test/golden/monitored.json: the nodes, files, events and values of TensorFlow's monitored training.

Run: TF_CPP_MIN_LOG_LEVEL=3 /opt/tfenv/bin/python tools/golden/monitored.py
"""
import glob
import json
import os
import re
import shutil
import tempfile

from graphMode import tf

tf.logging.set_verbosity(tf.logging.ERROR)


def model():
    w = tf.get_variable('w', [2], initializer=tf.constant_initializer([1.0, -2.0]))
    tf.get_local_variable('seen', [], initializer=tf.zeros_initializer())
    loss = tf.reduce_sum(w * w, name='loss')
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar('losses/total', loss)
    return tf.train.GradientDescentOptimizer(0.25).minimize(loss, step)


def nodes(graph):
    return [[n.name, n.op, list(n.input)] for n in graph.as_graph_def().node]


def events(folder):
    listed = []
    for path in sorted(glob.glob(folder + '/events*')):
        for e in tf.train.summary_iterator(path):
            if e.WhichOneof('what') == 'summary':
                # Steps per second differ from run to run.
                listed.append(['summary', e.step, [v.tag for v in e.summary.value],
                               [v.simple_value for v in e.summary.value if not v.tag.endswith('/sec')]])
            else:
                listed.append([e.WhichOneof('what'), e.step, e.session_log.status,
                               os.path.basename(e.session_log.checkpoint_path)])
    return listed


def files(folder):
    return sorted(re.sub(r'tfevents.*', 'tfevents', name) for name in os.listdir(folder))


def monitored():
    folder = tempfile.mkdtemp()
    result = {}
    for name, last in [('first', 5), ('again', 7)]:
        with tf.Graph().as_default() as graph:
            train = model()
            hooks = [tf.train.StopAtStepHook(last_step=last)]
            values = []
            with tf.train.MonitoredTrainingSession(
                    checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=2, save_summaries_steps=2,
                    log_step_count_steps=2) as session:
                while not session.should_stop():
                    values.append(float(session.run([train, 'loss:0'])[1]))
            result[name] = {'values': values, 'nodes': nodes(graph)}
        tf.summary.FileWriterCache.clear()
        result[name].update(files=files(folder), events=events(folder))
        for path in glob.glob(folder + '/events*'):
            os.remove(path)
    shutil.rmtree(folder)
    return result


def supervised():
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default() as graph:
        train = model()
        supervisor = tf.train.Supervisor(logdir=folder, save_summaries_secs=0, save_model_secs=0)
        with supervisor.managed_session() as session:
            session.run(train)
        result = {'nodes': nodes(graph), 'files': files(folder), 'events': events(folder)}
    shutil.rmtree(folder)
    return result

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../test/golden/monitored.json')
with open(path, 'w') as file:
    json.dump({'monitored': monitored(), 'supervised': supervised()}, file, separators=(',', ':'))
    file.write('\n')
