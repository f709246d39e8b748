/** @file StridedSlice and StridedSliceGrad: every k-th element between two points of each axis, as in `x[1:, ::2, ...]`. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { showRuntime } from '../../core/shape.ts';
import { onlyOptions, withArgument } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { constantValue } from '../../op/constantValue.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { onesLike } from '../math/zerosLike.ts';
import { complete, dimsFrom, filled, int32or64, type Named, part, zeroElement } from './common.ts';
import { denseGradient } from './indexedSlices.ts';
import { shape } from './shape.ts';
import { denseSlice, type SliceMasks, slicedDims } from './sliceSpec.ts';

const maskAttrs = {
  begin_mask: attr('int', { default: 0 }),
  end_mask: attr('int', { default: 0 }),
  ellipsis_mask: attr('int', { default: 0 }),
  new_axis_mask: attr('int', { default: 0 }),
  shrink_axis_mask: attr('int', { default: 0 }),
};

/** begin, end and strides at run time. */
function bounds(p: ProgramBuilder, inputs: { begin: Value; end: Value; strides: Value }) {
  const { begin, end, strides } = inputs;
  if (
    begin.shape.length !== 1 ||
    end.shape.length !== 1 ||
    strides.shape.length !== 1 ||
    begin.shape[0] !== end.shape[0] ||
    begin.shape[0] !== strides.shape[0]
  )
    throw new InvalidArgumentError(
      `Expected begin, end, and strides to be 1D equal size tensors, but got shapes ${showRuntime(begin.shape)}, ${showRuntime(end.shape)}, and ${showRuntime(strides.shape)} instead.`,
    );
  return { begin: p.demandInts(begin), end: p.demandInts(end), strides: p.demandInts(strides) };
}

export const StridedSlice = defineOp({
  name: 'StridedSlice',
  inputs: { input: 'T', begin: 'Index', end: 'Index', strides: 'Index' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Index: attr('type', { allowed: [d.int16, d.int32, d.int64] }), ...maskAttrs },
  hostInputs: ['begin', 'end', 'strides'],
  shape({ input }, masks, context) {
    const strides = complete(context.partial('strides'));
    if (input === null || !strides) return { output: null };
    const at = { begin: complete(context.partial('begin')), end: complete(context.partial('end')), strides };
    return { output: slicedDims(input, at, masks) };
  },
  grad({ inputs: { input, begin, end, strides }, attrs }, { output: dy }) {
    const { T: _T, Index: _Index, ...masks } = attrs;
    const fixed = (t: Tensor): TensorLike => constantValue(t) ?? t;
    const whole = shape(input, { outType: begin.dtype });
    const inputs = { shape: fixed(whole), begin: fixed(begin), end: fixed(end), strides: fixed(strides) };
    return { input: sliceGradient({ ...inputs, dy: denseGradient(dy) }, masks) };
  },
  lower(p, { input, ...at }, masks) {
    const slice = denseSlice(input.shape, bounds(p, at), masks);
    return { output: p.reshape(p.slice(input, slice.begin, slice.size, slice.step), slice.shape) };
  },
  followsEntries: true,
  partialValue({ inputs, attrs }, known) {
    const entries = inputs.input.rank === 1 ? known(inputs.input) : undefined;
    const begin = complete(known(inputs.begin));
    const end = complete(known(inputs.end));
    const strides = complete(known(inputs.strides));
    if (!entries || !begin || !end || !strides) return undefined;
    const slice = denseSlice([entries.length], { begin, end, strides }, attrs);
    return Array.from({ length: slice.size[0]! }, (_, k) => entries[slice.begin[0]! + k * slice.step[0]!]!);
  },
  cases: () => [
    { shape: '[4, ?], [1], [1], [1] -> [2, ?]', given: spec([1], [3], [1]) },
    { shape: '[4, ?], [1], [1], [1] -> [?, ?]', given: { strides: { dtype: 'int32', value: [1] } } },
    { shape: '[4, ?], [1], [1], [1] -> ?' },
    { shape: '[4, 3], [1], [1], [1] -> [3]', given: spec([-1], [0], [1]), attrs: { shrink_axis_mask: 1 } },
    {
      shape: '[4, 3], [2], [2], [2] -> [4, 1, 3]',
      given: spec([0, 0], [0, 0], [1, 1]),
      attrs: { begin_mask: 1, end_mask: 1, new_axis_mask: 2 },
    },
    {
      shape: '[4], [1], [1], [1]',
      given: spec([4], [5], [1]),
      attrs: { shrink_axis_mask: 1 },
      rejects: /slice index 4 of dimension 0 out of bounds/,
    },
    { given: { input: [1, 2, 3, 4, 5], ...spec([4], [0], [-2]) }, expect: { output: [5, 3] } },
    {
      given: { input: [1, 2, 3, 4, 5], ...spec([0], [0], [-1]) },
      attrs: { begin_mask: 1, end_mask: 1 },
      expect: { output: [5, 4, 3, 2, 1] },
    },
    {
      given: {
        input: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
        ...spec([0, 1], [0, 2], [1, 1]),
      },
      attrs: { ellipsis_mask: 1, shrink_axis_mask: 2 },
      expect: { output: [[2, 4]] },
    },
    { given: { input: ['a', 'b', 'c'], ...spec([-2], [-1], [1]) }, expect: { output: ['b'] } },
  ],
});

/** begin, end and strides of a case. */
const spec = (begin: number[], end: number[], strides: number[]) => ({
  begin: { dtype: 'int32' as const, value: begin },
  end: { dtype: 'int32' as const, value: end },
  strides: { dtype: 'int32' as const, value: strides },
});

export const StridedSliceGrad = defineOp({
  name: 'StridedSliceGrad',
  inputs: { shape: 'Index', begin: 'Index', end: 'Index', strides: 'Index', dy: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Index: int32or64, ...maskAttrs },
  hostInputs: ['shape', 'begin', 'end', 'strides'],
  shape: (_inputs, _attrs, context) => ({ output: dimsFrom(context.partial('shape')) }),
  grad({ inputs: { begin, end, strides }, attrs }, { output: dy }) {
    const { T: _T, Index: _Index, ...masks } = attrs;
    return { dy: sliced({ input: denseGradient(dy), begin, end, strides }, masks) };
  },
  lower(p, { shape: whole, dy, ...at }, masks) {
    const dims = p.demandInts(whole);
    const slice = denseSlice(dims, bounds(p, at), masks);
    if (showRuntime(slice.shape) !== showRuntime(dy.shape))
      throw new InvalidArgumentError(`shape of dy was ${showRuntime(dy.shape)} instead of ${showRuntime(slice.shape)}`);
    const output = filled(p, zeroElement(p, dy.dtype), dims);
    const block = p.reshape(dy, slice.size);
    if (!slice.size.includes(0)) p.copyInto(block, part(output, slice.begin, slice.size, slice.step));
    return { output };
  },
  cases: () => [
    {
      shape: '[2], [1], [1], [1], ? -> [4, 3]',
      given: { shape: { dtype: 'int32', value: [4, 3] } },
    },
    {
      given: { shape: { dtype: 'int32', value: [5] }, ...spec([0], [5], [2]), dy: [1, 2, 3] },
      expect: { output: [1, 0, 2, 0, 3] },
    },
    {
      given: { shape: { dtype: 'int32', value: [3, 2] }, ...spec([-1], [0], [1]), dy: [7, 8] },
      attrs: { shrink_axis_mask: 1 },
      expect: {
        output: [
          [0, 0],
          [0, 0],
          [7, 8],
        ],
      },
    },
  ],
});

// Each op is the other's gradient; stated return types keep that from being circular.
type Bounds = Readonly<Record<'begin' | 'end' | 'strides', TensorLike>>;
function sliced(inputs: Bounds & { readonly input: Tensor }, masks: SliceMasks): Tensor {
  return StridedSlice.build(inputs, { attrs: masks }).output;
}
function sliceGradient(
  inputs: Bounds & { readonly shape: TensorLike; readonly dy: Tensor },
  masks: SliceMasks,
): Tensor {
  return StridedSliceGrad.build(inputs, { attrs: masks }).output;
}

export interface StridedSliceOptions extends Named {
  /** May stand here, or alone as the fourth argument. */
  readonly strides?: TensorLike;
  readonly beginMask?: number;
  readonly endMask?: number;
  readonly ellipsisMask?: number;
  readonly newAxisMask?: number;
  readonly shrinkAxisMask?: number;
}

/**
 * Elements `begin`, `begin + stride` … before `end` along each axis; bit i of a mask changes what entry i means.
 * Adds one `StridedSlice` node. The method `x.slice('1:, ::2')` is the comfortable form.
 *
 * @example tf.stridedSlice(tf.constant([1, 2, 3, 4]), [3], [0], [-2]) // runs to [4 2]
 */
export function stridedSlice(
  input: TensorLike,
  begin: TensorLike,
  end: TensorLike,
  given?: TensorLike | StridedSliceOptions,
  last: StridedSliceOptions = {},
): Tensor {
  const options = withArgument('strides', given, last);
  onlyOptions(
    'tf.stridedSlice',
    options,
    'strides',
    'name',
    'beginMask',
    'endMask',
    'ellipsisMask',
    'newAxisMask',
    'shrinkAxisMask',
  );
  const masks: SliceMasks = {
    begin_mask: options.beginMask ?? 0,
    end_mask: options.endMask ?? 0,
    ellipsis_mask: options.ellipsisMask ?? 0,
    new_axis_mask: options.newAxisMask ?? 0,
    shrink_axis_mask: options.shrinkAxisMask ?? 0,
  };
  const inputs = { input, begin, end, strides: options.strides ?? onesLike(begin) };
  return StridedSlice.build(inputs, { name: options.name, attrs: masks }).output;
}
