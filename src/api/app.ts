/** @file `tf.app`: running a program from the command line. */
export { type RunOptions, run } from '../app/run.ts';
export * as flags from './flags.ts';
