"""Random files of comma-separated values, right and wrong ones, and what TensorFlow's CsvDataset makes of them.

    python tools/golden/csvDataset.py test/golden/data
"""
import json
import os
import random
import re
import sys
import tempfile

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow as tf

types = {'f': tf.float32, 'd': tf.float64, 'i': tf.int32, 'l': tf.int64, 's': tf.string}
defaults = {'f': 2.5, 'd': -1.25, 'i': 3, 'l': 1 << 40, 's': 'none'}
numbers = ['1.5', '-2', '1e3', ' 4 ', 'nan', '-inf', '0x1f', '1e400', '.5', 'x', '1.', '7 8', '1e', '+3', 'infinity', '0.1234567890123456789']
integers = ['1', '-7', '+5', ' 12 ', '2147483648', '9223372036854775808', '-9223372036854775808', '1.0', 'x', '007', '0x10', '']
texts = ['text', '\u00e9', 'a b', "'q'", ' "x"', '\t', ';', 'x;y']
odd = ['', '', '', 'NA', 'NA', '"q""x"', '"q""x"', '"a"b"', '"x\ny"', 'a"b', '"open', '"1.5"', '"1.5"', '"a"b\nc"']
random.seed(7)


def field(kind):
    if random.random() < 0.3:
        return random.choice(odd)
    return random.choice(numbers if kind in 'fd' else integers if kind in 'il' else texts)


def case():
    wanted = random.randint(1, 3)
    kinds = ''.join(random.choice('fdils') for _ in range(wanted))
    columns = wanted + random.choice([0, 0, 1, 2])
    chosen = sorted(random.sample(range(columns), wanted))
    every = ['s'] * columns
    for kind, column in zip(kinds, chosen):
        every[column] = kind
    others = [c for c in range(columns) if c not in chosen]
    selects = random.random() < 0.5
    delimiter = random.choice(',,,;\t')
    end = random.choice(['\n', '\n', '\r\n', '\r'])
    rows = []
    for _ in range(random.randint(0, 6)):
        width = columns if random.random() < 0.85 else random.randint(1, columns + 2)
        rows.append(delimiter.join(field((every + ['s', 's'])[c]) for c in range(width)))
    return {
        'content': end.join(rows) + random.choice([end, '']),
        'types': kinds,
        'defaults': [None if random.random() < 0.4 else defaults[kind] for kind in kinds],
        'header': random.random() < 0.25,
        'delimiter': delimiter,
        'quotes': random.random() < 0.85,
        'missing': random.choice(['', 'NA']),
        'select': chosen if selects and columns > wanted else [],
        'exclude': [] if selects else others,
    }


def shown(kind, value):
    value = value.numpy()
    return value.decode() if kind == 's' else str(value.item()) if kind in 'il' else value.tobytes().hex()


def outcomes(c, path):
    """Elements and messages, from two files with the same content."""
    with open(path, 'w', newline='') as file:
        file.write(c['content'])
    columns = [types[kind] if x is None else tf.constant([x], types[kind]) for kind, x in zip(c['types'], c['defaults'])]
    chosen = {key: c[name] for key, name in {'select_cols': 'select', 'exclude_cols': 'exclude'}.items() if c[name]}
    iterator = iter(tf.data.experimental.CsvDataset(
        [path, path], columns, header=c['header'], field_delim=c['delimiter'], use_quote_delim=c['quotes'],
        na_value=c['missing'], **chosen))
    found = []
    while True:
        try:
            found.append([shown(kind, x) for kind, x in zip(c['types'], next(iterator))])
        except StopIteration:
            return found
        except tf.errors.InvalidArgumentError as error:
            found.append(re.sub(r'\{\{[^}]*\}\} ?| \[Op:.*', '', error.message))


cases = [case() for _ in range(150)]
with tempfile.TemporaryDirectory() as folder:
    for c in cases:
        c['outcomes'] = outcomes(c, os.path.join(folder, 'x.csv'))
with open(os.path.join(sys.argv[1], 'csvRecords.json'), 'w') as file:
    file.write('[\n' + ',\n'.join(json.dumps(c) for c in cases) + '\n]\n')
