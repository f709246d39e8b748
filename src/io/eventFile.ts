/** @file Event files: the logs that TensorBoard reads, written beside a program that does not wait for the disk. */
import { accessSync, close, closeSync, constants, mkdirSync, openSync, write, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
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

/** The open file, and what has been given to it. */
interface OpenFile {
  readonly path: string;
  readonly descriptor: number;
  /** Where the next bytes go. */
  end: number;
}

/** Writers with something that may not be on the disk yet; the process writes it before it ends. */
const unfinished = new Set<EventFileWriter>();
let isListening = false;
function finishOnExit(): void {
  if (isListening) return;
  isListening = true;
  process.on('exit', () => {
    for (const writer of unfinished) writer.writeNow();
  });
}

/**
 * Writes events to a file in a folder, which is made when the first event comes. `add` only puts the event in a queue; the
 * queue is written in the background, in order, and nothing waits for it but `flush` and `close`.
 */
export class EventFileWriter {
  private readonly maxQueue: number;
  private readonly flushMillis: number;
  private readonly suffix: string;
  private file: OpenFile | undefined;
  private queue: Uint8Array[] = [];
  /** Bytes being written now: if the process ends meanwhile, they are written once more, to the same place. */
  private underWay: Uint8Array | undefined;
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private lastWrite = 0;
  private failure: OpError | undefined;

  constructor(
    readonly folder: string,
    options: EventFileOptions = {},
  ) {
    this.maxQueue = options.maxQueue ?? 10;
    this.flushMillis = (options.flushSecs ?? 120) * 1000;
    this.suffix = options.filenameSuffix ?? '';
    try {
      mkdirSync(folder, { recursive: true });
      accessSync(folder, constants.W_OK | constants.X_OK);
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
    unfinished.add(this);
  }

  /** Puts an event in the queue. Throws what went wrong when earlier ones were written. */
  add(event: Init<Event>): void {
    if (this.failure) throw this.failure;
    this.begin();
    this.queue.push(encodeRecord(Event.encode(event)));
    if (this.writing) return;
    const wait = this.lastWrite + this.flushMillis - Date.now();
    if (this.queue.length >= this.maxQueue || wait <= 0) this.startWriting();
    // The timer alone is no reason for a process to go on: what is in the queue is written when it ends.
    else this.timer ??= setTimeout(() => this.startWriting(), wait).unref();
  }

  /** Waits until all events so far are in the file. */
  async flush(): Promise<void> {
    while (!this.failure && (this.writing || this.queue.length > 0)) {
      this.startWriting();
      await this.writing;
    }
    if (this.failure) throw this.failure;
  }

  /** Flushes and closes the file; a later event begins a new one. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      const file = this.file;
      this.file = undefined;
      this.failure = undefined;
      this.lastWrite = 0;
      if (file) await closeFile(file.descriptor);
    }
  }

  /** Writes everything at once, without a turn of the event loop: for the end of the process. */
  writeNow(): void {
    const { file } = this;
    if (!file || this.failure) return;
    for (const bytes of [...(this.underWay ? [this.underWay] : []), ...this.queue]) {
      try {
        for (let done = 0; done < bytes.length; )
          done += writeSync(file.descriptor, bytes, done, bytes.length - done, file.end + done);
      } catch (error) {
        process.stderr.write(`${fileError(error, file.path).message}; the last events are lost\n`);
        break;
      }
      file.end += bytes.length;
    }
    this.queue = [];
    closeSync(file.descriptor);
    this.file = undefined;
  }

  /** A new file, which begins with the version of its format. */
  private open(): OpenFile {
    for (let seconds = Math.floor(Date.now() / 1000); ; seconds++) {
      const name = `events.out.tfevents.${String(seconds).padStart(10, '0')}.${hostname()}${this.suffix}`;
      const path = join(this.folder, name);
      try {
        const file = { path, descriptor: openSync(path, 'wx'), end: 0 };
        finishOnExit();
        const version = {
          file_version: 'brain.Event:2',
          source_metadata: { writer: 'tensorflow.core.util.events_writer' },
        };
        this.queue.unshift(encodeRecord(Event.encode({ wall_time: seconds, ...version })));
        return file;
      } catch (error) {
        // Another writer began in the same second. Readers go by the names' order, so the next second is as good.
        if (errorCode(error) !== 'EEXIST') throw fileError(error, path);
      }
    }
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
    const { file } = this;
    if (!file) return;
    do {
      const bytes = Buffer.concat(this.queue);
      this.queue = [];
      this.underWay = bytes;
      this.lastWrite = Date.now();
      try {
        for (let done = 0; done < bytes.length; ) {
          const { bytesWritten } = await writeAt(file.descriptor, bytes, done, bytes.length - done, file.end + done);
          done += bytesWritten;
        }
      } catch (error) {
        this.fail(fileError(error, file.path));
        return;
      } finally {
        this.underWay = undefined;
      }
      file.end += bytes.length;
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
      return new NotFoundError(`${path}; No such file or directory`, details);
    case 'ENOTDIR':
    case 'EEXIST':
      return new FailedPreconditionError(`${path}; Not a directory. A file has the name of the folder.`, details);
    default:
      return new UnknownError(`${path}; ${error instanceof Error ? error.message : String(error)}`, details);
  }
}
