/** @file Names of `tf.train` that only build graphs: optimizers, schedules, moving averages, the global step. */
export { assertGlobalStep, createGlobalStep, getGlobalStep, getOrCreateGlobalStep, globalStep } from './globalStep.ts';
export * from './input/train.ts';
export { ExponentialMovingAverage, type MovingAverageOptions } from './movingAverages.ts';
export { AdadeltaOptimizer } from './optimizers/adadelta.ts';
export { AdagradDAOptimizer, AdagradOptimizer, ProximalAdagradOptimizer } from './optimizers/adagrad.ts';
export { AdamOptimizer } from './optimizers/adam.ts';
export { FtrlOptimizer } from './optimizers/ftrl.ts';
export { GradientDescentOptimizer, ProximalGradientDescentOptimizer } from './optimizers/gradientDescent.ts';
export { MomentumOptimizer } from './optimizers/momentum.ts';
export { type GradientAndVariable, Optimizer } from './optimizers/optimizer.ts';
export { RMSPropOptimizer } from './optimizers/rmsProp.ts';
export { type SaveOptions, Saver, type SaverOptions } from './saver.ts';
export {
  cosineDecay,
  cosineDecayRestarts,
  exponentialDecay,
  inverseTimeDecay,
  linearCosineDecay,
  naturalExpDecay,
  noisyLinearCosineDecay,
  piecewiseConstant,
  piecewiseConstantDecay,
  polynomialDecay,
} from './schedules.ts';
