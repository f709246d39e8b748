/** @file Messages of TensorFlow's MasterService: what a client says to the server that runs its sessions. */
import { CallableOptions, ConfigProto, RunMetadata, RunOptions } from './config.ts';
import { ClusterDef, ClusterDeviceFilters, DeviceAttributes } from './device.ts';
import { GraphDef } from './graph.ts';
import { bool, int32, int64, int64Number, type MessageType, message, msg, repeated, str } from './message.ts';
import { NamedTensorProto, TensorProto } from './tensor.ts';

export const ServerDef = message('ServerDef', {
  cluster: msg(1, () => ClusterDef),
  job_name: str(2),
  task_index: int32(3),
  default_session_config: msg(4, () => ConfigProto),
  protocol: str(5),
  port: int32(6),
  cluster_device_filters: msg(7, () => ClusterDeviceFilters),
  replica: int32(8),
});
export type ServerDef = MessageType<typeof ServerDef>;

export const CreateSessionRequest = message('CreateSessionRequest', {
  graph_def: msg(1, () => GraphDef),
  config: msg(2, () => ConfigProto),
  target: str(3),
});
export type CreateSessionRequest = MessageType<typeof CreateSessionRequest>;

export const CreateSessionResponse = message('CreateSessionResponse', {
  session_handle: str(1),
  graph_version: int64Number(2),
});
export type CreateSessionResponse = MessageType<typeof CreateSessionResponse>;

export const ExtendSessionRequest = message('ExtendSessionRequest', {
  session_handle: str(1),
  graph_def: msg(2, () => GraphDef),
  current_graph_version: int64Number(3),
});
export type ExtendSessionRequest = MessageType<typeof ExtendSessionRequest>;

export const ExtendSessionResponse = message('ExtendSessionResponse', { new_graph_version: int64Number(4) });
export type ExtendSessionResponse = MessageType<typeof ExtendSessionResponse>;

export const RunStepRequest = message('RunStepRequest', {
  session_handle: str(1),
  feed: repeated(msg(2, () => NamedTensorProto)),
  fetch: repeated(str(3)),
  target: repeated(str(4)),
  options: msg(5, () => RunOptions),
  partial_run_handle: str(6),
  store_errors_in_response_body: bool(7),
  /** Random and non-zero, or 0; a server refuses one it has seen. */
  request_id: int64(8),
});
export type RunStepRequest = MessageType<typeof RunStepRequest>;

export const RunStepResponse = message('RunStepResponse', {
  tensor: repeated(msg(1, () => NamedTensorProto)),
  metadata: msg(2, () => RunMetadata),
  status_code: int32(3),
  status_error_message: str(4),
});
export type RunStepResponse = MessageType<typeof RunStepResponse>;

export const PartialRunSetupRequest = message('PartialRunSetupRequest', {
  session_handle: str(1),
  feed: repeated(str(2)),
  fetch: repeated(str(3)),
  target: repeated(str(4)),
  request_id: int64(5),
});
export type PartialRunSetupRequest = MessageType<typeof PartialRunSetupRequest>;

export const PartialRunSetupResponse = message('PartialRunSetupResponse', { partial_run_handle: str(1) });
export type PartialRunSetupResponse = MessageType<typeof PartialRunSetupResponse>;

export const CloseSessionRequest = message('CloseSessionRequest', { session_handle: str(1) });
export type CloseSessionRequest = MessageType<typeof CloseSessionRequest>;

export const CloseSessionResponse = message('CloseSessionResponse', {});
export type CloseSessionResponse = MessageType<typeof CloseSessionResponse>;

export const ResetRequest = message('ResetRequest', { container: repeated(str(1)), device_filters: repeated(str(2)) });
export type ResetRequest = MessageType<typeof ResetRequest>;

export const ResetResponse = message('ResetResponse', {});
export type ResetResponse = MessageType<typeof ResetResponse>;

export const ListDevicesRequest = message('ListDevicesRequest', { session_handle: str(1) });
export type ListDevicesRequest = MessageType<typeof ListDevicesRequest>;

export const ListDevicesResponse = message('ListDevicesResponse', {
  local_device: repeated(msg(1, () => DeviceAttributes)),
  remote_device: repeated(msg(2, () => DeviceAttributes)),
});
export type ListDevicesResponse = MessageType<typeof ListDevicesResponse>;

export const MakeCallableRequest = message('MakeCallableRequest', {
  session_handle: str(1),
  options: msg(2, () => CallableOptions),
  request_id: int64(3),
});
export type MakeCallableRequest = MessageType<typeof MakeCallableRequest>;

export const MakeCallableResponse = message('MakeCallableResponse', { handle: int64(1) });
export type MakeCallableResponse = MessageType<typeof MakeCallableResponse>;

export const RunCallableRequest = message('RunCallableRequest', {
  session_handle: str(1),
  handle: int64(2),
  feed: repeated(msg(3, () => TensorProto)),
  request_id: int64(4),
});
export type RunCallableRequest = MessageType<typeof RunCallableRequest>;

export const RunCallableResponse = message('RunCallableResponse', {
  fetch: repeated(msg(1, () => TensorProto)),
  metadata: msg(2, () => RunMetadata),
});
export type RunCallableResponse = MessageType<typeof RunCallableResponse>;

export const ReleaseCallableRequest = message('ReleaseCallableRequest', { session_handle: str(1), handle: int64(2) });
export type ReleaseCallableRequest = MessageType<typeof ReleaseCallableRequest>;

export const ReleaseCallableResponse = message('ReleaseCallableResponse', {});
export type ReleaseCallableResponse = MessageType<typeof ReleaseCallableResponse>;
