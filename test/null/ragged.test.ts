/** @file Ragged tensors have the values and gradients that TensorFlow gives (tools/golden/ragged.py). */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { RaggedGather } from '../../src/ops/ragged/raggedGather.ts';
import { RaggedTensorFromVariant, RaggedTensorToVariant } from '../../src/ops/ragged/variants.ts';

interface Value {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: readonly (number | string)[];
}
// The file is written by tools/golden/ragged.py in just this form.
const golden = JSON.parse(readFileSync(new URL('../golden/ragged.json', import.meta.url), 'utf8')) as Record<
  string,
  readonly Value[]
>;

const fed = (value: readonly number[], dtype: tf.DType = tf.float32) =>
  tf.placeholderWithDefault(tf.constant(value, { dtype }), [null]);
const splits = (value: readonly number[]) => fed(value, tf.int64);
const five = () => fed([1, 2, 3, 4, 5]);
const rows = () => tf.RaggedTensor.fromRowSplits(five(), splits([0, 2, 2, 5]));
const nested = () => tf.RaggedTensor.fromNestedRowSplits(five(), [splits([0, 2, 3]), splits([0, 2, 2, 5])]);
const parts = (r: tf.RaggedTensor) => [...r.nestedRowSplits, r.flatValues];
const sparseParts = (s: tf.SparseTensor) => [s.indices, s.values, s.denseShape];

function gradient(make: (r: tf.RaggedTensor) => tf.Tensor): tf.Tensor[] {
  const x = five();
  const y = make(tf.RaggedTensor.fromRowSplits(x, splits([0, 2, 2, 5])));
  return [y, tf.convertToTensor(tf.gradients(tf.square(y), x)[0]!)];
}

function variants(batched: boolean, rank: number, pick: (x: tf.Tensor) => tf.Tensor = (x) => x): tf.Tensor[] {
  const { encoded_ragged } = RaggedTensorToVariant.build(
    { rt_nested_splits: nested().nestedRowSplits, rt_dense_values: nested().flatValues },
    { attrs: { batched_input: batched } },
  );
  const back = RaggedTensorFromVariant.build(
    { encoded_ragged: pick(encoded_ragged) },
    { attrs: { input_ragged_rank: -1, output_ragged_rank: rank, Tvalues: tf.float32 } },
  );
  return [...back.output_nested_splits, back.output_dense_values];
}

const programs: Record<string, () => readonly tf.Tensor[]> = {
  rows: () => [rows().rowLengths(), rows().valueRowids(), rows().nrows(), rows().boundingShape()],
  nested() {
    const inner = nested().values as tf.RaggedTensor; // of two ragged axes
    return [nested().rowLengths(), inner.rowLengths(), nested().boundingShape()];
  },
  lengths: () => [tf.RaggedTensor.fromRowLengths(fed([1, 2, 3]), splits([2, 0, 1])).rowSplits],
  rowids: () => [
    tf.RaggedTensor.fromValueRowids(fed([1, 2, 3]), splits([0, 0, 2])).rowSplits,
    tf.RaggedTensor.fromValueRowids(fed([1, 2, 3]), splits([0, 0, 2]), { nrows: 5 }).rowSplits,
  ],
  toTensor: () => [rows().toTensor(), rows().toTensor({ defaultValue: 7, shape: [null, 2] }), nested().toTensor()],
  toSparse: () => [...sparseParts(rows().toSparse()), ...sparseParts(nested().toSparse())],
  constant: () =>
    [
      tf.ragged.constant([[1, 2], [], [3]]),
      tf.ragged.constant([[[1.5, 2]], [], [[3], []]]),
      tf.ragged.constant(
        [
          [
            [1, 2],
            [3, 4],
          ],
          [[5, 6]],
        ],
        { raggedRank: 1 },
      ),
    ].flatMap(parts),
  mapped: () => [tf.ragged.mapFlatValues(tf.square, nested()).toTensor()],
  range: () =>
    [
      tf.ragged.range([0, 5], [3, 7]),
      tf.ragged.range([3, 0, 2]),
      tf.ragged.range(tf.constant([5], tf.float32), [2], { deltas: -1.5 }),
    ].flatMap(parts),
  segments: () => [tf.ragged.rowSplitsToSegmentIds(splits([0, 2, 2, 3])), tf.ragged.segmentIdsToRowSplits([0, 0, 2])],
  sparse: () => [
    tf.RaggedTensor.fromSparse(
      new tf.SparseTensor(
        [
          [0, 0],
          [0, 1],
          [2, 0],
        ],
        [1, 2, 3],
        [4, 2],
      ),
    ).rowSplits,
  ],
  toTensorGradient: () => gradient((r) => r.toTensor({ shape: [2, 1] })),
  toSparseGradient: () => gradient((r) => r.toSparse().values),
  gatherGradient: () =>
    gradient(
      ({ nestedRowSplits, flatValues }) =>
        RaggedGather.build(
          { params_nested_splits: nestedRowSplits, params_dense_values: flatValues, indices: [2, 0, 0] },
          { attrs: { OUTPUT_RAGGED_RANK: 1 } },
        ).output_dense_values,
    ),
  variant: () => variants(false, 2),
  batchOfVariants: () => variants(true, 2),
  oneOfVariants: () => variants(true, 1, (x) => tf.gather(x, 1)),
  variantGradient() {
    const x = five();
    const { encoded_ragged } = RaggedTensorToVariant.build(
      { rt_nested_splits: [splits([0, 2, 2, 5])], rt_dense_values: x },
      { attrs: { batched_input: true } },
    );
    const { output_dense_values } = RaggedTensorFromVariant.build(
      { encoded_ragged },
      { attrs: { input_ragged_rank: 0, output_ragged_rank: 1, Tvalues: tf.float32 } },
    );
    return [tf.convertToTensor(tf.gradients(tf.square(output_dense_values), x)[0]!)];
  },
  slicedVariantGradient() {
    const x = five();
    const { encoded_ragged } = RaggedTensorToVariant.build(
      { rt_nested_splits: [splits([0, 2, 2, 5])], rt_dense_values: x },
      { attrs: { batched_input: true } },
    );
    const { output_dense_values } = RaggedTensorFromVariant.build(
      { encoded_ragged: encoded_ragged.slice('1:') },
      { attrs: { input_ragged_rank: 0, output_ragged_rank: 1, Tvalues: tf.float32 } },
    );
    return [tf.convertToTensor(tf.gradients(tf.square(output_dense_values), x)[0]!)];
  },
  split() {
    const pieces = tf.strings.split(['a b', '', ' c  d e'], { resultType: 'RaggedTensor' });
    return [pieces.rowSplits, pieces.flatValues];
  },
};

describe('values', () => {
  for (const [name, program] of Object.entries(programs))
    it(name, async () => {
      const graph = new tf.Graph();
      const found = await new tf.Session({ graph }).run(graph.asDefault(program));
      const plain = found.map((x) => ({
        dtype: String(x.dtype),
        shape: x.shape,
        data: Array.from({ length: x.size }, (_, i) => x.at(i)),
      }));
      expect(plain).toEqual(golden[name]);
    });

  it('every golden program is tested', () => {
    expect(Object.keys(programs).sort()).toEqual(Object.keys(golden).sort());
  });
});

it('a run gives rows', async () => {
  const session = new tf.Session();
  const { all, inner } = await session.run({ all: nested(), inner: rows() });
  expect(all.toArray()).toEqual([[[1, 2], []], [[3, 4, 5]]]);
  expect(inner.toArray()).toEqual([[1, 2], [], [3, 4, 5]]);
  expect((await rows().eval([], session)).toArray()).toEqual([[1, 2], [], [3, 4, 5]]);
});

it('rows go through branches', async () => {
  const r = rows();
  const picked = tf.cond(
    tf.constant(true),
    () => tf.ragged.mapFlatValues(tf.square, r),
    () => r,
  );
  expect((await new tf.Session().run(picked)).toArray()).toEqual([[1, 4], [], [9, 16, 25]]);
});

it('placeholders are fed part by part', async () => {
  const r = tf.ragged.placeholder(tf.float32, 1);
  const feeds = [
    [r.flatValues, [1, 2, 3]],
    [r.rowSplits, [0, 1, 3]],
  ] as const;
  expect((await new tf.Session().run(r.toTensor(), feeds)).toArray()).toEqual([
    [1, 0],
    [2, 3],
  ]);
});

it('mistakes have names', async () => {
  expect(() => tf.RaggedTensor.fromRowSplits([1, 2], [0, 3])).toThrow(
    /last row split is the number of values: there are 2/,
  );
  expect(() => tf.RaggedTensor.fromRowSplits([1, 2], [1, 2])).toThrow(/begin with 0 and never decrease/);
  expect(() => tf.RaggedTensor.fromRowSplits([1, 2], [0.5, 2])).toThrow(/int32 or int64/);
  expect(() => tf.ragged.constant([1, [2]])).toThrow(/equally deep/);
  expect(() => tf.ragged.constant([[1]], { raggedRank: 2 })).toThrow(/raggedRank is 2/);
  const wrong = tf.RaggedTensor.fromRowSplits(five(), splits([0, 2, 4]));
  await expect(new tf.Session().run(wrong.toSparse())).rejects.toThrow(/Final value of ragged splits must match/);
  const notRagged = RaggedTensorFromVariant.build(
    {
      encoded_ragged: RaggedTensorToVariant.build(
        { rt_nested_splits: [], rt_dense_values: [1] },
        { attrs: { batched_input: false, RAGGED_RANK: 0 } },
      ).encoded_ragged,
    },
    { attrs: { input_ragged_rank: -1, output_ragged_rank: 1, Tvalues: tf.int32 } },
  );
  await expect(new tf.Session().run(notRagged.output_dense_values)).rejects.toThrow(
    /has ragged_rank=0\. {2}Expected ragged_rank=1/,
  );
});
