/** @file Fractional pooling: windows of two sizes in a random order, so that an image shrinks by any ratio. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, type OpError, UnimplementedError } from '../../core/errors.ts';
import { intVector, type NDArray } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined, type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import { Philox } from '../../program/philox.ts';
import type { Value } from '../../program/value.ts';
import { complete, dimsFrom } from '../array/common.ts';
import { seedAttrs } from '../random/distributions.ts';
import { initialState, type Seeds } from '../random/seed.ts';
import { ranked } from './convSizes.ts';
import { image } from './poolCases.ts';
import { uniformDouble } from './rangeSamplers.ts';

const poolable = attr('type', { allowed: [d.float32, d.float64, d.int32, d.int64] });
const attrs = {
  pooling_ratio: attr('list(float)', { minimum: 4 }),
  pseudo_random: attr('bool', { default: false }),
  overlapping: attr('bool', { default: false }),
  deterministic: attr('bool', { default: false }),
  seed: seedAttrs.seed,
  seed2: seedAttrs.seed2,
  T: poolable,
};
const gradAttrs = { overlapping: attr('bool', { default: false }), T: poolable };

interface FractionalAttrs extends Seeds {
  readonly pooling_ratio: readonly number[];
  readonly pseudo_random: boolean;
  readonly overlapping: boolean;
  readonly deterministic: boolean;
}

/** Ratios are float32 numbers, and so is the quotient. */
const pooledSize = (size: number, ratio: number) => Math.floor(Math.fround(size / Math.fround(ratio)));

function fractionalShape(value: Dims, ratios: readonly number[]) {
  const dims = ranked('value', value, 4);
  const output = dims.map((size, axis) => {
    const pooled = size === null ? null : pooledSize(size, ratios[axis]!);
    if (pooled !== null && pooled < 0)
      throw new InvalidArgumentError(`Size computed for dim ${axis} is negative: ${pooled}`);
    return pooled;
  });
  // One entry more than windows, which TensorFlow's own static shapes forget.
  const [rows, columns] = [1, 2].map((axis) => (output[axis] == null ? null : output[axis] + 1));
  return { output, row_pooling_sequence: [rows!], col_pooling_sequence: [columns!] };
}

/** Window sizes for a random place in an even sequence (Graham, "Fractional Max-Pooling", 2014). */
function pseudoRandomSizes(input: number, output: number, random: Philox): number[] {
  const alpha = input / output;
  const k = Math.floor(alpha);
  // Beyond either bound, the first or the last window would be of a third size.
  const bound = Math.min((k + 2) / alpha - 1, (input + 1 - k) / alpha - (output - 1));
  const u = uniformDouble(random) * bound;
  const ends = Array.from({ length: output + 1 }, (_, i) => {
    if (i === 0) return 1;
    return i === output ? input + 1 : Math.ceil(alpha * (i + u));
  });
  return ends.slice(1).map((end, i) => end - ends[i]!);
}

/** Window sizes in random order. */
function randomSizes(input: number, output: number, random: Philox): number[] {
  const k = Math.floor(input / output);
  const sizes = Array.from({ length: output }, (_, i) => (i < input % output ? k + 1 : k));
  for (let i = 0; i < output - 1; i++) {
    const j = i + (random.next() % (output - i));
    [sizes[i], sizes[j]] = [sizes[j]!, sizes[i]!];
  }
  return sizes;
}

/** Where windows begin along both axes, and where the last ones end. */
function sequences(state: DataView, input: Shape, output: Shape, pseudoRandom: boolean): NDArray[] {
  let block = 0;
  return [1, 2].map((axis) => {
    const random = new Philox(state, 0);
    random.seek(block);
    const make = pseudoRandom ? pseudoRandomSizes : randomSizes;
    const sizes = make(input[axis]!, output[axis]!, random);
    // What the generator is moved on by does not depend on how much was drawn.
    block += pseudoRandom ? 1 : Math.ceil(sizes.length / 4);
    const ends = [0];
    for (const size of sizes) ends.push(ends.at(-1)! + size);
    return intVector(ends, d.int64);
  });
}

const dataView = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function lowerSequences(p: ProgramBuilder, input: Shape, output: Shape, given: FractionalAttrs): readonly Value[] {
  const results = [1, 2].map((axis) => ({ dtype: d.int64, shape: [output[axis]! + 1] }));
  const draw = (state: Uint8Array) => sequences(dataView(state), input, output, given.pseudo_random);
  // Every run begins with the same state; without seeds it is chosen once.
  const fixed = given.deterministic ? initialState(given) : undefined;
  return p.host([], results, () => draw(fixed ?? initialState({ seed: 0, seed2: 0 })));
}

/** The bounds of windows, from where they begin. Overlapping ones share their last row with the next. */
function spansOf(p: ProgramBuilder, sequence: Value, overlapping: boolean): Value {
  const count = sequence.shape[0]! - 1;
  const [begins, ends] = [0, 1].map((from) => p.reshape(p.slice(sequence, [from], [count]), [count, 1]));
  return p.concat([begins!, overlapping ? p.map([ends!], (x) => e.add(x!, 1)) : ends!], 1);
}

function lowerPool(p: ProgramBuilder, op: 'max' | 'mean', what: string, value: Value, given: FractionalAttrs) {
  const { pooling_ratio: ratios, deterministic, seed, seed2, overlapping } = given;
  const tooSmall = ratios.find((ratio) => !(ratio >= 1));
  if (tooSmall !== undefined)
    throw new InvalidArgumentError(`pooling_ratio cannot be smaller than 1, got: ${tooSmall}`);
  if (ratios.length !== 4) throw new InvalidArgumentError('pooling_ratio field must specify 4 dimensions');
  if (ratios[0] !== 1 || ratios[3] !== 1)
    throw new UnimplementedError(`Fractional ${what} pooling is not yet supported on the batch nor channel dimension.`);
  if (!deterministic && (seed !== 0 || seed2 !== 0))
    throw new InvalidArgumentError('Both seed and seed2 should be 0 if deterministic is false.');
  const { shape } = value;
  if (shape.length !== 4) throw new InvalidArgumentError('tensor_in must be 4-dimensional');
  for (const [axis, size] of shape.entries())
    if (size < Math.fround(ratios[axis]!))
      throw new InvalidArgumentError(
        `Pooling ratio is higher than input dimension size for dimension ${axis}. Input dim size: ${size} pooling ratio: ${ratios[axis]}`,
      );
  const pooled = shape.map((size, axis) => pooledSize(size, ratios[axis]!));
  const [rows, columns] = lowerSequences(p, shape, pooled, given) as [Value, Value]; // one for each axis
  const spans = [rows, columns].map((sequence) => spansOf(p, sequence, overlapping));
  const output = p.window(op, [value], spans, pooled);
  return { output, row_pooling_sequence: rows, col_pooling_sequence: columns };
}

const square = { pooling_ratio: [1, 1.5, 1.3, 1], deterministic: true, seed: 3, seed2: 8 };

export const FractionalMaxPool = defineOp({
  name: 'FractionalMaxPool',
  inputs: { value: 'T' },
  outputs: { output: 'T', row_pooling_sequence: 'int64', col_pooling_sequence: 'int64' },
  attrs,
  shape: ({ value }, { pooling_ratio }) => fractionalShape(value, pooling_ratio),
  grad({ inputs: { value }, outputs, attrs: { overlapping } }, dy) {
    const inputs = {
      orig_input: value,
      orig_output: outputs.output,
      out_backprop: dy.output,
      row_pooling_sequence: outputs.row_pooling_sequence,
      col_pooling_sequence: outputs.col_pooling_sequence,
    };
    return { value: FractionalMaxPoolGrad.build(inputs, { attrs: { overlapping } }).output };
  },
  lower: (p, { value }, given) => lowerPool(p, 'max', 'max', value, given),
  cases: () => [
    { shape: '[2, 10, ?, 3] -> [2, 6, ?, 3], [7], [?]', attrs: square },
    { given: { value: image([1, 7, 8, 2]) }, attrs: square, differentiable: 'once' },
    { given: { value: image([2, 5, 7, 1]) }, attrs: { ...square, overlapping: true }, differentiable: 'once' },
    { given: { value: image([1, 9, 11, 1]) }, attrs: { ...square, pseudo_random: true }, differentiable: 'once' },
    {
      given: { value: image([1, 6, 6, 1]) },
      attrs: { ...square, pooling_ratio: [1, 2, 3, 1], pseudo_random: true, overlapping: true },
      differentiable: 'once',
    },
    {
      given: { value: image([1, 1, 3, 1]) },
      attrs: square,
      fails: /Pooling ratio is higher than input dimension size for dimension 1/,
    },
    {
      given: { value: image([1, 2, 3, 1]) },
      attrs: { pooling_ratio: [1, 0.5, 1, 1] },
      fails: /pooling_ratio cannot be smaller than 1/,
    },
    {
      given: { value: image([1, 2, 3, 2]) },
      attrs: { pooling_ratio: [1, 1, 1, 2] },
      fails: /max pooling is not yet supported on the batch nor channel dimension/,
    },
    {
      given: { value: image([1, 2, 3, 2]) },
      attrs: { pooling_ratio: [1, 1, 1, 1], seed: 1 },
      fails: /Both seed and seed2 should be 0 if deterministic is false/,
    },
  ],
});

export const FractionalAvgPool = defineOp({
  name: 'FractionalAvgPool',
  inputs: { value: 'T' },
  outputs: { output: 'T', row_pooling_sequence: 'int64', col_pooling_sequence: 'int64' },
  attrs,
  shape: ({ value }, { pooling_ratio }) => fractionalShape(value, pooling_ratio),
  grad({ inputs: { value }, outputs, attrs: { overlapping } }, dy) {
    if (!isFullyDefined(value.shape))
      throw new InvalidArgumentError(
        'the gradient of FractionalAvgPool needs the whole shape of its input while building, as in TensorFlow. Give it with setShape.',
      );
    const inputs = {
      orig_input_tensor_shape: intVector(value.shape, d.int64),
      out_backprop: dy.output,
      row_pooling_sequence: outputs.row_pooling_sequence,
      col_pooling_sequence: outputs.col_pooling_sequence,
    };
    return { value: FractionalAvgPoolGrad.build(inputs, { attrs: { overlapping } }).output };
  },
  lower: (p, { value }, given) => lowerPool(p, 'mean', 'average', value, given),
  cases: () => [
    { shape: '[2, 10, ?, 3] -> [2, 6, ?, 3], [7], [?]', attrs: square },
    { given: { value: image([1, 7, 8, 2]) }, attrs: square, differentiable: 'once' },
    { given: { value: image([2, 5, 7, 1]) }, attrs: { ...square, overlapping: true }, differentiable: 'once' },
    { given: { value: image([1, 9, 11, 1]) }, attrs: { ...square, pseudo_random: true }, differentiable: 'once' },
    {
      given: { value: image([1, 2, 3, 2]) },
      attrs: { pooling_ratio: [1, 1, 1, 2] },
      fails: /average pooling is not yet supported on the batch nor channel dimension/,
    },
  ],
});

/** Sequences have one entry more than there are windows. */
function checkSequence(name: string, sequence: Value, windows: number): void {
  if (sequence.shape.length !== 1)
    throw new InvalidArgumentError(`${name} must be a vector, received shape ${showRuntime(sequence.shape)}`);
  if (sequence.shape[0] !== windows + 1)
    throw new InvalidArgumentError(
      `${name} has ${sequence.shape[0]} elements, but must have ${windows + 1} for ${windows} windows`,
    );
}

export const FractionalMaxPoolGrad = defineOp({
  name: 'FractionalMaxPoolGrad',
  inputs: {
    orig_input: 'T',
    orig_output: 'T',
    out_backprop: 'T',
    row_pooling_sequence: 'int64',
    col_pooling_sequence: 'int64',
  },
  outputs: { output: 'T' },
  attrs: gradAttrs,
  shape: ({ orig_input }) => ({ output: ranked('orig_input', orig_input, 4) }),
  grad: gradientPending('TensorFlow has none either'),
  lower(p, inputs, { overlapping }) {
    const { orig_input, orig_output, out_backprop, row_pooling_sequence: rows, col_pooling_sequence: columns } = inputs;
    for (const [name, { shape }] of Object.entries({ orig_input, orig_output })) {
      if (shape.length !== 4)
        throw new InvalidArgumentError(`${name} should be a tensor of rank 4, got ${showRuntime(shape)}`);
      if (sizeOf(shape) === 0) throw new InvalidArgumentError(`${name} must not be empty, got ${showRuntime(shape)}`);
    }
    const [batch, height, width, depth] = orig_output.shape as [number, number, number, number]; // rank checked
    if (sizeOf(rows.shape) * sizeOf(columns.shape) > sizeOf(orig_input.shape))
      throw new InvalidArgumentError('Pooling region has more elements than the input tensor.');
    checkSequence('row_pooling_sequence', rows, height);
    checkSequence('col_pooling_sequence', columns, width);
    if (batch !== orig_input.shape[0] || depth !== orig_input.shape[3])
      throw new InvalidArgumentError('orig_input and orig_output must have the same batch and depth');
    if (showRuntime(out_backprop.shape) !== showRuntime(orig_output.shape))
      throw new InvalidArgumentError('out_backprop and orig_output must have the same shape');
    const spans = [rows, columns].map((sequence) => spansOf(p, sequence, overlapping));
    const again = p.window('max', [orig_input], spans, orig_output.shape);
    p.check(
      p.map([again, orig_output], (x, y) => e.ne(x!, y!)),
      () => new InvalidArgumentError('tensor_out_dup is not the same as tensor_out'),
    );
    return { output: p.window('maxGradient', [orig_input, out_backprop], spans, orig_input.shape) };
  },
  cases: () => [
    { shape: '[?, 4, 5, 1], ?, ?, [?], [?] -> [?, 4, 5, 1]' },
    {
      given: {
        orig_input: [
          [
            [[1], [5], [3]],
            [[4], [2], [6]],
            [[0], [7], [5]],
          ],
        ],
        orig_output: [
          [
            [[5], [6]],
            [[7], [5]],
          ],
        ],
        out_backprop: image([1, 2, 2, 1]),
        row_pooling_sequence: { dtype: 'int64', value: [0, 2, 3] },
        col_pooling_sequence: { dtype: 'int64', value: [0, 2, 3] },
      },
    },
    {
      given: {
        orig_input: [
          [
            [[1], [5], [3]],
            [[4], [2], [6]],
            [[0], [7], [5]],
          ],
        ],
        orig_output: [
          [
            [[7], [7]],
            [[7], [7]],
          ],
        ],
        out_backprop: image([1, 2, 2, 1]),
        row_pooling_sequence: { dtype: 'int64', value: [0, 2, 3] },
        col_pooling_sequence: { dtype: 'int64', value: [0, 1, 3] },
      },
      attrs: { overlapping: true },
    },
    {
      given: {
        orig_input: image([1, 3, 3, 1]),
        orig_output: image([1, 2, 2, 1]),
        out_backprop: image([1, 2, 2, 1]),
        row_pooling_sequence: { dtype: 'int64', value: [0, 2, 3] },
        col_pooling_sequence: { dtype: 'int64', value: [0, 1, 3] },
      },
      fails: /tensor_out_dup is not the same as tensor_out/,
    },
    {
      given: {
        orig_input: image([1, 3, 3, 1]),
        orig_output: image([1, 2, 2, 1]),
        out_backprop: image([1, 2, 2, 1]),
        row_pooling_sequence: { dtype: 'int64', value: [[0, 2, 3]] },
        col_pooling_sequence: { dtype: 'int64', value: [0, 1, 3] },
      },
      fails: /must be a vector/,
    },
  ],
});

/** Fails where windows would begin or end before the image. */
function refuseNegative(p: ProgramBuilder, spans: Value, error: () => OpError): void {
  p.check(
    p.map([spans], (x) => e.lt(x!, 0)),
    error,
  );
}

export const FractionalAvgPoolGrad = defineOp({
  name: 'FractionalAvgPoolGrad',
  inputs: {
    orig_input_tensor_shape: 'int64',
    out_backprop: 'T',
    row_pooling_sequence: 'int64',
    col_pooling_sequence: 'int64',
  },
  outputs: { output: 'T' },
  attrs: gradAttrs,
  hostInputs: ['orig_input_tensor_shape'],
  shape(_, __, context) {
    const known = complete(context.partial('orig_input_tensor_shape'));
    return { output: ranked('orig_input_tensor_shape', dimsFrom(known), 4) };
  },
  grad: gradientPending('TensorFlow has none either'),
  lower(p, inputs, { overlapping, T }) {
    const { orig_input_tensor_shape, out_backprop, row_pooling_sequence: rows, col_pooling_sequence: columns } = inputs;
    if (orig_input_tensor_shape.shape.length !== 1 || orig_input_tensor_shape.shape[0] !== 4)
      throw new InvalidArgumentError('original input tensor shape must be1-dimensional and 4 elements');
    const { shape } = out_backprop;
    if (shape.length !== 4) throw new InvalidArgumentError('out_backprop must be 4-dimensional');
    const empty = shape.find((size) => size === 0);
    if (empty !== undefined)
      throw new InvalidArgumentError(`out_backprop must be positive for all dimension, got:${empty}`);
    for (const [name, sequence, count] of [['row', rows, shape[1]!] as const, ['col', columns, shape[2]!] as const])
      if (sizeOf(sequence.shape) <= count)
        throw new InvalidArgumentError(
          `Given out_backprop shape ${showRuntime(shape)}, ${name}_seq_tensor must have at least ${count + 1} elements, but got ${sizeOf(sequence.shape)}`,
        );
    const image = p.demandInts(orig_input_tensor_shape);
    for (const [axis, name] of ['Batch', 'Rows', 'Columns', 'Depth'].entries())
      if (image[axis]! <= 0) throw new InvalidArgumentError(`${name} dimension of input must not be 0`);
    const differ = image[0] !== shape[0] || image[3] !== shape[3];
    const spans = [rows, columns].map((sequence, axis) => {
      const count = shape[axis + 1]! + 1;
      return spansOf(p, p.slice(p.reshape(sequence, [sizeOf(sequence.shape)]), [0], [count]), overlapping);
    });
    refuseNegative(p, spans[0]!, () => new InvalidArgumentError('Row sequence tensor values must not be negative'));
    refuseNegative(p, spans[1]!, () => new InvalidArgumentError('Column sequence tensor values must not be negative'));
    // TensorFlow looks at the sequences first.
    if (differ)
      return {
        output: p.host(spans, [{ dtype: T, shape: image }], () => {
          throw new InvalidArgumentError(
            `out_backprop is ${showRuntime(shape)}, but its batch and depth must be those of the input, ${showRuntime(image)}`,
          );
        })[0]!,
      };
    // Shares of integers are added up before they are cut off.
    const wide = T.isInteger ? d.float64 : T;
    return { output: p.cast(p.window('meanGradient', [p.cast(out_backprop, wide)], spans, image), T) };
  },
  cases: () => [
    {
      shape: '[4], ?, [?], [?] -> [1, 4, 5, 1]',
      given: { orig_input_tensor_shape: { dtype: 'int64', value: [1, 4, 5, 1] } },
    },
    {
      given: {
        orig_input_tensor_shape: { dtype: 'int64', value: [2, 4, 5, 2] },
        out_backprop: image([2, 2, 2, 2]),
        row_pooling_sequence: { dtype: 'int64', value: [0, 2, 4] },
        col_pooling_sequence: { dtype: 'int64', value: [0, 3, 5] },
      },
    },
    {
      given: {
        orig_input_tensor_shape: { dtype: 'int64', value: [1, 4, 5, 1] },
        out_backprop: image([1, 2, 2, 1]),
        row_pooling_sequence: { dtype: 'int64', value: [0, 2, 4] },
        col_pooling_sequence: { dtype: 'int64', value: [0, 3, 5] },
      },
      attrs: { overlapping: true },
    },
    {
      given: {
        orig_input_tensor_shape: { dtype: 'int64', value: [1, 4, 5, 1] },
        out_backprop: image([1, 2, 2, 1]),
        row_pooling_sequence: { dtype: 'int64', value: [-10, 2, 4] },
        col_pooling_sequence: { dtype: 'int64', value: [0, 3, 5] },
      },
      fails: /Row sequence tensor values must not be negative/,
    },
  ],
});
