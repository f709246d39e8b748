/** @file The devices of this process: the native CPU device where it could be built, else the reference device. */
import { CpuDevice } from '../devices/cpu/device.ts';
import type { Device } from '../devices/device.ts';
import { ReferenceDevice } from '../devices/reference/device.ts';
import type { SessionConfig } from './config.ts';

export type { Device };

let opened: CpuDevice | ReferenceDevice | undefined;

/** The CPU device. `TENSORLOOM_DEVICE=reference` asks for the slow, plain one. */
export function openDevice(config: SessionConfig = {}): Device {
  if (!opened) {
    const isReferenceWanted = process.env['TENSORLOOM_DEVICE'] === 'reference';
    const native = isReferenceWanted ? undefined : CpuDevice.open();
    if (!native && !isReferenceWanted)
      process.emitWarning(`tensorloom runs on the slow reference device. ${CpuDevice.problem}`);
    opened = native ?? new ReferenceDevice();
  }
  const threads = config.intraOpParallelismThreads;
  return threads && opened instanceof CpuDevice ? opened.withThreads(threads) : opened;
}

/** What `listDevices` tells of a device. */
export interface DeviceInfo {
  readonly name: string;
  readonly deviceType: string;
  readonly memoryLimitBytes: number;
  readonly physicalDeviceDesc: string;
}

/** The devices of a task: as many names for `device` as the config asks for, all of one memory and one set of threads. */
export function deviceInfos(
  device: Device,
  { deviceCount }: SessionConfig = {},
  task = '/job:localhost/replica:0/task:0',
): DeviceInfo[] {
  return Array.from({ length: deviceCount?.CPU ?? 1 }, (_, i) => ({
    name: `${task}/device:${device.type}:${i}`,
    deviceType: device.type,
    memoryLimitBytes: device.memoryLimit,
    physicalDeviceDesc: device.description,
  }));
}
