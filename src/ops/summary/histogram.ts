/** @file HistogramSummary: how the elements of a tensor are distributed. */
import { float32, float64, int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { attr, realNumberTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { Histogram } from './buckets.ts';
import { summaryArray, summaryResult, textOf, wantScalar } from './encode.ts';

/** The histogram of an array's elements; `node` is who complains about those that are not finite. */
export async function histogramOf(array: NDArray, node: string): Promise<Histogram> {
  const histogram = new Histogram();
  const check = (value: number) => {
    if (Number.isNaN(value)) throw new InvalidArgumentError(`Nan in summary histogram for: ${node}`);
    if (!Number.isFinite(value)) throw new InvalidArgumentError(`Infinity in Histogram for: ${node}`);
  };
  const odd = await histogram.addBeside(array);
  if (odd !== false) {
    if (odd !== undefined) check(odd);
    return histogram;
  }
  const { size } = array;
  // The usual types are read without the switch over types that numberAt makes for each element.
  const { dtype } = array;
  const plain = dtype === float32 || dtype === float64 || dtype === int32 ? (array.data as Float64Array) : undefined; // all three hold plain numbers
  for (let i = 0; i < size; i++) {
    const value = plain ? plain[i]! : array.numberAt(i);
    check(value);
    histogram.add(value);
  }
  return histogram;
}

export const HistogramSummary = defineOp({
  name: 'HistogramSummary',
  inputs: { tag: 'string', values: 'T' },
  outputs: { summary: 'string' },
  attrs: { T: attr('type', { allowed: realNumberTypes, default: float32 }) },
  shape: () => ({ summary: [] }),
  grad: notDifferentiable,
  lower(p, { tag, values }, _attrs, { name }) {
    wantScalar(tag, 'tags must be scalar');
    const [summary] = p.host(
      [tag, values],
      summaryResult,
      async ([text, array]) => [
        summaryArray([{ tag: textOf(text!), histo: (await histogramOf(array!, name)).toProto() }]),
      ],
      { borrows: true },
    );
    return { summary: summary! };
  },
  cases: () => [
    { shape: '[], [2, ?] -> []' },
    { shape: '?, ? -> []' },
    {
      given: { tag: 's', values: [0] },
      // One element in the bucket from 0 to 1e-12, and the empty ones on both sides of it.
      expect: {
        summary: Buffer.from(
          '0a420a01732a3d19000000000000f03f3218000000000000000011ea2d819997713dffffffffffffef7f3a180000000000000000000000000000f03f0000000000000000',
          'hex',
        ),
      },
    },
    { given: { tag: 's', values: [1, Number.NaN] }, fails: /Nan in summary histogram for: HistogramSummary/ },
    { given: { tag: 's', values: [Number.POSITIVE_INFINITY] }, fails: /Infinity in Histogram for: HistogramSummary/ },
    { given: { tag: ['s'], values: [1] }, fails: /tags must be scalar/ },
  ],
});
