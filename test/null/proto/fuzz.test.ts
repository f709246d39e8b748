/** @file Damaged graphs: whatever is flipped or cut off, reading ends with a graph or one of two errors. */
import { expect, it } from 'vitest';
import { DataLossError, InvalidArgumentError, ResourceExhaustedError } from '../../../src/core/errors.ts';
import { GraphDef } from '../../../src/proto/graph.ts';
import { tensorFromProto } from '../../../src/proto/tensorProto.ts';
import { parseText, printText } from '../../../src/proto/textFormat.ts';
import { fromBase64, golden } from './golden.ts';

const { bytes, text } = golden<{ bytes: string; text: string }>('graph');

/** A fixed sequence of numbers below `n` (mulberry32). */
function randomness(seed: number): (n: number) => number {
  return (n) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/** Runs `read`; returns the name of the error it ended with. Any error that is not about the input fails the test. */
function outcome(read: () => void): string {
  try {
    read();
    return 'read';
  } catch (error) {
    if (error instanceof DataLossError || error instanceof InvalidArgumentError) return error.name;
    throw error;
  }
}

it('survives 800 mutations of a serialized graph', () => {
  const random = randomness(1);
  const original = fromBase64(bytes);
  const outcomes = new Map<string, number>();
  for (let round = 0; round < 800; round++) {
    const cut = round % 4 === 0 ? random(original.length) : original.length;
    const data = original.slice(0, cut);
    for (let flips = 1 + random(4); flips > 0 && cut > 0; flips--) data[random(cut)]! ^= 1 << random(8);
    const result = outcome(() => {
      const written = GraphDef.encode(GraphDef.decode(data));
      // Bytes rather than records: a deep comparison of so many graphs takes most of a minute.
      expect(Buffer.compare(GraphDef.encode(GraphDef.decode(written)), written)).toBe(0);
    });
    outcomes.set(result, (outcomes.get(result) ?? 0) + 1);
  }
  // Both must happen, or the mutations test nothing.
  expect(outcomes.get('DataLossError')).toBeGreaterThan(50);
  expect(outcomes.get('read')).toBeGreaterThan(50);
});

it('survives mutations of the tensors in a graph', () => {
  const random = randomness(2);
  const original = GraphDef.decode(fromBase64(bytes));
  const tensors = original.node.flatMap((n) => (n.attr['value']?.tensor ? [n.attr['value'].tensor] : []));
  expect(tensors.length).toBeGreaterThan(5);
  for (let round = 0; round < 500; round++) {
    const tensor = tensors[random(tensors.length)]!;
    const dim = Array.from({ length: random(4) }, () => ({ size: random(8) - 1, name: '' }));
    outcome(() =>
      tensorFromProto({ ...tensor, dtype: random(26), tensor_shape: { dim, unknown_rank: random(9) === 0 } }),
    );
  }
});

it('survives 500 mutations of a graph as text', () => {
  const random = randomness(3);
  const start = text.slice(0, 6000);
  const marks = '{}<>[]":;,\\0x-.#\n a'.split('');
  for (let round = 0; round < 500; round++) {
    const at = random(start.length);
    const damaged = start.slice(0, at) + marks[random(marks.length)] + start.slice(at + random(3));
    outcome(() => printText(GraphDef, parseText(GraphDef, damaged)));
  }
});

it('does not make huge values of small messages', () => {
  const huge = { dtype: 7, tensor_shape: { dim: [{ size: 2 ** 30, name: '' }], unknown_rank: false } };
  const graph = GraphDef.create({ node: [{ attr: { value: { tensor: huge } } }] });
  expect(() => tensorFromProto(graph.node[0]!.attr['value']!.tensor!)).toThrow(ResourceExhaustedError);
});
