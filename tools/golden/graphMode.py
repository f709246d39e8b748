"""TensorFlow 2 as the scripts beside this file want it, imported by them as `tf`: the API of 1.x, graphs instead of eager execution,
resource variables, control flow by functions. `tf2` is the API of TensorFlow 2.

Whether oneDNN computes (TF_ENABLE_ONEDNN_OPTS) is decided when TensorFlow is loaded: scripts that do without it say so first.
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf2

tf = tf2.compat.v1
tf.disable_eager_execution()
tf.enable_resource_variables()
tf.enable_control_flow_v2()


def plain(value):
    """What a run gave, as JSON can have it."""
    if isinstance(value, tf.SparseTensorValue):
        return {"indices": plain(value.indices), "values": plain(value.values), "denseShape": plain(value.dense_shape)}
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.decode()
    value = np.asarray(value)
    return [plain(v) for v in value] if value.dtype == object and value.ndim else value.tolist()
