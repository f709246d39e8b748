/** @file Events that a session writes: ops of its graph put them into a file that all writers of the folder share. */
import { string } from '../../core/dtypes.ts';

import type { Operation } from '../../graph/operation.ts';
import type { FeedLike } from '../../graph/runner.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import type { EventFileOptions } from '../../io/eventFile.ts';
import { constant, placeholderWithDefault } from '../../ops/array/index.ts';
import { ImportEvent } from '../../ops/summary/writeOps.ts';
import {
  CloseSummaryWriter,
  CreateSummaryFileWriter,
  FlushSummaryWriter,
  SummaryWriter,
} from '../../ops/summary/writer.ts';
import { Event } from '../../proto/event.ts';
import type { Init } from '../../proto/message.ts';
import type { SaverSession } from '../saver.ts';

/**
 * Writes events by running a session, on whatever machine that runs. `add` begins a run and does not wait for it; the runs are
 * made one after the other. What goes wrong in one is thrown by the next call.
 */
export class SessionEventWriter {
  private readonly event: Tensor;
  private readonly create: Operation;
  private readonly importEvent: Operation;
  private readonly flushFile: Operation;
  private readonly closeFile: Operation;
  private isOpen = false;
  private last: Promise<void> = Promise.resolve();
  private failure: unknown;

  constructor(
    private readonly session: SaverSession,
    readonly folder: string,
    { maxQueue = 10, flushSecs = 120, filenameSuffix = '' }: EventFileOptions = {},
  ) {
    const build = () => {
      const filename_suffix = filenameSuffix === '' ? constant('') : filenameSuffix;
      const { writer } = SummaryWriter.build({}, { attrs: { shared_name: `logdir:${folder}` } });
      const file = { writer, logdir: folder, max_queue: maxQueue, flush_millis: flushSecs * 1000, filename_suffix };
      // Python's writer makes these nodes when it is made, and again when it is asked for them.
      CreateSummaryFileWriter.node(file);
      const event = placeholderWithDefault(constant('unused', { dtype: string }), []);
      const importEvent = ImportEvent.node({ writer, event });
      FlushSummaryWriter.node({ writer });
      const create = CreateSummaryFileWriter.node(file);
      const flushFile = FlushSummaryWriter.node({ writer });
      const flushed = FlushSummaryWriter.node({ writer });
      const closeFile = controlDependencies([flushed], () => CloseSummaryWriter.node({ writer }));
      return { event, importEvent, create, flushFile, closeFile };
    };
    const made = session.graph.asDefault(() => nameScope('filewriter', build));
    this.event = made.event;
    this.importEvent = made.importEvent;
    this.create = made.create;
    this.flushFile = made.flushFile;
    this.closeFile = made.closeFile;
    this.open();
  }

  /** Adds an event; a closed writer begins a new file. */
  add(event: Init<Event>): void {
    this.throwFailure();
    this.open();
    this.run(this.importEvent, [[this.event, Event.encode(event)]]);
  }

  /** Waits until all events so far are in the file. */
  async flush(): Promise<void> {
    if (this.isOpen) this.run(this.flushFile);
    await this.last;
    this.throwFailure();
  }

  /** Writes everything and closes the file, for all who share it. */
  async close(): Promise<void> {
    if (this.isOpen) this.run(this.closeFile);
    this.isOpen = false;
    await this.last;
    this.throwFailure();
  }

  private open(): void {
    if (this.isOpen) return;
    this.isOpen = true;
    this.run(this.create);
  }

  /** Runs an op when those before it are done. */
  private run(op: Operation, feeds: readonly (readonly [Tensor, FeedLike])[] = []): void {
    this.last = this.last.then(async () => {
      if (this.failure) return;
      try {
        await this.session.run(op, feeds);
      } catch (error) {
        this.failure = error;
      }
    });
  }

  private throwFailure(): void {
    const { failure } = this;
    this.failure = undefined;
    if (failure) throw failure;
  }
}
