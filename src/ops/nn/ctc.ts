/** @file The CTC functions of tf.nn, whose labels are sparse tensors. */
import * as d from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { transpose } from '../array/transpose.ts';
import { cast } from '../math/cast.ts';
import { CTCBeamSearchDecoder, CTCGreedyDecoder, CTCLoss } from './ctcOps.ts';

export interface CtcLossOptions {
  /** Repeated labels become one before the loss is computed. */
  readonly preprocessCollapseRepeated?: boolean | undefined;
  /** Repeated labels without a blank between them are merged while decoding; true unless given. */
  readonly ctcMergeRepeated?: boolean | undefined;
  /** Sequences with more labels than steps have loss 0 instead of being an error. */
  readonly ignoreLongerOutputsThanInputs?: boolean | undefined;
  /** Whether steps come before examples in the logits; true unless given. */
  readonly timeMajor?: boolean | undefined;
}

/**
 * The CTC loss of each example: minus the log probability of its labels, over all ways to place them in time. The last
 * class is the blank. Adds one `CTCLoss` node.
 *
 * @example tf.nn.ctcLoss(labels, logits, sequenceLength)
 */
export function ctcLoss(
  labels: SparseTensor,
  inputs: TensorLike,
  sequenceLength: TensorLike,
  options: CtcLossOptions = {},
): Tensor {
  const names = [
    ...(['preprocessCollapseRepeated', 'ctcMergeRepeated', 'ignoreLongerOutputsThanInputs', 'timeMajor'] as const),
  ];
  const given = onlyOptions('tf.nn.ctcLoss', options, ...names);
  if (!(labels instanceof SparseTensor))
    throw userError(`Expected argument labels to be a SparseTensor, but got ${labels}.`);
  const logits = convertToTensor(inputs, { name: 'logits' });
  const steps = given.timeMajor === false ? transpose(logits, [1, 0, 2]) : logits;
  const isHalf = logits.dtype === d.float16 || logits.dtype === d.bfloat16;
  const { loss } = CTCLoss.build(
    {
      inputs: isHalf ? cast(steps, d.float32) : steps,
      labels_indices: labels.indices,
      labels_values: labels.values,
      sequence_length: sequenceLength,
    },
    {
      attrs: {
        preprocess_collapse_repeated: given.preprocessCollapseRepeated ?? false,
        ctc_merge_repeated: given.ctcMergeRepeated ?? true,
        ignore_longer_outputs_than_inputs: given.ignoreLongerOutputsThanInputs ?? false,
      },
    },
  );
  return isHalf ? cast(loss, logits.dtype) : loss;
}

/** Decoded sequences, the likeliest first, and a score of each for every example. */
export type Decoded = readonly [decoded: readonly SparseTensor[], scores: Tensor];

/**
 * The likeliest class of every step, without blanks. The scores are the sums of the negative logits of these classes.
 * Adds one `CTCGreedyDecoder` node.
 *
 * @example const [[labels], scores] = tf.nn.ctcGreedyDecoder(logits, sequenceLength)
 */
export function ctcGreedyDecoder(
  inputs: TensorLike,
  sequenceLength: TensorLike,
  options: { readonly mergeRepeated?: boolean | undefined; readonly blankIndex?: number | null | undefined } = {},
): Decoded {
  const { mergeRepeated, blankIndex } = onlyOptions('tf.nn.ctcGreedyDecoder', options, 'mergeRepeated', 'blankIndex');
  const { decoded_indices, decoded_values, decoded_shape, log_probability } = CTCGreedyDecoder.build(
    { inputs, sequence_length: sequenceLength },
    { attrs: { merge_repeated: mergeRepeated ?? true, blank_index: blankIndex ?? -1 } },
  );
  return [[new SparseTensor(decoded_indices, decoded_values, decoded_shape)], log_probability];
}

interface BeamSearchOptions {
  /** How many beginnings of sequences are kept, 100 unless given. */
  readonly beamWidth?: number | undefined;
  /** How many sequences are given, 1 unless given. */
  readonly topPaths?: number | undefined;
}

/**
 * The likeliest label sequences, by beam search, and their log probabilities. Adds one `CTCBeamSearchDecoder` node.
 *
 * @example const [[labels], logProbability] = tf.nn.ctcBeamSearchDecoder(logits, sequenceLength)
 */
export function ctcBeamSearchDecoder(
  inputs: TensorLike,
  sequenceLength: TensorLike,
  options: BeamSearchOptions & { readonly mergeRepeated?: boolean | undefined } = {},
): Decoded {
  const names = ['beamWidth', 'topPaths', 'mergeRepeated'] as const;
  const { beamWidth, topPaths, mergeRepeated } = onlyOptions('tf.nn.ctcBeamSearchDecoder', options, ...names);
  const attrs = { beam_width: beamWidth ?? 100, top_paths: topPaths ?? 1, merge_repeated: mergeRepeated ?? true };
  const found = CTCBeamSearchDecoder.build({ inputs, sequence_length: sequenceLength }, { attrs });
  const paths = found.decoded_indices.map(
    (indices, i) => new SparseTensor(indices, found.decoded_values[i]!, found.decoded_shape[i]!),
  );
  return [paths, found.log_probability];
}

/**
 * The likeliest label sequences, by beam search; repeated labels stay. Adds one `CTCBeamSearchDecoder` node.
 *
 * @example const [[labels], logProbability] = tf.nn.ctcBeamSearchDecoderV2(logits, sequenceLength)
 */
export function ctcBeamSearchDecoderV2(
  inputs: TensorLike,
  sequenceLength: TensorLike,
  options: BeamSearchOptions = {},
): Decoded {
  onlyOptions('tf.nn.ctcBeamSearchDecoderV2', options, 'beamWidth', 'topPaths');
  return ctcBeamSearchDecoder(inputs, sequenceLength, { ...options, mergeRepeated: false });
}
