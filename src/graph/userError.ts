/** @file Errors about what a user passed to a function; no operation exists yet that could name the user's line, so they do. */
import { InvalidArgumentError, OpError } from '../core/errors.ts';
import { CallSite } from './callSite.ts';
import { currentContext } from './context.ts';

function place(): { readonly createdAt: string | undefined; readonly text: string } {
  const createdAt = (currentContext().site ?? new CallSite()).location;
  return { createdAt, text: createdAt === undefined ? '' : `\n  at ${createdAt}` };
}

/** An InvalidArgumentError that ends with the user's `file:line:column`. */
export function userError(message: string): InvalidArgumentError {
  const { createdAt, text } = place();
  return new InvalidArgumentError(`${message}${text}`, { createdAt });
}

/** Runs `body`; what it throws about its arguments names the user's line, unless it does so already. */
export function namingCaller<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof OpError) || error.createdAt !== undefined || error.node !== undefined) throw error;
    const { createdAt, text } = place();
    throw error.extended(`${error.message}${text}`, { createdAt });
  }
}
