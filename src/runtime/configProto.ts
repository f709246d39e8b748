/** @file TensorFlow's ConfigProto and its parts as classes, for programs that make a config and then set its fields. */
import { checkConfig, type SessionConfig } from './config.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Part<K extends keyof SessionConfig> = Mutable<NonNullable<SessionConfig[K]>>;

/** Options of GPUs. */
export class GPUOptions implements Part<'gpuOptions'> {
  declare allowGrowth?: boolean;
  declare perProcessGpuMemoryFraction?: number;
  constructor(options: NonNullable<SessionConfig['gpuOptions']> = {}) {
    checkConfig({ gpuOptions: options });
    Object.assign(this, options);
  }
}

/** Options of what is done to a graph before it runs. */
export class GraphOptions implements Part<'graphOptions'> {
  declare simplify?: boolean;
  declare optimizerOptions?: { optLevel?: number };
  constructor(options: NonNullable<SessionConfig['graphOptions']> = {}) {
    checkConfig({ graphOptions: options });
    Object.assign(this, options);
  }
}

/**
 * The config of a session; a plain object does as well.
 *
 * @example const config = new tf.ConfigProto({ allowSoftPlacement: true }); config.gpuOptions.allowGrowth = true;
 */
export class ConfigProto implements Mutable<SessionConfig> {
  declare deviceCount: { CPU?: number; GPU?: number };
  declare intraOpParallelismThreads?: number;
  declare interOpParallelismThreads?: number;
  declare allowSoftPlacement?: boolean;
  declare logDevicePlacement?: boolean;
  declare gpuOptions: GPUOptions;
  declare graphOptions: GraphOptions;
  declare operationTimeoutInMs?: number;
  declare isolateSessionState?: boolean;
  constructor(options: SessionConfig = {}) {
    checkConfig(options);
    Object.assign(this, options);
    this.deviceCount = { ...options.deviceCount };
    this.gpuOptions = new GPUOptions(options.gpuOptions);
    this.graphOptions = new GraphOptions(options.graphOptions);
  }
}
