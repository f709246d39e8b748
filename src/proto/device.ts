/** @file Messages of devices and clusters. */
import { fixed64, int32, int64Number, type MessageType, map, message, msg, repeated, str } from './message.ts';

export const InterconnectLink = message('InterconnectLink', { device_id: int32(1), type: str(2), strength: int32(3) });
export type InterconnectLink = MessageType<typeof InterconnectLink>;

export const LocalLinks = message('LocalLinks', { link: repeated(msg(1, () => InterconnectLink)) });
export type LocalLinks = MessageType<typeof LocalLinks>;

export const DeviceLocality = message('DeviceLocality', {
  bus_id: int32(1),
  numa_node: int32(2),
  links: msg(3, () => LocalLinks),
});
export type DeviceLocality = MessageType<typeof DeviceLocality>;

export const DeviceAttributes = message('DeviceAttributes', {
  /** `/job:worker/replica:0/task:1/device:GPU:0` */
  name: str(1),
  device_type: str(2),
  memory_limit: int64Number(4),
  locality: msg(5, () => DeviceLocality),
  /** A random number that changes when the process restarts. */
  incarnation: fixed64(6),
  physical_device_desc: str(7),
  xla_global_id: int64Number(8),
});
export type DeviceAttributes = MessageType<typeof DeviceAttributes>;

export const JobDef = message('JobDef', {
  name: str(1),
  /** Task number to `host:port`. */
  tasks: map(2, str(2), 'int32'),
});
export type JobDef = MessageType<typeof JobDef>;

export const ClusterDef = message('ClusterDef', { job: repeated(msg(1, () => JobDef)) });
export type ClusterDef = MessageType<typeof ClusterDef>;

export const TaskDeviceFilters = message('TaskDeviceFilters', { device_filters: repeated(str(1)) });
export type TaskDeviceFilters = MessageType<typeof TaskDeviceFilters>;

export const JobDeviceFilters = message('JobDeviceFilters', {
  name: str(1),
  tasks: map(2, () => TaskDeviceFilters, 'int32'),
});
export type JobDeviceFilters = MessageType<typeof JobDeviceFilters>;

export const ClusterDeviceFilters = message('ClusterDeviceFilters', { jobs: repeated(msg(1, () => JobDeviceFilters)) });
export type ClusterDeviceFilters = MessageType<typeof ClusterDeviceFilters>;
