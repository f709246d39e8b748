/** @file Linear algebra: the native library beside the event loop, and the same in TypeScript where there is none. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { fromElements } from '../../src/core/ndarray.ts';
import { nativeFunctions } from '../../src/io/native.ts';
import { Eig } from '../../src/ops/math/eig.ts';
import { MatrixSolveLs } from '../../src/ops/math/leastSquares.ts';
import { nothingCalled, type WatchedLibrary } from './watchedLibrary.ts';

const library = vi.hoisted((): WatchedLibrary => ({ isOff: false, later: [], now: [], given: {} }));
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

/** What a graph makes of some arrays in a session of this kind. */
async function runWith(
  config: tf.SessionConfig,
  build: Build,
  ...inputs: readonly tf.NDArray[]
): Promise<tf.NDArray[]> {
  const graph = new tf.Graph();
  const [places, results] = graph.asDefault(() => {
    const given = inputs.map(({ dtype, shape }) => tf.placeholder(dtype, shape));
    return [given, build(...given)] as const;
  });
  using session = new tf.Session({ graph, config });
  const feeds = places.map((place, i) => [place, inputs[i]!] as const);
  return (await session.run([...results], feeds)) as tf.NDArray[]; // one array for each tensor
}

const run = (build: Build, ...inputs: readonly tf.NDArray[]) => runWith({}, build, ...inputs);

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

  it('takes complex numbers whose squares are infinite or zero', async () => {
    const a = matrices(tf.complex128, [6, 6], { diagonal: 1 });
    const invert: Build = (x) => [tf.matrixInverse(x!)];
    const [want] = (await run(invert, a)) as [tf.NDArray]; // one is fetched
    for (const scale of [2 ** 800, 2 ** -800])
      for (const runner of [run, runPlain]) {
        const scaled = new tf.NDArray(
          tf.complex128,
          a.shape,
          Float64Array.from(a.data as Float64Array, (x) => x * scale),
        ); // of this type
        const [got] = (await runner(invert, scaled)) as [tf.NDArray]; // as above
        const apart = got.data.findIndex((x, i) => !(Math.abs(Number(x) * scale - Number(want.data[i])) < 1e-12));
        expect(apart, `times ${scale}`).toBe(-1);
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

/** Matrices whose spectra are awkward. */
const awkward: Record<string, (dtype: tf.DType) => tf.NDArray> = {
  zeros: (dtype) => scaled(matrices(dtype, [6, 6]), 0),
  ones: (dtype) => identity(dtype, 40),
  'equal rows': (dtype) => rankOf(dtype, 45, 1),
  'a third of its rank': (dtype) => rankOf(dtype, 60, 20),
  'a zero column': (dtype) => {
    const input = matrices(dtype, [40, 40]);
    for (let i = 0; i < 40; i++)
      for (let k = 0; k < dtype.entries; k++) input.data[(i * 40 + 17) * dtype.entries + k] = 0;
    return input;
  },
  'large numbers': (dtype) => scaled(matrices(dtype, [35, 35]), 1e200),
  'small numbers': (dtype) => scaled(matrices(dtype, [35, 35]), 1e-200),
  'a triangle': (dtype) => {
    const input = matrices(dtype, [37, 37]);
    for (let i = 0; i < 37; i++)
      for (let j = 0; j < i; j++)
        for (let k = 0; k < dtype.entries; k++) input.data[(i * 37 + j) * dtype.entries + k] = 0;
    return input;
  },
};

function scaled(array: tf.NDArray, factor: number): tf.NDArray {
  const data = Float64Array.from(partsOf(array), (x) => x * factor);
  return new tf.NDArray(array.dtype, array.shape, data);
}

/** A square matrix of lesser rank: its rows are those of a smaller one, over and over. */
function rankOf(dtype: tf.DType, n: number, rank: number): tf.NDArray {
  const rows = partsOf(matrices(dtype, [rank, n], { seed: rank }));
  const perRow = n * dtype.entries;
  const data = Float64Array.from({ length: n * perRow }, (_, i) => rows[i % (rank * perRow)]!);
  return new tf.NDArray(dtype, [n, n], data);
}

const exactTypes = [tf.float64, tf.complex128] as const;
const shapes = [
  [1, 1],
  [2, 2],
  [5, 3],
  [3, 5],
  [33, 33],
  [70, 64],
  [64, 70],
  [150, 40],
  [40, 150],
] as const;

/** Columns are at right angles to each other and of length 1. */
const gramian = (a: tf.Tensor) => tf.matmul(a, a, { adjointA: true });
const diagonalTimes = (a: tf.Tensor, values: tf.Tensor) => tf.multiply(a, tf.cast(tf.expandDims(values, -2), a.dtype));

async function expectIdentity(array: tf.NDArray): Promise<void> {
  expect(apart(array, identity(array.dtype, array.shape.at(-1)!))).toBeLessThan(1e-12);
}

/** Both versions multiply back to the input, with the same values. */
async function checkSvd(input: tf.NDArray, fullMatrices: boolean): Promise<void> {
  const build: Build = (a) => {
    const { s, u, v } = tf.svd(a!, { fullMatrices });
    const inner = Math.min(...(input.shape.slice(-2) as [number, number])); // callers give matrices
    const [left, right] = [u, v].map((x) => tf.slice(x, [0, 0], [-1, inner])) as [tf.Tensor, tf.Tensor];
    const values = tf.svd(a!, { computeUv: false }).s;
    return [s, values, gramian(u), gramian(v), tf.matmul(diagonalTimes(left, s), right, { adjointB: true })];
  };
  const found = await run(build, input);
  const [expected] = await runPlain((a) => [tf.svd(a!, { computeUv: false }).s], input);
  const [s, values, uu, vv, rebuilt] = found as [tf.NDArray, tf.NDArray, tf.NDArray, tf.NDArray, tf.NDArray];
  for (const given of [s, values]) expect(apart(given, expected!)).toBeLessThan(1e-12);
  for (const given of [uu, vv]) await expectIdentity(given);
  expect(apart(rebuilt, input)).toBeLessThan(1e-12);
}

/** The same for Hermitian matrices. */
async function checkEigen(input: tf.NDArray): Promise<void> {
  const n = input.shape.at(-1)!;
  const [e, values, vv, rebuilt, hermitian] = (await run((a) => {
    const { e, v } = tf.selfAdjointEig(a!);
    // Only the lower half is read.
    const lower = tf.linalg.bandPart(a!, -1, 0);
    const below = tf.subtract(lower, tf.matrixDiag(tf.matrixDiagPart(lower)));
    const diagonal = tf.matrixDiag(tf.cast(tf.real(tf.matrixDiagPart(a!)), a!.dtype));
    const whole = tf.add(tf.add(below, tf.linalg.adjoint(below)), diagonal);
    return [
      ...[tf.real(e), tf.real(tf.selfAdjointEigvals(a!)), gramian(v)],
      ...[tf.matmul(diagonalTimes(v, tf.real(e)), v, { adjointB: true }), whole],
    ];
  }, input)) as [tf.NDArray, tf.NDArray, tf.NDArray, tf.NDArray, tf.NDArray];
  const [expected] = await runPlain((a) => [tf.real(tf.selfAdjointEigvals(a!))], input);
  for (const given of [e, values]) expect(apart(given, expected!)).toBeLessThan(1e-12);
  expect([...e.numbers()].sort((x, y) => x - y)).toEqual(e.numbers());
  expect(e.shape).toEqual([n]);
  await expectIdentity(vv);
  expect(apart(rebuilt, hermitian)).toBeLessThan(1e-12);
}

describeNative('spectra', () => {
  for (const dtype of exactTypes)
    describe(dtype.name, () => {
      it.each(shapes)('singular values of %i × %i', async (m, n) => {
        for (const fullMatrices of [false, true]) await checkSvd(matrices(dtype, [m, n], { seed: m }), fullMatrices);
      });
      it.each(Object.keys(awkward))('singular values of %s', async (name) => {
        await checkSvd(awkward[name]!(dtype), false);
      });
      it.each([1, 2, 3, 20, 33, 70, 101])('eigenvalues of %i rows', async (n) => {
        await checkEigen(matrices(dtype, [n, n], { seed: n }));
      });
      it.each(Object.keys(awkward))('eigenvalues of %s', async (name) => {
        await checkEigen(awkward[name]!(dtype));
      });
      it.each(shapes)('orthogonal factors of %i × %i', async (m, n) => {
        for (const fullMatrices of [false, true])
          await expectAgreement(
            (a) => {
              const { q, r } = tf.linalg.qr(a!, { fullMatrices });
              return [q, r, gramian(q)];
            },
            matrices(dtype, [m, n], { seed: m }),
          );
      });
    });

  it('agrees with TypeScript for the other types, in batches', async () => {
    for (const dtype of types) {
      const input = matrices(dtype, [7, 5, 4]);
      const square = matrices(dtype, [7, 5, 5]);
      await expectAgreement((a) => [tf.svd(a!, { computeUv: false }).s], input);
      await expectAgreement((a) => [tf.selfAdjointEigvals(a!)], square);
      await expectAgreement((a) => Object.values(tf.linalg.qr(a!)), input);
    }
  });

  it('ends with NaN for numbers that are not finite', async () => {
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY])
      for (const n of [3, 60]) {
        const input = matrices(tf.float64, [n, n]);
        input.data[n + 1] = odd;
        const results = await run((a) => Object.values(tf.svd(a!)), input);
        for (const array of results) expect(array.numbers().some((x) => !Number.isNaN(x))).toBe(false);
      }
  });

  it.each([
    ['the library', run],
    ['TypeScript', runPlain],
  ])('refuses eigenvalues of matrices that are not finite, where more than one number is one: %s', async (_, how) => {
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
      for (const dtype of [tf.float32, tf.complex128]) {
        const of = (n: number, at: number) => {
          const input = matrices(dtype, [2, n, n]);
          input.data[at * dtype.entries] = odd;
          return input;
        };
        for (const build of [
          (a: tf.Tensor) => [tf.selfAdjointEigvals(a)],
          (a: tf.Tensor) => Object.values(tf.selfAdjointEig(a)),
        ])
          for (const n of [2, 3, 60])
            await expect(how((a) => build(a!), of(n, n * n + n))).rejects.toThrow(
              /^Self-adjoint eigen decomposition was not successful. The input might not be valid./,
            );
        const [e, v] = await how((a) => Object.values(tf.selfAdjointEig(a!)), of(1, 1));
        expect(e!.data[dtype.entries]).toBe(odd);
        expect([v!.data[0], v!.data[dtype.entries]]).toEqual([1, 1]);
        // Only the lower half is read.
        await how((a) => [tf.selfAdjointEigvals(a!)], of(3, 1));
      }
  });

  it('keeps the shapes of what is empty', async () => {
    const sizes = (array: tf.NDArray) => array.shape;
    const input = matrices(tf.float32, [2, 0, 3]);
    const results = await run((a) => [...Object.values(tf.svd(a!)), ...Object.values(tf.linalg.qr(a!))], input);
    expect(results.map(sizes)).toEqual([
      [2, 0],
      [2, 0, 0],
      [2, 3, 0],
      [2, 0, 0],
      [2, 0, 3],
    ]);
  });
});

/** Ops that have no function in 1.x. */
const typeOfValues = ({ dtype }: tf.Tensor) =>
  dtype.size === 4 || dtype === tf.complex64 ? tf.complex64 : tf.complex128;
const eig = (input: tf.Tensor) => Eig.build({ input }, { attrs: { Tout: typeOfValues(input) } });
const eigvals = (input: tf.Tensor) =>
  Eig.build({ input }, { attrs: { Tout: typeOfValues(input), compute_v: false } }).e;
const solveLs = (matrix: tf.Tensor, rhs: tf.Tensor, { l2Regularizer = 0, fast = true } = {}) =>
  MatrixSolveLs.build({ matrix, rhs, l2_regularizer: tf.constant(l2Regularizer, tf.float64) }, { attrs: { fast } })
    .output;

describeNative('functions of square matrices', () => {
  for (const dtype of exactTypes)
    describe(dtype.name, () => {
      const complex = (x: tf.Tensor) => tf.cast(x, tf.complex128);
      const checkEig = async (input: tf.NDArray, tolerance: number) => {
        const build: Build = (a) => {
          const { e, v } = eig(a!);
          const difference = tf.subtract(tf.matmul(complex(a!), v), tf.multiply(v, tf.expandDims(e, -2)));
          const lengths = tf.reduceSum(tf.square(tf.abs(v)), -2);
          return [tf.abs(difference), lengths, tf.abs(e), tf.abs(eigvals(a!))];
        };
        const [difference, lengths, sizes, alone] = (await run(build, input)).map((array) => array.numbers());
        const largest = Math.max(...sizes!, 1e-300);
        expect(Math.max(...difference!) / largest).toBeLessThan(tolerance);
        for (const length of lengths!) expect(length).toBeCloseTo(1, 10);
        expect([...sizes!].sort((x, y) => x - y)).toEqual(sizes);
        expect(alone).toEqual(sizes);
      };
      it.each([1, 2, 3, 9, 33, 90])('eigenvalues of %i rows', async (n) => {
        const input = matrices(dtype, [n, n], { seed: n });
        await checkEig(input, 1e-10);
        // Their sizes are the same in both versions, though pairs of equal size may come in either order.
        if (n <= 33) await expectAgreement((a) => [tf.abs(eigvals(a!))], input);
      });
      it.each(Object.keys(awkward))('eigenvalues of %s', async (name) => {
        await checkEig(awkward[name]!(dtype), 1e-9);
      });

      it('a matrix with one vector only', async () => {
        const input = scaled(matrices(dtype, [80, 80]), 0);
        for (let i = 0; i < 80; i++) input.data[(81 * i + (i < 79 ? 1 : 0)) * dtype.entries] = 1;
        const [e, v] = await run((a) => Object.values(eig(a!)), input);
        expect([...partsOf(e!), ...partsOf(v!)].every(Number.isFinite)).toBe(true);
      });

      it.each([1, 2, 5, 34, 70])('roots and logarithms of %i rows', async (n) => {
        const input = matrices(dtype, [2, n, n], { diagonal: n + 1 });
        const [square, root] = await run((a) => {
          const found = tf.linalg.sqrtm(a!);
          return [tf.matmul(found, found), found];
        }, input);
        expect(apart(square!, input)).toBeLessThan(1e-11);
        if (n > 34) return;
        const [plain] = await runPlain((a) => [tf.linalg.sqrtm(a!)], input);
        expect(apart(root!, plain!)).toBeLessThan(1e-11);
        await expectAgreement((a) => [tf.linalg.logm(complex(a!))], input);
      });

      it.each(shapes)('least squares of %i × %i', async (m, n) => {
        const [a, b] = [matrices(dtype, [2, m, n], { diagonal: 3 }), matrices(dtype, [2, m, 3], { seed: 5 })];
        for (const options of [{}, { l2Regularizer: 0.5 }, { fast: false }])
          await expectAgreement((x, y) => [solveLs(x!, y!, options)], a, b);
      });
    });

  it('leaves out what is zero but for rounding', async () => {
    const a = rankOf(tf.float64, 12, 4);
    const b = matrices(tf.float64, [12, 2]);
    await expectAgreement((x, y) => [solveLs(x!, y!, { fast: false })], a, b);
    await expect(run((x, y) => [solveLs(x!, y!)], scaled(a, 0), b)).rejects.toThrow(
      'Input matrix was rank deficient or ill-conditioned.',
    );
  });

  it('has no real root where that is complex', async () => {
    const [root] = await run((a) => [tf.linalg.sqrtm(a!)], fromElements(tf.float64, [2, 2], [-1, 0, 0, 1]));
    expect(root!.numbers()).toEqual([Number.NaN, Number.NaN, Number.NaN, Number.NaN]);
  });

  it('ends with NaN for numbers that are not finite', async () => {
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY])
      for (const n of [3, 50]) {
        const input = matrices(tf.complex128, [n, n]);
        input.data[n] = odd;
        const results = await run((a) => [...Object.values(eig(a!)), tf.linalg.sqrtm(a!), tf.linalg.logm(a!)], input);
        for (const array of results) expect(array.numbers().some((x) => !Number.isNaN(x))).toBe(false);
      }
  });
});

/** An op for each function of the library. */
const builds: readonly (readonly [name: string, build: Build])[] = [
  ['tl_solve', (a) => [tf.matrixInverse(a!)]],
  ['tl_cholesky', (a) => [tf.cholesky(a!)]],
  ['tl_lu', (a) => [tf.linalg.lu(a!).lu]],
  ['tl_determinant', (a) => [tf.matrixDeterminant(a!)]],
  ['tl_triangular_solve', (a) => [tf.matrixTriangularSolve(a!, a!)]],
  ['tl_qr', (a) => [tf.linalg.qr(a!).r]],
  ['tl_self_adjoint_eig', (a) => [tf.selfAdjointEigvals(a!)]],
  ['tl_svd', (a) => [tf.svd(a!, { computeUv: false }).s]],
  ['tl_eig', (a) => [eigvals(a!)]],
  ['tl_matrix_square_root', (a) => [tf.linalg.sqrtm(a!)]],
  ['tl_matrix_logarithm', (a) => [tf.linalg.logm(tf.cast(a!, tf.complex64))]],
  ['tl_least_squares', (a) => [solveLs(a!, a!, { fast: false })]],
];

describeNative('threads', () => {
  /** How many a function was told to use: it learns it behind the type. */
  async function threadsOf(name: string, build: Build, config: tf.SessionConfig, n: number): Promise<unknown> {
    Object.assign(library, nothingCalled());
    await runWith(config, build, matrices(tf.float32, [n, n], { diagonal: n }));
    return library.given[name]![1];
  }

  it.each(builds)('of %s are as many as the session may use', async (name, build) => {
    expect(await threadsOf(name, build, {}, 7)).toBe(0); // all
    expect(await threadsOf(name, build, { intraOpParallelismThreads: 1 }, 7)).toBe(1);
    expect(await threadsOf(name, build, { intraOpParallelismThreads: 3 }, 150)).toBe(3);
  });

  it.each<[where: string, build: Build]>([
    [
      'a loop',
      (a) => {
        const isBelow = (x: tf.Tensor) => tf.less(tf.reduceMax(x), tf.reduceMax(a!));
        return [tf.whileLoop(isBelow, (x: tf.Tensor) => tf.add(x, tf.cholesky(a!)), [tf.zerosLike(a!)])];
      },
    ],
    [
      'a dataset',
      () => {
        const input = matrices(tf.float32, [4, 4], { diagonal: 4 });
        const dataset = tf.data.Dataset.fromTensors(input).map((x: tf.Tensor) => tf.cholesky(x));
        return [dataset.makeOneShotIterator().getNext() as tf.Tensor];
      },
    ],
  ])('in %s are the same', async (_, build) => {
    expect(await threadsOf('tl_cholesky', build, {}, 5)).toBe(0);
    expect(await threadsOf('tl_cholesky', build, { intraOpParallelismThreads: 2 }, 5)).toBe(2);
  });
});

describeNative('the event loop', () => {
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
