/** @file Messages of V1 checkpoints: a table of tensors and slices of tensors, each with its values. */
import { VersionDef } from './graph.ts';
import { enumField, type MessageType, message, msg, repeated, str } from './message.ts';
import { DataType, TensorProto, TensorShapeProto, TensorSliceProto } from './tensor.ts';

/** What is known of a tensor: its shape, its type, and in which slices it is stored. */
export const SavedSliceMeta = message('SavedSliceMeta', {
  name: str(1),
  shape: msg(2, () => TensorShapeProto),
  type: enumField(3, DataType),
  slice: repeated(msg(4, () => TensorSliceProto)),
});
export type SavedSliceMeta = MessageType<typeof SavedSliceMeta>;

export const SavedTensorSliceMeta = message('SavedTensorSliceMeta', {
  tensor: repeated(msg(1, () => SavedSliceMeta)),
  versions: msg(2, () => VersionDef),
});
export type SavedTensorSliceMeta = MessageType<typeof SavedTensorSliceMeta>;

/** A slice and its values, in the list of its type. */
export const SavedSlice = message('SavedSlice', {
  name: str(1),
  slice: msg(2, () => TensorSliceProto),
  data: msg(3, () => TensorProto),
});
export type SavedSlice = MessageType<typeof SavedSlice>;

export const SavedTensorSlices = message('SavedTensorSlices', {
  /** Under the empty key: what the file has. */
  meta: msg(1, () => SavedTensorSliceMeta),
  /** Under any other key: one slice. */
  data: msg(2, () => SavedSlice),
});
export type SavedTensorSlices = MessageType<typeof SavedTensorSlices>;
