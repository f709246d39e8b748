/** @file Names of `tf.train` for loops that train: coordinators, sessions that look after themselves, and their hooks. */
export { summaryIterator } from '../summary/fileWriter.ts';
export { Coordinator, type CoordinatorOptions, type JoinOptions, LooperThread } from './coordinator.ts';
export { BackgroundTask, type Task, type TaskOptions } from './task.ts';
