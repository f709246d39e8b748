/** @file Event files: the logs that TensorBoard reads, written beside a program that does not wait for the disk. */
import { accessSync, close, constants, openSync, write, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import {
  FailedPreconditionError,
  NotFoundError,
  type OpError,
  PermissionDeniedError,
  ResourceExhaustedError,
  UnknownError,
} from '../core/errors.ts';
import { Event } from '../proto/event.ts';
import type { Init } from '../proto/message.ts';
import { makeFoldersNow } from './folders.ts';
import { joinPath, localPath } from './paths.ts';
import { encodeRecord } from './records.ts';

const writeAt = promisify(write);
const closeFile = promisify(close);

export interface EventFileOptions {
  /** Ends the names of the files. */
  readonly filenameSuffix?: string | undefined;
  /** Events are handed to the disk when so many are waiting … */
  readonly maxQueue?: number | undefined;
  /** … or the last time is so many seconds ago. */
  readonly flushSecs?: number | undefined;
}

/** Files with something that may not be on the disk yet; the process writes it before it ends. */
const unfinished = new Set<EventFile>();
let isListening = false;

/** Writes what is in memory before the process ends, by itself or by a signal. */
function finishOnExit(): void {
  if (isListening) return;
  isListening = true;
  process.on('exit', writeUnfinished);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const finish = () => {
      writeUnfinished();
      // Whoever else listens decides what becomes of the process; otherwise it ends, as it would have without a listener.
      if (process.listenerCount(signal) > 1) return;
      process.removeListener(signal, finish);
      process.kill(process.pid, signal);
    };
    // In front of those that listen once: these are gone from the count when they have been called.
    process.prependListener(signal, finish);
  }
}

function writeUnfinished(): void {
  for (const file of unfinished) {
    try {
      file.writeNow();
    } catch (error) {
      process.stderr.write(`${String(error)}; the last events are lost\n`);
    }
  }
}

/** One open file with a queue of records in front of it. */
class EventFile {
  private end = 0;
  private queue: Uint8Array[];
  /** Bytes being written now: if somebody cannot wait for that, they are written once more, to the same place. */
  private underWay: Uint8Array | undefined;
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private lastWrite = 0;
  private failure: OpError | undefined;

  constructor(
    readonly path: string,
    private readonly descriptor: number,
    private readonly maxQueue: number,
    private readonly flushMillis: number,
    /** The first record, which is written with the next. */
    first: Uint8Array,
  ) {
    this.queue = [first];
    unfinished.add(this);
    finishOnExit();
  }

  /** Puts a record in the queue. Throws what went wrong when earlier ones were written. */
  add(record: Uint8Array): void {
    if (this.failure) throw this.failure;
    this.queue.push(record);
    unfinished.add(this);
    if (this.writing) return;
    const wait = this.lastWrite + this.flushMillis - Date.now();
    if (this.queue.length >= this.maxQueue || wait <= 0) this.startWriting();
    // The timer alone is no reason for a process to go on: what is in the queue is written when it ends.
    else this.timer ??= setTimeout(() => this.startWriting(), wait).unref();
  }

  async flush(): Promise<void> {
    while (!this.failure && (this.writing || this.queue.length > 0)) {
      this.startWriting();
      await this.writing;
    }
    if (this.failure) throw this.failure;
  }

  /** Writes everything before it returns, so that even who does not wait finds it in the file; then closes the file. */
  async close(): Promise<void> {
    try {
      this.writeNow();
    } finally {
      // What is still being written in the background goes to this descriptor, which must not be another file's by then.
      await this.writing;
      await closeFile(this.descriptor);
    }
  }

  /** Writes everything without a turn of the event loop. */
  writeNow(): void {
    clearTimeout(this.timer);
    unfinished.delete(this);
    if (this.failure) throw this.failure;
    const bytes = Buffer.concat([...(this.underWay ? [this.underWay] : []), ...this.queue]);
    this.queue = [];
    try {
      for (let done = 0; done < bytes.length; )
        done += writeSync(this.descriptor, bytes, done, bytes.length - done, this.end + done);
    } catch (error) {
      throw fileError(error, this.path);
    }
    // The background adds what it has under way itself.
    this.end += bytes.length - (this.underWay?.length ?? 0);
  }

  private startWriting(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing ??= this.drain().finally(() => {
      this.writing = undefined;
    });
  }

  /** Writes what is in the queue, and what comes meanwhile once that is enough. */
  private async drain(): Promise<void> {
    do {
      const bytes = Buffer.concat(this.queue);
      const begin = this.end;
      this.queue = [];
      this.underWay = bytes;
      this.lastWrite = Date.now();
      try {
        for (let done = 0; done < bytes.length; ) {
          const { bytesWritten } = await writeAt(this.descriptor, bytes, done, bytes.length - done, begin + done);
          done += bytesWritten;
        }
      } catch (error) {
        this.fail(fileError(error, this.path));
        return;
      } finally {
        this.underWay = undefined;
      }
      this.end += bytes.length;
    } while (this.queue.length >= this.maxQueue);
    if (this.queue.length === 0) unfinished.delete(this);
    else this.timer ??= setTimeout(() => this.startWriting(), this.flushMillis).unref();
  }

  private fail(error: OpError): void {
    this.failure = error;
    this.queue = [];
    unfinished.delete(this);
    process.emitWarning(`Events are no longer written: ${error.message}`);
  }
}

/**
 * Writes events to a file in a folder, which is made when the first event comes. `add` only puts the event in a queue; the
 * queue is written in the background, in order, and nothing waits for it but `flush` and `close`.
 */
export class EventFileWriter {
  private readonly maxQueue: number;
  private readonly flushMillis: number;
  private readonly suffix: string;
  private file: EventFile | undefined;

  constructor(
    readonly folder: string,
    options: EventFileOptions = {},
  ) {
    this.maxQueue = options.maxQueue ?? 10;
    this.flushMillis = (options.flushSecs ?? 120) * 1000;
    this.suffix = options.filenameSuffix ?? '';
    try {
      makeFoldersNow(localPath(folder));
      accessSync(localPath(folder), constants.W_OK | constants.X_OK);
    } catch (error) {
      throw fileError(error, folder);
    }
  }

  /** The file that events go to; none before the first event. */
  get path(): string | undefined {
    return this.file?.path;
  }

  /** Makes the file, if there is none: otherwise the first event does. */
  begin(): void {
    this.file ??= this.open();
  }

  /** Puts an event in the queue. Throws what went wrong when earlier ones were written. */
  add(event: Init<Event>): void {
    this.file ??= this.open();
    this.file.add(encodeRecord(Event.encode(event)));
  }

  /** Waits until all events so far are in the file. */
  async flush(): Promise<void> {
    await this.file?.flush();
  }

  /** Writes everything and closes the file; a later event begins a new one. */
  async close(): Promise<void> {
    const { file } = this;
    this.file = undefined;
    await file?.close();
  }

  /** A new file, which begins with the version of its format. */
  private open(): EventFile {
    for (let seconds = Math.floor(Date.now() / 1000); ; seconds++) {
      const name = `events.out.tfevents.${String(seconds).padStart(10, '0')}.${hostname()}${this.suffix}`;
      const path = joinPath(this.folder, name);
      let descriptor: number;
      try {
        descriptor = openSync(localPath(path), 'wx');
      } catch (error) {
        // Another writer began in the same second. Readers go by the names' order, so the next second is as good.
        if (errorCode(error) === 'EEXIST') continue;
        throw fileError(error, path);
      }
      const source_metadata = { writer: 'tensorflow.core.util.events_writer' };
      const version = Event.encode({ wall_time: seconds, file_version: 'brain.Event:2', source_metadata });
      return new EventFile(path, descriptor, this.maxQueue, this.flushMillis, encodeRecord(version));
    }
  }
}

const errorCode = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** What the file system says, as an error with a code that names the file. */
function fileError(error: unknown, path: string): OpError {
  const details = { cause: error };
  switch (errorCode(error)) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new PermissionDeniedError(
        `${path}; Permission denied. Events cannot be written there; choose another folder.`,
        details,
      );
    case 'ENOSPC':
    case 'EDQUOT':
      return new ResourceExhaustedError(`${path}; No space left on device`, details);
    case 'EMFILE':
    case 'ENFILE':
      return new ResourceExhaustedError(`${path}; Too many open files`, details);
    case 'ENOENT':
      return new NotFoundError(
        `${path}; No such file or directory. Events cannot be written there; choose another folder.`,
        details,
      );
    case 'ENOTDIR':
    case 'EEXIST':
      return new FailedPreconditionError(`${path}; Not a directory. A file has the name of the folder.`, details);
    default:
      return new UnknownError(`${path}; ${error instanceof Error ? error.message : String(error)}`, details);
  }
}
