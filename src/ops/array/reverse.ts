/** @file ReverseV2, Reverse and ReverseSequence: elements in the opposite order along axes. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { normalizeAxis, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr, indexTypes } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { ge, lt, select, sub } from '../../program/map.ts';
import { complete, mergeDim, type Named, ofRank } from './common.ts';
import { denseGradient } from './indexedSlices.ts';

const movable = attr('type', {
  // biome-ignore format: a table reads better in rows
  allowed: [
    d.uint8, d.int8, d.uint16, d.int16, d.int32, d.uint32, d.int64, d.uint64, d.bool, d.bfloat16, d.float16, d.float32,
    d.float64, d.complex64, d.complex128, d.string,
  ],
});

export const ReverseV2 = defineOp({
  name: 'ReverseV2',
  inputs: { tensor: 'T', axis: 'Tidx' },
  outputs: { output: 'T' },
  attrs: { Tidx: indexTypes, T: movable },
  hostInputs: ['axis'],
  shape({ tensor }, _, context) {
    const axes = complete(context.partial('axis'));
    if (tensor !== null && axes) {
      const positions = axes.map((a) => normalizeAxis(a, tensor.length));
      if (new Set(positions).size !== positions.length)
        throw new InvalidArgumentError(
          `axis ${JSON.stringify(axes)} was specified more than once: name each axis once.`,
        );
    }
    return { output: tensor };
  },
  grad: ({ inputs: { axis } }, { output: dy }) => ({ tensor: reverse(dy, axis) }),
  lower(p, { tensor, axis }) {
    const rank = tensor.shape.length;
    const seen = new Set<number>();
    for (const [i, given] of p.demandInts(axis).entries()) {
      const at = given < 0 ? given + rank : given;
      if (at < 0 || at >= rank)
        throw new InvalidArgumentError(`'axis'[${i}] = ${given} is out of valid range [0, ${rank - 1}`);
      if (seen.has(at)) throw new InvalidArgumentError(`axis ${at} specified more than once.`);
      seen.add(at);
    }
    return { output: p.reverse(tensor, [...seen]) };
  },
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { shape: '[2], [1]', given: { axis: { dtype: 'int32', value: [1] } }, rejects: /out of bounds/ },
    {
      given: {
        tensor: [
          [1, 2],
          [3, 4],
        ],
        axis: { dtype: 'int32', value: [-1] },
      },
      expect: {
        output: [
          [2, 1],
          [4, 3],
        ],
      },
    },
    { given: { tensor: ['a', 'b'], axis: { dtype: 'int64', value: [0] } }, expect: { output: ['b', 'a'] } },
  ],
});

export const Reverse = defineOp({
  name: 'Reverse',
  inputs: { tensor: 'T', dims: 'bool' },
  outputs: { output: 'T' },
  attrs: { T: movable },
  hostInputs: ['dims'],
  shape: ({ tensor }) => ({ output: tensor }),
  grad: ({ inputs: { dims } }, { output: dy }) => ({ tensor: reversedAlong(denseGradient(dy), dims) }),
  lower(p, { tensor, dims }) {
    const flags = p.demand(dims).numbers();
    if (flags.length !== tensor.shape.length)
      throw new InvalidArgumentError(
        `'dims' must have the same number of values as 'input' has dimensions. 'input' has ${tensor.shape.length}'dims' has ${flags.length} values`,
      );
    return {
      output: p.reverse(
        tensor,
        flags.flatMap((f, i) => (f ? [i] : [])),
      ),
    };
  },
  cases: () => [
    { shape: '[2, ?], [2] -> [2, ?]' },
    { given: { tensor: [[1, 2]], dims: [false, true] }, expect: { output: [[2, 1]] } },
  ],
});

function reversedAlong(tensor: Tensor, dims: Tensor): Tensor {
  return Reverse.build({ tensor, dims }).output;
}

export const ReverseSequence = defineOp({
  name: 'ReverseSequence',
  inputs: { input: 'T', seq_lengths: 'Tlen' },
  outputs: { output: 'T' },
  attrs: {
    seq_dim: attr('int'),
    batch_dim: attr('int', { default: 0 }),
    T: anyType,
    Tlen: attr('type', { allowed: [d.int32, d.int64], default: d.int64 }),
  },
  shape({ input, seq_lengths }, { seq_dim, batch_dim }) {
    ofRank(seq_lengths, 1, 'seq_lengths');
    if (input === null) return { output: null };
    if (batch_dim >= input.length)
      throw new InvalidArgumentError(
        `batch_dim must be < input rank: ${batch_dim} vs. ${input.length}: input is ${showShape(input)}`,
      );
    if (seq_dim >= input.length)
      throw new InvalidArgumentError(
        `seq_dim must be < input rank: ${seq_dim} vs. ${input.length}: input is ${showShape(input)}`,
      );
    const batch = mergeDim(
      input[batch_dim]!,
      seq_lengths?.[0] ?? null,
      'the batch size of input and the length of seq_lengths',
    );
    return { output: input.map((n, i) => (i === batch_dim ? batch : n)) };
  },
  grad: ({ inputs: { seq_lengths }, attrs: { seq_dim, batch_dim } }, { output: dy }) => ({
    input: reverseSequence(dy, seq_lengths, { seqAxis: seq_dim, batchAxis: batch_dim }),
  }),
  lower(p, { input, seq_lengths }, { seq_dim, batch_dim }) {
    const { shape } = input;
    if (seq_dim === batch_dim) throw new InvalidArgumentError(`batch_dim == seq_dim == ${seq_dim}`);
    if (seq_lengths.shape.length !== 1 || seq_lengths.shape[0] !== shape[batch_dim])
      throw new InvalidArgumentError(
        `Length of seq_lengths != input.dims(${batch_dim}), (${seq_lengths.shape[0]} vs. ${shape[batch_dim]})`,
      );
    const [batch, time] = [shape[batch_dim]!, shape[seq_dim]!];
    const lengths = p.reshape(p.cast(seq_lengths, d.int64), [batch, 1]);
    p.check(
      p.map([lengths], (n) => lt(n, 0)),
      ({ position }) => new InvalidArgumentError(`seq_lens(${position}) < 0`),
    );
    p.check(
      p.map([lengths], (n) => ge(n, time + 1)),
      ({ position }) => new InvalidArgumentError(`seq_lens(${position}) > input.dims(${seq_dim})`),
    );
    // Within its length a sequence is read from its end; behind it, in place.
    const t = { op: 'index', dtype: d.int64, axis: 1 } as const;
    const source = p.mapAll([lengths], (n) => [select(lt(t, n), sub(sub(n, t), 1), t)], [batch, time])[0]!;
    const rest = shape.flatMap((_, i) => (i === batch_dim || i === seq_dim ? [] : [i]));
    const order = [batch_dim, seq_dim, ...rest];
    const front = p.transpose(input, order);
    const inner = rest.reduce((n, i) => n * shape[i]!, 1);
    const rows = p.gather(p.reshape(front, [batch, 1, time, inner]), p.reshape(source, [batch, time, 1]));
    const back = order.map((_, i) => order.indexOf(i));
    return { output: p.transpose(p.reshape(rows, front.shape), back) };
  },
  cases: () => [
    { shape: '[?, 4], [3] -> [3, 4]', attrs: { seq_dim: 1 } },
    { shape: '[2, 4], [3]', attrs: { seq_dim: 1 }, rejects: /must be equal/ },
    {
      given: {
        input: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        seq_lengths: { dtype: 'int64', value: [2, 3] },
      },
      attrs: { seq_dim: 1 },
      expect: {
        output: [
          [2, 1, 3],
          [6, 5, 4],
        ],
      },
    },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        seq_lengths: { dtype: 'int32', value: [2, 0] },
      },
      attrs: { seq_dim: 0, batch_dim: 1 },
      expect: {
        output: [
          [3, 2],
          [1, 4],
          [5, 6],
        ],
      },
    },
  ],
});

/**
 * Elements in the opposite order along the given axes. Adds one `ReverseV2` node.
 *
 * @example tf.reverse(tf.constant([[1, 2], [3, 4]]), [1]) // runs to [[2 1] [4 3]]
 */
export function reverse(tensor: TensorLike, axis: TensorLike, options: Named = {}): Tensor {
  return ReverseV2.build({ tensor, axis }, options).output;
}

/**
 * Reverses the first `seqLengths[i]` elements along `seqAxis` of entry i of the batch. Adds one `ReverseSequence` node.
 *
 * @example tf.reverseSequence([[1, 2, 3]], [2], { seqAxis: 1 }) // runs to [[2 1 3]]
 */
export function reverseSequence(
  input: TensorLike,
  seqLengths: TensorLike,
  options: Named & { seqAxis: number; batchAxis?: number | undefined },
): Tensor {
  const { seqAxis, batchAxis = 0, name } = onlyOptions('tf.reverseSequence', options, 'seqAxis', 'batchAxis', 'name');
  const attrs = { seq_dim: seqAxis, batch_dim: batchAxis };
  return ReverseSequence.build({ input, seq_lengths: seqLengths }, { name, attrs }).output;
}
