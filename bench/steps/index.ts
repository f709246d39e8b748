/** @file The training steps that are measured. */
import { cnn } from './cnn.ts';
import { logistic } from './logistic.ts';
import { lstm } from './lstm.ts';
import { mlp } from './mlp.ts';
import type { Model } from './step.ts';
import { transformer } from './transformer.ts';

export const steps: Readonly<Record<string, { readonly title: string; readonly build: () => Model }>> = {
  logistic: { title: 'logistic regression [3,5]·[5,2], SGD', build: logistic },
  mlp: { title: 'MLP 784-512-512-10, batch 128, SGD', build: mlp },
  cnn: { title: 'CNN 5x5x32, pool, 5x5x64, pool, 1024, 10; batch 64, Adam', build: cnn },
  lstm: { title: 'LSTM 128 over [32,50,64], dense head, Adam', build: lstm },
  transformer: { title: 'transformer 2 layers, d 128, 4 heads, batch 8 × 64, Adam', build: transformer },
};
