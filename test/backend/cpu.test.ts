/** @file The cpu device keeps the device contract and agrees with the reference device. */
import { describe, it } from 'vitest';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { compareDevices } from './compare.ts';
import { deviceContract } from './contract.ts';

const cpu = CpuDevice.open();
if (cpu) {
  deviceContract('cpu', () => cpu);
  describe('cpu against reference', () => compareDevices(cpu, new ReferenceDevice()));
} else {
  it.skip('cpu device: build/native has no library; run node tools/buildNative.mjs', () => {});
}
