/** @file `tf.examples`: data for the first programs. */
export { type DigitSet, type Mnist, type MnistOptions, mnist } from '../io/mnist.ts';
