/** @file Helpers that feed a decoder with its own symbols: for writing. */
import { int32 } from '../../../core/dtypes.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { fill } from '../../../ops/array/index.ts';
import { argmax, equal, reduceAll } from '../../../ops/math/index.ts';
import { embeddingLookup } from '../../../ops/nn/index.ts';
import { multinomial } from '../../../ops/random/index.ts';
import { cond } from '../../controlFlow/cond.ts';
import { type FirstInputs, Helper, type NextInputs, rowsOf } from './helper.ts';

/** Maps symbols to inputs: a matrix of embeddings, or a function. */
export type Embedding = TensorLike | ((ids: Tensor) => Tensor);

/** Symbols as inputs. */
export function embed(embedding: Embedding, ids: Tensor): Tensor {
  return typeof embedding === 'function' ? embedding(ids) : embeddingLookup(embedding, ids);
}

/** The symbols that sequences begin with, [batch], and the one that ends them. */
export function checkedTokens(startTokens: TensorLike, endToken: TensorLike): { start: Tensor; end: Tensor } {
  const start = convertToTensor(startTokens, { dtype: int32, name: 'start_tokens' });
  if (start.rank !== 1) throw userError('startTokens must be a vector');
  const end = convertToTensor(endToken, { dtype: int32, name: 'end_token' });
  if (end.rank !== 0) throw userError('endToken must be a scalar');
  return { start, end };
}

/**
 * Feeds the decoder with its own best guesses, from `startTokens` on until `endToken`: for writing.
 *
 * @example new tf.contrib.seq2seq.GreedyEmbeddingHelper(embedding, tf.fill([batch], GO), END)
 */
export class GreedyEmbeddingHelper extends Helper {
  readonly batchSize: number | Tensor;
  private readonly end: Tensor;
  private readonly startInputs: Tensor;

  constructor(
    private readonly embedding: Embedding,
    startTokens: TensorLike,
    endToken: TensorLike,
  ) {
    super();
    const { start, end } = checkedTokens(startTokens, endToken);
    this.end = end;
    this.startInputs = embed(embedding, start);
    this.batchSize = rowsOf(start);
  }

  override initialize(): FirstInputs {
    return { finished: fill([this.batchSize], false), inputs: this.startInputs };
  }

  override sample(_time: Tensor, outputs: Tensor): Tensor {
    return argmax(outputs, { axis: -1, outputType: int32 });
  }

  override nextInputs(_time: Tensor, _outputs: Tensor, _state: never, sampleIds: Tensor): NextInputs {
    const finished = equal(sampleIds, this.end);
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

/** Symbols drawn by their scores. */
export function drawn(outputs: Tensor, { softmaxTemperature, seed }: SampleOptions): Tensor {
  const scores = softmaxTemperature === undefined ? outputs : outputs.div(softmaxTemperature);
  const ids = multinomial(scores, 1, { seed, outputDtype: int32 });
  return ids.slice(':, 0');
}
