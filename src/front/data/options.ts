/** @file tf.data.Options: what is said for a whole pipeline. */
import type { Tensor } from '../../graph/tensor.ts';
import { DatasetOptions, type AutoShardPolicy as Shards } from '../../proto/datasetOptions.ts';

/** How elements are shared out among workers. */
export const AutoShardPolicy = { AUTO: 0, FILE: 1, DATA: 2, HINT: 3, OFF: -1 } as const satisfies typeof Shards.values;
/** What happens to state in functions when a pipeline is saved. */
export const ExternalStatePolicy = { WARN: 0, IGNORE: 1, FAIL: 2 } as const;

/** `map_and_batch_fusion` for `mapAndBatchFusion`. */
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const renamed = (record: object, rename: (name: string) => string): Record<string, never> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [rename(name), value as never])); // the fields of the same message

/** How elements are shared out. */
export class DistributeOptions {
  autoShardPolicy: number | undefined;
  numDevices: number | undefined;
}

/** Which rewritings of a pipeline TensorFlow's optimizer may try. They change no element, and here nothing. */
export class OptimizationOptions {
  applyDefaultOptimizations: boolean | undefined;
  filterFusion: boolean | undefined;
  filterParallelization: boolean | undefined;
  injectPrefetch: boolean | undefined;
  mapAndBatchFusion: boolean | undefined;
  mapAndFilterFusion: boolean | undefined;
  mapFusion: boolean | undefined;
  mapParallelization: boolean | undefined;
  noopElimination: boolean | undefined;
  parallelBatch: boolean | undefined;
  shuffleAndRepeatFusion: boolean | undefined;
}

/** How many threads TensorFlow uses for a pipeline; this runtime has one pool for all. */
export class ThreadingOptions {
  maxIntraOpParallelism: number | undefined;
  privateThreadpoolSize: number | undefined;
}

/** How TensorFlow finds numbers that were left to it. */
export class AutotuneOptions {
  enabled: boolean | undefined;
  cpuBudget: number | undefined;
  ramBudget: number | undefined;
}

/**
 * What is said for a whole pipeline, by `dataset.withOptions`.
 *
 * @example
 * const options = new tf.data.Options();
 * options.deterministic = false; // elements may come in any order
 * const dataset = tf.data.Dataset.range(8).map((x) => x, { numParallelCalls: 4 }).withOptions(options);
 */
export class Options {
  /** False allows elements that are made side by side in any order. */
  deterministic: boolean | undefined;
  experimentalSlack: boolean | undefined;
  experimentalExternalStatePolicy: number | undefined;
  readonly autotune = new AutotuneOptions();
  readonly experimentalDistribute = new DistributeOptions();
  readonly experimentalOptimization = new OptimizationOptions();
  readonly threading = new ThreadingOptions();

  /** The older name of `deterministic`. */
  get experimentalDeterministic(): boolean | undefined {
    return this.deterministic;
  }
  set experimentalDeterministic(value: boolean | undefined) {
    this.deterministic = value;
  }
  /** The older name of `threading`. */
  get experimentalThreading(): ThreadingOptions {
    return this.threading;
  }

  /** These options, with those of another that says something. */
  merge(other: Options): Options {
    return Options.parse(Buffer.concat([this.serialize(), other.serialize()]));
  }

  /** The serialized message. */
  serialize(): Uint8Array {
    return DatasetOptions.encode({
      deterministic: this.deterministic,
      slack: this.experimentalSlack,
      external_state_policy: this.experimentalExternalStatePolicy,
      autotune_options: renamed({ ...this.autotune, ramBudget: bigintOf(this.autotune.ramBudget) }, snake),
      distribute_options: renamed(this.experimentalDistribute, snake),
      optimization_options: renamed(this.experimentalOptimization, snake),
      threading_options: renamed(this.threading, snake),
      service_options: {},
    });
  }

  static parse(bytes: Uint8Array): Options {
    const message = DatasetOptions.decode(bytes);
    const options = new Options();
    options.deterministic = message.deterministic;
    options.experimentalSlack = message.slack;
    options.experimentalExternalStatePolicy = message.external_state_policy;
    const { autotune_options = {}, distribute_options } = message;
    Object.assign(options.autotune, renamed(autotune_options, camel));
    if (options.autotune.ramBudget !== undefined) options.autotune.ramBudget = Number(options.autotune.ramBudget);
    if (distribute_options) Object.assign(options.experimentalDistribute, renamed(distribute_options, camel));
    Object.assign(options.experimentalOptimization, renamed(message.optimization_options ?? {}, camel));
    Object.assign(options.threading, renamed(message.threading_options ?? {}, camel));
    return options;
  }
}

const bigintOf = (n: number | undefined) => (n === undefined ? undefined : BigInt(n));

/** The options that were said for a dataset and for those it is made of: what comes later counts. */
export function optionsOf(dataset: Tensor): Uint8Array {
  const { op } = dataset;
  const sources = op.inputs.filter(({ dtype }) => dtype === dataset.dtype).map(optionsOf);
  return Buffer.concat([...sources, op.attrs['serialized_options']?.s ?? new Uint8Array(0)]);
}
