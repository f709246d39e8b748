/** @file Zeros of both signs, denormals, the ends of the range, infinities and NaN go through the ops as in TensorFlow. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import type { Device } from '../../src/devices/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { CaseRunner } from './caseRunner.ts';
import { type Packed, unpack } from './packed.ts';

// The file is written by tools/golden/extremes.py in just this form.
const golden = JSON.parse(readFileSync(new URL('../golden/extremes.json', import.meta.url), 'utf8')) as {
  readonly arguments: Readonly<Record<string, Packed>>;
  /** Where TensorFlow gives the elements of long and of short arrays different answers, either will do. */
  readonly cases: readonly {
    readonly op: string;
    readonly inputs: readonly string[];
    readonly outputs: readonly Packed[];
  }[];
};

const native = CpuDevice.open();
const devices: readonly Device[] = native ? [new ReferenceDevice(), native] : [new ReferenceDevice()];

/** What these make of numbers that count as zero is the C library's own, which the reference device does not follow. */
const ofTheLibrary = new Set(['FloorMod', 'TruncateMod', 'NextAfter']);

/** Zeros have their sign, and only numbers that are neither zero nor infinite may be a little off. */
function isAnswer(x: unknown, answer: unknown, tolerance: number): boolean {
  if (Object.is(x, answer)) return true;
  if (typeof x !== 'number' || typeof answer !== 'number') return false;
  const isOrdinary = Number.isFinite(x) && Number.isFinite(answer) && x !== 0 && answer !== 0;
  return isOrdinary && Math.abs(x - answer) <= tolerance * Math.abs(answer);
}

/** The least number of the normal range. */
const least = { float32: 2 ** -126, float64: 2 ** -1022 };

/** Whether 1 and -1 cancel in a sum with next to nothing: what is left depends on the order of additions, which nobody promises. */
function cancels(op: string, row: readonly unknown[], sum: unknown, type: 'float32' | 'float64'): boolean {
  const isSum = op === 'Sum' || op === 'Mean';
  return isSum && row.includes(1) && row.includes(-1) && Math.abs(sum as number) <= least[type];
}

/** The first axis of an array from one place to another. */
function rowsOf(array: tf.NDArray, begin: number, end: number): tf.NDArray {
  const row = array.size / array.shape[0]!;
  return new tf.NDArray(array.dtype, [end - begin, ...array.shape.slice(1)], array.data.slice(begin * row, end * row));
}

async function run(op: string, inputs: readonly tf.NDArray[], device: Device): Promise<tf.NDArray> {
  const graph = new tf.Graph();
  const xs = graph.asDefault(() => inputs.map(({ dtype, shape }) => tf.placeholder(dtype, shape)));
  const node = graph.asDefault(() => graph.createOp({ type: op, inputs: xs }));
  const feeds = xs.map((x, i) => [x, inputs[i]!] as const);
  return (await new CaseRunner(graph, device).run(node.outputs, feeds))[0]!;
}

describe('extremes', () => {
  for (const { op, inputs: names, outputs } of golden.cases)
    it(`${op} of ${names[0]}`, async () => {
      const inputs = names.map((name) => unpack(golden.arguments[name]!));
      const answers = outputs.map(unpack);
      const count = inputs[0]!.shape[0]!;
      const perRow = answers[0]!.size / count;
      const type = names[0]!.startsWith('float32') ? 'float32' : 'float64';
      const tolerance = type === 'float32' ? 2e-5 : 1e-9;
      const wrong: string[] = [];
      for (const device of ofTheLibrary.has(op) ? devices.slice(1) : devices)
        for (const piece of [count, 17, 3])
          for (let begin = 0; begin < count; begin += piece) {
            const end = Math.min(count, begin + piece);
            const given = inputs.map((x) => (x.shape.length > 0 ? rowsOf(x, begin, end) : x));
            const values = await run(op, given, device);
            for (let i = 0; i < values.size; i++) {
              const expected = answers.map((answer) => answer.at(begin * perRow + i));
              if (expected.some((answer) => isAnswer(values.at(i), answer, tolerance))) continue;
              const at = Math.floor(begin + i / perRow);
              const text = inputs.map((x) => (x.shape.length > 0 ? rowsOf(x, at, at + 1).numbers() : x.numbers()));
              if (cancels(op, text[0]!, values.at(i), type)) continue;
              const [have, want] = [[values.at(i)], expected].map((list) =>
                list.map((x) => (Object.is(x, -0) ? '-0' : x)).join(' or '),
              );
              wrong.push(`${device.constructor.name}, ${end - begin}: ${JSON.stringify(text)} ${have}, not ${want}`);
            }
          }
      expect(wrong.slice(0, 8)).toEqual([]);
    });
});
