/** @file Dropout: each element is kept with some probability and scaled up, or set to zero. */

import { scalar } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantNode, convertToTensor, isSymbolic } from '../../op/convert.ts';
import { shape } from '../array/shape.ts';
import { Cast } from '../math/cast.ts';
import { greaterEqual } from '../math/compare.ts';
import { RealDiv } from '../math/divide.ts';
import { Mul } from '../math/multiply.ts';
import { minus } from '../math/operators.ts';
import { whereV2 } from '../math/select.ts';
import { Sub } from '../math/subtract.ts';
import { randomUniform } from '../random/distributions.ts';
import { getSeed } from '../random/seed.ts';

export interface DropoutOptions {
  /** The probability with which an element is kept: `1 - rate`. */
  readonly keepProb?: TensorLike | undefined;
  /** The probability with which an element is dropped. */
  readonly rate?: TensorLike | undefined;
  /** Shape of the random choices; they repeat along sizes of 1. `null` sizes are those of x. */
  readonly noiseShape?: TensorLike | readonly (number | null)[] | undefined;
  readonly seed?: number | null | undefined;
  readonly name?: string | undefined;
}

/** The rate, from either option. */
function rateOf({ keepProb, rate }: DropoutOptions): TensorLike {
  const fromKeepProb =
    keepProb === undefined ? undefined : typeof keepProb === 'number' ? 1 - keepProb : minus(1, keepProb);
  if (rate !== undefined && fromKeepProb !== undefined) throw userError("Cannot specify both 'rate' and 'keep_prob'");
  const result = rate ?? fromKeepProb;
  if (result === undefined) throw userError('rate must be provided: tf.nn.dropout(x, { rate: 0.5 }).');
  if (typeof result === 'number' && (result < 0 || result >= 1))
    throw userError(`rate must be a scalar tensor or a float in the range [0, 1), but is ${result}.`);
  return result;
}

function noiseShapeOf(x: Tensor, given: DropoutOptions['noiseShape']): TensorLike {
  if (given === undefined) return shape(x);
  if (!Array.isArray(given)) return given as TensorLike; // not a list of sizes
  const sizes = given as readonly (TensorLike | null)[]; // lists hold sizes, some of them unknown
  return sizes.map((n, i) => {
    const size = n ?? (x.rank === sizes.length ? x.shape![i]! : null);
    if (size === null) throw userError(`noiseShape has no size at ${i}, and neither has ${x}.`);
    return size;
  });
}

/** x times the reciprocal of what is kept, so that sums stay the same on average. */
function scaledUp(x: Tensor, rate: TensorLike): { scaled: Tensor; threshold: TensorLike } {
  if (typeof rate === 'number') {
    const scale = constantNode(scalar(x.dtype, 1 / (1 - rate)));
    return { scaled: Mul.build({ x, y: scale }).z, threshold: rate };
  }
  if (!isSymbolic(rate)) throw userError('rate must be a scalar or scalar tensor.');
  const given = convertToTensor(rate);
  if (given.rank !== null && given.rank !== 0) throw userError(`rate must be a scalar, but is ${given}.`);
  const threshold =
    given.dtype === x.dtype ? given : Cast.build({ x: given }, { name: 'rate', attrs: { DstT: x.dtype } }).y;
  const one = constantNode(scalar(x.dtype, 1));
  return { scaled: RealDiv.build({ x, y: Sub.build({ x: one, y: threshold }).z }).z, threshold };
}

/**
 * Sets elements to zero with probability `rate` and scales the others up. Adds nodes under `dropout/`.
 *
 * @example tf.nn.dropout(x, { rate: 0.5, seed: 1 })
 */
export function dropout(x: TensorLike, options: DropoutOptions): Tensor;
/** The probability of keeping an element may stand alone, as it does in most programs for TensorFlow 1. */
export function dropout(x: TensorLike, keepProb: number | Tensor, options?: Omit<DropoutOptions, 'rate'>): Tensor;
export function dropout(x: TensorLike, second: DropoutOptions | number | Tensor, third: DropoutOptions = {}): Tensor {
  const options = typeof second === 'number' || isSymbolic(second) ? { ...third, keepProb: second } : second;
  onlyOptions('tf.nn.dropout', options, 'rate', 'keepProb', 'noiseShape', 'seed', 'name');
  const rate = rateOf(options);
  return nameScope(options.name ?? 'dropout', () => {
    const input = convertToTensor(x, { name: 'x' });
    const { dtype } = input;
    if (!dtype.isFloating) throw userError(`x is ${dtype}, but must be of a floating type since it will be scaled.`);
    if (rate === 0) {
      // A seed is taken all the same, so that the ops after this one get the seeds they would get with any other rate.
      getSeed(options.seed);
      return input;
    }
    const { scaled, threshold } = scaledUp(input, rate);
    const noise = randomUniform(noiseShapeOf(input, options.noiseShape), { dtype, seed: options.seed });
    const kept = greaterEqual(noise, threshold);
    const result = whereV2(kept, scaled, constantNode(scalar(dtype, 0)));
    result.setShape(input.shape);
    return result;
  });
}
