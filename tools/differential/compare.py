"""Holds exported op cases against real TensorFlow: compare.py FILE [FINDINGS].

For every graph: does TensorFlow accept it, infer the same static shapes, compute the same values; does its own tf.gradients
add the same nodes and give the same gradients. Prints a table by op and writes the findings, if asked, as Markdown.
The work is done in a child process, because some graphs make TensorFlow abort; the parent goes on after them.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile


class Row:
    def __init__(self):
        self.graphs = 0
        self.values = 0
        self.gradients = 0
        self.worst = 0.0
        self.without_kernel = 0
        self.refused = []
        self.accepted = 0
        self.findings = collections.OrderedDict()


rows = collections.OrderedDict()

# Differences that are known, with the reason; anything else is a finding.
with open(os.path.join(os.path.dirname(__file__), "accepted.json")) as file:
    accepted = json.load(file)


def is_accepted(kind, case):
    for rule in accepted:
        if kind in rule["kinds"] and re.search(rule["cases"], case):
            rule["used"] = rule.get("used", 0) + 1
            return True
    return False


def results(file):
    """The results of all lines, in order; a line that makes TensorFlow abort is a finding of its own."""
    with open(file) as lines:
        cases = [(case["op"], case["id"]) for case in map(json.loads, lines)]
    worker = os.path.join(os.path.dirname(__file__), "compareWorker.py")
    with tempfile.NamedTemporaryFile("r+") as output:
        done = 0
        while done < len(cases):
            command = [sys.executable, worker, file, str(done), output.name]
            status = subprocess.run(command, capture_output=True, text=True)
            if status.returncode == 1:
                raise RuntimeError(status.stderr[-2000:])
            output.seek(0)
            found = [json.loads(line) for line in output]
            done = len(found)
            if done < len(cases):
                op, name = cases[done]
                text = f"the process ended with status {status.returncode}"
                crash = {"op": op, "values": 0, "gradients": 0, "worst": 0.0, "without_kernel": 0, "refused": []}
                crash["findings"] = [("TensorFlow aborts", name, text)]
                with open(output.name, "a") as out:
                    out.write(json.dumps(crash) + "\n")
                done += 1
        output.seek(0)
        return [json.loads(line) for line in output]


def main():
    for result in results(sys.argv[1]):
        row = rows.setdefault(result["op"], Row())
        row.graphs += 1
        row.values += result["values"]
        row.gradients += result["gradients"]
        row.without_kernel += result["without_kernel"]
        row.refused += result["refused"]
        row.worst = max(row.worst, result["worst"])
        for kind, case, text in result["findings"]:
            if is_accepted(kind, case):
                row.accepted += 1
            else:
                row.findings.setdefault(kind, []).append((case, text))
    print(f"{'op':34} {'graphs':>7} {'values':>7} {'grads':>6} {'no kernel':>9} {'refused':>7} {'accepted':>8} {'worst':>9}  findings")
    for op, row in rows.items():
        found = ", ".join(f"{kind} {len(items)}" for kind, items in row.findings.items())
        print(f"{op:34} {row.graphs:7} {row.values:7} {row.gradients:6} {row.without_kernel:9} {len(row.refused):7} {row.accepted:8} {row.worst:9.2g}  {found}")
    # That TensorFlow aborts is worth knowing, but no fault of the op here.
    failing = {op: row for op, row in rows.items() if set(row.findings) - {"TensorFlow aborts"}}
    total = lambda key: sum(getattr(row, key) for row in rows.values())
    print(
        f"{len(rows)} ops, {total('graphs')} graphs, {total('values')} values and {total('gradients')} gradients compared, "
        f"{total('without_kernel')} without a TensorFlow kernel, "
        f"{sum(len(row.refused) for row in rows.values())} in another type refused by TensorFlow only, "
        f"{total('accepted')} accepted differences; "
        f"{len(failing)} ops with findings"
    )
    for rule in accepted:
        print(f"accepted {rule.get('used', 0):3}  {rule['cases']}: {rule['why']}")
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as out:
            out.write("# Refused by TensorFlow only, in types the case does not have itself\n")
            for row in rows.values():
                for case, text in row.refused:
                    out.write(f"- `{case}`: {text[:160]}\n")
            out.write("# Findings\n")
            for op, row in failing.items():
                out.write(f"\n## {op}\n")
                for kind, items in row.findings.items():
                    out.write(f"- **{kind}** ({len(items)})\n")
                    for case, text in items[:4 if len(failing) > 1 else None]:
                        out.write(f"  - `{case}`: {text}\n")
    sys.exit(1 if failing else 0)


main()
