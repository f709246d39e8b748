/** @file The comparison of devices finds a device that is wrong and passes one that is right. */
import { describe, expect, it } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import type { DeviceInstruction, Segment } from '../../src/program/instructions.ts';
import { compareDevices, differences } from './compare.ts';
import { segmentKinds } from './fuzz/segments.ts';

/** The reference device running other instructions than it was given. */
class WrongDevice extends ReferenceDevice {
  override compile(segment: Segment) {
    return super.compile({ ...segment, instructions: segment.instructions.map(spoil) });
  }
}

/** A slight mistake in each kind of instruction. */
function spoil(instruction: DeviceInstruction): DeviceInstruction {
  switch (instruction.kind) {
    case 'map':
      return { ...instruction, results: instruction.results.map((x) => ({ op: 'neg', dtype: x.dtype, args: [x] })) };
    case 'reduce':
      return { ...instruction, op: instruction.op === 'sum' ? 'prod' : 'sum' };
    case 'dot':
      return { ...instruction, a: { ...instruction.a, strides: instruction.a.strides.map(() => 0) } };
    case 'conv':
      return { ...instruction, before: instruction.before.map((n) => n + 1) };
    case 'blocks':
      return { ...instruction, steps: instruction.steps.slice(0, -1) };
    case 'together':
      return { ...instruction, steps: instruction.steps.map(spoil) };
    case 'gather':
      return { ...instruction, bounds: instruction.bounds === 'zero' ? 'error' : 'zero' };
    case 'scatter':
      return { ...instruction, combine: instruction.combine === 'update' ? 'max' : 'update' };
    case 'scan':
      return { ...instruction, exclusive: !instruction.exclusive };
    case 'topk':
      return { ...instruction, input: { ...instruction.input, offset: 1 } };
    case 'window':
      return { ...instruction, spans: instruction.spans.map((view) => ({ ...view, offset: 1 })) };
    default:
      return instruction;
  }
}

describe('reference against itself', () => {
  const device: Device = new ReferenceDevice();
  compareDevices(device, new ReferenceDevice());
});

it.each(Object.keys(segmentKinds))('a wrong %s is found', async (kind) => {
  const wrong = new WrongDevice();
  const outcomes = differences(kind, 12, wrong, new ReferenceDevice());
  // A spoilt instruction may also be one that no device accepts.
  const found = await outcomes.catch((error: unknown) => [String(error)]);
  expect(found.length).toBeGreaterThan(0);
});
