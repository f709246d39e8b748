/** @file The long short-term memory cells. Their state is a record of `c`, the memory, and `h`, the output. */
import { int32 } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import { type NamedTuple, namedTuple } from '../../graph/namedTuple.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { concat, constant, split } from '../../ops/array/index.ts';
import { add, clipByValue, matmul, multiply, sigmoid, tanh } from '../../ops/math/index.ts';
import { biasAdd } from '../../ops/nn/index.ts';
import { zerosInitializer } from '../initializers.ts';
import { type Activation, checkActivation } from '../layers/biasedLayer.ts';
import type { Variable } from '../variable.ts';
import type { VariableInitializer } from '../variableStore.ts';
import { type BasicRNNCellOptions, cellOptionNames } from './basicCells.ts';
import { type CellStep, RNNCell, type Sizes } from './cell.ts';

/** The state of an LSTM cell. */
export interface LSTMState {
  readonly c: Tensor;
  readonly h: Tensor;
}

/** TensorFlow's name for the record of an LSTM's two state tensors. */
export function LSTMStateTuple<T>(c: T, h: T): NamedTuple<{ readonly c: T; readonly h: T }> {
  return namedTuple({ c, h });
}

export interface BasicLSTMCellOptions extends BasicRNNCellOptions {
  /** Added to the forget gate, so that memory is kept at the beginning of training; 1 unless given. */
  readonly forgetBias?: number | undefined;
  /** As TensorFlow 1.x programs write it: states are records of `c` and `h`, and nothing else. */
  readonly stateIsTuple?: boolean | undefined;
}

/** TensorFlow has called states that are one matrix slow and deprecated since 1.0. */
function checkTuple({ stateIsTuple = true }: BasicLSTMCellOptions): void {
  if (!stateIsTuple)
    throw userError(
      'stateIsTuple: false, with c and h side by side in one matrix, is not supported. Leave it out, and use tf.concat([state.c, state.h], 1) where one matrix is wanted.',
    );
}

/**
 * The basic LSTM cell. Its variables are `kernel` and `bias`, with the gates in the order input, candidate, forget, output.
 *
 * @example const cell = new tf.nn.rnnCell.BasicLSTMCell(128);
 */
export class BasicLSTMCell extends RNNCell<LSTMState> {
  readonly stateSize: Sizes<LSTMState>;
  readonly outputSize: number;
  private readonly forgetBias: number;
  private readonly activation: Activation;
  private kernel: Variable | undefined;
  private bias: Variable | undefined;

  constructor(
    readonly numUnits: number,
    options: BasicLSTMCellOptions = {},
  ) {
    super(options);
    onlyOptions('tf.nn.rnnCell.BasicLSTMCell', options, ...cellOptionNames, 'activation', 'forgetBias', 'stateIsTuple');
    checkTuple(options);
    this.stateSize = LSTMStateTuple(numUnits, numUnits);
    this.outputSize = numUnits;
    this.forgetBias = options.forgetBias ?? 1;
    checkActivation(options.activation);
    this.activation = options.activation ?? tanh;
    this.inputSpec = { rank: 2 };
  }

  override build(inputShape: Dims): void {
    const depth = this.depthOf(inputShape);
    this.kernel = this.addWeight('kernel', [depth + this.numUnits, 4 * this.numUnits]);
    this.bias = this.addWeight('bias', [4 * this.numUnits], { initializer: zerosInitializer() });
    super.build(inputShape);
  }

  override call(inputs: Tensor, { c, h }: LSTMState): CellStep<LSTMState> {
    const { activation } = this;
    const one = constant(1, { dtype: int32 });
    const gates = biasAdd(matmul(concat([inputs, h], 1), this.kernel!), this.bias!);
    const [i, j, f, o] = split(gates, 4, { axis: one }) as [Tensor, Tensor, Tensor, Tensor]; // four were asked for
    const forgetBias = constant(this.forgetBias, { dtype: f.dtype });
    const memory = add(multiply(c, sigmoid(add(f, forgetBias))), multiply(sigmoid(i), activation(j)));
    const output = multiply(activation(memory), sigmoid(o));
    return [output, LSTMStateTuple(memory, output)];
  }
}

export interface LSTMCellOptions extends BasicLSTMCellOptions {
  /** Lets the gates see the memory, each unit its own. */
  readonly usePeepholes?: boolean | undefined;
  /** Bound on the absolute value of the memory. */
  readonly cellClip?: number | undefined;
  readonly initializer?: VariableInitializer | undefined;
  /** Width that outputs are projected to. */
  readonly numProj?: number | undefined;
  /** Bound on the absolute value of projected outputs. */
  readonly projClip?: number | undefined;
}

/**
 * The LSTM cell with everything: peepholes, clipping, and a projection of the output.
 *
 * @example const cell = new tf.nn.rnnCell.LSTMCell(128, { usePeepholes: true, numProj: 64 });
 */
export class LSTMCell extends RNNCell<LSTMState> {
  readonly stateSize: Sizes<LSTMState>;
  readonly outputSize: number;
  private readonly options: LSTMCellOptions;
  private weights_: Record<'kernel' | 'bias', Variable> | undefined;
  private peepholes: Record<'f' | 'i' | 'o', Variable> | undefined;
  private projection: Variable | undefined;

  constructor(
    readonly numUnits: number,
    options: LSTMCellOptions = {},
  ) {
    super(options);
    checkActivation(options.activation);
    onlyOptions(
      'tf.nn.rnnCell.LSTMCell',
      options,
      ...cellOptionNames,
      'activation',
      'forgetBias',
      'usePeepholes',
      'cellClip',
      'initializer',
      'numProj',
      'projClip',
      'stateIsTuple',
    );
    checkTuple(options);
    this.options = options;
    this.outputSize = options.numProj ?? numUnits;
    this.stateSize = LSTMStateTuple(numUnits, this.outputSize);
    this.inputSpec = { rank: 2 };
  }

  override build(inputShape: Dims): void {
    const { numUnits, outputSize } = this;
    const { initializer, usePeepholes, numProj } = this.options;
    const depth = this.depthOf(inputShape);
    this.weights_ = {
      kernel: this.addWeight('kernel', [depth + outputSize, 4 * numUnits], { initializer }),
      bias: this.addWeight('bias', [4 * numUnits], { initializer: zerosInitializer() }),
    };
    if (usePeepholes) {
      const diagonal = (gate: string) => this.addWeight(`w_${gate}_diag`, [numUnits], { initializer });
      this.peepholes = { f: diagonal('f'), i: diagonal('i'), o: diagonal('o') };
    }
    if (numProj !== undefined)
      this.projection = this.addWeight('projection/kernel', [numUnits, numProj], { initializer });
    super.build(inputShape);
  }

  override call(inputs: Tensor, { c, h }: LSTMState): CellStep<LSTMState> {
    const { activation = tanh, forgetBias = 1, cellClip, projClip } = this.options;
    const { kernel, bias } = this.weights_!;
    const { peepholes } = this;
    const gates = biasAdd(matmul(concat([inputs, h], 1), kernel), bias);
    const [i, j, f, o] = split(gates, 4, { axis: 1 }) as [Tensor, Tensor, Tensor, Tensor]; // four were asked for
    const seen = (gate: Tensor, name: 'f' | 'i' | 'o', memory: Tensor) =>
      peepholes ? gate.add(peepholes[name].mul(memory)) : gate;
    let memory = sigmoid(seen(f.add(forgetBias), 'f', c))
      .mul(c)
      .add(sigmoid(seen(i, 'i', c)).mul(activation(j)));
    if (cellClip !== undefined) memory = clipByValue(memory, -cellClip, cellClip);
    let output = sigmoid(seen(o, 'o', memory)).mul(activation(memory));
    if (this.projection) output = matmul(output, this.projection);
    if (this.projection && projClip !== undefined) output = clipByValue(output, -projClip, projClip);
    return [output, LSTMStateTuple(memory, output)];
  }
}
