/** @file The message in a folder's `checkpoint` file: which checkpoints there are. */
import { double, type MessageType, message, repeated, str } from './message.ts';

export const CheckpointState = message('CheckpointState', {
  model_checkpoint_path: str(1),
  /** Oldest first. */
  all_model_checkpoint_paths: repeated(str(2)),
  all_model_checkpoint_timestamps: repeated(double(3)),
  last_preserved_timestamp: double(4),
});
export type CheckpointState = MessageType<typeof CheckpointState>;
