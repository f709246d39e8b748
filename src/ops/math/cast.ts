/** @file Cast: the same values as another type. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { UnimplementedError } from '../../core/errors.ts';
import type { Dims } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/map.ts';
import type { Value } from '../../program/value.ts';
import { reinterpret } from './bitcast.ts';
import type { NameOption } from './elementwise.ts';
import { simplifyCast } from './identities.ts';
import { floatAndComplexTypes } from './types.ts';

/** Bits of the fraction that a float type stores. */
const fractionBits: Partial<Record<DType['storage'], number>> = { f64: 52, f32: 23, f16: 10, bf16: 7 };

/** The value with the fraction bits cleared that `to` cannot hold, so that the cast cuts instead of rounding. */
function truncated(p: ProgramBuilder, x: Value, to: DType): Value {
  const have = fractionBits[x.dtype.storage];
  const want = fractionBits[to.storage];
  if (have === undefined || want === undefined || want >= have) return x;
  const bits = x.dtype === d.float64 ? d.uint64 : x.dtype === d.float32 ? d.uint32 : d.uint16;
  const mask = (1n << BigInt(8 * x.dtype.size)) - (1n << BigInt(have - want));
  const kept = p.map([reinterpret(p, x, bits, x.shape)], (v) => e.and(v!, e.constant(mask, bits)));
  return reinterpret(p, kept, x.dtype, x.shape);
}

export const Cast = defineOp({
  name: 'Cast',
  inputs: { x: 'SrcT' },
  outputs: { y: 'DstT' },
  attrs: { SrcT: anyType, DstT: anyType, Truncate: attr('bool', { default: false }) },
  literals: 'cast',
  shape: ({ x }) => ({ y: x }),
  grad({ inputs: { x } }, { y: dy }) {
    const smooth = floatAndComplexTypes.includes(x.dtype) && floatAndComplexTypes.includes(dy.dtype);
    return { x: smooth ? cast(dy, x.dtype) : null };
  },
  lower(p, { x }, { SrcT, DstT, Truncate }) {
    if (SrcT !== DstT && (SrcT.isObject || DstT.isObject))
      throw new UnimplementedError(`Cast ${SrcT.runtimeName} to ${DstT.runtimeName} is not supported`);
    return { y: p.cast(Truncate ? truncated(p, x, DstT) : x, DstT) };
  },
  followsEntries: true,
  partialValue: ({ inputs: { x }, outputs: { y } }, known) =>
    x.dtype.isInteger && y.dtype.isInteger ? known(x) : undefined,
  simplify: simplifyCast,
  cases: () => [
    { shape: '[2, ?] -> [2, ?]', attrs: { DstT: d.int32 } },
    {
      given: { x: [1.9, -1.9, 3e9, Number.NaN] },
      attrs: { DstT: d.int32 },
      expect: { y: { dtype: 'int32', value: [1, -1, -2147483648, -2147483648] } },
    },
    {
      given: { x: { dtype: 'int32', value: [-1, 256, 300] } },
      attrs: { DstT: d.uint8 },
      expect: { y: { dtype: 'uint8', value: [255, 0, 44] } },
    },
    { given: { x: [true, false] }, attrs: { DstT: d.float32 }, expect: { y: [1, 0] } },
    { given: { x: [1.5, -2] }, attrs: { DstT: d.float64 }, expect: { y: { dtype: 'float64', value: [1.5, -2] } } },
    { given: { x: [0, -0.5, Number.NaN] }, attrs: { DstT: d.bool }, expect: { y: [false, true, true] } },
    {
      given: { x: { dtype: 'complex64', value: [{ re: 1.5, im: 2 }] } },
      attrs: { DstT: d.float64 },
      expect: { y: { dtype: 'float64', value: [1.5] } },
      differentiable: false,
    },
    {
      given: { x: [1.00390625, 65520] },
      attrs: { DstT: d.float16 },
      expect: { y: { dtype: 'float16', value: [1.00390625, Number.POSITIVE_INFINITY] } },
      differentiable: false,
    },
    {
      given: { x: [1.01171875] },
      attrs: { DstT: d.bfloat16, Truncate: true },
      expect: { y: { dtype: 'bfloat16', value: [1.0078125] } },
      differentiable: false,
    },
  ],
});

/**
 * The same values as `dtype`: fractions are cut off towards integers, anything but 0 is true. Adds one `Cast` node, or
 * none when the type is right already.
 *
 * @example tf.cast([1.8, -2.2], tf.int32) // runs to [ 1 -2]
 */
export function cast<D extends DType, S extends Dims = Dims>(
  x: Tensor<DType, S> | TensorLike,
  dtype: D,
  options?: NameOption,
): Tensor<D, S>;
export function cast(x: IndexedSlices, dtype: DType, options?: NameOption): IndexedSlices;
export function cast(x: TensorLike, dtype: DType, options: NameOption = {}): Tensor | IndexedSlices {
  onlyOptions('tf.cast', options, 'name');
  if (x instanceof Tensor && x.dtype === dtype) return x;
  return nameScope(options.name ?? 'Cast', (name) => {
    if (x instanceof IndexedSlices) return new IndexedSlices(cast(x.values, dtype, { name }), x.indices, x.denseShape);
    const value = convertToTensor(x, { name: 'x' });
    return value.dtype === dtype ? value : Cast.build({ x: value }, { name, attrs: { DstT: dtype } }).y;
  });
}
