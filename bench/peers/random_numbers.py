"""Random numbers in TensorFlow. Reads a distribution's name and a number of runs per line, and prints the best time of one run in
microseconds: python random_numbers.py COUNT THREADS"""
import os
import sys
import time

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow as tf2

tf = tf2.compat.v1
tf.disable_eager_execution()
count, threads = int(sys.argv[1]), int(sys.argv[2])
tf.set_random_seed(1)
draws = {
    'uniform': tf.random_uniform([count]),
    'uniform, int32': tf.random_uniform([count], 0, 1000, tf.int32),
    'normal': tf.random_normal([count]),
    'truncated normal': tf.truncated_normal([count]),
}
sess = tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads))
# The operations alone: nothing is fetched.
run = {name: sess.make_callable(x.op) for name, x in draws.items()}
print('ready', flush=True)
for line in sys.stdin:
    name, _, runs = line.strip().rpartition(' ')
    best = float('inf')
    for _ in range(int(runs)):
        start = time.perf_counter()
        run[name]()
        best = min(best, time.perf_counter() - start)
    print(best * 1e6, flush=True)
