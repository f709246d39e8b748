"""Writes test/golden/publicNames.json: the public functions and classes of tf.compat.v1, by module."""
import inspect
import json
import os
import pathlib

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow.compat.v1 as tf  # noqa: E402

MODULES = [
    '', 'bitwise', 'debugging', 'initializers', 'layers', 'linalg', 'losses', 'math', 'metrics', 'nn', 'random',
    'signal', 'sparse', 'strings', 'summary', 'train', 'image', 'errors', 'test', 'graph_util',
    'data', 'data.experimental', 'io', 'queue', 'python_io', 'ragged', 'gfile', 'logging', 'saved_model',
]


def is_public(name, value):
    return not name.startswith('_') and (callable(value) or isinstance(value, tf.DType)) and not inspect.ismodule(value)


def module(path):
    found = tf
    for part in path.split('.') if path else []:
        found = getattr(found, part)
    return found


names = {path: sorted(n for n, v in vars(module(path)).items() if is_public(n, v)) for path in MODULES}
target = pathlib.Path(__file__).parents[2] / 'test/golden/publicNames.json'
target.write_text(json.dumps(names, indent=1) + '\n')
