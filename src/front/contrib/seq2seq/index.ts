/** @file `tf.contrib.seq2seq`: sequences to sequences, with attention. */
export {
  AttentionMechanism,
  type AttentionOptions,
  BahdanauAttention,
  type BahdanauOptions,
  LuongAttention,
  type LuongOptions,
} from './attention.ts';
export { AttentionWrapper, type AttentionWrapperOptions, type AttentionWrapperState } from './attentionWrapper.ts';
export { BasicDecoder, type BasicDecoderOutput } from './basicDecoder.ts';
export { type Decoder, type DecoderStep, type DynamicDecodeOptions, dynamicDecode } from './decoder.ts';
export {
  type Embedding,
  GreedyEmbeddingHelper,
  type Helper,
  type NextInputs,
  SampleEmbeddingHelper,
  type SampleOptions,
  ScheduledEmbeddingTrainingHelper,
  type ScheduledOptions,
  TrainingHelper,
  type TrainingHelperOptions,
} from './helper.ts';
export { type SequenceLossOptions, sequenceLoss } from './loss.ts';
