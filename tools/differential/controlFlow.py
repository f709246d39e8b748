"""Runs graphs of tools/differential/controlFlow.ts in real TensorFlow and compares: controlFlow.py PROGRAMS.jsonl."""
import base64
import json
import sys

import numpy as np
import tensorflow

tf = tensorflow.compat.v1
tf.disable_eager_execution()

failures = 0
count = 0
for line in open(sys.argv[1]):
    program = json.loads(line)
    message = tf.GraphDef()
    message.ParseFromString(base64.b64decode(program['graph']))
    with tf.Graph().as_default():
        tf.import_graph_def(message, name='')
        with tf.Session() as session:
            if program['init']:
                session.run(program['init'])
            for feed, ours in zip(program['feeds'], program['results']):
                theirs = session.run(program['fetches'], {'x:0': np.array(feed, np.float32)})
                for name, a, b in zip(program['fetches'], ours, theirs):
                    count += 1
                    if np.shape(a) != np.shape(b) or not np.allclose(a, b, rtol=2e-5, atol=2e-5):
                        failures += 1
                        print(f"{program['name']} {name} at x = {feed}: {a} here, {b.tolist()} in TensorFlow")
print(f'{count} values of graphs with branches and loops compared, {failures} differ')
sys.exit(1 if failures else 0)
