/** @file Parsing that the native library does beside the event loop: handed over, and equal to what TypeScript makes of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { nativeFunctions } from '../../src/io/native.ts';
import { decodePng, encodePng } from '../../src/io/png.ts';
import { nothingCalled, type WatchedLibrary } from './watchedLibrary.ts';

const library = vi.hoisted((): WatchedLibrary => ({ isOff: false, later: [], now: [], given: {} }));
vi.mock('../../src/io/native.ts', async (importOriginal) =>
  (await import('./watchedLibrary.ts')).watching(
    await importOriginal<typeof import('../../src/io/native.ts')>(),
    library,
  ),
);

const itNative = nativeFunctions() ? it : it.skip;

beforeEach(() => {
  Object.assign(library, nothingCalled());
});

/** The same numbers each time, from 0 to `below`. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % below;
  };
}

const bytes = (text: string) => new TextEncoder().encode(text);

/** What parts of an array there are to compare. */
function shown(array: tf.NDArray): unknown[] {
  const { dtype, shape } = array;
  if (!dtype.isObject) return [dtype.name, shape, Buffer.from(array.bytes).toString('base64')];
  return [dtype.name, shape, array.objects.map((x) => Buffer.from(x as Uint8Array).toString('latin1'))]; // strings are bytes
}

/** A graph that is fed strings, run with and without the library. */
function parser(build: (strings: tf.Tensor) => readonly tf.Tensor[]) {
  const graph = new tf.Graph();
  const [strings, results] = graph.asDefault(() => {
    const x = tf.placeholder(tf.string, [null]);
    return [x, build(x)] as const;
  });
  const session = new tf.Session({ graph });
  const outcome = async (input: readonly Uint8Array[]): Promise<string> => {
    try {
      const feed = new tf.NDArray(tf.string, [input.length], input);
      const found = await session.run([...results], [[strings, feed]]);
      return JSON.stringify((found as tf.NDArray[]).map(shown)); // one array for each tensor
    } catch (error) {
      return String(error);
    }
  };
  return {
    outcome,
    /** Gives the outcome, which is the same in TypeScript. */
    async compared(input: readonly Uint8Array[]): Promise<string> {
      library.isOff = true;
      const expected = await outcome(input);
      library.isOff = false;
      expect(await outcome(input)).toBe(expected);
      return expected;
    },
    [Symbol.dispose]: () => session.close(),
  };
}

/** Some bytes changed, taken away or doubled. */
function damaged(given: Uint8Array, next: (below: number) => number): Uint8Array {
  const changed = given.slice();
  for (let k = 0; k <= next(3); k++) changed[next(changed.length)] = next(2) ? next(256) : 34 + next(26);
  return next(5) === 0 ? changed.subarray(0, next(changed.length)) : changed;
}

const sequences = (x: tf.Tensor) => {
  const [context, lists, lengths] = tf.io.parseSequenceExample(x, {
    contextFeatures: {
      id: tf.fixedLenFeature([], tf.int64, -1),
      tags: tf.varLenFeature(tf.string),
      pair: tf.fixedLenFeature([2], tf.float32),
    },
    sequenceFeatures: {
      steps: tf.fixedLenSequenceFeature([2], tf.float32),
      marks: tf.fixedLenSequenceFeature([], tf.string, { allowMissing: true }),
      ids: tf.varLenFeature(tf.int64),
      words: tf.varLenFeature(tf.string),
    },
  });
  const flat = (x: tf.Tensor | tf.SparseTensor) =>
    x instanceof tf.SparseTensor ? [x.indices, x.values, x.denseShape] : [x];
  return [context, lists, lengths].flatMap((part) => Object.values<tf.Tensor | tf.SparseTensor>(part)).flatMap(flat);
};

function sequenceOf(next: (below: number) => number): Uint8Array {
  const list = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
  const steps = next(5);
  return new tf.train.SequenceExample({
    context: {
      feature: {
        ...(next(3) > 0 && { id: { int64List: { value: [next(1 << 20) - 999] } } }),
        tags: { bytesList: { value: list(next(4), (i) => 't'.repeat(next(90) + i)) } },
        pair: { floatList: { value: [next(100) / 7, -next(9)] } },
        other: { int64List: { value: [1, 2, 3] } },
      },
    },
    featureLists: {
      featureList: {
        steps: { feature: list(steps, () => ({ floatList: { value: [next(50), next(50) / 3] } })) },
        ...(next(3) > 0 && {
          marks: { feature: list(steps, (i) => ({ bytesList: { value: [`m${i}`] } })) },
        }),
        ids: { feature: list(next(4), () => ({ int64List: { value: list(next(6), () => next(1 << 24) - 5) } })) },
        words: { feature: list(next(3), () => (next(3) ? { bytesList: { value: list(next(3), () => 'w') } } : {})) },
      },
    },
  }).serialize();
}

function recordOf(next: (below: number) => number): Uint8Array {
  const pick = <T>(...values: readonly T[]) => values[next(values.length)]!;
  const number = pick(
    '',
    '0',
    '-7.25',
    '1e-3',
    ' 42 ',
    '0.14285714285714285',
    '-3.4028235e38',
    'nan',
    '-inf',
    '1e400',
    '.5',
  );
  const exact = pick(String(next(1e9) / 1024), '1234567890123456789', '-9007199254740993', '5e-324', '2.5E+3', '');
  const whole = pick(String(next(1 << 24) - (1 << 23)), '', '+7', ' -2147483648 ', '0009');
  const long = pick('9223372036854775807', '-9223372036854775808', '', '12');
  const text = pick('plain', '"quoted, with ""marks"" and\na line"', '', 'NA', '"x"', 'é'.repeat(next(40)));
  return bytes([number, exact, whole, long, text, 'unwanted', pick('a', 'b,')].join(','));
}

const csv = (x: tf.Tensor) =>
  tf.decodeCsv(
    x,
    [
      tf.constant([0.5], tf.float32),
      tf.constant([-1], tf.float64),
      tf.constant([3], tf.int32),
      tf.constant([4], tf.int64),
      ['default text'],
      tf.zeros([0], tf.string),
    ],
    { selectCols: [0, 1, 2, 3, 4, 6], naValue: 'NA' },
  );

function jsonOf(next: (below: number) => number): Uint8Array {
  const pick = <T>(...values: readonly T[]) => values[next(values.length)]!;
  const integers = Array.from({ length: next(5) }, () =>
    pick('1', '"-2"', '9223372036854775807', '1e3', '"007"', '4.0'),
  );
  const floats = Array.from({ length: next(5) }, () => pick('0.1', '"NaN"', '"-Infinity"', '-1.5e-7', '"2.5"', '0'));
  const strings = Array.from({ length: next(4) }, () => pick('"YWI="', '"YQ"', '""', '"_-8="', '"\\/w=="'));
  const key = pick('a', 'ключ', '10', '\\u00e9\\ud83d\\ude00\\n', 'b\\"c');
  const members = [
    `"${key}" : {"int64List": {"value": [${integers.join(' , ')}]}}`,
    `"f":{"${pick('floatList', 'float_list')}":{"value":[${floats}]}}`,
    `"2":{"bytesList":{"value":[${strings}]}}`,
    pick('"none":{}', '"nothing":{"int64List":null}', '"empty":{"floatList":{"value":null}}'),
  ];
  return bytes(`{"features":\n{"feature":{${members.join(',')}}}}`);
}

const kinds = [
  { name: 'sequence examples', function: 'tl_sequences_parse', build: sequences, make: sequenceOf, many: 6000 },
  { name: 'comma-separated values', function: 'tl_csv_parse', build: csv, make: recordOf, many: 3000 },
  {
    name: 'examples as JSON',
    function: 'tl_json_examples',
    build: (x: tf.Tensor) => [tf.decodeJsonExample(x)],
    make: jsonOf,
    many: 1000,
  },
];

describe.each(kinds)('$name', ({ function: name, build, make, many }) => {
  const batchOf = (seed: number, count: number) => {
    const next = numbers(seed);
    return Array.from({ length: count }, () => make(next));
  };

  itNative('are parsed by the library, many of them beside the event loop', async () => {
    using parse = parser(build);
    await parse.compared(batchOf(1, 64));
    expect(library.now).toContain(name);
    expect(library.later).not.toContain(name);
    expect(await parse.compared(batchOf(2, many))).not.toMatch(/Error/);
    expect(library.later).toContain(name);
  });

  itNative('come out the same, also where something is wrong with them', async () => {
    using parse = parser(build);
    const next = numbers(99);
    const batch = batchOf(3, 48);
    let errors = 0;
    for (let i = 0; i < 150; i++) {
      const which = next(batch.length);
      if ((await parse.compared(batch.with(which, damaged(batch[which]!, next)))).includes('Error')) errors++;
    }
    expect(errors).toBeGreaterThan(10);
  });
});

describe('raw bytes', () => {
  const strings = (count: number, length: number) => {
    const next = numbers(5);
    return Array.from({ length: count }, () => Uint8Array.from({ length }, () => next(256)));
  };

  itNative.each([
    ['long', 3, 2 ** 16],
    ['short', 2000, 64],
  ])('of %s strings are joined the same way', async (_, count, length) => {
    const input = strings(count, length);
    for (const type of [tf.uint8, tf.int16, tf.float32, tf.float64, tf.complex64])
      for (const littleEndian of [true, false]) {
        using parse = parser((x) => [tf.decodeRaw(x, type, { littleEndian })]);
        await parse.compared(input);
      }
    using padded = parser((x) => [tf.decodeRaw(x, tf.int16, { littleEndian: false, fixedLength: length + 6 })]);
    await padded.compared(input.map((x, i) => x.subarray(0, length - (i % 5))));
    expect(library.later.filter((name) => name === 'tl_raw_join').length).toBeGreaterThan(4);
  });
});

itNative('more images at once than can be under way are decoded all the same', async () => {
  const side = 64;
  const data = Uint8Array.from({ length: side * side * 3 }, (_, i) => (i * i) % 251);
  const file = await encodePng({ width: side, height: side, channels: 3, data });
  const images = await Promise.all(Array.from({ length: 300 }, () => decodePng(file)));
  expect(images.every((image) => Buffer.compare(image.data as Uint8Array, data) === 0)).toBe(true); // eight bits
  expect(library.later.filter((name) => name === 'tl_png_decode').length).toBe(300);
});

describe('tables in files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tables-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'table.csv');

  const outcome = async (options?: Parameters<typeof tf.examples.csv>[1]): Promise<string> => {
    try {
      const table = await tf.examples.csv(path, options);
      return JSON.stringify([table.numRows, table.columns, table.columns.map((name) => shown(table.column(name)))]);
    } catch (error) {
      return String(error);
    }
  };
  const compared = async (content: Uint8Array, options?: Parameters<typeof tf.examples.csv>[1]): Promise<string> => {
    writeFileSync(path, content);
    library.isOff = true;
    const expected = await outcome(options);
    library.isOff = false;
    expect(await outcome(options)).toBe(expected);
    return expected;
  };
  const tableOf = (next: (below: number) => number, rows: number) => {
    const pick = <T>(...values: readonly T[]) => values[next(values.length)]!;
    const row = () =>
      [
        pick('1', ' 2.5 ', '-3e4', '', '.5', '0x10', 'Infinity', '1234567890.123456789'),
        String(next(1000)),
        pick('plain', '"quoted, ""so"""', '"two\nlines"', '', 'é'),
      ].join(',');
    return `\ufeffx,count,name\n${Array.from({ length: rows }, row).join(pick('\n', '\r\n'))}\n`;
  };

  itNative('are cut into columns beside the event loop', async () => {
    const next = numbers(7);
    const options = { types: { count: tf.int64 }, missing: -1 };
    expect(await compared(bytes(tableOf(next, 20_000)), options)).toMatch(/^\[20000,\["x","count","name"\]/);
    expect(library.later).toContain('tl_csv_records');
    expect(library.later).toContain('tl_csv_numbers');
    expect(await compared(bytes('a,b\n1,2\n3,x\n'), { types: { b: tf.float32 } })).toMatch(
      /'x' in row 2 is not a value/,
    );
  });

  itNative('come out the same, also where something is wrong with them', async () => {
    const next = numbers(8);
    const odd = [
      '',
      '\n',
      'a\n\n1\n',
      'a\n""\n1\n',
      'a\r1\r2',
      'a,b\n1\n',
      'a,b\n"1"2,3\n',
      'a\n1\ufeff\n',
      'a\n"open',
      'a,a\n1,2',
    ];
    for (const content of odd) await compared(bytes(content));
    for (const content of odd) await compared(bytes(content), { header: false });
    for (let i = 0; i < 100; i++) await compared(damaged(bytes(tableOf(next, 8)), next));
  });
});

describe('hashes of strings', () => {
  const build = (x: tf.Tensor) => [
    tf.stringToHashBucketFast(x, 1_000_003),
    tf.stringToHashBucketStrong(x, 1_000_003, [98765, -132]),
    tf.strings.toHashBucket(x, 2 ** 52),
  ];

  itNative('are those that TypeScript makes, of strings of every length', async () => {
    using run = parser(build);
    const next = numbers(5);
    await run.compared(Array.from({ length: 300 }, (_, length) => Uint8Array.from({ length }, () => next(256))));
    expect(library.now).toEqual(['tl_hash_buckets', 'tl_hash_buckets', 'tl_hash_buckets']);
  });

  itNative('are made beside the event loop where there are many', async () => {
    using run = parser(build);
    await run.outcome(Array.from({ length: 3000 }, (_, i) => bytes(`string ${i}`)));
    expect(library.later).toEqual(['tl_hash_buckets', 'tl_hash_buckets', 'tl_hash_buckets']);
  });
});
