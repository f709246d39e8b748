/** @file Reader: takes names of files (or other work) out of a queue and gives what is in them, record by record. */
import { string } from '../../core/dtypes.ts';
import { InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import type { RunScope } from '../../program/instructions.ts';
import { ReaderBaseState } from '../../proto/readerState.ts';
import type { Queue } from '../queue/queue.ts';

/** A record and what it is called. */
export interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** What a kind of reader does with one piece of work. */
export interface ReaderKind {
  readonly name: string;
  /** The records of a piece of work. Whoever stops early returns the generator, which closes what is open. */
  read(work: Uint8Array): AsyncGenerator<Entry>;
  /** Whether a piece of work is one record: it is done once that is read, and the state between can be saved. */
  readonly givesOneRecord: boolean;
}

export class Reader implements Disposable {
  private started = 0;
  private finished = 0;
  private produced = 0;
  private work: Uint8Array = new Uint8Array(0);
  private records: AsyncGenerator<Entry> | undefined;
  /** Read for runs that were stopped meanwhile: the next run gets them. */
  private undelivered: Entry[] = [];
  /** Ends when those who came before have read. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly kind: ReaderKind,
    private readonly name: string,
  ) {}

  get recordsProduced(): number {
    return this.produced;
  }
  get workUnitsCompleted(): number {
    return this.finished;
  }
  get title(): string {
    return `${this.kind.name} '${this.name}'`;
  }

  /** The next record; waits for work if there is none. */
  read(queue: Queue, run: RunScope): Promise<Entry> {
    return this.inTurn(run, async () => {
      for (;;) {
        const entry = await this.next(queue, run);
        if (entry) return this.deliver([entry], run)[0]!;
      }
    });
  }

  /** Up to so many records of one piece of work, at least one. */
  readUpTo(count: number, queue: Queue, run: RunScope): Promise<Entry[]> {
    return this.inTurn(run, async () => {
      const entries: Entry[] = [];
      while (entries.length < count) {
        const entry = await this.next(queue, run);
        if (entry) entries.push(entry);
        else if (entries.length > 0) break;
      }
      return this.deliver(entries, run);
    });
  }

  private deliver(entries: Entry[], run: RunScope): Entry[] {
    try {
      run.stop.throwIfStopped();
    } catch (error) {
      this.undelivered.unshift(...entries);
      throw error;
    }
    this.produced += entries.length;
    return entries;
  }

  /** A record, or nothing at the end of a piece of work. */
  private async next(queue: Queue, run: RunScope): Promise<Entry | undefined> {
    if (this.undelivered.length > 0) return this.undelivered.shift();
    if (!this.records) {
      this.work = await nextWork(queue, run);
      this.records = this.kind.read(this.work);
      this.started++;
    }
    const { records } = this;
    try {
      const { done, value } = await records.next();
      if (!done) {
        if (this.kind.givesOneRecord) this.endWork(records);
        return value;
      }
    } catch (error) {
      this.endWork(records);
      throw error;
    }
    this.endWork(records);
    return undefined;
  }

  private endWork(records: AsyncGenerator<Entry>): void {
    if (this.records !== records) return; // the reader was reset meanwhile
    this.records = undefined;
    this.finished = this.started;
  }

  private inTurn<T>(run: RunScope, body: () => Promise<T>): Promise<T> {
    const mine = this.turn.then(() => {
      run.stop.throwIfStopped();
      return body();
    });
    this.turn = mine.catch(() => {});
    return mine;
  }

  serialize(): Uint8Array {
    if (!this.kind.givesOneRecord) throw new UnimplementedError('Reader SerializeState');
    return ReaderBaseState.encode({
      work_started: BigInt(this.started),
      work_finished: BigInt(this.finished),
      num_records_produced: BigInt(this.produced),
      current_work: this.work,
    });
  }

  restore(bytes: Uint8Array): void {
    if (!this.kind.givesOneRecord) throw new UnimplementedError('Reader RestoreState');
    const state = this.parse(bytes);
    const { work_started, work_finished, num_records_produced } = state;
    if (work_started < 0n || work_finished < 0n || num_records_produced < 0n)
      throw new InvalidArgumentError(`Unexpected negative value when restoring in ${this.title}`);
    if (work_started < work_finished)
      throw new InvalidArgumentError(
        `Inconsistent work started vs. finished when restoring in ${this.title}: ${work_started} vs. ${work_finished}`,
      );
    this.reset();
    this.started = Number(work_started);
    this.finished = Number(work_finished);
    this.produced = Number(num_records_produced);
    this.work = state.current_work;
    if (this.started > this.finished) this.records = this.kind.read(this.work);
  }

  private parse(bytes: Uint8Array): ReaderBaseState {
    try {
      return ReaderBaseState.decode(bytes);
    } catch (error) {
      throw new InvalidArgumentError(
        `Could not parse state for ${this.title}: ${Buffer.from(bytes).toString('latin1')}`,
        { cause: error },
      );
    }
  }

  /** Begins anew with the next piece of work. */
  reset(): void {
    void this.records?.return(undefined);
    this.records = undefined;
    this.undelivered = [];
    this.started = 0;
    this.finished = 0;
    this.produced = 0;
    this.work = new Uint8Array(0);
  }

  [Symbol.dispose](): void {
    this.reset();
  }
}

async function nextWork(queue: Queue, run: RunScope): Promise<Uint8Array> {
  const tuple = await queue.dequeue(run);
  if (tuple.length !== 1) throw new InvalidArgumentError('Expected single component queue');
  const [work] = tuple;
  if (work!.dtype !== string) throw new InvalidArgumentError('Expected queue with single string component');
  if (work!.size !== 1) throw new InvalidArgumentError('Expected to dequeue a one-element string tensor');
  return work!.objects[0] as Uint8Array; // elements of string arrays are bytes
}
