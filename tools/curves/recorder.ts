/** @file Records what a program asks of its session, and what it gets. */
import * as tf from 'tensorloom';

/** An array as text. */
interface Encoded {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The bytes, in base64. */
  readonly data: string;
}

/** The values of variables, by name. */
export type State = Readonly<Record<string, Encoded>>;

export interface RecordedRun {
  readonly fetches: readonly string[];
  readonly targets: readonly string[];
  readonly feeds: Readonly<Record<string, Encoded>>;
  readonly results: readonly Encoded[];
}

const encoded = (array: tf.NDArray): Encoded => ({
  dtype: array.dtype.name,
  shape: array.shape,
  data: Buffer.from(array.bytes).toString('base64'),
});

/** What sessions run underneath `run` and `makeCallable`; its shape is private to the library. */
interface Executable {
  run(feeds: readonly tf.NDArray[], options: unknown): Promise<tf.NDArray[]>;
}

/** All variables that have a value. */
async function stateOf(session: tf.Session): Promise<State> {
  const variables = session.graph.getCollection(tf.GraphKeys.GLOBAL_VARIABLES) as tf.Variable[]; // what is put there
  const values = await session.run(variables.map((v) => v.value()));
  return Object.fromEntries(variables.map((v, i) => [v.op.name, encoded(values[i]!)]));
}

export class Recorder {
  readonly runs: RecordedRun[] = [];
  private stepsDone = 0;
  /** Recorded are `steps` runs that train and tell a loss, and what runs between them. `keep` is given the variables before every run whose number is a multiple of `every`. */
  constructor(
    private readonly steps: number,
    private readonly every: number,
    private readonly keep: (run: number, state: State) => void,
  ) {}

  /** Calls `body`; runs of its sessions are recorded until there are enough. */
  async during(body: () => Promise<unknown>): Promise<void> {
    const prototype = tf.Session.prototype as unknown as {
      executable(this: tf.Session, plan: Plan, fed: readonly tf.Tensor[], cache: unknown): Executable;
    };
    const original = prototype.executable;
    const record = this.record.bind(this);
    prototype.executable = function (plan, fed, cache) {
      const made = original.call(this, plan, fed, cache);
      return {
        __proto__: made,
        run: (feeds: readonly tf.NDArray[], options: unknown) => record(this, made, plan, fed, feeds, options),
      } as unknown as Executable;
    };
    try {
      await body();
    } finally {
      prototype.executable = original;
    }
  }

  private async record(
    session: tf.Session,
    executable: Executable,
    plan: Plan,
    fed: readonly tf.Tensor[],
    feeds: readonly tf.NDArray[],
    options: unknown,
  ): Promise<tf.NDArray[]> {
    // Runs that change nothing, such as asking a policy for an action, may be left out.
    const counts = plan.targets.length > 0 && this.stepsDone < this.steps;
    const number = this.runs.length;
    if (counts && number > 0 && number % this.every === 0) this.keep(number, await stateOf(session));
    const results = await executable.run(feeds, options);
    if (counts) {
      if (plan.tensors.length > 0) this.stepsDone++;
      this.runs.push({
        fetches: plan.tensors.map((t) => t.name),
        targets: plan.targets.map((op) => op.name),
        feeds: Object.fromEntries(fed.map((t, i) => [t.name, encoded(feeds[i]!)])),
        results: results.map(encoded),
      });
    }
    return results;
  }
}

interface Plan {
  readonly tensors: readonly tf.Tensor[];
  readonly targets: readonly tf.Operation[];
}
