/** @file The options of sessions and runs, named after TensorFlow's ConfigProto and RunOptions. */
import type { GraphDef } from '../proto/graph.ts';

/** TensorFlow's ConfigProto as an options object. */
export interface SessionConfig {
  readonly deviceCount?: Readonly<Record<string, number>>;
  /** Threads one instruction may use. */
  readonly intraOpParallelismThreads?: number;
  readonly interOpParallelismThreads?: number;
  readonly allowSoftPlacement?: boolean;
  readonly logDevicePlacement?: boolean;
  readonly gpuOptions?: { readonly allowGrowth?: boolean; readonly perProcessGpuMemoryFraction?: number };
  readonly graphOptions?: {
    /** False runs the graph as it is, without simplifying it first. */
    readonly simplify?: boolean;
  };
  /** Milliseconds after which any run fails with DeadlineExceededError. */
  readonly operationTimeoutInMs?: number;
  /** Variables are not shared with other sessions on the same server. */
  readonly isolateSessionState?: boolean;
}

/** How much a run records. */
export const TraceLevel = { NO_TRACE: 0, SOFTWARE_TRACE: 1, HARDWARE_TRACE: 2, FULL_TRACE: 3 } as const;

/** TensorFlow's RunOptions. */
export class RunOptions {
  static readonly NO_TRACE = TraceLevel.NO_TRACE;
  static readonly SOFTWARE_TRACE = TraceLevel.SOFTWARE_TRACE;
  static readonly HARDWARE_TRACE = TraceLevel.HARDWARE_TRACE;
  static readonly FULL_TRACE = TraceLevel.FULL_TRACE;
  readonly traceLevel: number;
  readonly timeoutInMs: number;
  readonly outputPartitionGraphs: boolean;
  constructor(options: { traceLevel?: number; timeoutInMs?: number; outputPartitionGraphs?: boolean } = {}) {
    this.traceLevel = options.traceLevel ?? TraceLevel.NO_TRACE;
    this.timeoutInMs = options.timeoutInMs ?? 0;
    this.outputPartitionGraphs = options.outputPartitionGraphs ?? false;
  }
}

/** The time and memory of one node in a traced run. */
export interface NodeStats {
  readonly nodeName: string;
  /** What the device did for it: `map`, `dot` … */
  readonly timelineLabel: string;
  /** Microseconds since the epoch. */
  readonly allStartMicros: number;
  readonly opEndRelMicros: number;
  readonly allEndRelMicros: number;
}

/** Filled in by a run that asks for it. */
export class RunMetadata {
  stepStats: { devStats: { device: string; nodeStats: NodeStats[] }[] } = { devStats: [] };
  /** The graphs that really ran: pruned and simplified, one per device. */
  partitionGraphs: GraphDef[] = [];
  /** What the simplifier did, one line per rewrite. */
  rewrites: readonly string[] = [];
  /** Bytes of temporary memory the program needs at its peak. */
  peakBytes = 0;
}

export interface RunCallOptions {
  readonly options?: RunOptions | ConstructorParameters<typeof RunOptions>[0];
  readonly runMetadata?: RunMetadata;
  /** Cancels the run; it rejects with CancelledError. */
  readonly signal?: AbortSignal;
}
