/** @file Cells around cells: dropout, residual connections, devices. */
import { createHash } from 'node:crypto';
import type { DType } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { device, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { divide, floor } from '../../ops/math/index.ts';
import { dropout } from '../../ops/nn/index.ts';
import { randomUniform } from '../../ops/random/index.ts';
import { TensorArray } from '../controlFlow/tensorArray.ts';
import { flatten, isNested, packSequenceAs } from '../nest.ts';
import type { Variable } from '../variable.ts';
import { type CellStep, oneMinus, RNNCell, type Sizes } from './cell.ts';

/** A cell that does something before or after another one; it has no variables or scope of its own. */
export abstract class CellWrapper<S> extends RNNCell<S> {
  constructor(readonly cell: RNNCell<S>) {
    super();
  }
  get stateSize(): Sizes<S> {
    return this.cell.stateSize;
  }
  get outputSize(): number {
    return this.cell.outputSize;
  }
  override get trainableVariables(): Variable[] {
    return this.cell.trainableVariables;
  }
  override get nonTrainableVariables(): Variable[] {
    return this.cell.nonTrainableVariables;
  }
  override get variables(): Variable[] {
    return this.cell.variables;
  }
  override zeroState(batchSize: number | Tensor, dtype: DType): S {
    return nameScope(`${this.constructor.name}ZeroState`, () => this.cell.zeroState(batchSize, dtype));
  }
  override apply(inputs: TensorLike, state: S): CellStep<S> {
    return this.call(convertToTensor(inputs), state);
  }
}

export interface DropoutWrapperOptions {
  /** Probabilities with which elements are kept; 1 unless given. */
  readonly inputKeepProb?: number | Tensor | undefined;
  readonly outputKeepProb?: number | Tensor | undefined;
  readonly stateKeepProb?: number | Tensor | undefined;
  /** Drop the same elements in every step of a run. */
  readonly variationalRecurrent?: boolean | undefined;
  /** Width of the inputs, which `variationalRecurrent` must know. */
  readonly inputSize?: number | undefined;
  /** Type of inputs and states, which `variationalRecurrent` must know. */
  readonly dtype?: DType | undefined;
  readonly seed?: number | undefined;
  /** Whether a part of the state may be dropped, by its name in a record (`c` and `h`); not `c` unless given. */
  readonly dropoutStateFilter?: ((part: string) => boolean) | undefined;
}

type Place = 'input' | 'output' | 'state';

/**
 * A cell with dropout on its inputs, outputs or states.
 *
 * @example new tf.nn.rnnCell.DropoutWrapper(new tf.nn.rnnCell.GRUCell(20), { outputKeepProb: 0.5 })
 */
export class DropoutWrapper<S = Tensor> extends CellWrapper<S> {
  private readonly keep: Record<Place, number | Tensor>;
  private readonly noise = new Map<string, Tensor>();

  constructor(
    cell: RNNCell<S>,
    private readonly options: DropoutWrapperOptions = {},
  ) {
    super(cell);
    onlyOptions(
      'tf.nn.rnnCell.DropoutWrapper',
      options,
      'inputKeepProb',
      'outputKeepProb',
      'stateKeepProb',
      'variationalRecurrent',
      'inputSize',
      'dtype',
      'seed',
      'dropoutStateFilter',
    );
    const { inputKeepProb = 1, outputKeepProb = 1, stateKeepProb = 1 } = options;
    this.keep = {
      input: probability('input_keep_prob', inputKeepProb),
      state: probability('state_keep_prob', stateKeepProb),
      output: probability('output_keep_prob', outputKeepProb),
    };
    if (options.variationalRecurrent) this.drawNoise();
  }

  override call(inputs: Tensor, state: S): CellStep<S> {
    const [output, next] = this.cell.apply(this.drop(inputs, 'input', 0), state);
    return [this.drop(output, 'output', 0), this.dropState(next)];
  }

  private dropState(state: S): S {
    if (this.keep.state === 1) return state;
    const { dropoutStateFilter: mayDrop = (part) => part !== 'c' } = this.options;
    const parts = partNames(state);
    const dropped = flatten(state).map((t, i) => {
      if (t instanceof TensorArray) return t;
      const tensor = t as Tensor; // states consist of tensors and arrays of them
      return parts[i] !== undefined && !mayDrop(parts[i]) ? tensor : this.drop(tensor, 'state', i);
    });
    return packSequenceAs(state, dropped) as S; // the same structure
  }

  private drop(x: Tensor, place: Place, index: number): Tensor {
    const keep = this.keep[place];
    if (keep === 1) return x;
    const noise = this.noise.get(`${place}_${index}`);
    if (!noise) {
      const rate = typeof keep === 'number' ? 1 - keep : oneMinus(keep);
      return dropout(x, { rate, seed: this.seedFor(place, index) });
    }
    const result = divide(x, keep).mul(floor(noise.add(keep)));
    result.setShape(x.shape);
    return result;
  }

  /** The random numbers of `variationalRecurrent`, drawn once per run. */
  private drawNoise(): void {
    const { dtype, inputSize } = this.options;
    if (!dtype) throw userError('When variational_recurrent=True, dtype must be provided');
    if (this.keep.input !== 1 && inputSize === undefined)
      throw userError(
        'When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be provided',
      );
    const draw = (place: Place, index: number, size: number) =>
      this.noise.set(`${place}_${index}`, randomUniform([1, size], { dtype, seed: this.seedFor(place, index) }));
    if (this.keep.input !== 1) draw('input', 0, inputSize!);
    for (const [i, size] of flatten(this.cell.stateSize).entries()) draw('state', i, size as number); // sizes are numbers
    draw('output', 0, this.cell.outputSize);
  }

  /** Every place has a seed of its own, made from the given one as in TensorFlow. */
  private seedFor(place: Place, index: number): number | undefined {
    const { seed } = this.options;
    if (seed === undefined) return undefined;
    const digest = createHash('md5').update(`${seed}${place}_${index}`).digest('hex');
    return Number.parseInt(digest.slice(0, 8), 16) & 0x7fffffff;
  }
}

function probability(name: string, given: number | Tensor): number | Tensor {
  const known = typeof given === 'number' ? given : constantValue(given)?.numberAt(0);
  if (known !== undefined && !(known >= 0 && known <= 1))
    throw userError(`Parameter ${name} must be between 0 and 1: ${known}`);
  return known ?? given;
}

/** The key of each part of a state in the record it is in; undefined for parts that are in none. */
function partNames(state: unknown, name?: string): (string | undefined)[] {
  if (Array.isArray(state)) return state.flatMap((part) => partNames(part));
  if (isNested(state)) {
    const record = state as Readonly<Record<string, unknown>>; // a structure that is no list
    return Object.keys(record)
      .sort()
      .flatMap((key) => partNames(record[key], key));
  }
  return [name];
}

/**
 * A cell whose inputs are added to its outputs.
 *
 * @example new tf.nn.rnnCell.ResidualWrapper(new tf.nn.rnnCell.GRUCell(20))
 */
export class ResidualWrapper<S = Tensor> extends CellWrapper<S> {
  constructor(
    cell: RNNCell<S>,
    /** Joins inputs and outputs; their sum unless given. */
    private readonly residualFn?: (inputs: Tensor, outputs: Tensor) => Tensor,
  ) {
    super(cell);
  }

  override call(inputs: Tensor, state: S): CellStep<S> {
    const [output, next] = this.cell.apply(inputs, state);
    return [this.residualFn ? this.residualFn(inputs, output) : inputs.add(output), next];
  }
}

/**
 * A cell that runs on a device.
 *
 * @example new tf.nn.rnnCell.DeviceWrapper(new tf.nn.rnnCell.GRUCell(20), '/cpu:0')
 */
export class DeviceWrapper<S = Tensor> extends CellWrapper<S> {
  constructor(
    cell: RNNCell<S>,
    private readonly where: Parameters<typeof device>[0],
  ) {
    super(cell);
  }

  override zeroState(batchSize: number | Tensor, dtype: DType): S {
    return device(this.where, () => super.zeroState(batchSize, dtype));
  }

  override call(inputs: Tensor, state: S): CellStep<S> {
    return device(this.where, () => this.cell.apply(inputs, state));
  }
}
