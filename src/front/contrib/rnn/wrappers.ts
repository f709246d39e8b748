/** @file Wrappers of `tf.contrib.rnn`: cells whose inputs or outputs go through a matrix, and cells beside a highway. */
import type { DType } from '../../../core/dtypes.ts';
import type { Dims } from '../../../core/shape.ts';
import { onlyOptions } from '../../../graph/options.ts';
import { nameScope } from '../../../graph/scopes.ts';
import type { Tensor } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { matmul, sigmoid } from '../../../ops/math/index.ts';
import { biasAdd, xwPlusB } from '../../../ops/nn/index.ts';
import { constantInitializer, zerosInitializer } from '../../initializers.ts';
import type { Activation } from '../../layers/biasedLayer.ts';
import { type CellStep, oneMinus, RNNCell, type Sizes } from '../../rnn/cell.ts';
import { CellWrapper } from '../../rnn/wrappers.ts';
import type { Variable } from '../../variable.ts';
import { getVariable } from '../../variableScope.ts';
import type { Reuse } from '../../variableStore.ts';

export interface ProjectionOptions {
  /** Applied to what the matrix gives; nothing unless given. */
  readonly activation?: Activation | undefined;
  readonly reuse?: Reuse | undefined;
}

/** A cell with a matrix of its own, `kernel`, and a `bias`, beside those of the cell inside. */
abstract class ProjectionWrapper<S> extends RNNCell<S> {
  private projection: readonly [kernel: Variable, bias: Variable] | undefined;

  constructor(
    readonly cell: RNNCell<S>,
    private readonly width: number,
    private readonly projectionOptions: ProjectionOptions,
  ) {
    super({ reuse: projectionOptions.reuse });
    onlyOptions(`tf.contrib.rnn.${new.target.name}`, projectionOptions, 'activation', 'reuse');
    if (!Number.isInteger(width) || width < 1) throw userError(`The width of a projection must be > 0: ${width}.`);
  }
  get stateSize(): Sizes<S> {
    return this.cell.stateSize;
  }
  get outputSize(): number {
    return this.cell.outputSize;
  }
  override zeroState(batchSize: number | Tensor, dtype: DType): S {
    return nameScope(`${this.constructor.name}ZeroState`, () => this.cell.zeroState(batchSize, dtype));
  }
  override get trainableVariables(): Variable[] {
    return [...(this.projection ?? []), ...this.cell.trainableVariables];
  }
  override get nonTrainableVariables(): Variable[] {
    return this.cell.nonTrainableVariables;
  }
  override get variables(): Variable[] {
    return [...(this.projection ?? []), ...this.cell.variables];
  }

  /** Made where it is first used, in the scope of this cell. */
  protected projected(x: Tensor): Tensor {
    const { dtype } = x;
    this.projection ??= [
      getVariable('kernel', [this.depthOf(x.shape as Dims), this.width], { dtype }),
      getVariable('bias', [this.width], { dtype, initializer: zerosInitializer() }),
    ];
    const [kernel, bias] = this.projection;
    const y = biasAdd(matmul(x, kernel), bias);
    return this.projectionOptions.activation ? this.projectionOptions.activation(y) : y;
  }
}

/**
 * A cell whose inputs go through a matrix first, to `numProj` numbers.
 *
 * @example new tf.contrib.rnn.InputProjectionWrapper(new tf.nn.rnnCell.GRUCell(20), 10)
 */
export class InputProjectionWrapper<S = Tensor> extends ProjectionWrapper<S> {
  constructor(cell: RNNCell<S>, numProj: number, options: ProjectionOptions = {}) {
    super(cell, numProj, options);
  }
  override call(inputs: Tensor, state: S): CellStep<S> {
    return this.cell.apply(this.projected(inputs), state);
  }
}

/**
 * A cell whose outputs go through a matrix, to `outputSize` numbers.
 *
 * @example new tf.contrib.rnn.OutputProjectionWrapper(new tf.nn.rnnCell.GRUCell(20), 5)
 */
export class OutputProjectionWrapper<S = Tensor> extends ProjectionWrapper<S> {
  private readonly size: number;
  constructor(cell: RNNCell<S>, outputSize: number, options: ProjectionOptions = {}) {
    super(cell, outputSize, options);
    this.size = outputSize;
  }
  override get outputSize(): number {
    return this.size;
  }
  override call(inputs: Tensor, state: S): CellStep<S> {
    const [output, next] = this.cell.apply(inputs, state);
    return [this.projected(output), next];
  }
}

export interface HighwayOptions {
  /** One gate for what is carried and what is changed; true unless given. */
  readonly coupleCarryTransformGates?: boolean | undefined;
  /** Where the carry gate's bias begins; 1 unless given. */
  readonly carryBiasInit?: number | undefined;
}

/**
 * A cell past which a part of its inputs goes unchanged (Srivastava et al., 2015); inputs and outputs have one width. Its
 * variables, `carry_w`, `carry_b` and perhaps `transform_w`, `transform_b`, are in the scope around it.
 *
 * @example new tf.contrib.rnn.HighwayWrapper(new tf.nn.rnnCell.GRUCell(20))
 */
export class HighwayWrapper<S = Tensor> extends CellWrapper<S> {
  constructor(
    cell: RNNCell<S>,
    private readonly options: HighwayOptions = {},
  ) {
    super(cell);
    onlyOptions('tf.contrib.rnn.HighwayWrapper', options, 'coupleCarryTransformGates', 'carryBiasInit');
  }

  override call(inputs: Tensor, state: S): CellStep<S> {
    const { coupleCarryTransformGates = true, carryBiasInit = 1 } = this.options;
    const [output, next] = this.cell.apply(inputs, state);
    const width = this.depthOf(inputs.shape);
    if (width !== output.shape?.at(-1))
      throw userError(
        `A highway needs inputs as wide as the outputs, but these are ${width} and ${output.shape?.at(-1)}.`,
      );
    const gate = (name: string, begin: number) => {
      const w = getVariable(`${name}_w`, [width, width]);
      const b = getVariable(`${name}_b`, [width], { initializer: constantInitializer(begin) });
      return sigmoid(xwPlusB(inputs, w, b));
    };
    const carry = gate('carry', carryBiasInit);
    const transform = coupleCarryTransformGates ? oneMinus(carry) : gate('transform', -carryBiasInit);
    return [inputs.mul(carry).add(output.mul(transform)), next];
  }
}
