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
export { AttentionWrapper, type AttentionWrapperOptions, type AttentionWrapperState } from './attentionWrapper.ts';
export { BasicDecoder, type BasicDecoderOutput } from './basicDecoder.ts';
export {
  BeamSearchDecoder,
  type BeamSearchDecoderOutput,
  type BeamSearchDecoderState,
  type BeamSearchOptions,
  type FinalBeamSearchDecoderOutput,
  gatherTree,
  tileBatch,
} from './beamSearch.ts';
export { type Decoder, type DecoderStep, type DynamicDecodeOptions, dynamicDecode } from './decoder.ts';
export {
  CustomHelper,
  type Embedding,
  GreedyEmbeddingHelper,
  type Helper,
  InferenceHelper,
  type InferenceHelperOptions,
  type NextInputs,
  SampleEmbeddingHelper,
  type SampleOptions,
  type ScheduledEmbeddingOptions,
  ScheduledEmbeddingTrainingHelper,
  type ScheduledOptions,
  type ScheduledOutputOptions,
  ScheduledOutputTrainingHelper,
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
