"""Compares exported cases one by one from a line on: compareWorker.py FILE FIRST OUTPUT; a JSON result per line."""
import base64
import json
import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy
import tensorflow as tensorflow

from arrays import read, verdict

tf = tensorflow.compat.v1
tf.disable_eager_execution()
tf.enable_resource_variables()
tf.logging.set_verbosity(tf.logging.FATAL)

config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
config.graph_options.rewrite_options.disable_meta_optimizer = True
config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0


class Row:
    """What was found out about one graph."""

    def __init__(self, case):
        self.op = case["op"]
        self.values = 0
        self.gradients = 0
        self.worst = 0.0
        self.without_kernel = 0
        self.refused = []
        self.findings = []

    def add(self, kind, case, text):
        self.findings.append((kind, case, text))


def short(error):
    text = str(error)
    text = re.sub(r"^Graph execution error:\s*", "", text)
    text = re.sub(r"Detected at node.*?(?=Node: )", "", text, flags=re.S)
    return " ".join(text.split("[[{{")[0].split())[:240]


def import_graph(data, count=None):
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(data)
    if count is not None:
        del graph_def.node[count:]
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return graph, graph_def


def compare_shapes(case, graph, row):
    for name, ours in case["shapes"].items():
        tensor = graph.get_tensor_by_name(name)
        theirs = None if tensor.shape.rank is None else tensor.shape.as_list()
        if ours == theirs or at_least(ours, theirs):
            continue
        row.add("static shape", case["id"], f"{name} ({tensor.op.type}): {ours} vs {theirs}")


def at_least(ours, theirs):
    """Whether our shape says all that TensorFlow's says, and perhaps more."""
    if theirs is None:
        return True
    return ours is not None and len(ours) == len(theirs) and all(t is None or t == o for o, t in zip(ours, theirs))


def run(case, graph, fetches, row):
    """Values by TensorFlow, or the error as text."""
    feeds = {name: read(array) for name, array in case["feeds"].items()}
    with tf.Session(graph=graph, config=config) as session:
        for name in case["initialize"]:
            session.run(graph.get_operation_by_name(name))
        targets = [graph.get_operation_by_name(name) for name in case["targets"]]
        values, _ = session.run([fetches, targets], {k: v for k, v in feeds.items() if present(graph, k)})
    return values


def present(graph, name):
    try:
        graph.get_tensor_by_name(name)
        return True
    except KeyError:
        return False


def note_failure(case, error, row, kind):
    """TensorFlow failed where we did not. It lacks kernels for types that its schemas admit, and refuses some others."""
    if "No OpKernel was registered" in str(error):
        row.without_kernel += 1
    elif case["widened"]:
        row.refused.append((case["id"], short(error)))
    else:
        row.add(kind, case["id"], short(error))


def is_float(value):
    return numpy.asarray(value).dtype.kind in "fc" or numpy.asarray(value).dtype.name == "bfloat16"


def compare_values(case, graph, row):
    try:
        theirs = run(case, graph, case["fetches"], row)
    except Exception as error:
        if case.get("error") is None:
            note_failure(case, error, row, "only TensorFlow fails")
        return False
    if case.get("error") is not None:
        row.add("only we fail", case["id"], case["error"][:240])
        return False
    row.values += 1
    for name, ours, value in zip(case["fetches"], case["outputs"], theirs):
        if isinstance(value, bytes):
            value = numpy.array(value, dtype=object)
        d, complaint = verdict(read(ours), value, case.get("tolerance"))
        if complaint:
            # Vectors that are determined up to a sign or phase still have their sizes determined.
            is_sign = is_float(value) and verdict(numpy.abs(read(ours)), numpy.abs(value), case.get("tolerance"))[1] is None
            row.add("sign" if is_sign else "value", case["id"], f"{name} {complaint}")
        else:
            row.worst = max(row.worst, d)
    return True


# Bookkeeping of the Python client: marks operations that some control_dependencies block named.
ignored_attrs = {"_output_shapes", "_has_manual_control_dependencies"}


def attr_text(node):
    parts = []
    for key in sorted(node.attr):
        if key in ignored_attrs:
            continue
        value = node.attr[key]
        if value.HasField("tensor"):
            array = tensorflow.make_ndarray(value.tensor)
            parts.append(f"{key}={array.dtype}{list(array.shape)}{array.ravel()[:8].tolist()}")
        else:
            parts.append(f"{key}={str(value).strip()}".replace("\n", " "))
    return " ".join(parts)


def compare_gradient(case, data, ours_def, row):
    gradient = case["gradient"]
    graph, _ = import_graph(data, case["forward"] + len(gradient["gradYs"]))
    names = lambda key: [graph.get_tensor_by_name(n) for n in gradient[key]]
    with graph.as_default():
        try:
            theirs = tf.gradients(names("ys"), names("xs"), grad_ys=names("gradYs"))
        except Exception as error:
            if gradient.get("error") is None:
                row.add("only TensorFlow has no gradient", case["id"], short(error))
            return
    if gradient.get("error") is not None:
        row.add("only our gradient fails", case["id"], gradient["error"][:240])
        return
    row.gradients += 1
    first = case["forward"] + len(gradient["gradYs"])
    ours_nodes = list(ours_def.node)[first:]
    theirs_nodes = list(graph.as_graph_def().node)[first:]
    for ours, their in zip(ours_nodes, theirs_nodes):
        mine = (ours.name, ours.op, list(ours.input), attr_text(ours))
        other = (their.name, their.op, list(their.input), attr_text(their))
        if mine != other:
            row.add("gradient nodes", case["id"], f"{mine} vs {other}"[:400])
            break
    else:
        if len(ours_nodes) != len(theirs_nodes):
            row.add("gradient nodes", case["id"], f"{len(ours_nodes)} nodes vs {len(theirs_nodes)}")
    fetches, places = [], []
    for i, (mine, other) in enumerate(zip(gradient["values"], theirs)):
        is_slices = isinstance(other, tensorflow.IndexedSlices)
        if (mine is None) != (other is None) or isinstance(mine, list) != is_slices:
            row.add("gradient", case["id"], f"x {i}: {'none' if mine is None else 'one'} vs {other}"[:200])
        elif other is not None:
            for m, t in zip(mine, [other.values, other.indices]) if is_slices else [(mine, other)]:
                fetches.append(t)
                places.append((i, m))
    try:
        values = run(case, graph, fetches, row)
    except Exception as error:
        if "No OpKernel was registered" in str(error):
            row.without_kernel += 1
        else:
            row.add("only TensorFlow's gradient fails", case["id"], short(error))
        return
    for (i, mine), value in zip(places, values):
        # The gradient adds a few roundings to those of the op itself.
        d, complaint = verdict(read(mine), value, (case.get("tolerance") or 0) * 4)
        if complaint:
            row.add("gradient", case["id"], f"x {i} {complaint}")
        else:
            row.worst = max(row.worst, d)


def compare(case, row):
    data = base64.b64decode(case["graph"])
    try:
        graph, graph_def = import_graph(data)
    except Exception as error:
        if case.get("error") is None:
            note_failure(case, error, row, "not accepted")
        return
    compare_shapes(case, graph, row)
    if not case["fetches"] and not case["targets"]:
        return
    if compare_values(case, graph, row) and case.get("gradient"):
        compare_gradient(case, data, graph_def, row)


def main():
    file, first, output = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(file) as lines, open(output, "a") as out:
        for i, line in enumerate(lines):
            if i < first:
                continue
            case = json.loads(line)
            row = Row(case)
            compare(case, row)
            out.write(json.dumps(vars(row)) + "\n")
            out.flush()


main()
