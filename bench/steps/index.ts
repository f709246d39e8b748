/** @file The training steps that are measured. */
import { cnn } from './cnn.ts';
import { logistic } from './logistic.ts';
import { lstm } from './lstm.ts';
import { mlp } from './mlp.ts';
import { product } from './product.ts';
import type { Model } from './step.ts';
import { transformer } from './transformer.ts';

interface Step {
  readonly title: string;
  build(): Model;
  /** Of steps that several sessions take at once, how many do. */
  readonly sessions?: number;
  /** Multiplications and additions of its matrix products and convolutions, as they are written down. */
  readonly operations?: number;
  /** Whether its speed is told by these. */
  readonly isProduct?: true;
}

/** Of a dense layer and its two gradients, or only that of its weights. */
const denseOperations = (rows: number, from: number, to: number, parts = 3) => 2 * rows * from * to * parts;
/** The same of a convolution over images that keep their size. */
const convOperations = (pixels: number, taps: number, from: number, to: number, parts = 3) =>
  2 * pixels * taps * from * to * parts;
const mlpOperations =
  denseOperations(128, 784, 512, 2) + denseOperations(128, 512, 512) + denseOperations(128, 512, 10);
const cnnOperations =
  convOperations(64 * 28 * 28, 25, 1, 32, 2) +
  convOperations(64 * 14 * 14, 25, 32, 64) +
  denseOperations(64, 3136, 1024) +
  denseOperations(64, 1024, 10);
/** Each time step has inputs and state side by side; what goes back is the state's gradient. */
const lstmOperations = 50 * (denseOperations(32, 64 + 128, 4 * 128, 2) + denseOperations(32, 128, 4 * 128, 1));
/** Of a layer: projections, the two products of attention for 8 sequences and 4 heads, and the dense layers. */
const transformerOperations =
  2 *
    (denseOperations(512, 128, 4 * 128) +
      2 * denseOperations(8 * 4 * 64, 32, 64) +
      2 * denseOperations(512, 128, 512)) +
  denseOperations(512, 128, 256);

const productOf = (m: number, k: number, n: number): Step => ({
  title: `product ${m} x ${k} x ${n}`,
  build: () => product(m, k, n),
  operations: 2 * m * k * n,
  isProduct: true,
});

export const steps: Readonly<Record<string, Step>> = {
  logistic: { title: 'logistic regression [3,5]·[5,2], SGD', build: logistic },
  mlp: { title: 'MLP 784-512-512-10, batch 128, SGD', build: mlp, operations: mlpOperations },
  cnn: { title: 'CNN 5x5x32, pool, 5x5x64, pool, 1024, 10; batch 64, Adam', build: cnn, operations: cnnOperations },
  lstm: { title: 'LSTM 128 over [32,50,64], dense head, Adam', build: lstm, operations: lstmOperations },
  transformer: {
    title: 'transformer 2 layers, d 128, 4 heads, batch 8 × 64, Adam',
    build: transformer,
    operations: transformerOperations,
  },
  product256x256x256: productOf(256, 256, 256),
  product1024x1024x1024: productOf(1024, 1024, 1024),
  product128x784x512: productOf(128, 784, 512),
  // The last one: PyTorch's threads do not end with those that called it, and would slow down what comes after.
  mlpx4: {
    title: '4 MLPs as above at once, each in a session of its own',
    build: mlp,
    operations: 4 * mlpOperations,
    sessions: 4,
  },
};
