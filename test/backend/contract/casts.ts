/** @file Contract: casts between all dtypes. */
import { expect, it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import { type Element, fromNested } from '../../../src/core/ndarray.ts';
import type { Device } from '../../../src/devices/device.ts';
import * as e from '../../../src/program/expr.ts';
import { compute, expectElements } from './expect.ts';

const nan = Number.NaN;
const inf = Number.POSITIVE_INFINITY;
const numeric = d.allDtypes.filter((dtype) => !dtype.isObject && !dtype.name.startsWith('q'));

export function castContract(device: Device): void {
  const cast = (from: d.DType, to: d.DType, values: readonly Element[]) =>
    compute(device, e.cast(e.input(0, from), to), fromNested(values, from));

  it('keeps small numbers between every two types', async () => {
    for (const from of numeric)
      for (const to of numeric) {
        const values = from.isBool || to.isBool ? [0, 1] : [0, 1, 2, 100];
        const got = await cast(from, to, values);
        expect([from.name, to.name, got.numbers()]).toEqual([from.name, to.name, values]);
      }
  });

  it('truncates floats and gives the smallest integer for what does not fit', async () => {
    for (const from of [d.float32, d.float64]) {
      const values = [1.9, -1.9, 0.5, -0.5, 3e9, -3e9, 1e20, inf, -inf, nan];
      const least = -(2 ** 31);
      expectElements(await cast(from, d.int32, values), [1, -1, 0, 0, least, least, least, least, least, least]);
      const long = -(2n ** 63n);
      expectElements(await cast(from, d.int64, values), [1, -1, 0, 0, 3e9, -3e9, long, long, long, long]);
      expectElements(await cast(from, d.uint8, [-1, 256, 300.5, 255, 1e20, nan]), [255, 0, 44, 255, 0, 0]);
      expectElements(await cast(from, d.int8, [-1, 128, 300.5, -129, 1e20, nan]), [-1, -128, 44, 127, 0, 0]);
      expectElements(await cast(from, d.int16, [40000, -1.5, 65536, inf]), [-25536, -1, 0, 0]);
      expectElements(await cast(from, d.uint16, [40000, -1.5, 65536, -inf, 3e9]), [40000, 65535, 0, 0, 0]);
      expectElements(await cast(from, d.uint32, [3e9, -1, 0.5]), [3e9, 4294967295, 0]);
      const high = [2 ** 63, -1, 3e9, inf, nan];
      expectElements(await cast(from, d.uint64, high), [2n ** 63n, 2n ** 64n - 1n, 3e9, 2n ** 63n, 2n ** 63n]);
    }
    expectElements(await cast(d.float64, d.int32, [2147483647.9, -2147483648.9]), [2147483647, -2147483648]);
    expectElements(await cast(d.float16, d.int32, [inf, nan, -2.75]), [-(2 ** 31), -(2 ** 31), -2]);
    expectElements(await cast(d.bfloat16, d.int8, [300, -2.75]), [44, -2]);
  });

  it('wraps between integers', async () => {
    expectElements(await cast(d.int32, d.uint8, [-1, 256, 511]), [255, 0, 255]);
    expectElements(await cast(d.int32, d.int8, [128, -129, 255]), [-128, 127, -1]);
    expectElements(await cast(d.int32, d.uint32, [-1]), [4294967295]);
    expectElements(await cast(d.int32, d.uint64, [-1]), [2n ** 64n - 1n]);
    expectElements(await cast(d.uint32, d.int32, [4294967295]), [-1]);
    expectElements(await cast(d.uint32, d.int64, [4294967295]), [4294967295]);
    expectElements(await cast(d.int64, d.int32, [2n ** 32n + 5n, -(2n ** 40n) - 1n]), [5, -1]);
    expectElements(await cast(d.int64, d.uint64, [-1n]), [2n ** 64n - 1n]);
    expectElements(await cast(d.uint64, d.int64, [2n ** 63n]), [-(2n ** 63n)]);
    expectElements(await cast(d.uint64, d.int16, [65535n]), [-1]);
  });

  it('rounds to nearest even where floats are shorter', async () => {
    expectElements(await cast(d.float64, d.float32, [0.1, 1e39, -1e-50]), [Math.fround(0.1), inf, -0]);
    expectElements(await cast(d.float32, d.float16, [65520, 65519, 2049, 2051, 1e-8, -65520]), [
      inf,
      65504,
      2048,
      2052,
      0,
      -inf,
    ]);
    expectElements(await cast(d.float32, d.float16, [2 ** -24, 2 ** -25, 1.5 * 2 ** -24]), [2 ** -24, 0, 2 ** -23]);
    expectElements(await cast(d.float32, d.bfloat16, [257, 259, 1.00390625]), [256, 260, 1]);
    expectElements(await cast(d.int32, d.float32, [16777217, 16777219, -16777217]), [16777216, 16777220, -16777216]);
    expectElements(await cast(d.int64, d.float64, [2n ** 53n + 1n, 2n ** 53n + 3n]), [2 ** 53, 2 ** 53 + 4]);
    // A detour through float64 would make ties of these and round them the wrong way.
    const nearTie = 2n ** 60n + 2n ** 36n + 1n;
    expectElements(await cast(d.int64, d.float32, [nearTie, -nearTie]), [2 ** 60 + 2 ** 37, -(2 ** 60 + 2 ** 37)]);
    expectElements(await cast(d.uint64, d.float32, [2n ** 64n - 1n, 2n ** 63n]), [2 ** 64, 2 ** 63]);
    expectElements(await cast(d.uint64, d.float64, [2n ** 64n - 1n]), [2 ** 64]);
    expectElements(await cast(d.uint32, d.float32, [4294967295]), [2 ** 32]);
    expectElements(await cast(d.float16, d.float32, [nan, inf, -0, 2 ** -24]), [nan, inf, -0, 2 ** -24]);
    expectElements(await cast(d.bfloat16, d.float64, [nan, -inf, -0, 1.5]), [nan, -inf, -0, 1.5]);
  });

  it('makes bools of what is not zero', async () => {
    expectElements(await cast(d.float32, d.bool, [0, -0, 0.25, nan, -inf]), [false, false, true, true, true]);
    expectElements(await cast(d.int32, d.bool, [0, 256, -1]), [false, true, true]);
    expectElements(await cast(d.int64, d.bool, [0n, 2n ** 40n]), [false, true]);
    const complex = [
      { re: 0, im: 0 },
      { re: 0, im: 2 },
      { re: 1, im: 0 },
    ];
    expectElements(await cast(d.complex64, d.bool, complex), [false, true, true]);
  });

  it('drops and adds imaginary parts', async () => {
    expectElements(await cast(d.complex64, d.float32, [{ re: 1.5, im: 2 }]), [1.5]);
    expectElements(await cast(d.complex128, d.int32, [{ re: -2.75, im: 2 }]), [-2]);
    expectElements(await cast(d.complex128, d.complex64, [{ re: 0.1, im: 1e39 }]), [{ re: Math.fround(0.1), im: inf }]);
    expectElements(await cast(d.float64, d.complex64, [0.1]), [{ re: Math.fround(0.1), im: 0 }]);
    expectElements(await cast(d.int64, d.complex128, [-7n]), [{ re: -7, im: 0 }]);
    expectElements(await cast(d.bool, d.complex64, [true]), [{ re: 1, im: 0 }]);
  });
}
