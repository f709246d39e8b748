/**
 * @file One matrix product of what is fed and a variable: what a session makes of the library's speed. The variable is the same in every run, so
 * that it may stay packed.
 */
import * as tf from 'tensorloom';
import { type Model, numbers } from './step.ts';

export function product(m: number, k: number, n: number): Model {
  const x = tf.placeholder(tf.float32, [m, k]);
  const result = tf.matmul(x, tf.getVariable('w', [k, n]));
  return { step: result, loss: result, feeds: [[x, numbers([m, k])]] };
}
