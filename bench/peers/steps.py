"""The training steps of bench/steps in TensorFlow or PyTorch. Reads a step's name and a number of runs per line, and prints the
best and the median time of one run in microseconds: python steps.py tensorflow|pytorch THREADS"""
import concurrent.futures
import os
import statistics
import sys
import time

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
framework, threads = sys.argv[1], int(sys.argv[2])
import numpy as np

rng = np.random.RandomState(1)
data = {
    'logistic': (rng.rand(3, 5).astype('f'), np.eye(2, dtype='f')[[0, 1, 0]]),
    'mlp': (rng.rand(128, 784).astype('f'), np.eye(10, dtype='f')[np.arange(128) % 10]),
    'cnn': (rng.rand(64, 28, 28, 1).astype('f'), np.eye(10, dtype='f')[np.arange(64) % 10]),
    'lstm': (rng.rand(32, 50, 64).astype('f'), np.eye(10, dtype='f')[np.arange(32) % 10]),
    'transformer': (rng.randint(0, 256, (8, 64)), rng.randint(0, 256, (8, 64))),
}


def product_sizes(name):
    """The sizes m, k and n in a name such as product128x784x512; None of other steps."""
    return [int(size) for size in name[len('product'):].split('x')] if name.startswith('product') else None


def tensorflow_steps():
    import tensorflow as tf2
    from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl as cells
    from tensorflow.python.keras.legacy_tf_layers import convolutional, core, pooling
    tf = tf2.compat.v1
    tf.disable_eager_execution()
    tf.enable_control_flow_v2()

    def attention(x, name):
        def part(which):
            return tf.transpose(tf.reshape(dense(x, f'{name}/{which}', 128, 128), [8, 64, 4, 32]), [0, 2, 1, 3])
        q, k, v = part('q'), part('k'), part('v')
        mixed = tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / np.sqrt(32).astype('f')), v)
        return dense(tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [512, 128]), f'{name}/out', 128, 128)

    def dense(x, name, n, m):
        w = tf.get_variable(f'{name}/w', [n, m])
        return tf.matmul(x, w) + tf.get_variable(f'{name}/b', [m], initializer=tf.zeros_initializer())

    def norm(x, name):
        scale = tf.get_variable(f'{name}/scale', [128], initializer=tf.ones_initializer())
        shift = tf.get_variable(f'{name}/shift', [128], initializer=tf.zeros_initializer())
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, shift, scale, 1e-5)

    def model(name, x, y):
        adam = tf.train.AdamOptimizer(1e-3)
        sgd = tf.train.GradientDescentOptimizer(0.1)
        if name == 'transformer':
            h = tf.reshape(tf.gather(tf.get_variable('embedding', [256, 128]), x)
                           + tf.get_variable('position', [64, 128]), [512, 128])
            for i in range(2):
                h = h + attention(norm(h, f'{i}/norm1'), f'{i}/attention')
                up = tf.nn.relu(dense(norm(h, f'{i}/norm2'), f'{i}/up', 128, 512))
                h = h + dense(up, f'{i}/down', 512, 128)
            logits = dense(norm(h, 'norm'), 'logits', 128, 256)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.reshape(y, [-1]), logits=logits))
            return adam.minimize(loss)
        if name == 'logistic':
            logits, optimizer = dense(x, 'logits', 5, 2), sgd
        elif name == 'mlp':
            h = tf.nn.relu(dense(x, 'first', 784, 512))
            logits, optimizer = dense(tf.nn.relu(dense(h, 'second', 512, 512)), 'logits', 512, 10), sgd
        elif name == 'cnn':
            h = pooling.max_pooling2d(convolutional.conv2d(x, 32, 5, padding='same', activation=tf.nn.relu), 2, 2)
            h = pooling.max_pooling2d(convolutional.conv2d(h, 64, 5, padding='same', activation=tf.nn.relu), 2, 2)
            h = core.dense(core.flatten(h), 1024, activation=tf.nn.relu)
            logits, optimizer = core.dense(h, 10), adam
        else:
            _, state = tf.nn.dynamic_rnn(cells.BasicLSTMCell(128), x, dtype=tf.float32)
            logits, optimizer = core.dense(state.h, 10), adam
        return optimizer.minimize(tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits)))

    def product(m, k, n):
        x = tf.placeholder(tf.float32, [m, k])
        return tf.matmul(x, tf.get_variable('w', [k, n])), [x], [rng.rand(m, k).astype('f')]

    def training(name):
        x, y = [tf.placeholder(tf.as_dtype(a.dtype), a.shape) for a in data[name]]
        return model(name, x, y), [x, y], data[name]

    def prepare(name):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            sizes = product_sizes(name)
            step, fed, arrays = product(*sizes) if sizes else training(name)
            sess = tf.Session(config=tf.ConfigProto(
                intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads))
            sess.run(tf.global_variables_initializer())
            run = sess.make_callable(step, fed)
        return lambda: run(*arrays)
    return prepare


def pytorch_steps():
    import torch
    from torch import nn
    torch.set_num_threads(threads)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
            self.q, self.k, self.v, self.out = (nn.Linear(128, 128) for _ in range(4))
            self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)

        def forward(self, x):
            h = self.norm1(x)
            q, k, v = (part(h).view(8, 64, 4, 32).transpose(1, 2) for part in (self.q, self.k, self.v))
            mixed = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(mixed.transpose(1, 2).reshape(8, 64, 128))
            return x + self.down(torch.relu(self.up(self.norm2(x))))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.position = nn.Embedding(256, 128), nn.Parameter(torch.randn(64, 128) * 0.02)
            self.layers = nn.Sequential(Layer(), Layer())
            self.norm, self.logits = nn.LayerNorm(128), nn.Linear(128, 256)

        def forward(self, x):
            return self.logits(self.norm(self.layers(self.embedding(x) + self.position))).view(512, 256)

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[1][0][0])

    def prepare(name):
        torch.manual_seed(1)
        sizes = product_sizes(name)
        if sizes:
            m, k, n = sizes
            x, w = torch.rand(m, k), torch.rand(k, n)
            return lambda: torch.mm(x, w)
        xs, ys = (torch.from_numpy(a) for a in data[name])
        models = {
            'logistic': lambda: nn.Linear(5, 2),
            'mlp': lambda: nn.Sequential(
                nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)),
            'cnn': lambda: nn.Sequential(
                nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10)),
            'lstm': Lstm,
            'transformer': Transformer,
        }
        model = models[name]()
        if name == 'cnn':
            xs = xs.permute(0, 3, 1, 2).contiguous()
        if name == 'transformer':
            ys = ys.reshape(-1)
        simple = name in ('logistic', 'mlp')
        optimizer = (torch.optim.SGD(model.parameters(), 0.1) if simple
                     else torch.optim.Adam(model.parameters(), 1e-3, fused=True))

        def run():
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(xs), ys).backward()
            optimizer.step()
        return run
    return prepare


prepare = tensorflow_steps() if framework == 'tensorflow' else pytorch_steps()


def prepare_any(name):
    """A step by its name; that of mlpx4 is four of mlp at once, each with variables of its own."""
    if 'x' not in name or name.startswith('product'):
        return prepare(name)
    step, count = name.split('x')
    runs = [prepare(step) for _ in range(int(count))]
    threads = concurrent.futures.ThreadPoolExecutor(len(runs))
    return lambda: [done.result() for done in [threads.submit(run) for run in runs]]


clock = time.process_time if sys.argv[3:] == ['cpu'] else time.perf_counter
ready = {}
print('ready', flush=True)
for line in sys.stdin:
    name, runs = line.split()
    if name not in ready:
        ready[name] = prepare_any(name)
        for _ in range(3):
            ready[name]()
    times = []
    for _ in range(int(runs)):
        start = clock()
        ready[name]()
        times.append((clock() - start) * 1e6)
    print(min(times), statistics.median(times), flush=True)
