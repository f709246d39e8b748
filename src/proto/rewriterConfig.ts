/** @file RewriterConfig: which of TensorFlow's graph rewrites may run. */
import { AttrValue } from './attr.ts';
import {
  bool,
  enumeration,
  enumField,
  int32,
  int64Number,
  type MessageType,
  map,
  message,
  msg,
  repeated,
  str,
} from './message.ts';

export const Toggle = enumeration('RewriterConfig.Toggle', {
  DEFAULT: 0,
  ON: 1,
  OFF: 2,
  AGGRESSIVE: 3,
  EXPERIMENTAL_MLIR: 4,
  EXPERIMENTAL_BOTH: 5,
});

export const MemOptType = enumeration('RewriterConfig.MemOptType', {
  DEFAULT_MEM_OPT: 0,
  NO_MEM_OPT: 1,
  MANUAL: 2,
  SWAPPING_HEURISTICS: 4,
  RECOMPUTATION_HEURISTICS: 5,
  SCHEDULING_HEURISTICS: 6,
  HEURISTICS: 3,
});

export const NumIterationsType = enumeration('RewriterConfig.NumIterationsType', {
  DEFAULT_NUM_ITERS: 0,
  ONE: 1,
  TWO: 2,
});

export const CpuLayout = enumeration('RewriterConfig.CpuLayout', {
  NO_CONVERSION_ON_CPU: 0,
  NCHW_TO_NHWC: 1,
  NHWC_TO_NCHW: 2,
});

export const AutoParallelOptions = message('AutoParallelOptions', { enable: bool(1), num_replicas: int32(2) });
export type AutoParallelOptions = MessageType<typeof AutoParallelOptions>;

export const ScopedAllocatorOptions = message('ScopedAllocatorOptions', { enable_op: repeated(str(1)) });
export type ScopedAllocatorOptions = MessageType<typeof ScopedAllocatorOptions>;

export const CustomGraphOptimizer = message('RewriterConfig.CustomGraphOptimizer', {
  name: str(1),
  parameter_map: map(2, () => AttrValue),
});
export type CustomGraphOptimizer = MessageType<typeof CustomGraphOptimizer>;

export const RewriterConfig = message('RewriterConfig', {
  layout_optimizer: enumField(1, Toggle),
  disable_model_pruning: bool(2),
  constant_folding: enumField(3, Toggle),
  memory_optimization: enumField(4, MemOptType),
  auto_parallel: msg(5, () => AutoParallelOptions),
  memory_optimizer_target_node_name_scope: str(6),
  arithmetic_optimization: enumField(7, Toggle),
  dependency_optimization: enumField(8, Toggle),
  loop_optimization: enumField(9, Toggle),
  function_optimization: enumField(10, Toggle),
  debug_stripper: enumField(11, Toggle),
  meta_optimizer_iterations: enumField(12, NumIterationsType),
  shape_optimization: enumField(13, Toggle),
  remapping: enumField(14, Toggle),
  scoped_allocator_optimization: enumField(15, Toggle),
  scoped_allocator_opts: msg(16, () => ScopedAllocatorOptions),
  min_graph_nodes: int32(17),
  pin_to_host_optimization: enumField(18, Toggle),
  disable_meta_optimizer: bool(19),
  meta_optimizer_timeout_ms: int64Number(20),
  fail_on_optimizer_errors: bool(21),
  implementation_selector: enumField(22, Toggle),
  auto_mixed_precision: enumField(23, Toggle),
  common_subgraph_elimination: enumField(24, Toggle),
  auto_mixed_precision_mkl: enumField(25, Toggle),
  experimental_disable_compressed_tensor_optimization: bool(26),
  experimental_disable_folding_quantization_emulation: bool(27),
  use_plugin_optimizers: enumField(28, Toggle),
  auto_mixed_precision_cpu: enumField(29, Toggle),
  experimental_conditional_code_motion: enumField(30, Toggle),
  auto_mixed_precision_onednn_bfloat16: enumField(31, Toggle),
  disable_tfg_optimizer: bool(32),
  cpu_layout_conversion: enumField(50, CpuLayout),
  optimizers: repeated(str(100)),
  custom_optimizers: repeated(msg(200, () => CustomGraphOptimizer)),
});
export type RewriterConfig = MessageType<typeof RewriterConfig>;
