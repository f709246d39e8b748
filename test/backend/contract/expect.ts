/** @file What contract tests share: computing one expression, comparing arrays, catching failures. */
import { expect } from 'vitest';
import { bool, type DType } from '../../../src/core/dtypes.ts';
import {
  type Complex,
  type Element,
  flatten,
  fromNested,
  type NDArray,
  type Nested,
} from '../../../src/core/ndarray.ts';
import type { Device } from '../../../src/devices/device.ts';
import {
  type BinaryOp,
  type CompareOp,
  compareOps,
  type Expr,
  input,
  type UnaryOp,
} from '../../../src/program/expr.ts';
import { DeviceFailure, type Failure } from '../../../src/program/instructions.ts';
import { SegmentBuilder } from '../build.ts';

/** How far a device may be from the true value of one operation, relative to it. */
export function toleranceOf(dtype: DType): number {
  switch (dtype.realDtype.storage) {
    case 'f16':
      return 2e-3;
    case 'bf16':
      return 1.6e-2;
    case 'f32':
      return 2e-6;
    case 'f64':
      return 1e-13;
    default:
      return 0;
  }
}

function closeNumbers(got: number, want: number, tolerance: number): boolean {
  if (Object.is(got, want) || got === want) return tolerance > 0 || Object.is(got, want);
  return Math.abs(got - want) <= tolerance * Math.max(Math.abs(want), 1e-6);
}

function close(got: Element, want: Element, tolerance: number): boolean {
  if (typeof got === 'object' && typeof want === 'object') {
    const [x, y] = [got as Complex, want as Complex]; // numeric arrays hold no other objects
    const size = Math.hypot(y.re, y.im);
    const apart = Math.hypot(x.re - y.re, x.im - y.im);
    return (closeNumbers(x.re, y.re, tolerance) && closeNumbers(x.im, y.im, tolerance)) || apart <= tolerance * size;
  }
  if (typeof got === 'number' && typeof want === 'number') return closeNumbers(got, want, tolerance);
  return got === want;
}

/** Fails unless the array holds these elements, row by row. Without a tolerance they must be equal, signs of zeros too. */
export function expectElements(got: NDArray, expected: Nested, tolerance = 0): void {
  const want = flatten(expected).elements.map((x) => plain(x, got.dtype));
  const elements = Array.from({ length: got.size }, (_, i) => got.at(i));
  const fits = elements.length === want.length && elements.every((x, i) => close(x, want[i]!, tolerance));
  if (!fits) expect(elements).toEqual(want);
  expect(fits, `${elements.map(show)} is not within ${tolerance} of ${want.map(show)}`).toBe(true);
}

/** Arrays give bigints only for the 64-bit integers that numbers cannot hold. */
function plain(x: Element, dtype: DType): Element {
  const wide = dtype.storage === 'i64' || dtype.storage === 'u64';
  return typeof x === 'bigint' && (!wide || Number.isSafeInteger(Number(x))) ? Number(x) : x;
}

const show = (x: Element) => (typeof x === 'object' ? JSON.stringify(x) : Object.is(x, -0) ? '-0' : String(x));

/** The value of an expression at every point of its inputs, which have one shape. */
export async function compute(device: Device, result: Expr, ...inputs: NDArray[]): Promise<NDArray> {
  const b = new SegmentBuilder();
  const shape = inputs[0]?.shape ?? [];
  const views = inputs.map((x) => b.bind(x));
  const output = b.output(result.dtype, shape);
  b.add({ kind: 'map', shape, inputs: views, outputs: [output], results: [result] });
  return (await b.run(device))(output);
}

/** The failure that running the segment ends with. */
export async function failureOf(builder: SegmentBuilder, device: Device): Promise<Failure> {
  const error = await builder.run(device).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DeviceFailure)) throw new Error(`expected a DeviceFailure, but got ${error}`);
  return error.failure;
}

/** A number, `inf`, `nan`, `true`, `false`, or a power of two with an offset, as in `2^63-1`. */
function parseElement(text: string): Element {
  const word = { inf: Number.POSITIVE_INFINITY, '-inf': Number.NEGATIVE_INFINITY, true: true, false: false }[text];
  if (word !== undefined) return word;
  const power = /^(-?)2\^(-?\d+)([+-]\d+)?$/.exec(text);
  if (!power) return text === 'nan' ? Number.NaN : Number(text);
  const [, sign, exponent, offset = '0'] = power;
  if (exponent!.startsWith('-')) return (sign ? -1 : 1) * 2 ** Number(exponent);
  return (sign ? -1n : 1n) * 2n ** BigInt(exponent!) + BigInt(offset);
}

/** Rows like `1 2 = 3`, separated by semicolons: arguments, then the value they must give. */
export function parseRows(text: string): Element[][] {
  return text.split(';').map((row) => row.replace('=', ' ').trim().split(/\s+/).map(parseElement));
}

/**
 * Checks an operation on rows of arguments and results, in each of the dtypes. The arguments must be exact in all of
 * them.
 */
export async function checkRows(
  device: Device,
  op: (...args: Expr[]) => Expr,
  dtypes: readonly DType[],
  rows: string | readonly (readonly Element[])[],
  tolerance: (dtype: DType) => number = () => 0,
): Promise<void> {
  const table = typeof rows === 'string' ? parseRows(rows) : rows;
  const arity = table[0]!.length - 1;
  for (const dtype of dtypes) {
    const inputs = Array.from({ length: arity }, (_, i) =>
      fromNested(
        table.map((row) => row[i]!),
        dtype,
      ),
    );
    const result = op(...inputs.map((_, i) => input(i, dtype)));
    expectElements(
      await compute(device, result, ...inputs),
      table.map((row) => row[arity]!),
      tolerance(dtype),
    );
  }
}

/** The builder of an operation given by its name. */
export function operation(op: UnaryOp | BinaryOp | CompareOp): (...args: Expr[]) => Expr {
  const compares = compareOps.some((name) => name === op);
  return (...args) => ({ op, dtype: compares ? bool : args[0]!.dtype, args });
}
