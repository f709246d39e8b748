"""Writes test/golden/proto/*.json with real TensorFlow: graphs as bytes and text, tensor protos, message descriptors.

Run: TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/proto.py
"""
import base64
import importlib
import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow.compat.v1 as tf
from google.protobuf import text_format
from tensorflow.core.framework import attr_value_pb2, tensor_pb2
from tensorflow.core.protobuf import cluster_pb2, config_pb2

tf.disable_eager_execution()
out = pathlib.Path(__file__).parents[2] / "test/golden/proto"
out.mkdir(parents=True, exist_ok=True)
b64 = lambda data: base64.b64encode(data).decode()


def save(name, value):
    (out / f"{name}.json").write_text(json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def graph():
    with tf.Graph().as_default() as g:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", [3, 2], use_resource=True, initializer=tf.truncated_normal_initializer(seed=1))
        y = tf.nn.softmax(tf.matmul(x, w), name="y")
        loss = tf.reduce_mean(-tf.reduce_sum(y * tf.log(y), 1))
        tf.train.AdamOptimizer(1e-8).minimize(loss)
        tf.constant([b"a", "b\u00e9".encode(), b"\x00\xff'\"\\\n"], name="strings")
        tf.constant([1e-45, 1.00390625, 3.4e38, float("inf"), float("nan"), -0.0, 16777216.0, 0.1], name="floats")
        tf.constant(float("-inf"), name="minus_inf")
        tf.constant(True, name="bool")
        tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)])
        with tf.device("/job:ps/task:1"), tf.control_dependencies([y]):
            tf.no_op(name="last")
        return g.as_graph_def()


def messages():
    """Messages that between them have every kind of field, and whether their map entries are in C++'s order.

    Python puts numbers in descending order, and a key before its own beginning; C++ and tensorloom do neither.
    """
    from tensorflow.core.framework import node_def_pb2

    config = config_pb2.ConfigProto(device_count={"GPU": 0, "CPU": 1, "b\u00fc": -1}, allow_soft_placement=True)
    config.gpu_options.per_process_gpu_memory_fraction = 1 / 3
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.custom_optimizers.add(name="x").parameter_map["y"].f = 1e20
    config.operation_timeout_in_ms = 5000
    cluster = cluster_pb2.ClusterDef()
    cluster.job.add(name="ps", tasks={0: "localhost:1", 10: "localhost:2", 9: ""})
    attrs = node_def_pb2.NodeDef(name="n", input=["a", "b:1", "^c"])
    attrs.attr["none"].SetInParent()
    attrs.attr["zero"].i = 0
    attrs.attr["least"].i = -(2**63)
    attrs.attr["most"].i = 2**63 - 1
    attrs.attr["off"].b = False
    attrs.attr["float0"].f = 0.0
    attrs.attr["empty"].s = b""
    attrs.attr["hold"].placeholder = "T"
    attrs.attr["type"].type = 101
    attrs.attr["odd type"].type = 77
    attrs.attr["unknown"].shape.unknown_rank = True
    attrs.attr["shape"].shape.dim.add(size=-1, name="batch")
    attrs.attr["list"].list.i.extend([0, -1, 300, 2**40])
    attrs.attr["flags"].list.b.extend([True, False])
    attrs.attr["kinds"].list.type.extend([1, 3, 77])
    attrs.attr["names"].list.s.extend([b"loc:@w", b""])
    attrs.attr["func"].func.name = "f"
    attrs.attr["func"].func.attr["T"].type = 1
    attrs.attr["nested"].tensor.variant_val.add(type_name="v").tensors.add(dtype=3, int_val=[1, -1])
    handle = tensor_pb2.TensorProto(dtype=20)
    handle.resource_handle_val.add(name="h", hash_code=2**64 - 1, device="/cpu:0")
    return [
        ("ConfigProto", config, True),
        ("ClusterDef", cluster, False),
        ("NodeDef", attrs, True),
        ("TensorProto", handle, True),
        ("TensorProto", tensor_pb2.TensorProto(dtype=23, uint64_val=[0, 2**64 - 1], uint32_val=[2**32 - 1]), True),
        ("AttrValue", attr_value_pb2.AttrValue(), True),
    ]


def tensor_cases():
    return [
        ("float32", [], [3.5], None),
        ("float32", [3], [1.5, -2, 0], None),
        ("float32", [1], [7], None),
        ("float32", [2, 2], [1, 2, 3, 4], None),
        ("float32", [], [0.25], [2, 3]),
        ("float32", [2], [1, 2], [5]),
        ("float32", [0], [], None),
        ("float32", [2, 0, 3], [], None),
        ("float64", [], [0.1], None),
        ("float64", [2], [0.1, -1e300], None),
        ("float16", [], [1.5], None),
        ("float16", [2], [1.5, -65504], None),
        ("float16", [], [1.5], [4]),
        ("bfloat16", [], [-1.5], None),
        ("bfloat16", [3], [1.5, 2, 3], None),
        ("int32", [], [-7], None),
        ("int32", [2], [-7, 2147483647], None),
        ("int64", [], [-7], None),
        ("int64", [2], [2**62, -(2**63)], None),
        ("int64", [], [-7], [3]),
        ("int8", [], [-7], None),
        ("int8", [3], [-7, 0, 127], None),
        ("uint8", [], [200], None),
        ("uint8", [2], [200, 1], None),
        ("int16", [], [-300], None),
        ("uint16", [], [65535], None),
        ("uint16", [2], [65535, 1], None),
        ("uint32", [], [4294967295], None),
        ("uint32", [2], [4294967295, 0], None),
        ("uint64", [], [2**64 - 1], None),
        ("uint64", [2], [2**64 - 1, 0], None),
        ("bool", [], [True], None),
        ("bool", [3], [True, False, True], None),
        ("bool", [], [False], [2]),
        ("complex64", [], [[1, -2]], None),
        ("complex64", [2], [[1, -2], [0, 3.5]], None),
        ("complex128", [], [[0.1, -2]], None),
        ("complex64", [], [[1, -2]], [3]),
        ("string", [], ["abc"], None),
        ("string", [2], ["a", "\u00fc" * 100], None),
        ("string", [2, 1], ["", "x"], None),
        ("string", [0], [], None),
        ("string", [], ["s"], [3]),
    ]


def tensors():
    rows = []
    for dtype, shape, values, full in tensor_cases():
        py = [complex(*v) for v in values] if dtype.startswith("complex") else values
        array = np.array([v.encode() for v in py], object) if dtype == "string" else np.array(py, tf.as_dtype(dtype).as_numpy_dtype)
        constant = tf.make_tensor_proto(array.reshape(shape), dtype=dtype, shape=full)
        with tf.Session() as sess:
            attrs = {"dtype": attr_value_pb2.AttrValue(type=constant.dtype), "value": attr_value_pb2.AttrValue(tensor=constant)}
            value = sess.run(sess.graph.create_op("Const", [], [tf.as_dtype(dtype)], attrs=attrs).outputs[0])
            value = np.asarray(value, object if dtype == "string" else None)
        flat = [v.decode() for v in value.ravel()] if dtype == "string" else value.ravel().tolist()
        if dtype.startswith("complex"):
            flat = [[v.real, v.imag] for v in flat]
        elif dtype in ("float16", "bfloat16"):
            flat = [float(v) for v in value.ravel()]
        elif dtype in ("int64", "uint64"):
            flat = [str(v) for v in flat]
        rows.append({
            "dtype": dtype, "shape": shape, "fullShape": full,
            "values": [str(v) for v in values] if dtype in ("int64", "uint64") else values,
            "constant": b64(constant.SerializeToString()), "decoded": flat,
        })
    return rows


def descriptors(names):
    """Field number, type and label of every field of the named messages and of those they contain."""
    foreign = {"SavedObjectGraph", "TypeSpecProto", "CoordinationServiceConfig"}
    types = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool", 9: "str",
             11: "message", 12: "bytes", 13: "uint32", 14: "enum", 15: "sfixed32", 16: "sfixed64", 17: "sint32", 18: "sint64"}
    found, enums = {}, {}

    def visit(d):
        short = d.full_name.removeprefix("tensorflow.")
        if short in found or short in foreign:
            return
        found[short] = fields = {}
        for f in d.fields:
            entry = f.message_type if f.message_type is not None and f.message_type.GetOptions().map_entry else None
            value = entry.fields_by_name["value"] if entry else f
            label = "map " + types[entry.fields_by_name["key"].type] if entry else "repeated" if f.is_repeated else (
                "optional" if f.has_presence else "single")
            target = ""
            if value.message_type is not None:
                target = " " + value.message_type.full_name.removeprefix("tensorflow.")
                visit(value.message_type)
            elif value.enum_type is not None:
                target = " " + value.enum_type.full_name.removeprefix("tensorflow.")
                enums[target[1:]] = {v.name: v.number for v in value.enum_type.values}
            oneof = f.containing_oneof.name if f.containing_oneof else ""
            fields[f.name] = f"{f.number} {label} {types[value.type]}{target}" + (f" in {oneof}" if oneof else "")

    for module, message in names:
        folder = "" if module.startswith("tensorflow.") else "tensorflow.core."
        visit(getattr(importlib.import_module(f"{folder}{module}_pb2"), message).DESCRIPTOR)
    return {"messages": found, "enums": enums}


g = graph()
save("graph", {"bytes": b64(g.SerializeToString(deterministic=True)), "text": text_format.MessageToString(g)})
save("messages", [
    {"type": name, "bytes": b64(m.SerializeToString(deterministic=True)), "text": text_format.MessageToString(m), "sorted": ordered}
    for name, m, ordered in messages()])
save("tensors", tensors())
save("descriptors", descriptors([
    ("framework.graph", "GraphDef"), ("framework.op_def", "OpList"), ("framework.tensor_slice", "TensorSliceProto"),
    ("protobuf.config", "ConfigProto"), ("protobuf.config", "RunOptions"), ("protobuf.config", "RunMetadata"),
    ("protobuf.config", "CallableOptions"), ("protobuf.named_tensor", "NamedTensorProto"),
    ("framework.device_attributes", "DeviceAttributes"), ("protobuf.tensorflow_server", "ServerDef"),
    ("util.event", "Event"), ("protobuf.saver", "SaverDef"), ("protobuf.saved_model", "SavedModel"),
    ("framework.variable", "VariableDef"), ("framework.summary", "SummaryDescription"),
    ("example.example", "Example"), ("example.example", "SequenceExample"), ("framework.reader_base", "ReaderBaseState"),
    ("protobuf.tensor_bundle", "BundleHeaderProto"), ("protobuf.tensor_bundle", "BundleEntryProto"),
    ("util.saved_tensor_slice", "SavedTensorSlices"), ("protobuf.queue_runner", "QueueRunnerDef"),
    ("protobuf.trackable_object_graph", "TrackableObjectGraph"), ("protobuf.snapshot", "SnapshotMetadataRecord"),
    ("tensorflow.python.training.checkpoint_state", "CheckpointState"),
]))
