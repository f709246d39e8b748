/** @file Linear algebra: the native library beside the event loop, and the same in TypeScript where there is none. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { fromElements } from '../../src/core/ndarray.ts';
import { nativeFunctions } from '../../src/io/native.ts';
import { nothingCalled, type WatchedLibrary } from './watchedLibrary.ts';

const library = vi.hoisted((): WatchedLibrary => ({ isOff: false, later: [], now: [] }));
vi.mock('../../src/io/native.ts', async (importOriginal) =>
  (await import('./watchedLibrary.ts')).watching(
    await importOriginal<typeof import('../../src/io/native.ts')>(),
    library,
  ),
);

const describeNative = nativeFunctions() ? describe : describe.skip;

beforeEach(() => {
  Object.assign(library, nothingCalled());
});

const types = [tf.float16, tf.float32, tf.float64, tf.complex64, tf.complex128] as const;
/** How far results may be apart that are computed in double precision and then rounded. */
const tolerances: Record<string, number> = { float16: 2e-3, float32: 1e-6, complex64: 1e-6 };
const toleranceOf = ({ name }: tf.DType) => tolerances[name] ?? 1e-9;

/** The same numbers between -1 and 1 each time, with some number added along the diagonal of each matrix. */
function matrices(dtype: tf.DType, shape: readonly number[], { seed = 1, diagonal = 0 } = {}): tf.NDArray {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 23 - 1;
  };
  const [rows, columns] = shape.slice(-2) as [number, number];
  const size = shape.reduce((a, b) => a * b, 1);
  const elements = Array.from({ length: size }, (_, i) => {
    const at = i % (rows * columns);
    const re = next() + (Math.floor(at / columns) === at % columns ? diagonal : 0);
    return dtype.isComplex ? { re, im: next() } : re;
  });
  return fromElements(dtype, shape, elements);
}

type Build = (...inputs: tf.Tensor[]) => readonly tf.Tensor[];

/** What a graph makes of some arrays. */
async function run(build: Build, ...inputs: readonly tf.NDArray[]): Promise<tf.NDArray[]> {
  const graph = new tf.Graph();
  const [places, results] = graph.asDefault(() => {
    const given = inputs.map(({ dtype, shape }) => tf.placeholder(dtype, shape));
    return [given, build(...given)] as const;
  });
  using session = new tf.Session({ graph });
  const feeds = places.map((place, i) => [place, inputs[i]!] as const);
  return (await session.run([...results], feeds)) as tf.NDArray[]; // one array for each tensor
}

/** The same in TypeScript. */
async function runPlain(build: Build, ...inputs: readonly tf.NDArray[]): Promise<tf.NDArray[]> {
  library.isOff = true;
  try {
    return await run(build, ...inputs);
  } finally {
    library.isOff = false;
  }
}

/** The largest difference of two arrays, seen from their largest number; infinite where only one is NaN. */
function apart(x: tf.NDArray, y: tf.NDArray): number {
  expect([x.dtype, x.shape]).toEqual([y.dtype, y.shape]);
  const [a, b] = [x, y].map((array) => partsOf(array)) as [number[], number[]];
  const largest = b.reduce((most, v) => Math.max(most, Math.abs(v) || 0), 1e-300);
  return a.reduce((most, v, i) => {
    if (Object.is(v, b[i]) || v === b[i]) return most;
    return Math.max(most, Math.abs(v - b[i]!) / largest || Number.POSITIVE_INFINITY);
  }, 0);
}

/** Real numbers as they are, complex ones as pairs. */
function partsOf(array: tf.NDArray): number[] {
  if (!array.dtype.isComplex) return array.numbers();
  return Array.from(array.data as Float64Array); // complex numbers are pairs of plain ones
}

async function expectAgreement(build: Build, ...inputs: readonly tf.NDArray[]): Promise<void> {
  const [found, expected] = [await run(build, ...inputs), await runPlain(build, ...inputs)];
  for (const [i, array] of found.entries())
    expect(apart(array, expected[i]!)).toBeLessThan(toleranceOf(inputs[0]!.dtype));
}

/** Sizes around those at which the library begins to work by halves. */
const sizes = [1, 2, 3, 16, 17, 33, 70];

describeNative('equations', () => {
  const builds: Record<string, Build> = {
    inverse: (a) => [tf.matrixInverse(a!)],
    'adjoint inverse': (a) => [tf.matrixInverse(a!, { adjoint: true })],
    determinant: (a) => [tf.matrixDeterminant(a!)],
    'logarithm of the determinant': (a) => Object.values(tf.linalg.slogdet(a!)),
    factors: (a) => Object.values(tf.linalg.lu(a!)),
    'factors with long indices': (a) => Object.values(tf.linalg.lu(a!, { outputIdxType: tf.int64 })),
  };
  for (const dtype of types)
    describe(dtype.name, () => {
      it.each(Object.keys(builds))('%s', async (name) => {
        // A float16 determinant of many rows is infinite.
        for (const n of sizes)
          if (dtype !== tf.float16 || n <= 3)
            await expectAgreement(builds[name]!, matrices(dtype, [2, n, n], { seed: n }));
      });

      it.each([false, true])('solutions, adjoint: %s', async (adjoint) => {
        const build: Build = (a, b) => [tf.matrixSolve(a!, b!, { adjoint })];
        for (const n of sizes)
          await expectAgreement(
            build,
            matrices(dtype, [2, n, n], { diagonal: 3 }),
            matrices(dtype, [2, n, 5], { seed: 2 }),
          );
      });

      it.each([
        [true, true],
        [true, false],
        [false, true],
        [false, false],
      ])('triangular solutions, lower: %s, adjoint: %s', async (lower, adjoint) => {
        const build: Build = (a, b) => [tf.matrixTriangularSolve(a!, b!, { lower, adjoint })];
        for (const n of sizes)
          await expectAgreement(
            build,
            matrices(dtype, [3, 1, n, n], { diagonal: 0.7 * n + 3 }),
            matrices(dtype, [2, n, 4], { seed: 2 }),
          );
      });

      it('Cholesky factors', async () => {
        for (const n of [...sizes, 200])
          await expectAgreement((a) => [tf.cholesky(a!)], matrices(dtype, [n, n], { diagonal: n }));
      });
    });

  it('multiplies factors back to a large matrix', async () => {
    for (const dtype of [tf.float64, tf.complex128]) {
      const input = matrices(dtype, [300, 300]);
      const [rebuilt, unit] = await run((a) => {
        const { lu, p } = tf.linalg.lu(a!);
        return [tf.linalg.luReconstruct(lu, p), tf.matmul(tf.matrixInverse(a!), a!)];
      }, input);
      expect(apart(rebuilt!, input)).toBeLessThan(1e-12);
      expect(apart(unit!, identity(dtype, 300))).toBeLessThan(1e-9);
    }
  });

  it('says which matrices are singular', async () => {
    const singular = fromElements(tf.float64, [2, 2, 2], [1, 2, 3, 4, 1, 2, 2, 4]);
    await expect(run((a) => [tf.matrixInverse(a!)], singular)).rejects.toThrow('Input is not invertible.');
    await expect(run((a) => [tf.matrixSolve(a!, a!)], singular)).rejects.toThrow('Input matrix is not invertible.');
    await expect(run((a) => Object.values(tf.linalg.lu(a!)), singular)).rejects.toThrow('Input is not invertible.');
    const [determinants, sign, log] = await run(
      (a) => [tf.matrixDeterminant(a!), ...Object.values(tf.linalg.slogdet(a!))],
      singular,
    );
    expect(determinants!.numbers().map((x) => x + 0)).toEqual([-2, 0]);
    expect(sign!.numbers()).toEqual([-1, 0]);
    expect(log!.numbers()[1]).toBe(Number.NEGATIVE_INFINITY);
  });

  it('finds a singular matrix behind the first half of its columns', async () => {
    const input = matrices(tf.float64, [40, 40]);
    for (let i = 0; i < 40; i++) input.data[i * 40 + 30] = 0;
    await expect(run((a) => [tf.matrixInverse(a!)], input)).rejects.toThrow('Input is not invertible.');
  });

  it('has no Cholesky factor where one half is not positive', async () => {
    for (const n of [2, 50]) {
      const input = matrices(tf.complex128, [n, n], { diagonal: n });
      input.data[2 * (n * n - 1)] = -1;
      const [factor] = await run((a) => [tf.abs(tf.cholesky(a!))], input);
      expect(factor!.numbers().every((x, i) => (i % n > Math.floor(i / n) ? x === 0 : Number.isNaN(x)))).toBe(true);
    }
  });

  it('takes matrices that are not finite', async () => {
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const input = matrices(tf.float64, [50, 50], { diagonal: 50 });
      input.data[51 * 20] = odd;
      const results = await run(
        (a) => [tf.matrixInverse(a!), tf.cholesky(a!), tf.matrixDeterminant(a!), tf.linalg.lu(a!).lu],
        input,
      );
      // The inverse of a matrix with an infinite pivot may be finite.
      if (Number.isNaN(odd)) for (const array of results) expect(array.numbers().some(Number.isNaN)).toBe(true);
    }
  });

  it('keeps the shapes of what is empty', async () => {
    for (const shape of [
      [0, 0],
      [0, 3, 3],
      [2, 0, 0],
    ]) {
      const input = matrices(tf.float32, shape);
      const results = await run(
        (a) => [
          tf.matrixInverse(a!),
          tf.cholesky(a!),
          tf.matrixSolve(a!, a!),
          tf.linalg.lu(a!).lu,
          tf.matrixDeterminant(a!),
        ],
        input,
      );
      expect(results.map((array) => array.shape)).toEqual([shape, shape, shape, shape, shape.slice(0, -2)]);
    }
  });
});

describeNative('the event loop', () => {
  const builds: readonly (readonly [name: string, build: Build])[] = [
    ['tl_solve', (a) => [tf.matrixInverse(a!)]],
    ['tl_cholesky', (a) => [tf.cholesky(a!)]],
    ['tl_lu', (a) => [tf.linalg.lu(a!).lu]],
    ['tl_determinant', (a) => [tf.matrixDeterminant(a!)]],
    ['tl_triangular_solve', (a) => [tf.matrixTriangularSolve(a!, a!)]],
  ];
  it.each(builds)('is free while %s has much to do', async (name, build) => {
    const order: string[] = [];
    const graph = new tf.Graph();
    const [place, results] = graph.asDefault(() => {
      const x = tf.placeholder(tf.float32, [null, null]);
      return [x, build(x)] as const;
    });
    using session = new tf.Session({ graph });
    const feed = (n: number) => [[place, matrices(tf.float32, [n, n], { diagonal: n })]] as const;
    await session.run([...results], feed(300)); // from here on nothing is traced
    Object.assign(library, nothingCalled());
    const running = session.run([...results], feed(300)).then(() => order.push('result'));
    setImmediate(() => order.push('event loop'));
    await running;
    expect(order).toEqual(['event loop', 'result']);
    expect(library.later).toContain(name);
    expect(library.now).not.toContain(name);
  });

  it.each(builds)('is not left for a few numbers by %s', async (name, build) => {
    await run(build, matrices(tf.float32, [3, 3], { diagonal: 3 }));
    expect(library.now).toContain(name);
    expect(library.later).not.toContain(name);
  });
});

function identity(dtype: tf.DType, n: number): tf.NDArray {
  const zero = dtype.isComplex ? { re: 0, im: 0 } : 0;
  const one = dtype.isComplex ? { re: 1, im: 0 } : 1;
  return fromElements(
    dtype,
    [n, n],
    Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? one : zero)),
  );
}
