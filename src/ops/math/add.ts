/** @file Add and AddV2: the sum of two tensors; Add also joins strings. */

import * as d from '../../core/dtypes.ts';
import { NDArray } from '../../core/ndarray.ts';
import { broadcastConcrete } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Broadcasted, BroadcastsWith, CommonDType } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { add as sum } from '../../program/map.ts';
import { reduceGradients, shapesEqual } from './broadcast.ts';
import { type BinaryNode, broadcastPorts, defineBinary, type GradientPair, type NameOption } from './elementwise.ts';
import { hostBroadcast } from './hostBroadcast.ts';
import { simplifySum } from './identities.ts';
import { arithmeticTypes, complexTypes, floatTypes, signedIntegerTypes } from './types.ts';

function gradient({ x, y, dy, skips }: Omit<BinaryNode, 'z'>): GradientPair {
  if (skips(1) && y.rank === 0) return [dy, null];
  return shapesEqual(x, y, dy) ? [dy, dy] : reduceGradients(x, y, skips(0) ? null : dy, skips(1) ? null : dy);
}

export const AddV2 = defineBinary({
  name: 'AddV2',
  types: arithmeticTypes,
  commutative: true,
  aggregate: true,
  element: sum,
  grad: gradient,
  integers: (x, y) => x + y,
  simplify: simplifySum,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { shape: '[?], [3] -> [3]' },
    { shape: '?, [3] -> ?' },
    { shape: '[2, 3], [2, 4]', rejects: /x is \[2, 3\] and y is \[2, 4\]\. Dimensions must be equal, but are 3 and 4/ },
    { given: { x: [1.5, -2], y: [0.25, 2] }, expect: { z: [1.75, 0] } },
    {
      given: { x: [[1], [2]], y: [10, 20, 30] },
      expect: {
        z: [
          [11, 21, 31],
          [12, 22, 32],
        ],
      },
    },
    {
      given: { x: 1, y: { dtype: 'float32', value: [], shape: [0] } },
      expect: { z: { dtype: 'float32', value: [], shape: [0] } },
    },
    {
      given: { x: { dtype: 'int32', value: [2147483647] }, y: { dtype: 'int32', value: [1] } },
      expect: { z: { dtype: 'int32', value: [-2147483648] } },
    },
    {
      given: { x: { dtype: 'uint8', value: [250, 3] }, y: { dtype: 'uint8', value: [10, 4] } },
      expect: { z: { dtype: 'uint8', value: [4, 7] } },
    },
    {
      given: {
        x: { dtype: 'complex64', value: [{ re: 1, im: 2 }] },
        y: { dtype: 'complex64', value: [{ re: 3, im: -1 }] },
      },
      expect: { z: { dtype: 'complex64', value: [{ re: 4, im: 1 }] } },
    },
  ],
});

export const Add = defineOp({
  name: 'Add',
  inputs: { x: 'T', y: 'T' },
  outputs: { z: 'T' },
  attrs: {
    T: attr('type', { allowed: [...floatTypes, ...complexTypes, ...signedIntegerTypes, d.uint8, d.string] }),
  },
  shape: ({ x, y }) => ({ z: broadcastPorts(['x', x], ['y', y]) }),
  grad({ inputs: { x, y } }, { z: dy }, tools) {
    const [dx, dyy] = gradient({ x, y, dy, skips: (input) => tools.skips?.(input) ?? false });
    return { x: dx, y: dyy };
  },
  lower(p, { x, y }, { T }) {
    if (T !== d.string) return { z: p.map([x, y], sum) };
    const shape = broadcastConcrete(x.shape, y.shape);
    const [z] = p.host([x, y], [{ dtype: d.string, shape }], async ([a, b]) => [await joined(a!, b!)]);
    return { z: z! };
  },
  simplify: simplifySum,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [1, 2], y: 3 }, expect: { z: [4, 5] } },
    { given: { x: ['a', 'b'], y: 'c' }, expect: { z: ['ac', 'bc'] } },
  ],
});

/** Texts of broadcast arrays, one after the other. */
async function joined(x: NDArray, y: NDArray): Promise<NDArray> {
  const { shape, pairs } = hostBroadcast(x, y);
  // String arrays hold their elements as bytes.
  const texts = await pairs((i, j) => Buffer.concat([x.objects[i] as Uint8Array, y.objects[j] as Uint8Array]));
  return new NDArray(d.string, shape, texts);
}

/**
 * `x + y`, element by element. Adds one `AddV2` node (for strings `Add`, which joins them), named `Add`.
 *
 * @example tf.add([1, 2], 3) // runs to [4 5]
 */
export function add<A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
): Tensor<CommonDType<A, B>, Broadcasted<A, B>>;
export function add(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.add', options, 'name');
  const name = options.name ?? 'Add';
  const symbolic = [x, y].find(isSymbolic);
  if (symbolic) return (symbolic.dtype === d.string ? Add : AddV2).build({ x, y }, { name }).z;
  // Literals must be converted to know whether they are texts.
  return nameScope(name, (scope) => {
    const a = convertToTensor(x, { name: 'x' });
    const b = convertToTensor(y, { name: 'y', hint: a.dtype });
    return (a.dtype === d.string ? Add : AddV2).build({ x: a, y: b }, { name: scope }).z;
  });
}
