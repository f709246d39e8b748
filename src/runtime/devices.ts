/** @file The devices of this process. */
import type { Device } from '../devices/device.ts';
import { ReferenceDevice } from '../devices/reference/device.ts';

let opened: Device | undefined;

/** The CPU device: the native one, or the reference device where there is none. */
export function openDevice(): Device {
  opened ??= new ReferenceDevice();
  return opened;
}
