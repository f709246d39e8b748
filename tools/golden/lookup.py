"""Writes test/golden/lookup.json: what TensorFlow's lookup tables answer, step by step, and what they refuse.

Run: python -P tools/golden/lookup.py > test/golden/lookup.json
"""
import json
import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def array(dtype, values):
    return np.array(values, object if dtype == 'string' else tf.as_dtype(dtype).as_numpy_dtype)


def encoded(value):
    value = np.asarray(value)
    is_text = value.dtype.kind in 'OS'
    return {
        'dtype': 'string' if is_text else value.dtype.name,
        'shape': list(value.shape),
        'value': [x.decode('latin1') if isinstance(x, bytes) else str(x) if value.dtype == np.int64 else x for x in value.ravel().tolist()],
    }


def given(dtype, values):
    return encoded(np.array([x.encode('latin1') for x in np.array(values, object).ravel()], object).reshape(np.shape(values)) if dtype == 'string' else array(dtype, values))


def tensor(record):
    values = record['value']
    if record['dtype'] == 'string':
        values = [x.encode('latin1') for x in values]
    elif record['dtype'] == 'int64':
        values = [int(x) for x in values]
    return tf.constant(array(record['dtype'], values).reshape(record['shape']), record['dtype'])


def complaint(error):
    if not isinstance(error, tf.errors.OpError):
        return {'error': type(error).__name__, 'message': str(error).split('\n')[0]}
    text = error.message.split('\n')
    node = next((i for i, line in enumerate(text) if line.startswith('Node: ')), -1)
    first = text[node + 1].split('\n')[0]
    for mark in ('{{node', ' [[', '\t ['):
        first = first.split(mark)[0]
    return {'error': type(error).__name__, 'message': first.strip()}


rows = []


def scenario(name, table, steps):
    """`table` is (op, attributes, inputs); a step (op, inputs, attributes)."""
    op, attrs, inputs = table
    record = {'name': name, 'table': {'op': op, 'attrs': attrs, 'inputs': {k: given(*v) for k, v in inputs.items()}}, 'steps': []}
    rows.append(record)
    with tf.Graph().as_default(), tf.Session() as sess:
        # The type of keys is that of the keys where a maker takes any.
        options = {k: v for k, v in attrs.items() if k != 'key_dtype' or not inputs}
        handle = getattr(tf.raw_ops, op)(**{k: tensor(v) for k, v in record['table']['inputs'].items()}, **options)
        for step, arguments, options in steps:
            item = {'op': step, 'inputs': {k: given(*v) for k, v in arguments.items()}, 'attrs': options}
            record['steps'].append(item)
            try:
                # Buckets are loaded from files, of which no shape is known.
                hides = step == 'LookupTableImportV2' and len(item['inputs']['keys']['shape']) == 2
                values = {k: tf.placeholder_with_default(tensor(v), None) if hides else tensor(v) for k, v in item['inputs'].items()}
                result = getattr(tf.raw_ops, step)(table_handle=handle, **values, **options)
                got = sess.run(result)
                item['results'] = [] if got is None else [encoded(x) for x in (got if isinstance(got, tuple) else [got])]
            except Exception as error:
                item.update(complaint(error))


def find(keys, default):
    return ('LookupTableFindV2', {'keys': keys, 'default_value': default}, {})


def insert(keys, values, op='LookupTableInsertV2'):
    return (op, {'keys': keys, 'values': values}, {})


def remove(keys):
    return ('LookupTableRemoveV2', {'keys': keys}, {})


def export(key, value):
    return ('LookupTableExportV2', {}, {'Tkeys': key, 'Tvalues': value})


size = ('LookupTableSizeV2', {}, {})


def strings(*x):
    return ('string', list(x))


def longs(*x):
    return ('int64', list(x))


def types(key, value, **more):
    return {'key_dtype': key, 'value_dtype': value, **more}


def init(keys, values):
    return insert(keys, values, 'InitializeTableV2')


def load(keys, values):
    return insert(keys, values, 'LookupTableImportV2')


for key, keys in [('string', ['a', 'b', 'c']), ('int64', [3, -4, 5]), ('int32', [3, 4, 5])]:
    for value, values in [('int64', [1, 2, 3]), ('float32', [1.5, 2, 3]), ('float64', [0.1, 2, 3]), ('int32', [1, 2, 3]), ('bool', [True, False, True]),
                          ('string', ['x', 'yy', '']), ('int8', [1, 2, 3]), ('float16', [1, 2, 3])]:
        zero = {'bool': False, 'string': '?'}.get(value, 0)
        again = (key, [keys[1], keys[0], keys[1]])
        for op in ('HashTableV2', 'MutableHashTableV2'):
            scenario(f'{op} {key} to {value}', (op, types(key, value), {}),
                     [load((key, keys), (value, values)), find(again, (value, zero)), find((key, [keys]), (value, zero)), find((key, keys[0]), (value, zero)), size])
        empty, deleted = ('', '$') if key == 'string' else (-1, -2)
        scenario(f'dense {key} to {value}', ('MutableDenseHashTableV2', types(key, value, initial_num_buckets=8), {'empty_key': (key, empty), 'deleted_key': (key, deleted)}),
                 [insert((key, keys), (value, values)), find(again, (value, zero)), size, export(key, value)])

scenario('filled once', ('HashTableV2', types('string', 'int64'), {}), [
    find(strings('a'), ('int64', -1)), size, init(strings('a', 'b'), longs(1, 2)), init(strings('a', 'b'), longs(1, 2)), init(strings('b', 'a'), longs(2, 1)),
    init(strings('a', 'b'), longs(1, 3)), init(strings('a'), longs(1)), insert(strings('c'), longs(3)), remove(strings('a')), size,
    find(strings('b', 'x'), ('int64', -1)), find(strings('b', 'x'), longs(7, 8)), find(strings('b', 'x'), longs(7, 8, 9)), find(('int64', [1]), ('int64', -1)),
    find(strings('b'), ('float32', -1)),
])
scenario('two values for one key', ('HashTableV2', types('string', 'int64'), {}), [
    init(strings('a', 'a'), longs(1, 1)), size])
scenario('two different values for one key', ('HashTableV2', types('string', 'int64'), {}), [init(strings('a', 'b', 'a'), longs(1, 2, 3)), size])
scenario('keys without values', ('HashTableV2', types('string', 'int64'), {}), [init(strings('a', 'b', 'a'), longs(1, 2)), load(strings('a', 'b'), longs(1)), size])
scenario('nothing', ('HashTableV2', types('string', 'int64'), {}), [init(strings(), longs()), load(strings(), longs()), size, find(strings('a'), ('int64', -1))])
scenario('filled with a matrix', ('HashTableV2', types('int64', 'int64'), {}), [load(('int64', [[1, 2], [3, 4]]), ('int64', [[5, 6], [7, 8]])), size, find(longs(4, 1), ('int64', 0))])
scenario('other types', ('HashTableV2', types('string', 'int64'), {}), [init(('int64', [1]), longs(1)), load(strings('a'), ('float32', [1]))])

scenario('mutable', ('MutableHashTableV2', types('string', 'int64'), {}), [
    size, find(strings('a'), ('int64', -1)), insert(strings('a', 'b', 'a'), longs(1, 2, 3)), size, find(strings('a', 'b', 'c'), ('int64', -1)), insert(strings('a'), longs(9)),
    find(strings('a', 'c'), longs(7, 8)), find(strings('a', 'c'), longs(7, 8, 9)), remove(strings('a', 'zz')), size, find(strings('a', 'b'), ('int64', -1)), export('string', 'int64'),
    load(strings('q'), longs(4)), size, export('string', 'int64'), insert(strings('a', 'b'), longs(1)), insert(strings(), longs()), load(strings(), longs()), size,
    init(strings('a'), longs(1)), find(('float32', [1.0]), ('int64', -1)), insert(('int64', [1]), longs(1)), remove(('int64', [1])), export('string', 'float32'),
])
scenario('mutable by matrix', ('MutableHashTableV2', types('int64', 'float32'), {}), [
    insert(('int64', [[1, 2], [3, 4]]), ('float32', [[.5, 1.5], [2.5, 3.5]])), size, find(('int64', [[4, 9]]), ('float32', -1)), find(('int64', [[4, 9]]), ('float32', [[7, 8]]))])
scenario('mutable of vectors', ('MutableHashTableOfTensorsV2', types('string', 'int64', value_shape=[2]), {}), [
    insert(strings('a', 'b'), ('int64', [[1, 2], [3, 4]])), find(strings('b', 'c'), longs(-1, -2)), find(strings('b', 'c'), ('int64', [[5, 6], [7, 8]])),
    find(strings('b', 'c'), ('int64', -1)), find(('string', [['b'], ['c']]), longs(-1, -2)), insert(strings('a'), longs(1, 2)), insert(strings('a', 'b'), ('int64', [[1, 2]])),
    remove(strings('b')), size, export('string', 'int64'), find(strings('a'), ('int64', [-1, -2, -3])),
])
scenario('mutable of matrices', ('MutableHashTableOfTensorsV2', types('string', 'int64', value_shape=[2, 2]), {}), [insert(strings('a'), ('int64', [[[1, 2], [3, 4]]]))])


def dense(name, attrs, empty, deleted, steps):
    scenario(name, ('MutableDenseHashTableV2', attrs, {'empty_key': empty, 'deleted_key': deleted}), steps)


dense('dense', types('int64', 'int64', initial_num_buckets=8), ('int64', 0), ('int64', -1), [
    size, find(longs(1), ('int64', -5)), insert(longs(11, 12, 13, 14), longs(1, 2, 3, 4)), size, find(longs(11, 12, 15), ('int64', -5)), insert(longs(12, 15), longs(20, 30)), size,
    find(longs(11, 12, 15), ('int64', -5)), export('int64', 'int64'), remove(longs(12, 15, 99)), size, export('int64', 'int64'), insert(longs(20, 28, 36), longs(5, 6, 7)), size,
    export('int64', 'int64'), find(longs(20, 28, 36, 12), ('int64', -5)), find(longs(0, 1), ('int64', -5)), find(longs(-1), ('int64', -5)), insert(longs(1, 0), longs(1, 2)),
    insert(longs(-1), longs(2)), remove(longs(0)), remove(longs(-1)), size, find(('int64', 11), ('int64', -5)), find(('int64', [[11, 13]]), ('int64', -5)),
    find(longs(11, 99), longs(6, 7)), insert(longs(1, 2), longs(1)), find(strings('a'), ('int64', -5)), insert(('int64', 50), ('int64', 1)),
])
dense('dense that meets itself', types('int64', 'int64', initial_num_buckets=8), ('int64', 0), ('int64', -1), [
    insert(longs(11, 12, 13, 19, 27, 35), longs(51, 52, 53, 54, 54, 54)), insert(longs(10, 11, 19), longs(1, 2, 3)), export('int64', 'int64'), find(longs(10, 11, 12, 13, 14, 19, 27, 35, 43), ('int64', -1))])
dense('dense that grows', types('int64', 'float32', initial_num_buckets=4), ('int64', 0), ('int64', -1), [
    insert(longs(*range(11, 15)), ('float32', [1, 2, 3, 4])), export('int64', 'float32'), insert(longs(*range(5, 11)), ('float32', [5, 6, 7, 8, 9, 10])), export('int64', 'float32')])
dense('dense by a load', types('int64', 'int64', initial_num_buckets=8, max_load_factor=0.25), ('int64', 0), ('int64', -1), [
    insert(longs(1, 2), longs(1, 2)), export('int64', 'int64'), insert(longs(1), longs(4)), export('int64', 'int64')])
dense('dense by words', types('string', 'int64', initial_num_buckets=16), ('string', ''), ('string', '$'), [
    insert(strings('brain', 'salad', 'surgery', 'größe', 'a much longer word than sixteen bytes'), longs(0, 1, 2, 3, 4)), export('string', 'int64'), find(strings('salad', 'tarkus'), ('int64', -1)),
    remove(strings('salad')), export('string', 'int64'), insert(strings(''), longs(1)), find(strings('$'), ('int64', 1))])
dense('dense by vectors', types('int64', 'int64', initial_num_buckets=8), longs(0, 0), longs(-1, -1), [
    insert(('int64', [[0, 1], [1, 2], [1, 3], [9, 9]]), longs(10, 11, 12, 13)), size, find(('int64', [[0, 1], [1, 3], [0, 2]]), ('int64', -1)), export('int64', 'int64'),
    find(longs(0, 1), ('int64', -1)), remove(('int64', [[1, 2]])), size, export('int64', 'int64'), find(('int64', [[0, 0]]), ('int64', -1)), find(('int64', [[1, 2, 3]]), ('int64', -1)), insert(('int64', [[5]]), longs(1))])
dense('dense vectors', types('int64', 'int64', value_shape=[3], initial_num_buckets=4), ('int64', 0), ('int64', -1), [
    insert(longs(11, 12), ('int64', [[0, 1, 2], [3, 4, 5]])), size, find(longs(11, 13), longs(-1, -2, -3)), export('int64', 'int64'), find(longs(11), ('int64', -1)),
    insert(longs(11, 12), ('int64', [[0, 1], [3, 4]])), insert(longs(11, 12), longs(0, 1))])
dense('dense loaded', types('int64', 'int64', initial_num_buckets=4), ('int64', 0), ('int64', -1), [
    load(longs(0, 9), longs(0, 5)), load(('int64', [[0], [9], [0], [-1], [0], [0], [0], [0]]), ('int64', [[0], [5], [0], [0], [0], [0], [0], [0]])), size, find(longs(9), ('int64', -5)), insert(longs(17), longs(6)), export('int64', 'int64'),
    load(('int64', [[1], [2], [3]]), ('int64', [[1], [2], [3]])), size, find(longs(1), ('int64', -5)), load(('int64', [[1], [2]]), ('int64', [[1]])), load(('int64', [[5], [6]]), longs(1, 2)), size])
dense('dense of no power of two', types('int64', 'int64', initial_num_buckets=12), ('int64', 0), ('int64', -1), [size])
dense('dense of no bucket', types('int64', 'int64', initial_num_buckets=0), ('int64', 0), ('int64', -1), [size])
dense('dense of too much load', types('int64', 'int64', max_load_factor=1.5), ('int64', 0), ('int64', -1), [size])
dense('dense of no load', types('int64', 'int64', max_load_factor=0.0), ('int64', 0), ('int64', -1), [size])
dense('dense with one key for both', types('int64', 'int64'), ('int64', 5), ('int64', 5), [size])
dense('dense with keys of two shapes', types('int64', 'int64'), longs(5), longs(5, 6), [size])

for op in ('AnonymousHashTable', 'AnonymousMutableHashTable', 'AnonymousMutableHashTableOfTensors'):
    scenario(op, (op, types('string', 'int64'), {}), [size])
scenario('AnonymousMutableDenseHashTable', ('AnonymousMutableDenseHashTable', types('int64', 'int64'), {'empty_key': ('int64', 0), 'deleted_key': ('int64', -1)}), [size])

print('[\n' + ',\n'.join(json.dumps(row, separators=(',', ':'), ensure_ascii=False) for row in rows) + '\n]')
