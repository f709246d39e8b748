/** @file Helpers: where a decoder's inputs come from. This file has those that are told their inputs, or how to make them. */
import { type DType, int32 } from '../../../core/dtypes.ts';
import { type Dims, showTuple } from '../../../core/shape.ts';
import { onlyOptions } from '../../../graph/options.ts';
import { nameScope } from '../../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { fill, gather, shape, size, transpose } from '../../../ops/array/index.ts';
import { argmax, equal, reduceAll, zerosLike } from '../../../ops/math/index.ts';
import { cond } from '../../controlFlow/cond.ts';

/** The inputs of the first step. */
export interface FirstInputs {
  /** Which examples have no step at all. */
  readonly finished: Tensor;
  readonly inputs: Tensor;
}
/** What a helper says about the next step. */
export interface NextInputs<S = never> extends FirstInputs {
  /** The state to go on with, where it is another than the cell's. */
  readonly state?: S | undefined;
}

/** Chooses symbols from a decoder's outputs and the inputs of its next step. `S` is the state, for helpers that look at it. */
export abstract class Helper<S = never> {
  abstract readonly batchSize: number | Tensor;
  /** The shape of one sample; a single number unless given. */
  readonly sampleIdsShape: Dims = [];
  /** The type of the samples; int32 unless given. */
  readonly sampleIdsDtype: DType = int32;
  /** The inputs of the first step, and which examples have none at all. */
  abstract initialize(): FirstInputs;
  /** The symbols that outputs stand for, [batch, …]. */
  abstract sample(time: Tensor, outputs: Tensor, state: S): Tensor;
  abstract nextInputs(time: Tensor, outputs: Tensor, state: S, sampleIds: Tensor): NextInputs<S>;
}

/** How many examples there are, where each has a row. */
export function rowsOf(t: Tensor): number | Tensor {
  return t.shape?.[0] ?? shape(t).slice('0');
}

export interface TrainingHelperOptions {
  /** Inputs are [time, batch, depth] rather than [batch, time, depth]. */
  readonly timeMajor?: boolean | undefined;
  readonly name?: string | undefined;
}

/**
 * Feeds the decoder with what it should have written: for training.
 *
 * @example new tf.contrib.seq2seq.TrainingHelper(embeddedTargets, lengths)
 */
export class TrainingHelper extends Helper {
  readonly batchSize: number | Tensor;
  /** The inputs as they were given. */
  readonly inputs: Tensor;
  readonly sequenceLength: Tensor;
  /** The inputs, [time, batch, depth]. */
  protected readonly steps: Tensor;
  private readonly zeroInputs: Tensor;

  constructor(inputs: TensorLike, sequenceLength: TensorLike, options: TrainingHelperOptions = {}) {
    super();
    const { name, timeMajor } = onlyOptions('tf.contrib.seq2seq.TrainingHelper', options, 'timeMajor', 'name');
    const made = nameScope(name ?? 'TrainingHelper', () => {
      const given = convertToTensor(inputs, { name: 'inputs' });
      const steps = timeFirst(given, timeMajor);
      const lengths = convertToTensor(sequenceLength, { name: 'sequence_length', dtype: int32 });
      if (lengths.rank !== 1)
        throw userError(`Expected sequenceLength to be a vector, but received shape: ${showTuple(lengths.shape)}`);
      return { given, steps, lengths, zero: zerosLike(gather(steps, 0)), rows: rowsOf(lengths) };
    });
    this.inputs = made.given;
    this.steps = made.steps;
    this.sequenceLength = made.lengths;
    this.zeroInputs = made.zero;
    this.batchSize = made.rows;
  }

  override initialize(): FirstInputs {
    return nameScope('TrainingHelperInitialize', () => {
      const finished = equal(0, this.sequenceLength);
      return { finished, inputs: this.inputsAt(convertToTensor(0), reduceAll(finished)) };
    });
  }

  override sample(_time: Tensor, outputs: Tensor): Tensor {
    return nameScope('TrainingHelperSample', () => argmax(outputs, { axis: -1, outputType: int32 }));
  }

  override nextInputs(time: Tensor, _outputs: Tensor, _state: never, _sampleIds: Tensor): NextInputs {
    return nameScope('TrainingHelperNextInputs', () => {
      const next = time.add(1);
      const finished = next.greaterEqual(this.sequenceLength);
      return { finished, inputs: this.inputsAt(next, reduceAll(finished)) };
    });
  }

  /** The inputs of a step; when all examples are finished there may be none left. */
  private inputsAt(time: Tensor, allFinished: Tensor): Tensor {
    const inputs = cond(
      allFinished,
      () => this.zeroInputs,
      () => gather(this.steps, time),
    );
    inputs.setShape(this.steps.shape!.slice(1));
    return inputs;
  }
}

/** Sequences as [time, batch, …]. */
export function timeFirst(given: Tensor, timeMajor = false): Tensor {
  if (given.shape === null || given.shape.length < 2)
    throw userError(
      `Expected ${given.name} to be sequences, [batch, time, …] or with timeMajor [time, batch, …], but saw shape: ${showTuple(given.shape)}. Where the rank is unknown, use setShape.`,
    );
  return timeMajor ? given : transpose(given, [1, 0, ...given.shape.slice(2).map((_, i) => i + 2)]);
}

export interface CustomHelperOptions {
  /** The shape of one sample; a single number unless given. */
  readonly sampleIdsShape?: Dims | undefined;
  /** The type of the samples; int32 unless given. */
  readonly sampleIdsDtype?: DType | undefined;
}

/**
 * A helper made of three functions. Those of a step see the cell's state, and the last may give another one to go on with.
 *
 * @example
 * const first = () => ({ finished, inputs });
 * new tf.contrib.seq2seq.CustomHelper(first, (time, outputs) => ids, (time, outputs, state, ids) => ({ finished, inputs }))
 */
export class CustomHelper<S = never> extends Helper<S> {
  override readonly sampleIdsShape: Dims;
  override readonly sampleIdsDtype: DType;
  private rows: Tensor | undefined;

  constructor(
    private readonly initializeFn: () => FirstInputs,
    private readonly sampleFn: (time: Tensor, outputs: Tensor, state: S) => Tensor,
    private readonly nextInputsFn: (time: Tensor, outputs: Tensor, state: S, sampleIds: Tensor) => NextInputs<S>,
    options: CustomHelperOptions = {},
  ) {
    super();
    const given = onlyOptions('tf.contrib.seq2seq.CustomHelper', options, 'sampleIdsShape', 'sampleIdsDtype');
    this.sampleIdsShape = given.sampleIdsShape ?? [];
    this.sampleIdsDtype = given.sampleIdsDtype ?? int32;
  }

  /** Known once `initialize` has been called, as `tf.contrib.seq2seq.dynamicDecode` does. */
  override get batchSize(): Tensor {
    if (!this.rows) throw userError('batchSize accessed before initialize was called');
    return this.rows;
  }

  override initialize(): FirstInputs {
    return nameScope(`${this.constructor.name}Initialize`, () => {
      const first = this.initializeFn();
      this.rows ??= size(first.finished);
      return first;
    });
  }
  override sample(time: Tensor, outputs: Tensor, state: S): Tensor {
    return nameScope(`${this.constructor.name}Sample`, () => this.sampleFn(time, outputs, state));
  }
  override nextInputs(time: Tensor, outputs: Tensor, state: S, sampleIds: Tensor): NextInputs<S> {
    const name = `${this.constructor.name}NextInputs`;
    return nameScope(name, () => this.nextInputsFn(time, outputs, state, sampleIds));
  }
}

export interface InferenceHelperOptions {
  /** Turns samples into inputs; they are inputs themselves unless given. */
  readonly nextInputsFn?: ((samples: Tensor) => Tensor) | undefined;
}

/**
 * Feeds the decoder with what `sampleFn` makes of its outputs, samples of a shape and a type, until `endFn` says of each
 * example that it is over.
 *
 * @example
 * const isOver = (samples: tf.Tensor) => tf.less(samples.slice(':, 0'), 0);
 * new tf.contrib.seq2seq.InferenceHelper((outputs) => outputs, [6], tf.float32, startInputs, isOver)
 */
export class InferenceHelper extends Helper {
  readonly batchSize: number | Tensor;
  private readonly startInputs: Tensor;

  constructor(
    private readonly sampleFn: (outputs: Tensor) => Tensor,
    override readonly sampleIdsShape: Dims,
    override readonly sampleIdsDtype: DType,
    startInputs: TensorLike,
    private readonly endFn: (samples: Tensor) => Tensor,
    private readonly options: InferenceHelperOptions = {},
  ) {
    super();
    onlyOptions('tf.contrib.seq2seq.InferenceHelper', options, 'nextInputsFn');
    this.startInputs = convertToTensor(startInputs, { name: 'start_inputs' });
    this.batchSize = rowsOf(this.startInputs);
  }

  override initialize(): FirstInputs {
    return { finished: fill([this.batchSize], false), inputs: this.startInputs };
  }
  override sample(_time: Tensor, outputs: Tensor): Tensor {
    return this.sampleFn(outputs);
  }
  override nextInputs(_time: Tensor, _outputs: Tensor, _state: never, sampleIds: Tensor): NextInputs {
    const { nextInputsFn } = this.options;
    const inputs = nextInputsFn ? nextInputsFn(sampleIds) : sampleIds;
    return { finished: this.endFn(sampleIds), inputs };
  }
}
