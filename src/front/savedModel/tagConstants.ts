/** @file Tags that say what a graph of a SavedModel is for. */
export const SERVING = 'serve';
export const TRAINING = 'train';
export const EVAL = 'eval';
export const GPU = 'gpu';
export const TPU = 'tpu';
