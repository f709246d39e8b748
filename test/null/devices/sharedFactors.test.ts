/** @file Which second factors of products are packed for others too, and how much room constants take that stay packed. */
import { describe, expect, it } from 'vitest';
import { float32 } from '../../../src/core/dtypes.ts';
import { PackRoom, PackShare, sharedFactors } from '../../../src/devices/cpu/sharedFactors.ts';
import * as e from '../../../src/program/expr.ts';
import { Buffer, type DeviceInstruction, type DotInstruction, type View } from '../../../src/program/instructions.ts';
import { dense } from '../../../src/program/value.ts';

const [terms, columns] = [64, 128];
const bytes = terms * columns * 4;
/** A number takes four bytes, and six when it is packed. */
const packedBytes = bytes * 1.5;

const temp = (rows: number, length: number): View =>
  dense(new Buffer('temp', rows * length * 4), float32, [rows, length]);
const constant = (): View => dense(new Buffer('constant', bytes, new Uint8Array(bytes)), float32, [terms, columns]);
const product = (rows: number, b: View): DotInstruction => ({
  ...{ kind: 'dot', a: temp(rows, terms), b, output: temp(rows, columns) },
});
const someRoom = (bytes?: number) => new PackShare(new PackRoom(bytes));
const numbersOf = (instructions: readonly DotInstruction[], room = someRoom()) => {
  const before = room.bytes;
  const { numbers, lasting } = sharedFactors(instructions, room);
  return { numbers: instructions.map((dot) => numbers.get(dot)), lasting: [...lasting], bytes: room.bytes - before };
};

describe('second factors of products', () => {
  it('are packed once for several products of a run', () => {
    const b = temp(terms, columns);
    const few = [product(16, b), product(16, b)];
    expect(numbersOf(few).numbers).toEqual([undefined, undefined]);
    const others = { numbers: [0, 0, 0], lasting: [], bytes: 0 };
    expect(numbersOf([...few, product(16, b)])).toEqual(others);
  });

  it('are packed again when they have been written', () => {
    const b = temp(terms, columns);
    const products = Array.from({ length: 6 }, () => product(16, b));
    const change: DeviceInstruction = {
      ...{
        kind: 'map',
        shape: b.shape,
        inputs: [],
        outputs: [b],
        results: [e.neg(e.input(0, float32))],
      },
    };
    const { numbers } = sharedFactors([...products.slice(0, 3), change, ...products.slice(3)], someRoom());
    expect(products.map((dot) => numbers.get(dot))).toEqual([0, 0, 0, 1, 1, 1]);
  });

  it('are packed again behind a product that updates them itself', () => {
    const b = temp(terms, columns);
    const products = Array.from({ length: 6 }, () => product(16, b));
    const { output } = products[2]!;
    products[2] = {
      ...products[2]!,
      after: {
        ...{ kind: 'map', shape: output.shape, inputs: [output], outputs: [b], results: [e.neg(e.input(0, float32))] },
      },
    };
    const { numbers } = sharedFactors(products, someRoom());
    expect(products.map((dot) => numbers.get(dot))).toEqual([0, 0, 0, 1, 1, 1]);
  });

  it('stay packed from run to run where they are constants, unless there are few rows or so many that it matters little', () => {
    const packed = { numbers: [0], lasting: [[0, 'always']], bytes: packedBytes };
    const apart = { numbers: [undefined], lasting: [], bytes: 0 };
    for (const [rows, want] of [
      [31, apart],
      [32, packed],
      [256, packed],
      [257, apart],
    ] as const)
      expect(numbersOf([product(rows, constant())]), `${rows} rows`).toEqual(want);
  });

  it('stay packed for all products if one has enough rows, in whatever order they come', () => {
    for (const rows of [
      [40, 16],
      [16, 40],
    ]) {
      const b = constant();
      expect(numbersOf(rows.map((count) => product(count, b))).numbers).toEqual([0, 0]);
    }
  });

  it('stay packed only while there is room, and again when it is given back', () => {
    const room = someRoom(2.5 * packedBytes);
    const three = [constant(), constant(), constant()].map((b) => product(64, b));
    const first = {
      numbers: [0, 1, undefined],
      lasting: [
        [0, 'always'],
        [1, 'always'],
      ],
      bytes: 2 * packedBytes,
    };
    expect(numbersOf(three, room)).toEqual(first);
    expect(numbersOf(three, room).bytes).toBe(0);
    room.giveBack();
    expect(numbersOf(three, room)).toEqual(first);
  });

  it('are packed in every run where there is no room for constants, but several products', () => {
    const b = constant();
    const products = [1, 2, 3].map(() => product(64, b));
    expect(numbersOf(products, someRoom(0))).toEqual({ numbers: [0, 0, 0], lasting: [], bytes: 0 });
  });

  it('may stay packed while the content of a variable is the same', () => {
    const b = dense(new Buffer('bound', bytes, undefined, {}), float32, [terms, columns]);
    const lasting = (isShared: boolean) => [[0, { buffer: b.buffer, isShared }]];
    expect(numbersOf([product(31, b)]).numbers).toEqual([undefined]);
    expect(numbersOf([product(32, b)])).toEqual({ numbers: [0], lasting: lasting(false), bytes: packedBytes });
    expect(numbersOf([product(8, b), product(8, b), product(8, b)]).lasting).toEqual(lasting(true));
  });

  it('stay packed for one run at most where they are fed', () => {
    const b = dense(new Buffer('bound', bytes), float32, [terms, columns]);
    expect(numbersOf([product(64, b)])).toEqual({ numbers: [undefined], lasting: [], bytes: 0 });
    const products = [product(64, b), product(64, b), product(64, b)];
    expect(numbersOf(products)).toEqual({ numbers: [0, 0, 0], lasting: [], bytes: 0 });
  });

  it('stay packed for one run at most where the segment writes the buffer, or another version of it', () => {
    const variable = {};
    const version = () => dense(new Buffer('bound', bytes, undefined, variable), float32, [terms, columns]);
    const [b, other] = [version(), version()];
    const products = [product(64, b), product(64, b), product(64, b)];
    const change: DeviceInstruction = {
      ...{
        kind: 'map',
        shape: b.shape,
        inputs: [],
        outputs: [other],
        results: [{ op: 'const', dtype: float32, value: 1 }],
      },
    };
    const { numbers, lasting } = sharedFactors([...products, change], someRoom());
    expect(products.map((dot) => numbers.get(dot))).toEqual([0, 0, 0]);
    expect([...lasting]).toEqual([]);
    expect(sharedFactors([products[0]!, change], someRoom()).numbers.size).toBe(0);
  });
});
