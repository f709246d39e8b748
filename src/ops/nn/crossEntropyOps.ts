/** @file The cross entropy ops: losses of logits against class probabilities or class numbers, with their gradients. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import {
  broadcastConcrete,
  broadcastShapes,
  compatible,
  type Dims,
  mergeShapes,
  type Shape,
  showRuntime,
  showShape,
} from '../../core/shape.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { attr, floats } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import * as e from '../../program/expr.ts';
import { expandDims } from '../array/expandDims.ts';
import { squeeze } from '../array/squeeze.ts';
import { matmul } from '../math/matmul.ts';
import { minus, minusOf, plus, times } from '../math/operators.ts';
import { differenceOf, exponentialsOf, LogSoftmax, probabilitiesOf, Softmax } from './softmax.ts';

/** A loss per row times the row of a matrix. */
function scaleRows(loss: Gradient, rows: TensorLike): Tensor {
  return times(expandDims(loss, -1), rows);
}

/** The gradient that reaches the logits: through the loss, and through the op's own gradient output. */
function logitsGradient(logits: Tensor, backprop: Tensor, dLoss: Gradient, dBackprop: Gradient | null): Tensor {
  const grad = scaleRows(dLoss, backprop);
  if (dBackprop === null || isZeros(dBackprop)) return grad;
  const softmax = Softmax.build({ logits }).softmax;
  const projection = squeeze(matmul(expandDims(dBackprop, 1), expandDims(softmax, 2)), { axis: 1 });
  return plus(grad, times(minus(dBackprop, projection), softmax));
}

/** A gradient that stands for "nothing arrives here". */
function isZeros(dy: Gradient): boolean {
  return dy instanceof Tensor && dy.op.type === 'ZerosLike';
}

function pairShape(features: Dims, labels: Dims): readonly [number | null, number | null] {
  let shape: Dims;
  try {
    shape = mergedOrBroadcast(features, labels);
  } catch {
    throw new InvalidArgumentError(
      `features is ${showShape(features)} and labels is ${showShape(labels)}; they must have the same shape, [batch, classes], or broadcast to one.`,
    );
  }
  if (shape === null) return [null, null];
  if (shape.length !== 2)
    throw new InvalidArgumentError(
      `features is ${showShape(features)} and labels is ${showShape(labels)}, but together they must have rank 2: [batch, classes].`,
    );
  return [shape[0]!, shape[1]!];
}

/** One matrix shape if both can have it, else what they broadcast to. */
function mergedOrBroadcast(features: Dims, labels: Dims): Dims {
  const matrix = features === null ? [null, null] : features;
  return compatible(matrix, labels) ? mergeShapes(matrix, labels) : broadcastShapes(features, labels);
}

function concretePair(features: Shape, labels: Shape): Shape {
  let shape: Shape;
  try {
    shape = broadcastConcrete(features, labels);
  } catch {
    throw new InvalidArgumentError(
      `logits and labels must be broadcastable: logits_size=${showRuntime(features)} labels_size=${showRuntime(labels)}`,
    );
  }
  if (shape.length !== 2)
    throw new InvalidArgumentError(
      'logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional',
    );
  return shape;
}

export const SoftmaxCrossEntropyWithLogits = defineOp({
  name: 'SoftmaxCrossEntropyWithLogits',
  inputs: { features: 'T', labels: 'T' },
  outputs: { loss: 'T', backprop: 'T' },
  attrs: { T: floats },
  shape({ features, labels }) {
    const [batch, classes] = pairShape(features, labels);
    return { loss: [batch], backprop: [batch, classes] };
  },
  grad({ inputs: { features }, outputs: { backprop } }, dy) {
    const logits = logitsGradient(features, backprop, dy.loss, dy.backprop);
    const labels = scaleRows(dy.loss, minusOf(LogSoftmax.build({ logits: features }).logsoftmax));
    return { features: logits, labels };
  },
  lower(p, { features, labels }, { T }) {
    const shape = concretePair(features.shape, labels.shape);
    const logits = p.broadcast(features, shape);
    const parts = exponentialsOf(p, logits);
    const wide = e.computeType(T);
    const terms = p.map([logits, parts.largest, parts.total, labels], (x, m, s, label) =>
      e.mul(e.cast(label!, wide), e.sub(e.log(s!), differenceOf(x!, m!))),
    );
    const loss = p.cast(p.reduce('sum', terms, [1]), T);
    const backprop = p.map([probabilitiesOf(p, parts), labels], (x, label) =>
      e.cast(e.sub(x!, e.cast(label!, wide)), T),
    );
    return { loss, backprop };
  },
  cases: () => [
    { shape: '[?, 3], [2, 3] -> [2], [2, 3]' },
    { shape: '[1, 3], [2, ?] -> [2], [2, 3]' },
    { shape: '?, [2, 3] -> [2], [2, 3]' },
    { shape: '[2, 3], [2, 4]', rejects: /features is \[2, 3\] and labels is \[2, 4\]/ },
    { shape: '[3], [3]', rejects: /must have rank 2/ },
    {
      given: {
        features: [
          [1, 2, 3],
          [0, 0, 0],
        ],
        labels: [
          [0, 0, 1],
          [0.5, 0.25, 0.25],
        ],
      },
      expect: {
        loss: [0.40760594, 1.0986123],
        backprop: [
          [0.09003057, 0.24472848, -0.33475906],
          [-0.16666666, 0.08333334, 0.08333334],
        ],
      },
      // The way from the labels to `backprop` is left out, as in TensorFlow.
      gradientOf: ['loss'],
      differentiable: 'once',
    },
    {
      given: {
        features: [[1, 2]],
        labels: [
          [1, 0],
          [0, 1],
        ],
      },
      expect: {
        loss: [1.3132616, 0.31326166],
        backprop: [
          [-0.73105854, 0.73105854],
          [0.2689414, -0.26894146],
        ],
      },
      // As in TensorFlow, the gradient does not undo the broadcasting.
      differentiable: false,
    },
  ],
});

/** Which label was out of range, in TensorFlow's words. */
const outsideClasses = (classes: number, value: number) =>
  new InvalidArgumentError(`Received a label value of ${value} which is outside the valid range of [0, ${classes}).`);

export const SparseSoftmaxCrossEntropyWithLogits = defineOp({
  name: 'SparseSoftmaxCrossEntropyWithLogits',
  inputs: { features: 'T', labels: 'Tlabels' },
  outputs: { loss: 'T', backprop: 'T' },
  attrs: { T: floats, Tlabels: attr('type', { allowed: [d.int32, d.int64], default: d.int64 }) },
  shape({ features, labels }) {
    if (features !== null && features.length !== 2)
      throw new InvalidArgumentError(`features is ${showShape(features)}, but must have rank 2: [batch, classes].`);
    if (labels !== null && labels.length !== 1)
      throw new InvalidArgumentError(`labels is ${showShape(labels)}, but must have rank 1: one class number per row.`);
    const [rows, classes] = features ?? [null, null];
    const count = labels?.[0] ?? null;
    if (rows !== null && count !== null && rows !== count)
      throw new InvalidArgumentError(
        `features is ${showShape(features)} and labels is ${showShape(labels)}; their first sizes must be equal.`,
      );
    const batch = rows ?? count;
    return { loss: [batch ?? null], backprop: [batch ?? null, classes!] };
  },
  grad: ({ inputs: { features }, outputs: { backprop } }, dy) => ({
    features: logitsGradient(features, backprop, dy.loss, dy.backprop),
  }),
  lower(p, { features, labels }, { T }) {
    const [logits, given] = [features.shape, labels.shape];
    if (logits.length !== 2) throw new InvalidArgumentError(`logits must be 2-D, but got shape ${showRuntime(logits)}`);
    if (given.length !== 1) throw new InvalidArgumentError(`labels must be 1-D, but got shape ${showRuntime(given)}`);
    if (logits[0] !== given[0])
      throw new InvalidArgumentError(
        `logits and labels must have the same first dimension, got logits shape ${showRuntime(logits)} and labels shape ${showRuntime(given)}`,
      );
    const [batch, classes] = logits as [number, number]; // rank checked
    if (classes === 0)
      throw new InvalidArgumentError(`Must have at least one class, but got logits shape ${showRuntime(logits)}`);
    const parts = exponentialsOf(p, features);
    const explain = ({ value }: { value: number }) => outsideClasses(classes, value);
    const picked = p.gather(p.reshape(features, [batch, 1, classes, 1]), p.reshape(labels, [batch, 1, 1]), { explain });
    const perRow = [picked, parts.largest, parts.total].map((x) => p.reshape(x, [batch]));
    const loss = p.map(perRow, (x, m, s) => e.cast(e.sub(e.log(s!), differenceOf(x!, m!)), T));
    const column = p.reshape(labels, [batch, 1]);
    // The numbers of the classes as an array: of the labels' own type they are compared faster than positions, which are int64.
    const all = p.generate([1, classes], (_, number) => e.cast(number!, labels.dtype));
    const backprop = p.map([probabilitiesOf(p, parts), column, all], (x, label, number) =>
      e.cast(e.select(e.eq(number!, label!), e.sub(x!, 1), x!), T),
    );
    return { loss, backprop };
  },
  cases: () => [
    { shape: '[?, 3], [2] -> [2], [2, 3]' },
    { shape: '?, ? -> [?], [?, ?]' },
    { shape: '[2, 3], [3]', rejects: /their first sizes must be equal/ },
    {
      given: {
        features: [
          [1, 2, 3],
          [0, 0, 0],
        ],
        labels: { dtype: 'int64', value: [2, 1] },
      },
      expect: {
        loss: [0.40760594, 1.0986123],
        backprop: [
          [0.09003057, 0.24472848, -0.33475906],
          [0.33333334, -0.6666666, 0.33333334],
        ],
      },
    },
    {
      given: { features: [[1, 2, 3]], labels: { dtype: 'int32', value: [3] } },
      fails: /Received a label value of 3 which is outside the valid range of \[0, 3\)/,
    },
  ],
});
