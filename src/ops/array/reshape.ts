/** @file Reshape: the same elements, in the same order, under another shape. */

import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, isFullyDefined, type Shape, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import type { DTypeOf, KnownShape, Reshape as Reshaped } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, indexTypes } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import { dimsFrom, type Known, type Named } from './common.ts';
import { denseGradient } from './indexedSlices.ts';
import { shape as shapeOf } from './shape.ts';

/** What the wanted shape becomes when the input's size is known: one unknown size can be worked out. */
function resolveStatically(input: Dims, wanted: Dims): Dims {
  if (wanted === null || !isFullyDefined(input)) return wanted;
  const count = sizeOf(input);
  const unknown = wanted.filter((d) => d === null).length;
  const rest = wanted.reduce<number>((n, d) => n * (d ?? 1), 1);
  if (unknown > 1 || (unknown === 1 && rest === 0)) return wanted;
  if (unknown === 0 ? rest !== count : count % rest !== 0)
    throw new InvalidArgumentError(
      `Cannot reshape a tensor with ${count} elements to shape ${showRuntime(wanted)} (${rest} elements): the input is ${showShape(input)}. The number of elements must stay the same.`,
    );
  return wanted.map((d) => d ?? count / rest);
}

/** The concrete shape at run time, with TensorFlow's checks. */
function resolve(input: Shape, wanted: readonly number[]): Shape {
  const count = sizeOf(input);
  let missing = -1;
  for (const [i, d] of wanted.entries()) {
    if (d === -1) {
      if (missing >= 0) throw new InvalidArgumentError(`Only one input size may be -1, not both ${missing} and ${i}`);
      missing = i;
    } else if (d < 0) throw new InvalidArgumentError(`Size ${i} must be non-negative, not ${d}`);
  }
  const rest = wanted.reduce((n, d) => (d === -1 ? n : n * d), 1);
  if (missing < 0) {
    if (rest !== count)
      throw new InvalidArgumentError(
        `Input to reshape is a tensor with ${count} values, but the requested shape has ${rest}`,
      );
    return wanted;
  }
  if (rest === 0) return inferBesideZeros(input, wanted);
  if (count % rest !== 0)
    throw new InvalidArgumentError(
      `Input to reshape is a tensor with ${count} values, but the requested shape requires a multiple of ${rest}`,
    );
  return wanted.map((d) => (d === -1 ? count / rest : d));
}

/** An empty tensor fits any missing size; TensorFlow takes the one that the sizes other than zero leave. */
function inferBesideZeros(input: Shape, wanted: readonly number[]): Shape {
  const count = input.reduce((n, d) => n * (d || 1), 1);
  const rest = wanted.reduce((n, d) => n * (d > 0 ? d : 1), 1);
  return wanted.map((d) => (d === -1 ? Math.floor(count / rest) : d));
}

export const Reshape = defineOp({
  name: 'Reshape',
  inputs: { tensor: 'T', shape: 'Tshape' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tshape: indexTypes },
  hostInputs: ['shape'],
  shape: ({ tensor }, _, context) => ({ output: resolveStatically(tensor, dimsFrom(context.partial('shape'))) }),
  grad: ({ inputs: { tensor } }, { output: dy }) => ({ tensor: reshape(denseGradient(dy), gradientShape(tensor)) }),
  lower: (p, { tensor, shape }) => {
    if (shape.shape.length !== 1)
      throw new InvalidArgumentError(`sizes input must be 1-D, not ${showRuntime(shape.shape)}`);
    return { output: p.reshape(tensor, resolve(tensor.shape, p.demandInts(shape))) };
  },
  partialValue({ inputs: { tensor }, outputs }, known) {
    if ((outputs.output.rank ?? 2) > 1) return undefined;
    return (tensor.rank ?? 3) <= 1 ? known(tensor) : knownRows(tensor, known)?.flat();
  },
  cases: () => [
    { shape: '[2, 6], [2] -> [4, 3]', given: { shape: { dtype: 'int32', value: [-1, 3] } } },
    { shape: '[2, ?], [2] -> [?, 3]', given: { shape: { dtype: 'int32', value: [-1, 3] } } },
    { shape: '[2, 6], [3] -> [?, ?, ?]' },
    { shape: '[2, 6], ? -> ?' },
    {
      shape: '[2, 6], [1]',
      given: { shape: { dtype: 'int32', value: [5] } },
      rejects: /with 12 elements to shape \[5\]/,
    },
    {
      given: { tensor: [1, 2, 3, 4], shape: { dtype: 'int32', value: [2, -1] } },
      expect: {
        output: [
          [1, 2],
          [3, 4],
        ],
      },
    },
    { given: { tensor: ['a', 'b'], shape: { dtype: 'int64', value: [1, 2] } }, expect: { output: [['a', 'b']] } },
    { given: { tensor: [7], shape: { dtype: 'int32', value: [], shape: [0] } }, expect: { output: 7 } },
  ],
});

/** Rows of a matrix stacked from known vectors, transposed or not: what the gradient of `Tile` computes axes from. */
function knownRows(matrix: Tensor, known: (t: Tensor) => Known | undefined): (number | null)[][] | undefined {
  const { op } = matrix;
  if (op.type === 'Pack' && matrix.rank === 2 && op.attrs['axis']?.i === 0n) {
    const rows = op.inputs.map(known);
    return rows.every((row) => row !== undefined) ? rows.map((row) => [...row]) : undefined;
  }
  const isTransposed = op.type === 'Transpose' && matrix.rank === 2 && known(op.inputs[1]!)?.join() === '1,0';
  const rows = isTransposed ? knownRows(op.inputs[0]!, known) : undefined;
  return rows?.[0]?.map((_, j) => rows.map((row) => row[j]!));
}

/** The shape to go back to: one unknown size is left to `Reshape` itself. */
function gradientShape(tensor: Tensor): TensorLike {
  const dims = tensor.shape;
  if (dims && !dims.includes(0) && dims.filter((d) => d === null).length === 1) return dims.map((d) => d ?? -1);
  return shapeOf(tensor);
}

/** The gradient of ops that only add or remove axes. */
export function reshapeToInput(input: Tensor, dy: Gradient): Tensor {
  return reshape(denseGradient(dy), shapeOf(input));
}

/**
 * The same elements under another shape; one size may be -1, which means "what is left". Adds one `Reshape` node.
 *
 * @example tf.reshape(tf.constant([1, 2, 3, 4]), [2, -1]) // runs to [[1 2] [3 4]]
 */
export function reshape<X extends TensorLike, const T extends TensorLike>(
  tensor: X,
  shape: T,
  options?: Named,
): Tensor<DTypeOf<X>, KnownShape<Reshaped<T>>>;
export function reshape(tensor: TensorLike, shape: TensorLike, options: Named = {}): Tensor {
  return Reshape.build({ tensor, shape }, options).output;
}
