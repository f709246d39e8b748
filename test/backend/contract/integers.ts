/** @file Contract: every scalar operation on integers and bools. */
import { it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import type { Device } from '../../../src/devices/device.ts';
import * as e from '../../../src/program/expr.ts';
import { integers, signed, unsigned } from './dtypes.ts';
import { checkRows } from './expect.ts';

export function integerContract(device: Device): void {
  const check = (op: (...args: e.Expr[]) => e.Expr, dtypes: readonly d.DType[], rows: string) =>
    checkRows(device, op, dtypes, rows);

  it('divides and takes remainders', async () => {
    await check(e.div, signed, '-7 2 = -3; 7 -2 = -3; 7 2 = 3; -7 -2 = 3; 6 3 = 2; 0 5 = 0; -6 3 = -2');
    await check(e.floordiv, signed, '-7 2 = -4; 7 -2 = -4; 7 2 = 3; -7 -2 = 3; 6 3 = 2; 0 5 = 0; -6 3 = -2');
    await check(e.floormod, signed, '-7 2 = 1; 7 -2 = -1; 7 2 = 1; -7 -2 = -1; 6 3 = 0; 0 5 = 0; -6 3 = 0');
    await check(e.truncmod, signed, '-7 2 = -1; 7 -2 = 1; 7 2 = 1; -7 -2 = -1; 6 3 = 0; 0 5 = 0; -6 3 = 0');
    for (const op of [e.div, e.floordiv]) await check(op, unsigned, '200 7 = 28; 7 200 = 0; 255 1 = 255');
    for (const op of [e.floormod, e.truncmod]) await check(op, unsigned, '200 7 = 4; 7 200 = 7; 255 1 = 0');
    await check(e.div, [d.int64], '2^62 2 = 2^61; -2^63 -1 = -2^63; 2^62+3 2^62 = 1');
    await check(e.div, [d.int32], '-2147483648 -1 = -2147483648; 2147483647 -1 = -2147483647');
    await check(e.div, [d.uint64], '2^64-1 2 = 2^63-1');
    await check(e.floordiv, [d.uint32], '4294967295 2 = 2147483647');
    await check(e.floormod, [d.int64], '-2^62 7 = 3; 2^62+1 2 = 1');
  });

  it('wraps around', async () => {
    await check(e.add, [d.int8], '127 1 = -128; -128 -1 = 127');
    await check(e.add, [d.uint8], '255 1 = 0');
    await check(e.sub, [d.uint16], '0 1 = 65535');
    await check(e.mul, [d.int16], '300 300 = 24464');
    await check(e.mul, [d.uint16], '65535 65535 = 1');
    await check(e.add, [d.int32], '2147483647 1 = -2147483648');
    await check(e.mul, [d.int32], '2147483647 2147483647 = 1; 123456789 987654321 = -67153019');
    await check(e.mul, [d.uint32], '4294967295 4294967295 = 1; 123456789 987654321 = 4227814277');
    await check(e.sub, [d.uint32], '0 1 = 4294967295');
    await check(e.add, [d.int64], '2^63-1 1 = -2^63; 2^53 1 = 2^53+1');
    await check(e.mul, [d.int64], '2^62 4 = 0; 2^32+1 2^32+1 = 2^33+1');
    await check(e.sub, [d.uint64], '0 1 = 2^64-1');
    await check(e.neg, [d.int8], '-128 = -128; 5 = -5; 0 = 0');
    await check(e.abs, [d.int32], '-2147483648 = -2147483648; -5 = 5');
    await check(e.abs, [d.int64], '-2^63 = -2^63; -5 = 5');
    await check(e.square, [d.int8], '16 = 0; -3 = 9; 12 = -112');
    await check(e.square, [d.int64], '2^32 = 0; 2^31 = 2^62');
  });

  it('wraps at every step', async () => {
    const doubledAndHalved = (x: e.Expr) => e.div(e.add(x, x), 2);
    await check(doubledAndHalved, [d.int8], '100 = -28; -100 = 28; 5 = 5');
    await check(doubledAndHalved, [d.uint8], '200 = 72');
    await check(doubledAndHalved, [d.int16], '20000 = -12768');
    await check(doubledAndHalved, [d.uint16], '40000 = 7232');
    await check(doubledAndHalved, [d.int32], '2000000000 = -147483648');
    await check(doubledAndHalved, [d.uint32], '4000000000 = 1852516352');
    await check(doubledAndHalved, [d.int64], '2^62+6 = -2^62+6');
    await check(doubledAndHalved, [d.uint64], '2^63+6 = 6');
  });

  it('has the simple functions', async () => {
    await check(e.add, integers, '1 2 = 3; 100 7 = 107');
    await check(e.sub, integers, '7 2 = 5');
    await check(e.mul, integers, '3 5 = 15; 0 9 = 0');
    await check(e.sign, signed, '-5 = -1; 0 = 0; 7 = 1');
    await check(e.sign, unsigned, '0 = 0; 200 = 1');
    for (const op of [e.floor, e.ceil, e.rint]) await check(op, integers, '5 = 5; 0 = 0');
    await check(e.max, signed, '-1 3 = 3; 5 2 = 5');
    await check(e.min, signed, '-1 3 = -1; 5 2 = 2');
    await check(e.max, unsigned, '200 3 = 200');
    await check(e.max, [d.uint32], '3000000000 3 = 3000000000');
    await check(e.max, [d.uint64], '2^63 3 = 2^63');
    await check(e.pow, integers, '2 5 = 32; 3 0 = 1; 0 0 = 1; 1 100 = 1; 5 3 = 125');
    await check(e.pow, signed, '-2 3 = -8; -1 7 = -1');
    await check(e.pow, [d.int32], '3 40 = 689956897; 2 31 = -2147483648; 10 10 = 1410065408');
    await check(e.pow, [d.int64], '2 62 = 2^62; 2 64 = 0; -2 63 = -2^63');
    await check(e.pow, [d.int8], '3 7 = -117');
  });

  it('works on bits', async () => {
    await check(e.and, integers, '12 10 = 8; 127 1 = 1');
    await check(e.or, integers, '12 10 = 14');
    await check(e.xor, integers, '12 10 = 6');
    await check(e.invert, signed, '0 = -1; -1 = 0; 5 = -6');
    await check(e.invert, [d.uint8], '0 = 255; 5 = 250');
    await check(e.invert, [d.uint32], '0 = 4294967295');
    await check(e.invert, [d.uint64], '0 = 2^64-1');
    await check(e.xor, [d.uint32], '4294967295 1 = 4294967294');
    await check(e.and, [d.int64], '-1 2^40+5 = 2^40+5');
    await check(e.shl, integers, '1 3 = 8; 5 0 = 5');
    await check(e.shl, [d.int32], '1 31 = -2147483648; 1 32 = -2147483648; 1 -1 = 1');
    await check(e.shl, [d.int8], '1 7 = -128; 3 7 = -128');
    await check(e.shl, [d.uint64], '1 63 = 2^63');
    await check(e.shr, signed, '-8 1 = -4; 8 100 = 0; -1 100 = -1; 8 -1 = 8');
    await check(e.shr, unsigned, '200 3 = 25');
    await check(e.shr, [d.uint8], '200 9 = 1');
    await check(e.shr, [d.uint32], '4294967295 4 = 268435455');
    await check(e.shr, [d.uint64], '2^64-1 60 = 15');
  });

  it('compares', async () => {
    await check(e.lt, signed, '-1 1 = true; 1 -1 = false; 1 1 = false');
    await check(e.lt, unsigned, '200 1 = false; 1 200 = true');
    await check(e.gt, [d.uint32], '3000000000 1 = true');
    await check(e.gt, [d.uint64], '2^63 1 = true');
    await check(e.eq, [d.int64], '2^53 2^53+1 = false; -5 -5 = true');
    await check(e.ge, integers, '3 3 = true; 2 3 = false');
    await check(e.le, integers, '3 3 = true; 2 3 = true');
    await check(e.ne, integers, '3 3 = false; 2 3 = true');
  });

  it('has the logic of bools', async () => {
    await check(e.and, [d.bool], 'false false = false; false true = false; true false = false; true true = true');
    await check(e.or, [d.bool], 'false false = false; false true = true; true false = true; true true = true');
    await check(e.xor, [d.bool], 'false false = false; false true = true; true false = true; true true = false');
    await check(e.not, [d.bool], 'false = true; true = false');
    await check(e.eq, [d.bool], 'false false = true; false true = false');
    await check(e.ne, [d.bool], 'false false = false; false true = true');
    await check(e.max, [d.bool], 'false false = false; false true = true');
    await check(e.min, [d.bool], 'true true = true; false true = false');
  });
}
