/** @file Contract: every scalar operation on complex numbers, constants, and `select`. */
import { it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import { fromNested, type Nested } from '../../../src/core/ndarray.ts';
import type { Device } from '../../../src/devices/device.ts';
import * as e from '../../../src/program/expr.ts';
import { reals } from './dtypes.ts';
import { checkRows, compute, expectElements, operation } from './expect.ts';

type Point = readonly [re: number, im: number];
const number = ([re, im]: Point) => ({ re, im });

/** Functions at a point; values from TensorFlow and from Python's cmath. */
const functions: [op: e.UnaryOp, at: Point, value: Point][] = [
  ['neg', [1, -2], [-1, 2]],
  ['conj', [1, -2], [1, 2]],
  ['sign', [3, 4], [0.6, 0.8]],
  ['sign', [0, 0], [0, 0]],
  ['square', [1, 2], [-3, 4]],
  ['reciprocal', [1, 2], [0.2, -0.4]],
  ['sqrt', [-4, 0], [0, 2]],
  ['sqrt', [3, 4], [2, 1]],
  ['rsqrt', [0.5, 1.5], [0.645157163811143, -0.4650029742021419]],
  ['exp', [0.5, 1.5], [0.11662592901934636, 1.644591201830844]],
  ['log', [0.5, 1.5], [0.45814536593707755, 1.2490457723982544]],
  ['sin', [0.5, 1.5], [1.1278052468056998, 1.8686185191826468]],
  ['cos', [0.5, 1.5], [2.064433656760715, -1.0208309495976966]],
  ['tan', [0.5, 1.5], [0.0793244548039567, 0.9443729864226215]],
  ['asin', [0.5, 1.5], [0.2734872901415568, 1.226456871251406]],
  ['acos', [0.5, 1.5], [1.2973090366533397, -1.226456871251406]],
  ['atan', [0.5, 1.5], [1.2767950250211129, 0.6412373393653842]],
  ['sinh', [0.5, 1.5], [0.03686082371280446, 1.1248012470579227]],
  ['cosh', [0.5, 1.5], [0.07976510530654189, 0.5197899547729212]],
  ['tanh', [0.5, 1.5], [2.124799127742996, 0.2551492218136516]],
  ['asinh', [-2, -0.25], [-1.4492081522551188, -0.11147792536848178]],
  ['acosh', [-2, -0.25], [1.3287633703408075, -2.9987204713154223]],
  ['atanh', [-2, -0.25], [-0.5358800995910896, -1.489877611175685]],
  ['expm1', [0.5, 1.5], [-0.8833740709806535, 1.644591201830844]],
  ['log1p', [0.5, 1.5], [0.7520386983881371, 0.7853981633974483]],
  ['sigmoid', [0.5, 1.5], [0.7174196103060387, 0.4161906065612849]],
];

export function complexContract(device: Device): void {
  const types = [d.complex64, d.complex128];
  const tolerance = (dtype: d.DType) => (dtype === d.complex64 ? 1e-5 : 1e-12);

  it.each(functions)('%s at %j', async (name, at, value) => {
    await checkRows(device, operation(name), types, [[number(at), number(value)]], tolerance);
  });

  it('computes with two', async () => {
    const [x, y] = [number([1, 2]), number([3, -1])];
    await checkRows(device, e.add, types, [[x, y, number([4, 1])]]);
    await checkRows(device, e.sub, types, [[x, y, number([-2, 3])]]);
    await checkRows(device, e.mul, types, [[x, y, number([5, 5])]]);
    await checkRows(device, e.div, types, [[x, y, number([0.1, 0.7])]], tolerance);
    const power = number([2.428447747683073, 14.93241486964456]);
    await checkRows(device, e.pow, types, [[x, number([2, -1]), power]], tolerance);
    await checkRows(device, e.pow, types, [[x, number([2, 0]), number([-3, 4])]], tolerance);
    await checkRows(device, e.eq, types, [[x, x, true]]);
    await checkRows(device, e.eq, types, [[x, number([1, -2]), false]]);
    await checkRows(device, e.ne, types, [[x, y, true]]);
  });

  it('takes numbers apart and puts them together', async () => {
    for (const dtype of types) {
      const x = fromNested([number([3, 4]), number([-1, 0]), number([0, -2])], dtype);
      const part = (op: (z: e.Expr) => e.Expr) => compute(device, op(e.input(0, dtype)), x);
      expectElements(await part(e.real), [3, -1, 0]);
      expectElements(await part(e.imag), [4, 0, -2]);
      expectElements(await part(e.cabs), [5, 1, 2], 1e-6);
      expectElements(await part(e.arg), [Math.atan2(4, 3), Math.PI, -Math.PI / 2], tolerance(dtype));
    }
    const parts = [fromNested([1, 2], d.float64), fromNested([-3, 0.5], d.float64)];
    const whole = e.complex(e.input(0, d.float64), e.input(1, d.float64), d.complex128);
    expectElements(await compute(device, whole, ...parts), [number([1, -3]), number([2, 0.5])]);
  });

  it('takes constants of every type', async () => {
    const cases: [d.DType, e.Scalar, Nested][] = [
      [d.float32, 0.1, Math.fround(0.1)],
      [d.float64, 0.1, 0.1],
      [d.float16, 0.1, 0.0999755859375],
      [d.bfloat16, 0.1, 0.10009765625],
      [d.float32, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
      [d.float32, Number.NaN, Number.NaN],
      [d.float32, -0, -0],
      [d.int64, 2n ** 62n + 1n, 2n ** 62n + 1n],
      [d.int64, -5, -5],
      [d.uint64, 2n ** 64n - 1n, 2n ** 64n - 1n],
      [d.uint32, 4294967295, 4294967295],
      [d.int8, -128, -128],
      [d.bool, 1, true],
      [d.complex64, [1.5, -2], number([1.5, -2])],
      [d.complex128, 3, number([3, 0])],
    ];
    for (const [dtype, value, expected] of cases)
      expectElements(await compute(device, e.constant(value, dtype)), [expected]);
  });

  it('selects in every type', async () => {
    const condition = fromNested([true, false, true], d.bool);
    for (const dtype of reals) {
      const chosen = e.select(e.input(0, d.bool), e.input(1, dtype), e.input(2, dtype));
      const [x, y] = [fromNested([1, 2, 3], dtype), fromNested([7, 8, 9], dtype)];
      expectElements(await compute(device, chosen, condition, x, y), [1, 8, 3]);
    }
    const [yes, no] = [[1, 2], [3, 4]] as const; // biome-ignore format: two points
    const whole = e.select(e.input(0, d.bool), e.constant(yes, d.complex64), e.constant(no, d.complex64));
    expectElements(await compute(device, whole, condition), [yes, no, yes].map(number));
    // The side not chosen does not leak through: NaN · 0 would.
    const guarded = e.select(e.gt(e.input(0, d.float32), 0), e.log(e.input(0, d.float32)), 0);
    expectElements(await compute(device, guarded, fromNested([-1, 1, 0], d.float32)), [0, 0, 0]);
  });
}
