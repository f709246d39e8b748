/** @file Long lists of numbers, truth values and texts become the same arrays as short ones, with the same complaints. */
import { describe, expect, test } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { fromNested, type NDArray, type Nested } from '../../src/core/ndarray.ts';
import { toArray } from '../../src/op/convert.ts';

const list = <T>(length: number, element: (i: number) => T) => Array.from({ length }, (_, i) => element(i));
/** Rows of seven. */
const rows = <T>(element: (i: number) => T) => list(40, (i) => list(7, (k) => element(7 * i + k)));

const expectSame = (found: NDArray, expected: NDArray) => {
  expect([found.dtype, found.shape]).toEqual([expected.dtype, expected.shape]);
  expect(found.equals(expected)).toBe(true);
};

const fractions = (i: number) => [-0, Number.NaN, 1 / 0, -1 / 3, 2 ** 60][i] ?? i / 3;
const wholes = (i: number) => [-0, -1, 255, 2 ** 31, -(2 ** 40), 2 ** 53 - 1, 1 - 2 ** 53][i] ?? i;
const truths = (i: number) => i % 3 === 0;
const words = (i: number) => ['', 'grün', 'a\u0000b', '\ud800', '\udc00', '🌱'][i % 97] ?? `word ${i}`;

const { float16, bfloat16, float32, float64, complex64, int8, uint8, int16, uint16, int32, uint32, int64, uint64 } = tf;

describe('with a type', () => {
  test.each([float16, bfloat16, float32, float64, complex64])('%s', (dtype) => {
    for (const element of [fractions, wholes])
      expectSame(toArray(rows(element), dtype), fromNested(rows(element), dtype));
  });

  test.each([int8, uint8, int16, uint16, int32, uint32, int64, uint64])('%s', (dtype) => {
    expectSame(toArray(rows(wholes), dtype), fromNested(rows(wholes), dtype));
    const beyond = (i: number) => (i === 99 ? 2 ** 63 : i === 100 ? -(2n ** 60n) - 1n : i);
    expectSame(toArray(rows(beyond), dtype), fromNested(rows(beyond), dtype));
  });

  test('bool', () => expectSame(toArray(rows(truths), tf.bool), fromNested(rows(truths), tf.bool)));

  test('string', () => {
    expectSame(toArray(rows(words), tf.string), fromNested(rows(words), tf.string));
    for (const text of ['grün', 'x'.repeat(5000)]) {
      const texts = list(2000, (i) => (i === 1500 ? text : `word ${i}`));
      expectSame(toArray(texts, tf.string), fromNested(texts, tf.string));
    }
    const mixed = list(100, (i) => (i === 70 ? new Uint8Array([255]) : `word ${i}`));
    expectSame(toArray(mixed, tf.string), fromNested(mixed, tf.string));
  });

  test('depth and emptiness', () => {
    const deep = list(3, (i) => list(4, (j) => list(5, (k) => list(2, (l) => i + j + k + l))));
    expectSame(toArray(deep, float32), fromNested(deep, float32));
    const empty = list(100, () => []);
    expect(toArray(empty, float32).shape).toEqual([100, 0]);
  });
});

test('an array of strings takes texts and bytes, and nothing else', () => {
  const bytes = new Uint8Array([255]);
  const array = new tf.NDArray(tf.string, [3], ['a', bytes, 'grün']);
  expectSame(array, fromNested(['a', bytes, 'grün'], tf.string));
  expect(array.objects[1]).toBe(bytes);
  expect(() => new tf.NDArray(tf.string, [1], new Int32Array(1))).toThrow('expected a string, but 0 was given');
});

describe('without a type', () => {
  const inferred: [string, Nested, tf.DType][] = [
    ['fractions', rows((i) => i / 3), float32],
    ['whole numbers', rows((i) => i), int32],
    ['a whole number beyond int32', rows((i) => (i === 50 ? 2 ** 31 : i)), int64],
    ['a whole number beyond int64', rows((i) => (i === 50 ? 2 ** 70 : i)), int64],
    ['truth values', rows(truths), tf.bool],
    ['texts', rows(words), tf.string],
    ['a complex number', rows((i) => (i === 50 ? { re: 1, im: 2 } : i)), tf.complex128],
  ];
  test.each(inferred)('%s', (_, value, dtype) => {
    expectSame(toArray(value), fromNested(value, dtype));
  });

  test('beside others', () => {
    expect(
      toArray(
        rows((i) => i),
        undefined,
        float64,
      ).dtype,
    ).toBe(float64);
    expect(
      toArray(
        rows((i) => i),
        undefined,
        float16,
      ).dtype,
    ).toBe(float16);
    expect(
      toArray(
        rows((i) => i),
        undefined,
        int64,
      ).dtype,
    ).toBe(int64);
    expect(
      toArray(
        rows((i) => i / 3),
        undefined,
        int64,
      ).dtype,
    ).toBe(float32);
  });
});

describe('arrays of other types', () => {
  const types = [float16, float32, float64, int8, uint8, int16, int32, uint32, int64, uint64];
  test.each(types)('%s', (from) => {
    const given = fromNested(
      list(100, (i) => (i < 2 ? [-0, 127][i]! : i)),
      from,
    );
    for (const dtype of types) {
      const elements = list(given.size, (i) => given.at(i));
      expectSame(toArray(given, dtype), fromNested(elements, dtype));
    }
  });

  test('whole numbers of any size', () => {
    for (const dtype of [int32, int64, uint8]) {
      const large = new Float64Array([2 ** 31, -(2 ** 40) - 1, 2 ** 60]);
      expectSame(toArray(large, dtype), fromNested([...large], dtype));
    }
    const long = new BigInt64Array([2n ** 62n + 1n, -(2n ** 53n) - 1n, 5n]);
    for (const dtype of [float32, float64, int32]) expectSame(toArray(long, dtype), fromNested([...long], dtype));
  });
});

describe('mistakes', () => {
  test.each([
    ['a short row', [...rows(fractions), [1]], float32, /\[0\] has 7 elements, but \[40\] has 1 element\./],
    ['a value for a row', [...rows(fractions), 1], float32, /\[0\] has 7 elements, but \[40\] is a single value\./],
    [
      'a row for a value',
      list(100, (i) => (i === 70 ? [i] : i)),
      float32,
      /\[0\] is a single value, but \[70\] has 1 element/,
    ],
    ['text for a number', list(100, (i) => (i === 70 ? '5' : i)), float32, /expected float32, but "5" is text/],
    [
      'nothing for a number',
      list(100, (i) => (i === 70 ? undefined : i)),
      float32,
      /expected float32, but got undefined/,
    ],
    ['a fraction', list(100, (i) => (i === 70 ? 0.5 : i)), int32, /Expected int32, but got 0.5 of type 'float'/],
    [
      'a fraction in an array',
      Float32Array.from(list(100, (i) => i / 2)),
      int64,
      /Expected int64, but got 0.5 of type 'float'/,
    ],
    ['a truth value', list(100, (i) => (i === 70 ? true : i)), int64, /Expected int64, but got true of type 'bool'/],
    ['a number for a truth value', list(100, (i) => (i === 70 ? 1 : true)), tf.bool, /Expected bool, but got 1/],
    ['a number for a text', list(100, (i) => (i === 70 ? 1 : 'x')), tf.string, /expected a string, but 1 was given/],
  ] as const)('%s', (_, value, dtype, complaint) => {
    expect(() => toArray(value as Nested, dtype)).toThrow(complaint); // wrong on purpose
  });
});
