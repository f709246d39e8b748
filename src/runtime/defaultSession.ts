/** @file The default session of the current async flow, and `eval`/`run` methods that use it. */

import type { DType } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Dims } from '../core/shape.ts';
import { ContextKey } from '../graph/context.ts';
import { Operation } from '../graph/operation.ts';
import { setDefaultRunner } from '../graph/runner.ts';
import { Tensor } from '../graph/tensor.ts';
import type { Feeds } from './feeds.ts';
import type { Session } from './session.ts';

const key = new ContextKey<Session>('default session');
let interactive: Session | undefined;

/** The session that `eval` and `run` use when none is given. */
export function getDefaultSession(): Session | undefined {
  return key.get() ?? interactive;
}
setDefaultRunner(getDefaultSession);
export const defaultSessionChange = (session: Session) => key.change(session);
export function setInteractiveSession(session: Session): void {
  interactive = session;
}
/** A closed session is no longer the default; one that has taken its place stays. */
export function forgetInteractiveSession(session: Session): void {
  if (interactive === session) interactive = undefined;
}

function sessionFor(what: string, given: Session | undefined): Session {
  const session = given ?? getDefaultSession();
  if (!session)
    throw new InvalidArgumentError(
      `Cannot ${what}: No default session is registered. Use sess.asDefault(() => …), new tf.InteractiveSession(), or pass an explicit session.`,
    );
  return session;
}

declare module '../graph/tensor.ts' {
  interface Tensor<out D extends DType = DType, out S extends Dims = Dims> {
    /** The tensor's value in a session. */
    eval(feeds?: Feeds, session?: Session): Promise<NDArray<D>>;
  }
}
declare module '../graph/operation.ts' {
  interface Operation {
    /** Runs the operation in a session. */
    run(feeds?: Feeds, session?: Session): Promise<void>;
  }
}

Tensor.prototype.eval = async function (feeds, session) {
  return await sessionFor(`evaluate '${this.name}'`, session).run(this, feeds);
};
Operation.prototype.run = async function (feeds, session) {
  await sessionFor(`run '${this.name}'`, session).run(this, feeds);
};
