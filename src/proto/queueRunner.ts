/** @file QueueRunnerDef: which operations fill a queue, as meta graphs store it. */
import { enumeration, enumField, type MessageType, message, repeated, str } from './message.ts';

/** TensorFlow's error codes. */
const Code = enumeration('error.Code', {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
  DO_NOT_USE_RESERVED_FOR_FUTURE_EXPANSION_USE_DEFAULT_IN_SWITCH_INSTEAD_: 20,
});

export const QueueRunnerDef = message('QueueRunnerDef', {
  queue_name: str(1),
  enqueue_op_name: repeated(str(2)),
  close_op_name: str(3),
  cancel_op_name: str(4),
  queue_closed_exception_types: repeated(enumField(5, Code)),
});
export type QueueRunnerDef = MessageType<typeof QueueRunnerDef>;
