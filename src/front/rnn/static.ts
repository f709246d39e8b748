/** @file staticRnn: a cell applied to a list of inputs, one after the other, without a loop in the graph. */
import { type DType, int32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat, reverseSequence, shape, stack, unstack, zeros } from '../../ops/array/index.ts';
import { cast, where } from '../../ops/math/index.ts';
import { mapStructure } from '../nest.ts';
import { getVariableScope, type VariableScope, variableScope } from '../variableScope.ts';
import type { RNNCell } from './cell.ts';

export interface StaticRnnOptions<S> {
  readonly initialState?: S | undefined;
  readonly dtype?: DType | undefined;
  readonly sequenceLength?: TensorLike | undefined;
  readonly scope?: string | VariableScope | undefined;
}
const optionNames = ['initialState', 'dtype', 'sequenceLength', 'scope'] as const;

/**
 * Applies a cell to each of `inputs`, [batch, depth] each. Gives the outputs, one per input, and the last state.
 *
 * @example const [outputs, state] = tf.nn.staticRnn(cell, tf.unstack(x, { axis: 1 }), { dtype: tf.float32 });
 */
export function staticRnn<S>(
  cell: RNNCell<S>,
  inputs: readonly TensorLike[],
  options: StaticRnnOptions<S> = {},
): [outputs: Tensor[], state: S] {
  onlyOptions('tf.nn.staticRnn', options, ...optionNames);
  if (inputs.length === 0) throw userError('inputs must not be empty');
  return variableScope(options.scope ?? 'rnn', () => {
    const xs = inputs.map((x) => convertToTensor(x));
    const first = xs[0]!;
    const batch = first.shape?.[0] ?? shape(first).slice('0');
    if (options.initialState === undefined && !options.dtype)
      throw userError('If no initialState is provided, `dtype` must be specified, as in { dtype: tf.float32 }');
    let state = options.initialState ?? cell.zeroState(batch, options.dtype!);
    const lengths = options.sequenceLength === undefined ? undefined : cast(options.sequenceLength, int32);
    const idle = lengths && zeros(stack([batch, cell.outputSize]), { dtype: options.dtype ?? first.dtype });
    const outputs = xs.map((x, time) => {
      if (time > 0) getVariableScope().reuseVariables();
      const [output, next] = cell.apply(x, state);
      if (!lengths) {
        state = next;
        return output;
      }
      const isOver = lengths.lessEqual(time);
      const kept = (before: Tensor, after: Tensor) => (after.rank === 0 ? after : where(isOver, before, after));
      state = mapStructure(kept, state, next) as S; // the same structure
      return kept(idle!, output);
    });
    return [outputs, state];
  });
}

export interface StaticBidirectionalOptions<F, B> extends Omit<StaticRnnOptions<never>, 'initialState'> {
  readonly initialStateFw?: F | undefined;
  readonly initialStateBw?: B | undefined;
}

/**
 * Two cells over a list of inputs, one of them backwards; outputs of both are joined along the last axis.
 *
 * @example const [outputs, fw, bw] = tf.nn.staticBidirectionalRnn(cellFw, cellBw, inputs, { dtype: tf.float32 });
 */
export function staticBidirectionalRnn<F, B>(
  cellFw: RNNCell<F>,
  cellBw: RNNCell<B>,
  inputs: readonly TensorLike[],
  options: StaticBidirectionalOptions<F, B> = {},
): [outputs: Tensor[], stateFw: F, stateBw: B] {
  onlyOptions(
    'tf.nn.staticBidirectionalRnn',
    options,
    'initialStateFw',
    'initialStateBw',
    ...optionNames.filter((name) => name !== 'initialState'),
  );
  const { initialStateFw, initialStateBw, scope, ...common } = options;
  return variableScope(scope ?? 'bidirectional_rnn', () => {
    const [forward, stateFw] = variableScope('fw', (inner) =>
      staticRnn(cellFw, inputs, { ...common, initialState: initialStateFw, scope: inner }),
    );
    const [backward, stateBw] = variableScope('bw', (inner) =>
      staticRnn(cellBw, reversed(inputs, options.sequenceLength), {
        ...common,
        initialState: initialStateBw,
        scope: inner,
      }),
    );
    const back = reversed(backward, options.sequenceLength);
    return [forward.map((f, i) => concat([f, convertToTensor(back[i]!)], 1)), stateFw, stateBw];
  });
}

/** The steps in the opposite order, each example from its own end. */
function reversed(steps: readonly TensorLike[], lengths: TensorLike | undefined): readonly TensorLike[] {
  if (lengths === undefined) return [...steps].reverse();
  return unstack(reverseSequence(stack(steps), lengths, { seqAxis: 0, batchAxis: 1 }));
}
