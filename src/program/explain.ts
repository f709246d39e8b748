/** @file What failures of instructions mean, in TensorFlow's words. */
import { InvalidArgumentError, type OpError } from '../core/errors.ts';
import { type Shape, showRuntime, stridesOf } from '../core/shape.ts';
import type { Failure } from './instructions.ts';

/** Arithmetic of whole numbers that has no result. */
export function explainArithmetic(failure: Failure): OpError {
  return new InvalidArgumentError(
    failure.code === 'negativePower'
      ? 'Integers to negative integer powers are not allowed'
      : 'Integer division by zero',
  );
}

/** Says which index was out of range. */
export function explainIndex(indices: Shape, bounds: readonly number[] | number): (failure: Failure) => OpError {
  return ({ position, value }) => {
    const strides = stridesOf(indices);
    const at = strides.map((s, i) => Math.floor(position / s) % indices[i]!);
    const place = at.length === 0 ? '' : `[${at.join(',')}]`;
    const range = typeof bounds === 'number' ? `[0, ${bounds})` : showRuntime(bounds);
    return new InvalidArgumentError(`indices${place} = ${value} is not in ${range}`);
  };
}
