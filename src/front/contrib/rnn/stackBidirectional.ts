/** @file Layers of recurrent networks in both directions, each of which sees what both directions of the one before gave. */
import type { DType } from '../../../core/dtypes.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { concat } from '../../../ops/array/index.ts';
import type { RNNCell } from '../../rnn/cell.ts';
import { bidirectionalDynamicRnn } from '../../rnn/dynamic.ts';
import { staticBidirectionalRnn } from '../../rnn/static.ts';
import { type VariableScope, variableScope } from '../../variableScope.ts';

export interface StackBidirectionalOptions<F, B> {
  /** States before the first step, one for each layer. */
  readonly initialStatesFw?: readonly F[] | undefined;
  readonly initialStatesBw?: readonly B[] | undefined;
  /** Type of states of zeros. */
  readonly dtype?: DType | undefined;
  readonly sequenceLength?: TensorLike | undefined;
  readonly scope?: string | VariableScope | undefined;
}
export interface StackBidirectionalDynamicOptions<F, B> extends StackBidirectionalOptions<F, B> {
  readonly parallelIterations?: number | undefined;
  readonly timeMajor?: boolean | undefined;
}
const optionNames = ['initialStatesFw', 'initialStatesBw', 'dtype', 'sequenceLength', 'scope'] as const;

type Cells<S> = readonly RNNCell<S>[];

/** Runs `layer` for each pair of cells, in a scope for each, on what the one before gave. */
function overLayers<F, B, X>(
  cellsFw: Cells<F>,
  cellsBw: Cells<B>,
  inputs: X,
  options: StackBidirectionalOptions<F, B>,
  layer: (x: X, i: number, scope: VariableScope) => readonly [outputs: X, fw: F, bw: B],
): [outputs: X, fw: F[], bw: B[]] {
  if (cellsFw.length === 0) throw userError('Must specify at least one fw cell for BidirectionalRNN.');
  if (cellsFw.length !== cellsBw.length) throw userError('Forward and Backward cells must have the same depth.');
  for (const [
    name,
    states,
  ] of [['initialStatesFw', options.initialStatesFw], ['initialStatesBw', options.initialStatesBw]] as const) // biome-ignore format: two
    if (states && states.length !== cellsFw.length)
      throw userError(`${name} must be a list of states (one per layer).`);
  const [statesFw, statesBw]: [F[], B[]] = [[], []];
  let x = inputs;
  variableScope(options.scope ?? 'stack_bidirectional_rnn', () => {
    for (const i of cellsFw.keys())
      variableScope(`cell_${i}`, (scope) => {
        const [outputs, fw, bw] = layer(x, i, scope);
        x = outputs;
        statesFw.push(fw);
        statesBw.push(bw);
      });
  });
  return [x, statesFw, statesBw];
}

/**
 * Several layers of `tf.nn.staticBidirectionalRnn`. Gives the outputs of the last, and the last states of all layers.
 *
 * @example const [outputs, fw, bw] = tf.contrib.rnn.stackBidirectionalRnn(cellsFw, cellsBw, inputs, { dtype: tf.float32 });
 */
export function stackBidirectionalRnn<F, B>(
  cellsFw: Cells<F>,
  cellsBw: Cells<B>,
  inputs: readonly TensorLike[],
  options: StackBidirectionalOptions<F, B> = {},
): [outputs: Tensor[], fw: F[], bw: B[]] {
  const { dtype, sequenceLength } = onlyOptions('tf.contrib.rnn.stackBidirectionalRnn', options, ...optionNames);
  const steps = inputs.map((x) => convertToTensor(x));
  return overLayers(cellsFw, cellsBw, steps, options, (x, i, scope) => {
    const initialStateFw = options.initialStatesFw?.[i];
    const initialStateBw = options.initialStatesBw?.[i];
    const given = { dtype, sequenceLength, scope, initialStateFw, initialStateBw };
    return staticBidirectionalRnn(cellsFw[i]!, cellsBw[i]!, x, given);
  });
}

/**
 * Several layers of `tf.nn.bidirectionalDynamicRnn`, whose outputs are joined along the last axis. Gives the outputs of the
 * last, and the last states of all layers.
 *
 * @example const [outputs, fw, bw] = tf.contrib.rnn.stackBidirectionalDynamicRnn(cellsFw, cellsBw, x, { dtype: tf.float32 });
 */
export function stackBidirectionalDynamicRnn<F, B>(
  cellsFw: Cells<F>,
  cellsBw: Cells<B>,
  inputs: TensorLike,
  options: StackBidirectionalDynamicOptions<F, B> = {},
): [outputs: Tensor, fw: F[], bw: B[]] {
  const names = [...optionNames, 'parallelIterations', 'timeMajor'] as const;
  const { initialStatesFw, initialStatesBw, scope: _, ...common } = onlyOptions('tf.contrib.rnn.stackBidirectionalDynamicRnn', options, ...names); // biome-ignore format: one call
  return overLayers(cellsFw, cellsBw, convertToTensor(inputs), options, (x, i) => {
    const initialStateFw = initialStatesFw?.[i];
    const initialStateBw = initialStatesBw?.[i];
    const given = { ...common, initialStateFw, initialStateBw };
    const [outputs, [fw, bw]] = bidirectionalDynamicRnn(cellsFw[i]!, cellsBw[i]!, x, given);
    return [concat(outputs, 2), fw, bw];
  });
}
