/** @file MultiRNNCell: cells on top of each other, each fed with the output of the one below. */
import type { DType } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import type { Variable } from '../variable.ts';
import { variableScope } from '../variableScope.ts';
import { type CellStep, RNNCell, type Sizes } from './cell.ts';

/**
 * Several cells as one. The state is an array with the state of each. Where cells of different kinds are joined, `S` is to be
 * named: `new tf.nn.rnnCell.MultiRNNCell<tf.Tensor | tf.nn.rnnCell.LSTMState>([lstm, gru])`.
 *
 * @example const cell = new tf.nn.rnnCell.MultiRNNCell([128, 64].map((n) => new tf.nn.rnnCell.BasicLSTMCell(n)));
 */
export class MultiRNNCell<S = Tensor> extends RNNCell<readonly S[]> {
  readonly stateSize: Sizes<readonly S[]>;
  readonly outputSize: number;

  constructor(
    readonly cells: readonly RNNCell<S>[],
    options: { readonly stateIsTuple?: boolean | undefined } = {},
  ) {
    super();
    const { stateIsTuple = true } = onlyOptions('tf.nn.rnnCell.MultiRNNCell', options, 'stateIsTuple');
    if (!stateIsTuple)
      throw userError('stateIsTuple: false, with all states in one matrix, is not supported. Leave it out.');
    if (cells.length === 0) throw userError('Must specify at least one cell for MultiRNNCell.');
    this.stateSize = cells.map((cell) => cell.stateSize) as Sizes<readonly S[]>; // one size per cell, in order
    this.outputSize = cells.at(-1)!.outputSize;
  }

  override zeroState(batchSize: number | Tensor, dtype: DType): readonly S[] {
    return nameScope('MultiRNNCellZeroState', () => this.cells.map((cell) => cell.zeroState(batchSize, dtype)));
  }

  override get trainableVariables(): Variable[] {
    return this.trainable ? this.cells.flatMap((cell) => cell.trainableVariables) : [];
  }
  override get nonTrainableVariables(): Variable[] {
    return this.cells.flatMap((cell) => (this.trainable ? cell.nonTrainableVariables : cell.variables));
  }
  override get variables(): Variable[] {
    return this.cells.flatMap((cell) => cell.variables);
  }

  override call(inputs: Tensor, state: readonly S[]): CellStep<readonly S[]> {
    let current = inputs;
    const states = this.cells.map((cell, i) =>
      variableScope(`cell_${i}`, () => {
        const [output, next] = cell.apply(current, state[i]!);
        current = output;
        return next;
      }),
    );
    return [current, states];
  }
}
