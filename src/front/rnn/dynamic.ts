/** @file dynamicRnn: a cell applied along time in a loop of the graph; bidirectionalDynamicRnn: two of them, one backwards. */
import { type DType, int32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import {
  concat,
  constant,
  identity,
  range,
  rank,
  reverse,
  reverseSequence,
  shape,
  stack,
  transpose,
  zeros,
} from '../../ops/array/index.ts';
import { Assert } from '../../ops/flow/index.ts';
import {
  getItem,
  listFromTensor,
  reserveList,
  setItem,
  shapeInput,
  stackList,
} from '../../ops/flow/tensorList/functions.ts';
import { cast, equal, less, maximum, minimum, reduceAll, reduceMax, where } from '../../ops/math/index.ts';
import { uniformLoop } from '../controlFlow/whileLoop.ts';
import { flatten, mapStructure } from '../nest.ts';
import { type VariableScope, variableScope } from '../variableScope.ts';
import type { RNNCell } from './cell.ts';

export interface DynamicRnnOptions<S> {
  /** The length of each example, [batch]; steps beyond it give zeros and leave the state as it is. */
  readonly sequenceLength?: TensorLike | undefined;
  /** The state before the first step; zeros unless given. */
  readonly initialState?: S | undefined;
  /** Type of a state of zeros; needed where `initialState` is not given. */
  readonly dtype?: DType | undefined;
  readonly parallelIterations?: number | undefined;
  readonly swapMemory?: boolean | undefined;
  /** Inputs and outputs are [time, batch, depth] rather than [batch, time, depth]. */
  readonly timeMajor?: boolean | undefined;
  /** The variable scope; `rnn` unless given. */
  readonly scope?: string | VariableScope | undefined;
}
const optionNames = [
  'sequenceLength',
  'initialState',
  'dtype',
  'parallelIterations',
  'swapMemory',
  'timeMajor',
  'scope',
] as const;

/**
 * Applies a cell to each step of `inputs`, [batch, time, depth]. Gives the outputs of all steps and the last state.
 *
 * @example
 * const [outputs, final] = tf.nn.dynamicRnn(new tf.nn.rnnCell.GRUCell(20), x, { dtype: tf.float32 });
 */
export function dynamicRnn<S>(
  cell: RNNCell<S>,
  inputs: TensorLike,
  options: DynamicRnnOptions<S> = {},
): [outputs: Tensor, state: S] {
  onlyOptions('tf.nn.dynamicRnn', options, ...optionNames);
  return variableScope(options.scope ?? 'rnn', () => {
    const timeMajor = options.timeMajor ?? false;
    const given = convertToTensor(inputs);
    const x = timeMajor ? given : swapBatchAndTime(given);
    const batch = batchSize(x);
    const lengths = options.sequenceLength === undefined ? undefined : lengthsOf(options.sequenceLength, batch);
    const state = options.initialState ?? cell.zeroState(batch, neededType(options.dtype));
    const [outputs, final] = overTime(cell, x, state, lengths, options);
    return [timeMajor ? outputs : swapBatchAndTime(outputs), final];
  });
}

function neededType(dtype: DType | undefined): DType {
  if (!dtype) throw userError('If no initialState is provided, `dtype` must be specified, as in { dtype: tf.float32 }');
  return dtype;
}

/** [batch, time, …] as [time, batch, …] and back. */
function swapBatchAndTime(x: Tensor): Tensor {
  if (x.rank !== null && x.rank < 2)
    throw userError(`Expected the input to have at least the axes batch and time, but its shape is [${x.shape}]`);
  if (x.rank === null) {
    const rest = range(2, rank(x));
    return transpose(x, concat([[1, 0], rest], 0));
  }
  const axes = Array.from({ length: x.rank }, (_, i) => (i < 2 ? 1 - i : i));
  const result = transpose(x, constant(axes, { dtype: int32 }));
  result.setShape(axes.map((i) => x.shape![i] ?? null));
  return result;
}

/** How many examples there are: a number where that is known. */
function batchSize(x: Tensor): number | Tensor {
  return x.shape?.[1] ?? shape(x).slice('1');
}

function lengthsOf(given: TensorLike, batch: number | Tensor): Tensor {
  const lengths = identity(cast(given, int32), { name: 'sequence_length' });
  if (lengths.rank !== null && lengths.rank !== 1)
    throw userError(`sequenceLength must be a vector with one length per example, but its shape is [${lengths.shape}]`);
  const actual = shape(lengths);
  const wanted = stack([batch]);
  const right = Assert(reduceAll(equal(actual, wanted)), [
    `Expected shape for Tensor ${lengths.name} is `,
    wanted,
    ' but saw shape: ',
    actual,
  ]);
  return controlDependencies([right], () => identity(lengths, { name: 'CheckSeqLen' }));
}

/** The loop over [time, batch, depth]. */
function overTime<S>(
  cell: RNNCell<S>,
  x: Tensor,
  initial: S,
  lengths: Tensor | undefined,
  options: DynamicRnnOptions<S>,
): [Tensor, S] {
  const depth = x.shape?.slice(2) ?? null;
  if (depth === null || depth.includes(null))
    throw userError(
      'Input size (depth of inputs) must be accessible via shape inference, but saw value None. Give the placeholder a size there, or use setShape.',
    );
  const steps = shape(x).slice('0');
  const batch = batchSize(x);
  const dtype = (flatten(initial)[0] as Tensor).dtype; // states consist of tensors
  const idle = lengths && zeros(stack([batch, cell.outputSize]), { dtype });
  const bound = minimum(steps, maximum(1, lengths ? reduceMax(lengths) : steps));
  const time = constant(0, { dtype: int32, name: 'time' });
  const outputShape = [x.shape![1] ?? null, cell.outputSize];
  const [outputs, inputs] = nameScope('dynamic_rnn', () => [
    reserveList(dtype, shapeInput(outputShape), steps),
    listFromTensor(x, shapeInput(x.shape!.slice(1))),
  ]);
  const step = (t: Tensor, list: Tensor, state: S): [Tensor, Tensor, S] => {
    const input = getItem(inputs, t, x.dtype, shapeInput(x.shape!.slice(1)));
    input.setShape(x.shape!.slice(1));
    const [output, next] = cell.apply(input, state);
    if (!lengths) return [t.add(1), setItem(list, t, output), next];
    const isOver = t.greaterEqual(lengths);
    const kept = (before: Tensor, after: Tensor) => (after.rank === 0 ? after : where(isOver, before, after));
    return [t.add(1), setItem(list, t, kept(idle!, output)), mapStructure(kept, state, next) as S]; // the same structure
  };
  const [, list, final] = uniformLoop((t) => less(t, bound), step, [time, outputs, initial], {
    maximumIterations: steps,
    parallelIterations: options.parallelIterations ?? 32,
    swapMemory: options.swapMemory,
  });
  const result = stackList(list, dtype, shapeInput(outputShape), { count: x.shape![0] });
  result.setShape([x.shape![0] ?? null, ...outputShape]);
  return [result, final];
}

export interface BidirectionalOptions<F, B> extends Omit<DynamicRnnOptions<never>, 'initialState'> {
  readonly initialStateFw?: F | undefined;
  readonly initialStateBw?: B | undefined;
}

/**
 * Two cells over the same inputs, one from the first step to the last, one backwards. Gives the outputs of both, in the order
 * of the inputs, and the last states of both.
 *
 * @example
 * const [[forward, backward], states] = tf.nn.bidirectionalDynamicRnn(cellFw, cellBw, x, { dtype: tf.float32 });
 */
export function bidirectionalDynamicRnn<F, B>(
  cellFw: RNNCell<F>,
  cellBw: RNNCell<B>,
  inputs: TensorLike,
  options: BidirectionalOptions<F, B> = {},
): [outputs: [Tensor, Tensor], states: [F, B]] {
  onlyOptions(
    'tf.nn.bidirectionalDynamicRnn',
    options,
    ...optionNames.filter((name) => name !== 'initialState'),
    'initialStateFw',
    'initialStateBw',
  );
  const { initialStateFw, initialStateBw, scope, ...common } = options;
  const x = convertToTensor(inputs);
  const [batchAxis, timeAxis] = options.timeMajor ? [1, 0] : [0, 1];
  const reversed = (t: Tensor): Tensor =>
    options.sequenceLength === undefined
      ? reverse(t, [timeAxis!])
      : reverseSequence(t, options.sequenceLength, { seqAxis: timeAxis, batchAxis });
  return variableScope(scope ?? 'bidirectional_rnn', () => {
    const [forward, stateFw] = variableScope('fw', (inner) =>
      dynamicRnn(cellFw, x, { ...common, initialState: initialStateFw, scope: inner }),
    );
    const [backward, stateBw] = variableScope('bw', (inner) =>
      dynamicRnn(cellBw, reversed(x), { ...common, initialState: initialStateBw, scope: inner }),
    );
    return [
      [forward, reversed(backward)],
      [stateFw, stateBw],
    ];
  });
}
