/** @file What every device must do: one suite for all implementations of `Device`. */
import { describe } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import { castContract } from './contract/casts.ts';
import { complexContract } from './contract/complex.ts';
import { convContract } from './contract/convolutions.ts';
import { dotContract } from './contract/dots.ts';
import { floatContract } from './contract/floats.ts';
import { indexingContracts } from './contract/indexing.ts';
import { integerContract } from './contract/integers.ts';
import { mapContract } from './contract/maps.ts';
import { memoryContract } from './contract/memory.ts';
import { randomContract } from './contract/random.ts';
import { foldContracts } from './contract/reductions.ts';
import { windowContract } from './contract/windows.ts';

/** Tests a device against the contract written in `expr.ts`, `instructions.ts` and `device.ts`. */
export function deviceContract(name: string, makeDevice: () => Device): void {
  const device = makeDevice();
  describe(`${name} device`, () => {
    describe('memory', () => memoryContract(device));
    describe('map', () => mapContract(device));
    describe('float', () => floatContract(device));
    describe('integer and bool', () => integerContract(device));
    describe('complex', () => complexContract(device));
    describe('cast', () => castContract(device));
    describe('dot', () => dotContract(device));
    describe('conv', () => convContract(device));
    describe('window', () => windowContract(device));
    describe('random', () => randomContract(device));
    foldContracts(device);
    indexingContracts(device);
  });
}
