/** @file Cells of `tf.contrib.rnn`: the LSTM with layer normalization, and the update gate RNN. */
import type { Dims } from '../../../core/shape.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor } from '../../../graph/tensor.ts';
import { concat, split } from '../../../ops/array/index.ts';
import { matmul, sigmoid, tanh } from '../../../ops/math/index.ts';
import { biasAdd, dropout, moments, batchNormalization as normalize } from '../../../ops/nn/index.ts';
import { constantInitializer, zerosInitializer } from '../../initializers.ts';
import type { Activation } from '../../layers/biasedLayer.ts';
import { type CellOptions, type CellStep, oneMinus, RNNCell, type Sizes } from '../../rnn/cell.ts';
import { type LSTMState, LSTMStateTuple } from '../../rnn/lstmCells.ts';
import type { Variable } from '../../variable.ts';
import type { VariableInitializer } from '../../variableStore.ts';

export interface LayerNormBasicLSTMCellOptions extends CellOptions {
  /** Added to the forget gate's score; 1 unless given. */
  readonly forgetBias?: number | undefined;
  /** `tf.tanh` unless given. */
  readonly activation?: Activation | undefined;
  /** Whether gates and state are normalized; true unless given. */
  readonly layerNorm?: boolean | undefined;
  /** Where the trained scale of normalization begins; 1 unless given. */
  readonly normGain?: number | undefined;
  /** Where the trained shift of normalization begins; 0 unless given. */
  readonly normShift?: number | undefined;
  /** The probability with which elements of the candidate are kept; 1 unless given. */
  readonly dropoutKeepProb?: number | Tensor | undefined;
  readonly dropoutProbSeed?: number | undefined;
}
const normalized = ['input', 'transform', 'forget', 'output', 'state'] as const;
type Normalized = (typeof normalized)[number];

/**
 * An LSTM whose gates and state are brought to mean 0 and variance 1 (Ba et al., 2016), with dropout that forgets nothing
 * (Semeniuta et al., 2016).
 *
 * @example const cell = new tf.contrib.rnn.LayerNormBasicLSTMCell(128, { dropoutKeepProb: 0.9 });
 */
export class LayerNormBasicLSTMCell extends RNNCell<LSTMState> {
  readonly stateSize: Sizes<LSTMState>;
  readonly outputSize: number;
  private kernel: Variable | undefined;
  private bias: Variable | undefined;
  private readonly norms = new Map<Normalized, { gamma: Variable; beta: Variable }>();

  constructor(
    readonly numUnits: number,
    private readonly options: LayerNormBasicLSTMCellOptions = {},
  ) {
    super(options);
    const own = ['forgetBias', 'activation', 'layerNorm', 'normGain', 'normShift', 'dropoutKeepProb', 'dropoutProbSeed'] as const; // biome-ignore format: one list
    onlyOptions('tf.contrib.rnn.LayerNormBasicLSTMCell', options, 'name', 'dtype', 'reuse', 'trainable', ...own);
    this.stateSize = LSTMStateTuple(numUnits, numUnits);
    this.outputSize = numUnits;
    this.inputSpec = { rank: 2 };
  }

  override build(inputShape: Dims): void {
    const { numUnits } = this;
    const { layerNorm = true, normGain = 1, normShift = 0 } = this.options;
    this.kernel = this.addWeight('kernel', [this.depthOf(inputShape) + numUnits, 4 * numUnits]);
    if (layerNorm)
      for (const part of normalized)
        this.norms.set(part, {
          gamma: this.addWeight(`${part}/gamma`, [numUnits], { initializer: constantInitializer(normGain) }),
          beta: this.addWeight(`${part}/beta`, [numUnits], { initializer: constantInitializer(normShift) }),
        });
    else this.bias = this.addWeight('bias', [4 * numUnits]);
    super.build(inputShape);
  }

  override call(inputs: Tensor, { c, h }: LSTMState): CellStep<LSTMState> {
    const { activation = tanh, forgetBias = 1, dropoutKeepProb = 1, dropoutProbSeed: seed } = this.options;
    const product = matmul(concat([inputs, h], 1), this.kernel!);
    const gates = split(this.bias ? biasAdd(product, this.bias) : product, 4, { axis: 1 });
    const [i, j, f, o] = gates.map((gate, at) => this.norm(normalized[at]!, gate)) as [Tensor, Tensor, Tensor, Tensor]; // four
    const candidate = activation(j);
    const kept = dropoutKeepProb === 1 ? candidate : dropout(candidate, { keepProb: dropoutKeepProb, seed });
    const memory = c.mul(sigmoid(f.add(forgetBias))).add(sigmoid(i).mul(kept));
    const next = this.norm('state', memory);
    const output = activation(next).mul(sigmoid(o));
    return [output, LSTMStateTuple(next, output)];
  }

  private norm(part: Normalized, x: Tensor): Tensor {
    const found = this.norms.get(part);
    if (!found) return x;
    const [mean, variance] = moments(x, [1], { keepDims: true });
    return normalize(x, mean, variance, found.beta, found.gamma, 1e-12);
  }
}

export interface UGRNNCellOptions extends CellOptions {
  readonly initializer?: VariableInitializer | undefined;
  /** Added to the gate's score; 1 unless given. */
  readonly forgetBias?: number | undefined;
  /** `tf.tanh` unless given. */
  readonly activation?: Activation | undefined;
}

/**
 * The update gate RNN (Collins et al., 2016): one gate says how much of the state is kept.
 *
 * @example const cell = new tf.contrib.rnn.UGRNNCell(128);
 */
export class UGRNNCell extends RNNCell {
  readonly stateSize: number;
  readonly outputSize: number;
  private kernel: Variable | undefined;
  private bias: Variable | undefined;

  constructor(
    readonly numUnits: number,
    private readonly options: UGRNNCellOptions = {},
  ) {
    super(options);
    const own = ['initializer', 'forgetBias', 'activation'] as const;
    onlyOptions('tf.contrib.rnn.UGRNNCell', options, 'name', 'dtype', 'reuse', 'trainable', ...own);
    this.stateSize = numUnits;
    this.outputSize = numUnits;
    this.inputSpec = { rank: 2 };
  }

  override build(inputShape: Dims): void {
    const { numUnits, options } = this;
    const depth = this.depthOf(inputShape) + numUnits;
    this.kernel = this.addWeight('kernel', [depth, 2 * numUnits], { initializer: options.initializer });
    this.bias = this.addWeight('bias', [2 * numUnits], { initializer: zerosInitializer() });
    super.build(inputShape);
  }

  override call(inputs: Tensor, state: Tensor): CellStep<Tensor> {
    const { activation = tanh, forgetBias = 1 } = this.options;
    const both = biasAdd(matmul(concat([inputs, state], 1), this.kernel!), this.bias!);
    const [gate, candidate] = split(both, 2, { axis: 1 }) as [Tensor, Tensor]; // two were asked for
    const next = activation(candidate);
    const kept = sigmoid(gate.add(forgetBias));
    const result = kept.mul(state).add(oneMinus(kept).mul(next));
    return [result, result];
  }
}
