/** @file BiasAdd and its relatives: a vector added along the channel axis. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr, numbers } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { add } from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { onesLike } from '../array/index.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { rank, shape } from '../array/shape.ts';
import { tile } from '../array/tile.ts';
import { matmul } from '../math/matmul.ts';
import { minus } from '../math/operators.ts';
import { reduceSum } from '../math/reductions.ts';
import { relu } from './activations.ts';

const dataFormat = attr('string', { choices: ['NHWC', 'NCHW'], default: 'NHWC' });

const channelAxis = (rank: number, format: string) => (format === 'NCHW' ? 1 : rank - 1);

function biasShape(value: Dims, bias: Dims, format: string): Dims {
  if (bias !== null && bias.length !== 1)
    throw new InvalidArgumentError(`bias is ${showShape(bias)}, but a vector with one entry per channel is needed.`);
  if (value === null) return null;
  if (value.length < 2)
    throw new InvalidArgumentError(`value is ${showShape(value)}, but rank 2 or more is needed: a batch and channels.`);
  const axis = channelAxis(value.length, format);
  const channels = value[axis]!;
  const count = bias?.[0] ?? null;
  if (channels !== null && count !== null && channels !== count)
    throw new InvalidArgumentError(
      `value is ${showShape(value)} and bias is ${showShape(bias)}, so value has ${channels} channels but bias has ${count} entries; they must be equal.`,
    );
  return value.map((n, i) => (i === axis ? (n ?? count) : n));
}

function checkBias(value: Shape, bias: Shape, format: string): void {
  if (value.length < 2) throw new InvalidArgumentError(`Input tensor must be at least 2D: ${showRuntime(value)}`);
  if (bias.length !== 1) throw new InvalidArgumentError(`Biases must be 1D: ${showRuntime(bias)}`);
  if (bias[0] === value[channelAxis(value.length, format)]) return;
  throw new InvalidArgumentError(
    format === 'NCHW'
      ? `Must provide as many biases as the channel dimension of the input tensor: ${showRuntime(bias)} vs. ${value[1]} in ${showRuntime(value)}`
      : `Must provide as many biases as the last dimension of the input tensor: ${showRuntime(bias)} vs. ${showRuntime(value)}`,
  );
}

function lowerBias(p: ProgramBuilder, value: Value, bias: Value, format: string): Value {
  checkBias(value.shape, bias.shape, format);
  const trailing = value.shape.length - 1 - channelAxis(value.shape.length, format);
  const column = p.reshape(bias, [bias.shape[0]!, ...new Array<number>(trailing).fill(1)]);
  return p.map([value, column], (x, b) => add(x!, b!));
}

export const BiasAdd = defineOp({
  name: 'BiasAdd',
  inputs: { value: 'T', bias: 'T' },
  outputs: { output: 'T' },
  attrs: { T: numbers, data_format: dataFormat },
  shape: ({ value, bias }, { data_format }) => ({ output: biasShape(value, bias, data_format) }),
  grad: ({ attrs: { data_format } }, { output: dy }) => ({
    value: dy,
    bias: BiasAddGrad.build({ out_backprop: dy }, { attrs: { data_format } }).output,
  }),
  lower: (p, { value, bias }, { data_format }) => ({ output: lowerBias(p, value, bias, data_format) }),
  cases: () => [
    { shape: '[?, 3], [3] -> [?, 3]' },
    { shape: '[2, ?], [3] -> [2, 3]' },
    { shape: '[2, ?, 5, 5], [3] -> [2, 3, 5, 5]', attrs: { data_format: 'NCHW' } },
    { shape: '?, [3] -> ?' },
    { shape: '[2, 3], [4]', rejects: /value has 3 channels but bias has 4 entries/ },
    {
      given: {
        value: [
          [1, 2],
          [3, 4],
        ],
        bias: [10, 20],
      },
      expect: {
        output: [
          [11, 22],
          [13, 24],
        ],
      },
    },
    {
      given: {
        value: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
        bias: [10, 20],
      },
      attrs: { data_format: 'NCHW' },
      expect: {
        output: [
          [
            [11, 12],
            [23, 24],
          ],
        ],
      },
    },
  ],
});

export const BiasAddGrad = defineOp({
  name: 'BiasAddGrad',
  inputs: { out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs: { T: numbers, data_format: dataFormat },
  shape({ out_backprop }, { data_format }) {
    if (out_backprop === null) return { output: [null] };
    if (out_backprop.length < 2)
      throw new InvalidArgumentError(`out_backprop is ${showShape(out_backprop)}, but rank 2 or more is needed.`);
    return { output: [out_backprop[channelAxis(out_backprop.length, data_format)]!] };
  },
  grad({ inputs, attrs }, { output: dy }) {
    const sizes = shape(inputs.out_backprop);
    const count = shape(dy);
    const parts =
      attrs.data_format === 'NCHW'
        ? {
            ones: () => [onesLike(getItem(sizes, ':1')), count, onesLike(getItem(sizes, '2:'))],
            counts: () => [getItem(sizes, ':1'), [1], getItem(sizes, '2:')],
          }
        : { ones: () => [onesLike(getItem(sizes, ':-1')), count], counts: () => [getItem(sizes, ':-1'), [1]] };
    const expanded = concat(parts.ones(), 0);
    const counts = concat(parts.counts(), 0);
    return { out_backprop: tile(reshape(dy, expanded), counts) };
  },
  lower(p, { out_backprop }, { data_format }) {
    const rank = out_backprop.shape.length;
    if (rank < 2)
      throw new InvalidArgumentError(`Input tensor must be at least 2D: ${showRuntime(out_backprop.shape)}`);
    const channel = channelAxis(rank, data_format);
    const axes = Array.from({ length: rank }, (_, i) => i).filter((i) => i !== channel);
    return { output: p.reduce('sum', out_backprop, axes) };
  },
  cases: () => [
    { shape: '[2, ?, 3] -> [3]' },
    { shape: '[2, ?, 3] -> [?]', attrs: { data_format: 'NCHW' } },
    { shape: '? -> [?]' },
    {
      given: {
        out_backprop: [
          [1, 2],
          [3, 4],
        ],
      },
      expect: { output: [4, 6] },
    },
    {
      given: {
        out_backprop: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
      },
      attrs: { data_format: 'NCHW' },
      expect: { output: [3, 7] },
    },
  ],
});

export const BiasAddV1 = defineOp({
  name: 'BiasAddV1',
  inputs: { value: 'T', bias: 'T' },
  outputs: { output: 'T' },
  attrs: { T: numbers },
  shape: ({ value, bias }) => ({ output: biasShape(value, bias, 'NHWC') }),
  grad: (_, { output: dy }) => ({ value: dy, bias: reduceSum(dy, range(minus(rank(dy), 1))) }),
  lower: (p, { value, bias }) => ({ output: lowerBias(p, value, bias, 'NHWC') }),
  cases: () => [
    { shape: '[?, 3], [3] -> [?, 3]' },
    {
      given: {
        value: [
          [1, 2],
          [3, 4],
        ],
        bias: [10, 20],
      },
      expect: {
        output: [
          [11, 22],
          [13, 24],
        ],
      },
    },
  ],
});

/** The two layouts an op knows, from any of TensorFlow's spellings. */
function layoutOf(format: string | undefined): 'NHWC' | 'NCHW' {
  if (format === undefined || (format.startsWith('N') && format.endsWith('C'))) return 'NHWC';
  if (format.startsWith('NC')) return 'NCHW';
  throw userError(`dataFormat must be of the form 'N...C' or 'NC...', but is '${format}'.`);
}

export interface BiasAddOptions {
  /** `'N...C'` (the default) or `'NC...'`. */
  readonly dataFormat?: string | undefined;
  readonly name?: string | undefined;
}

/**
 * Adds a vector along the channel axis. Adds one `BiasAdd` node.
 *
 * @example tf.nn.biasAdd(tf.constant([[1, 2], [3, 4]]), [10, 20]) // runs to [[11 22] [13 24]]
 */
export function biasAdd(value: TensorLike, bias: TensorLike, options: BiasAddOptions = {}): Tensor {
  onlyOptions('tf.nn.biasAdd', options, 'dataFormat', 'name');
  return nameScope(options.name ?? 'BiasAdd', (name) => {
    const data_format = layoutOf(options.dataFormat?.startsWith('NC') ? 'NCHW' : options.dataFormat);
    const x = convertToTensor(value, { name: 'input' });
    const b = convertToTensor(bias, { dtype: x.dtype, name: 'bias' });
    return BiasAdd.build({ value: x, bias: b }, { name, attrs: { data_format } }).output;
  });
}

/**
 * `x * weights + biases`. Adds a `MatMul` and a `BiasAdd` node under `xw_plus_b`.
 *
 * @example tf.nn.xwPlusB([[1, 2]], [[1], [1]], [10]) // runs to [[13]]
 */
export function xwPlusB(
  x: TensorLike,
  weights: TensorLike,
  biases: TensorLike,
  options: { name?: string } = {},
): Tensor {
  onlyOptions('tf.nn.xwPlusB', options, 'name');
  return nameScope(options.name ?? 'xw_plus_b', (name) => {
    const input = convertToTensor(x, { name: 'x' });
    const w = convertToTensor(weights, { name: 'weights' });
    const b = convertToTensor(biases, { name: 'biases' });
    return biasAdd(matmul(input, w), b, { name });
  });
}

/**
 * `relu(x * weights + biases)`. Adds `MatMul`, `BiasAdd` and `Relu` nodes under `relu_layer`.
 *
 * @example tf.nn.reluLayer([[1, 2]], [[1, -1], [1, -1]], [10, 2]) // runs to [[13 0]]
 */
export function reluLayer(
  x: TensorLike,
  weights: TensorLike,
  biases: TensorLike,
  options: { name?: string } = {},
): Tensor {
  onlyOptions('tf.nn.reluLayer', options, 'name');
  return nameScope(options.name ?? 'relu_layer', (name) => {
    const input = convertToTensor(x, { name: 'x' });
    const w = convertToTensor(weights, { name: 'weights' });
    const b = convertToTensor(biases, { name: 'biases' });
    return relu(biasAdd(matmul(input, w), b), { name });
  });
}
