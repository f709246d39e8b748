/** @file Messages of options and results of sessions: ConfigProto, RunOptions, RunMetadata, CallableOptions. */
import { ClusterDef } from './device.ts';
import { GraphDef } from './graph.ts';
import {
  bool,
  double,
  enumeration,
  enumField,
  float,
  int32,
  int64,
  int64Number,
  type MessageType,
  map,
  message,
  msg,
  repeated,
  str,
} from './message.ts';
import { RewriterConfig } from './rewriterConfig.ts';
import { CostGraphDef, StepStats } from './stepStats.ts';

export const VirtualDevices = message('GPUOptions.Experimental.VirtualDevices', {
  memory_limit_mb: repeated(float(1)),
  priority: repeated(int32(2)),
  device_ordinal: repeated(int32(3)),
});
export type VirtualDevices = MessageType<typeof VirtualDevices>;

export const GPUOptionsExperimental = message('GPUOptions.Experimental', {
  virtual_devices: repeated(msg(1, () => VirtualDevices)),
  use_unified_memory: bool(2),
  num_dev_to_dev_copy_streams: int32(3),
  collective_ring_order: str(4),
  timestamped_allocator: bool(5),
  kernel_tracker_max_interval: int32(7),
  kernel_tracker_max_bytes: int32(8),
  kernel_tracker_max_pending: int32(9),
  internal_fragmentation_fraction: double(10),
  use_cuda_malloc_async: bool(11),
  disallow_retry_on_allocation_failure: bool(12),
});
export type GPUOptionsExperimental = MessageType<typeof GPUOptionsExperimental>;

export const GPUOptions = message('GPUOptions', {
  per_process_gpu_memory_fraction: double(1),
  allocator_type: str(2),
  deferred_deletion_bytes: int64Number(3),
  allow_growth: bool(4),
  visible_device_list: str(5),
  polling_active_delay_usecs: int32(6),
  polling_inactive_delay_msecs: int32(7),
  force_gpu_compatible: bool(8),
  experimental: msg(9, () => GPUOptionsExperimental),
});
export type GPUOptions = MessageType<typeof GPUOptions>;

export const OptimizerLevel = enumeration('OptimizerOptions.Level', { L1: 0, L0: -1 });
export const GlobalJitLevel = enumeration('OptimizerOptions.GlobalJitLevel', { DEFAULT: 0, OFF: -1, ON_1: 1, ON_2: 2 });

export const OptimizerOptions = message('OptimizerOptions', {
  do_common_subexpression_elimination: bool(1),
  do_constant_folding: bool(2),
  opt_level: enumField(3, OptimizerLevel),
  do_function_inlining: bool(4),
  global_jit_level: enumField(5, GlobalJitLevel),
  max_folded_constant_in_bytes: int64Number(6),
  cpu_global_jit: bool(7),
});
export type OptimizerOptions = MessageType<typeof OptimizerOptions>;

export const GraphOptions = message('GraphOptions', {
  enable_recv_scheduling: bool(2),
  optimizer_options: msg(3, () => OptimizerOptions),
  build_cost_model: int64Number(4),
  infer_shapes: bool(5),
  place_pruned_graph: bool(6),
  enable_bfloat16_sendrecv: bool(7),
  timeline_step: int32(8),
  build_cost_model_after: int64Number(9),
  rewrite_options: msg(10, () => RewriterConfig),
});
export type GraphOptions = MessageType<typeof GraphOptions>;

export const ThreadPoolOptionProto = message('ThreadPoolOptionProto', { num_threads: int32(1), global_name: str(2) });
export type ThreadPoolOptionProto = MessageType<typeof ThreadPoolOptionProto>;

export const RPCOptions = message('RPCOptions', {
  use_rpc_for_inprocess_master: bool(1),
  compression_algorithm: str(2),
  compression_level: int32(3),
  cache_rpc_response: bool(4),
  disable_session_connection_sharing: bool(5),
  num_channels_per_target: int32(6),
});
export type RPCOptions = MessageType<typeof RPCOptions>;

export const SessionMetadata = message('SessionMetadata', { name: str(1), version: int64Number(2) });
export type SessionMetadata = MessageType<typeof SessionMetadata>;

export const ConfigExperimental = message('ConfigProto.Experimental', {
  collective_group_leader: str(1),
  executor_type: str(3),
  recv_buf_max_chunk: int32(4),
  use_numa_affinity: bool(5),
  collective_deterministic_sequential_execution: bool(6),
  collective_nccl: bool(7),
  share_session_state_in_clusterspec_propagation: bool(8),
  disable_thread_spinning: bool(9),
  share_cluster_devices_in_session: bool(10),
  session_metadata: msg(11, () => SessionMetadata),
  optimize_for_static_graph: bool(12),
  enable_mlir_bridge: bool(13),
  disable_output_partition_graphs: bool(14),
  xla_fusion_autotuner_thresh: int64Number(15),
  enable_mlir_graph_optimization: bool(16),
  use_tfrt: bool(18),
  disable_functional_ops_lowering: bool(21),
  xla_prefer_single_graph_cluster: bool(22),
  /** Python clients always set this. */
  disable_optimize_for_static_graph: bool(24),
});
export type ConfigExperimental = MessageType<typeof ConfigExperimental>;

export const ConfigProto = message('ConfigProto', {
  /** Device type to the most devices of it to use, as in `{ CPU: 1, GPU: 0 }`. */
  device_count: map(1, int32(2)),
  intra_op_parallelism_threads: int32(2),
  placement_period: int32(3),
  device_filters: repeated(str(4)),
  inter_op_parallelism_threads: int32(5),
  gpu_options: msg(6, () => GPUOptions),
  allow_soft_placement: bool(7),
  log_device_placement: bool(8),
  use_per_session_threads: bool(9),
  graph_options: msg(10, () => GraphOptions),
  operation_timeout_in_ms: int64Number(11),
  session_inter_op_thread_pool: repeated(msg(12, () => ThreadPoolOptionProto)),
  rpc_options: msg(13, () => RPCOptions),
  cluster_def: msg(14, () => ClusterDef),
  isolate_session_state: bool(15),
  experimental: msg(16, () => ConfigExperimental),
  share_cluster_devices_in_session: bool(17),
  pluggable_device_options: msg(18, () => GPUOptions),
});
export type ConfigProto = MessageType<typeof ConfigProto>;

export const DebugTensorWatch = message('DebugTensorWatch', {
  node_name: str(1),
  output_slot: int32(2),
  debug_ops: repeated(str(3)),
  debug_urls: repeated(str(4)),
  tolerate_debug_op_creation_failures: bool(5),
});
export type DebugTensorWatch = MessageType<typeof DebugTensorWatch>;

export const DebugOptions = message('DebugOptions', {
  debug_tensor_watch_opts: repeated(msg(4, () => DebugTensorWatch)),
  global_step: int64Number(10),
  reset_disk_byte_usage: bool(11),
});
export type DebugOptions = MessageType<typeof DebugOptions>;

export const TraceLevel = enumeration('RunOptions.TraceLevel', {
  NO_TRACE: 0,
  SOFTWARE_TRACE: 1,
  HARDWARE_TRACE: 2,
  FULL_TRACE: 3,
});

export const RunHandlerPoolOptions = message('RunOptions.Experimental.RunHandlerPoolOptions', {
  priority: int64Number(1),
});
export type RunHandlerPoolOptions = MessageType<typeof RunHandlerPoolOptions>;

export const RunExperimental = message('RunOptions.Experimental', {
  collective_graph_key: int64(1),
  use_run_handler_pool: bool(2),
  run_handler_pool_options: msg(3, () => RunHandlerPoolOptions),
});
export type RunExperimental = MessageType<typeof RunExperimental>;

export const RunOptions = message('RunOptions', {
  trace_level: enumField(1, TraceLevel),
  timeout_in_ms: int64Number(2),
  inter_op_thread_pool: int32(3),
  output_partition_graphs: bool(5),
  debug_options: msg(6, () => DebugOptions),
  report_tensor_allocations_upon_oom: bool(7),
  experimental: msg(8, () => RunExperimental),
});
export type RunOptions = MessageType<typeof RunOptions>;

export const FunctionGraphs = message('RunMetadata.FunctionGraphs', {
  partition_graphs: repeated(msg(1, () => GraphDef)),
  pre_optimization_graph: msg(2, () => GraphDef),
  post_optimization_graph: msg(3, () => GraphDef),
});
export type FunctionGraphs = MessageType<typeof FunctionGraphs>;

export const RunMetadata = message('RunMetadata', {
  step_stats: msg(1, () => StepStats),
  cost_graph: msg(2, () => CostGraphDef),
  partition_graphs: repeated(msg(3, () => GraphDef)),
  function_graphs: repeated(msg(4, () => FunctionGraphs)),
  session_metadata: msg(5, () => SessionMetadata),
});
export type RunMetadata = MessageType<typeof RunMetadata>;

export const TensorConnection = message('TensorConnection', { from_tensor: str(1), to_tensor: str(2) });
export type TensorConnection = MessageType<typeof TensorConnection>;

export const CallableOptions = message('CallableOptions', {
  feed: repeated(str(1)),
  fetch: repeated(str(2)),
  target: repeated(str(3)),
  run_options: msg(4, () => RunOptions),
  tensor_connection: repeated(msg(5, () => TensorConnection)),
  feed_devices: map(6, str(2)),
  fetch_devices: map(7, str(2)),
  fetch_skip_sync: bool(8),
});
export type CallableOptions = MessageType<typeof CallableOptions>;
