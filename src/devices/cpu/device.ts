/** @file The native CPU device. */
import { ReferenceDevice } from '../reference/device.ts';
export class CpuDevice extends ReferenceDevice {
  static open(): CpuDevice | undefined { return undefined; }
  setThreads(_n: number): void {}
}
