/** @file Lookup tables: filled from tensors and files, changed, saved; both forms of handles; what TensorFlow complains of. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { node, outputOf } from '../../src/op/node.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tensorloom-tables-'));
  tf.resetDefaultGraph();
});
afterEach(() => rmSync(folder, { recursive: true }));

const words = { key_dtype: tf.string, value_dtype: tf.int64 };
const int64 = (values: number[]) => tf.constant(values, tf.int64);
const minusOne = () => tf.constant(-1, tf.int64);

describe.each(['V2', ''])('tables (%s)', (suffix) => {
  const find = (table: tf.Tensor, keys: tf.TensorLike, otherwise: tf.TensorLike) =>
    outputOf(`LookupTableFind${suffix}`, { table_handle: table, keys, default_value: otherwise });

  test('that are filled once', async () => {
    const table = outputOf(`HashTable${suffix}`, {}, { attrs: words });
    const fill = (values: number[]) =>
      node(`InitializeTable${suffix}`, { table_handle: table, keys: ['a', 'ö'], values: int64(values) });
    const [init, again] = [fill([1, 2]), fill([1, 3])];
    const other = node(`InitializeTable${suffix}`, { table_handle: table, keys: ['a'], values: int64([1]) });
    const found = find(table, [['ö', 'x'], ['a', 'a']], minusOne()); // biome-ignore format: rows
    const sess = new tf.Session();
    await expect(sess.run(found)).rejects.toThrow(/Table not initialized/);
    await sess.run(init);
    await sess.run(again);
    expect((await sess.run(found)).numbers()).toEqual([2, -1, 1, 1]);
    expect(Number(await sess.run(outputOf(`LookupTableSize${suffix}`, { table_handle: table })))).toBe(2);
    await expect(sess.run(other)).rejects.toThrow(/already initialized with different data/);
    const insert = node(`LookupTableInsert${suffix}`, { table_handle: table, keys: ['b'], values: int64([3]) });
    await expect(sess.run(insert)).rejects.toThrow(/Insert not supported by InitializableLookupTable/);
    const wrong = find(table, [1.5], minusOne());
    await expect(sess.run(wrong)).rejects.toThrow(
      /Signature mismatch, have: resource, float, int64-> expected: resource, string, int64->/,
    );
  });

  test('that are filled from the lines of a file', async () => {
    const path = join(folder, 'words.tsv');
    writeFileSync(path, 'cat\t3\ndog\t5\nbird\t7\n');
    const make = (attrs: object, types: typeof words | { key_dtype: tf.DType; value_dtype: tf.DType } = words) => {
      const table = outputOf(`HashTable${suffix}`, {}, { attrs: types });
      const inputs = { table_handle: table, filename: path };
      return [table, node(`InitializeTableFromTextFile${suffix}`, inputs, { attrs: { ...attrs } })] as const;
    };
    const [byWord, init1] = make({ key_index: 0, value_index: 1 });
    const [byLine, init2] = make({ key_index: -2, value_index: -1, offset: 10, vocab_size: 2 });
    const [back, init3] = make({ key_index: -1, value_index: 0 }, { key_dtype: tf.int64, value_dtype: tf.string });
    const sess = new tf.Session();
    await sess.run([init1, init2, init3]);
    expect((await sess.run(find(byWord, ['dog', 'cow'], minusOne()))).numbers()).toEqual([5, -1]);
    expect((await sess.run(find(byLine, ['dog\t5', 'bird\t7'], minusOne()))).numbers()).toEqual([11, -1]);
    expect(String(await sess.run(find(back, int64([2, 9]), '?')))).toBe("[b'bird' b'?']");
    const [, tooMany] = make({ key_index: 0, value_index: 1, vocab_size: 4 });
    await expect(sess.run(tooMany)).rejects.toThrow(/expected 4 but got 3/);
    const [, noNumber] = make({ key_index: 1, value_index: 0 });
    await expect(sess.run(noNumber)).rejects.toThrow(/Field cat in line 0 is not a valid int64/);
    const [, noColumn] = make({ key_index: 2, value_index: 1 });
    await expect(sess.run(noColumn)).rejects.toThrow(/expected at least 3, got 2/);
  });

  test('that change', async () => {
    const attrs = { key_dtype: tf.int64, value_dtype: tf.float32 };
    const table = outputOf(`MutableHashTable${suffix}`, {}, { attrs });
    const put = (type: string, keys: number[], values: number[]) =>
      node(`LookupTable${type}${suffix}`, {
        table_handle: table,
        keys: int64(keys),
        values: tf.constant(values, tf.float32),
      });
    const sess = new tf.Session();
    await sess.run(put('Insert', [1, 2 ** 40], [0.5, 1.5]));
    await sess.run(put('Insert', [1], [2.5]));
    const keys = int64([1, 2 ** 40, 7]);
    expect((await sess.run(find(table, keys, 0.25))).numbers()).toEqual([2.5, 1.5, 0.25]);
    expect((await sess.run(find(table, keys, [7, 8, 9.5]))).numbers()).toEqual([2.5, 1.5, 9.5]);
    const exported = node(
      `LookupTableExport${suffix}`,
      { table_handle: table },
      { attrs: { Tkeys: tf.int64, Tvalues: tf.float32 } },
    );
    expect((await sess.run([...exported.outputs])).map((x) => x.numbers())).toEqual([
      [1, 2 ** 40],
      [2.5, 1.5],
    ]);
    await sess.run(put('Import', [5], [5]));
    expect((await sess.run(find(table, keys, 0.5))).numbers()).toEqual([0.5, 0.5, 0.5]);
    await expect(sess.run(put('Insert', [5], [5, 6]))).rejects.toThrow(/Expected shape \[1\] for value, got \[2\]/);
  });

  test('of vectors', async () => {
    const attrs = { key_dtype: tf.string, value_dtype: tf.float32, value_shape: [2] };
    const table = outputOf(`MutableHashTableOfTensors${suffix}`, {}, { attrs });
    const insert = node(`LookupTableInsert${suffix}`, { table_handle: table, keys: ['a', 'b'], values: [[1, 2], [3, 4.5]] }); // biome-ignore format: rows
    const sess = new tf.Session();
    await sess.run(insert);
    expect((await sess.run(find(table, ['b', 'c'], [0, 0.5]))).toArray()).toEqual([[3, 4.5], [0, 0.5]]); // biome-ignore format: rows
    if (suffix === '') return;
    await sess.run(node('LookupTableRemoveV2', { table_handle: table, keys: ['b'] }));
    expect((await sess.run(find(table, ['b'], [0, 0.5]))).toArray()).toEqual([[0, 0.5]]);
  });
});

test('Nodes with one shared name have one table; others have their own', async () => {
  const make = (extra: object) => outputOf('MutableHashTableV2', {}, { attrs: { ...words, ...extra } });
  const [a, b, c] = [make({ shared_name: 't' }), make({ shared_name: 't' }), make({})];
  const sess = new tf.Session();
  await sess.run(node('LookupTableInsertV2', { table_handle: a, keys: ['k'], values: int64([4]) }));
  const get = (table: tf.Tensor) =>
    outputOf('LookupTableFindV2', { table_handle: table, keys: ['k'], default_value: minusOne() });
  expect((await sess.run([get(b), get(c)])).map((x) => x.numbers()[0])).toEqual([4, -1]);
});

interface Given {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Numbers of 64 bits as text. */
  readonly value: readonly (number | string | boolean)[];
}
interface Step {
  readonly op: string;
  readonly inputs: Readonly<Record<string, Given>>;
  readonly attrs: Readonly<Record<string, unknown>>;
  readonly results?: readonly Given[];
  readonly error?: string;
  readonly message?: string;
}
interface Scenario {
  readonly name: string;
  readonly table: Pick<Step, 'op' | 'inputs' | 'attrs'>;
  readonly steps: readonly Step[];
}
const golden = JSON.parse(readFileSync(new URL('../golden/lookup.json', import.meta.url), 'utf8')) as Scenario[];

const dtypeNamed = (name: string) => Reflect.get(tf, name) as tf.DType; // all types are there by their names

function constant({ dtype, shape, value }: Given): tf.Tensor {
  const type = dtypeNamed(dtype);
  if (dtype === 'string')
    return tf.constant(
      new tf.NDArray(
        type,
        shape,
        value.map((x) => Buffer.from(String(x), 'latin1')),
      ),
    );
  const array = new tf.NDArray(type, shape, type.allocate(value.length));
  for (const [i, x] of value.entries()) Reflect.set(array.data, i, dtype === 'int64' ? BigInt(x) : Number(x));
  return tf.constant(array);
}

const described = (array: tf.NDArray): Given => ({
  dtype: array.dtype.name,
  shape: array.shape,
  value:
    array.dtype === tf.string
      ? array.objects.map((x) => Buffer.from(x as Uint8Array).toString('latin1')) // a string array holds bytes
      : Array.from(
          array.data as Iterable<number | bigint>,
          (
            x, // data of arrays of numbers
          ) => (array.dtype === tf.int64 ? String(x) : array.dtype === tf.bool ? Boolean(x) : Number(x)),
        ),
});

describe('what tables answer is what TensorFlow answers', () => {
  const options = (attrs: Step['attrs']) => ({
    attrs: Object.fromEntries(
      Object.entries(attrs).map(([name, x]) => [name, /^T|_dtype$/.test(name) ? dtypeNamed(String(x)) : x]),
    ),
  });
  const constants = (inputs: Step['inputs'], hides = false) =>
    Object.fromEntries(
      Object.entries(inputs).map(([name, given]) => [
        name,
        hides ? tf.placeholderWithDefault(constant(given), null) : constant(given),
      ]),
    );

  test.each(golden)('$name', async ({ table, steps }) => {
    await using sess = new tf.Session();
    const handle = outputOf(table.op, constants(table.inputs), options(table.attrs));
    for (const { op, inputs, attrs, results, error, message } of steps) {
      const run = async () => {
        const hides = op === 'LookupTableImportV2' && inputs['keys']!.shape.length === 2;
        const made = node(op, { table_handle: handle, ...constants(inputs, hides) }, options(attrs));
        const fetched = await sess.run(made.outputs.length === 0 ? [made] : [...made.outputs]);
        return fetched.filter((x) => x !== null);
      };
      if (results) expect((await run()).map(described), op).toEqual(results);
      else {
        const failure = await run().then(
          () => undefined,
          (e: unknown) => e,
        );
        expect(failure, `${op} should be refused: ${message}`).toBeInstanceOf(Error);
        if (error === 'ValueError' || !(failure instanceof tf.errors.OpError)) continue; // refused while building, in words of its own
        const words =
          /No OpKernel was registered to support Op '\w+'|is not initializable|Signature mismatch, have: [^>]*/.exec(
            message!,
          )?.[0];
        expect([failure.constructor.name, failure.message]).toEqual([
          error,
          expect.stringContaining(words ?? message!),
        ]);
      }
    }
  });
});

test.each([
  ['numbers', tf.int64, tf.float32],
  ['texts', tf.int64, tf.string],
] as const)('%s by keys that come and go', async (_, keyType, valueType) => {
  const valueFor = (i: number) => (valueType === tf.string ? [`a${i}`, `b${i}`] : [i, i / 2]);
  const missing = valueFor(-2);
  const attrs = { key_dtype: keyType, value_dtype: valueType, value_shape: [2] };
  const table = outputOf('MutableHashTableOfTensorsV2', {}, { attrs });
  const keys = tf.placeholder(keyType, [null]);
  const values = tf.placeholder(valueType, [null, 2]);
  const insertion = node('LookupTableInsertV2', { table_handle: table, keys, values });
  const removal = node('LookupTableRemoveV2', { table_handle: table, keys });
  const found = outputOf('LookupTableFindV2', {
    table_handle: table,
    keys,
    default_value: tf.constant(missing, valueType),
  });
  const exported = node(
    'LookupTableExportV2',
    { table_handle: table },
    { attrs: { Tkeys: keyType, Tvalues: valueType } },
  ).outputs;
  using session = new tf.Session();
  const expected = new Map<number, unknown>();
  const all = Array.from({ length: 300 }, (_, i) => (i * 7) % 300);
  for (let round = 0; round < 4; round++) {
    const added = all.filter((key) => key % 4 <= round);
    await session.run(insertion, [[keys, added], [values, added.map((key) => valueFor(key + round))]]); // biome-ignore format: pairs
    for (const key of added) expected.set(key, valueFor(key + round));
    const removed = all.filter((key) => key % 3 === round);
    await session.run(removal, [[keys, removed]]);
    for (const key of removed) expected.delete(key);
    const wanted = all.map((key) => expected.get(key) ?? missing);
    expect((await session.run(found, [[keys, all]])).toArray()).toEqual(wanted);
    const [exportedKeys, exportedValues] = (await session.run(exported)).map((x) => x.toArray() as unknown[]);
    expect(new Map(exportedKeys!.map((key, i) => [key, exportedValues![i]]))).toEqual(expected);
  }
});
