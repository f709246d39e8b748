/** @file tf.data: input pipelines as graphs. */
export * from '../front/data/index.ts';
export * as experimental from './dataExperimental.ts';
