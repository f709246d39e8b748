/** @file The ops of a summary writer in the graph: its handle, opening, flushing and closing it. */
import { NotFoundError, UnimplementedError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { EventFileWriter } from '../../io/eventFile.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { Event } from '../../proto/event.ts';
import type { Init } from '../../proto/message.ts';
import { textOf, wantScalar } from './encode.ts';

/** What a writer's handle stands for: nothing until it is opened. */
class SummaryWriterInterface {
  private file: EventFileWriter | undefined;
  constructor(private readonly name: string) {}

  /** Opens an event file, if none is open. */
  open(logdir: string, options: { maxQueue: number; flushSecs: number; filenameSuffix: string }): void {
    if (this.file) return;
    const file = new EventFileWriter(logdir, options);
    file.begin();
    this.file = file;
  }
  /** Adds an event that happens now. */
  add(step: NDArray, event: Init<Event>): void {
    this.addEvent({ wall_time: Date.now() / 1000, step: step.numberAt(0), ...event });
  }
  /** Adds an event as it is. */
  addEvent(event: Init<Event>): void {
    this.opened().add(event);
  }
  flush(): Promise<void> {
    return this.opened().flush();
  }
  async close(): Promise<void> {
    const file = this.opened();
    this.file = undefined;
    await file.close();
  }

  private opened(): EventFileWriter {
    if (this.file) return this.file;
    throw new NotFoundError(`Resource localhost/${this.name}/SummaryWriterInterface does not exist.`);
  }
}

/** The writer that a handle stands for. */
export const writerAt = (handle: NDArray | undefined): SummaryWriterInterface =>
  sharedObject(handle!, SummaryWriterInterface);

export const SummaryWriter = defineOp({
  name: 'SummaryWriter',
  inputs: {},
  outputs: { writer: 'resource' },
  attrs: { shared_name: attr('string', { default: '' }), container: attr('string', { default: '' }) },
  stateful: true,
  shape: () => ({ writer: [] }),
  grad: notDifferentiable,
  lower: (p, _inputs, { shared_name, container }, node) => {
    const name = shared_name === '' ? node.name : shared_name;
    return { writer: p.shared({ container, name }, () => new SummaryWriterInterface(name)) };
  },
  cases: () => [{ shape: ' -> []' }],
});

export const CreateSummaryFileWriter = defineOp({
  name: 'CreateSummaryFileWriter',
  inputs: {
    writer: 'resource',
    logdir: 'string',
    max_queue: 'int32',
    flush_millis: 'int32',
    filename_suffix: 'string',
  },
  outputs: {},
  attrs: {},
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { writer, logdir, max_queue, flush_millis, filename_suffix }) {
    for (const [port, value] of Object.entries({ logdir, max_queue, flush_millis, filename_suffix }))
      wantScalar(value, `${port} must be scalar, got shape ${showRuntime(value.shape)}`);
    p.host([writer, logdir, max_queue, flush_millis, filename_suffix], [], ([at, folder, queue, millis, suffix]) => {
      writerAt(at).open(textOf(folder!), {
        maxQueue: queue!.numberAt(0),
        flushSecs: millis!.numberAt(0) / 1000,
        filenameSuffix: textOf(suffix!),
      });
      return [];
    });
    return {};
  },
  cases: () => [{ shape: '[], [], [], [], [] -> ' }],
});

export const CreateSummaryDbWriter = defineOp({
  name: 'CreateSummaryDbWriter',
  inputs: { writer: 'resource', db_uri: 'string', experiment_name: 'string', run_name: 'string', user_name: 'string' },
  outputs: {},
  attrs: {},
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower() {
    throw new UnimplementedError('Summaries are not written to databases; use a file writer.');
  },
  cases: () => [{ shape: '[], [], [], [], [] -> ' }],
});

/** An op that does something with a writer and nothing else. */
const writerOp = (name: string, act: (writer: SummaryWriterInterface) => Promise<void>) =>
  defineOp({
    name,
    inputs: { writer: 'resource' },
    outputs: {},
    attrs: {},
    stateful: true,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { writer }) {
      p.host([writer], [], async ([at]) => {
        await act(writerAt(at));
        return [];
      });
      return {};
    },
    cases: () => [{ shape: '[] -> ' }],
  });
export const FlushSummaryWriter = writerOp('FlushSummaryWriter', (writer) => writer.flush());
export const CloseSummaryWriter = writerOp('CloseSummaryWriter', (writer) => writer.close());
