/** @file What the metrics share: their local variables, their options, and the shapes of their arguments. */

import { type DType, float32 } from '../../core/dtypes.ts';
import { type Dims, isFullyDefined, showTuple } from '../../core/shape.ts';
import { fromOnePlace } from '../../graph/graph.ts';
import { checkOptions, type OptionNames } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { checkGiven, convertToTensor } from '../../op/convert.ts';
import { expandDims, rank, squeeze, zeros } from '../../ops/array/index.ts';
import { equal } from '../../ops/math/index.ts';
import { minus } from '../../ops/math/operators.ts';
import { BaseVariable, type Updated } from '../baseVariable.ts';
import { addToCollections, GraphKeys } from '../collections.ts';
import { cond } from '../controlFlow/cond.ts';
import { checkSameShape, removeSqueezableDimensions } from '../squeezing.ts';
import { Variable } from '../variable.ts';
import { variableScope } from '../variableScope.ts';

export interface MetricOptions {
  /** A scalar, or weights of the values' rank whose sizes are the values' or 1. */
  readonly weights?: TensorLike | undefined;
  /** Collections that the value is added to. */
  readonly metricsCollections?: string | readonly string[] | undefined;
  /** Collections that the update is added to. */
  readonly updatesCollections?: string | readonly string[] | undefined;
  /** The variable scope of the metric. */
  readonly name?: string | undefined;
}

/** The options of all metrics, those of single ones included. */
const optionNames: OptionNames<MetricOptions> = {
  weights: true,
  metricsCollections: true,
  updatesCollections: true,
  name: true,
  ...{ k: true, classId: true, thresholds: true, numThresholds: true, curve: true, summationMethod: true },
};

/** The value so far, and the operation that takes in a batch and gives the value after it. */
export type Metric<V = Tensor, U = Tensor> = [value: V, update: U];
/** Something a metric's formula is computed from: its variables, or their state after an update. */
export type Counted = Tensor | BaseVariable;

/** A local variable that starts at zero and is no part of the model. */
export function metricVariable(shape: Dims, dtype: DType, name: string): Variable {
  if (!isFullyDefined(shape))
    throw userError(
      `The metric variable '${name}' needs a shape with every size known, but it is ${showTuple(shape)}. setShape on the values gives it.`,
    );
  return new Variable(() => zeros(shape, { dtype }), {
    trainable: false,
    collections: [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
    name,
  });
}

/** Builds a metric inside its own variable scope. */
export function metricScope<T>(name: string | undefined, defaultName: string, body: () => T): T {
  return fromOnePlace(() =>
    name === undefined ? variableScope(null, { defaultName }, body) : variableScope(name, body),
  );
}

/** Adds the two parts of a metric to the collections that were asked for. */
export function collected<V, U>(value: V, update: U, options: MetricOptions): Metric<V, U> {
  checkOptions('The metric', options, optionNames);
  if (options.metricsCollections !== undefined) addToCollections(options.metricsCollections, value);
  if (options.updatesCollections !== undefined) addToCollections(options.updatesCollections, update);
  return [value, update];
}

/** A metric by one formula: of what has been counted so far for its value, of what is counted then for its update. */
export function byFormula<S>(
  formula: (state: S, name: string) => Tensor,
  before: S,
  after: S,
  options: MetricOptions,
): Metric {
  const value = formula(before, 'value');
  return collected(value, formula(after, 'update_op'), options);
}

/** The value of a variable as an operator reads it: in the scope outside the operator's own. */
export function read(x: Counted): Tensor {
  return x instanceof BaseVariable ? x.value() : x;
}

export interface Arguments {
  readonly predictions: Tensor;
  readonly labels: Tensor;
  readonly weights: Tensor | undefined;
}

/** Predictions, labels and weights of one rank: trailing axes of size 1 come or go. */
export function squeezed(predictions: TensorLike, labels: TensorLike, weights: TensorLike | undefined): Arguments {
  checkGiven('predictions', predictions);
  const given = convertToTensor(predictions);
  const pair = removeSqueezableDimensions(labels, given);
  checkSameShape({ predictions: pair.predictions, labels: pair.labels });
  return { ...pair, weights: weights === undefined ? undefined : squeezedWeights(weights, pair.predictions) };
}

/** Weights with as many axes as the values. Where a rank is not known, branches decide when the graph runs. */
export function squeezedWeights(given: TensorLike, values: Tensor): Tensor {
  const weights = convertToTensor(given, { hint: float32 });
  if (weights.rank === 0) return weights;
  if (weights.rank !== null && values.rank !== null) {
    if (weights.rank - values.rank === 1) return squeeze(weights, { axis: [-1] });
    return values.rank - weights.rank === 1 ? expandDims(weights, [-1]) : weights;
  }
  const weightsRank = rank(weights);
  const rankDiff = minus(weightsRank, rank(values));
  const mayLose = (weights.shape?.at(-1) ?? 1) === 1;
  const expanded = () =>
    cond(
      equal(rankDiff, -1),
      () => expandDims(weights, [-1]),
      () => weights,
    );
  const squeezedOne = () => (mayLose ? squeeze(weights, { axis: [-1] }) : weights);
  return cond(
    equal(weightsRank, 0),
    () => weights,
    () => cond(equal(rankDiff, 1), squeezedOne, expanded),
  );
}

export type { Updated };
