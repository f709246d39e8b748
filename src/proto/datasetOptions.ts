/** @file Messages of tf.data's options. */
import {
  bool,
  enumeration,
  enumField,
  int32,
  int64,
  type MessageType,
  message,
  msg,
  optional,
  str,
} from './message.ts';

/** How elements are shared out among workers. */
export const AutoShardPolicy = enumeration('AutoShardPolicy', { AUTO: 0, FILE: 1, DATA: 2, HINT: 3, OFF: -1 });
/** What happens to state in functions when a pipeline is saved. */
const ExternalStatePolicy = enumeration('ExternalStatePolicy', {
  POLICY_WARN: 0,
  POLICY_IGNORE: 1,
  POLICY_FAIL: 2,
});

const DistributeOptions = message('DistributeOptions', {
  auto_shard_policy: enumField(1, AutoShardPolicy),
  num_devices: optional(int32(2)),
});
const OptimizationOptions = message('OptimizationOptions', {
  apply_default_optimizations: optional(bool(1)),
  filter_fusion: optional(bool(6)),
  map_and_batch_fusion: optional(bool(9)),
  map_and_filter_fusion: optional(bool(10)),
  map_fusion: optional(bool(11)),
  map_parallelization: optional(bool(12)),
  noop_elimination: optional(bool(14)),
  parallel_batch: optional(bool(15)),
  shuffle_and_repeat_fusion: optional(bool(17)),
  filter_parallelization: optional(bool(18)),
  inject_prefetch: optional(bool(19)),
  seq_interleave_prefetch: optional(bool(21)),
});
const ThreadingOptions = message('ThreadingOptions', {
  max_intra_op_parallelism: optional(int32(1)),
  private_threadpool_size: optional(int32(2)),
});
const AutotuneOptions = message('AutotuneOptions', {
  enabled: optional(bool(1)),
  cpu_budget: optional(int32(2)),
  ram_budget: optional(int64(3)),
});
const ServiceOptions = message('ServiceOptions', {});

export const DatasetOptions = message('Options', {
  deterministic: optional(bool(1)),
  distribute_options: msg(2, () => DistributeOptions),
  optimization_options: msg(3, () => OptimizationOptions),
  slack: optional(bool(4)),
  threading_options: msg(5, () => ThreadingOptions),
  external_state_policy: optional(enumField(6, ExternalStatePolicy)),
  autotune_options: msg(7, () => AutotuneOptions),
  symbolic_checkpoint: optional(bool(8)),
  warm_start: optional(bool(9)),
  dataset_name: optional(str(10)),
  framework_type: optional(str(11)),
  service_options: msg(12, () => ServiceOptions),
});
export type DatasetOptions = MessageType<typeof DatasetOptions>;
