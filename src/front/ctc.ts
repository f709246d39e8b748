/** @file CTC with dense labels: `tf.nn.ctcLossV2`, and the unique labels that it can be told. */
import { bfloat16, float16, float32, int32, int64 } from '../core/dtypes.ts';
import { onlyOptions } from '../graph/options.ts';
import { nameScope } from '../graph/scopes.ts';
import { SparseTensor } from '../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import {
  concat,
  constant,
  expandDims,
  fill,
  gather,
  oneHot,
  pad,
  range,
  reshape,
  shape,
  size,
  stack,
  transpose,
  unique as uniqueOf,
} from '../ops/array/index.ts';
import { add, cast, logicalAnd, notEqual, onesLike, reduceLogsumexp, where } from '../ops/math/index.ts';
import { ctcLoss, logSoftmax } from '../ops/nn/index.ts';
import { mapFn, scan } from './controlFlow/mapFn.ts';

export interface CtcLossV2Options {
  /** Whether steps come before examples in the logits; true unless given. */
  readonly logitsTimeMajor?: boolean | undefined;
  /** What `ctcUniqueLabels` gives. It helps other hardware; the loss is the same. */
  readonly unique?: readonly [labels: Tensor, indices: Tensor] | undefined;
  /** The class that stands for nothing, from the end where negative; 0 unless given, and needed for sparse labels. */
  readonly blankIndex?: number | undefined;
  readonly name?: string | undefined;
}

/**
 * The CTC loss of each example: minus the log probability of its labels, over all ways to place them in time. Labels are
 * [batch, label], of which `labelLength` count, or sparse. An example with more labels than there is time for has the loss
 * of the smallest probability, and no gradient. Adds nodes under `ctc_loss_dense/`.
 *
 * @example const loss = tf.nn.ctcLossV2(labels, logits, labelLength, logitLength);
 */
export function ctcLossV2(
  labels: TensorLike | SparseTensor,
  logits: TensorLike,
  labelLength: TensorLike | null,
  logitLength: TensorLike,
  options: CtcLossV2Options = {},
): Tensor {
  const names = ['logitsTimeMajor', 'unique', 'blankIndex', 'name'] as const;
  const { logitsTimeMajor = true, blankIndex, name } = onlyOptions('tf.nn.ctcLossV2', options, ...names);
  if (labels instanceof SparseTensor) {
    if (blankIndex === undefined) throw userError('blankIndex must be given when labels is a SparseTensor.');
    return ofSparse(labels, convertToTensor(logits), logitLength, logitsTimeMajor, blankIndex);
  }
  if (labelLength === null) throw userError('labelLength must be given when labels is a Tensor.');
  return nameScope(name ?? 'ctc_loss_dense', () => {
    const given = convertToTensor(logits, { name: 'logits', hint: float32 });
    const isHalf = given.dtype === float16 || given.dtype === bfloat16;
    const scores = isHalf ? cast(given, float32) : given;
    const loss = ofDense(
      cast(convertToTensor(labels, { name: 'labels' }), int32),
      logitsTimeMajor ? scores : transpose(scores, [1, 0, 2]),
      cast(convertToTensor(labelLength, { name: 'label_length' }), int32),
      cast(convertToTensor(logitLength, { name: 'logit_length' }), int32),
      blankIndex ?? 0,
    );
    return isHalf ? cast(loss, given.dtype) : loss;
  });
}

/** The number of a class that may be counted from the end. */
function classNumber(index: number, logits: Tensor): number {
  const classes = logits.shape?.[2] ?? null;
  if (classes === null) throw userError('The number of classes, the last axis of the logits, must be known.');
  if (!Number.isInteger(index) || index >= classes || index < -classes)
    throw userError(`blankIndex ${index} is none of ${classes} classes.`);
  return index < 0 ? classes + index : index;
}

/** With the blank moved to the end, where the op looks for it. */
function ofSparse(
  labels: SparseTensor,
  logits: Tensor,
  logitLength: TensorLike,
  timeMajor: boolean,
  blankIndex: number,
): Tensor {
  const blank = classNumber(blankIndex, logits);
  if (blank === logits.shape![2]! - 1) return ctcLoss(labels, logits, logitLength, { timeMajor });
  const part = (classes: string) => logits.slice(`:, :, ${classes}`);
  const moved = concat([part(`:${blank}`), part(`${blank + 1}:`), part(`${blank}:${blank + 1}`)], 2);
  const { values } = labels;
  const renumbered = where(values.less(blank), values, values.sub(1));
  return ctcLoss(new SparseTensor(labels.indices, renumbered, labels.denseShape), moved, logitLength, { timeMajor });
}

/** Stands for the logarithm of 0: so small that nothing is left of it beside a real one, and differences of it are numbers. */
const never = -1e30;
/** Minus the logarithm of the smallest normal double. */
const lossOfNever = -Math.log(2 ** -1022);

/**
 * The forward pass (Graves et al., 2006). A state is a place among the labels with blanks around each: blank, label, blank …
 * From step to step a path stays, moves on by one, or skips the blank between two labels that differ.
 */
function ofDense(labels: Tensor, logits: Tensor, labelLength: Tensor, logitLength: Tensor, blankIndex: number): Tensor {
  const { dtype } = logits;
  const blank = classNumber(blankIndex, logits);
  const rows = shape(labels).slice('0');
  const blanks = fill(stack([rows, 1]), blank);
  const nothing = fill(stack([rows, 1]), constant(never, { dtype }));
  const between = onesLike(labels).mul(blank);
  const states = concat([blanks, reshape(stack([labels, between], { axis: 2 }), stack([rows, -1]))], 1);
  const count = shape(states).slice('1');
  /** The states before, so many places back. */
  const shifted = (alphas: Tensor, by: 1 | 2) => {
    const more = by === 1 ? [nothing] : [nothing, nothing];
    return concat([...more, alphas], 1).slice(`:, :-${by}`);
  };
  const isLabel = notEqual(states, blank);
  const twoBack = concat([blanks, blanks, states], 1).slice(':, :-2');
  const maySkip = logicalAnd(isLabel, notEqual(states, twoBack));
  const impossible = onesLike(cast(states, dtype)).mul(never);
  // [batch, time, class] by the classes of the states, then time first again for the loop.
  const scores = transpose(logSoftmax(logits), [1, 2, 0]);
  const steps = transpose(gather(scores, states, { batchDims: 1 }), [2, 0, 1]);
  const start = oneHot(fill(expandDims(rows, 0), 0), count, {
    onValue: constant(0, { dtype }),
    offValue: constant(never, { dtype }),
  });
  const final = scan(
    (alphas: Tensor, now: { scores: Tensor; time: Tensor }) => {
      const skipped = where(maySkip, shifted(alphas, 2), impossible);
      const reached = reduceLogsumexp(stack([alphas, shifted(alphas, 1), skipped], { axis: 0 }), 0);
      const goesOn = expandDims(now.time.less(logitLength), 1);
      return where(logicalAnd(goesOn, onesLike(isLabel)), add(reached, now.scores), alphas);
    },
    { scores: steps, time: range(shape(logits).slice('0')) },
    { initializer: start },
  ) as Tensor; // one tensor in, one out
  const alphas = final.slice('-1');
  // A path ends in the last label or the blank after it.
  const last = labelLength.mul(2);
  const at = (place: Tensor) => gather(alphas, expandDims(place, 1), { batchDims: 1 }).slice(':, 0');
  const inLabel = where(
    labelLength.greater(0),
    at(where(labelLength.greater(0), last.sub(1), last)),
    nothing.slice(':, 0'),
  );
  const loss = reduceLogsumexp(stack([at(last), inLabel], { axis: 0 }), 0).neg();
  const isPossible = loss.less(-never / 10);
  return where(isPossible, loss, onesLike(loss).mul(lossOfNever));
}

/**
 * The labels of each example without those that come again, filled up with zeros, and the place of every label among them.
 * Adds nodes under `ctc_unique_labels/`.
 *
 * @example const [unique, indices] = tf.nn.ctcUniqueLabels([[3, 4, 4, 3]]); // run to [[3 4 0 0]] and [[0 1 1 0]]
 */
export function ctcUniqueLabels(
  labels: TensorLike,
  options: { readonly name?: string | undefined } = {},
): [labels: Tensor, indices: Tensor] {
  const { name } = onlyOptions('tf.nn.ctcUniqueLabels', options, 'name');
  return nameScope(name ?? 'ctc_unique_labels', () => {
    const given = convertToTensor(labels, { name: 'labels' });
    const found = mapFn(
      (row: Tensor) => {
        const { y, idx } = uniqueOf(row);
        const missing = size(idx).sub(size(y));
        return [cast(pad(y, expandDims(stack([0, missing]), 0)), int64), idx];
      },
      given,
      { dtype: [int64, int32] },
    ) as [Tensor, Tensor]; // two out
    found[0].setShape(given.shape);
    return found;
  });
}
