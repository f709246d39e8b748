/** @file The reference device keeps the device contract. */
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { deviceContract } from './contract.ts';

deviceContract('reference', () => new ReferenceDevice());
