/** @file Examples parsed by the native library come out as those parsed in TypeScript, errors included. */
import { expect, it } from 'vitest';
import { float32, int64, string } from '../../../src/core/dtypes.ts';
import { NDArray } from '../../../src/core/ndarray.ts';
import { Example, Feature } from '../../../src/io/example.ts';
import { parseBeside } from '../../../src/io/examples/nativeParse.ts';
import { ExampleParser } from '../../../src/io/examples/parseExamples.ts';
import type { ExampleResult, ExampleSpec } from '../../../src/io/examples/spec.ts';
import { nativeFunctions } from '../../../src/io/native.ts';

const itNative = nativeFunctions() ? it : it.skip;
const key = (text: string) => new TextEncoder().encode(text);
const text = key;

const spec: ExampleSpec = {
  dense: [
    { key: key('pixels'), dtype: float32, shape: [8] },
    { key: key('label'), dtype: int64, shape: [] },
    { key: key('pair'), dtype: string, shape: [2] },
    { key: key('steps'), dtype: float32, shape: [null, 2] },
    { key: key('nothing'), dtype: int64, shape: [0] },
  ],
  sparse: [
    { key: key('ids'), dtype: int64 },
    { key: key('words'), dtype: string },
    { key: key('weights'), dtype: float32 },
  ],
  ragged: [
    { key: key('rows'), dtype: int64, splits: int64 },
    { key: key('names'), dtype: string, splits: int64 },
  ],
};
const fallbacks = [
  new NDArray(float32, [8], new Float32Array(8).fill(-1)),
  new NDArray(int64, [], BigInt64Array.of(-7n)),
  new NDArray(string, [2], [text('p'), text('q')]),
  new NDArray(float32, [], Float32Array.of(9)),
  new NDArray(int64, [0], new BigInt64Array(0)),
];

/** The same numbers each time, from 0 to `below`. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % below;
  };
}

const strings = (list: readonly string[]) => new Feature({ bytesList: { value: list.map(text) } });

function exampleOf(next: (below: number) => number): Uint8Array {
  const list = <T>(most: number, make: (i: number) => T): T[] =>
    Array.from({ length: next(most + 1) }, (_, i) => make(i));
  const features: Record<string, Parameters<typeof Example.from>[0][string]> = {
    nothing: new BigInt64Array(0),
    ids: BigInt64Array.from(list(20, (i) => BigInt(next(1 << 20)) * (i % 3 === 0 ? -1n : 5_000_000_001n))),
    words: strings(list(6, (i) => 'w'.repeat(next(90) + i))),
    weights: Float32Array.from(list(9, () => next(1000) / 7)),
    rows: BigInt64Array.from(list(5, () => BigInt(next(300)))),
    steps: Float32Array.from(Array.from({ length: 2 * next(4) }, () => next(50))),
    unknown: strings(list(3, () => 'nobody asked')),
  };
  if (next(4) > 0) features['pixels'] = Float32Array.from({ length: 8 }, () => next(256));
  if (next(4) > 0) features['label'] = BigInt64Array.of(BigInt(next(10)));
  if (next(4) > 0) features['pair'] = [`a${next(9)}`, 'b'.repeat(next(200))];
  if (next(4) > 0) features['names'] = strings(list(3, () => `n${next(100)}`));
  return Example.from(features).serialize();
}
const batchOf = (seed: number) => {
  const next = numbers(seed);
  return Array.from({ length: 64 }, () => exampleOf(next));
};

const shownArray = (array: NDArray) => [
  array.dtype.name,
  array.shape,
  array.dtype.isObject
    ? array.objects.map((bytes) => Buffer.from(bytes as Uint8Array).toString('latin1'))
    : array.bytes.join(),
]; // strings are bytes
const shown = ({ dense, sparse, ragged }: ExampleResult) => [
  dense.map(shownArray),
  sparse.map(({ indices, values, shape }) => [indices, values, shape].map(shownArray)),
  ragged.map(({ values, splits }) => [values, splits].map(shownArray)),
];

/** What parsing gives, or what it complains about. */
async function outcome(parse: () => ExampleResult | Promise<ExampleResult>): Promise<unknown> {
  try {
    return shown(await parse());
  } catch (error) {
    return String(error);
  }
}

itNative('whole batches', async () => {
  const parser = new ExampleParser(spec);
  for (let seed = 1; seed <= 5; seed++) {
    const batch = batchOf(seed);
    const expected = shown(parser.parse(batch, [], fallbacks));
    expect(shown(await parser.parseLater(batch, [], fallbacks))).toEqual(expected);
  }
});

itNative('a batch that takes longer, and another one meanwhile', async () => {
  const [parser, batch] = [new ExampleParser(spec), batchOf(7)];
  const large = Array.from({ length: 60 }, () => batch).flat();
  expect(large.reduce((sum, bytes) => sum + bytes.length, 0)).toBeGreaterThan(2 ** 20);
  const [first, second] = await Promise.all([
    parser.parseLater(large, [], fallbacks),
    parser.parseLater(batch, [], fallbacks),
  ]);
  expect(shown(second)).toEqual(shown(parser.parse(batch, [], fallbacks)));
  expect(JSON.stringify(shown(first))).toBe(JSON.stringify(shown(parser.parse(large, [], fallbacks))));
});

itNative('is really done by the library, but not for few bytes', async () => {
  const slots = [{ kind: 'sparse', key: key('ids'), dtype: int64, shape: [null], isFixed: false, stride: 1 }] as const;
  const batch = batchOf(1);
  const read = await parseBeside(slots, batch, []);
  expect(read!.totals).toEqual([new ExampleParser({ ...spec, dense: [] }).parse(batch, [], []).sparse[0]!.values.size]);
  expect(await parseBeside(slots, batch.slice(0, 1), [])).toBeUndefined();
});

itNative('a feature that is missing, of another type, or of another length', async () => {
  const batch = batchOf(1);
  const odd = [
    {},
    { label: 'text' },
    { label: BigInt64Array.of(1n, 2n) },
    { pixels: Float32Array.of(1, 2, 3) },
    { pair: ['one'] },
    { steps: Float32Array.of(1, 2, 3) },
    { ids: Float32Array.of(1) },
    { ids: strings([]), names: new Float32Array(0) },
  ];
  for (const [i, features] of odd.entries()) {
    const changed = batch.with(10 + i, Example.from(features).serialize());
    for (const defaults of [fallbacks, fallbacks.with(1, new NDArray(int64, [0], new BigInt64Array(0)))]) {
      const expected = await outcome(() => new ExampleParser(spec).parse(changed, [], defaults));
      expect(await outcome(() => new ExampleParser(spec).parseLater(changed, [], defaults))).toEqual(expected);
    }
  }
});

itNative('damaged examples', async () => {
  const next = numbers(99);
  const batch = batchOf(3);
  for (let i = 0; i < 100; i++) {
    const which = next(batch.length);
    const bytes = batch[which]!.slice();
    for (let k = 0; k <= next(3); k++) bytes[next(bytes.length)] = next(256);
    const damaged = batch.with(which, next(5) === 0 ? bytes.subarray(0, next(bytes.length)) : bytes);
    const expected = await outcome(() => new ExampleParser(spec).parse(damaged, [], fallbacks));
    expect(await outcome(() => new ExampleParser(spec).parseLater(damaged, [], fallbacks))).toEqual(expected);
  }
});
