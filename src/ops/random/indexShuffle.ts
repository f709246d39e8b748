/** @file RandomIndexShuffle: where an index goes in a random order of all indices, found without making that order. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import { type Dims, showRuntime } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';

/** Below 16 bits the orders show patterns. */
const fewestBits = 16;

/**
 * A random order of the numbers up to `largest`. A block cipher (Simon, with few rounds) is an order of all numbers of its
 * width; whatever it makes too large is put in again until it is not, so the rest is an order of the smaller ones.
 */
class IndexShuffle {
  /** Half the width of the cipher: numbers are a left and a right word of so many bits. */
  private readonly bits: number;
  private readonly mask: number;
  private readonly keys: readonly number[];

  constructor(
    private readonly largest: bigint,
    seeds: readonly [number, number, number],
    rounds: number,
  ) {
    // The logarithm of a double, as TensorFlow takes it.
    const width = Math.ceil(Math.log2(Number(largest)));
    this.bits = Math.max(width + (width % 2), fewestBits) / 2;
    this.mask = this.bits === 32 ? 0xffffffff : 2 ** this.bits - 1;
    this.keys = this.schedule(seeds, rounds);
  }

  at(index: bigint): bigint {
    if (index > this.largest)
      throw new InvalidArgumentError(`max_index must be >= index, but ${this.largest} < ${index}`);
    if (this.largest === 0n) return 0n;
    const shift = BigInt(this.bits);
    let moved = index;
    do {
      let left = Number((moved >> shift) & BigInt(this.mask));
      let right = Number(moved & BigInt(this.mask));
      for (let i = 0; i < this.keys.length; i += 2) {
        left = (left ^ this.mixed(right) ^ this.keys[i]!) >>> 0;
        right = (right ^ this.mixed(left) ^ this.keys[i + 1]!) >>> 0;
      }
      moved = (BigInt(left) << shift) | BigInt(right);
    } while (moved > this.largest);
    return moved;
  }

  private rotatedLeft(word: number, by: number): number {
    return (((word << by) | (word >>> (this.bits - by))) & this.mask) >>> 0;
  }

  private mixed(word: number): number {
    return (this.rotatedLeft(word, 1) & this.rotatedLeft(word, 8 % this.bits)) ^ this.rotatedLeft(word, 2);
  }

  /** A key for every round: three from the seeds, the others from those before. */
  private schedule(seeds: readonly [number, number, number], rounds: number): number[] {
    // The cipher's own sequence of bits, of which as many are there as a word has.
    let sequence = BigInt.asUintN(this.bits, 0x7369f885192c0ef5n);
    const keys = seeds.map((seed) => (seed & this.mask) >>> 0);
    for (let i = 3; i < rounds; i++, sequence >>= 1n) {
      const before = keys[i - 1]!;
      const turned = this.rotatedLeft(before, this.bits - 3) ^ this.rotatedLeft(before, this.bits - 4);
      keys.push(((0xfffffffc & this.mask) ^ Number(sequence & 1n) ^ keys[i - 3]! ^ turned) >>> 0);
    }
    return keys;
  }
}

function natural(array: NDArray, i: number, name: string): bigint {
  const value = BigInt(array.data[array.rank === 0 ? 0 : i]!);
  if (value < 0n) throw new InvalidArgumentError(`${name} must be >= 0 but was ${value}`);
  return value;
}
const word = (array: NDArray, i: number) => Number(BigInt.asUintN(32, BigInt(array.data[i]!)));

function staticShape(index: Dims, seed: Dims, largest: Dims): Dims {
  for (const [dims, name] of [[index, 'index'], [largest, 'max_index']] as const) // biome-ignore format: pairs
    if (dims !== null && dims.length > 1)
      throw new InvalidArgumentError(`${name} is ${showRuntime(dims)}, but must be a scalar or a vector.`);
  if (seed !== null && (seed.length < 1 || seed.length > 2 || (seed.at(-1) ?? 3) !== 3))
    throw new InvalidArgumentError(`Seed must have shape [3] or [n, 3] but got ${showRuntime(seed)}.`);
  if (index?.length === 0 && seed?.length === 1 && largest?.length === 0) return [];
  if (index?.length !== 1 && seed?.length !== 2 && largest?.length !== 1) return null;
  let count: number | null = null;
  for (const dims of [index?.length === 1 ? index : null, seed?.length === 2 ? seed : null, largest?.length === 1 ? largest : null]) // biome-ignore format: one after the other
    if (dims) {
      const [n] = dims;
      if (count !== null && count > 1 && n != null && n > 1 && n !== count)
        throw new InvalidArgumentError(`There are ${count} and ${n} indices, seeds or limits; they must be as many.`);
      count ??= n ?? null;
    }
  return [count];
}

const long = (value: number[] | number) => ({ dtype: 'int64', value }) as const;

export const RandomIndexShuffle = defineOp({
  name: 'RandomIndexShuffle',
  inputs: { index: 'dtype', seed: 'Tseed', max_index: 'dtype' },
  outputs: { output: 'dtype' },
  attrs: {
    rounds: attr('int', { default: 4 }),
    dtype: attr('type', { allowed: [d.int32, d.uint32, d.int64, d.uint64] }),
    Tseed: attr('type', { allowed: [d.int32, d.uint32, d.int64, d.uint64] }),
  },
  shape: ({ index, seed, max_index }) => ({ output: staticShape(index, seed, max_index) }),
  grad: gradientPending('TensorFlow has none'),
  lower(p, { index, seed, max_index }, { rounds, dtype }) {
    const sizes = [index, max_index].map(({ shape }) => shape.reduce((a, b) => a * b, 1));
    const count = Math.max(...sizes, Math.floor(seed.shape.reduce((a, b) => a * b, 1) / 3));
    const fits = (shape: readonly number[]) => shape.length === 0 || (shape.length === 1 && shape[0] === count);
    if (!fits(index.shape)) throw new InvalidArgumentError('Index bust be a scalar or vector.');
    if (`${seed.shape}` !== '3' && `${seed.shape}` !== `${count},3`)
      throw new InvalidArgumentError(
        `Seed must be a vector of size [3] or a matrix of size [${count}, 3] but got ${showRuntime(seed.shape)}.`,
      );
    if (!fits(max_index.shape))
      throw new InvalidArgumentError(
        `Maxval must be a scalar or a vector of the same size as index but got ${showRuntime(max_index.shape)}`,
      );
    if (rounds < 4 || rounds % 2 !== 0)
      throw new InvalidArgumentError(`rounds must be even and at least 4, but is ${rounds}`);
    const isScalar = index.shape.length === 0 && seed.shape.length === 1 && max_index.shape.length === 0;
    const shape = isScalar ? [] : [count];
    const [output] = p.host([index, seed, max_index], [{ dtype, shape }], ([indices, seeds, limits]) => {
      const orders = new Map<string, IndexShuffle>();
      const moved = Array.from({ length: count }, (_, i) => {
        const row = seeds!.rank === 1 ? 0 : 3 * i;
        const key = [word(seeds!, row), word(seeds!, row + 1), word(seeds!, row + 2)] as const;
        const index = natural(indices!, i, 'index');
        const largest = natural(limits!, i, 'max_index');
        const name = `${key} ${largest}`;
        let order = orders.get(name);
        if (!order) orders.set(name, (order = new IndexShuffle(largest, key, rounds)));
        return order.at(index);
      });
      return [fromElements(dtype, shape, dtype.size === 8 ? moved : moved.map(Number))];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[], [3], [] -> []' },
    { shape: '[?], [3], [] -> [?]' },
    { shape: '[], [?, 3], [5] -> [5]' },
    { shape: '?, [3], [] -> ?' },
    { shape: '[], [2], []', rejects: /Seed must have shape/ },
    { shape: '[4], [3], [5]', rejects: /they must be as many/ },
    { given: { index: long([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), seed: int32s([1, 2, 3]), max_index: long(9) }, expect: { output: long([2, 0, 6, 4, 8, 1, 7, 9, 5, 3]) } }, // biome-ignore format: rows
    {
      given: { index: long(3), seed: int32s([1, 2, 3]), max_index: long(2 ** 40) },
      expect: { output: long(229309601) },
    },
    { given: { index: long([3]), seed: int32s([[1, 2, 3]]), max_index: long(9) }, expect: { output: long([4]) } },
    { given: { index: int32s(3), seed: { dtype: 'uint64', value: [1, 2, 2 ** 62] }, max_index: int32s(9) } },
    { given: { index: int32s([0, 1, 2]), seed: long([-1, 2 ** 33, 3]), max_index: int32s([2, 5, 2 ** 30]) }, attrs: { rounds: 8 } }, // biome-ignore format: as above
    { given: { index: { dtype: 'uint32', value: [5, 6] }, seed: { dtype: 'uint32', value: [[7, 8, 4000000000], [3, 2, 1]] }, max_index: { dtype: 'uint32', value: 4294967295 } } }, // biome-ignore format: as above
    { given: { index: { dtype: 'uint64', value: 2 ** 52 }, seed: int32s([1, 2, 3]), max_index: { dtype: 'uint64', value: 2 ** 53 } }, attrs: { rounds: 6 } }, // biome-ignore format: as above
    { given: { index: long(-3), seed: int32s([1, 2, 3]), max_index: long(9) }, fails: /index must be >= 0/ },
    { given: { index: long(3), seed: int32s([1, 2, 3]), max_index: long(-9) }, fails: /max_index must be >= 0/ },
    { given: { index: long(3), seed: int32s([1, 2, 3]), max_index: long(0) }, fails: /max_index must be >= index, but 0 < 3/ }, // biome-ignore format: as above
  ],
});
