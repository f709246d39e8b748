/** @file Bincount and DenseBincount: how often each small integer occurs. */
import * as d from '../../core/dtypes.ts';
import { type DType, int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { zeros } from '../../core/ndarray.ts';
import { type Dims, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr } from '../../op/attrs.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { reshape } from '../array/reshape.ts';
import { size as sizeOfTensor } from '../array/shape.ts';
import { cast } from './cast.ts';
import { greater } from './compare.ts';
import { Maximum, Minimum } from './maximum.ts';
import { plus, times } from './operators.ts';
import { reduceMax } from './reductions.ts';

const binTypes = attr('type', { allowed: [d.int32, d.int64, d.float32, d.float64] });

function binCount(p: ProgramBuilder, size: Value): number {
  const [bins] = p.demandInts(size) as [number]; // a scalar
  if (bins < 0) throw new InvalidArgumentError(`size (${bins}) must be non-negative`);
  return bins;
}

/** Adds weights (or ones) at the bins that values name; what is beyond the last bin is not counted. */
function count(p: ProgramBuilder, indices: Value, weights: Value, target: Value, binary: boolean): void {
  const n = indices.shape[0]!;
  const given = !binary && sizeOf(weights.shape) > 0;
  const updates = given ? p.reshape(weights, [n, 1]) : p.fill(weights.dtype, [n, 1], 1);
  p.scatter(binary ? 'update' : 'add', target, indices, updates, { bounds: 'drop' });
}

export const Bincount = defineOp({
  name: 'Bincount',
  inputs: { arr: 'int32', size: 'int32', weights: 'T' },
  outputs: { bins: 'T' },
  attrs: { T: binTypes },
  hostInputs: ['size'],
  shape({ size }, _, context) {
    if (size !== null && size.length !== 0)
      throw new InvalidArgumentError(`size is ${showShape(size)}, but must be a scalar.`);
    const bins = context.partial('size')?.[0] ?? null;
    if (bins !== null && bins < 0) throw new InvalidArgumentError(`size (${bins}) must be non-negative`);
    return { bins: [bins] };
  },
  grad: gradientPending('TensorFlow has none either'),
  lower(p, { arr, size, weights }, { T }) {
    const bins = binCount(p, size);
    const n = sizeOf(arr.shape);
    p.check(
      p.map([arr], (x) => e.lt(x!, 0)),
      () => new InvalidArgumentError('Input arr must be non-negative!'),
    );
    const target = p.fill(T, [bins, 1], 0);
    count(p, p.reshape(arr, [n, 1]), weights, target, false);
    return { bins: p.reshape(target, [bins]) };
  },
  cases: () => [
    { shape: '[?], [], [?] -> [5]', given: { size: { dtype: 'int32', value: 5 } } },
    { shape: '[?], [], [?] -> [?]' },
    {
      given: {
        arr: { dtype: 'int32', value: [1, 2, 2, 7] },
        size: { dtype: 'int32', value: 5 },
        weights: { dtype: 'float32', value: [], shape: [0] },
      },
      expect: { bins: [0, 1, 2, 0, 0] },
    },
    {
      given: {
        arr: { dtype: 'int32', value: [1, 2, 2, 7] },
        size: { dtype: 'int32', value: 5 },
        weights: [1, 2, 3, 4],
      },
      expect: { bins: [0, 1, 5, 0, 0] },
    },
    ...[0, 2].map((size) => ({
      given: {
        arr: { dtype: 'int32' as const, value: [], shape: [0] },
        size: { dtype: 'int32' as const, value: size },
        weights: { dtype: 'float32' as const, value: [], shape: [0] },
      },
      expect: { bins: { dtype: 'float32' as const, value: new Array<number>(size).fill(0), shape: [size] } },
    })),
    {
      given: { arr: { dtype: 'int32', value: [1, -2] }, size: { dtype: 'int32', value: 5 }, weights: [1, 2] },
      fails: /Input arr must be non-negative/,
    },
  ],
});

function binDims(input: Dims, bins: number | null): Dims {
  if (input === null) return null;
  if (input.length > 2) throw new InvalidArgumentError(`input is ${showShape(input)}, but must have rank 1 or 2.`);
  return input.length === 2 ? [input[0]!, bins] : [bins];
}

export const DenseBincount = defineOp({
  name: 'DenseBincount',
  inputs: { input: 'Tidx', size: 'Tidx', weights: 'T' },
  outputs: { output: 'T' },
  attrs: {
    Tidx: attr('type', { allowed: [d.int32, d.int64] }),
    T: binTypes,
    binary_output: attr('bool', { default: false }),
  },
  hostInputs: ['size'],
  shape: ({ input }, _, context) => ({ output: binDims(input, context.partial('size')?.[0] ?? null) }),
  grad: notDifferentiable,
  lower(p, { input, size, weights }, { T, binary_output }) {
    const bins = binCount(p, size);
    if (input.shape.length > 2)
      throw new InvalidArgumentError(`Shape must be at most rank 2 but is rank ${input.shape.length}`);
    if (sizeOf(weights.shape) > 0 && `${weights.shape}` !== `${input.shape}`)
      throw new InvalidArgumentError(
        `\`weights\` must be the same shape as \`arr\` or a length-0 \`Tensor\`, in which case it acts as all weights equal to 1. Received ${showRuntime(weights.shape)}`,
      );
    p.check(
      p.map([input], (x) => e.lt(x!, 0)),
      () => new InvalidArgumentError("Input 'in' must be non-negative!"),
    );
    const n = sizeOf(input.shape);
    if (input.shape.length < 2) {
      const target = p.fill(T, [bins, 1], 0);
      count(p, p.reshape(input, [n, 1]), weights, target, binary_output);
      return { output: p.reshape(target, [bins]) };
    }
    const [rows, columns] = input.shape as [number, number]; // rank 2
    const row = p.generate([rows, columns], (i) => e.cast(i!, input.dtype));
    const pairs = p.concat([p.reshape(row, [n, 1]), p.reshape(input, [n, 1])], 1);
    const target = p.fill(T, [rows, bins, 1], 0);
    count(p, pairs, weights, target, binary_output);
    return { output: p.reshape(target, [rows, bins]) };
  },
  cases: () => [
    { shape: '[2, ?], [], [?] -> [2, 5]', given: { size: { dtype: 'int32', value: 5 } }, attrs: { Tidx: d.int32 } },
    { shape: '?, [], [?] -> ?', attrs: { Tidx: d.int32 } },
    {
      given: {
        input: {
          dtype: 'int32',
          value: [
            [1, 2, 2, 7],
            [0, 0, 0, 1],
          ],
        },
        size: { dtype: 'int32', value: 5 },
        weights: { dtype: 'float32', value: [], shape: [0] },
      },
      expect: {
        output: [
          [0, 1, 2, 0, 0],
          [3, 1, 0, 0, 0],
        ],
      },
    },
    {
      given: {
        input: { dtype: 'int64', value: [1, 2, 2, 7] },
        size: { dtype: 'int64', value: 4 },
        weights: { dtype: 'int64', value: [], shape: [0] },
      },
      attrs: { binary_output: true },
      expect: { output: { dtype: 'int64', value: [0, 1, 1, 0] } },
    },
  ],
});

export interface BincountOptions {
  /** A weight for each element, instead of 1. */
  readonly weights?: TensorLike | undefined;
  readonly minlength?: TensorLike | undefined;
  readonly maxlength?: TensorLike | undefined;
  readonly dtype?: DType | undefined;
  readonly name?: string | undefined;
  /** 0 counts all elements together, -1 each row for itself. */
  readonly axis?: 0 | -1 | undefined;
  /** 1 for every integer that occurs, however often. */
  readonly binaryOutput?: boolean | undefined;
}

/**
 * How often each of 0, 1, 2 … occurs. Adds nodes under `bincount/`.
 *
 * @example tf.bincount([1, 2, 2]) // runs to [0 1 2]
 */
export function bincount(arr: TensorLike, options: BincountOptions = {}): Tensor {
  onlyOptions('tf.bincount', options, 'weights', 'minlength', 'maxlength', 'dtype', 'name', 'axis', 'binaryOutput');
  const { dtype = int32, axis = 0, binaryOutput = false } = options;
  return nameScope(options.name ?? 'bincount', () => {
    const given = convertToTensor(arr, { name: 'arr' });
    const weights = options.weights === undefined ? undefined : convertToTensor(options.weights, { name: 'weights' });
    if (weights && binaryOutput)
      throw userError('binaryOutput and weights are mutually exclusive: a weight cannot be shown as 0 or 1.');
    const input = given.dtype.isInteger ? given : cast(given, int32);
    const nonEmpty = greater(sizeOfTensor(input), 0);
    let length = times(cast(nonEmpty, input.dtype), plus(reduceMax(input), 1));
    if (options.minlength !== undefined) {
      const least = convertToTensor(options.minlength, { name: 'minlength', dtype: input.dtype });
      length = Maximum.build({ x: least, y: length }).z;
    }
    if (options.maxlength !== undefined) {
      const most = convertToTensor(options.maxlength, { name: 'maxlength', dtype: input.dtype });
      length = Minimum.build({ x: most, y: length }).z;
    }
    const flatWeights = weights && axis === 0 ? reshape(weights, [-1]) : weights;
    const flat = axis === 0 ? reshape(input, [-1]) : input;
    const each = flatWeights ?? constantNode(zeros(dtype, [0]));
    const attrs = { binary_output: binaryOutput };
    return DenseBincount.build({ input: flat, size: length, weights: each }, { attrs }).output;
  });
}
