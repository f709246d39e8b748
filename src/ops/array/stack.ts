/** @file Pack, Unpack and ParallelConcat: tensors as the rows of one tensor, and back. */

import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, mergeShapes, normalizeAxis, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type {
  AxisIn,
  DTypeOf,
  Fits,
  KnownShape,
  OneDTypeOfAll,
  ShapeOf,
  Stack as Stacked,
} from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { type Named, scoped, withAxis } from './common.ts';
import { expandDims } from './expandDims.ts';

function packed(values: readonly Dims[], axis: number): Dims {
  let element: Dims = null;
  for (const dims of values)
    try {
      element = mergeShapes(element, dims);
    } catch {
      throw new InvalidArgumentError(
        `Shapes must be equal to be stacked, but they are ${values.map(showShape).join(', ')}.`,
      );
    }
  if (element === null) return null;
  const at = normalizeAxis(axis, element.length + 1);
  return [...element.slice(0, at), values.length, ...element.slice(at)];
}

export const Pack = defineOp({
  name: 'Pack',
  inputs: { values: 'N * T' },
  outputs: { output: 'T' },
  attrs: { N: attr('int', { minimum: 1 }), T: anyType, axis: attr('int', { default: 0 }) },
  literals: 'list',
  shape: ({ values }, { axis }) => ({ output: packed(values, axis) }),
  grad: ({ attrs: { N, axis } }, { output: dy }) => ({ values: unstack(dy, { num: N, axis }) }),
  lower(p, { values }, { axis }) {
    const first = values[0]!.shape;
    for (const [i, { shape }] of values.entries())
      if (showRuntime(shape) !== showRuntime(first))
        throw new InvalidArgumentError(
          `Shapes of all inputs must match: values[0].shape = ${showRuntime(first)} != values[${i}].shape = ${showRuntime(shape)}`,
        );
    const rank = first.length + 1;
    if (axis < -rank || axis >= rank) throw new InvalidArgumentError(`axis = ${axis} not in [${-rank}, ${rank})`);
    const at = axis < 0 ? axis + rank : axis;
    const row = [...first.slice(0, at), 1, ...first.slice(at)];
    const rows = values.map((v) => p.reshape(v, row));
    return { output: rows.length === 1 ? rows[0]! : p.concat(rows, at) };
  },
  followsEntries: true,
  partialValue: ({ inputs, outputs }, known) =>
    outputs.output.rank === 1 ? inputs.values.map((v) => known(v)?.[0] ?? null) : undefined,
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 2, 3]', attrs: { N: 2 } },
    { shape: '[2, ?], [?, 3] -> [2, 3, 2]', attrs: { N: 2, axis: -1 } },
    { shape: '[2], [3]', attrs: { N: 2 }, rejects: /must be equal to be stacked/ },
    {
      given: {
        values: [
          [1, 2],
          [3, 4],
        ],
      },
      expect: {
        output: [
          [1, 2],
          [3, 4],
        ],
      },
    },
    {
      given: {
        values: [
          [1, 2],
          [3, 4],
        ],
      },
      attrs: { axis: 1 },
      expect: {
        output: [
          [1, 3],
          [2, 4],
        ],
      },
    },
    { given: { values: ['a', 'b'] }, expect: { output: ['a', 'b'] } },
  ],
});

export const Unpack = defineOp({
  name: 'Unpack',
  inputs: { value: 'T' },
  outputs: { output: 'num * T' },
  attrs: { num: attr('int', { minimum: 0 }), T: anyType, axis: attr('int', { default: 0 }) },
  shape({ value }, { num, axis }) {
    if (value === null) return { output: new Array<Dims>(num).fill(null) };
    const at = normalizeAxis(axis, value.length);
    if (value[at] !== null && value[at] !== num)
      throw new InvalidArgumentError(
        `Dimension must be ${num} but is ${value[at]}: value is ${showShape(value)}, unstacked along axis ${at}`,
      );
    return { output: new Array<Dims>(num).fill(value.filter((_, i) => i !== at)) };
  },
  grad: ({ attrs: { axis } }, { output: dy }) => ({ value: stack(dy, { axis }) }),
  lower(p, { value }, { num, axis }) {
    const rank = value.shape.length;
    if (axis < -rank || axis >= rank) throw new InvalidArgumentError(`axis = ${axis} not in [${-rank}, ${rank})`);
    const at = axis < 0 ? axis + rank : axis;
    if (value.shape[at] !== num)
      throw new InvalidArgumentError(`Input shape axis ${at} must equal ${num}, got shape ${showRuntime(value.shape)}`);
    const row = value.shape.map((d, i) => (i === at ? 1 : d));
    const element = value.shape.filter((_, i) => i !== at);
    const output = Array.from({ length: num }, (_, k) =>
      p.reshape(
        p.slice(
          value,
          row.map((_, i) => (i === at ? k : 0)),
          row,
        ),
        element,
      ),
    );
    return { output };
  },
  partialValue({ inputs: { value } }, known, output) {
    const entry = value.rank === 1 ? known(value)?.[output] : undefined;
    return entry === undefined ? undefined : [entry];
  },
  cases: () => [
    { shape: '[2, ?] -> [?], [?]', attrs: { num: 2 } },
    { shape: '? -> ?, ?', attrs: { num: 2 } },
    { shape: '[3]', attrs: { num: 2 }, rejects: /must be 2 but is 3/ },
    {
      given: {
        value: [
          [1, 2],
          [3, 4],
        ],
      },
      attrs: { num: 2 },
      expect: {
        output: [
          [1, 2],
          [3, 4],
        ],
      },
    },
    {
      given: {
        value: [
          [1, 2],
          [3, 4],
        ],
      },
      attrs: { num: 2, axis: -1 },
      expect: {
        output: [
          [1, 3],
          [2, 4],
        ],
      },
    },
    { given: { value: ['a', 'b'] }, attrs: { num: 2 }, expect: { output: ['a', 'b'] } },
  ],
});

export const ParallelConcat = defineOp({
  name: 'ParallelConcat',
  inputs: { values: 'N * T' },
  outputs: { output: 'T' },
  attrs: { N: attr('int', { minimum: 1 }), T: anyType, shape: attr('shape') },
  shape({ values }, { shape }) {
    for (const dims of values)
      if (dims !== null && (dims.length === 0 || (dims[0] !== null && dims[0] !== 1)))
        throw new InvalidArgumentError(`Size of first dimension must be 1, but a value is ${showShape(dims)}`);
    return { output: shape };
  },
  grad: gradientPending('TensorFlow has none either; use tf.stack, which has one'),
  lower: (p, { values }) => ({ output: p.concat(values, 0) }),
  cases: () => [
    { shape: '[1, 2], [1, 2] -> [2, 2]', attrs: { N: 2, shape: [2, 2] } },
    {
      given: { values: [[[1, 2]], [[3, 4]]] },
      attrs: { shape: [2, 2] },
      expect: {
        output: [
          [1, 2],
          [3, 4],
        ],
      },
    },
  ],
});

interface StackOptions extends Named {
  /** May stand here, or alone as the second argument. */
  readonly axis?: number | undefined;
}

/**
 * Tensors of one shape as the entries of a new axis. Adds one `Pack` node; plain values along axis 0 become one `Const`.
 *
 * @example tf.stack([tf.constant([1, 2]), tf.constant([3, 4])], { axis: 1 }) // runs to [[1 3] [2 4]]
 */
export function stack<const L extends readonly TensorLike[], const A extends number | StackOptions = 0>(
  values: L & Fits<OneDTypeOfAll<L>>,
  axis?: A,
  options?: StackOptions,
): Tensor<
  DTypeOf<L[number]>,
  KnownShape<Stacked<ShapeOf<L[number]>, number extends L['length'] ? null : L['length'], AxisIn<A, 0>>>
>;
export function stack<const V extends TensorLike>(
  values: V & Fits<OneDTypeOfAll<V>>,
  axis?: number | StackOptions,
  options?: StackOptions,
): Tensor;
export function stack(
  values: readonly TensorLike[] | TensorLike,
  given?: number | StackOptions,
  last: StackOptions = {},
): Tensor {
  const options = withAxis(given, last);
  const { axis = 0, name = 'stack' } = onlyOptions('tf.stack', options, 'axis', 'name');
  if (axis === 0 || !Array.isArray(values)) return convertToTensor(values as TensorLike, { name });
  const list = values as readonly TensorLike[]; // an array, as just checked
  const first = list[0]!;
  const element = convertToTensor(first, { name });
  if (element.shape !== null) normalizeAxis(axis, element.shape.length + 1);
  return Pack.build({ values: list }, { name, attrs: { axis } }).output;
}

/**
 * The entries along an axis, as separate tensors. Adds one `Unpack` node.
 *
 * @example tf.unstack(tf.constant([[1, 2], [3, 4]])) // runs to [[1 2], [3 4]]
 */
export function unstack(
  value: TensorLike,
  options: Named & { num?: number | undefined; axis?: number | undefined } = {},
): readonly Tensor[] {
  const { num, axis = 0, name = 'unstack' } = onlyOptions('tf.unstack', options, 'num', 'axis', 'name');
  if (num !== undefined) return Unpack.build({ value }, { name, attrs: { num, axis } }).output;
  const x = convertToTensor(value);
  const count = x.shape === null ? null : x.shape[normalizeAxis(axis, x.shape.length)]!;
  if (count === null)
    throw userError(
      `Cannot infer argument \`num\` from shape ${showShape(x.shape)}. Say how many tensors to make: tf.unstack(x, { num: … }).`,
    );
  return Unpack.build({ value: x }, { name, attrs: { num: count, axis } }).output;
}

/**
 * Like `stack` along axis 0, for values of fully known shape. Adds `ExpandDims` nodes and one `ParallelConcat`.
 *
 * @example tf.parallelStack([tf.constant([1, 2]), tf.constant([3, 4])]) // runs to [[1 2] [3 4]]
 */
export function parallelStack(values: readonly TensorLike[], options: Named = {}): Tensor {
  const { name = 'parallel_stack' } = onlyOptions('tf.parallelStack', options, 'name');
  return scoped(name, values, () => {
    const element = convertToTensor(values[0]!).shape;
    const shape = element === null ? null : [values.length, ...element];
    const rows = values.map((v) => expandDims(v, 0));
    return ParallelConcat.build({ values: rows }, { attrs: { shape } }).output;
  });
}
