"""Writes test/golden/front/imageFunctions.json with real TensorFlow: nodes and values of functions on images.

Run: TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/imageFunctions.py
"""
import json
import os

import numpy as np
import tensorflow.compat.v1 as tf

from front import TARGET, built
from tensorflow.python.ops import image_ops_impl  # TensorFlow 1's own form of nonMaxSuppressionPadded

IMAGE = ((np.arange(4 * 5 * 3) * 7) % 11).reshape(4, 5, 3).astype(np.float32) / 16
BATCH = ((np.arange(2 * 26 * 25 * 2) * 37) % 101).reshape(2, 26, 25, 2).astype(np.float32) / 101


def of(apply, array, shape=None):
    def make():
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, array.shape if shape is None else shape, name="x")
        y = apply(x)
        return (list(y) if isinstance(y, (list, tuple)) else [y]), {x: array}
    return make


BOXES = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 0.5, 1.0, 0.6]]
CASES = {
    "randomFlipLeftRight": of(lambda x: tf.image.random_flip_left_right(x, seed=3), IMAGE),
    "randomFlipUpDownBatch": of(lambda x: tf.image.random_flip_up_down(x, seed=5), np.stack([IMAGE, 1 - IMAGE, IMAGE / 2])),
    "rot90": of(lambda x: tf.image.rot90(x), IMAGE),
    "rot90Batch": of(lambda x: tf.image.rot90(x, k=3, name="turn"), np.stack([IMAGE, 1 - IMAGE])),
    "resizeImageWithPad": of(lambda x: tf.image.resize_image_with_pad(x, 6, 10), IMAGE),
    "resizeImageWithPadUnknown": of(
        lambda x: tf.image.resize_image_with_pad(x, 2, 4, method=tf.image.ResizeMethod.NEAREST_NEIGHBOR), np.stack([IMAGE]),
        [None, None, None, 3]),
    "psnr": of(lambda x: tf.image.psnr(x, x * 0.5, 1.0), BATCH),
    "ssim": of(lambda x: tf.image.ssim(x, x * 0.75, 1.0), BATCH, [2, None, 25, None]),
    "ssimMap": of(lambda x: tf.image.ssim(x, x * 0.75, 1.0, filter_size=7, return_index_map=True), BATCH[:, :9, :8], [None, 9, 8, None]),
    "ssimMultiscale": of(lambda x: tf.image.ssim_multiscale(x, x * 0.75, 1.0, power_factors=(0.3, 0.7)), BATCH, [2, 26, 25, None]),
    "sobelEdges": of(lambda x: tf.image.sobel_edges(x), BATCH[:, :4, :5]),
    "resizeBicubic": of(lambda x: tf.image.resize_images(x, [7, 3], method=tf.image.ResizeMethod.BICUBIC), IMAGE),
    "resizeArea": of(lambda x: tf.image.resize_images(x, [2, 7], method=tf.image.ResizeMethod.AREA), IMAGE),
    "nonMaxSuppression": of(lambda x: tf.image.non_max_suppression(x, [0.5, 0.75, 0.25], 3), np.array(BOXES, np.float32)),
    "nonMaxSuppressionPadded": of(
        lambda x: image_ops_impl.non_max_suppression_padded_v1(x, [0.5, 0.75, 0.25], 5, pad_to_max_output_size=True),
        np.array(BOXES, np.float32)),
    "nonMaxSuppressionWithScores": of(
        lambda x: tf.image.non_max_suppression_with_scores(x, [0.5, 0.75, 0.25], 3, soft_nms_sigma=0.5), np.array(BOXES, np.float32)),
    "nonMaxSuppressionOverlaps": of(
        lambda x: tf.image.non_max_suppression_overlaps(x, [0.5, 0.75, 0.25], 3), np.eye(3, dtype=np.float32)),
    "combinedNonMaxSuppression": of(
        lambda x: tf.image.combined_non_max_suppression(x, [[[0.5, 0.1], [0.75, 0.2], [0.25, 0.3]]], 2, 3),
        np.array(BOXES, np.float32).reshape(1, 3, 1, 4)),
    "drawBoundingBoxes": of(lambda x: tf.image.draw_bounding_boxes(x, [[[0.1, 0.2, 0.8, 0.9]]], colors=[[1.0, 0.5, 0.25]]), IMAGE[None]),
    "sampleDistortedBoundingBox": of(
        lambda x: tf.image.sample_distorted_bounding_box([40, 50, 3], x, seed=3, seed2=4), np.array([[BOXES[2]]], np.float32)),
    "adjustJpegQuality": of(lambda x: tf.image.adjust_jpeg_quality(x, 75), np.clip(IMAGE, 0, 1)),
    "decodeImage": of(lambda x: tf.image.decode_image(tf.image.encode_png(tf.cast(x, tf.uint8)), dtype=tf.float32), IMAGE * 100),
    "isJpeg": of(lambda x: tf.image.is_jpeg(tf.image.encode_jpeg(tf.cast(x, tf.uint8))), IMAGE),
    "extractJpegShape": of(lambda x: tf.image.extract_jpeg_shape(tf.image.encode_jpeg(tf.cast(x, tf.uint8))), IMAGE),
    "readFile": of(lambda x: [tf.read_file("/dev/null"), tf.matching_files("/dev/nul?"), tf.size(x)], IMAGE),
}

with open(os.path.join(TARGET, "imageFunctions.json"), "w") as out:
    json.dump({name: built(make, []) for name, make in CASES.items()}, out, separators=(",", ":"), default=bytes.decode)
    out.write("\n")
