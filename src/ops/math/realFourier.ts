/** @file RFFT and IRFFT with their two- and three-dimensional forms: between real signals and half of their spectra. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showShape, sizeOf } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, gradientPending, type Op } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { atLeast, checkRank, complexTypes } from './fft.ts';
import { fourier, linesAtOnce } from './hostFourier.ts';
import { irfftGradient, rfftGradient } from './realFourierGradients.ts';

type Rank = 1 | 2 | 3;
const realTypes = attr('type', { allowed: [d.float32, d.float64], default: d.float32 });
type Attrs = { readonly Treal: AttrSpec<'type'>; readonly Tcomplex: AttrSpec<'type'> };
type Ports<Type extends string> = { readonly input: Type; readonly fft_length: 'int32' };
export type RealFourierOp = Op<Ports<'Treal'>, { readonly output: 'Tcomplex' }, Attrs>;
export type InverseRealFourierOp = Op<Ports<'Tcomplex'>, { readonly output: 'Treal' }, Attrs>;

/** How many numbers of a spectrum of that length are kept: the others mirror these. */
const halfOf = (length: number) => (length === 0 ? 0 : Math.floor(length / 2) + 1);

function lengthDims(input: Dims, rank: Rank, lengths: readonly (number | null)[] | undefined, isHalf: boolean): Dims {
  if (input === null) return null;
  const known = lengths ?? new Array<null>(rank).fill(null);
  if (known.length !== rank)
    throw new InvalidArgumentError(`fft_length is ${showShape([known.length])}, but must be [${rank}].`);
  const last = known.at(-1) ?? null;
  return [
    ...atLeast(rank, input)!.slice(0, -rank),
    ...known.slice(0, -1),
    isHalf && last !== null ? halfOf(last) : last,
  ];
}

/** The lengths of a transform, which no axis of the input may fall short of. */
function demandLengths(p: ProgramBuilder, input: Value, fft_length: Value, rank: Rank, isInverse: boolean): number[] {
  checkRank(rank, input.shape);
  const lengths = p.demandInts(fft_length);
  if (lengths.length !== rank) throw new InvalidArgumentError(`fft_length must have shape [${rank}]`);
  const first = input.shape.length - rank;
  for (const [i, length] of lengths.entries()) {
    if (length < 0) throw new InvalidArgumentError(`fft_length[${i}] must be >= 0, but got: ${length}`);
    const needed = isInverse && i === rank - 1 ? halfOf(length) : length;
    if (input.shape[first + i]! < needed)
      throw new InvalidArgumentError(
        `Input dimension ${first + i} must have length of at least ${needed} but got: ${input.shape[first + i]}`,
      );
  }
  return lengths;
}

/** Copies the first elements along the last axes of `from` to those of `to`; `copy` is told where and how many, line by line. */
async function copyCorner(
  rows: number,
  from: Shape,
  to: Shape,
  copy: (from: number, to: number, count: number) => void,
): Promise<void> {
  const sizes = to.map((n, i) => Math.min(n, from[i]!));
  const width = sizes.pop()!;
  const lines = sizeOf(sizes);
  const line = (i: number) => {
    let [rest, a, b, stepA, stepB] = [i % lines, 0, 0, from.at(-1)!, to.at(-1)!];
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      const at = rest % sizes[axis]!;
      rest = Math.floor(rest / sizes[axis]!);
      a += at * stepA;
      b += at * stepB;
      stepA *= from[axis]!;
      stepB *= to[axis]!;
    }
    const row = Math.floor(i / lines);
    copy(row * stepA + a, row * stepB + b, width);
  };
  await eachInTurns(rows * lines, line, linesAtOnce(width));
}

/** What a transform is to give: its lengths, the type and shape of the result, and how many threads it may use. */
interface Wanted {
  readonly lengths: readonly number[];
  readonly dtype: d.DType;
  readonly shape: Shape;
  readonly threads: number;
}

async function forward(x: NDArray, { lengths, dtype, shape, threads }: Wanted): Promise<NDArray> {
  const rank = lengths.length;
  const rows = sizeOf(shape.slice(0, -rank));
  const data = new Float64Array(2 * rows * sizeOf(lengths));
  const given = x.data as Float32Array | Float64Array; // real signals are floats
  await copyCorner(rows, x.shape.slice(-rank), lengths, (from, to, count) => {
    for (let i = 0; i < count; i++) data[2 * (to + i)] = given[from + i]!;
  });
  for (const axis of lengths.keys()) await fourier(data, [rows, ...lengths], axis + 1, false, threads);
  const result = dtype.allocate(sizeOf(shape)) as Float32Array | Float64Array; // complex arrays are of floats
  await copyCorner(rows, lengths, shape.slice(-rank), (from, to, count) =>
    result.set(data.subarray(2 * from, 2 * (from + count)), 2 * to),
  );
  return new NDArray(dtype, shape, result);
}

async function backward(x: NDArray, { lengths, dtype, shape, threads }: Wanted): Promise<NDArray> {
  const rank = lengths.length;
  const rows = sizeOf(shape.slice(0, -rank));
  const last = lengths.at(-1)!;
  const half = halfOf(last);
  const outer = lengths.slice(0, -1);
  const given = x.data as Float32Array | Float64Array; // complex arrays are of floats
  const spectrum = new Float64Array(2 * rows * sizeOf(outer) * half);
  await copyCorner(rows, x.shape.slice(-rank), [...outer, half], (from, to, count) =>
    spectrum.set(given.subarray(2 * from, 2 * (from + count)), 2 * to),
  );
  for (const axis of outer.keys()) await fourier(spectrum, [rows, ...outer, half], axis + 1, true, threads);
  const lines = rows * sizeOf(outer);
  const data = new Float64Array(2 * lines * last);
  // What is left is one real signal per line, and the other half of its spectrum mirrors the one that is given.
  const mirror = (line: number) => {
    for (let i = 0; i < last; i++) {
      const from = 2 * (line * half + (i < half ? i : last - i));
      data[2 * (line * last + i)] = spectrum[from]!;
      data[2 * (line * last + i) + 1] = (i < half ? 1 : -1) * spectrum[from + 1]!;
    }
  };
  await eachInTurns(lines, mirror, linesAtOnce(last));
  await fourier(data, [lines, last], 1, true, threads);
  const result = dtype.allocate(lines * last);
  const takeReal = (line: number) => {
    for (let i = line * last; i < (line + 1) * last; i++) result[i] = data[2 * i]!;
  };
  await eachInTurns(lines, takeReal, linesAtOnce(last));
  return new NDArray(dtype, shape, result);
}

const noGradient = gradientPending('TensorFlow has none for three dimensions either');
type Cases = readonly Case<'input' | 'fft_length', 'output'>[];

function defineReal(rank: Rank, cases: () => Cases): RealFourierOp {
  return defineOp({
    name: rank === 1 ? 'RFFT' : `RFFT${rank}D`,
    inputs: { input: 'Treal', fft_length: 'int32' },
    outputs: { output: 'Tcomplex' },
    attrs: { Treal: realTypes, Tcomplex: complexTypes },
    hostInputs: ['fft_length'],
    shape: ({ input }, _, context) => ({ output: lengthDims(input, rank, context.partial('fft_length'), true) }),
    grad:
      rank === 3
        ? noGradient
        : ({ inputs }, { output: dy }) => ({
            input: rfftGradient(rank, inputs.input, inputs.fft_length, dy as Tensor),
          }), // dense
    lower(p, { input, fft_length }, { Tcomplex }) {
      const lengths = demandLengths(p, input, fft_length, rank, false);
      const shape = [...input.shape.slice(0, -rank), ...lengths.slice(0, -1), halfOf(lengths.at(-1)!)];
      const [output] = p.host([input], [{ dtype: Tcomplex, shape }], async ([x], _run, { threads }) => [
        await forward(x!, { lengths, dtype: Tcomplex, shape, threads }),
      ]);
      return { output: output! };
    },
    cases,
  });
}

function defineInverse(rank: Rank, cases: () => Cases): InverseRealFourierOp {
  return defineOp({
    name: rank === 1 ? 'IRFFT' : `IRFFT${rank}D`,
    inputs: { input: 'Tcomplex', fft_length: 'int32' },
    outputs: { output: 'Treal' },
    attrs: { Treal: realTypes, Tcomplex: complexTypes },
    hostInputs: ['fft_length'],
    shape: ({ input }, _, context) => ({ output: lengthDims(input, rank, context.partial('fft_length'), false) }),
    grad:
      rank === 3
        ? noGradient
        : ({ inputs }, { output: dy }) => ({
            input: irfftGradient(rank, inputs.input, inputs.fft_length, dy as Tensor),
          }), // dense
    lower(p, { input, fft_length }, { Treal }) {
      const lengths = demandLengths(p, input, fft_length, rank, true);
      const shape = [...input.shape.slice(0, -rank), ...lengths];
      const [output] = p.host([input], [{ dtype: Treal, shape }], async ([x], _run, { threads }) => [
        await backward(x!, { lengths, dtype: Treal, shape, threads }),
      ]);
      return { output: output! };
    },
    cases,
  });
}

const complex = (...pairs: readonly (readonly [number, number])[]) => pairs.map(([re, im]) => ({ re, im }));
const lengths = (...value: number[]) => ({ dtype: 'int32' as const, value });

export const RFFT: RealFourierOp = defineReal(1, () => [
  { shape: '[?, 8], [1] -> [?, 5]', given: { fft_length: lengths(8) } },
  { shape: '[?, 8], [1] -> [?, ?]' },
  { shape: '[], [1]', rejects: /rank 1 or more is needed/ },
  {
    given: { input: [1, 2, 3, 4], fft_length: lengths(4) },
    expect: { output: { dtype: 'complex64', value: complex([10, 0], [-2, 2], [-2, 0]) } },
  },
  {
    given: { input: { dtype: 'float64', value: [[1, 2, 3, 4, 5]] }, fft_length: lengths(3) },
    attrs: { Tcomplex: d.complex128 },
    expect: {
      output: { dtype: 'complex128', value: [complex([6, 0], [-1.5, 0.8660254037844386])] },
    },
    // The gradient is that of a transform as long as the input, as TensorFlow's is.
    differentiable: false,
  },
  {
    given: { input: [1, 2, 3, 4], fft_length: lengths(6) },
    fails: /must have length of at least 6 but got: 4/,
  },
]);

export const RFFT2D: RealFourierOp = defineReal(2, () => [
  { shape: '[?, 2, 8], [2] -> [?, 2, 5]', given: { fft_length: lengths(2, 8) } },
  {
    given: {
      input: [
        [1, 2],
        [3, 5],
      ],
      fft_length: lengths(2, 2),
    },
    expect: { output: { dtype: 'complex64', value: [complex([11, 0], [-3, 0]), complex([-5, 0], [1, 0])] } },
  },
  {
    given: {
      input: {
        dtype: 'float64',
        value: [
          [1, 2, 4],
          [3, 5, 9],
        ],
      },
      fft_length: lengths(2, 3),
    },
    attrs: { Tcomplex: d.complex128 },
    expect: {
      output: {
        dtype: 'complex128',
        value: [complex([24, 0], [-6, 5.196152422706632]), complex([-10, 0], [2, -1.7320508075688772])],
      },
    },
  },
]);

export const RFFT3D: RealFourierOp = defineReal(3, () => [
  { shape: '[2, 2, 8], [3] -> [2, 2, 5]', given: { fft_length: lengths(2, 2, 8) } },
  {
    given: { input: [[[1, 2]], [[3, 5]]], fft_length: lengths(2, 1, 2) },
    expect: { output: { dtype: 'complex64', value: [[complex([11, 0], [-3, 0])], [complex([-5, 0], [1, 0])]] } },
  },
]);

export const IRFFT: InverseRealFourierOp = defineInverse(1, () => [
  { shape: '[?, 5], [1] -> [?, 8]', given: { fft_length: lengths(8) } },
  {
    given: {
      input: { dtype: 'complex64', value: complex([1, 0], [2, 0], [3, 0], [4, 0]) },
      fft_length: lengths(6),
    },
    expect: { output: [2.5, -0.6666667, 0, -0.16666667, 0, -0.6666667] },
  },
  {
    given: {
      input: { dtype: 'complex64', value: complex([1, 0], [2, 0], [3, 0], [4, 0]) },
      fft_length: lengths(5),
    },
    expect: { output: [2.2, -0.52360684, -0.0763932, -0.0763932, -0.52360684] },
    // As above: the gradient belongs to the whole spectrum.
    differentiable: false,
  },
]);

export const IRFFT2D: InverseRealFourierOp = defineInverse(2, () => [
  { shape: '[?, 2, 5], [2] -> [?, 2, 8]', given: { fft_length: lengths(2, 8) } },
  {
    given: {
      input: { dtype: 'complex64', value: [complex([11, 0], [-3, 0]), complex([-5, 0], [1, 0])] },
      fft_length: lengths(2, 2),
    },
    expect: {
      output: [
        [1, 2],
        [3, 5],
      ],
    },
  },
  {
    given: {
      input: {
        dtype: 'complex128',
        value: [complex([24, 0], [-6, 5.196152422706632]), complex([-10, 0], [2, -1.7320508075688772])],
      },
      fft_length: lengths(2, 3),
    },
    attrs: { Treal: d.float64 },
    expect: {
      output: {
        dtype: 'float64',
        value: [
          [1, 2, 4],
          [3, 5, 9],
        ],
      },
    },
  },
]);

export const IRFFT3D: InverseRealFourierOp = defineInverse(3, () => [
  { shape: '[2, 2, 5], [3] -> [2, 2, 8]', given: { fft_length: lengths(2, 2, 8) } },
  {
    given: {
      input: { dtype: 'complex64', value: [[complex([11, 0], [-3, 0])], [complex([-5, 0], [1, 0])]] },
      fft_length: lengths(2, 1, 2),
    },
    expect: { output: [[[1, 2]], [[3, 5]]] },
  },
]);
