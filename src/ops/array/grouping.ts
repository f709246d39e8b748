/** @file Equal elements of an array found: numbers and strings, alone or as slices along an axis. */
import { eachInTurns } from '../../core/eventLoop.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { sizeOf } from '../../core/shape.ts';

/** Things 0, 1 … in groups of equal ones. */
export interface Groups {
  /** The first of each group, rising. */
  readonly first: Int32Array;
  /** The group of each thing. */
  readonly group: Int32Array;
}

const mix = (hash: number, word: number) => {
  const mixed = Math.imul(hash ^ word, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
};

/** Groups things by a hash and by comparing them; one with the hash `NaN` is equal to nothing. */
async function groupsOf(
  count: number,
  hash: (i: number) => number,
  same: (i: number, j: number) => boolean,
): Promise<Groups> {
  const mask = 2 ** Math.ceil(Math.log2(2 * count + 2)) - 1;
  /** The numbers of groups, plus one, where their hashes say, or at the next free place behind. */
  const table = new Int32Array(mask + 1);
  const [first, group] = [new Int32Array(count), new Int32Array(count)];
  let found = 0;
  const begin = (i: number) => {
    first[found] = i;
    group[i] = found++;
  };
  await eachInTurns(count, (i) => {
    const code = hash(i);
    if (Number.isNaN(code)) return begin(i);
    for (let at = code & mask; ; at = (at + 1) & mask) {
      const other = table[at]! - 1;
      if (other < 0) {
        table[at] = found + 1;
        return begin(i);
      }
      if (same(i, first[other]!)) {
        group[i] = other;
        return;
      }
    }
  });
  return { first: first.subarray(0, found), group };
}

/** Numbers as words of 32 bits that are equal for equal numbers, `width` of them each; undefined words have no equal. */
interface Words {
  readonly words: ArrayLike<number>;
  readonly width: number;
  /** Whether some element has a NaN in it, which equals nothing, not even itself, as in TensorFlow. */
  readonly isNan: Uint8Array | undefined;
}

async function wordsOf(x: NDArray): Promise<Words> {
  const { dtype } = x;
  if (dtype.isObject) {
    const { group } = await stringGroups(x.objects as readonly Uint8Array[]); // strings are bytes
    return { words: group, width: 1, isNan: undefined };
  }
  const { data } = x;
  const isSmall = dtype.size < 4;
  const words = isSmall
    ? (data as Uint8Array) // or other small numbers
    : new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4);
  const width = isSmall ? 1 : dtype.size / 4;
  if (!dtype.isFloating && !dtype.isComplex) return { words, width, isNan: undefined };
  return await floatWords(words, width, isSmall ? 1 : dtype.size / dtype.entries / 4, floatKinds[dtype.storage]!);
}

/** The bits of a float's sign, in the word that has it, and of an infinite one. */
interface FloatKind {
  readonly sign: number;
  readonly infinity: number;
  /** Whether TensorFlow takes -0 and 0 for two numbers, as it does where it hashes bits. */
  readonly hasTwoZeros?: boolean;
}
const floatKinds: Readonly<Record<string, FloatKind>> = {
  f16: { sign: 0x8000, infinity: 0x7c00, hasTwoZeros: true },
  bf16: { sign: 0x8000, infinity: 0x7f80, hasTwoZeros: true },
  f32: { sign: 0x80000000 | 0, infinity: 0x7f800000 },
  c64: { sign: 0x80000000 | 0, infinity: 0x7f800000 },
  f64: { sign: 0x80000000 | 0, infinity: 0x7ff00000 },
  c128: { sign: 0x80000000 | 0, infinity: 0x7ff00000 },
};

/** Words of floats in which -0 is 0 where it shall be; each float has `own` of the `width` words of an element, the highest last. */
async function floatWords(bits: ArrayLike<number>, width: number, own: number, kind: FloatKind): Promise<Words> {
  const words = new Int32Array(bits.length);
  const isNan = new Uint8Array(bits.length / width);
  await eachInTurns(bits.length / own, (i) => {
    const at = own * i;
    const low = own === 2 ? bits[at]! : 0;
    const high = bits[at + own - 1]!;
    const size = high & ~kind.sign;
    if (own === 2) words[at] = low;
    words[at + own - 1] = low === 0 && size === 0 && !kind.hasTwoZeros ? 0 : high;
    if (size > kind.infinity || (size === kind.infinity && low !== 0)) isNan[Math.floor(at / width)] = 1;
  });
  return { words, width, isNan };
}

function stringGroups(strings: readonly Uint8Array[]): Promise<Groups> {
  const hash = (i: number) => {
    const bytes = strings[i]!;
    let code = bytes.length;
    for (let k = 0; k < bytes.length; k++) code = mix(code, bytes[k]!);
    return code;
  };
  const same = (i: number, j: number) => {
    const [x, y] = [strings[i]!, strings[j]!];
    if (x.length !== y.length) return false;
    for (let k = 0; k < x.length; k++) if (x[k] !== y[k]) return false;
    return true;
  };
  return groupsOf(strings.length, hash, same);
}

/** The groups of equal slices along an axis. */
export async function equalSlices(x: NDArray, axis: number): Promise<Groups> {
  if (x.rank === 1 && x.dtype.isObject) return await stringGroups(x.objects as readonly Uint8Array[]); // strings are bytes
  const { words, width, isNan } = await wordsOf(x);
  const count = x.shape[axis]!;
  const inner = sizeOf(x.shape.slice(axis + 1)) * width;
  const outer = sizeOf(x.shape.slice(0, axis));
  if (outer === 1 && inner === 1)
    return await groupsOf(
      count,
      (i) => (isNan?.[i] ? Number.NaN : mix(1, words[i]!)),
      (i, j) => words[i] === words[j],
    );
  const start = (o: number, i: number) => (o * count + i) * inner;
  const hash = (i: number) => {
    let code = 1;
    for (let o = 0; o < outer; o++)
      for (let [at, end] = [start(o, i), start(o, i) + inner]; at < end; at++) {
        if (isNan?.[Math.floor(at / width)]) return Number.NaN;
        code = mix(code, words[at]!);
      }
    return code;
  };
  const same = (i: number, j: number) => {
    for (let o = 0; o < outer; o++)
      for (let k = 0; k < inner; k++) if (words[start(o, i) + k] !== words[start(o, j) + k]) return false;
    return true;
  };
  return await groupsOf(count, hash, same);
}
