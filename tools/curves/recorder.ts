/** @file Records what a program asks of its session, and what it gets. */
import * as tf from 'tensorloom';

/** An array as text. */
interface Encoded {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The bytes, in base64. */
  readonly data: string;
}

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

export class Recorder {
  readonly runs: RecordedRun[] = [];
  constructor(private readonly limit: number) {}

  /** Calls `body`; runs of its sessions are recorded until there are enough. */
  async during(body: () => Promise<unknown>): Promise<void> {
    const prototype = tf.Session.prototype as unknown as {
      executable(plan: Plan, fed: readonly tf.Tensor[], cache: unknown): Executable;
    };
    const original = prototype.executable;
    const record = this.record.bind(this);
    prototype.executable = function (plan, fed, cache) {
      const made = original.call(this, plan, fed, cache);
      return {
        __proto__: made,
        run: (feeds: readonly tf.NDArray[], options: unknown) => record(made, plan, fed, feeds, options),
      } as unknown as Executable;
    };
    try {
      await body();
    } finally {
      prototype.executable = original;
    }
  }

  private async record(
    executable: Executable,
    plan: Plan,
    fed: readonly tf.Tensor[],
    feeds: readonly tf.NDArray[],
    options: unknown,
  ): Promise<tf.NDArray[]> {
    const results = await executable.run(feeds, options);
    // Runs that change nothing, such as asking a policy for an action, may be left out.
    if (plan.targets.length > 0 && this.runs.length < this.limit)
      this.runs.push({
        fetches: plan.tensors.map((t) => t.name),
        targets: plan.targets.map((op) => op.name),
        feeds: Object.fromEntries(fed.map((t, i) => [t.name, encoded(feeds[i]!)])),
        results: results.map(encoded),
      });
    return results;
  }
}

interface Plan {
  readonly tensors: readonly tf.Tensor[];
  readonly targets: readonly tf.Operation[];
}
