/** @file TensorFlow's error classes and codes. Every error a user can meet is one of these. */

/** What an error knows besides its text. */
export interface ErrorDetails {
  /** Name of the operation concerned. */
  readonly node?: string | undefined;
  /** The kind of that operation, such as `MatMul`. */
  readonly op?: string | undefined;
  /** The user's `file:line:column` that created the operation. */
  readonly createdAt?: string | undefined;
  /** The user's `file:line:column` that called a function with wrong arguments; it ends the message. */
  readonly calledAt?: string | undefined;
  readonly cause?: unknown;
}

/** Base of all errors that carry a TensorFlow status code. */
export class OpError extends Error {
  readonly code: number = 2;
  // Declared only: Node prints the fields of an error that nobody catches, and those without a value say nothing.
  declare readonly node: string | undefined;
  declare readonly op: string | undefined;
  declare readonly createdAt: string | undefined;
  /** The message without the place. */
  declare readonly text: string;

  constructor(text: string, details: ErrorDetails = {}) {
    const { calledAt, cause, node, op, createdAt = calledAt } = details;
    super(calledAt === undefined ? text : `${text}\n  at ${calledAt}`, cause === undefined ? undefined : { cause });
    Object.defineProperty(this, 'name', { value: new.target.name });
    Object.defineProperty(this, 'text', { value: text });
    if (node !== undefined) this.node = node;
    if (op !== undefined) this.op = op;
    if (createdAt !== undefined) this.createdAt = createdAt;
  }

  /** An error of the same class that says more; its stack is still that of the place where things went wrong. */
  extended(message: string, details: Omit<ErrorDetails, 'cause'>): OpError {
    const { node, op, createdAt, cause } = this;
    const Class = this.constructor as new (message: string, details: ErrorDetails) => OpError; // subclasses share the signature
    const error = new Class(message, { node, op, createdAt, ...details, cause });
    const frames = this.stack?.indexOf('\n    at ') ?? -1;
    if (frames >= 0) error.stack = `${error.name}: ${error.message}${this.stack!.slice(frames)}`;
    return error;
  }
}

/** The run was stopped: by its signal, or because its session, queue or iterator was closed. */
export class CancelledError extends OpError {
  override readonly code = 1;
}
/** Something failed that says no more. */
export class UnknownError extends OpError {
  override readonly code = 2;
}
/** A value, shape or type that the operation does not take. */
export class InvalidArgumentError extends OpError {
  override readonly code = 3;
}
/** A time limit passed before the run was done. */
export class DeadlineExceededError extends OpError {
  override readonly code = 4;
}
/** A file, a variable or another thing that is asked for by name is not there. */
export class NotFoundError extends OpError {
  override readonly code = 5;
}
/** What is to be made is there already. */
export class AlreadyExistsError extends OpError {
  override readonly code = 6;
}
/** The system does not allow it. */
export class PermissionDeniedError extends OpError {
  override readonly code = 7;
}
/** There is not enough memory, or another limit is reached. */
export class ResourceExhaustedError extends OpError {
  override readonly code = 8;
}
/** It is too early or too late for this, as for reading a variable that has no value yet. */
export class FailedPreconditionError extends OpError {
  override readonly code = 9;
}
/** The run was given up in the middle, usually for another; it can be tried again. */
export class AbortedError extends OpError {
  override readonly code = 10;
}
/** The end of a dataset, a queue or a file. */
export class OutOfRangeError extends OpError {
  override readonly code = 11;
}
/** This is not there yet, or not on this device. */
export class UnimplementedError extends OpError {
  override readonly code = 12;
}
/** A mistake of the library itself. */
export class InternalError extends OpError {
  override readonly code = 13;
}
/** A server does not answer at present; it can be tried again. */
export class UnavailableError extends OpError {
  override readonly code = 14;
}
/** Bytes that cannot be restored: a damaged or incomplete file. */
export class DataLossError extends OpError {
  override readonly code = 15;
}
/** Who asks has not said who that is. */
export class UnauthenticatedError extends OpError {
  override readonly code = 16;
}

/** A gradient or symbol that is not registered. */
export class LookupError extends OpError {
  override readonly code = 5;
}

const classes = [
  CancelledError,
  UnknownError,
  InvalidArgumentError,
  DeadlineExceededError,
  NotFoundError,
  AlreadyExistsError,
  PermissionDeniedError,
  ResourceExhaustedError,
  FailedPreconditionError,
  AbortedError,
  OutOfRangeError,
  UnimplementedError,
  InternalError,
  UnavailableError,
  DataLossError,
  UnauthenticatedError,
] as const;

/** The error class of a TensorFlow status code, for example 3 gives `InvalidArgumentError`. */
export function errorFromCode(code: number, message: string, details?: ErrorDetails): OpError {
  const Class = classes[code - 1] ?? UnknownError;
  return new Class(message, details);
}

/** The status code of an error class, for example `InvalidArgumentError` gives 3. */
export function errorCodeFromExceptionType(type: new (text: string) => OpError): number {
  return new type('').code;
}
/** The error class of a status code; `UnknownError` for codes that are none. */
export function exceptionTypeFromErrorCode(code: number): new (text: string, details?: ErrorDetails) => OpError {
  return classes[code - 1] ?? UnknownError;
}

export const OK = 0;
export const CANCELLED = 1;
export const UNKNOWN = 2;
export const INVALID_ARGUMENT = 3;
export const DEADLINE_EXCEEDED = 4;
export const NOT_FOUND = 5;
export const ALREADY_EXISTS = 6;
export const PERMISSION_DENIED = 7;
export const RESOURCE_EXHAUSTED = 8;
export const FAILED_PRECONDITION = 9;
export const ABORTED = 10;
export const OUT_OF_RANGE = 11;
export const UNIMPLEMENTED = 12;
export const INTERNAL = 13;
export const UNAVAILABLE = 14;
export const DATA_LOSS = 15;
export const UNAUTHENTICATED = 16;
