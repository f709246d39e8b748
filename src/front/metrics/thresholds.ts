/** @file Counts of right and wrong answers at many thresholds, and the metrics made of them: area under a curve and others. */
import { bool, float32, int32, int64 } from '../../core/dtypes.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import {
  constant,
  expandDims,
  identity,
  onesLike,
  reshape,
  shape,
  stack,
  tile,
  transpose,
} from '../../ops/array/index.ts';
import { assertGreaterEqual, assertLessEqual } from '../../ops/flow/index.ts';
import {
  abs,
  argmax,
  argmin,
  cast,
  cumsum,
  divide,
  divNoNan,
  equal,
  greater,
  log,
  logicalAnd,
  logicalNot,
  maximum,
  minimum,
  multiply,
  reduceMin,
  reduceSum,
  where,
} from '../../ops/math/index.ts';
import { plus } from '../../ops/math/operators.ts';
import { asType } from '../squeezing.ts';
import { broadcastWeights } from '../weightsBroadcast.ts';
import {
  byFormula,
  type Counted,
  collected,
  type Metric,
  type MetricOptions,
  metricScope,
  metricVariable,
  read,
  squeezed,
  type Updated,
} from './common.ts';

const kinds = {
  tp: { variable: 'true_positives', label: true, prediction: true },
  fn: { variable: 'false_negatives', label: true, prediction: false },
  tn: { variable: 'true_negatives', label: false, prediction: false },
  fp: { variable: 'false_positives', label: false, prediction: true },
} as const;
type Kind = keyof typeof kinds;
type Counts<K extends Kind, X> = Readonly<Record<K, X>>;
interface Confusion<K extends Kind> {
  readonly values: Counts<K, Counted>;
  readonly updates: Counts<K, Updated>;
}

/** Predictions as they are when both bounds have been checked. */
function checkedPredictions(given: TensorLike): { predictions: Tensor; checks: ReturnType<typeof assertLessEqual>[] } {
  const predictions = convertToTensor(given, { hint: float32 });
  const message = 'predictions must be in [0, 1]';
  const lower = assertGreaterEqual(predictions, asType(0, predictions.dtype), { message });
  const upper = assertLessEqual(predictions, asType(1, predictions.dtype), { message });
  return { predictions, checks: [lower, upper] };
}

/** One row per threshold, one column per example. */
function confusionAtThresholds<K extends Kind>(
  labels: TensorLike,
  predictions: TensorLike,
  thresholds: readonly number[],
  weights: TensorLike | undefined,
  includes: readonly K[],
): Confusion<K> {
  const { predictions: given, checks } = checkedPredictions(predictions);
  const fitted = controlDependencies(checks, () => {
    const p = asType(given, float32);
    return squeezed(p, asType(labels, bool), weights);
  });
  const count = thresholds.length;
  const column = reshape(fitted.predictions, [-1, 1]);
  const row = reshape(asType(fitted.labels, bool), [1, -1]);
  const examples = column.shape?.[0] ?? shape(column).slice('0');
  const limits = tile(expandDims(constant(thresholds, { dtype: float32 }), [1]), stack([1, examples]));
  const isPositive = greater(tile(transpose(column), [count, 1]), limits);
  const needs = (part: 'label' | 'prediction') => includes.some((k) => !kinds[k][part]);
  const isNegative = needs('prediction') ? logicalNot(isPositive) : isPositive;
  const labelledPositive = tile(row, [count, 1]);
  const labelledNegative = needs('label') ? logicalNot(labelledPositive) : labelledPositive;
  let perExample: Tensor | undefined;
  if (fitted.weights !== undefined) {
    const fitting = broadcastWeights(asType(fitted.weights, float32), fitted.predictions);
    perExample = tile(reshape(fitting, [1, -1]), [count, 1]);
  }
  const counted = includes.map((kind) => {
    const { variable, label, prediction } = kinds[kind];
    const value = metricVariable([count], float32, variable);
    const both = logicalAnd(label ? labelledPositive : labelledNegative, prediction ? isPositive : isNegative);
    const hits: Tensor = cast(both, float32);
    const sum = reduceSum(perExample === undefined ? hits : hits.mul(perExample), 1);
    return { kind, value, update: value.assignAdd(sum) };
  });
  // The keys are exactly `includes`.
  const record = <X>(pick: (c: (typeof counted)[number]) => X) =>
    Object.fromEntries(counted.map((c) => [c.kind, pick(c)])) as Counts<K, X>;
  return { values: record((c) => c.value), updates: record((c) => c.update) };
}

const allKinds: readonly Kind[] = ['tp', 'fn', 'tn', 'fp'];

type AtThresholds = (
  labels: TensorLike,
  predictions: TensorLike,
  thresholds: readonly number[],
  options?: MetricOptions,
) => Metric<Tensor, Updated>;

function counterAtThresholds(kind: Kind): AtThresholds {
  return (labels, predictions, thresholds, options = {}) =>
    metricScope(options.name, kinds[kind].variable, () => {
      const { values, updates } = confusionAtThresholds(labels, predictions, thresholds, options.weights, [kind]);
      return collected(identity(values[kind]), updates[kind], options);
    });
}

/** True positives when predictions above each threshold count as true. Adds the local variable `true_positives`. */
export const truePositivesAtThresholds: AtThresholds = counterAtThresholds('tp');
/** False negatives at each threshold. Adds the local variable `false_negatives`. */
export const falseNegativesAtThresholds: AtThresholds = counterAtThresholds('fn');
/** True negatives at each threshold. Adds the local variable `true_negatives`. */
export const trueNegativesAtThresholds: AtThresholds = counterAtThresholds('tn');
/** False positives at each threshold. Adds the local variable `false_positives`. */
export const falsePositivesAtThresholds: AtThresholds = counterAtThresholds('fp');

/** Keeps quotients of counts finite. */
const epsilon = 1e-7;

function shareAtThresholds(name: 'precision' | 'recall', misses: 'fp' | 'fn') {
  const share = (counts: Counts<'tp' | 'fp' | 'fn', Counted>, part: string) => {
    const sum = plus(epsilon, read(counts.tp)).add(counts[misses]);
    return divide(counts.tp, sum, { name: `${name}_${part}` });
  };
  return (
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: readonly number[],
    options: MetricOptions = {},
  ): Metric =>
    metricScope(options.name, `${name}_at_thresholds`, () => {
      // `share` looks only at the kinds named here.
      const includes = ['tp', misses] as readonly ('tp' | 'fp' | 'fn')[];
      const { values, updates } = confusionAtThresholds(labels, predictions, thresholds, options.weights, includes);
      return byFormula(share, values, updates, options);
    });
}

type ShareAtThresholds = (
  labels: TensorLike,
  predictions: TensorLike,
  thresholds: readonly number[],
  options?: MetricOptions,
) => Metric;
/** Precision when predictions above each threshold count as true. */
export const precisionAtThresholds: ShareAtThresholds = shareAtThresholds('precision', 'fp');
/** Recall when predictions above each threshold count as true. */
export const recallAtThresholds: ShareAtThresholds = shareAtThresholds('recall', 'fn');

/** Evenly spaced thresholds; the outer two lie just outside [0, 1], so that rounding cannot matter there. */
function spread(count: number, last = 1 + epsilon): number[] {
  const inner = Array.from({ length: count - 2 }, (_, i) => (i + 1) / (count - 1));
  return [0 - epsilon, ...inner, last];
}

export interface AucOptions extends MetricOptions {
  /** How many thresholds approximate the curve; 200 unless given. */
  readonly numThresholds?: number | undefined;
  /** `'ROC'`, or `'PR'` for precision over recall. */
  readonly curve?: 'ROC' | 'PR' | undefined;
  /** How the area is summed up; for `'PR'`, `'careful_interpolation'` is the right one. */
  readonly summationMethod?: 'trapezoidal' | 'careful_interpolation' | 'minoring' | 'majoring' | undefined;
  /** Thresholds inside (0, 1) to use instead of evenly spaced ones. */
  readonly thresholds?: readonly number[] | undefined;
}

/** The area under the precision-recall curve, interpolated as Davis and Goadrich (2006) do. */
function interpolatedArea({ tp, fp, fn }: Counts<Kind, Counted>, last: number): Tensor {
  const upTo = `:${last}`;
  const dtp = tp.slice(upTo).sub(tp.slice('1:'));
  const p = tp.add(fp);
  const slope = divNoNan(dtp, maximum(p.slice(upTo).sub(p.slice('1:')), 0), { name: 'prec_slope' });
  const intercept = tp.slice('1:').sub(multiply(slope, p.slice('1:')));
  const bothPositive = logicalAnd(greater(p.slice(upTo), 0), greater(p.slice('1:'), 0));
  const head = p.slice(upTo);
  const ratio = divNoNan(head, maximum(p.slice('1:'), 0), { name: 'recall_relative_ratio' });
  const safeRatio = where(bothPositive, ratio, onesLike(p.slice('1:')));
  const rise = slope.mul(dtp.add(intercept.mul(log(safeRatio))));
  const increments = divNoNan(rise, maximum(tp.slice('1:').add(fn.slice('1:')), 0), { name: 'pr_auc_increment' });
  return reduceSum(increments, null, { name: 'interpolate_pr_auc' });
}

function area(counts: Counts<Kind, Counted>, last: number, options: AucOptions, name: string): Tensor {
  const { curve = 'ROC', summationMethod = 'trapezoidal' } = options;
  if (curve === 'PR' && summationMethod === 'careful_interpolation') return interpolatedArea(counts, last);
  const { tp, fn, tn, fp } = counts;
  const small = 1e-6;
  const share = (hits: Counted, misses: Counted) => {
    const some = hits.add(small);
    return divide(some, hits.add(misses).add(small));
  };
  const recalls = share(tp, fn);
  let [x, y] = [recalls, recalls];
  if (curve === 'ROC') {
    const all = fp.add(tn).add(small);
    x = divide(read(fp), all);
  } else y = share(tp, fp);
  const upTo = `:${last}`;
  const widths = x.slice(upTo).sub(x.slice('1:'));
  const left = y.slice(upTo);
  const right = y.slice('1:');
  const heights =
    summationMethod === 'minoring'
      ? minimum(left, right)
      : summationMethod === 'majoring'
        ? maximum(left, right)
        : left.add(right).div(2);
  return reduceSum(multiply(widths, heights), null, { name });
}

/**
 * The area under the ROC curve (or the precision-recall curve), approximated with many thresholds. Adds the local variables
 * `true_positives`, `false_negatives`, `true_negatives` and `false_positives`.
 *
 * @example const [auc, update] = tf.metrics.auc(labels, tf.sigmoid(logits));
 */
export function auc(labels: TensorLike, predictions: TensorLike, options: AucOptions = {}): Metric {
  const { curve = 'ROC', summationMethod = 'trapezoidal' } = options;
  return metricScope(options.name, 'auc', () => {
    if (curve !== 'ROC' && curve !== 'PR')
      throw userError(`Curve must be either ROC or PR. Curve ${curve} is unknown.`);
    if (!['trapezoidal', 'careful_interpolation', 'minoring', 'majoring'].includes(summationMethod))
      throw userError(
        `Invalid summationMethod: ${summationMethod}. It should be 'trapezoidal', 'careful_interpolation', 'minoring', or 'majoring'.`,
      );
    const thresholds = options.thresholds
      ? [0 - epsilon, ...[...options.thresholds].sort((a, b) => a - b), 1 + epsilon]
      : spread(options.numThresholds ?? 200);
    const last = thresholds.length - 1;
    const { values, updates } = confusionAtThresholds(labels, predictions, thresholds, options.weights, allKinds);
    return byFormula((counts, name) => area(counts, last, options, name), values, updates, options);
  });
}

/** `hits / (hits + misses)` at one threshold. */
function shareAt(index: Tensor, hits: Counted, misses: Counted, name: string): Tensor {
  const at = cast(index, int32);
  const some = hits.slice([at]);
  const all = hits
    .slice([at])
    .add(misses.slice([at]))
    .add(epsilon);
  return divide(some, all, { name });
}

export interface CurveOptions extends MetricOptions {
  readonly numThresholds?: number | undefined;
}

function checkShare(name: string, value: number): void {
  if (!(value >= 0 && value <= 1))
    throw userError(`\`${name}\` must be in the range [0, 1]. Currently, \`${name}\` is ${value}.`);
}

/** The recall at the threshold where the specificity (the share of negatives recognized) is nearest to the wanted one. */
export function sensitivityAtSpecificity(
  labels: TensorLike,
  predictions: TensorLike,
  specificity: number,
  options: CurveOptions = {},
): Metric {
  checkShare('specificity', specificity);
  return metricScope(options.name, 'sensitivity_at_specificity', () => {
    const thresholds = spread(options.numThresholds ?? 200);
    const { values, updates } = confusionAtThresholds(labels, predictions, thresholds, options.weights, allKinds);
    const compute = ({ tp, tn, fp, fn }: Counts<Kind, Counted>, name: string) => {
      const all = tn.add(fp).add(epsilon);
      const specificities = divide(read(tn), all);
      return shareAt(argmin(abs(specificities.sub(specificity)), 0), tp, fn, name);
    };
    return byFormula(compute, values, updates, options);
  });
}

/** The specificity at the last threshold where the recall is nearest to the wanted one. */
export function specificityAtSensitivity(
  labels: TensorLike,
  predictions: TensorLike,
  sensitivity: number,
  options: CurveOptions = {},
): Metric {
  checkShare('sensitivity', sensitivity);
  return metricScope(options.name, 'specificity_at_sensitivity', () => {
    const thresholds = spread(options.numThresholds ?? 200, 1 - epsilon);
    const { values, updates } = confusionAtThresholds(labels, predictions, thresholds, options.weights, allKinds);
    const compute = ({ tp, tn, fp, fn }: Counts<Kind, Counted>, name: string) => {
      const all = tp.add(fn).add(epsilon);
      const sensitivities = divide(read(tp), all);
      const nearest = reduceMin(abs(sensitivities.sub(sensitivity)));
      const isNearest = equal(abs(sensitivities.sub(sensitivity)), nearest);
      // The running count is largest from the last hit on, and argmax gives the first of those.
      const index = argmax(cumsum(cast(isNearest, int64)), 0);
      return shareAt(index, tn, fp, name);
    };
    return byFormula(compute, values, updates, options);
  });
}
