/** @file MirrorPad and MirrorPadGrad: a border that mirrors the tensor itself. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showShape } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { anyType, attr, indexTypes } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { add } from '../../program/map.ts';
import { part, unknownDims } from './common.ts';
import { denseGradient } from './indexedSlices.ts';
import { demandPaddings, paddedDims } from './pad.ts';

const mode = attr('string', { choices: ['REFLECT', 'SYMMETRIC'] });

/** REFLECT leaves out the edge itself, SYMMETRIC repeats it. */
const edge = (kind: string) => (kind === 'REFLECT' ? 1 : 0);

function checkBorder(size: number, before: number, after: number, kind: string): void {
  if (before <= size - edge(kind) && after <= size - edge(kind)) return;
  throw new InvalidArgumentError(
    kind === 'REFLECT'
      ? `paddings must be less than the dimension size: ${before}, ${after} not less than ${size}`
      : `paddings must be no greater than the dimension size: ${before}, ${after} greater than ${size}`,
  );
}

export const MirrorPad = defineOp({
  name: 'MirrorPad',
  inputs: { input: 'T', paddings: 'Tpaddings' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tpaddings: indexTypes, mode },
  hostInputs: ['paddings'],
  shape: ({ input, paddings }, _, context) => ({
    output: paddedDims(input, paddings, context.value('paddings')?.numbers()),
  }),
  grad: ({ inputs: { paddings }, attrs }, { output: dy }) => ({
    input: mirrorBack(denseGradient(dy), paddings, attrs.mode),
  }),
  lower(p, { input, paddings }, { mode: kind }) {
    const [before, after] = demandPaddings(p, input, paddings);
    for (const [i, size] of input.shape.entries()) checkBorder(size, before[i]!, after[i]!, kind);
    // One axis after the other, so that corners mirror what was mirrored already.
    let result = input;
    for (const [axis, size] of input.shape.entries()) {
      const piece = (begin: number, count: number) =>
        p.slice(
          result,
          result.shape.map((_, i) => (i === axis ? begin : 0)),
          result.shape.map((d, i) => (i === axis ? count : d)),
        );
      const flipped = (begin: number, count: number) => p.reverse(piece(begin, count), [axis]);
      const [left, right] = [before[axis]!, after[axis]!];
      if (left + right === 0) continue;
      const e = edge(kind);
      result = p.concat([flipped(e, left), result, flipped(size - e - right, right)], axis);
    }
    return { output: result };
  },
  cases: () => [
    {
      shape: '[2, ?], [2, 2] -> [4, ?]',
      attrs: { mode: 'REFLECT' },
      given: {
        paddings: {
          dtype: 'int32',
          value: [
            [1, 1],
            [0, 1],
          ],
        },
      },
    },
    {
      given: {
        input: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        paddings: {
          dtype: 'int32',
          value: [
            [1, 1],
            [2, 2],
          ],
        },
      },
      attrs: { mode: 'REFLECT' },
      expect: {
        output: [
          [6, 5, 4, 5, 6, 5, 4],
          [3, 2, 1, 2, 3, 2, 1],
          [6, 5, 4, 5, 6, 5, 4],
          [3, 2, 1, 2, 3, 2, 1],
        ],
      },
    },
    {
      given: { input: [1, 2, 3], paddings: { dtype: 'int64', value: [[2, 3]] } },
      attrs: { mode: 'SYMMETRIC' },
      expect: { output: [2, 1, 1, 2, 3, 3, 2, 1] },
    },
    {
      given: { input: [1, 2], paddings: { dtype: 'int32', value: [[2, 0]] } },
      attrs: { mode: 'REFLECT' },
      fails: /paddings must be less than the dimension size: 2, 0 not less than 2/,
    },
  ],
});

function unpaddedDims(input: Dims, paddings: Dims, pairs: readonly number[] | undefined): Dims {
  const rank = input?.length ?? paddings?.[0] ?? null;
  if (rank === null) return null;
  if (!pairs || input === null) return unknownDims(rank);
  return input.map((d, i) => {
    const border = pairs[2 * i]! + pairs[2 * i + 1]!;
    if (d !== null && d < border)
      throw new InvalidArgumentError(
        `input is ${showShape(input)}, smaller along axis ${i} than its paddings (${border})`,
      );
    return d === null ? null : d - border;
  });
}

export const MirrorPadGrad = defineOp({
  name: 'MirrorPadGrad',
  inputs: { input: 'T', paddings: 'Tpaddings' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tpaddings: indexTypes, mode },
  hostInputs: ['paddings'],
  shape: ({ input, paddings }, _, context) => ({
    output: unpaddedDims(input, paddings, context.value('paddings')?.numbers()),
  }),
  grad: ({ inputs: { paddings }, attrs }, { output: dy }) => ({
    input: mirrored(denseGradient(dy), paddings, attrs.mode),
  }),
  lower(p, { input, paddings }, { mode: kind }) {
    const [before, after] = demandPaddings(p, input, paddings);
    const e = edge(kind);
    let result = input;
    // The borders are folded back onto the middle, axis by axis.
    for (const axis of input.shape.keys()) {
      const [left, right] = [before[axis]!, after[axis]!];
      if (left + right === 0) continue;
      const size = result.shape[axis]! - left - right;
      checkBorder(size, left, right, kind);
      const piece = (begin: number, count: number) =>
        p.slice(
          result,
          result.shape.map((_, i) => (i === axis ? begin : 0)),
          result.shape.map((d, i) => (i === axis ? count : d)),
        );
      const middle = p.copy(piece(left, size));
      const fold = (begin: number, count: number, onto: number) => {
        if (count === 0) return;
        const border = p.reverse(piece(begin, count), [axis]);
        const target = part(
          middle,
          border.shape.map((_, i) => (i === axis ? onto : 0)),
          border.shape,
        );
        p.mapInto([target, border], (x, y) => [add(x, y)], border.shape, [target]);
      };
      fold(0, left, e);
      fold(left + size, right, size - e - right);
      result = middle;
    }
    return { output: result };
  },
  cases: () => [
    {
      shape: '[4, ?], [2, 2] -> [2, ?]',
      attrs: { mode: 'REFLECT' },
      given: {
        paddings: {
          dtype: 'int32',
          value: [
            [1, 1],
            [0, 1],
          ],
        },
      },
    },
    {
      given: { input: [1, 2, 3, 4, 5], paddings: { dtype: 'int32', value: [[1, 1]] } },
      attrs: { mode: 'REFLECT' },
      expect: { output: [2, 9, 4] },
    },
    {
      given: { input: [1, 2, 3, 4, 5], paddings: { dtype: 'int32', value: [[1, 1]] } },
      attrs: { mode: 'SYMMETRIC' },
      expect: { output: [3, 3, 9] },
    },
  ],
});

// Each op is the other's gradient; stated return types keep that from being circular.
function mirrored(input: Tensor, paddings: Tensor, kind: string): Tensor {
  return MirrorPad.build({ input, paddings }, { attrs: { mode: kind } }).output;
}
function mirrorBack(input: Tensor, paddings: Tensor, kind: string): Tensor {
  return MirrorPadGrad.build({ input, paddings }, { attrs: { mode: kind } }).output;
}
