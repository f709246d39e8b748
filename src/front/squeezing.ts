/** @file Arguments of losses and metrics: conversion to one type, and trailing axes of size 1 that come and go. */
import type { DType } from '../core/dtypes.ts';
import { compatible, showTuple } from '../core/shape.ts';
import { nameScope } from '../graph/scopes.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { checkGiven, convertToTensor, isSymbolic } from '../op/convert.ts';
import { rank, squeeze } from '../ops/array/index.ts';
import { cast, equal } from '../ops/math/index.ts';
import { minus } from '../ops/math/operators.ts';
import { cond } from './controlFlow/cond.ts';

/** As `cast`, but literals take the type at once where they can: TypeScript's numbers have none of their own. */
export function asType(value: TensorLike, dtype: DType): Tensor {
  if (isSymbolic(value)) return cast(value, dtype);
  return nameScope('Cast', (name) => {
    const literal = convertToTensor(value, { name: 'x', hint: dtype });
    return literal.dtype === dtype ? literal : cast(literal, dtype, { name });
  });
}

/** Refuses two arguments whose shapes cannot be the same; the keys are what the caller calls them. */
export function checkSameShape(given: Readonly<Record<string, Tensor>>): void {
  const [[aName, a], [bName, b]] = Object.entries(given) as [[string, Tensor], [string, Tensor]]; // always two
  if (!compatible(a.shape, b.shape))
    throw userError(
      `Shapes ${showTuple(a.shape)} and ${showTuple(b.shape)} are incompatible: ${aName} (${a.name}) and ${bName} (${b.name}) must have one shape. tf.reshape changes it.`,
    );
}

const mayBeOne = (x: Tensor) => x.rank === null || (x.rank > 0 && (x.shape!.at(-1) ?? 1) === 1);

/** `x` without its last axis, of size 1, when the condition holds. Adds a `cond`. */
export function squeezeLastIf(x: Tensor, condition: Tensor): Tensor {
  return cond(
    condition,
    () => squeeze(x, { axis: [-1] }),
    () => x,
  );
}

export interface SqueezeOptions {
  /** How many more axes predictions are meant to have than labels. */
  readonly expectedRankDiff?: number | undefined;
  /** The type literals take. */
  readonly hint?: DType | undefined;
}

/** Drops the last axis, of size 1, of the argument that has one axis too many. */
export function removeSqueezableDimensions(
  labels: TensorLike,
  predictions: TensorLike,
  { expectedRankDiff = 0, hint }: SqueezeOptions = {},
): { labels: Tensor; predictions: Tensor } {
  checkGiven('labels', labels);
  checkGiven('predictions', predictions);
  return nameScope('remove_squeezable_dimensions', () => {
    let p = convertToTensor(predictions, { hint });
    let l = convertToTensor(labels);
    if (l.rank !== null && p.rank !== null) {
      const rankDiff = p.rank - l.rank;
      if (rankDiff === expectedRankDiff + 1 && mayBeOne(p)) p = squeeze(p, { axis: [-1] });
      else if (rankDiff === expectedRankDiff - 1 && mayBeOne(l)) l = squeeze(l, { axis: [-1] });
      return { labels: l, predictions: p };
    }
    const rankDiff = minus(rank(p), rank(l));
    if (mayBeOne(p)) p = squeezeLastIf(p, equal(expectedRankDiff + 1, rankDiff));
    if (mayBeOne(l)) l = squeezeLastIf(l, equal(expectedRankDiff - 1, rankDiff));
    return { labels: l, predictions: p };
  });
}
