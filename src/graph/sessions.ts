/** @file Sessions for code that only builds graphs: what it may ask of one, and how it gets one without importing the runtime. */
import type { CancelSignal } from '../core/cancelSignal.ts';
import { InternalError } from '../core/errors.ts';
import type { RunRecord } from '../proto/runMetadata.ts';
import type { Graph } from './graph.ts';
import type { Runner } from './runner.ts';
import type { Feeds, Fetch, Fetched } from './runTypes.ts';

/** What a run should do besides computing. */
export interface RunSettings {
  readonly options?: RunChoices | undefined;
  readonly runMetadata?: RunRecord | undefined;
  readonly signal?: CancelSignal | undefined;
}
/** TensorFlow's RunOptions. */
export interface RunChoices {
  readonly traceLevel?: number;
  readonly timeoutInMs?: number;
  readonly outputPartitionGraphs?: boolean;
}

/** A session of one graph. */
export interface GraphSession extends Runner {
  readonly graph: Graph;
  run<const F extends Fetch>(fetches: F, feeds?: Feeds, settings?: RunSettings): Promise<Fetched<F>>;
  close(): void | Promise<void>;
}

/** How a session is made. */
export interface SessionRequest {
  /** The server to run on; empty for this process. */
  readonly target: string;
  readonly graph: Graph;
  /** The session's config, as `tf.Session` takes it. */
  readonly config?: object | undefined;
}

let factory: ((request: SessionRequest) => GraphSession) | undefined;
/** Tells how sessions are made. Called once when the runtime loads. */
export function setSessionFactory(make: (request: SessionRequest) => GraphSession): void {
  factory = make;
}

/** A new session. */
export function openSession(request: SessionRequest): GraphSession {
  if (!factory) throw new InternalError('no runtime is loaded that could make sessions');
  return factory(request);
}
