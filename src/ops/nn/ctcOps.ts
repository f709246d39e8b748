/** @file The CTC ops: the loss with its gradient, and two decoders. */
import * as d from '../../core/dtypes.ts';
import { FailedPreconditionError, InvalidArgumentError } from '../../core/errors.ts';
import { inTurns, type Work } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
import { intVector, NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { mergeDim, ofRank } from '../array/common.ts';
import { expandDims } from '../array/expandDims.ts';
import { preventGradient } from '../array/identity.ts';
import { times } from '../math/operators.ts';
import { beamSearch, type CtcForm, ctcLossOf, withBlanks } from './ctcAlgorithms.ts';

const realTypes = attr('type', { allowed: [d.float32, d.float64], default: d.float32 });
const lossAttrs = {
  preprocess_collapse_repeated: attr('bool', { default: false }),
  ctc_merge_repeated: attr('bool', { default: true }),
  ignore_longer_outputs_than_inputs: attr('bool', { default: false }),
};

interface LossInputs<X> {
  readonly inputs: X;
  readonly labels_indices: X;
  readonly labels_values: X;
  readonly sequence_length: X;
}
interface LossAttrs {
  readonly preprocess_collapse_repeated: boolean;
  readonly ctc_merge_repeated: boolean;
  readonly ignore_longer_outputs_than_inputs: boolean;
}

/** Steps, examples and classes; the examples are also counted by the lengths. */
function sequenceDims(inputs: Dims, sequenceLength: Dims): readonly (number | null)[] {
  const [time, batch, classes] = ofRank(inputs, 3, 'inputs');
  const [count] = ofRank(sequenceLength, 1, 'sequence_length');
  return [time!, mergeDim(batch!, count!, 'batch sizes of inputs and sequence_length'), classes!];
}

function lossShape(ports: LossInputs<Dims>) {
  const dims = sequenceDims(ports.inputs, ports.sequence_length);
  const [rows] = ofRank(ports.labels_indices, 2, 'labels_indices');
  const [values] = ofRank(ports.labels_values, 1, 'labels_values');
  mergeDim(rows!, values!, 'rows of labels_indices and labels_values');
  return { loss: [dims[1]!], gradient: dims };
}

function lossGrad(gradient: Tensor, dLoss: Gradient): Tensor {
  const message =
    "Currently there is no way to take the second  derivative of ctc_loss due to the fused implementation's interaction  with tf.gradients()";
  const own = preventGradient(gradient, { message });
  return times(expandDims(dLoss, -1), own);
}

function checkLossShapes({ inputs, labels_indices, labels_values, sequence_length }: LossInputs<Value>): void {
  const refuse = (condition: boolean, message: string) => {
    if (condition) throw new InvalidArgumentError(message);
  };
  const [indices, values] = [labels_indices.shape, labels_values.shape];
  refuse(inputs.shape.length !== 3, 'inputs is not a 3-Tensor');
  refuse(sequence_length.shape.length !== 1, 'sequence_length is not a vector');
  refuse(indices.length !== 2, 'labels_indices is not a matrix');
  refuse(indices[1]! <= 1, `labels_indices second dimension must be >= 1. Received ${indices[1]}`);
  refuse(values.length !== 1, 'labels_values is not a vector');
  const [time, batch] = inputs.shape;
  refuse(time === 0, 'Max time or first dimension of input cannot be 0.');
  refuse(
    batch !== sequence_length.shape[0],
    `len(sequence_length) != batch_size.  len(sequence_length):  ${sequence_length.shape[0]} batch_size: ${batch}`,
  );
  refuse(
    indices[0] !== values[0],
    `labels_indices and labels_values must contain the same number of rows, but saw shapes: ${showRuntime(indices)} vs. ${showRuntime(values)}`,
  );
  refuse(batch === 0, 'batch_size must not be 0');
}

/** The labels of every example, from the positions and values of a sparse matrix. */
function labelsByExample(indices: NDArray, values: NDArray, batch: number): number[][] {
  const places = indices.numbers();
  const width = indices.shape[1]!;
  const longest = places.reduce((most, place, i) => (i % width === 1 ? Math.max(most, place + 1) : most), 0);
  const labels = Array.from({ length: batch }, (): number[] => []);
  let before = [-1, -1];
  for (const [i, value] of values.numbers().entries()) {
    const place = places.slice(i * width, i * width + 2);
    const [example, position] = place as [number, number]; // at least two columns
    const refuse = (what: string) => {
      throw new InvalidArgumentError(`label SparseTensor is not valid: indices[${i}] = [${place}] ${what}`);
    };
    if (example < 0 || example >= batch || position < 0)
      refuse(`is out of bounds: need 0 <= index < [${batch},${longest}]`);
    if (example < before[0]! || (example === before[0] && position < before[1]!))
      refuse(
        'is out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create a correctly ordered copy.',
      );
    if (example === before[0] && position === before[1]) refuse('is repeated');
    before = place;
    labels[example]!.push(value);
  }
  return labels;
}

/** Lets other work of the process go on when one example after the other took long. */
async function eachInTurn(count: number, visit: (i: number) => void): Promise<void> {
  let begun = performance.now();
  for (let i = 0; i < count; i++) {
    visit(i);
    if (performance.now() - begun < 5) continue;
    await new Promise((resolve) => setImmediate(resolve));
    begun = performance.now();
  }
}

function lowerLoss(p: ProgramBuilder, ports: LossInputs<Value>, attrs: LossAttrs, blankFirst: boolean) {
  checkLossShapes(ports);
  const { inputs, labels_indices, labels_values, sequence_length } = ports;
  const [time, batch, classes] = inputs.shape as [number, number, number]; // rank checked
  const form: CtcForm = {
    blank: blankFirst ? 0 : classes - 1,
    classes,
    collapseRepeated: attrs.preprocess_collapse_repeated,
    mergeRepeated: attrs.ctc_merge_repeated,
    ignoreLonger: attrs.ignore_longer_outputs_than_inputs,
  };
  const { dtype } = inputs;
  const results = [
    { dtype, shape: [batch] },
    { dtype, shape: inputs.shape },
  ];
  const given = [inputs, labels_indices, labels_values, sequence_length];
  const [loss, gradient] = p.host(given, results, async (arrays) => {
    const [logits, indices, values, lengths] = arrays as [NDArray, NDArray, NDArray, NDArray]; // as many as given
    const labels = labelsByExample(indices, values, batch);
    const steps = lengths.numbers();
    for (const [b, length] of steps.entries()) {
      if (length > time) throw new InvalidArgumentError(`sequence_length(${b}) <= ${time}`);
      if (length < 0) throw new InvalidArgumentError(`seq_len(${b}) < 0`);
    }
    const blanked = labels.map((list, b) => withBlanks(list, steps[b]!, form, b));
    const [losses, gradients] = [dtype.allocate(batch), dtype.allocate(time * batch * classes)];
    const x = logits.data;
    await eachInTurn(batch, (b) => {
      const length = steps[b]!;
      if (length === 0 || (form.ignoreLonger && labels[b]!.length > length)) return;
      const at = (t: number, c: number) => (t * batch + b) * classes + c;
      const result = ctcLossOf(blanked[b]!, (t, c) => x[at(t, c)] as number, length, form); // floats are numbers
      losses[b] = result.loss;
      for (let t = 0; t < length; t++)
        for (let c = 0; c < classes; c++) gradients[at(t, c)] = result.gradient[t * classes + c]!;
    });
    return [new NDArray(dtype, [batch], losses), new NDArray(dtype, [time, batch, classes], gradients)];
  });
  return { loss: loss!, gradient: gradient! };
}

const lossPorts = { labels_indices: 'int64', labels_values: 'int32', sequence_length: 'int32' } as const;

export const CTCLoss = defineOp({
  name: 'CTCLoss',
  inputs: { inputs: 'T', ...lossPorts },
  outputs: { loss: 'T', gradient: 'T' },
  attrs: { ...lossAttrs, T: realTypes },
  shape: lossShape,
  grad: ({ outputs: { gradient } }, dy) => ({ inputs: lossGrad(gradient, dy.loss) }),
  lower: (p, ports, attrs) => lowerLoss(p, ports, attrs, false),
  cases: () => lossCases(),
});

export const CTCLossV2 = defineOp({
  name: 'CTCLossV2',
  inputs: { inputs: 'float32', ...lossPorts },
  outputs: { loss: 'float32', gradient: 'float32' },
  attrs: lossAttrs,
  shape: lossShape,
  grad: ({ outputs: { gradient } }, dy) => ({ inputs: lossGrad(gradient, dy.loss) }),
  // Class 0 is the blank, where the older op has it last.
  lower: (p, ports, attrs) => lowerLoss(p, ports, attrs, true),
  cases: () => [
    { shape: '[5, ?, 4], [?, 2], [3], [2] -> [2], [5, 2, 4]' },
    {
      given: {
        inputs: logits(3, 1, 3),
        labels_indices: {
          dtype: 'int64',
          value: [
            [0, 0],
            [0, 1],
          ],
        },
        labels_values: { dtype: 'int32', value: [1, 2] },
        sequence_length: { dtype: 'int32', value: [3] },
      },
      differentiable: 'once',
      gradientOf: ['loss'],
    },
  ],
});

/** Logits of no particular form. */
function logits(time: number, batch: number, classes: number) {
  const at = (i: number) => (((i * 37 + 11) % 29) - 14) / 10;
  return Array.from({ length: time }, (_, t) =>
    Array.from({ length: batch }, (_, b) =>
      Array.from({ length: classes }, (_, c) => at((t * batch + b) * classes + c)),
    ),
  );
}

function lossCases() {
  const int64 = (value: number[][]) => ({ dtype: 'int64' as const, value });
  const int32 = (value: number[]) => ({ dtype: 'int32' as const, value });
  const two = {
    inputs: logits(5, 2, 4),
    labels_indices: int64([
      [0, 0],
      [0, 1],
      [0, 2],
      [1, 0],
    ]),
    labels_values: int32([0, 0, 2, 1]),
    sequence_length: int32([5, 3]),
  };
  const rest = { differentiable: 'once' as const, gradientOf: ['loss' as const] };
  return [
    { shape: '[5, ?, 4], [?, 2], [3], [2] -> [2], [5, 2, 4]' },
    { shape: '?, ?, ?, ? -> [?], [?, ?, ?]' },
    { shape: '[5, 3, 4], ?, ?, [2]', rejects: /batch sizes of inputs and sequence_length: 3 and 2/ },
    { given: two, ...rest },
    { given: two, attrs: { preprocess_collapse_repeated: true }, ...rest },
    { given: two, attrs: { ctc_merge_repeated: false }, ...rest },
    {
      given: { ...two, sequence_length: int32([2, 0]) },
      attrs: { ignore_longer_outputs_than_inputs: true },
      ...rest,
    },
    // A label that is not below the blank ends its sequence.
    { given: { ...two, labels_values: int32([0, 1, 3, 1]) }, ...rest },
    { given: { ...two, sequence_length: int32([2, 3]) }, fails: /Not enough time for target transition sequence/ },
    { given: { ...two, sequence_length: int32([5, 6]) }, fails: /sequence_length\(1\) <= 5/ },
    { given: { ...two, sequence_length: int32([5, -1]) }, fails: /seq_len\(1\) < 0/ },
    { given: { ...two, labels_values: int32([0, 3, 2, 1]) }, fails: /Saw a non-null label/ },
    { given: { ...two, labels_values: int32([0, -1, 2, 1]) }, fails: /All labels must be nonnegative integers/ },
    {
      given: {
        ...two,
        labels_indices: int64([
          [0, 0],
          [0, 2],
          [0, 1],
          [1, 0],
        ]),
      },
      fails: /is out of order/,
    },
    {
      given: {
        ...two,
        labels_indices: int64([
          [0, 0],
          [0, 1],
          [0, 2],
          [7, 0],
        ]),
      },
      fails: /is out of bounds/,
    },
    {
      given: {
        ...two,
        labels_indices: int64([
          [0, 0],
          [0, 1],
          [0, 2],
          [0, 3],
        ]),
      },
      fails: /Labels length is zero in batch 1/,
    },
  ];
}

const decoderInputs = { inputs: 'T', sequence_length: 'int32' } as const;

function checkDecoder(inputs: Shape, lengths: Shape): void {
  if (inputs.length !== 3) throw new InvalidArgumentError('inputs is not a 3-Tensor');
  if (sizeOf(inputs) === 0) throw new InvalidArgumentError('inputs must not be empty');
  if (lengths.length !== 1) throw new InvalidArgumentError('sequence_length is not a vector');
  if (inputs[1] !== lengths[0])
    throw new FailedPreconditionError(
      `len(sequence_length) != batch_size.  len(sequence_length):  ${lengths[0]} batch_size: ${inputs[1]}`,
    );
}

function checkedLengths(lengths: NDArray, time: number): number[] {
  const steps = lengths.numbers();
  for (const [b, length] of steps.entries())
    if (length > time) throw new FailedPreconditionError(`sequence_length(${b}) <= ${time}`);
  return steps;
}

/** After so many labels it is asked whether the event loop has waited long enough. */
const labelsPerTurn = 4096;

/** Sequences as the three parts of a sparse matrix. */
function* sparseParts(
  sequences: readonly (readonly number[])[],
): Work<[indices: NDArray, values: NDArray, shape: NDArray]> {
  const count = sequences.reduce((sum, labels) => sum + labels.length, 0);
  const longest = sequences.reduce((most, labels) => Math.max(most, labels.length), 0);
  const [indices, values] = [new Int64s(2 * count), new Int64s(count)];
  let at = 0;
  for (const [b, labels] of sequences.entries())
    for (const [i, label] of labels.entries()) {
      indices.set(2 * at, b);
      indices.set(2 * at + 1, i);
      values.set(at++, label);
      if (at % labelsPerTurn === 0) yield;
    }
  return [
    new NDArray(d.int64, [count, 2], indices.data),
    new NDArray(d.int64, [count], values.data),
    intVector([sequences.length, longest], d.int64),
  ];
}

export const CTCGreedyDecoder = defineOp({
  name: 'CTCGreedyDecoder',
  inputs: decoderInputs,
  outputs: { decoded_indices: 'int64', decoded_values: 'int64', decoded_shape: 'int64', log_probability: 'T' },
  attrs: {
    merge_repeated: attr('bool', { default: false }),
    blank_index: attr('int', { default: -1 }),
    T: realTypes,
  },
  shape({ inputs, sequence_length }) {
    const [, batch] = sequenceDims(inputs, sequence_length);
    return { decoded_indices: [null, 2], decoded_values: [null], decoded_shape: [2], log_probability: [batch!, 1] };
  },
  grad: notDifferentiable,
  lower(p, { inputs, sequence_length }, { merge_repeated, blank_index, T }) {
    const whole = { dtype: d.int64 };
    const results = [whole, whole, { dtype: d.int64, shape: [2] }, { dtype: T }];
    const decoded = p.host(
      [inputs, sequence_length],
      results,
      async ([x, lengths]) => {
        checkDecoder(x!.shape, lengths!.shape);
        const [time, batch, classes] = x!.shape as [number, number, number]; // rank checked
        const steps = checkedLengths(lengths!, time);
        const blank = blank_index < 0 ? classes + blank_index : blank_index;
        if (blank < 0 || blank >= classes)
          throw new InvalidArgumentError(
            `blank_index expected to be between ${-classes} and ${classes - 1} but was ${blank_index}`,
          );
        const scores = T.allocate(batch);
        const { data } = x!;
        const decode = function* (): Work<number[][]> {
          const sequences: number[][] = [];
          for (const [b, length] of steps.entries()) {
            const labels: number[] = [];
            let before = -1;
            for (let t = 0; t < length; t++) {
              const first = (t * batch + b) * classes;
              let best = 0;
              for (let c = 1; c < classes; c++) if (data[first + c]! > data[first + best]!) best = c;
              scores[b] = (scores[b] as number) - (data[first + best] as number); // floats are numbers
              if (best !== blank && !(merge_repeated && best === before)) labels.push(best);
              before = best;
              if (t % stepsPerTurn === 0) yield;
            }
            sequences.push(labels);
          }
          return sequences;
        };
        const stepsPerTurn = Math.max(1, Math.floor(32768 / classes));
        const sequences = await inTurns(decode());
        return [...(await inTurns(sparseParts(sequences))), new NDArray(T, [batch, 1], scores)];
      },
      { borrows: true },
    );
    const [decoded_indices, decoded_values, decoded_shape, log_probability] = decoded as [Value, Value, Value, Value]; // four results
    return { decoded_indices, decoded_values, decoded_shape, log_probability };
  },
  cases: () => [
    { shape: '[5, ?, 4], [2] -> [?, 2], [?], [2], [2, 1]' },
    { given: { inputs: logits(6, 3, 4), sequence_length: { dtype: 'int32', value: [6, 2, 0] } } },
    {
      given: { inputs: logits(6, 2, 3), sequence_length: { dtype: 'int32', value: [6, 5] } },
      attrs: { merge_repeated: true, blank_index: 0 },
    },
    {
      given: { inputs: logits(2, 1, 3), sequence_length: { dtype: 'int32', value: [1] } },
      attrs: { blank_index: 3 },
      fails: /blank_index expected to be between -3 and 2 but was 3/,
    },
    {
      given: { inputs: logits(2, 1, 3), sequence_length: { dtype: 'int32', value: [3] } },
      fails: /sequence_length\(0\) <= 2/,
    },
    {
      given: {
        inputs: { dtype: 'float32', value: [], shape: [0, 1, 3] },
        sequence_length: { dtype: 'int32', value: [0] },
      },
      fails: /inputs must not be empty/,
    },
  ],
});

export const CTCBeamSearchDecoder = defineOp({
  name: 'CTCBeamSearchDecoder',
  inputs: decoderInputs,
  outputs: {
    decoded_indices: 'top_paths * int64',
    decoded_values: 'top_paths * int64',
    decoded_shape: 'top_paths * int64',
    log_probability: 'T',
  },
  attrs: {
    beam_width: attr('int', { minimum: 1 }),
    top_paths: attr('int', { minimum: 1 }),
    merge_repeated: attr('bool', { default: true }),
    T: realTypes,
  },
  shape({ inputs, sequence_length }, { top_paths }) {
    const [, batch] = sequenceDims(inputs, sequence_length);
    const each = (dims: Dims): Dims[] => new Array<Dims>(top_paths).fill(dims);
    return {
      decoded_indices: each([null, 2]),
      decoded_values: each([null]),
      decoded_shape: each([2]),
      log_probability: [batch!, top_paths],
    };
  },
  grad: notDifferentiable,
  lower(p, { inputs, sequence_length }, { beam_width, top_paths, merge_repeated, T }) {
    const parts = Array.from({ length: 3 * top_paths }, () => ({ dtype: d.int64 }));
    const decoded = p.host(
      [inputs, sequence_length],
      [...parts, { dtype: T }],
      async ([x, lengths]) => {
        checkDecoder(x!.shape, lengths!.shape);
        const [time, batch, classes] = x!.shape as [number, number, number]; // rank checked
        const steps = checkedLengths(lengths!, time);
        const form = { classes, width: beam_width, paths: top_paths, mergeRepeated: merge_repeated };
        const scores = T.allocate(batch * top_paths);
        const sequences = Array.from({ length: top_paths }, (): number[][] => []);
        for (let b = 0; b < batch; b++) {
          const at = (t: number, c: number) => x!.data[(t * batch + b) * classes + c] as number; // floats are numbers
          for (const [i, { labels, logProbability }] of (await beamSearch(at, steps[b]!, form)).entries()) {
            sequences[i]!.push(labels);
            scores[b * top_paths + i] = logProbability;
          }
        }
        const all: NDArray[][] = [];
        for (const path of sequences) all.push(await inTurns(sparseParts(path)));
        const score = new NDArray(T, [batch, top_paths], scores);
        return [...[0, 1, 2].flatMap((part) => all.map((path) => path[part]!)), score];
      },
      { borrows: true },
    );
    return {
      decoded_indices: decoded.slice(0, top_paths),
      decoded_values: decoded.slice(top_paths, 2 * top_paths),
      decoded_shape: decoded.slice(2 * top_paths, 3 * top_paths),
      log_probability: decoded[3 * top_paths]!,
    };
  },
  cases: () => [
    { shape: '[5, ?, 4], [2] -> [?, 2], [?, 2], [?], [?], [2], [2], [2, 2]', attrs: { beam_width: 3, top_paths: 2 } },
    {
      given: { inputs: logits(6, 3, 4), sequence_length: { dtype: 'int32', value: [6, 3, 4] } },
      attrs: { beam_width: 5, top_paths: 2 },
    },
    {
      given: { inputs: logits(7, 2, 5), sequence_length: { dtype: 'int32', value: [7, 5] } },
      attrs: { beam_width: 100, top_paths: 3, merge_repeated: false },
    },
    {
      given: { inputs: logits(3, 1, 3), sequence_length: { dtype: 'int32', value: [3] } },
      attrs: { beam_width: 2, top_paths: 3 },
      fails: /requested more paths than the beam width/,
    },
    {
      given: { inputs: logits(3, 1, 3), sequence_length: { dtype: 'int32', value: [0] } },
      attrs: { beam_width: 3, top_paths: 3 },
      fails: /Less leaves in the beam search than requested/,
    },
  ],
});
