/** @file Errors about what a user passed to a function; no operation exists yet that could name the user's line, so they do. */
import { type ErrorDetails, InvalidArgumentError, OpError } from '../core/errors.ts';
import { currentContext } from './context.ts';

const callersPlace = () => currentContext().graph.callSite().location;

/** An InvalidArgumentError that ends with the user's `file:line:column`. */
export function userError(message: string, details: ErrorDetails = {}): InvalidArgumentError {
  return new InvalidArgumentError(message, { calledAt: callersPlace(), ...details });
}

/** Runs `body`; what it throws about its arguments names the user's line, unless it does so already. */
export function namingCaller<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof OpError) || error.createdAt !== undefined || error.node !== undefined) throw error;
    throw error.extended(error.text, { calledAt: callersPlace() });
  }
}
