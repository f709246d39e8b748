/** @file `tf.queue`. */
export { FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue } from '../front/input/index.ts';
