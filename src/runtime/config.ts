/** @file The options of sessions and runs, named after TensorFlow's ConfigProto and RunOptions. */
import type { CancelSignal } from '../core/cancelSignal.ts';
import { checkOptions, type OptionNames } from '../graph/options.ts';
import { userError } from '../graph/userError.ts';
import type { GraphDef } from '../proto/graph.ts';

/** TensorFlow's ConfigProto as an options object. */
export interface SessionConfig {
  /** How many devices of a type there are: CPUs are as many names for the one there is, GPUs are at most so many. */
  readonly deviceCount?: { readonly CPU?: number; readonly GPU?: number };
  /** Threads one instruction may use; 0 leaves it to the device. */
  readonly intraOpParallelismThreads?: number;
  /** How many instructions that do not need each other may share the threads at a time; 0 leaves it to the planner, -1 means one. */
  readonly interOpParallelismThreads?: number;
  readonly allowSoftPlacement?: boolean;
  readonly logDevicePlacement?: boolean;
  readonly gpuOptions?: { readonly allowGrowth?: boolean; readonly perProcessGpuMemoryFraction?: number };
  readonly graphOptions?: {
    /** False runs the graph as it is, without simplifying it first. */
    readonly simplify?: boolean;
    /** An `optLevel` of -1, TensorFlow's L0, means the same as `simplify: false`. */
    readonly optimizerOptions?: { readonly optLevel?: number };
  };
  /** Milliseconds after which any run fails with DeadlineExceededError. */
  readonly operationTimeoutInMs?: number;
  /** Variables are not shared with other sessions on the same server. */
  readonly isolateSessionState?: boolean;
}

const configOptions: OptionNames<SessionConfig> = {
  deviceCount: { CPU: true, GPU: true },
  intraOpParallelismThreads: true,
  interOpParallelismThreads: true,
  allowSoftPlacement: true,
  logDevicePlacement: true,
  gpuOptions: { allowGrowth: true, perProcessGpuMemoryFraction: true },
  graphOptions: { simplify: true, optimizerOptions: { optLevel: true } },
  operationTimeoutInMs: true,
  isolateSessionState: true,
};

/** The least values of options that count something, where it is not 0. */
const least: Readonly<Record<string, number>> = { CPU: 1, interOpParallelismThreads: -1 };

/** Throws when a session's config has options that do not exist, or values that make no sense. */
export function checkConfig(config: SessionConfig): void {
  checkOptions('the config of a session', config, configOptions);
  const { deviceCount, intraOpParallelismThreads, interOpParallelismThreads, operationTimeoutInMs } = config;
  const counts = { intraOpParallelismThreads, interOpParallelismThreads, operationTimeoutInMs, ...deviceCount };
  for (const [name, count] of Object.entries(counts))
    if (count !== undefined && !(Number.isInteger(count) && count >= (least[name] ?? 0)))
      throw userError(
        `${name} is ${count} in the config of a session; it must be a whole number from ${least[name] ?? 0} on.`,
      );
}

/** Whether a session with this config simplifies graphs before it runs them. */
export function wantsSimplifying({ graphOptions }: SessionConfig): boolean {
  return (graphOptions?.simplify ?? true) && graphOptions?.optimizerOptions?.optLevel !== -1;
}

/** How much a run records. */
export const TraceLevel = { NO_TRACE: 0, SOFTWARE_TRACE: 1, HARDWARE_TRACE: 2, FULL_TRACE: 3 } as const;

interface RunOptionsInit {
  readonly traceLevel?: number;
  readonly timeoutInMs?: number;
  readonly outputPartitionGraphs?: boolean;
}
const runOptionNames: OptionNames<RunOptionsInit> = {
  traceLevel: true,
  timeoutInMs: true,
  outputPartitionGraphs: true,
};

/** TensorFlow's RunOptions. */
export class RunOptions {
  static readonly NO_TRACE = TraceLevel.NO_TRACE;
  static readonly SOFTWARE_TRACE = TraceLevel.SOFTWARE_TRACE;
  static readonly HARDWARE_TRACE = TraceLevel.HARDWARE_TRACE;
  static readonly FULL_TRACE = TraceLevel.FULL_TRACE;
  readonly traceLevel: number;
  readonly timeoutInMs: number;
  readonly outputPartitionGraphs: boolean;
  constructor(options: RunOptionsInit = {}) {
    checkOptions('tf.RunOptions', options, runOptionNames);
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
  /** The size of what the device wrote for it; nothing for what ran on the host. */
  readonly outputBytes: number;
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
  readonly options?: RunOptions | RunOptionsInit;
  readonly runMetadata?: RunMetadata;
  /** Cancels the run; it rejects with CancelledError. */
  readonly signal?: CancelSignal;
}
export const runCallOptionNames: OptionNames<RunCallOptions> = { options: true, runMetadata: true, signal: true };
