/** @file The cells whose state is one tensor: the basic recurrent cell and the gated recurrent unit. */
import type { Dims } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { concat, split } from '../../ops/array/index.ts';
import { matmul, sigmoid, tanh } from '../../ops/math/index.ts';
import { biasAdd } from '../../ops/nn/index.ts';
import { constantInitializer, zerosInitializer } from '../initializers.ts';
import { type Activation, checkActivation } from '../layers/biasedLayer.ts';
import type { Variable } from '../variable.ts';
import type { VariableInitializer } from '../variableStore.ts';
import { type CellOptions, type CellStep, oneMinus, RNNCell } from './cell.ts';

export const cellOptionNames = ['name', 'dtype', 'reuse', 'trainable'] as const;

export interface BasicRNNCellOptions extends CellOptions {
  /** `tf.tanh` unless given. */
  readonly activation?: Activation | undefined;
}

/**
 * `activation([inputs, state] * kernel + bias)`, which is both the output and the next state.
 *
 * @example const [outputs, final] = tf.nn.dynamicRnn(new tf.nn.rnnCell.BasicRNNCell(20), x, { dtype: tf.float32 });
 */
export class BasicRNNCell extends RNNCell {
  readonly stateSize: number;
  readonly outputSize: number;
  protected readonly activation: Activation;
  private kernel: Variable | undefined;
  private bias: Variable | undefined;

  constructor(
    readonly numUnits: number,
    options: BasicRNNCellOptions = {},
  ) {
    super(options);
    onlyOptions('tf.nn.rnnCell.BasicRNNCell', options, ...cellOptionNames, 'activation');
    this.stateSize = numUnits;
    this.outputSize = numUnits;
    checkActivation(options.activation);
    this.activation = options.activation ?? tanh;
    this.inputSpec = { rank: 2 };
  }

  override build(inputShape: Dims): void {
    const depth = this.depthOf(inputShape);
    this.kernel = this.addWeight('kernel', [depth + this.numUnits, this.numUnits]);
    this.bias = this.addWeight('bias', [this.numUnits], { initializer: zerosInitializer() });
    super.build(inputShape);
  }

  override call(inputs: Tensor, state: Tensor): CellStep<Tensor> {
    const gates = biasAdd(matmul(concat([inputs, state], 1), this.kernel!), this.bias!);
    const output = this.activation(gates);
    return [output, output];
  }
}

export interface GRUCellOptions extends BasicRNNCellOptions {
  readonly kernelInitializer?: VariableInitializer | undefined;
  /** Ones for the gates and zeros for the candidate unless given. */
  readonly biasInitializer?: VariableInitializer | undefined;
}

/**
 * The gated recurrent unit: gates say how much of the state is kept and how much of it the candidate for the next one sees.
 *
 * @example const cell = new tf.nn.rnnCell.GRUCell(20);
 */
export class GRUCell extends RNNCell {
  readonly stateSize: number;
  readonly outputSize: number;
  private readonly options: GRUCellOptions;
  private gates: { kernel: Variable; bias: Variable } | undefined;
  private candidate: { kernel: Variable; bias: Variable } | undefined;

  constructor(
    readonly numUnits: number,
    options: GRUCellOptions = {},
  ) {
    super(options);
    checkActivation(options.activation);
    onlyOptions(
      'tf.nn.rnnCell.GRUCell',
      options,
      ...cellOptionNames,
      'activation',
      'kernelInitializer',
      'biasInitializer',
    );
    this.stateSize = numUnits;
    this.outputSize = numUnits;
    this.options = options;
    this.inputSpec = { rank: 2 };
  }

  override build(inputShape: Dims): void {
    const depth = this.depthOf(inputShape) + this.numUnits;
    const { kernelInitializer: initializer, biasInitializer } = this.options;
    const part = (name: string, width: number, bias: VariableInitializer) => ({
      kernel: this.addWeight(`${name}/kernel`, [depth, width], { initializer }),
      bias: this.addWeight(`${name}/bias`, [width], { initializer: biasInitializer ?? bias }),
    });
    this.gates = part('gates', 2 * this.numUnits, constantInitializer(1));
    this.candidate = part('candidate', this.numUnits, zerosInitializer());
    super.build(inputShape);
  }

  override call(inputs: Tensor, state: Tensor): CellStep<Tensor> {
    const gates = this.gates!;
    const candidate = this.candidate!;
    const value = sigmoid(biasAdd(matmul(concat([inputs, state], 1), gates.kernel), gates.bias));
    const [r, u] = split(value, 2, { axis: 1 }) as [Tensor, Tensor]; // two were asked for
    const inner = matmul(concat([inputs, r.mul(state)], 1), candidate.kernel);
    const c = (this.options.activation ?? tanh)(biasAdd(inner, candidate.bias));
    const next = u.mul(state).add(oneMinus(u).mul(c));
    return [next, next];
  }
}
