/** @file staticStateSavingRnn: a recurrent network whose state is kept elsewhere between runs. */

import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { identity } from '../../ops/array/index.ts';
import { flatten, isNested, mapStructure, packSequenceAs } from '../nest.ts';
import type { VariableScope } from '../variableScope.ts';
import type { RNNCell } from './cell.ts';
import { staticRnn } from './static.ts';

/** Keeps states by name, for example in variables. */
export interface StateSaver {
  /** The state that was saved last. */
  state(name: string): Tensor;
  /** Saves a state; what is given runs with the network. */
  saveState(name: string, value: Tensor): Operation | Tensor;
}

/** Names in the structure of a state. */
export type StateNames<S> = S extends Tensor
  ? string
  : S extends object
    ? { readonly [K in keyof S]: StateNames<S[K]> }
    : never;

/**
 * As `staticRnn`, from a state that `stateSaver` has; the last state is saved before the last output or the state can be had.
 *
 * @example const [outputs, state] = tf.nn.staticStateSavingRnn(cell, inputs, saver, { c: 'lstm_c', h: 'lstm_h' });
 */
export function staticStateSavingRnn<S>(
  cell: RNNCell<S>,
  inputs: readonly TensorLike[],
  stateSaver: StateSaver,
  stateName: StateNames<S>,
  options: {
    readonly sequenceLength?: TensorLike | undefined;
    readonly scope?: string | VariableScope | undefined;
  } = {},
): [outputs: Tensor[], state: S] {
  onlyOptions('tf.nn.staticStateSavingRnn', options, 'sequenceLength', 'scope');
  const sizes = flatten(cell.stateSize);
  const names = flatten(stateName) as string[]; // names are single values
  if (isNested(cell.stateSize) !== isNested(stateName))
    throw userError(
      'stateName should be the same type as cell.stateSize: one name for one tensor, a list for several.',
    );
  if (names.length !== sizes.length)
    throw userError(`#elems(stateName) != #elems(stateSize): ${names.length} vs. ${sizes.length}`);
  const initial = names.map((name) => stateSaver.state(name));
  const initialState = packSequenceAs(cell.stateSize, initial) as S; // a tensor for every size
  const [outputs, state] = staticRnn(cell, inputs, { ...options, initialState });
  const final = flatten(state) as Tensor[]; // states consist of tensors
  const saved = names.map((name, i) => stateSaver.saveState(name, final[i]!));
  return controlDependencies(saved, () => [
    [...outputs.slice(0, -1), identity(outputs.at(-1)!)],
    mapStructure((t: Tensor) => identity(t), state) as S, // the same structure
  ]);
}
