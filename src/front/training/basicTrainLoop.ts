/** @file basicTrainLoop: runs a step again and again under a supervisor. */
import { AbortedError } from '../../core/errors.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { GraphSession } from '../../graph/sessions.ts';
import type { Supervisor } from './supervisor.ts';

export interface BasicTrainLoopOptions {
  /** More arguments of the step function, after the session. */
  readonly args?: readonly unknown[] | undefined;
  readonly master?: string | undefined;
}

/** Calls `trainStepFn` in a managed session until the supervisor stops, and in another one when a server went away. */
export async function basicTrainLoop(
  supervisor: Supervisor,
  trainStepFn: (session: GraphSession, ...args: never[]) => unknown,
  options: BasicTrainLoopOptions = {},
): Promise<void> {
  const { args = [], master = '' } = onlyOptions('tf.train.basicTrainLoop', options, 'args', 'master');
  for (;;) {
    try {
      await supervisor.managedSession(master, async (session) => {
        while (!supervisor.shouldStop()) await trainStepFn(session, ...(args as never[])); // what the function takes
      });
      return;
    } catch (error) {
      // A server went away: the next session begins at the last checkpoint.
      if (!(error instanceof AbortedError)) throw error;
    }
  }
}
