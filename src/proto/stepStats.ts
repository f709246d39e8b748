/** @file Messages of what a step cost: times and memory per node, and the cost graph. */
import {
  bool,
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
  uint32,
  uint64,
} from './message.ts';
import { DataType, TensorShapeProto } from './tensor.ts';

export const AllocationDescription = message('AllocationDescription', {
  requested_bytes: int64Number(1),
  allocated_bytes: int64Number(2),
  allocator_name: str(3),
  allocation_id: int64(4),
  has_single_reference: bool(5),
  ptr: uint64(6),
});
export type AllocationDescription = MessageType<typeof AllocationDescription>;

export const TensorDescription = message('TensorDescription', {
  dtype: enumField(1, DataType),
  shape: msg(2, () => TensorShapeProto),
  allocation_description: msg(4, () => AllocationDescription),
});
export type TensorDescription = MessageType<typeof TensorDescription>;

export const AllocationRecord = message('AllocationRecord', {
  alloc_micros: int64Number(1),
  alloc_bytes: int64Number(2),
});
export type AllocationRecord = MessageType<typeof AllocationRecord>;

export const AllocatorMemoryUsed = message('AllocatorMemoryUsed', {
  allocator_name: str(1),
  total_bytes: int64Number(2),
  peak_bytes: int64Number(3),
  live_bytes: int64Number(4),
  allocator_bytes_in_use: int64Number(5),
  allocation_records: repeated(msg(6, () => AllocationRecord)),
});
export type AllocatorMemoryUsed = MessageType<typeof AllocatorMemoryUsed>;

export const NodeOutput = message('NodeOutput', {
  slot: int32(1),
  tensor_description: msg(3, () => TensorDescription),
});
export type NodeOutput = MessageType<typeof NodeOutput>;

export const MemoryStats = message('MemoryStats', {
  temp_memory_size: int64Number(1),
  device_temp_memory_size: int64Number(2),
  persistent_memory_size: int64Number(3),
  device_persistent_memory_size: int64Number(4),
  persistent_tensor_alloc_ids: repeated(int64(5)),
  device_persistent_tensor_alloc_ids: repeated(int64(6)),
});
export type MemoryStats = MessageType<typeof MemoryStats>;

/** One run of one node. Times in microseconds (and nanoseconds), `rel` ones from the start. */
export const NodeExecStats = message('NodeExecStats', {
  node_name: str(1),
  all_start_micros: int64Number(2),
  op_start_rel_micros: int64Number(3),
  op_end_rel_micros: int64Number(4),
  all_end_rel_micros: int64Number(5),
  memory: repeated(msg(6, () => AllocatorMemoryUsed)),
  output: repeated(msg(7, () => NodeOutput)),
  timeline_label: str(8),
  scheduled_micros: int64Number(9),
  thread_id: uint32(10),
  referenced_tensor: repeated(msg(11, () => AllocationDescription)),
  memory_stats: msg(12, () => MemoryStats),
  /** Nanoseconds since 1970 are beyond 2^53, so these two are bigints. */
  all_start_nanos: int64(13),
  op_start_rel_nanos: int64Number(14),
  op_end_rel_nanos: int64Number(15),
  all_end_rel_nanos: int64Number(16),
  scheduled_nanos: int64(17),
});
export type NodeExecStats = MessageType<typeof NodeExecStats>;

export const DeviceStepStats = message('DeviceStepStats', {
  device: str(1),
  node_stats: repeated(msg(2, () => NodeExecStats)),
  thread_names: map(3, str(2), 'uint32'),
});
export type DeviceStepStats = MessageType<typeof DeviceStepStats>;

export const StepStats = message('StepStats', { dev_stats: repeated(msg(1, () => DeviceStepStats)) });
export type StepStats = MessageType<typeof StepStats>;

export const CostInputInfo = message('CostGraphDef.Node.InputInfo', {
  preceding_node: int32(1),
  preceding_port: int32(2),
});
export type CostInputInfo = MessageType<typeof CostInputInfo>;

export const CostOutputInfo = message('CostGraphDef.Node.OutputInfo', {
  size: int64Number(1),
  alias_input_port: int64Number(2),
  shape: msg(3, () => TensorShapeProto),
  dtype: enumField(4, DataType),
});
export type CostOutputInfo = MessageType<typeof CostOutputInfo>;

export const CostNode = message('CostGraphDef.Node', {
  name: str(1),
  device: str(2),
  id: int32(3),
  input_info: repeated(msg(4, () => CostInputInfo)),
  output_info: repeated(msg(5, () => CostOutputInfo)),
  temporary_memory_size: int64Number(6),
  is_final: bool(7),
  control_input: repeated(int32(8)),
  compute_cost: int64Number(9),
  host_temp_memory_size: int64Number(10),
  device_temp_memory_size: int64Number(11),
  persistent_memory_size: int64Number(12),
  compute_time: int64Number(14),
  memory_time: int64Number(15),
  device_persistent_memory_size: int64Number(16),
  inaccurate: bool(17),
});
export type CostNode = MessageType<typeof CostNode>;

export const AggregatedCost = message('CostGraphDef.AggregatedCost', { cost: float(1), dimension: str(2) });
export type AggregatedCost = MessageType<typeof AggregatedCost>;

export const CostGraphDef = message('CostGraphDef', {
  node: repeated(msg(1, () => CostNode)),
  cost: repeated(msg(2, () => AggregatedCost)),
});
export type CostGraphDef = MessageType<typeof CostGraphDef>;
