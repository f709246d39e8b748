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
  /** Of steps whose speed is told by operations per second, how many there are. */
  readonly operations?: number;
}

const productOf = (m: number, k: number, n: number): Step => ({
  title: `product ${m} x ${k} x ${n}`,
  build: () => product(m, k, n),
  operations: 2 * m * k * n,
});

export const steps: Readonly<Record<string, Step>> = {
  logistic: { title: 'logistic regression [3,5]·[5,2], SGD', build: logistic },
  mlp: { title: 'MLP 784-512-512-10, batch 128, SGD', build: mlp },
  cnn: { title: 'CNN 5x5x32, pool, 5x5x64, pool, 1024, 10; batch 64, Adam', build: cnn },
  lstm: { title: 'LSTM 128 over [32,50,64], dense head, Adam', build: lstm },
  transformer: { title: 'transformer 2 layers, d 128, 4 heads, batch 8 × 64, Adam', build: transformer },
  product256x256x256: productOf(256, 256, 256),
  product1024x1024x1024: productOf(1024, 1024, 1024),
  product128x784x512: productOf(128, 784, 512),
  // The last one: PyTorch's threads do not end with those that called it, and would slow down what comes after.
  mlpx4: { title: '4 MLPs as above at once, each in a session of its own', build: mlp, sessions: 4 },
};
