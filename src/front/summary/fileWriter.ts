/** @file FileWriter: adds summaries, graphs and other events to the files that TensorBoard reads. */
import { NDArray } from '../../core/ndarray.ts';
import { Graph, getDefaultGraph } from '../../graph/graph.ts';
import { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { type EventFileOptions, EventFileWriter } from '../../io/eventFile.ts';
import { tfRecordIterator } from '../../io/records.ts';
import * as proto from '../../proto/event.ts';
import { GraphDef } from '../../proto/graph.ts';
import type { Init } from '../../proto/message.ts';
import { MetaGraphDef } from '../../proto/metaGraph.ts';
import { encodeRunMetadata, type RunRecord } from '../../proto/runMetadata.ts';
import type { SaverSession } from '../saver.ts';
import { exportMetaGraph } from '../saving/metaGraph.ts';
import { type CamelInit, Event, protoRecord } from './messages.ts';
import { SessionEventWriter } from './sessionWriter.ts';

/** A count of steps: a number, or what a run gave for the global step; or an option of that name. */
export type StepLike = Step | { readonly globalStep?: Step | undefined };
type Step = number | bigint | NDArray;
/** How a writer writes; the graph may be given here or in front of it. */
export interface FileWriterOptions extends EventFileOptions {
  readonly graph?: Graph | GraphDef | undefined;
  readonly graphDef?: GraphDef | undefined;
  /** A session whose graph writes the events, where it runs; all writers of it and of one folder share a file then. */
  readonly session?: SaverSession | undefined;
}
const optionNames = ['graph', 'graphDef', 'session', 'maxQueue', 'flushSecs', 'filenameSuffix'] as const;
/** A summary as a run gave it, as bytes, or as a record. */
export type SummaryLike = NDArray | Uint8Array | CamelInit<proto.Summary>;

function stepOf(given: StepLike | undefined): { step?: number } {
  const isOption = typeof given === 'object' && given !== null && !(given instanceof NDArray);
  const step = isOption ? onlyOptions('tf.summary.FileWriter', given, 'globalStep').globalStep : given;
  if (step === undefined || step === null) return {};
  const number = Math.trunc(Number(step));
  if (Number.isNaN(number))
    throw userError(`A step is a number, or what a run gave for the global step, but this is ${String(step)}.`);
  return { step: number };
}

/**
 * Writes summaries and other events to a folder for TensorBoard. Nothing waits for the disk but `flush` and `close`; what is
 * still in memory when the process ends is written then.
 *
 * @example
 * const writer = new tf.summary.FileWriter('logs/train', sess.graph);
 * writer.addSummary(await sess.run(merged), step);
 * await writer.close();
 */
export class FileWriter implements AsyncDisposable {
  private readonly events: EventFileWriter | SessionEventWriter;
  private isClosed = false;
  private closing: Promise<void> = Promise.resolve();
  /** Tags whose metadata is in the file. */
  private readonly seenTags = new Set<string>();
  private readonly runTags = new Set<string>();

  constructor(logdir: string, graph?: Graph | GraphDef | FileWriterOptions | null, options: FileWriterOptions = {}) {
    const isGraph = graph instanceof Graph || (graph && 'node' in graph);
    const given = graph && !isGraph ? graph : options;
    const { graph: named, graphDef, session, ...rest } = onlyOptions('tf.summary.FileWriter', given, ...optionNames);
    this.events = session ? new SessionEventWriter(session, logdir, rest) : new EventFileWriter(logdir, rest);
    const added = isGraph ? graph : (named ?? graphDef);
    if (!added) return;
    const def = graphDefOf(added);
    this.addGraph(def);
    this.addMetaGraph(exportMetaGraph({ graphDef: def, ...(added instanceof Graph && { graph: added }) }));
  }

  getLogdir(): string {
    return this.events.folder;
  }

  /** Adds what a summary op made. Metadata is kept for the first value of each tag only, as readers need it once. */
  addSummary(summary: SummaryLike | null, globalStep?: StepLike): void {
    if (summary === null)
      throw userError('There is no summary to add: tf.summary.mergeAll() gives null when the graph has none.');
    const { value } = summaryRecord(summary);
    const values = value.map(({ metadata, ...rest }) => {
      if (metadata === undefined || this.seenTags.has(rest.tag)) return rest;
      this.seenTags.add(rest.tag);
      return { metadata, ...rest };
    });
    this.add({ summary: { value: values }, ...stepOf(globalStep) });
  }

  /** Adds a whole event as it is. */
  addEvent(event: CamelInit<proto.Event>): void {
    if (this.isUsable()) this.events.add(protoRecord(proto.Event, event));
  }

  /** Adds a graph, with the static shapes of its tensors. */
  addGraph(graph: Graph | GraphDef, globalStep?: StepLike): void {
    this.add({ graph_def: GraphDef.encode(graphDefOf(graph)), ...stepOf(globalStep) });
  }

  /** Adds a graph with its collections. */
  addMetaGraph(metaGraphDef: Init<MetaGraphDef>, globalStep?: StepLike): void {
    this.add({ meta_graph_def: MetaGraphDef.encode(metaGraphDef), ...stepOf(globalStep) });
  }

  /** Adds the times and graphs of a run under a name, which can be used once. */
  addRunMetadata(runMetadata: RunRecord, tag: string, globalStep?: StepLike): void {
    if (this.runTags.has(tag)) throw userError('The provided tag was already used for this event type');
    this.runTags.add(tag);
    this.add({
      tagged_run_metadata: { tag, run_metadata: encodeRunMetadata(runMetadata) },
      ...stepOf(globalStep),
    });
  }

  /** Adds the news that a session started, stopped or wrote a checkpoint. */
  addSessionLog(sessionLog: CamelInit<proto.SessionLog>, globalStep?: StepLike): void {
    this.add({ session_log: protoRecord(proto.SessionLog, sessionLog), ...stepOf(globalStep) });
  }

  /** Waits until everything so far is in the file. */
  async flush(): Promise<void> {
    if (this.isUsable()) await this.events.flush();
  }

  /** Writes everything and closes the file. A second call waits for the first. */
  async close(): Promise<void> {
    if (!this.isClosed) this.closing = this.events.close();
    this.isClosed = true;
    await this.closing;
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Lets a closed writer write again, to a new file. */
  reopen(): void {
    this.isClosed = false;
  }

  private add(event: Init<proto.Event>): void {
    if (this.isUsable()) this.events.add({ wall_time: Date.now() / 1000, ...event });
  }

  private isUsable(): boolean {
    if (this.isClosed)
      process.emitWarning(
        'Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is explicitly reopened.',
      );
    return !this.isClosed;
  }
}

function summaryRecord(summary: SummaryLike): proto.Summary {
  if (summary instanceof Uint8Array) return proto.Summary.decode(summary);
  if (!(summary instanceof NDArray)) {
    checkRecord(summary);
    return proto.Summary.create(protoRecord(proto.Summary, summary));
  }
  if (summary.size !== 1 || !(summary.objects[0] instanceof Uint8Array))
    throw userError(`A summary is a scalar of type string, but this is a ${summary.dtype} array of ${summary.size}.`);
  return proto.Summary.decode(summary.objects[0]);
}

/** Refuses what is easily taken for the result of a run. */
function checkRecord(summary: unknown): void {
  const remedy = 'Add what running it gives: writer.addSummary(await sess.run(merged), step).';
  if (summary instanceof Tensor || summary instanceof Operation)
    throw userError(`${String(summary)} is part of the graph and has no value yet. ${remedy}`);
  if (summary instanceof Promise) throw userError(`This is a promise of a summary. ${remedy}`);
  if (Array.isArray(summary))
    throw userError('This is an array; add the summaries in it one by one, or make one of them with tf.summary.merge.');
}

const graphDefOf = (graph: Graph | GraphDef): GraphDef =>
  graph instanceof Graph ? graph.asGraphDef({ addShapes: true }) : graph;

const writers = new Map<string, FileWriter>();

/** One writer for each folder, so that several parts of a program add to the same file. */
export const FileWriterCache = {
  /** The writer of a folder, which is made with the default graph when it is asked for first. */
  get(logdir: string): FileWriter {
    let writer = writers.get(logdir);
    if (!writer) {
      writer = new FileWriter(logdir, getDefaultGraph());
      writers.set(logdir, writer);
    }
    return writer;
  },
  /** Closes all writers and forgets them. */
  async clear(): Promise<void> {
    const all = [...writers.values()];
    writers.clear();
    await Promise.all(all.map((writer) => writer.close()));
  },
};

/**
 * The events of a file, one after the other.
 *
 * @example for await (const event of tf.train.summaryIterator(path)) for (const { tag, simpleValue } of event.summary?.value ?? []) console.log(tag, simpleValue);
 */
export async function* summaryIterator(path: string): AsyncGenerator<Event> {
  for await (const record of tfRecordIterator(path)) yield Event.fromString(record);
}
