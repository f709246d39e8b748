"""Writes test/golden/graph/*.json with real TensorFlow: names, devices and control inputs of random programs, GraphDefs, import errors.

Run: TF_CPP_MIN_LOG_LEVEL=3 python tools/golden/graph.py
"""
import base64
import contextlib
import json
import os
import pathlib
import random

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow.compat.v1 as tf
from google.protobuf import text_format
from tensorflow.python.framework import function

tf.disable_eager_execution()
out = pathlib.Path(__file__).parents[2] / "test/golden/graph"
out.mkdir(parents=True, exist_ok=True)


def save(name, value):
    lines = ",\n".join(json.dumps(x, sort_keys=True) for x in value)
    (out / f"{name}.json").write_text(f"[\n{lines}\n]\n")


def describe(graph):
    rows = []
    for op in graph.get_operations():
        groups = op.node_def.attr["_class"].list.s
        control = sorted({c.name for c in op.control_inputs})
        rows.append([op.name, [t.name for t in op.inputs], control, op.device, sorted(g.decode() for g in groups)])
    return rows


NAMES = ["a", "A", "b", "a_1", "layer", "a/b", "x.y", "b/"]
DEVICES = ["/cpu:0", "/device:GPU:1", "/job:ps", "/job:worker/task:3", "/replica:2/device:GPU:*", None, ""]


def random_program(seed):
    """Steps that the test repeats: open and close scopes, add operations."""
    rng = random.Random(seed)
    steps, depth = [], 0
    for _ in range(rng.randint(6, 24)):
        kind = rng.choice(["scope", "scope", "leave", "leave", "device", "control", "colocate", "op", "op", "op", "peek"])
        if kind == "leave":
            if depth:
                steps.append(["leave"])
                depth -= 1
        elif kind == "scope":
            steps.append(["scope", rng.choice(NAMES)])
            depth += 1
        elif kind == "device":
            steps.append(["device", rng.choice(DEVICES)])
            depth += 1
        elif kind == "control":
            steps.append(["control", None if rng.random() < 0.15 else [rng.random() for _ in range(rng.randint(0, 2))]])
            depth += 1
        elif kind == "colocate":
            steps.append(["colocate", rng.random(), rng.random() < 0.3])
            depth += 1
        elif kind == "peek":
            steps.append(["peek", rng.choice(NAMES[:6]), rng.random() < 0.5])
        else:
            steps.append(["op", rng.choice(NAMES[:7]), None if rng.random() < 0.4 else rng.random()])
    return steps


def run(steps):
    """An op without input is a Const; a number between 0 and 1 picks one of the operations made so far."""
    peeks = []
    with tf.Graph().as_default() as g:
        open_scopes = []
        pick = lambda x: g.get_operations()[int(x * len(g.get_operations()))] if g.get_operations() else None

        def enter(context):
            context.__enter__()
            open_scopes.append(context)

        for step in steps:
            if step[0] == "leave":
                open_scopes.pop().__exit__(None, None, None)
            elif step[0] == "scope":
                enter(g.name_scope(step[1]))
            elif step[0] == "device":
                enter(g.device(step[1]))
            elif step[0] == "control":
                wanted = step[1] if step[1] is None else [pick(x) for x in step[1] if pick(x) is not None]
                enter(g.control_dependencies(wanted))
            elif step[0] == "colocate":
                other = pick(step[1])
                enter(contextlib.nullcontext() if other is None else g.colocate_with(other, ignore_existing=step[2]))
            elif step[0] == "peek":
                peeks.append(g.unique_name(step[1], mark_as_used=step[2]))
            else:
                other = None if step[2] is None else pick(step[2])
                if other is None:
                    tf.constant(1.0, name=step[1])
                else:
                    tf.identity(other.outputs[0], name=step[1])
        while open_scopes:
            open_scopes.pop().__exit__(None, None, None)
        return {"steps": steps, "ops": describe(g), "peeks": peeks}


def graph_entry(name, graph, add_shapes=False):
    definition = graph.as_graph_def(add_shapes=add_shapes)
    # Building functions know more shapes than a message says, such as those of loop variables.
    with tf.Graph().as_default() as imported_graph:
        tf.import_graph_def(definition, name="")
    return {
        "name": name,
        "binary": base64.b64encode(definition.SerializeToString(deterministic=True)).decode(),
        "text": text_format.MessageToString(definition),
        "shapes": {t.name: None if t.shape.rank is None else t.shape.as_list() for op in imported_graph.get_operations() for t in op.outputs},
    }


def plain_graph():
    with tf.Graph().as_default() as g:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="w")
        with tf.device("/job:ps/task:1/cpu:0"), tf.name_scope("layer"):
            y = tf.identity(tf.matmul(x, w), name="y")
        with tf.control_dependencies([y, w]), g.colocate_with(w):
            tf.identity(x, name="late")
        tf.constant([b"a", "b\u00e9".encode(), b"\x00\xff"], name="strings")
        tf.placeholder(tf.int64, name="any")
        return g


def training_graph():
    with tf.Graph().as_default() as g:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        labels = tf.placeholder(tf.float32, [None, 2], name="labels")
        w = tf.get_variable("w", [3, 2], use_resource=True, initializer=tf.truncated_normal_initializer(seed=1))
        b = tf.get_variable("b", [2], use_resource=True, initializer=tf.zeros_initializer())
        logits = tf.nn.bias_add(tf.matmul(x, w), b)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
        tf.train.AdamOptimizer(0.01).minimize(loss)
        tf.global_variables_initializer()
        return g


def function_graph():
    @function.Defun(tf.float32, func_name="Twice")
    def twice(x):
        return x + x

    @function.Defun(tf.float32, func_name="Fourfold")
    def fourfold(x):
        return twice(twice(x))

    with tf.Graph().as_default() as g:
        y = fourfold(tf.constant(3.0, name="three"))
        tf.identity(y, name="y")
        return g


def loop_graph():
    tf.disable_control_flow_v2()
    with tf.Graph().as_default() as g:
        tf.while_loop(lambda i, _: i < 10, lambda i, x: (i + 1, x * 2.0), [tf.constant(0), tf.constant(1.0)])
    tf.enable_control_flow_v2()
    return g


CONST = 'node{name:"a" op:"Const" attr{key:"dtype" value{type:DT_FLOAT}} attr{key:"value" value{tensor{dtype:DT_FLOAT tensor_shape{} float_val:1}}}} '


def node(name, op, inputs=(), extra="", T="DT_FLOAT"):
    given = " ".join(f'input:"{i}"' for i in inputs)
    return f'node{{name:"{name}" op:"{op}" {given} attr{{key:"T" value{{type:{T}}}}} {extra}}} '


def klass(*names):
    return 'attr{key:"_class" value{list{%s}}}' % " ".join(f's:"loc:@{n}"' for n in names)


def shapes(text):
    return 'attr{key:"_output_shapes" value{list{%s}}}' % text


IMPORTS = [
    dict(text=CONST + CONST),
    dict(text=node("b", "Identity", ["zz"])),
    dict(text=CONST + node("b", "Identity", ["a", "^zz"])),
    dict(text=CONST + node("b", "Identity", ["a:3"])),
    dict(text=node("b", "Identity", ["c"]) + node("c", "Identity", ["b"])),
    dict(text=node("b", "Identity", ["b"])),
    dict(text=CONST + node("b", "NoSuchOp", ["a"])),
    dict(text='node{name:"b"}'),
    dict(text=CONST + 'node{name:"b" op:"Identity" input:"a" attr{key:"T" value{i:3}}}'),
    dict(text=CONST + 'node{name:"b" op:"Identity" input:"a" attr{key:"T" value{list{type:DT_FLOAT}}}}'),
    dict(text=CONST + node("b", "Identity", ["a"], 'attr{key:"foo" value{i:3}}')),
    dict(text=CONST + node("b", "Identity", ["a"], T="DT_INT32")),
    dict(text=CONST + node("b", "MatMul", ["a"])),
    dict(text=CONST + node("b", "MatMul", ["a", "a", "a"])),
    dict(text=CONST + node("b", "MatMul", ["a", "a"])),
    dict(text=CONST + node("b", "Identity", ["^a", "a"])),
    dict(text=CONST + node("_b", "Identity", ["a"])),
    dict(text=CONST + node("b c", "Identity", ["a"])),
    dict(text=CONST + node("", "Identity", ["a"])),
    dict(text=CONST + node("b", "Identity", ["a:x"])),
    dict(text=CONST + node("b", "Identity", ["a", "^a", "^a"])),
    dict(text=CONST + node("b", "Identity", ["a"], klass("zz"))),
    dict(text=CONST + node("b", "Identity", ["a"], klass("a")), name="import"),
    dict(text=CONST + node("b", "Identity", ["a"], shapes("shape{dim{size:2}}"))),
    dict(text=CONST + node("b", "Identity", ["a"], shapes(""))),
    dict(text=CONST + node("b", "Identity", ["a"], shapes("shape{}"))),
    dict(text=CONST + "versions{producer:21 min_consumer:99999}"),
    dict(text=CONST + "versions{producer:21 bad_consumers:[1,2474]}"),
    dict(text=CONST + "versions{producer:-1}"),
    dict(text=CONST + "versions{producer:21 min_consumer:12 bad_consumers:[30,40]}"),
    dict(text=node("c", "Identity", ["b"]) + node("b", "Identity", ["a"]) + CONST),
    dict(text=node("d", "Identity", ["a"]) + CONST + node("c", "Identity", ["b"]) + node("b", "Identity", ["a"])),
    dict(text=CONST, name="_x"),
    dict(text=CONST, name="x y"),
    dict(text=CONST, name="import", returns=["a:0", "a"]),
    dict(text=CONST, returns=["b"]),
    dict(text=CONST, returns=["b:0"]),
    dict(text=CONST, returns=["a:1"]),
]
MAPPED = CONST + node("b", "Identity", ["a", "^a"]) + node("c", "Identity", ["a:0"])
for mapping in (["a:0"], ["a"], ["^a"], ["zz:0"], ["a:1"], ["b:0"], ["a:0", "^a", "b:0"], ["a:x"], ["^zz"]):
    IMPORTS.append(dict(text=MAPPED, map=mapping, name="import", returns=["a:0"] if "a:0" in mapping else None))
IMPORTS.append(dict(text=node("b", "Identity", ["zz:1", "^zz"]), map=["zz:1"]))
IMPORTS.append(dict(text=node("b", "Identity", ["zz:1", "^zz"]), map=["zz:1", "^zz"]))


def imported(case):
    """Every mapped key goes to one constant, `given`, that is in the graph already."""
    definition = tf.GraphDef()
    text_format.Parse(case["text"], definition)
    with tf.Graph().as_default() as g:
        given = tf.constant(2.0, name="given")
        mapping = {key: given for key in case.get("map") or []}
        try:
            got = tf.import_graph_def(definition, name=case.get("name", ""), input_map=mapping, return_elements=case.get("returns"))
        except Exception as error:
            return {**case, "error": type(error).__name__, "message": str(error)}
        v = g.graph_def_versions
        versions = [v.producer, v.min_consumer, list(v.bad_consumers)]
        return {**case, "ops": describe(g), "versions": versions, "got": [x.name for x in got or []]}


def repeated_imports():
    """The same message several times, in scopes of all kinds: what is made unique, and how."""
    definition = tf.GraphDef()
    text = CONST + node("b/a", "Identity", ["a"]) + node("b/c", "Identity", ["b/a", "^a"], klass("b/a"))
    text_format.Parse(text, definition)
    other = tf.GraphDef()
    renamed = lambda name: CONST.replace('"a"', f'"{name}"')
    other_text = renamed("b") + renamed("a_1") + renamed("A") + CONST
    text_format.Parse(other_text, other)
    with tf.Graph().as_default() as g:
        for name in ("", "", None, None):
            tf.import_graph_def(definition, name=name)
        for name in ("B/A", "b", "import"):
            tf.constant(1.0, name=name)
        tf.import_graph_def(other, name="")
        with tf.name_scope("s"):
            tf.import_graph_def(definition)
            tf.import_graph_def(definition, name="q/")
            tf.import_graph_def(definition, name="q/")
        with tf.control_dependencies([g.get_operation_by_name("a")]), tf.device("/device:GPU:1"):
            tf.import_graph_def(definition, name="ctl")
        for n in definition.node:
            n.device = "/job:w"
        with tf.device("/device:GPU:1"), g.colocate_with(g.get_operation_by_name("ctl/a")):
            tf.import_graph_def(definition, name="near")
        with tf.device("/device:GPU:1"):
            tf.import_graph_def(definition, name="placed")
        tf.constant(1.0, name="z")
        pair = tf.GraphDef()
        text_format.Parse(renamed("z") + renamed("z_1"), pair)
        tf.import_graph_def(pair, name="")
        return {"text": text, "other": other_text, "pair": renamed("z") + renamed("z_1"), "ops": describe(g)}


save("programs", [run(random_program(seed)) for seed in range(200)])
graphs = [
    graph_entry("plain", plain_graph()),
    graph_entry("shapes", plain_graph(), add_shapes=True),
    graph_entry("training", training_graph()),
    graph_entry("functions", function_graph()),
    graph_entry("loop", loop_graph()),
]
save("graphs", graphs)
save("imports", [imported(case) for case in IMPORTS])
save("repeated", [repeated_imports()])
