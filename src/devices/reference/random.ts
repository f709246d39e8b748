/** @file The `random` instruction: TensorFlow's distributions over Philox blocks. */
import type { DType } from '../../core/dtypes.ts';
import { InternalError } from '../../core/errors.ts';
import { fromBfloat16Bits, fromHalfBits } from '../../core/half.ts';
import { sizeOf } from '../../core/shape.ts';
import type { RandomInstruction, View } from '../../program/instructions.ts';
import { advance, Philox } from '../../program/philox.ts';
import { Stop } from './failure.ts';
import { cosf, logf, sinf } from './libm.ts';
import { type Cursor, cursorOn, type Memory } from './memory.ts';
import { arithmeticOf } from './scalars.ts';
import type { Value } from './values.ts';

/** Gives the output's elements in order. */
type Source = () => Value;
type Sampler = (random: Philox) => Source;

const scratch = new DataView(new ArrayBuffer(8));

/** Mantissa bits under the exponent of 1 give [1, 2); taking 1 away gives [0, 1). */
function unitFloat32(word: number): number {
  scratch.setUint32(0, 0x3f800000 | (word & 0x7fffff));
  return scratch.getFloat32(0) - 1;
}
function unitFloat64(high: number, low: number): number {
  scratch.setUint32(0, 0x3ff00000 | (high & 0xfffff));
  scratch.setUint32(4, low);
  return scratch.getFloat64(0) - 1;
}

const uniforms: Partial<Record<DType['storage'], Sampler>> = {
  f16: (random) => () => fromHalfBits(0x3c00 | (random.next() & 0x3ff)) - 1,
  bf16: (random) => () => fromBfloat16Bits(0x3f80 | (random.next() & 0x7f)) - 1,
  f32: (random) => () => unitFloat32(random.next()),
  f64: (random) => () => unitFloat64(random.next(), random.next()),
};

type Normals = (random: Philox) => [number, number];

/** Two normals by the method of Box and Muller, every step rounded to float32. The logarithm needs a positive number. */
const normalFloat32: Normals = (random) => {
  const u = Math.max(unitFloat32(random.next()), Math.fround(1e-7));
  const angle = Math.fround(2 * Math.PI * unitFloat32(random.next()));
  const radius = Math.fround(Math.sqrt(Math.fround(-2 * logf(u))));
  return [Math.fround(sinf(angle) * radius), Math.fround(cosf(angle) * radius)];
};
const normalFloat64: Normals = (random) => {
  const u = Math.max(unitFloat64(random.next(), random.next()), 1e-7);
  const angle = 2 * Math.PI * unitFloat64(random.next(), random.next());
  const radius = Math.sqrt(-2 * Math.log(u));
  return [Math.sin(angle) * radius, Math.cos(angle) * radius];
};

function normalSampler(dtype: DType): Sampler {
  const draw = dtype.storage === 'f64' ? normalFloat64 : normalFloat32;
  return (random) => {
    let kept: number | undefined;
    return () => {
      if (kept !== undefined) {
        const second = kept;
        kept = undefined;
        return second;
      }
      const [first, second] = draw(random);
      kept = second;
      return first;
    };
  };
}

/** Normals within two deviations; the others are drawn again. Every group of outputs has blocks of its own. */
function truncatedSampler(dtype: DType): Sampler {
  const wide = dtype.storage === 'f64';
  const draw = wide ? normalFloat64 : normalFloat32;
  const groupSize = wide ? 2 : 4;
  const blocksPerGroup = wide ? 128 : 256;
  return (random) => {
    let group = 0;
    let waiting: number[] = [];
    return () => {
      if (waiting.length === 0) {
        random.seek(group++ * blocksPerGroup);
        while (waiting.length < groupSize) waiting.push(...draw(random).filter((z) => Math.abs(z) < 2));
        waiting = waiting.slice(0, groupSize);
      }
      return waiting.shift()!;
    };
  };
}

/** Integers in [low, high): a word, or two for int64, modulo the width of the range. */
function integerSampler(low: bigint, high: bigint, wide: boolean): Sampler {
  const width = high - low;
  if (width <= 0n) throw new Stop('range', 0, Number(low));
  if (wide) return (random) => () => BigInt.asIntN(64, low + (two(random) % width));
  return (random) => () => Number(BigInt.asIntN(32, low + (BigInt(random.next()) % width)));
}
function two(random: Philox): bigint {
  const low = BigInt(random.next());
  return low | (BigInt(random.next()) << 32n);
}

function samplerOf({ distribution, output }: RandomInstruction, low: bigint, high: bigint): Sampler {
  const { dtype } = output;
  switch (distribution) {
    case 'uniform': {
      const sampler = uniforms[dtype.storage];
      if (!sampler) throw new InternalError(`uniform numbers are floats, not ${dtype}`);
      return sampler;
    }
    case 'normal':
      return normalSampler(dtype);
    case 'truncatedNormal':
      return truncatedSampler(dtype);
    case 'uniformInt':
      return integerSampler(low, high, dtype.storage === 'i64');
    case 'bits':
      return (random) => () => random.next();
  }
}

export function compileRandom(instruction: RandomInstruction, memory: Memory): () => void {
  const { state, reserve, output } = instruction;
  const generator = cursorOn(state, memory);
  const target = cursorOn(output, memory);
  const count = sizeOf(output.shape);
  const { store, round } = arithmeticOf(output.dtype);
  const low = scalarReader(instruction.low, memory);
  const high = scalarReader(instruction.high, memory);
  return () => {
    const sampler = count === 0 ? undefined : samplerOf(instruction, low(), high());
    const source = sampler?.(new Philox(generator.place.data, generator.start));
    for (let i = 0; i < count; i++) store(target.place.data, target.start + i * output.dtype.size, round(source!()));
    advance(generator.place.data, generator.start, reserve);
  };
}

/** Reads a one-element integer view; 0 when there is none. */
function scalarReader(view: View | undefined, memory: Memory): () => bigint {
  if (!view) return () => 0n;
  const cursor: Cursor = cursorOn(view, memory);
  const { load } = arithmeticOf(view.dtype);
  return () => BigInt(load(cursor.place.data, cursor.start) as number | bigint); // bounds are integers
}
