/** @file Symbols as vectors: `embedSequence` and `bowEncoder` of `tf.contrib.layers`. */
import { checkOptions, type OptionNames } from '../../graph/options.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { gather, reshape, shape, unique } from '../../ops/array/index.ts';
import { reduceMean } from '../../ops/math/index.ts';
import { embeddingLookup, safeEmbeddingLookupSparse } from '../../ops/nn/index.ts';
import { getVariable } from '../variableScope.ts';
import type { Reuse, VariableInitializer } from '../variableStore.ts';
import { denseToSparse } from './features.ts';
import { modelVariables, scopeOf } from './model.ts';
import type { WeightsRegularizer } from './regularizers.ts';

export interface EmbedSequenceOptions {
  /** How many symbols there are. */
  readonly vocabSize?: number | undefined;
  /** How many numbers stand for a symbol. */
  readonly embedDim?: number | undefined;
  /** Looks each symbol up once, however often it occurs. */
  readonly unique?: boolean | undefined;
  readonly initializer?: VariableInitializer | undefined;
  readonly regularizer?: WeightsRegularizer | undefined;
  readonly trainable?: boolean | undefined;
  readonly scope?: string | undefined;
  readonly reuse?: Reuse | undefined;
}
const embedSequenceNames: OptionNames<EmbedSequenceOptions> = {
  vocabSize: true,
  embedDim: true,
  unique: true,
  initializer: true,
  regularizer: true,
  trainable: true,
  scope: true,
  reuse: true,
};

/**
 * Symbols, [batch, time], as vectors, [batch, time, embedDim]. Adds the variable `EmbedSequence/embeddings`.
 *
 * @example const x = tf.contrib.layers.embedSequence(ids, { vocabSize: 1000, embedDim: 64 });
 */
export function embedSequence(ids: TensorLike, options: EmbedSequenceOptions = {}): Tensor {
  checkOptions('tf.contrib.layers.embedSequence', options, embedSequenceNames);
  const { vocabSize, embedDim, reuse, scope, initializer, regularizer, trainable } = options;
  if (!reuse && (vocabSize === undefined || embedDim === undefined))
    throw userError('Must specify vocabSize and embedDim, unless the embeddings of another call are reused.');
  return scopeOf({ scope, reuse }, 'EmbedSequence', modelVariables(), () => {
    const dims = vocabSize === undefined || embedDim === undefined ? null : [vocabSize, embedDim];
    const embeddings = getVariable('embeddings', dims, { initializer, regularizer, trainable });
    if (!options.unique) return embeddingLookup(embeddings, ids);
    const symbols = convertToTensor(ids);
    const { y, idx } = unique(reshape(symbols, [-1]));
    return gather(embeddingLookup(embeddings, y), reshape(idx, shape(symbols)));
  });
}

export interface BowEncoderOptions extends Omit<EmbedSequenceOptions, 'vocabSize' | 'embedDim' | 'unique'> {
  /** Leaves out the symbol 0, which fills what is short, and takes sparse ids; true unless given. */
  readonly sparseLookup?: boolean | undefined;
}
const bowEncoderNames: OptionNames<BowEncoderOptions> = {
  sparseLookup: true,
  initializer: true,
  regularizer: true,
  trainable: true,
  scope: true,
  reuse: true,
};

/**
 * The mean of the vectors of all symbols of an example (a bag of words): [batch, time] becomes [batch, embedDim]. Adds the
 * variable `bow_encoder/embeddings`.
 *
 * @example const x = tf.contrib.layers.bowEncoder(ids, 1000, 64);
 */
export function bowEncoder(
  ids: TensorLike | SparseTensor,
  vocabSize: number,
  embedDim: number,
  options: BowEncoderOptions = {},
): Tensor {
  checkOptions('tf.contrib.layers.bowEncoder', options, bowEncoderNames);
  if (!vocabSize || !embedDim) throw userError('Must specify vocab size and embedding dimension');
  const { sparseLookup = true, initializer, regularizer, trainable } = options;
  return scopeOf(options, 'bow_encoder', modelVariables(), () => {
    const embeddings = getVariable('embeddings', [vocabSize, embedDim], { initializer, regularizer, trainable });
    if (sparseLookup) {
      const sparse = ids instanceof SparseTensor ? ids : denseToSparse(ids);
      return safeEmbeddingLookupSparse([embeddings], sparse, { combiner: 'mean', defaultId: 0 });
    }
    if (ids instanceof SparseTensor)
      throw userError('ids are sparse: leave sparseLookup: false out, or make them dense.');
    return reduceMean(embeddingLookup(embeddings, ids), 1);
  });
}
