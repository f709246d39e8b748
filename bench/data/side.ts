/** @file A side of the data benchmark: a process that answers the name of a row with the seconds that one run of it took. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

export class Side {
  private readonly lines: AsyncIterator<string>;
  private constructor(private readonly child: ChildProcessByStdio<Writable, Readable, null>) {
    this.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** Starts a process that says when it is ready; undefined when it does not. */
  static async start(
    command: string,
    args: readonly string[],
    { env = process.env, complaints = 'inherit' }: { env?: NodeJS.ProcessEnv; complaints?: 'inherit' | 'ignore' } = {},
  ): Promise<Side | undefined> {
    const side = new Side(spawn(command, args, { env, stdio: ['pipe', 'pipe', complaints] }));
    return (await side.answer()) === 'ready' ? side : undefined;
  }

  private async answer(): Promise<string> {
    const { value, done } = await this.lines.next();
    return done ? '' : value;
  }

  /** Seconds that one run of a row takes; NaN when it cannot. */
  async run(name: string): Promise<number> {
    this.child.stdin.write(`${name}\n`);
    return Number((await this.answer()) || Number.NaN);
  }

  /** Both sides end with what they read. */
  end(): void {
    this.child.stdin.end();
  }
}
