"""Asks a real TensorBoard for what every one of its dashboards shows, of our event file and of TensorFlow's.

    python board.py FOLDER

FOLDER has one folder of events per run: ours and theirs.
"""
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

folder = sys.argv[1]
RUNS = ["ours", "theirs"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


port = free_port()


def ask(path, **query):
    text = urllib.parse.urlencode(query)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/data/plugin/{path}?{text}", timeout=60) as answer:
        return answer.read()


def asked(path, **query):
    return json.loads(ask(path, **query))


def without_times(value):
    """Events as lists that begin with a time, or as records that have one and a name of stored bytes."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("wall_time", "query")}
    if isinstance(value, list):
        return [without_times(v[1:] if isinstance(v, list) and v and isinstance(v[0], float) and v[0] > 1e9 else v) for v in value]
    return value


def events(plugin):
    """What a dashboard shows of a run: every tag and its events."""
    found = {}
    for run, tags in asked(f"{plugin}/tags").items():
        for tag in tags:
            more = {"sample": 0} if plugin in ("images", "audio") else {}
            found.setdefault(run, {})[tag] = without_times(asked(f"{plugin}/{plugin}", run=run, tag=tag, **more))
    return found


def graphs():
    found = {}
    for run, info in asked("graphs/info").items():
        nodes = ask("graphs/graph", run=run, conceptual="false").decode().count("\nnode {")
        profiles = {tag: b"node_stats" in ask("graphs/run_metadata", run=run, tag=tag) for tag in sorted(info["tags"])}
        found[run] = {"nodes": nodes, "profiles": profiles}
    return found


def ready():
    try:
        return len(asked("scalars/tags")) == len(RUNS) and len(asked("graphs/info")) == len(RUNS)
    except (urllib.error.URLError, OSError):
        return False


board = subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port", str(port), "--host", "127.0.0.1"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    until = time.time() + 180
    while not ready():
        if time.time() > until or board.poll() is not None:
            sys.exit("TensorBoard shows no runs")
        time.sleep(0.5)
    shown = {plugin: events(plugin) for plugin in ("scalars", "histograms", "distributions", "images", "audio", "text")}
    shown["graphs"] = graphs()
finally:
    board.terminate()
    board.wait()

different = [name for name, runs in shown.items() if not runs.get("ours") or runs["ours"] != runs.get("theirs")]
print(f"{len(shown)} dashboards of TensorBoard, {len(different)} show something else of our file than of TensorFlow's {different or ''}")
sys.exit(1 if different else 0)
