/** @file HistogramFixedWidth: how many values fall into each of some bins of equal width. */
import * as d from '../../core/dtypes.ts';
import { type DType, int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { showShape, showTuple, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import * as e from '../../program/expr.ts';
import { getItem } from '../array/getItem.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { assert } from '../flow/assert.ts';
import { withDependencies } from '../flow/group.ts';
import { cast } from './cast.ts';
import { clipByValue } from './clip.ts';
import { greater } from './compare.ts';
import { truediv } from './divide.ts';
import { minus, times } from './operators.ts';
import { floor } from './round.ts';

export const HistogramFixedWidth = defineOp({
  name: 'HistogramFixedWidth',
  inputs: { values: 'T', value_range: 'T', nbins: 'int32' },
  outputs: { out: 'dtype' },
  attrs: {
    T: attr('type', { allowed: [d.int32, d.int64, d.float32, d.float64] }),
    dtype: attr('type', { allowed: [d.int32, d.int64], default: d.int32 }),
  },
  hostInputs: ['nbins', 'value_range'],
  shape({ value_range, nbins }, _, context) {
    if (value_range !== null && (value_range.length !== 1 || (value_range[0] !== null && value_range[0] !== 2)))
      throw new InvalidArgumentError(`value_range is ${showShape(value_range)}, but must be [2]: least and most.`);
    if (nbins !== null && nbins.length !== 0)
      throw new InvalidArgumentError(`nbins is ${showShape(nbins)}, but must be a scalar.`);
    const count = context.partial('nbins')?.[0] ?? null;
    if (count !== null && count <= 0) throw new InvalidArgumentError(`Requires nbins > 0: ${count}`);
    return { out: [count] };
  },
  grad: gradientPending('TensorFlow has none either'),
  lower(p, { values, value_range, nbins }, { dtype }) {
    const range = p.demand(value_range);
    const [bins] = p.demandInts(nbins) as [number]; // a scalar
    if (range.size !== 2) throw new InvalidArgumentError('value_range should be a vector of 2 elements.');
    const [least, most] = [range.numberAt(0), range.numberAt(1)];
    if (least >= most)
      throw new InvalidArgumentError(
        `value_range should satisfy value_range[0] < value_range[1], but got '[${least}, ${most}]'`,
      );
    if (bins <= 0) throw new InvalidArgumentError(`nbins should be a positive number, but got '${bins}'`);
    const width = (most - least) / bins;
    const bin = p.map([values], (x) => {
      const above = e.max(e.sub(e.cast(x!, d.float64), least), 0);
      return e.cast(e.min(e.div(above, width), bins - 1), int32);
    });
    const count = sizeOf(values.shape);
    const target = p.fill(dtype, [bins, 1], 0);
    p.scatter('add', target, p.reshape(bin, [count, 1]), p.fill(dtype, [count, 1], 1), { bounds: 'drop' });
    return { out: p.reshape(target, [bins]) };
  },
  cases: () => [
    { shape: '[?, 3], [2], [] -> [5]', given: { nbins: { dtype: 'int32', value: 5 } } },
    { shape: '?, ?, [] -> [?]' },
    { shape: '[2], [3], []', rejects: /value_range is \[3\], but must be \[2\]/ },
    {
      given: { values: [-1, 0, 1.5, 2, 5, 15], value_range: [0, 5], nbins: { dtype: 'int32', value: 5 } },
      expect: { out: { dtype: 'int32', value: [2, 1, 1, 0, 2] } },
    },
    {
      given: {
        values: {
          dtype: 'int64',
          value: [
            [1, 2],
            [2, 9],
          ],
        },
        value_range: { dtype: 'int64', value: [1, 4] },
        nbins: { dtype: 'int32', value: 3 },
      },
      attrs: { dtype: d.int64 },
      expect: { out: { dtype: 'int64', value: [1, 2, 1] } },
    },
    {
      given: { values: [1], value_range: [2, 2], nbins: { dtype: 'int32', value: 3 } },
      fails: /value_range\[0\] < value_range\[1\], but got '\[2, 2\]'/,
    },
  ],
});

export interface HistogramOptions {
  /** How many bins, 100 unless given. */
  readonly nbins?: TensorLike | undefined;
  /** int32, the usual one, or int64. */
  readonly dtype?: DType | undefined;
  readonly name?: string | undefined;
}

/**
 * How many of the values fall into each bin between `valueRange[0]` and `valueRange[1]`; what lies outside counts in the
 * first or last bin. Adds one `HistogramFixedWidth` node.
 *
 * @example tf.histogramFixedWidth([-1, 0.5, 1.5, 2, 5, 15], [0, 5], { nbins: 5 }) // runs to [2 1 1 0 2]
 */
export function histogramFixedWidth(
  values: TensorLike,
  valueRange: TensorLike,
  options: HistogramOptions = {},
): Tensor {
  const { nbins = 100, dtype, name } = onlyOptions('tf.histogramFixedWidth', options, 'nbins', 'dtype', 'name');
  return nameScope(
    name ?? 'histogram_fixed_width',
    (scope) =>
      HistogramFixedWidth.build(
        { values, value_range: valueRange, nbins },
        { name: scope, attrs: { dtype: dtype ?? int32 } },
      ).out,
  );
}

/**
 * The number of the bin that each value falls into. Adds nodes under `histogram_fixed_width_bins/`.
 *
 * @example tf.histogramFixedWidthBins([-1, 0.5, 1.5, 2, 5, 15], [0, 5], { nbins: 5 }) // runs to [0 0 1 2 4 4]
 */
export function histogramFixedWidthBins(
  values: TensorLike,
  valueRange: TensorLike,
  options: HistogramOptions = {},
): Tensor {
  const { nbins = 100, name } = onlyOptions('tf.histogramFixedWidthBins', options, 'nbins', 'dtype', 'name');
  return nameScope(name ?? 'histogram_fixed_width_bins', () => {
    const given = convertToTensor(values, { name: 'values' });
    const dims = shape(given);
    const flat = reshape(given, [-1]);
    const range = convertToTensor(valueRange, { name: 'value_range', hint: flat.dtype });
    const count = convertToTensor(nbins, { name: 'nbins', dtype: int32 });
    // The words are Python's, since they are part of the graph.
    const check = assert(greater(count, 0), [
      `nbins Tensor("${count.name}", shape=${showTuple(count.shape)}, dtype=int32) must > 0`,
    ]);
    const bins = cast(withDependencies([check], count), flat.dtype);
    const above = minus(flat, getItem(range, [0]));
    const most = getItem(range, [1]);
    const scaled = truediv(above, minus(most, getItem(range, [0])), { name: 'scaled_values' });
    const indices = floor(times(bins, scaled), { name: 'indices' });
    return reshape(cast(clipByValue(indices, 0, minus(bins, 1)), int32), dims);
  });
}
