/** @file Messages of training data: an example is a map of named lists, a sequence example adds lists of such lists. */
import { bytes, float, int64, type MessageType, map, message, msg, oneof, repeated } from './message.ts';

export const BytesListProto = message('BytesList', { value: repeated(bytes(1)) });
export type BytesListProto = MessageType<typeof BytesListProto>;

export const FloatListProto = message('FloatList', { value: repeated(float(1)) });
export type FloatListProto = MessageType<typeof FloatListProto>;

export const Int64ListProto = message('Int64List', { value: repeated(int64(1)) });
export type Int64ListProto = MessageType<typeof Int64ListProto>;

export const FeatureProto = message(
  'Feature',
  oneof({
    bytes_list: msg(1, () => BytesListProto),
    float_list: msg(2, () => FloatListProto),
    int64_list: msg(3, () => Int64ListProto),
  }),
);
export type FeatureProto = MessageType<typeof FeatureProto>;

export const FeaturesProto = message('Features', { feature: map(1, () => FeatureProto) });
export type FeaturesProto = MessageType<typeof FeaturesProto>;

export const FeatureListProto = message('FeatureList', { feature: repeated(msg(1, () => FeatureProto)) });
export type FeatureListProto = MessageType<typeof FeatureListProto>;

export const FeatureListsProto = message('FeatureLists', { feature_list: map(1, () => FeatureListProto) });
export type FeatureListsProto = MessageType<typeof FeatureListsProto>;

export const ExampleProto = message('Example', { features: msg(1, () => FeaturesProto) });
export type ExampleProto = MessageType<typeof ExampleProto>;

export const SequenceExampleProto = message('SequenceExample', {
  context: msg(1, () => FeaturesProto),
  feature_lists: msg(2, () => FeatureListsProto),
});
export type SequenceExampleProto = MessageType<typeof SequenceExampleProto>;
