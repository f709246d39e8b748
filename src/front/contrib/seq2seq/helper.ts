/** @file Helpers: where a decoder's inputs come from, in training and when it writes by itself. */
import { type DType, float32, int32 } from '../../../core/dtypes.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { concat, fill, gather, shape, transpose } from '../../../ops/array/index.ts';
import { argmax, cast, equal, minimum, reduceAll, where } from '../../../ops/math/index.ts';
import { embeddingLookup } from '../../../ops/nn/index.ts';
import { multinomial, randomUniform } from '../../../ops/random/index.ts';
import { cond } from '../../controlFlow/cond.ts';

/** What a helper says about the next step. */
export interface NextInputs {
  readonly finished: Tensor;
  readonly inputs: Tensor;
}

/** Chooses symbols from a decoder's outputs and the inputs of its next step. */
export interface Helper {
  readonly batchSize: number | Tensor;
  /** The type of the samples; int32 unless given. */
  readonly sampleIdsDtype?: DType | undefined;
  /** The inputs of the first step, and which examples have none at all. */
  initialize(): NextInputs;
  /** The symbols that outputs stand for, [batch]. */
  sample(time: Tensor, outputs: Tensor): Tensor;
  nextInputs(time: Tensor, outputs: Tensor, sampleIds: Tensor): NextInputs;
}

export interface TrainingHelperOptions {
  /** Inputs are [time, batch, depth] rather than [batch, time, depth]. */
  readonly timeMajor?: boolean | undefined;
}

/**
 * Feeds the decoder with what it should have written: for training.
 *
 * @example new tf.contrib.seq2seq.TrainingHelper(embeddedTargets, lengths)
 */
export class TrainingHelper implements Helper {
  readonly batchSize: number | Tensor;
  protected readonly steps: Tensor;
  protected readonly lengths: Tensor;
  private readonly zeroInputs: Tensor;

  constructor(inputs: TensorLike, sequenceLength: TensorLike, options: TrainingHelperOptions = {}) {
    onlyOptions('tf.contrib.seq2seq.TrainingHelper', options, 'timeMajor');
    const given = convertToTensor(inputs);
    this.steps = timeFirst(given, options.timeMajor);
    this.lengths = convertToTensor(sequenceLength, { dtype: int32 });
    this.batchSize = this.lengths.shape?.[0] ?? shape(this.lengths).slice('0');
    this.zeroInputs = gather(this.steps, 0).mul(0);
  }

  initialize(): NextInputs {
    const finished = equal(0, this.lengths);
    return { finished, inputs: this.inputsAt(convertToTensor(0), reduceAll(finished)) };
  }

  sample(_time: Tensor, outputs: Tensor): Tensor {
    return argmax(outputs, { axis: -1, outputType: int32 });
  }

  nextInputs(time: Tensor, _outputs: Tensor, _sampleIds: Tensor): NextInputs {
    const next = time.add(1);
    const finished = next.greaterEqual(this.lengths);
    return { finished, inputs: this.inputsAt(next, reduceAll(finished)) };
  }

  /** The inputs of a step; when all examples are finished there may be none left. */
  protected inputsAt(time: Tensor, allFinished: Tensor): Tensor {
    const inputs = cond(
      allFinished,
      () => this.zeroInputs,
      () => stepOf(this.steps, time),
    );
    inputs.setShape(this.steps.shape!.slice(1));
    return inputs;
  }
}

/** Sequences as [time, batch, …]. */
function timeFirst(given: Tensor, timeMajor = false): Tensor {
  return timeMajor ? given : transpose(given, [1, 0, ...given.shape!.slice(2).map((_, i) => i + 2)]);
}

/** What sequences have at a time, or at their last where they are over. */
function stepOf(steps: Tensor, time: Tensor): Tensor {
  return gather(steps, minimum(time, shape(steps).slice('0').sub(1)));
}

/** Maps symbols to inputs: a matrix of embeddings, or a function. */
export type Embedding = TensorLike | ((ids: Tensor) => Tensor);

/** Symbols as inputs. */
export function embed(embedding: Embedding, ids: Tensor): Tensor {
  return typeof embedding === 'function' ? embedding(ids) : embeddingLookup(embedding, ids);
}

/**
 * Feeds the decoder with its own best guesses, from `startTokens` on until `endToken`: for writing.
 *
 * @example new tf.contrib.seq2seq.GreedyEmbeddingHelper(embedding, tf.fill([batch], GO), END)
 */
export class GreedyEmbeddingHelper implements Helper {
  readonly batchSize: number | Tensor;
  private readonly start: Tensor;
  private readonly startInputs: Tensor;

  constructor(
    private readonly embedding: Embedding,
    startTokens: TensorLike,
    private readonly endToken: TensorLike,
  ) {
    this.start = convertToTensor(startTokens, { dtype: int32 });
    this.startInputs = embed(embedding, this.start);
    this.batchSize = this.start.shape?.[0] ?? shape(this.start).slice('0');
  }

  initialize(): NextInputs {
    return { finished: fill([this.batchSize], false), inputs: this.startInputs };
  }

  sample(_time: Tensor, outputs: Tensor): Tensor {
    return argmax(outputs, { axis: -1, outputType: int32 });
  }

  nextInputs(_time: Tensor, _outputs: Tensor, sampleIds: Tensor): NextInputs {
    const finished = equal(sampleIds, this.endToken);
    const inputs = cond(
      reduceAll(finished),
      () => this.startInputs,
      () => embed(this.embedding, sampleIds),
    );
    inputs.setShape(this.startInputs.shape);
    return { finished, inputs };
  }
}

export interface SampleOptions {
  /** Divides the scores; above 1 the choice is freer. */
  readonly softmaxTemperature?: number | Tensor | undefined;
  readonly seed?: number | undefined;
}

/**
 * Like `GreedyEmbeddingHelper`, but symbols are drawn by their probabilities.
 *
 * @example new tf.contrib.seq2seq.SampleEmbeddingHelper(embedding, starts, END, { softmaxTemperature: 0.8 })
 */
export class SampleEmbeddingHelper extends GreedyEmbeddingHelper {
  constructor(
    embedding: Embedding,
    startTokens: TensorLike,
    endToken: TensorLike,
    private readonly options: SampleOptions = {},
  ) {
    super(embedding, startTokens, endToken);
    onlyOptions('tf.contrib.seq2seq.SampleEmbeddingHelper', options, 'softmaxTemperature', 'seed');
  }

  override sample(_time: Tensor, outputs: Tensor): Tensor {
    return drawn(outputs, this.options);
  }
}

function drawn(outputs: Tensor, { softmaxTemperature, seed }: SampleOptions): Tensor {
  const scores = softmaxTemperature === undefined ? outputs : outputs.div(softmaxTemperature);
  const ids = multinomial(scores, 1, { seed, outputDtype: int32 });
  return ids.slice(':, 0');
}

export interface ScheduledOptions extends TrainingHelperOptions {
  readonly seed?: number | undefined;
}
export interface ScheduledEmbeddingOptions extends ScheduledOptions {
  /** The seed of the choice whether a symbol is drawn; `seed` is that of the symbols. */
  readonly schedulingSeed?: number | undefined;
}

/**
 * Training inputs, some of which are replaced by the decoder's own symbols, with a given probability (scheduled sampling).
 *
 * @example new tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper(inputs, lengths, embedding, 0.1)
 */
export class ScheduledEmbeddingTrainingHelper extends TrainingHelper {
  constructor(
    inputs: TensorLike,
    sequenceLength: TensorLike,
    private readonly embedding: Embedding,
    private readonly samplingProbability: TensorLike,
    private readonly scheduled: ScheduledEmbeddingOptions = {},
  ) {
    const names = ['timeMajor', 'seed', 'schedulingSeed'] as const;
    onlyOptions('tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper', scheduled, ...names);
    super(inputs, sequenceLength, { timeMajor: scheduled.timeMajor });
  }

  /** The symbol drawn where the decoder's own is used, -1 where the training input is. */
  override sample(_time: Tensor, outputs: Tensor): Tensor {
    const ids = drawn(outputs, { seed: this.scheduled.seed });
    const choice = randomUniform(shape(ids), { dtype: float32, seed: this.scheduled.schedulingSeed });
    const own = choice.less(this.samplingProbability);
    return where(own, ids, cast(ids, int32).mul(0).sub(1));
  }

  override nextInputs(time: Tensor, outputs: Tensor, sampleIds: Tensor): NextInputs {
    const { finished, inputs } = super.nextInputs(time, outputs, sampleIds);
    const own = sampleIds.greaterEqual(0);
    const chosen = where(own, embed(this.embedding, where(own, sampleIds, sampleIds.mul(0))), inputs);
    chosen.setShape(inputs.shape);
    return { finished, inputs: chosen };
  }
}

export interface ScheduledOutputOptions extends ScheduledOptions {
  /** Turns outputs into inputs; they are inputs themselves unless given. */
  readonly nextInputsFn?: ((outputs: Tensor) => Tensor) | undefined;
  /** Joined to the inputs, and to the outputs that take their place, along the last axis. */
  readonly auxiliaryInputs?: TensorLike | undefined;
}

/**
 * Training inputs, some of which are replaced by the decoder's own outputs, with a given probability. The samples say which.
 *
 * @example new tf.contrib.seq2seq.ScheduledOutputTrainingHelper(inputs, lengths, 0.1)
 */
export class ScheduledOutputTrainingHelper extends TrainingHelper {
  private readonly auxiliary: Tensor | undefined;

  constructor(
    inputs: TensorLike,
    sequenceLength: TensorLike,
    private readonly samplingProbability: TensorLike,
    private readonly scheduled: ScheduledOutputOptions = {},
  ) {
    const names = ['timeMajor', 'seed', 'nextInputsFn', 'auxiliaryInputs'] as const;
    onlyOptions('tf.contrib.seq2seq.ScheduledOutputTrainingHelper', scheduled, ...names);
    const { timeMajor, auxiliaryInputs } = scheduled;
    const more = auxiliaryInputs === undefined ? undefined : convertToTensor(auxiliaryInputs);
    super(more ? concat([convertToTensor(inputs), more], -1) : inputs, sequenceLength, { timeMajor });
    this.auxiliary = more && timeFirst(more, timeMajor);
  }

  /** 1 where the decoder's own output is used, 0 where the training input is. */
  override sample(_time: Tensor, outputs: Tensor): Tensor {
    const rows = shape(outputs).slice(':1');
    const drawn = randomUniform(rows, { dtype: float32, seed: this.scheduled.seed });
    return cast(drawn.less(this.samplingProbability), int32);
  }

  override nextInputs(time: Tensor, outputs: Tensor, sampleIds: Tensor): NextInputs {
    const { finished, inputs } = super.nextInputs(time, outputs, sampleIds);
    const made = this.scheduled.nextInputsFn ? this.scheduled.nextInputsFn(outputs) : outputs;
    const { auxiliary } = this;
    const own = auxiliary ? concat([made, stepOf(auxiliary, time.add(1))], -1) : made;
    const chosen = where(equal(sampleIds, 1), own, inputs);
    chosen.setShape(inputs.shape);
    return { finished, inputs: chosen };
  }
}

/**
 * A helper made of three functions.
 *
 * @example new tf.contrib.seq2seq.CustomHelper(() => ({ finished, inputs }), (time, outputs) => ids, (time, outputs, ids) => next)
 */
export class CustomHelper implements Helper {
  readonly batchSize: number | Tensor;
  private readonly first: NextInputs;

  constructor(
    initializeFn: () => NextInputs,
    private readonly sampleFn: (time: Tensor, outputs: Tensor) => Tensor,
    private readonly nextInputsFn: (time: Tensor, outputs: Tensor, sampleIds: Tensor) => NextInputs,
  ) {
    this.first = initializeFn();
    this.batchSize = this.first.finished.shape?.[0] ?? shape(this.first.finished).slice('0');
  }

  initialize(): NextInputs {
    return this.first;
  }
  sample(time: Tensor, outputs: Tensor): Tensor {
    return this.sampleFn(time, outputs);
  }
  nextInputs(time: Tensor, outputs: Tensor, sampleIds: Tensor): NextInputs {
    return this.nextInputsFn(time, outputs, sampleIds);
  }
}

export interface InferenceHelperOptions {
  /** The type of the samples; float32 unless given. */
  readonly sampleDtype?: DType | undefined;
  /** Turns samples into inputs; they are inputs themselves unless given. */
  readonly nextInputsFn?: ((samples: Tensor) => Tensor) | undefined;
}

/**
 * Feeds the decoder with what `sampleFn` makes of its outputs, until `endFn` says of each example that it is over.
 *
 * @example new tf.contrib.seq2seq.InferenceHelper((outputs) => outputs, startInputs, (samples) => tf.less(samples.slice(':, 0'), 0))
 */
export class InferenceHelper implements Helper {
  readonly batchSize: number | Tensor;
  private readonly start: Tensor;

  constructor(
    private readonly sampleFn: (outputs: Tensor) => Tensor,
    startInputs: TensorLike,
    private readonly endFn: (samples: Tensor) => Tensor,
    private readonly options: InferenceHelperOptions = {},
  ) {
    onlyOptions('tf.contrib.seq2seq.InferenceHelper', options, 'nextInputsFn', 'sampleDtype');
    this.start = convertToTensor(startInputs);
    this.batchSize = this.start.shape?.[0] ?? shape(this.start).slice('0');
  }

  get sampleIdsDtype(): DType {
    return this.options.sampleDtype ?? float32;
  }

  initialize(): NextInputs {
    return { finished: fill([this.batchSize], false), inputs: this.start };
  }
  sample(_time: Tensor, outputs: Tensor): Tensor {
    return this.sampleFn(outputs);
  }
  nextInputs(_time: Tensor, _outputs: Tensor, sampleIds: Tensor): NextInputs {
    const { nextInputsFn } = this.options;
    return {
      finished: this.endFn(sampleIds),
      inputs: nextInputsFn ? nextInputsFn(sampleIds) : sampleIds,
    };
  }
}
