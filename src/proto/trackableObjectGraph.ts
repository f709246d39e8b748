/** @file Messages of checkpoints of objects, as TensorFlow 2 writes them: which object has which value. */
import { int32, type MessageType, message, msg, repeated, str } from './message.ts';

export const ObjectReference = message('TrackableObjectGraph.TrackableObject.ObjectReference', {
  node_id: int32(1),
  local_name: str(2),
});
export type ObjectReference = MessageType<typeof ObjectReference>;

export const SerializedTensor = message('TrackableObjectGraph.TrackableObject.SerializedTensor', {
  name: str(1),
  /** The name that a variable would have in a checkpoint by names. */
  full_name: str(2),
  checkpoint_key: str(3),
});
export type SerializedTensor = MessageType<typeof SerializedTensor>;

export const TrackableObject = message('TrackableObjectGraph.TrackableObject', {
  children: repeated(msg(1, () => ObjectReference)),
  attributes: repeated(msg(2, () => SerializedTensor)),
});
export type TrackableObject = MessageType<typeof TrackableObject>;

export const TrackableObjectGraph = message('TrackableObjectGraph', { nodes: repeated(msg(1, () => TrackableObject)) });
export type TrackableObjectGraph = MessageType<typeof TrackableObjectGraph>;
