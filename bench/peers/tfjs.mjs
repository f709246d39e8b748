/**
 * @file The training steps of bench/steps in TensorFlow.js on its wasm backend, which runs on one thread in Node. Reads a step's name
 * and a number of runs per line, and prints the best and the median time of one run in microseconds, or `NaN NaN` for a step that the
 * backend has no kernels for: `node tfjs.mjs FOLDER [cpu]`, where FOLDER has @tensorflow/tfjs and @tensorflow/tfjs-backend-wasm in
 * its node_modules.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

const [folder, clockName] = process.argv.slice(2);
const require = createRequire(join(folder, 'index.js'));
// It prints advice on standard output, where answers go.
console.log = console.info = console.warn = (...words) => process.stderr.write(`${words.join(' ')}\n`);
const tf = require('@tensorflow/tfjs');
const wasm = require('@tensorflow/tfjs-backend-wasm');
wasm.setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm/package.json'))}/wasm-out/`);
await tf.setBackend('wasm');
await tf.ready();

const weights = (...shape) => tf.variable(tf.truncatedNormal(shape, 0, 1 / Math.sqrt(shape[0])));
const zeros = (...shape) => tf.variable(tf.zeros(shape));
const ones = (...shape) => tf.variable(tf.ones(shape));
const labels = (rows, classes) =>
  tf.oneHot(
    Array.from({ length: rows }, (_, i) => (i * 7) % classes),
    classes,
  );
const loss = (y, logits) => tf.losses.softmaxCrossEntropy(y, logits);

/** A dense layer. */
function dense(n, m) {
  const [w, b] = [weights(n, m), zeros(m)];
  return (x) => tf.add(tf.matMul(x, w), b);
}
function norm() {
  const [scale, shift] = [ones(128), zeros(128)];
  return (x) => {
    const { mean, variance } = tf.moments(x, -1, true);
    return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5))), scale), shift);
  };
}
function attention() {
  const [q, k, v, out] = [dense(128, 128), dense(128, 128), dense(128, 128), dense(128, 128)];
  const heads = (x) => tf.transpose(tf.reshape(x, [8, 64, 4, 32]), [0, 2, 1, 3]);
  return (x) => {
    const scores = tf.div(tf.matMul(heads(q(x)), heads(k(x)), false, true), Math.sqrt(32));
    const mixed = tf.matMul(tf.softmax(scores), heads(v(x)));
    return out(tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [512, 128]));
  };
}

/** What gives the loss of a step, and its optimizer. */
const steps = {
  logistic() {
    const [x, y, layer] = [tf.randomUniform([3, 5]), labels(3, 2), dense(5, 2)];
    return [() => loss(y, layer(x)), tf.train.sgd(0.1)];
  },
  mlp() {
    const [x, y] = [tf.randomUniform([128, 784]), labels(128, 10)];
    const layers = [dense(784, 512), dense(512, 512), dense(512, 10)];
    return [() => loss(y, layers[2](tf.relu(layers[1](tf.relu(layers[0](x)))))), tf.train.sgd(0.1)];
  },
  cnn() {
    const [x, y] = [tf.randomUniform([64, 28, 28, 1]), labels(64, 10)];
    const filters = [weights(5, 5, 1, 32), weights(5, 5, 32, 64)];
    const biases = [zeros(32), zeros(64)];
    const [hidden, out] = [dense(3136, 1024), dense(1024, 10)];
    const layer = (h, i) => tf.maxPool(tf.relu(tf.add(tf.conv2d(h, filters[i], 1, 'same'), biases[i])), 2, 2, 'same');
    return [() => loss(y, out(tf.relu(hidden(tf.reshape(layer(layer(x, 0), 1), [64, 3136]))))), tf.train.adam(1e-3)];
  },
  lstm() {
    const [x, y] = [tf.randomUniform([32, 50, 64]), labels(32, 10)];
    const [kernel, bias, head] = [weights(192, 512), zeros(512), dense(128, 10)];
    const inputs = tf.unstack(x, 1);
    const value = () => {
      let [c, h] = [tf.zeros([32, 128]), tf.zeros([32, 128])];
      for (const input of inputs) [c, h] = tf.basicLSTMCell(tf.scalar(1), kernel, bias, input, c, h);
      return loss(y, head(h));
    };
    return [value, tf.train.adam(1e-3)];
  },
  transformer() {
    const words = tf.oneHot(
      Array.from({ length: 512 }, (_, i) => (i * 31) % 256),
      256,
    );
    const y = tf.oneHot(
      Array.from({ length: 512 }, (_, i) => (i * 17) % 256),
      256,
    );
    const [embedding, position] = [weights(256, 128), weights(64, 128)];
    const layers = [0, 1].map(() => [norm(), attention(), norm(), dense(128, 512), dense(512, 128)]);
    const [last, logits] = [norm(), dense(128, 256)];
    const value = () => {
      // A product with one-hot rows in place of a gather, whose gradient the backend has no kernel for.
      let h = tf.reshape(tf.add(tf.reshape(tf.matMul(words, embedding), [8, 64, 128]), position), [512, 128]);
      for (const [norm1, mix, norm2, up, down] of layers) {
        h = tf.add(h, mix(norm1(h)));
        h = tf.add(h, down(tf.relu(up(norm2(h)))));
      }
      return loss(y, logits(last(h)));
    };
    return [value, tf.train.adam(1e-3)];
  },
};

/** Microseconds. */
function clock() {
  if (clockName !== 'cpu') return Number(process.hrtime.bigint()) / 1000;
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** A product, for names such as product128x784x512. */
function product(name) {
  const [m, k, n] = name.slice('product'.length).split('x').map(Number);
  const [x, w] = [tf.randomUniform([m, k]), weights(k, n)];
  return () => tf.matMul(x, w).dispose();
}

const ready = new Map();
function prepare(name) {
  if (name.startsWith('product')) return product(name);
  const [value, optimizer] = steps[name]();
  const run = () => tf.tidy(() => void optimizer.minimize(value));
  run();
  return run;
}
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const [name, runs] = line.split(' ');
  try {
    if (!ready.has(name)) ready.set(name, prepare(name));
    const times = Array.from({ length: Number(runs) }, () => {
      const start = clock();
      ready.get(name)();
      return clock() - start;
    }).sort((a, b) => a - b);
    process.stdout.write(`${times[0]} ${times[times.length >> 1]}\n`);
  } catch (error) {
    process.stderr.write(`tfjs ${name}: ${String(error).slice(0, 200)}\n`);
    process.stdout.write('NaN NaN\n');
  }
}
