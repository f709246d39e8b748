/** @file Slice: a block of a tensor, given where it begins and how large it is. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { showRuntime, showShape } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { complete, int32or64, type Named, unknownDims } from './common.ts';
import { concat } from './concat.ts';
import { sub } from './neighbours.ts';
import { pad } from './pad.ts';
import { reshape } from './reshape.ts';
import { rank, shape } from './shape.ts';
import { stack } from './stack.ts';

export const Slice = defineOp({
  name: 'Slice',
  inputs: { input: 'T', begin: 'Index', size: 'Index' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Index: int32or64 },
  hostInputs: ['begin', 'size'],
  shape({ input }, _, context) {
    const begin = context.partial('begin');
    const size = context.partial('size');
    const rank = input?.length ?? begin?.length ?? size?.length;
    if (rank === undefined) return { output: null };
    for (const [port, entries] of [
      ['begin', begin],
      ['size', size],
    ] as const)
      if (entries && entries.length !== rank)
        throw new InvalidArgumentError(
          `input is ${showShape(input)}, but ${port} has ${entries.length} entries; it must have one per axis.`,
        );
    if (!size) return { output: unknownDims(rank) };
    const output = size.map((n, i) => {
      const from = begin?.[i] ?? null;
      const dim = input?.[i] ?? null;
      if (n === null) return null;
      if (from !== null && dim !== null && (from < 0 || from + Math.max(n, 0) > dim))
        throw new InvalidArgumentError(
          `the slice of axis ${i} begins at ${from} and has size ${n}, which does not fit: input is ${showShape(input)}.`,
        );
      if (n >= 0) return n;
      return dim === null || from === null ? null : dim - from;
    });
    return { output };
  },
  grad({ inputs: { input, begin }, outputs: { output } }, { output: dy }) {
    const axes = rank(input);
    const size = shape(output, { outType: begin.dtype });
    const column = stack([axes, 1]);
    const before = reshape(begin, column);
    const after = reshape(sub(sub(shape(input, { outType: begin.dtype }), size), begin), column);
    return { input: pad(dy, concat([before, after], 1)) };
  },
  lower(p, { input, begin, size }) {
    const from = p.demandInts(begin);
    const count = p.demandInts(size);
    const axes = input.shape.length;
    if (begin.shape.length !== 1 || size.shape.length !== 1 || from.length !== axes || count.length !== axes)
      throw new InvalidArgumentError(
        `Expected begin and size arguments to be 1-D tensors of size ${axes}, but got shapes ${showRuntime(begin.shape)} and ${showRuntime(size.shape)} instead.`,
      );
    const block = input.shape.map((dim, i) => {
      const b = from[i]!;
      const n = count[i] === -1 ? dim - b : count[i]!;
      if (b < 0 || b > dim) throw new InvalidArgumentError(`Expected begin[${i}] in [0, ${dim}], but got ${b}`);
      if (n < 0 || b + n > dim) throw new InvalidArgumentError(`Expected size[${i}] in [0, ${dim - b}], but got ${n}`);
      return n;
    });
    return { output: p.slice(input, from, block) };
  },
  partialValue({ inputs }, known) {
    const from = complete(known(inputs.begin));
    const count = complete(known(inputs.size));
    const entries = inputs.input.rank === 1 ? known(inputs.input) : undefined;
    if (!entries || !from || !count) return undefined;
    return entries.slice(from[0], count[0] === -1 ? undefined : from[0]! + count[0]!);
  },
  cases: () => [
    {
      shape: '[?, 4], [2], [2] -> [2, 3]',
      given: { begin: { dtype: 'int32', value: [0, 1] }, size: { dtype: 'int32', value: [2, -1] } },
    },
    { shape: '[3, 4], [2], [2] -> [?, ?]' },
    {
      shape: '[3], [1], [1]',
      given: { begin: { dtype: 'int32', value: [2] }, size: { dtype: 'int32', value: [2] } },
      rejects: /begins at 2 and has size 2/,
    },
    {
      given: {
        input: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        begin: { dtype: 'int32', value: [0, 1] },
        size: { dtype: 'int32', value: [-1, 2] },
      },
      expect: {
        output: [
          [2, 3],
          [5, 6],
        ],
      },
    },
    {
      given: {
        input: ['a', 'b', 'c'],
        begin: { dtype: 'int64', value: [1] },
        size: { dtype: 'int64', value: [1] },
      },
      expect: { output: ['b'] },
    },
  ],
});

/**
 * The block that begins at `begin` and has `size` entries along each axis; a size of -1 goes to the end. Adds one `Slice` node.
 *
 * @example tf.slice(tf.constant([1, 2, 3]), [1], [-1]) // runs to [2 3]
 */
export function slice(input: TensorLike, begin: TensorLike, size: TensorLike, options: Named = {}): Tensor {
  return Slice.build({ input, begin, size }, options).output;
}
