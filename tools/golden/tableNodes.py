"""Writes test/golden/front/lookup.json: the nodes, collections and values of TensorFlow's lookup tables.

Run: TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/tableNodes.py
The words of a file are those of the TypeScript test, which has the same cases.
"""
import json
import os
import tempfile

from front import TARGET, built, tf
from tensorflow.python.ops import lookup_ops

WORDS = "brain\nsalad\nsurgery\n"
lookup = tf.lookup


def filled(lookups):
    """What `lookups` gives when all tables are filled."""
    with tf.control_dependencies([tf.tables_initializer()]):
        return lookups()


def static():
    table = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [7, 8]), -1)
    return filled(lambda: [table.lookup(tf.constant([["b", "x"], ["a", "b"]])), table.size()]), {}


def static_file(path):
    index = lookup.TextFileIndex
    words = lookup.TextFileInitializer(path, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    table = lookup.StaticHashTable(words, -1, name="mine")
    return filled(lambda: [table.lookup(tf.constant(["salad", "x"])), table.size()]), {}


def vocabulary():
    words = lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([0, 1], tf.int64))
    table = lookup.StaticVocabularyTable(words, 3)
    return filled(lambda: [table.lookup(tf.constant(["b", "x", "yy", "z"])), table.size()]), {}


def buckets_only():
    table = lookup.StaticVocabularyTable(None, 5)
    return filled(lambda: [table.lookup(tf.constant(["b", "x", "yy", "z"])), table.size()]), {}


def index_tensor():
    table = lookup_ops.index_table_from_tensor(["a", "b"], num_oov_buckets=2)
    return filled(lambda: [table.lookup(tf.constant(["b", "x", "yy", "z"])), table.size()]), {}


def index_integers():
    table = lookup_ops.index_table_from_tensor([3, 4], num_oov_buckets=4, dtype=tf.int32, hasher_spec=lookup_ops.StrongHashSpec([1, 2]))
    return filled(lambda: [table.lookup(tf.constant([4, 5, 6, 3]))]), {}


def index_file(path):
    table = lookup_ops.index_table_from_file(path, vocab_size=2, default_value=9)
    return filled(lambda: [table.lookup(tf.constant(["brain", "salad", "surgery"]))]), {}


def index_file_buckets(path):
    table = lookup_ops.index_table_from_file(path, num_oov_buckets=3, name="ids")
    return filled(lambda: [table.lookup(tf.constant(["salad", "tarkus", "x", "y"])), table.size()]), {}


def to_string_file(path):
    table = lookup_ops.index_to_string_table_from_file(path)
    return filled(lambda: [tf.strings.length(table.lookup(tf.constant([1, 5], tf.int64)))]), {}


def to_string_tensor():
    table = lookup_ops.index_to_string_table_from_tensor(["x", "yyyy"], default_value="none")
    return filled(lambda: [tf.strings.length(table.lookup(tf.constant([1, 5, 0], tf.int64)))]), {}


def mutable():
    table = lookup_ops.MutableHashTable(tf.string, tf.int64, -1)
    with tf.control_dependencies([table.insert(["a", "b"], [1, 2])]):
        found = table.lookup(["b", "x"])
    with tf.control_dependencies([found]):
        gone = table.remove(tf.constant(["a"]))
    with tf.control_dependencies([gone]):
        return [found, table.size()], {}


def mutable_vectors():
    table = lookup_ops.MutableHashTable(tf.int64, tf.float32, [0.5, 1.5], name="vectors", checkpoint=False)
    with tf.control_dependencies([table.insert([3], [[1.0, 2.0]])]):
        return [table.lookup([3, 4]), table.lookup([3, 4], dynamic_default_values=[[7.0, 8.0], [9.0, 10.0]])], {}


def dense():
    table = lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -2, initial_num_buckets=8, name="dense")
    with tf.control_dependencies([table.insert([11, 12], [1, 2])]):
        found = table.lookup([11, 13])
    with tf.control_dependencies([found]):
        gone = table.erase(tf.constant([11], tf.int64))
    with tf.control_dependencies([gone]):
        return [found, table.size(), *table.export()], {}


def saved():
    lookup_ops.MutableHashTable(tf.string, tf.int64, -1)
    lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -2, initial_num_buckets=8)
    tf.train.Saver()
    return [], {}


KEYS = [tf.GraphKeys.TABLE_INITIALIZERS, tf.GraphKeys.ASSET_FILEPATHS, tf.GraphKeys.SAVEABLE_OBJECTS]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        words = os.path.join(folder, "words.txt")
        with open(words, "w") as file:
            file.write(WORDS)
        plain = [static, vocabulary, buckets_only, index_tensor, index_integers, to_string_tensor, mutable, mutable_vectors, dense, saved]
        of_files = [static_file, index_file, index_file_buckets, to_string_file]
        rows = {case.__name__: built(case, KEYS) for case in plain}
        rows.update({case.__name__: built(lambda: case(words), KEYS) for case in of_files})
    with open(os.path.join(TARGET, "lookup.json"), "w") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
