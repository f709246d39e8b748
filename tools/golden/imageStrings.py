"""Writes what TensorFlow's image, string and sorting functions build and give: imageStrings.py OUTPUT.

For each case: the nodes as [name, type, inputs], the static shapes and the values of the results. The cases stand under
the same names in test/backend/imageStrings.test.ts, which feeds the same values.
"""
import json
import sys

import numpy as np
from graphMode import tf

image = tf.image

feeds = {}
# The optimizer of TensorFlow 2.21 loses outputs of a batch norm whose moments are constants.
config = tf.ConfigProto()
config.graph_options.rewrite_options.disable_meta_optimizer = True


def x(dtype, shape, static=0, name="x"):
    """A placeholder fed with 0, 37, 74 ... wrapped to the type's use."""
    count = np.arange(int(np.prod(shape)), dtype=np.int64) * 37
    if dtype.is_floating:
        values = (count % 101) / 100
    elif dtype.is_unsigned:
        values = count % 256
    else:
        values = count % 19 - 9
    tensor = tf.placeholder(dtype, shape if static == 0 else static, name=name)
    feeds[tensor] = values.reshape(shape).astype(dtype.as_numpy_dtype)
    return tensor


def size(value, name="o"):
    tensor = tf.placeholder(tf.int32, [], name=name)
    feeds[tensor] = value
    return tensor


def strings(values, static=0):
    array = np.array(values, dtype=object)
    tensor = tf.placeholder(tf.string, array.shape if static == 0 else static, name="x")
    feeds[tensor] = array
    return tensor

F, U = tf.float32, tf.uint8
CASES = {
    "brightness": lambda: image.adjust_brightness(x(F, [4, 4, 3]), 0.5),
    "brightness of bytes": lambda: image.adjust_brightness(x(U, [4, 4, 3]), 0.5),
    "contrast": lambda: image.adjust_contrast(x(F, [4, 4, 3]), 0.5),
    "contrast of bytes": lambda: image.adjust_contrast(x(U, [4, 4, 3]), 0.5),
    "gamma": lambda: image.adjust_gamma(x(U, [4, 4, 3]), 2.5, 0.5),
    "gamma as a tensor": lambda: image.adjust_gamma(x(F, [4, 4, 3]), x(F, [], name="g"), 0.5),
    "hue": lambda: image.adjust_hue(x(U, [4, 4, 3]), 0.25),
    "saturation": lambda: image.adjust_saturation(x(F, [4, 4, 3]), 0.25),
    "random brightness": lambda: image.random_brightness(x(F, [4, 4, 3]), 0.25, seed=7),
    "random contrast": lambda: image.random_contrast(x(F, [4, 4, 3]), 0.25, 0.75, seed=7),
    "random hue": lambda: image.random_hue(x(F, [4, 4, 3]), 0.25, seed=7),
    "random saturation": lambda: image.random_saturation(x(F, [4, 4, 3]), 0.25, 0.75, seed=7),
    "flip left right": lambda: image.flip_left_right(x(F, [2, 3, 1])),
    "flip a batch": lambda: image.flip_up_down(x(F, [2, 3, 2, 1])),
    "flip of unknown size": lambda: image.flip_up_down(x(F, [2, 3, 1], [None, None, 1])),
    "transpose": lambda: image.transpose_image(x(F, [2, 3, 2, 1])),
    "central crop": lambda: image.central_crop(x(F, [4, 6, 1]), 0.5),
    "central crop of a batch": lambda: image.central_crop(x(F, [2, 5, 6, 1]), 0.3),
    "central crop of unknown size": lambda: image.central_crop(x(F, [2, 5, 6, 1], [None, 5, None, 1]), 0.3),
    "crop": lambda: image.crop_to_bounding_box(x(F, [4, 6, 1]), 1, 2, 2, 3),
    "crop of unknown size": lambda: image.crop_to_bounding_box(x(F, [2, 4, 6, 1], [None, None, 6, 1]), 1, 2, 2, 3),
    "crop at a tensor": lambda: image.crop_to_bounding_box(x(F, [4, 6, 1]), size(1), 2, 2, 3),
    "pad": lambda: image.pad_to_bounding_box(x(F, [2, 3, 1]), 1, 2, 4, 6),
    "pad of unknown size": lambda: image.pad_to_bounding_box(x(F, [2, 3, 1], [None, 3, 1]), 1, 2, 4, 6),
    "crop or pad": lambda: image.resize_image_with_crop_or_pad(x(F, [4, 6, 1]), 5, 5),
    "crop or pad of unknown size": lambda: image.resize_image_with_crop_or_pad(
        x(F, [1, 4, 6, 1], [None, None, None, 1]), 5, 5
    ),
    "crop or pad to a tensor": lambda: image.resize_image_with_crop_or_pad(
        x(F, [4, 6, 1], [None, None, 1]), size(5), 5
    ),
    "standardization": lambda: image.per_image_standardization(x(U, [4, 6, 1])),
    "bytes to floats": lambda: image.convert_image_dtype(x(U, [5]), F),
    "floats to bytes": lambda: image.convert_image_dtype(x(F, [5]), U, saturate=True),
    "floats to int32": lambda: image.convert_image_dtype(x(F, [5]), tf.int32),
    "bytes to int16": lambda: image.convert_image_dtype(x(U, [5]), tf.int16),
    "int32 to bytes": lambda: image.convert_image_dtype(x(tf.int32, [5]), U, saturate=True),
    "floats to doubles": lambda: image.convert_image_dtype(x(F, [5]), tf.float64),
    "same type": lambda: image.convert_image_dtype(x(F, [5]), F),
    "grayscale": lambda: image.rgb_to_grayscale(x(U, [2, 2, 3])),
    "from grayscale": lambda: image.grayscale_to_rgb(x(U, [2, 2, 1])),
    "from grayscale of unknown size": lambda: image.grayscale_to_rgb(x(U, [2, 2, 1], [None, 2, 1])),
    "to hsv": lambda: image.rgb_to_hsv(x(F, [2, 2, 3])),
    "from hsv": lambda: image.hsv_to_rgb(x(F, [2, 2, 3])),
    "resize bilinear": lambda: image.resize_bilinear(x(F, [1, 4, 6, 1]), [3, 3]),
    "resize nearest": lambda: image.resize_nearest_neighbor(x(F, [1, 4, 6, 1]), [3, 3], align_corners=True),
    "crop and resize": lambda: image.crop_and_resize(x(F, [1, 4, 6, 1]), [[0, 0, 1, 1.5]], [0], [2, 2]),
    "image gradients": lambda: image.image_gradients(x(F, [1, 3, 4, 1])),
    "total variation": lambda: image.total_variation(x(F, [2, 3, 4, 1])),
    "total variation of one image": lambda: image.total_variation(x(F, [3, 4, 1])),
    "batch norm": lambda: tf.nn.fused_batch_norm(x(F, [2, 2, 2, 3]), x(F, [3]), x(F, [3])),
    "batch norm with moments": lambda: tf.nn.fused_batch_norm(
        x(F, [1, 2, 2, 3]), [1.5] * 3, [0.5] * 3, mean=[0.25] * 3, variance=[2.5] * 3, is_training=False, name="q"
    ),
    "sort": lambda: tf.sort(x(F, [4, 3])),
    "sort downwards": lambda: tf.sort(x(tf.int32, [4, 3]), direction="DESCENDING", axis=0, name="q"),
    "sort bytes": lambda: tf.sort(x(U, [2, 3, 2]), axis=-2),
    "sort of unknown rank": lambda: tf.sort(x(F, [4, 3], None), axis=0),
    "sort from the end, of unknown rank": lambda: tf.sort(x(F, [4, 3], None), axis=-2),
    "argsort": lambda: tf.argsort(x(tf.int32, [3, 3, 2]), axis=0),
    "argsort of a literal": lambda: tf.argsort([3, 1, 2]),
    "argMax": lambda: tf.arg_max(x(F, [2, 3]), 1),
    "join": lambda: tf.string_join([strings(["a", "b"]), "c"], separator="-"),
    "reduce join": lambda: tf.reduce_join(strings([["a", "b"], ["c", "d"]])),
    "reduce join one axis": lambda: tf.reduce_join(
        strings([["a", "b"], ["c", "d"]]), 1, keepdims=True, separator=",", name="q"
    ),
    "reduce join of unknown rank": lambda: tf.reduce_join(strings([["a", "b"], ["c", "d"]], None)),
    "as string": lambda: tf.as_string(x(F, [3]), precision=1),
    "substr": lambda: tf.substr(strings(["hello", "world"]), 1, 2),
    "to number": lambda: tf.string_to_number(strings(["12", "-3"]), tf.int32),
    "strip": lambda: tf.string_strip(strings([" a ", "b"])),
    "regex replace": lambda: tf.regex_replace(strings(["abc", "cab"]), "a(.)", r"\1\1"),
    "regex replace by a tensor": lambda: tf.regex_replace(strings(["abc", "cab"]), tf.constant("a"), "x"),
    "regex full match": lambda: tf.strings.regex_full_match(strings(["abc", "cab"]), "a.*"),
    "length": lambda: tf.strings.length(strings(["abc", ""])),
    "lower": lambda: tf.strings.lower(strings(["ABC", "d"]), encoding="utf-8"),
    "upper": lambda: tf.strings.upper("abc"),
}


def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [plain(v) for v in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def record(build):
    feeds.clear()
    with tf.Graph().as_default() as graph:
        result = build()
        tensors = list(result) if isinstance(result, (list, tuple)) else [result]
        with tf.Session(config=config) as session:
            values = session.run(tensors, feeds)
        nodes = [[op.name, op.type, [t.name for t in op.inputs]] for op in graph.get_operations()]
        shapes = [None if t.shape.rank is None else t.shape.as_list() for t in tensors]
    return {
        "nodes": nodes,
        "shapes": shapes,
        "values": [plain(np.asarray(v).tolist()) for v in values],
        "dtypes": [t.dtype.name for t in tensors],
    }


with open(sys.argv[1], "w") as out:
    lines = [f"{json.dumps(name)}: {json.dumps(record(build))}" for name, build in CASES.items()]
    out.write("{\n" + ",\n".join(lines) + "\n}\n")
