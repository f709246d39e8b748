"""Runs the graph that wrote a folder's `ours` in TensorFlow, writes `theirs`, and compares what TensorBoard finds in both."""
import json
import os
import sys

import numpy as np
import tensorflow
from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator

tf = tensorflow.compat.v1
tf.disable_eager_execution()
folder = sys.argv[1]


def write_theirs():
    with open(os.path.join(folder, 'run.json')) as file:
        run = json.load(file)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        with open(os.path.join(folder, 'graph.pb'), 'rb') as file:
            tf.import_graph_def(tf.GraphDef.FromString(file.read()), name='')
        writer = tf.summary.FileWriter(os.path.join(folder, 'theirs'), graph)
        for step, feed in enumerate(run['feeds']):
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            summary = session.run(run['merged'], {'x:0': np.array(feed, np.float32)}, options, metadata)
            writer.add_summary(summary, step)
            writer.add_run_metadata(metadata, 'step%d' % step, step)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.CHECKPOINT, checkpoint_path='model-3'), step)
        writer.close()


def loaded(name, module):
    guidance = {key: 0 for key in module.DEFAULT_SIZE_GUIDANCE}
    accumulator = module.EventAccumulator(os.path.join(folder, name), size_guidance=guidance)
    accumulator.Reload()
    return accumulator


def plain(event):
    """An event without its time; pictures as pixels, for compressed bytes may differ."""
    fields = dict(event._asdict() if hasattr(event, '_asdict') else vars(event))
    fields.pop('wall_time')
    if 'encoded_image_string' in fields:
        with tf.Graph().as_default(), tf.Session() as session:
            pixels = session.run(tf.image.decode_png(fields['encoded_image_string']))
        fields['encoded_image_string'] = pixels.tolist()
    tensor = fields.pop('tensor_proto', None)
    if tensor is not None:
        value = tensorflow.make_ndarray(tensor)
        if value.dtype == object and value.ndim == 1 and any(x.startswith(b'\x89PNG') for x in value):
            with tf.Graph().as_default(), tf.Session() as session:
                value = [session.run(tf.image.decode_png(x)).tolist() if x.startswith(b'\x89PNG') else x for x in value]
        fields['value'] = repr(value)
        fields['dtype'] = tensor.dtype
    return fields


failures = 0
compared = 0


def compare(what, ours, theirs):
    global failures, compared
    compared += 1
    if ours != theirs:
        failures += 1
        print('%s differ:\n  ours   %.300s\n  theirs %.300s' % (what, ours, theirs))


def compare_all():
    ours, theirs = (loaded(name, event_accumulator) for name in ('ours', 'theirs'))
    compare('tags', ours.Tags(), theirs.Tags())
    for kind, getter in [('scalars', 'Scalars'), ('histograms', 'Histograms'), ('images', 'Images'), ('audio', 'Audio'),
                         ('tensors', 'Tensors'), ('distributions', 'CompressedHistograms')]:
        for tag in theirs.Tags()[kind]:
            lists = [[plain(e) for e in getattr(a, getter)(tag)] for a in (ours, theirs)]
            compare('%s of %s' % (kind, tag), *lists)
    names = [[node.name for node in a.Graph().node] for a in (ours, theirs)]
    compare('graphs', *names)
    for a in (ours, theirs):
        assert a.MetaGraph().graph_def.node
        for tag in a.Tags()['run_metadata']:
            assert a.RunMetadata(tag).step_stats.dev_stats
    run_tags = theirs.Tags()['run_metadata']
    ours, theirs = (loaded(name, plugin_event_accumulator) for name in ('ours', 'theirs'))
    compare('plugin tags', ours.Tags(), theirs.Tags())
    for plugin in theirs.PluginTagToContent.__self__._plugin_to_tag_to_content:
        compare('contents of plugin ' + plugin, ours.PluginTagToContent(plugin), theirs.PluginTagToContent(plugin))
    for tag in theirs.Tags()['tensors']:
        # Graphs were compared above; times differ from run to run.
        if tag.startswith('__') or tag in run_tags:
            continue
        compare('metadata of ' + tag, str(ours.SummaryMetadata(tag)), str(theirs.SummaryMetadata(tag)))
        compare('plugin data of ' + tag, *[[plain(e) for e in a.Tensors(tag)] for a in (ours, theirs)])


write_theirs()
compare_all()
print('%d comparisons of what TensorBoard reads, %d differ' % (compared, failures))
sys.exit(1 if failures else 0)
