/** @file A transformer of 2 layers, width 128, 4 heads, on 8 sequences of 64 tokens of 256 kinds, Adam. */
import * as tf from 'tensorloom';
import type { Model } from './step.ts';

const batch = 8;
const length = 64;
const width = 128;
const heads = 4;
const kinds = 256;

/** Rows times a matrix, plus a bias. */
function dense(x: tf.Tensor, name: string, from: number, to: number): tf.Tensor {
  const w = tf.getVariable(`${name}/w`, [from, to]);
  return tf.matmul(x, w).add(tf.getVariable(`${name}/b`, [to], { initializer: tf.zerosInitializer() }));
}

/** Layer normalization, written out as one did in TensorFlow 1.x. */
function layerNorm(x: tf.Tensor, name: string): tf.Tensor {
  const scale = tf.getVariable(`${name}/scale`, [width], { initializer: tf.onesInitializer() });
  const shift = tf.getVariable(`${name}/shift`, [width], { initializer: tf.zerosInitializer() });
  const mean = tf.reduceMean(x, -1, { keepdims: true });
  const centred = x.sub(mean);
  const variance = tf.reduceMean(tf.square(centred), -1, { keepdims: true });
  return centred
    .mul(tf.rsqrt(variance.add(1e-5)))
    .mul(scale)
    .add(shift);
}

function attention(x: tf.Tensor, name: string): tf.Tensor {
  const split = (y: tf.Tensor) => tf.transpose(tf.reshape(y, [batch, length, heads, width / heads]), [0, 2, 1, 3]);
  const part = (which: string) => split(dense(x, `${name}/${which}`, width, width));
  const [q, k, v] = [part('q'), part('k'), part('v')] as const;
  const scores = tf.matmul(q, k, { transposeB: true }).mul(1 / Math.sqrt(width / heads));
  const mixed = tf.matmul(tf.nn.softmax(scores), v);
  const joined = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch * length, width]);
  return dense(joined, `${name}/out`, width, width);
}

export function transformer(): Model {
  const tokens = tf.placeholder(tf.int32, [batch, length]);
  const next = tf.placeholder(tf.int32, [batch, length]);
  const embedding = tf.getVariable('embedding', [kinds, width]);
  const position = tf.getVariable('position', [length, width]);
  let x: tf.Tensor = tf.reshape(tf.gather(embedding, tokens).add(position), [batch * length, width]);
  for (let layer = 0; layer < 2; layer++) {
    x = x.add(attention(layerNorm(x, `${layer}/norm1`), `${layer}/attention`));
    const hidden = tf.nn.relu(dense(layerNorm(x, `${layer}/norm2`), `${layer}/up`, width, 4 * width));
    x = x.add(dense(hidden, `${layer}/down`, 4 * width, width));
  }
  const logits = dense(layerNorm(x, 'norm'), 'logits', width, kinds);
  const labels = tf.reshape(next, [batch * length]);
  const loss = tf.reduceMean(tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels, logits }));
  const step = new tf.train.AdamOptimizer(1e-3).minimize(loss);
  const text = (shift: number) =>
    new tf.NDArray(
      tf.int32,
      [batch, length],
      Int32Array.from({ length: batch * length }, (_, i) => ((i + shift) * 31) % kinds),
    );
  return {
    step,
    loss,
    feeds: [
      [tokens, text(0)],
      [next, text(1)],
    ],
  };
}
