/** @file The state of a reader, as ReaderSerializeState writes it. */
import { bytes, int64, type MessageType, message } from './message.ts';

export const ReaderBaseState = message('ReaderBaseState', {
  work_started: int64(1),
  work_finished: int64(2),
  num_records_produced: int64(3),
  current_work: bytes(4),
});
export type ReaderBaseState = MessageType<typeof ReaderBaseState>;
