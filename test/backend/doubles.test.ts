/**
 * @file The cpu device's float64 functions against those of JavaScript, which are within one unit of the last place themselves;
 * `npm run accuracy` measures against more digits.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import * as e from '../../src/program/expr.ts';
import { SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();

const sigmoid = (x: number) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));

/** Functions, what they should be, the error that native/README.md promises, and that of what they should be. */
const functions = {
  exp: [e.exp, Math.exp, 1, 1],
  log: [e.log, Math.log, 1, 1],
  log1p: [e.log1p, Math.log1p, 1, 1],
  expm1: [e.expm1, Math.expm1, 1.2, 1],
  tanh: [e.tanh, Math.tanh, 1, 1],
  sigmoid: [e.sigmoid, sigmoid, 1.1, 3],
  sinh: [e.sinh, Math.sinh, 1.8, 2],
  cosh: [e.cosh, Math.cosh, 1.5, 1],
  atanh: [e.atanh, Math.atanh, 1, 1],
  sin: [e.sin, Math.sin, 1, 1],
  cos: [e.cos, Math.cos, 1, 1],
  tan: [e.tan, Math.tan, 1, 1],
  asin: [e.asin, Math.asin, 0.7, 1],
  acos: [e.acos, Math.acos, 0.7, 1],
  atan: [e.atan, Math.atan, 2, 1],
} as const;

/** Some values of functions that JavaScript does not have, and the error that native/README.md promises. */
const tables = {
  erf: {
    of: e.erf,
    bound: 1.2,
    values: [
      [0.1, 0.1124629160182849],
      [0.25, 0.27632639016823696],
      [0.4375, 0.463898135749933],
      [0.5, 0.5204998778130465],
      [0.5625, 0.5736744566155919],
      [0.75, 0.7111556336535151],
      [0.875, 0.7840750610598597],
      [0.9375, 0.8151024010343998],
      [1, 0.8427007929497149],
      [1.0625, 0.8670582694349528],
      [1.25, 0.9229001282564583],
      [1.5, 0.9661051464753108],
      [1.75, 0.9866716712191824],
      [2, 0.9953222650189527],
      [2.5, 0.999593047982555],
      [3, 0.9999779095030014],
      [4, 0.9999999845827421],
      [5, 0.9999999999984626],
      [-0.75, -0.7111556336535151],
      [-2, -0.9953222650189527],
      [0, 0],
      [-0, -0],
      [8, 1],
      [-8, -1],
      [Infinity, 1],
      [-Infinity, -1],
      [NaN, NaN],
    ],
  },
  erfc: {
    of: e.erfc,
    bound: 1.8,
    values: [
      [-6, 2.0],
      [-3, 1.9999779095030015],
      [-1.5, 1.9661051464753108],
      [-0.75, 1.7111556336535152],
      [-0.5, 1.5204998778130465],
      [-0.25, 1.276326390168237],
      [0.1, 0.887537083981715],
      [0.25, 0.7236736098317631],
      [0.4375, 0.536101864250067],
      [0.5, 0.4795001221869535],
      [0.5625, 0.42632554338440803],
      [0.75, 0.28884436634648486],
      [1, 0.15729920705028513],
      [1.5, 0.033894853524689274],
      [2, 0.004677734981047266],
      [3, 2.209049699858544e-5],
      [4.5, 1.9661604415428876e-10],
      [6, 2.1519736712498913e-17],
      [8, 1.1224297172982926e-29],
      [10, 2.088487583762545e-45],
      [13, 1.7395573154667246e-75],
      [17, 1.0212280150942608e-127],
      [20, 5.395865611607901e-176],
      [24, 1.6489825831519335e-252],
      [26, 5.663192408856143e-296],
      [26.5, 2.2109076642637343e-307],
      [27, 0],
      [0, 1],
      [-0, 1],
      [Infinity, 0],
      [-Infinity, 2],
      [NaN, NaN],
    ],
  },
  erfinv: {
    of: e.erfinv,
    bound: 2.5,
    values: [
      [0.1, 0.08885599049425769],
      [0.3, 0.2724627147267543],
      [0.5, 0.4769362762044699],
      [0.75, 0.8134198475976185],
      [0.9, 1.1630871536766743],
      [0.99, 1.8213863677184494],
      [0.995, 1.984872612615532],
      [0.9953, 1.9989249911748999],
      [0.996, 2.0351676830660828],
      [0.999, 2.3267537655135246],
      [0.99999, 3.123413274341571],
      [0.999999999, 4.320005388105362],
      [0.9999999999999999, 5.8635847487551676],
      [-0.4, -0.37080715859355795],
      [-0.997, -2.0985076117936705],
      [0, 0],
      [-0, -0],
      [1, Infinity],
      [-1, -Infinity],
      [1.5, NaN],
      [-2, NaN],
      [NaN, NaN],
      [Infinity, NaN],
    ],
  },
  ndtri: {
    of: e.ndtri,
    bound: 2.2,
    values: [
      [0.5, 0.0],
      [0.6, 0.2533471031357997],
      [0.4, -0.2533471031357997],
      [0.25, -0.6744897501960817],
      [0.975, 1.9599639845400538],
      [0.9975, 2.807033768343811],
      [0.998, 2.878161739095483],
      [0.0022, -2.847963287487918],
      [0.0023, -2.833786870043548],
      [0.001, -3.0902323061678136],
      [1e-6, -4.753424308822899],
      [1e-10, -6.361340902404057],
      [1e-16, -8.222082216130435],
      [1e-17, -8.493793224109599],
      [1e-40, -13.31092137142517],
      [1e-100, -21.273453560965326],
      [1e-300, -37.0470962993612],
      [0, -Infinity],
      [1, Infinity],
      [1.5, NaN],
      [-0.5, NaN],
      [NaN, NaN],
    ],
  },
} as const;

const smallest = 2 ** -1022;

/** How far two numbers are from each other in units of the last place of the second. */
function errorOf(got: number, want: number): number {
  if (Object.is(got, want)) return 0;
  if (Number.isNaN(got)) return Number.POSITIVE_INFINITY;
  // Numbers below the normal range count as zero; the last normal number before it may become one.
  if (Math.abs(want) < 2 * smallest && Math.abs(got) <= 2 * smallest) return 0;
  if (!Number.isFinite(want))
    return Math.abs(got) >= Number.MAX_VALUE && got > 0 === want > 0 ? 1 : Number.POSITIVE_INFINITY;
  if (got === 0 && want === 0) return Number.POSITIVE_INFINITY; // of different signs
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, want);
  const exponent = ((bits.getUint16(0) >> 4) & 2047) - 1023;
  return (Math.abs(got - want) / 2 ** Math.max(exponent - 26, -1000)) * 2 ** 26;
}

/** Numbers of all sizes and both signs, more of them where functions are neither constant nor infinite, and some special ones. */
function samples(): Float64Array<ArrayBuffer> {
  const numbers: number[] = [
    0,
    1,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    Number.MAX_VALUE,
    0.5,
    Math.SQRT1_2,
    709.78,
    709.79,
    708.39,
    708.4,
    5e-324,
  ];
  for (let i = 0; i < 4000; i++) {
    const fraction = (i * 0.6180339887498949) % 1;
    numbers.push((1 + fraction) * 2 ** (i % 2 ? (i % 80) - 64 : (i % 2044) - 1021));
    numbers.push(fraction, 8 * fraction, 40 * fraction, 720 * fraction, 1 + (fraction - 0.5) / 2 ** (i % 40));
  }
  return Float64Array.from(numbers.flatMap((x) => [x, -x]));
}

async function run(x: Float64Array<ArrayBuffer>, of: (x: e.Expr) => e.Expr): Promise<readonly number[]> {
  const b = new SegmentBuilder();
  const shape = [x.length];
  const [from, to] = [b.bind(new NDArray(d.float64, shape, x)), b.output(d.float64, shape)];
  b.add({ kind: 'map', shape, inputs: [from], outputs: [to], results: [of(e.input(0, d.float64))] });
  return (await (await b.run(cpu!))(to)).numbers();
}

async function runPairs(
  pairs: readonly (readonly [number, number])[],
  of: (first: e.Expr, second: e.Expr) => e.Expr,
): Promise<readonly number[]> {
  const b = new SegmentBuilder();
  const shape = [pairs.length];
  const sideOf = (side: 0 | 1) => Float64Array.from(pairs, (pair) => pair[side]);
  const inputs = ([0, 1] as const).map((side) => b.bind(new NDArray(d.float64, shape, sideOf(side))));
  const to = b.output(d.float64, shape);
  const results = [of(e.input(0, d.float64), e.input(1, d.float64))];
  b.add({ kind: 'map', shape, inputs, outputs: [to], results });
  return (await (await b.run(cpu!))(to)).numbers();
}

/** Powers: JavaScript's own are hundreds of units of the last place away. */
const powers = [
  [0.9999997810653424, -3176167707.8779097, 9.925952724729534e301],
  [1.0000000001, 7000000000000.0, 1.014290763491529e304],
  [1.1, 0.3, 1.029005759421095],
  [0.3, -1.7, 7.742725577066099],
  [Math.SQRT2, 2047.3, 1.410441446511307e308],
  [Math.SQRT2, -2043.9, 2.303540918668503e-308],
  [Math.SQRT1_2, -2047.9, 1.7364571072221144e308],
  [0.7071067811865475, 2043.7, 2.4688740264953123e-308],
  [1.5, 1234.5, 2.4247072120981864e217],
  [0.75, -2400.25, 7.659537452724955e299],
  [1e300, 1.02, 1.0000000000000123e306],
  [1e-300, -1.01, 1.0000000000000061e303],
  [1e-300, 1.02, 9.999999999999877e-307],
  [123.456, 78.9, 1.0478827916671325e165],
  [0.0625, -255.9, 1.3623966330064332e308],
  [3, 0.3333333333333333, 1.4422495703074083],
  [10, -307.5, 3.162277660168379e-308],
  [10, 308.2, 1.584893192461072e308],
  [2, -1021.9999999, 2.225074012737521e-308],
  [2, 1023.9999999, 1.7976930102557702e308],
  [0.9999999999999999, 1000000000000000.0, 0.8949187898136988],
  [1.0000000000000002, -3e18, 5.032224803488667e-290],
] as const;

/** Where pieces of many numbers start, and how long they are. */
const lengths = [
  [3, 1],
  [5, 2],
  [7, 7],
  [1, 9],
  [11, 31],
  [2, 33],
  [9, 70],
] as const;

describe.runIf(cpu)('float64 functions of the cpu device', () => {
  const x = samples();
  for (const [name, [of, reference, bound, tolerance]] of Object.entries(functions)) {
    it(`${name} is within ${bound} units of the last place`, async () => {
      const got = await run(x, of);
      let [error, at] = [0, 0];
      for (let i = 0; i < x.length; i++) {
        const own = errorOf(got[i]!, reference(Math.abs(x[i]!) < smallest ? 0 * x[i]! : x[i]!));
        if (own > error) [error, at] = [own, i];
      }
      expect(error, `${name}(${x[at]}) is ${got[at]}, not ${reference(x[at]!)}`).toBeLessThanOrEqual(bound + tolerance);
    });

    it(`${name} gives the same bits wherever a number stands, and inside an expression`, async () => {
      const whole = await run(x.slice(0, 200), of);
      for (const [start, length] of lengths) {
        const part = await run(x.slice(start, start + length), of);
        expect(part.findIndex((y, i) => !Object.is(y, whole[start + i]!))).toBe(-1);
      }
      const fused = await run(x.slice(0, 200), (v) => e.neg(of(e.neg(e.neg(v)))));
      expect(fused.findIndex((y, i) => !Object.is(-y, whole[i]!))).toBe(-1);
    });
  }

  for (const [name, { of, bound, values }] of Object.entries(tables))
    it(`${name} is within ${bound} units of the last place`, async () => {
      const got = await run(
        Float64Array.from(values, ([at]) => at),
        of,
      );
      for (const [i, [at, want]] of values.entries())
        expect(errorOf(got[i]!, want), `${name}(${at}) is ${got[i]}`).toBeLessThanOrEqual(bound + 0.5);
    });

  it('leave numbers below the normal range alone, or take them for zero, as the vectors of TensorFlow do', async () => {
    const tiny = Float64Array.from({ length: 70 }, (_, i) => (i + 1) * (i % 2 ? 5e-324 : -5e-324));
    for (const of of [e.sin, e.tan, e.asin, e.sinh, e.asinh]) expect(await run(tiny, of)).toEqual([...tiny]);
    for (const of of [e.atan, e.atanh, e.log1p, e.tanh, e.erf])
      expect(await run(tiny, of)).toEqual(Array.from(tiny, (x) => x * 0));
  });

  it('atan2 is within 2 units of the last place in all directions', async () => {
    const values = [0, -0, 1, -1, 2.5, -0.3, 1e-300, -1e300, 1.7e308, 2 ** -1022, 1e150, Infinity, -Infinity, NaN];
    const pairs = values.flatMap((y) => values.map((x) => [y, x] as const));
    for (let i = 0; i < 3000; i++) pairs.push([Math.cos(i) * 2 ** (i % 9), Math.sin(i * 0.7)]);
    const got = await runPairs(pairs, e.atan2);
    for (const [i, [y, x]] of pairs.entries())
      expect(errorOf(got[i]!, Math.atan2(y, x)), `atan2(${y}, ${x}) is ${got[i]}`).toBeLessThanOrEqual(2 + 1);
  });

  /** Numbers of all signs and sizes to the power of such, those included that have rules of their own. */
  const special = [0, 1, 2, 3, 0.5, 1e-300, 1e300, smallest, 5e-324, Number.MAX_VALUE, Infinity].flatMap((x) => [
    x,
    -x,
  ]);
  const wholes = [2 ** 51, 2 ** 51 + 1, -(2 ** 52) - 1, 2 ** 53, 1023, -1021, 1 - 2 ** -53, NaN];
  const specialPairs = [...special, NaN].flatMap((x) => [...special, ...wholes].map((y) => [x, y] as const));

  it('pow has the signs, zeros and infinities of C', async () => {
    const got = await runPairs(specialPairs, e.pow);
    const normal = (x: number) => (Math.abs(x) < smallest ? 0 * x : x);
    for (const [i, [x, y]] of specialPairs.entries()) {
      // JavaScript has NaN where C has 1; otherwise it is near.
      const want = x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : normal(x) ** normal(y);
      expect(errorOf(got[i]!, want), `${x} ** ${y} is ${got[i]}`).toBeLessThanOrEqual(400);
    }
  });

  it('pow is within 1 unit of the last place, and exact where that is a number', async () => {
    const wanted: (readonly [number, number, number])[] = [...powers];
    for (let i = 0; i < 4000; i++) {
      const [x, y] = [((i * 7919) % 1025) * (i % 2 ? 1 : -1), i % 102];
      wanted.push([x, y, Number(BigInt(x) ** BigInt(y))]);
    }
    const got = await runPairs(
      wanted.map(([x, y]) => [x, y]),
      e.pow,
    );
    for (const [i, [x, y, want]] of wanted.entries())
      expect(errorOf(got[i]!, want), `${x} ** ${y} is ${got[i]}`).toBeLessThanOrEqual(
        Number.isSafeInteger(want) ? 0 : 1.5,
      );
  });

  it('pow gives the same bits wherever a number stands', async () => {
    const pairs = specialPairs.slice(60, 400);
    const whole = await runPairs(pairs, e.pow);
    for (const [start, length] of lengths) {
      const part = await runPairs(pairs.slice(start, start + length), e.pow);
      expect(part.findIndex((y, i) => !Object.is(y, whole[start + i]!))).toBe(-1);
    }
  });

  it('pow gives the same bits beside numbers that are computed one at a time', async () => {
    const usual = Array.from({ length: 2000 }, (_, i) => [0.01 + i * 0.0137, Math.sin(i) * 30] as const);
    const alone = await runPairs(usual, e.pow);
    const beside = await runPairs(
      usual.flatMap((pair) => [pair, [Number.NaN, 2] as const]),
      e.pow,
    );
    expect(alone.findIndex((y, i) => !Object.is(y, beside[2 * i]!))).toBe(-1);
  });

  it('keep what native/README.md promises', () => {
    const readme = readFileSync(new URL('../../native/README.md', import.meta.url), 'utf8');
    const promises = [
      ...Object.entries(functions).map(([name, [, , bound]]) => [name, bound] as const),
      ['erf', 1.2],
      ['erfc', 1.8],
      ['erfinv', 2.5],
      ['ndtri', 2.2],
      ['atan2', 2],
      ['pow', 1],
    ];

    for (const [name, bound] of promises)
      expect(readme).toMatch(new RegExp(`^\\| \`${name}\` \\| [0-9.]* ?\\| ${bound} \\|`, 'm'));
  });
});
