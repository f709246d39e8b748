/** @file `tf.ragged`. */
export {
  mapFlatValues,
  raggedConstant as constant,
  raggedPlaceholder as placeholder,
  raggedRange as range,
} from '../ops/ragged/functions.ts';
export { RaggedTensorValue } from '../ops/ragged/raggedTensor.ts';
export {
  segmentIdsToSplits as segmentIdsToRowSplits,
  splitsToSegmentIds as rowSplitsToSegmentIds,
} from '../ops/ragged/segments.ts';
