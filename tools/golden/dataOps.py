"""Golden values for test/whole/data/ops: datasets by ops that have no function in tf.data, and files that TensorFlow writes.

    python tools/golden/dataOps.py test/golden/data

Writes ops.json, csv.json, and the folders saved/ (a dataset saved in shards) and csv/ (what csv.json was read from).
"""
import json
import os
import shutil
import sys

from graphMode import plain, tf
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.ops import gen_experimental_dataset_ops as raw

tf.logging.set_verbosity('FATAL')
D, E = tf.data.Dataset, tf.data.experimental
target = sys.argv[1]
numbers = {'output_types': [tf.int64], 'output_shapes': [[None]]}
rows = tf.TensorSpec([None], tf.int64)


def made(variant):
    return dataset_ops._VariantDataset(variant, rows)


def rebatched(sizes, drop):
    return made(raw.rebatch_dataset_v2(D.range(10).batch(4)._variant_tensor, sizes, drop, **numbers))


def split(replicas):
    return made(raw.rebatch_dataset(D.range(10).batch(4)._variant_tensor, replicas, **numbers))


def sliding(size, shift, stride, drop=True):
    return made(raw.sliding_window_dataset(
        D.range(7)._variant_tensor, size, shift, stride, drop_remainder=drop, **numbers))

OPS = {
    'rebatch 3': lambda: rebatched(3, False),
    'rebatch 3 without remainder': lambda: rebatched(3, True),
    'rebatch [2, 1, 4]': lambda: rebatched([2, 1, 4], False),
    'rebatch [0, 3]': lambda: rebatched([0, 3], False),
    'split 2': lambda: split(2),
    'split 3': lambda: split(3),
    'sliding 3 2 1': lambda: sliding(3, 2, 1),
    'sliding 3 2 2': lambda: sliding(3, 2, 2),
    'sliding 3 2 1 with remainder': lambda: sliding(3, 2, 1, False),
}


def run(make):
    with tf.Graph().as_default() as graph:
        iterator = tf.data.make_initializable_iterator(make())
        element = iterator.get_next()
        elements = []
        with tf.Session() as session:
            session.run(iterator.initializer)
            while True:
                try:
                    elements.append(plain(session.run(element)))
                except tf.errors.OutOfRangeError:
                    return {'elements': elements, 'nodes': [[n.name, n.op] for n in graph.as_graph_def().node]}


def write(name, value):
    with open(os.path.join(target, name), 'w') as file:
        file.write(json.dumps(value) + '\n')


write('ops.json', {name: run(make)['elements'] for name, make in OPS.items()})

saved = os.path.join(target, 'saved')
shutil.rmtree(saved, ignore_errors=True)
with tf.Graph().as_default(), tf.Session() as session:
    dataset = D.range(7).map(lambda x: (x, tf.strings.as_string(x), tf.fill([x], 0.5)))
    session.run(dataset.save(saved, shard_func=lambda x, *_: x % 2))

csv = os.path.join(target, 'csv')
shutil.rmtree(csv, ignore_errors=True)
os.makedirs(csv)
for name, lines in {
    'a.csv': 'id,price,name,large,note\n1,2.5,"a, b",5000000000,\n2,3,c,7,n/a\n3,n/a,"d ""e""",8,x\n',
    'b.csv': 'id,price,name,large,note\n4,4.5,f,9,y\n5,5.5,"two\nlines",10,z\n',
}.items():
    with open(os.path.join(csv, name), 'w') as file:
        file.write(lines)
pattern = os.path.join(csv, '*.csv')
write('csv.json', {
    'in order': run(lambda: E.make_csv_dataset(pattern, 2, num_epochs=1, shuffle=False, na_value='n/a')),
    'with a label': run(lambda: E.make_csv_dataset(
        pattern, 3, label_name='price', num_epochs=1, shuffle=False, na_value='n/a', select_columns=['name', 'price'])),
    'shuffled': run(lambda: E.make_csv_dataset(
        pattern, 2, num_epochs=2, shuffle_seed=3, na_value='n/a', select_columns=['id'])),
    'with defaults': run(lambda: E.make_csv_dataset(
        pattern, 4, column_defaults=[tf.int64, [-1.5]], select_columns=[0, 1], num_epochs=1, shuffle=False,
        na_value='n/a')),
})
