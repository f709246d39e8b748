/** @file StringJoin and ReduceJoin: strings put together, of several tensors or along axes of one. */
import { string } from '../../core/dtypes.ts';
import { InvalidArgumentError, OutOfRangeError } from '../../core/errors.ts';
import { intVector } from '../../core/ndarray.ts';
import {
  compatible,
  type Dims,
  mergeShapes,
  type Shape,
  sameShape,
  showRuntime,
  showShape,
  stridesOf,
} from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { withAxis } from '../array/common.ts';
import { range } from '../array/range.ts';
import { rank } from '../array/shape.ts';
import { minus } from '../math/operators.ts';
import { reducedDims } from '../math/reductionOps.ts';
import { put, type StringMemory } from './stringMemory.ts';
import { bytesOf, makeStrings, toBytes } from './text.ts';

const separator = attr('string', { default: '' });

/** The strings `part(0)` … `part(count - 1)` one after the other with the separator between them. */
function joined(count: number, part: (k: number) => Uint8Array, between: Uint8Array, memory: StringMemory): Uint8Array {
  let length = between.length * Math.max(count - 1, 0);
  for (let k = 0; k < count; k++) length += part(k).length;
  const whole = memory.take(length);
  let end = 0;
  for (let k = 0; k < count; k++) {
    if (k > 0) end = put(whole, end, between);
    end = put(whole, end, part(k));
  }
  return whole;
}

/** The one shape among the inputs that are not scalars. */
function joinDims(inputs: readonly Dims[]): Dims {
  if (inputs.every((dims) => dims?.length === 0)) return [];
  let result: Dims = null;
  for (const dims of inputs) {
    // An unknown rank may be a scalar, which joins with every shape.
    if (dims === null || dims.length === 0) continue;
    if (!compatible(result, dims))
      throw new InvalidArgumentError(
        `inputs have the shapes ${showShape(result)} and ${showShape(dims)}; they must be equal, or scalars.`,
      );
    result = mergeShapes(result, dims);
  }
  return result;
}

export const StringJoin = defineOp({
  name: 'StringJoin',
  inputs: { inputs: 'N * string' },
  outputs: { output: 'string' },
  attrs: { N: attr('int', { minimum: 0 }), separator },
  shape: ({ inputs }) => ({ output: joinDims(inputs) }),
  grad: notDifferentiable,
  lower(p, { inputs }, { separator }) {
    let shape: Shape = [];
    for (const input of inputs) {
      if (input.shape.length === 0) continue;
      if (shape.length > 0 && !sameShape(shape, input.shape))
        throw new InvalidArgumentError(
          `Input shapes do not match: ${showRuntime(shape)} vs. ${showRuntime(input.shape)}`,
        );
      shape = input.shape;
    }
    const between = toBytes(separator);
    const [output] = p.host(inputs, [{ dtype: string, shape }], async (arrays) => {
      const parts = arrays.map(bytesOf);
      const joinedAt = (i: number, memory: StringMemory) =>
        joined(parts.length, (k) => parts[k]![arrays[k]!.rank === 0 ? 0 : i]!, between, memory);
      return [await makeStrings(shape, joinedAt)];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[2, ?], [], [?, 3] -> [2, 3]' },
    { shape: '[2], [3]', rejects: /\[2\] and \[3\]; they must be equal, or scalars/ },
    { given: { inputs: ['a', ['b', 'c']] }, attrs: { separator: '-' }, expect: { output: ['a-b', 'a-c'] } },
    { given: { inputs: ['a', 'b', 'c'] }, expect: { output: 'abc' } },
    { given: { inputs: [['a'], ['b', 'c']] }, fails: /Input shapes do not match: \[1\] vs. \[2\]|must be equal/ },
  ],
});

export const ReduceJoin = defineOp({
  name: 'ReduceJoin',
  inputs: { inputs: 'string', reduction_indices: 'int32' },
  outputs: { output: 'string' },
  attrs: { keep_dims: attr('bool', { default: false }), separator },
  hostInputs: ['reduction_indices'],
  shape: ({ inputs }, { keep_dims }, context) => ({
    output: reducedDims(inputs, context.partial('reduction_indices'), keep_dims),
  }),
  grad: notDifferentiable,
  lower(p, { inputs, reduction_indices }, { keep_dims, separator }) {
    const { shape } = inputs;
    const axes = p.demandInts(reduction_indices).map((axis) => {
      if (axis < -shape.length || axis >= shape.length)
        throw new OutOfRangeError(`Invalid reduction dimension ${axis} for input with ${shape.length} dimension(s)`);
      return { given: axis, at: axis < 0 ? axis + shape.length : axis };
    });
    for (const [i, axis] of axes.entries())
      if (axes.slice(0, i).some(({ at }) => at === axis.at))
        throw new InvalidArgumentError(`Duplicate reduction dimension ${axis.given}`);
    const folded = axes.map(({ at }) => at);
    const kept = shape.map((_, i) => i).filter((i) => !folded.includes(i));
    const result = shape.flatMap((n, i) => (!folded.includes(i) ? [n] : keep_dims ? [1] : []));
    const between = toBytes(separator);
    // The first axis named changes fastest: joining along [0, 1] joins along 0 first.
    const within = offsets(shape, [...folded].reverse());
    const starts = offsets(shape, kept);
    const [output] = p.host([inputs], [{ dtype: string, shape: result }], async ([array]) => {
      const strings = bytesOf(array!);
      const joinedFrom = (start: number, memory: StringMemory) =>
        joined(within.length, (k) => strings[start + within[k]!]!, between, memory);
      return [await makeStrings(result, (i, memory) => joinedFrom(starts[i]!, memory))];
    });
    return { output: output! };
  },
  cases: () => {
    const inputs = [['a', 'b'], ['c', 'd']]; // biome-ignore format: rows
    const axes = (...value: number[]) => ({ dtype: 'int32' as const, value });
    return [
      { shape: '[2, ?], [1] -> [2]', given: { reduction_indices: axes(1) } },
      { shape: '[2, 3], [1] -> [1, 3]', given: { reduction_indices: axes(0) }, attrs: { keep_dims: true } },
      { given: { inputs, reduction_indices: { dtype: 'int32', value: 0 } }, expect: { output: ['ac', 'bd'] } },
      { given: { inputs, reduction_indices: axes(0, 1) }, attrs: { separator: '-' }, expect: { output: 'a-c-b-d' } },
      { given: { inputs, reduction_indices: axes(1, 0) }, expect: { output: 'abcd' } },
      {
        given: { inputs, reduction_indices: axes(-1) },
        attrs: { keep_dims: true },
        expect: { output: [['ab'], ['cd']] },
      },
      {
        given: { inputs, reduction_indices: { dtype: 'int32', value: [], shape: [0] } },
        expect: { output: inputs },
      },
      {
        given: { inputs: { dtype: 'string', value: [], shape: [0, 2] }, reduction_indices: axes(0) },
        expect: { output: ['', ''] },
      },
      { given: { inputs, reduction_indices: axes(2) }, fails: /Invalid reduction dimension 2|must be in \[-2, 2\)/ },
      { given: { inputs, reduction_indices: axes(0, -2) }, fails: /Duplicate reduction dimension -2|duplicate/i },
    ];
  },
});

/** The offsets of all positions along some axes, the last axis fastest. */
function offsets(shape: Shape, axes: readonly number[]): number[] {
  const strides = stridesOf(shape);
  return axes.reduce<number[]>(
    (list, axis) => list.flatMap((start) => Array.from({ length: shape[axis]! }, (_, i) => start + i * strides[axis]!)),
    [0],
  );
}

/**
 * Strings of several tensors joined element by element; scalars join with every element. Adds one `StringJoin` node.
 *
 * @example tf.stringJoin(['a', ['b', 'c']], { separator: '-' }) // runs to [b'a-b' b'a-c']
 */
export function stringJoin(inputs: readonly TensorLike[], options: { separator?: string; name?: string } = {}): Tensor {
  onlyOptions('tf.stringJoin', options, 'separator', 'name');
  return StringJoin.build({ inputs }, { name: options.name, attrs: { separator: options.separator ?? '' } }).output;
}

export interface ReduceJoinOptions {
  /** May stand here, or alone as the second argument. */
  readonly axis?: TensorLike | null | undefined;
  readonly keepdims?: boolean | undefined;
  readonly separator?: string | undefined;
  readonly name?: string | undefined;
}

/**
 * The strings joined along axes, in the order of the axes; along all of them when none is named. Adds a `ReduceJoin` node
 * under `ReduceJoin/`.
 *
 * @example tf.reduceJoin([['a', 'b'], ['c', 'd']], 0) // runs to [b'ac' b'bd']
 */
export function reduceJoin(
  inputs: TensorLike,
  given?: TensorLike | null | ReduceJoinOptions,
  last: ReduceJoinOptions = {},
): Tensor {
  const options = withAxis(given, last);
  onlyOptions('tf.reduceJoin', options, 'axis', 'keepdims', 'separator', 'name');
  const { axis, keepdims = false, separator = '', name } = options;
  return nameScope('ReduceJoin', () => {
    const strings = convertToTensor(inputs);
    const reduction_indices = axis ?? allAxes(strings);
    return ReduceJoin.build({ inputs: strings, reduction_indices }, { name, attrs: { keep_dims: keepdims, separator } })
      .output;
  });
}

/** Every axis, the last one first. */
function allAxes(strings: Tensor): Tensor {
  const count = strings.shape?.length;
  if (count === undefined) return range(minus(rank(strings), 1), -1, -1);
  return constantNode(intVector(Array.from({ length: count }, (_, i) => count - 1 - i)));
}
