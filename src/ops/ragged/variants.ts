/** @file RaggedTensorToVariant and RaggedTensorFromVariant: ragged tensors as elements, which datasets and loops pass around. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector, NDArray, scalar, zeros } from '../../core/ndarray.ts';
import { joined, rowsOf } from '../../core/rows.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { atLeastRank, dimsFrom, ofRank } from '../array/common.ts';
import { shape } from '../array/shape.ts';
import { onArrays } from '../flow/tensorList/kit.ts';
import type { AdditiveVariant } from '../math/variants.ts';
import { show, Tsplits, uniformSplits } from './kit.ts';

/** A ragged tensor in a variant: splits from the outermost axis to the innermost, and the values. */
export class RaggedVariant implements AdditiveVariant {
  constructor(
    readonly splits: readonly NDArray[],
    readonly values: NDArray,
  ) {}
  zerosLike(): RaggedVariant {
    return new RaggedVariant(this.splits, onArrays.zerosLike(this.values));
  }
  plus(other: object): RaggedVariant {
    if (!(other instanceof RaggedVariant) || show(other.values.shape) !== show(this.values.shape))
      throw new InvalidArgumentError('Can only add RaggedTensorVariants with the same shape.');
    return new RaggedVariant(this.splits, onArrays.plus(this.values, other.values));
  }
}

function checkSplits(splits: readonly number[], count: number): void {
  const bad = (why: string) => new InvalidArgumentError(`Invalid ragged splits: ${why}`);
  if (splits.length === 0) throw bad('ragged splits must have at least one splits, but is empty');
  if (splits[0] !== 0) throw bad(`first element of ragged splits  must be 0 but is ${splits[0]}`);
  for (let i = 1; i < splits.length; i++)
    if (splits[i]! < splits[i - 1]!)
      throw bad(
        `ragged splits must be monotonically increasing, but ragged_splits[${i}]=${splits[i]} is smaller than row_splits[${i - 1}]=${splits[i - 1]}`,
      );
  if (splits.at(-1) !== count)
    throw bad(`last element of ragged splits must be the number of ragged values(${count}) but is ${splits.at(-1)}`);
}

/** The rows of a ragged tensor, each a ragged tensor with one axis less. */
function unbatched(nested: readonly NDArray[], values: NDArray, type: d.DType): RaggedVariant[] {
  if (nested.length === 0) {
    if (values.rank === 0) throw new InvalidArgumentError("Can't unbatch rank-0 tensor.");
    return Array.from(
      { length: values.shape[0]! },
      (_, i) => new RaggedVariant([], rowsOf(values, i, values.shape.slice(1))),
    );
  }
  const levels = nested.map((splits) => splits.numbers());
  for (const [i, splits] of levels.entries())
    checkSplits(splits, i + 1 < levels.length ? levels[i + 1]!.length - 1 : values.shape[0]!);
  const [rows, ...inner] = levels as [number[], ...number[][]]; // one level at least
  return rows.slice(0, -1).map((first, row) => {
    let [start, limit] = [first, rows[row + 1]!];
    const splits = inner.map((level) => {
      const own = level.slice(start, limit + 1);
      [start, limit] = [level[start]!, level[limit]!];
      return intVector(
        own.map((n) => n - own[0]!),
        type,
      );
    });
    return new RaggedVariant(splits, rowsOf(values, start, [limit - start, ...values.shape.slice(1)]));
  });
}

/** Components below the axes of an array, as one ragged tensor; without splits of their own they become rows of it. */
function stacked(parts: readonly RaggedVariant[], outer: Shape, inputRank: number, types: Types): RaggedVariant {
  const levels: number[][] = outer
    .slice(0, -1)
    .map((_, axis) => uniformSplits(sizeOf(outer.slice(0, axis + 1)), outer[axis + 1]!));
  const lengthOf = ({ splits, values }: RaggedVariant) => (splits[0] ? splits[0].size - 1 : values.shape[0]!);
  levels.push(running(parts.map(lengthOf)));
  for (let level = 0; level < inputRank; level++)
    levels.push(
      running(
        parts.flatMap(({ splits }) => {
          const own = splits[level]!.numbers();
          return own.slice(1).map((limit, i) => limit - own[i]!);
        }),
      ),
    );
  const inner = commonShape(parts.map(({ values }) => values.shape.slice(1)));
  const rows = parts.reduce((sum, { values }) => sum + values.shape[0]!, 0);
  return new RaggedVariant(
    levels.map((splits) => intVector(splits, types.splits)),
    joined(
      types.values,
      [rows, ...inner],
      parts.map(({ values }) => values),
    ),
  );
}

function running(lengths: readonly number[]): number[] {
  let sum = 0;
  return [0, ...lengths.map((length) => (sum += length))];
}

function commonShape(shapes: readonly Shape[]): Shape {
  const other = shapes.findIndex((s) => show(s) !== show(shapes[0]!));
  if (other < 0) return shapes[0] ?? [];
  throw new InvalidArgumentError(
    `All flat_values must have compatible shapes.  Shape at index 0: ${show(shapes[0]!)}.  Shape at index ${other}: ${show(shapes[other]!)}.  If you are using tf.map_fn, then you may need to specify an explicit fn_output_signature with appropriate ragged_rank, and/or convert output tensors to RaggedTensors.`,
  );
}

interface Types {
  readonly values: d.DType;
  readonly splits: d.DType;
}

/** The ragged tensors in an array, each of the rank and the types asked for. */
function partsOf(encoded: NDArray, rank: number, types: Types): RaggedVariant[] {
  return encoded.objects.map((object, i) => {
    if (!(object instanceof RaggedVariant))
      throw new InvalidArgumentError(
        `Input Variant element at index ${i} doesn't hold a RaggedTensorVariant: ${object.constructor.name}`,
      );
    const { splits, values } = object;
    if (splits.length !== rank)
      throw new InvalidArgumentError(
        `Encoded input RaggedTensorVariant has ragged_rank=${splits.length}.  Expected ragged_rank=${rank}.`,
      );
    if (values.dtype !== types.values)
      throw new InvalidArgumentError(`Expected values Tensor dtype: ${types.values}, found: ${values.dtype}`);
    const other = splits.find(({ dtype }) => dtype !== types.splits);
    if (other)
      throw new InvalidArgumentError(`Expected row_splits Tensor dtype: ${types.splits}, found: ${other.dtype}`);
    return object;
  });
}

/** The ragged tensor in an array of variants, which become its rows. */
export function decoded(encoded: NDArray, inputRank: number, outputRank: number, types: Types): RaggedVariant {
  const { rank, shape: outer } = encoded;
  if (outputRank === 0) {
    const parts = partsOf(encoded, 0, types).map(({ values }) => values);
    const inner = commonShape(parts.map((values) => values.shape));
    return new RaggedVariant([], rank === 0 ? parts[0]! : joined(types.values, [...outer, ...inner], parts));
  }
  const own = inputRank < 0 ? outputRank - rank : inputRank;
  if (own < 0)
    throw new InvalidArgumentError(
      `Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found output_ragged_rank: ${outputRank}, encoded_variant.dims(): ${rank}, inferred input_ragged_rank: ${own}`,
    );
  if (outputRank !== own + rank)
    throw new InvalidArgumentError(
      `output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); output_ragged_rank: ${outputRank}, input_ragged_rank: ${own}, encoded_variant.dims(): ${rank}.`,
    );
  const parts = partsOf(encoded, own, types);
  if (rank === 0) return parts[0]!;
  const other = parts.findIndex(({ values }) => values.rank !== parts[0]!.values.rank);
  if (other >= 0)
    throw new InvalidArgumentError(
      `Rank of values must match for all components; values shape at index 0: ${show(parts[0]!.values.shape)}, values shape at index ${other}: ${show(parts[other]!.values.shape)}`,
    );
  return stacked(parts, outer, own, types);
}

export const RaggedTensorToVariant = defineOp({
  name: 'RaggedTensorToVariant',
  inputs: { rt_nested_splits: 'RAGGED_RANK * Tsplits', rt_dense_values: 'Tvalues' },
  outputs: { encoded_ragged: 'variant' },
  attrs: { RAGGED_RANK: attr('int', { minimum: 0 }), Tvalues: anyType, Tsplits, batched_input: attr('bool') },
  shape({ rt_nested_splits, rt_dense_values }, { batched_input, RAGGED_RANK }) {
    for (const splits of rt_nested_splits) ofRank(splits, 1, 'rt_nested_splits');
    if (RAGGED_RANK > 0 || batched_input) atLeastRank(rt_dense_values, 1, 'rt_dense_values');
    if (!batched_input) return { encoded_ragged: [] };
    const splits = rt_nested_splits[0]?.[0];
    const rows = RAGGED_RANK === 0 ? (rt_dense_values?.[0] ?? null) : splits == null ? null : splits - 1;
    return { encoded_ragged: [rows] };
  },
  grad({ inputs: { rt_nested_splits, rt_dense_values }, attrs }, { encoded_ragged: dy }) {
    const { dense_values_grad } = RaggedTensorToVariantGradient.build(
      {
        encoded_ragged_grad: convertToTensor(dy),
        row_splits: rt_nested_splits[0] ?? scalar(d.int64, 0),
        dense_values_shape: shape(rt_dense_values),
      },
      { attrs: { Tvalues: attrs.Tvalues } },
    );
    return { rt_dense_values: dense_values_grad };
  },
  lower(p, { rt_nested_splits, rt_dense_values }, { batched_input, Tsplits: type }) {
    if (batched_input && rt_nested_splits.length === 0 && rt_dense_values.shape.length === 0)
      throw new InvalidArgumentError("Can't unbatch rank-0 tensor.");
    const rows = rt_nested_splits[0] ? rt_nested_splits[0].shape[0]! - 1 : rt_dense_values.shape[0]!;
    const result = { dtype: d.variant, shape: batched_input ? [Math.max(rows, 0)] : [] };
    const [encoded_ragged] = p.host([...rt_nested_splits, rt_dense_values], [result], (arrays) => {
      const [nested, values] = [arrays.slice(0, -1), arrays.at(-1)!];
      if (!batched_input) return [new NDArray(d.variant, [], [new RaggedVariant(nested, values)])];
      const parts = unbatched(nested, values, type);
      return [new NDArray(d.variant, [parts.length], parts)];
    });
    return { encoded_ragged: encoded_ragged! };
  },
  cases: () => [
    { shape: '[4], [5] -> [3]', attrs: { RAGGED_RANK: 1, batched_input: true } },
    { shape: '[4], [5] -> []', attrs: { RAGGED_RANK: 1, batched_input: false } },
    { shape: '? -> []', attrs: { RAGGED_RANK: 0, batched_input: false } },
    { shape: '[4], []', attrs: { RAGGED_RANK: 1, batched_input: true }, rejects: /at least rank 1/ },
  ],
});

export const RaggedTensorFromVariant = defineOp({
  name: 'RaggedTensorFromVariant',
  inputs: { encoded_ragged: 'variant' },
  outputs: { output_nested_splits: 'output_ragged_rank * Tsplits', output_dense_values: 'Tvalues' },
  attrs: {
    input_ragged_rank: attr('int', { minimum: -1 }),
    output_ragged_rank: attr('int', { minimum: 0 }),
    Tvalues: anyType,
    Tsplits,
  },
  shape({ encoded_ragged }, { input_ragged_rank, output_ragged_rank }) {
    if (input_ragged_rank >= 0) ofRank(encoded_ragged, output_ragged_rank - input_ragged_rank, 'encoded_ragged');
    return { output_nested_splits: new Array<[null]>(output_ragged_rank).fill([null]), output_dense_values: null };
  },
  grad({ inputs, outputs, attrs }, dy) {
    const rank = inputs.encoded_ragged.rank;
    if (rank !== null && rank > 1)
      throw new InvalidArgumentError(
        'Unable to compute gradient: RaggedTensorToVariant can currently only generate 0D or 1D output.',
      );
    const batched_input = rank === null ? attrs.output_ragged_rank > 0 : rank === 1;
    const { encoded_ragged } = RaggedTensorToVariant.build(
      { rt_nested_splits: outputs.output_nested_splits, rt_dense_values: convertToTensor(dy.output_dense_values) },
      { attrs: { batched_input, Tsplits: attrs.Tsplits } },
    );
    return { encoded_ragged };
  },
  lower(p, { encoded_ragged }, { input_ragged_rank, output_ragged_rank, Tvalues, Tsplits: type }) {
    const results = [...new Array(output_ragged_rank).fill({ dtype: type }), { dtype: Tvalues }];
    const outputs = p.host([encoded_ragged], results, ([encoded]) => {
      const { splits, values } = decoded(encoded!, input_ragged_rank, output_ragged_rank, {
        values: Tvalues,
        splits: type,
      });
      return [...splits, values];
    });
    return { output_nested_splits: outputs.slice(0, -1), output_dense_values: outputs.at(-1)! };
  },
  cases: () => [
    { shape: '? -> [?], [?], ?', attrs: { input_ragged_rank: -1, output_ragged_rank: 2, Tvalues: d.float32 } },
    { shape: '[3] -> ?', attrs: { input_ragged_rank: -1, output_ragged_rank: 0, Tvalues: d.float32 } },
    {
      shape: '[3]',
      attrs: { input_ragged_rank: 1, output_ragged_rank: 1, Tvalues: d.float32 },
      rejects: /rank 0 but is rank 1/,
    },
  ],
});

export const RaggedTensorToVariantGradient = defineOp({
  name: 'RaggedTensorToVariantGradient',
  inputs: { encoded_ragged_grad: 'variant', row_splits: 'Tsplits', dense_values_shape: 'int32' },
  outputs: { dense_values_grad: 'Tvalues' },
  attrs: { Tvalues: anyType, Tsplits },
  shape: (_, _attrs, context) => ({ dense_values_grad: dimsFrom(context.partial('dense_values_shape')) }),
  grad: gradientPending('TensorFlow has none'),
  lower(p, { encoded_ragged_grad, row_splits, dense_values_shape }, { Tvalues }) {
    const [dense_values_grad] = p.host(
      [encoded_ragged_grad, row_splits, dense_values_shape],
      [{ dtype: Tvalues }],
      ([encoded, splits, sizes]) => {
        const inner = sizes!.numbers();
        const ends = splits!.rank === 1 ? splits!.numbers() : [];
        const parts = encoded!.objects.map((object, i) => {
          if (object instanceof RaggedVariant) return object.values;
          // Where no gradient arrived, the gradient of a slice has put an empty object; it stands for zeros.
          const isEmpty = object instanceof Uint8Array && object.length === 0;
          if (!isEmpty || ends[i + 1] === undefined)
            throw new InvalidArgumentError(
              `encoded_ragged_grad element at index ${i} doesn't hold a RaggedTensorVariant: ${object.constructor.name}`,
            );
          return zeros(Tvalues, [ends[i + 1]! - ends[i]!, ...inner.slice(1)]);
        });
        if (encoded!.rank === 0) return [parts[0]!];
        if (splits!.rank === 1 && splits!.size - 1 !== parts.length)
          throw new InvalidArgumentError(
            `row_splits has ${splits!.size - 1} rows, but there are ${parts.length} gradients`,
          );
        const count = parts.reduce((sum, values) => sum + values.size, 0);
        if (count !== sizeOf(inner))
          throw new InvalidArgumentError(
            `the gradients have ${count} values, but a tensor of shape ${show(inner)} was asked for`,
          );
        return [joined(Tvalues, inner, parts)];
      },
    );
    return { dense_values_grad: dense_values_grad! };
  },
  cases: () => [
    {
      shape: '?, ?, [2] -> [5, 2]',
      given: { dense_values_shape: { dtype: 'int32', value: [5, 2] } },
      attrs: { Tvalues: d.float32 },
    },
    { shape: '[3], [4], [?] -> ?', attrs: { Tvalues: d.float32 } },
  ],
});
