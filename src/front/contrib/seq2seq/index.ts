/** @file `tf.contrib.seq2seq`: sequences to sequences, with attention. */
export {
  AttentionMechanism,
  type AttentionOptions,
  BahdanauAttention,
  type BahdanauOptions,
  hardmax,
  LuongAttention,
  type LuongOptions,
} from './attention.ts';
export {
  type AttentionFn,
  AttentionWrapper,
  type AttentionWrapperFields,
  type AttentionWrapperOptions,
  AttentionWrapperState,
  type Mechanisms,
} from './attentionWrapper.ts';
export { BasicDecoder, type BasicDecoderOutput } from './basicDecoder.ts';
export {
  BeamSearchDecoder,
  type BeamSearchDecoderOutput,
  type BeamSearchDecoderState,
  type BeamSearchOptions,
  type FinalBeamSearchDecoderOutput,
  type Reordered,
} from './beamSearch.ts';
export { gatherTree, gatherTreeFromArray, tileBatch } from './beams.ts';
export { Decoder, type DecoderStep, type DynamicDecodeOptions, dynamicDecode } from './decoder.ts';
export {
  type Embedding,
  GreedyEmbeddingHelper,
  SampleEmbeddingHelper,
  type SampleOptions,
} from './embeddingHelpers.ts';
export {
  CustomHelper,
  type CustomHelperOptions,
  type FirstInputs,
  Helper,
  InferenceHelper,
  type InferenceHelperOptions,
  type NextInputs,
  TrainingHelper,
  type TrainingHelperOptions,
} from './helper.ts';
export { type SequenceLossOptions, sequenceLoss } from './loss.ts';
export {
  BahdanauMonotonicAttention,
  LuongMonotonicAttention,
  type MonotonicMode,
  type MonotonicOptions,
  monotonicAttention,
  safeCumprod,
} from './monotonic.ts';
export {
  type ScheduledEmbeddingOptions,
  ScheduledEmbeddingTrainingHelper,
  type ScheduledOptions,
  type ScheduledOutputOptions,
  ScheduledOutputTrainingHelper,
} from './scheduledHelpers.ts';
