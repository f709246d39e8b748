/** @file Scheduled sampling: training inputs, some of which are replaced by what the decoder itself has written. */
import { float32, int32 } from '../../../core/dtypes.ts';
import { showTuple } from '../../../core/shape.ts';
import { onlyOptions } from '../../../graph/options.ts';
import { nameScope } from '../../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { concat, gather, shape } from '../../../ops/array/index.ts';
import { cast, equal, minimum, onesLike, where, zerosLike } from '../../../ops/math/index.ts';
import { randomUniform } from '../../../ops/random/index.ts';
import { drawn, type Embedding, embed } from './embeddingHelpers.ts';
import { type NextInputs, TrainingHelper, type TrainingHelperOptions, timeFirst } from './helper.ts';

export interface ScheduledOptions extends TrainingHelperOptions {
  readonly seed?: number | undefined;
}
export interface ScheduledEmbeddingOptions extends ScheduledOptions {
  /** The seed of the choice whether a symbol is drawn; `seed` is that of the symbols. */
  readonly schedulingSeed?: number | undefined;
}

/** One probability for all examples, or one for each. */
function checkedProbability(given: TensorLike): Tensor {
  const probability = convertToTensor(given, { name: 'sampling_probability', hint: float32 });
  if (probability.rank !== 0 && probability.rank !== 1)
    throw userError(
      `samplingProbability must be either a scalar or a vector. saw shape: ${showTuple(probability.shape)}`,
    );
  return probability;
}

/**
 * Training inputs, some of which are replaced by the decoder's own symbols, with a given probability (scheduled sampling).
 *
 * @example new tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper(inputs, lengths, embedding, 0.1)
 */
export class ScheduledEmbeddingTrainingHelper extends TrainingHelper {
  private readonly probability: Tensor;

  constructor(
    inputs: TensorLike,
    sequenceLength: TensorLike,
    private readonly embedding: Embedding,
    samplingProbability: TensorLike,
    private readonly scheduled: ScheduledEmbeddingOptions = {},
  ) {
    const names = ['timeMajor', 'seed', 'schedulingSeed', 'name'] as const;
    onlyOptions('tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper', scheduled, ...names);
    const { name = 'ScheduledEmbeddingSamplingWrapper', timeMajor } = scheduled;
    const probability = nameScope(name, () => checkedProbability(samplingProbability));
    super(inputs, sequenceLength, { timeMajor, name });
    this.probability = probability;
  }

  /** The symbol drawn where the decoder's own is used, -1 where the training input is. */
  override sample(_time: Tensor, outputs: Tensor): Tensor {
    return nameScope('ScheduledEmbeddingTrainingHelperSample', () => {
      const ids = drawn(outputs, { seed: this.scheduled.seed });
      const choice = randomUniform(shape(ids), {
        dtype: this.probability.dtype,
        seed: this.scheduled.schedulingSeed,
      });
      return where(choice.less(this.probability), ids, onesLike(ids).neg());
    });
  }

  override nextInputs(time: Tensor, outputs: Tensor, state: never, sampleIds: Tensor): NextInputs {
    return nameScope('ScheduledEmbeddingTrainingHelperNextInputs', () => {
      const { finished, inputs } = super.nextInputs(time, outputs, state, sampleIds);
      const own = sampleIds.greaterEqual(0);
      const chosen = where(own, embed(this.embedding, where(own, sampleIds, zerosLike(sampleIds))), inputs);
      chosen.setShape(inputs.shape);
      return { finished, inputs: chosen };
    });
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
  private readonly probability: Tensor;

  constructor(
    inputs: TensorLike,
    sequenceLength: TensorLike,
    samplingProbability: TensorLike,
    private readonly scheduled: ScheduledOutputOptions = {},
  ) {
    const names = ['timeMajor', 'seed', 'nextInputsFn', 'auxiliaryInputs', 'name'] as const;
    onlyOptions('tf.contrib.seq2seq.ScheduledOutputTrainingHelper', scheduled, ...names);
    const { timeMajor, auxiliaryInputs, name = 'ScheduledOutputTrainingHelper' } = scheduled;
    const { probability, joined, auxiliary } = nameScope(name, () => {
      const probability = checkedProbability(samplingProbability);
      if (auxiliaryInputs === undefined) return { probability, joined: inputs };
      const more = convertToTensor(auxiliaryInputs, { name: 'auxiliary_inputs' });
      const joined = concat([convertToTensor(inputs, { name: 'inputs' }), more], -1);
      return { probability, joined, auxiliary: timeFirst(more, timeMajor) };
    });
    super(joined, sequenceLength, { timeMajor, name });
    this.probability = probability;
    this.auxiliary = auxiliary;
  }

  /** 1 where the decoder's own output is used, 0 where the training input is. */
  override sample(_time: Tensor, outputs: Tensor): Tensor {
    return nameScope('ScheduledOutputTrainingHelperSample', () => {
      const { dtype } = this.probability;
      const choice = randomUniform(shape(outputs).slice(':1'), { dtype, seed: this.scheduled.seed });
      return cast(choice.less(this.probability), int32);
    });
  }

  override nextInputs(time: Tensor, outputs: Tensor, state: never, sampleIds: Tensor): NextInputs {
    return nameScope('ScheduledOutputTrainingHelperNextInputs', () => {
      const { finished, inputs } = super.nextInputs(time, outputs, state, sampleIds);
      const made = this.scheduled.nextInputsFn ? this.scheduled.nextInputsFn(outputs) : outputs;
      const { auxiliary } = this;
      const own = auxiliary ? concat([made, atOrLast(auxiliary, time.add(1))], -1) : made;
      const chosen = where(equal(sampleIds, 1), own, inputs);
      chosen.setShape(inputs.shape);
      return { finished, inputs: chosen };
    });
  }
}

/** What sequences have at a time, or at their last where all are over, and nobody looks at it any more. */
function atOrLast(steps: Tensor, time: Tensor): Tensor {
  return gather(steps, minimum(time, shape(steps).slice('0').sub(1)));
}
