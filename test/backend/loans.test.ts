/** @file What host calls borrow from variables stays as it is, and what they give away is taken without a copy. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { float32 } from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import type { Device, DeviceBuffer, Kernel } from '../../src/devices/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { writeBundle } from '../../src/io/tensorBundle.ts';
import { RestoreV2 } from '../../src/ops/files/saver.ts';
import type { HostCall, HostOptions, Segment } from '../../src/program/instructions.ts';
import { Frame, type HostStep, replay, type SegmentStep, type Step } from '../../src/runtime/program.ts';
import { Variable } from '../../src/runtime/resources.ts';
import { Run } from '../../src/runtime/run.ts';

const shape = [4];
const bytes = 16;

/** A device that remembers what was given back to it. */
class Watched extends ReferenceDevice implements Device {
  readonly recycled: DeviceBuffer[] = [];
  recycle(buffer: DeviceBuffer): void {
    this.recycled.push(buffer);
  }
}

const device = new Watched();
const play = (step: Step, frame = new Frame(device, new Run())) =>
  replay({ steps: [step], end: { fetches: [] } }, frame);

const floats = (buffer: DeviceBuffer) => [...new Float32Array(buffer.host!.buffer, buffer.host!.byteOffset, 4)];
function variableOf(value: number): Variable {
  const variable = new Variable('v', float32, device);
  const memory = device.allocate(bytes);
  new Float32Array(memory.host!.buffer).fill(value);
  variable.adopt(memory, shape);
  return variable;
}
const contentOf = (variable: Variable) => floats(variable.storage!.buffer);

const reading = (variable: Variable, call: HostCall, options?: HostOptions): HostStep => ({
  kind: 'host',
  instruction: { kind: 'host', inputs: [], call, options },
  inputs: [{ source: { kind: 'variable', variable, bytes, isMade: false }, dtype: float32, shape }],
  outputs: [],
});
const running = (variable: Variable, run: Kernel['run'], writes = true): SegmentStep => ({
  kind: 'segment',
  kernel: { run },
  instructions: [],
  sources: [{ kind: 'variable', variable, bytes, isMade: false }],
  arenaBytes: 0,
  allocates: [],
  assigned: writes ? [{ variable, shape, bytes }] : [],
});
const writing = (variable: Variable, value: number) =>
  running(variable, ([buffer]) => void new Float32Array(buffer!.host!.buffer).fill(value));

/** A promise, and what ends it. */
function signal() {
  let end!: () => void;
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { promise, end };
}

describe('a host call that borrows', () => {
  it('reads the memory of the variable itself', async () => {
    const variable = variableOf(1);
    const borrowed: unknown[] = [];
    const call: HostCall = ([array]) => {
      borrowed.push(array!.bytes.buffer === variable.storage!.buffer.host!.buffer);
      return [];
    };
    await play(reading(variable, call, { borrows: true }));
    await play(reading(variable, call));
    expect(borrowed).toEqual([true, false]);
  });

  it('keeps what it reads while others write the variable, which is copied once', async () => {
    const variable = variableOf(1);
    const [begun, written] = [signal(), signal()];
    const call: HostCall = async ([array]) => {
      begun.end();
      await written.promise;
      expect([...(array!.data as Float32Array)]).toEqual([1, 1, 1, 1]);
      return [];
    };
    const saving = play(reading(variable, call, { borrows: true }));
    await begun.promise;
    await play(writing(variable, 2));
    const moved = variable.storage;
    await play(writing(variable, 3));
    expect(variable.storage).toBe(moved);
    written.end();
    await saving;
    expect(contentOf(variable)).toEqual([3, 3, 3, 3]);
    await play(writing(variable, 4));
    expect(variable.storage).toBe(moved);
  });

  it('gives back what it borrowed when it fails', async () => {
    const variable = variableOf(1);
    const before = variable.storage;
    const call: HostCall = () => {
      throw new Error('no room');
    };
    await expect(play(reading(variable, call, { borrows: true }))).rejects.toThrow('no room');
    await play(writing(variable, 2));
    expect(variable.storage).toBe(before);
  });

  it('gets a copy while a segment that writes is under way', async () => {
    const variable = variableOf(1);
    const written = signal();
    const training = play(
      running(variable, async ([buffer]) => {
        await written.promise;
        new Float32Array(buffer!.host!.buffer).fill(2);
      }),
    );
    const call: HostCall = async ([array]) => {
      written.end();
      await training;
      expect([...(array!.data as Float32Array)]).toEqual([1, 1, 1, 1]);
      return [];
    };
    await play(reading(variable, call, { borrows: true }));
    expect(contentOf(variable)).toEqual([2, 2, 2, 2]);
  });
});

describe('a host call that reads what a segment is writing', () => {
  /** Runs one kernel after the other. */
  class InOrder extends ReferenceDevice {
    last: Promise<void> = Promise.resolve();
    override compile(segment: Segment): Kernel {
      const kernel = super.compile(segment);
      return { run: (bound) => this.next(() => kernel.run(bound)) };
    }
    next(work: () => void | Promise<void>): Promise<void> {
      this.last = this.last.then(work);
      return this.last;
    }
  }

  it.each([true, false])('gets all of what it has written: it borrows %s', async (borrows) => {
    const ordered = new InOrder();
    const variable = variableOf(1);
    const half = signal();
    const training = play(
      running(variable, ([buffer]) =>
        ordered.next(async () => {
          const numbers = new Float32Array(buffer!.host!.buffer);
          numbers.fill(2, 0, 2);
          half.end();
          await new Promise(setImmediate);
          numbers.fill(2, 2);
        }),
      ),
    );
    await half.promise;
    const seen: number[] = [];
    const call: HostCall = ([array]) => {
      seen.push(...array!.numbers());
      return [];
    };
    await play(reading(variable, call, { borrows }), new Frame(ordered, new Run()));
    expect(seen).toEqual([2, 2, 2, 2]);
    await training;
    expect(variable.storage!.isInUse).toBe(false);
  });
});

describe('what a host call gives away', () => {
  const frameWith = (make: (frame: Frame) => Uint8Array) => {
    const frame = new Frame(device, new Run());
    const memory = make(frame);
    const array = new NDArray(float32, shape, new Float32Array(memory.buffer, memory.byteOffset, 4).fill(5));
    frame.store(0, array);
    return { frame, memory };
  };

  it('becomes the memory of a variable', async () => {
    const variable = variableOf(1);
    const old = variable.storage!.buffer;
    const { frame, memory } = frameWith((f) => f.allocate(bytes));
    await play({ kind: 'adopt', variable, slot: 0, shape }, frame);
    expect(variable.storage!.buffer.host!.buffer).toBe(memory.buffer);
    expect(contentOf(variable)).toEqual([5, 5, 5, 5]);
    expect(device.recycled).toContain(old);
  });

  it('is copied where someone else may know the memory', async () => {
    const variable = variableOf(1);
    const { frame, memory } = frameWith(() => new Uint8Array(bytes));
    await play({ kind: 'adopt', variable, slot: 0, shape }, frame);
    expect(variable.storage!.buffer.host!.buffer).not.toBe(memory.buffer);
    expect(contentOf(variable)).toEqual([5, 5, 5, 5]);
  });

  it('leaves old memory to a segment that reads it', async () => {
    const variable = variableOf(1);
    const old = variable.storage!.buffer;
    const adopted = signal();
    const seen: number[][] = [];
    const reader = play(
      running(
        variable,
        async ([buffer]) => {
          await adopted.promise;
          seen.push(floats(buffer!));
        },
        false,
      ),
    );
    const { frame } = frameWith((f) => f.allocate(bytes));
    await play({ kind: 'adopt', variable, slot: 0, shape }, frame);
    adopted.end();
    await reader;
    expect(seen).toEqual([[1, 1, 1, 1]]);
    expect(device.recycled).not.toContain(old);
  });
});

it('variables restored from one tensor are not one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tensorloom-loans-'));
  try {
    const prefix = join(folder, 'model');
    await writeBundle(prefix, [{ name: 'x', array: new NDArray(float32, shape, Float32Array.of(1, 2, 3, 4)) }]);
    const graph = new tf.Graph();
    await graph.asDefault(async () => {
      const inputs = { prefix, tensor_names: ['x'], shape_and_slices: [''] };
      const restored = () => RestoreV2.build(inputs, { attrs: { dtypes: [tf.float32] } }).tensors[0]!;
      const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(
        (name) => new tf.Variable(tf.zeros([4]), { name }),
      ) as tf.Variable[];
      const both = restored();
      const fetched = restored();
      const assigned = [a!.assign(both), b!.assign(both), c!.assign(fetched), d!.assign(restored())];
      const sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      const ops = assigned.map((x) => x.op);
      const [kept] = await sess.run([fetched, ...ops]);
      await sess.run([a!.assignAdd([1, 1, 1, 1]).op, c!.assignAdd([2, 2, 2, 2]).op, d!.assignAdd([3, 3, 3, 3]).op]);
      expect((kept as tf.NDArray).toArray()).toEqual([1, 2, 3, 4]);
      const values = await sess.run([a!, b!, c!, d!]);
      expect(values.map((x) => x.toArray())).toEqual([
        [2, 3, 4, 5],
        [1, 2, 3, 4],
        [3, 4, 5, 6],
        [4, 5, 6, 7],
      ]);
      sess.close();
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('boxes are drawn into a copy of the images', async () => {
  const graph = new tf.Graph();
  const [images, drawn, initial] = graph.asDefault(() => {
    const images = new tf.Variable(tf.zeros([1, 3, 3, 1]));
    return [images, tf.image.drawBoundingBoxes(images, [[[0, 0, 1, 1]]]), tf.globalVariablesInitializer()] as const;
  });
  using session = new tf.Session({ graph });
  await session.run(initial);
  const sum = ({ data }: tf.NDArray) => (data as Float32Array).reduce((a, b) => a + b, 0); // float32
  const first = await session.run(drawn);
  const second = await session.run(drawn);
  expect([first, second, await session.run(images)].map(sum)).toEqual([8, 8, 0]);
});
