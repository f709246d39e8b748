/** @file Pad and PadV2: a border of one value around a tensor. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType, indexTypes } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { filled, type Named, part, unknownDims, zeroElement } from './common.ts';
import { MirrorPad } from './mirrorPad.ts';
import { reshape } from './reshape.ts';
import { rank, shape } from './shape.ts';
import { slice } from './slice.ts';
import { stack } from './stack.ts';

/** The static shape; `paddings` are the pairs (before, after), flat, when they are known. */
export function paddedDims(input: Dims, paddings: Dims, pairs: readonly number[] | undefined): Dims {
  if (paddings !== null && (paddings.length !== 2 || (paddings[1] !== null && paddings[1] !== 2)))
    throw new InvalidArgumentError(
      `paddings is ${showShape(paddings)}, but it must have a row (before, after) per axis of the input.`,
    );
  const rank = input?.length ?? paddings?.[0] ?? null;
  if (rank === null) return null;
  if (paddings?.[0] != null && paddings[0] !== rank)
    throw new InvalidArgumentError(
      `input is ${showShape(input)}, but paddings has ${paddings[0]} rows; it must have one per axis of the input.`,
    );
  if (!pairs || input === null) return unknownDims(rank);
  for (const [i, n] of pairs.entries())
    if (n < 0)
      throw new InvalidArgumentError(`paddings must be non-negative, but paddings[${i >> 1}][${i & 1}] is ${n}`);
  return input.map((d, i) => (d === null ? null : d + pairs[2 * i]! + pairs[2 * i + 1]!));
}

/** The pairs (before, after) at run time. */
export function demandPaddings(p: ProgramBuilder, input: Value, paddings: Value): readonly [number[], number[]] {
  const rank = input.shape.length;
  if (paddings.shape.length !== 2 || paddings.shape[1] !== 2)
    throw new InvalidArgumentError(`paddings must be a matrix with 2 columns: ${showRuntime(paddings.shape)}`);
  if (paddings.shape[0] !== rank)
    throw new InvalidArgumentError(
      `The first dimension of paddings must be the rank of inputs${showRuntime(paddings.shape)} ${showRuntime(input.shape)}`,
    );
  const pairs = p.demandInts(paddings);
  const before = input.shape.map((_, i) => pairs[2 * i]!);
  const after = input.shape.map((_, i) => pairs[2 * i + 1]!);
  for (let i = 0; i < rank; i++)
    if (before[i]! < 0 || after[i]! < 0)
      throw new InvalidArgumentError(`Paddings must be non-negative: ${before[i]} ${after[i]}`);
  return [before, after];
}

function lowerPad(p: ProgramBuilder, input: Value, paddings: Value, element: Value): Value {
  const [before, after] = demandPaddings(p, input, paddings);
  const output = filled(
    p,
    element,
    input.shape.map((d, i) => d + before[i]! + after[i]!),
  );
  if (!input.shape.includes(0)) p.copyInto(input, part(output, before, input.shape));
  return output;
}

function padGradient(input: Tensor, paddings: Tensor, dy: Gradient): Tensor {
  const before = slice(paddings, [0, 0], stack([rank(input), 1]));
  const begin = reshape(before, [-1]);
  const size = shape(input, { outType: begin.dtype });
  return slice(dy, begin, size);
}

export const Pad = defineOp({
  name: 'Pad',
  inputs: { input: 'T', paddings: 'Tpaddings' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tpaddings: indexTypes },
  hostInputs: ['paddings'],
  shape: ({ input, paddings }, _, context) => ({
    output: paddedDims(input, paddings, context.value('paddings')?.numbers()),
  }),
  grad: ({ inputs: { input, paddings } }, { output: dy }) => ({ input: padGradient(input, paddings, dy) }),
  lower: (p, { input, paddings }) => ({ output: lowerPad(p, input, paddings, zeroElement(p, input.dtype)) }),
  cases: () => [
    {
      shape: '[2, ?], [2, 2] -> [5, ?]',
      given: {
        paddings: {
          dtype: 'int32',
          value: [
            [1, 2],
            [0, 1],
          ],
        },
      },
    },
    { shape: '[2, ?], ? -> [?, ?]' },
    { shape: '?, [3, 2] -> [?, ?, ?]' },
    { shape: '[2], [2, 2]', rejects: /paddings has 2 rows/ },
    {
      given: {
        input: [[1, 2]],
        paddings: {
          dtype: 'int32',
          value: [
            [0, 1],
            [1, 0],
          ],
        },
      },
      expect: {
        output: [
          [0, 1, 2],
          [0, 0, 0],
        ],
      },
    },
    { given: { input: ['a'], paddings: { dtype: 'int32', value: [[1, 0]] } }, expect: { output: ['', 'a'] } },
    { given: { input: [1], paddings: { dtype: 'int64', value: [[0, 0]] } }, expect: { output: [1] } },
  ],
});

export const PadV2 = defineOp({
  name: 'PadV2',
  inputs: { input: 'T', paddings: 'Tpaddings', constant_values: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tpaddings: indexTypes },
  hostInputs: ['paddings'],
  shape: ({ input, paddings }, _, context) => ({
    output: paddedDims(input, paddings, context.value('paddings')?.numbers()),
  }),
  grad: ({ inputs: { input, paddings } }, { output: dy }) => ({ input: padGradient(input, paddings, dy) }),
  lower: (p, { input, paddings, constant_values }) => ({ output: lowerPad(p, input, paddings, constant_values) }),
  cases: () => [
    {
      given: { input: [1, 2], paddings: { dtype: 'int32', value: [[0, 0]] }, constant_values: 7 },
      expect: { output: [1, 2] },
    },
    { shape: '[?], [1, 2], [] -> [?]', given: { paddings: { dtype: 'int32', value: [[1, 2]] } } },
    {
      given: { input: [1, 2], paddings: { dtype: 'int32', value: [[1, 1]] }, constant_values: 7 },
      expect: { output: [7, 1, 2, 7] },
      // TensorFlow gives no gradient for the border value.
      differentiable: false,
    },
  ],
});

export interface PadOptions extends Named {
  readonly mode?: 'CONSTANT' | 'REFLECT' | 'SYMMETRIC' | Lowercase<'CONSTANT' | 'REFLECT' | 'SYMMETRIC'> | undefined;
  /** What surrounds the tensor in mode CONSTANT. */
  readonly constantValues?: TensorLike | undefined;
}

/**
 * A tensor with `paddings[i][0]` elements before and `paddings[i][1]` after it along axis i. Adds one `Pad` node
 * (`PadV2` for a border other than zero, `MirrorPad` for the mirroring modes).
 *
 * @example tf.pad(tf.constant([1, 2]), [[1, 2]]) // runs to [0 1 2 0 0]
 */
export function pad(tensor: TensorLike, paddings: TensorLike, options: PadOptions = {}): Tensor {
  const {
    mode = 'CONSTANT',
    constantValues = 0,
    name,
  } = onlyOptions('tf.pad', options, 'mode', 'constantValues', 'name');
  const kind = mode.toUpperCase();
  if (kind === 'REFLECT' || kind === 'SYMMETRIC')
    return MirrorPad.build({ input: tensor, paddings }, { name, attrs: { mode: kind } }).output;
  if (kind !== 'CONSTANT')
    throw userError(`the mode '${mode}' of tf.pad is unknown. Use CONSTANT, REFLECT or SYMMETRIC.`);
  const isZero = constantValues === 0 || constantValues === false || constantValues === '';
  if (isZero) return Pad.build({ input: tensor, paddings }, { name }).output;
  return PadV2.build({ input: tensor, paddings, constant_values: constantValues }, { name }).output;
}
