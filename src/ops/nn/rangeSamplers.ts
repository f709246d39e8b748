/** @file How candidate samplers draw class numbers, word for word of the generator as TensorFlow's do. */
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Philox } from '../../program/philox.ts';

/** A distribution over the classes [0, range). */
export interface RangeSampler {
  sample(random: Philox): number;
  /** The probability of a class, a float32. */
  probability(value: number): number;
}

const { fround } = Math;

function uniform32(n: number, random: Philox): number {
  if ((n & (n - 1)) === 0) return (random.next() & (n - 1)) >>> 0;
  // Numbers below the remainder would make some results likelier than others.
  const rest = (0xffffffff % n) + 1;
  for (;;) {
    const word = random.next();
    if (word >= rest) return word % n;
  }
}

const all64 = 2n ** 64n - 1n;

function uniform64(n: bigint, random: Philox): number {
  const draw = () => {
    const low = BigInt(random.next());
    return low | (BigInt(random.next()) << 32n);
  };
  if ((n & (n - 1n)) === 0n) return Number(draw() & (n - 1n));
  const rest = (all64 % n) + 1n;
  for (;;) {
    const word = draw();
    if (word >= rest) return Number(word % n);
  }
}

/** Two words as a double in [0, 1). */
export function uniformDouble(random: Philox): number {
  const high = random.next() % 2 ** 20;
  return (high * 2 ** 32 + random.next()) / 2 ** 52;
}

/** The low 23 bits of a word as a float in [0, 1). */
const uniformFloat = (random: Philox) => (random.next() & 0x7fffff) / 2 ** 23;

/** Every class equally likely. */
export function uniformSampler(range: number): RangeSampler {
  const each = fround(1 / range);
  return { sample: (random) => uniform64(BigInt(range), random), probability: () => each };
}

/** Zipf's law, roughly: classes in the order of their frequency. */
export function logUniformSampler(range: number): RangeSampler {
  const logRange = Math.log1p(range);
  return {
    sample: (random) => (Math.trunc(Math.exp(uniformDouble(random) * logRange)) - 1) % range,
    probability: (value) => fround(Math.log((value + 2) / (value + 1)) / logRange),
  };
}

/** Classes by whole weights. */
export function weightedSampler(weights: Int32Array): RangeSampler {
  const ends = new Float64Array(weights.length);
  let total = 0;
  for (const [i, weight] of weights.entries()) ends[i] = total += weight;
  return {
    sample(random) {
      const position = uniform32(total, random);
      let [low, high] = [0, ends.length - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (ends[middle]! > position) high = middle;
        else low = middle + 1;
      }
      return low;
    },
    probability: (value) => fround(fround(weights[value]!) / fround(total)),
  };
}

/** Classes by fixed weights, in constant time: Walker's alias method. */
export function aliasSampler(weights: readonly number[]): RangeSampler {
  const n = weights.length;
  const sum = weights.reduce((a, w) => a + w, 0);
  const shares = weights.map((w) => fround(w * n) / sum);
  const aliases = new Int32Array(n).fill(-1);
  const [high, low]: [number[], number[]] = [[], []];
  for (const [i, share] of shares.entries()) (share < 1 ? low : high).push(i);
  while (high.length > 0 && low.length > 0) {
    const [l, h] = [low.pop()!, high.pop()!];
    aliases[l] = h;
    shares[h] = shares[h]! - (1 - shares[l]!);
    (shares[h] < 1 ? low : high).push(h);
  }
  // What is left over is whole but for rounding.
  for (const i of [...high, ...low]) {
    shares[i] = 1;
    aliases[i] = i;
  }
  const limits = Float32Array.from(shares);
  let total = 0;
  for (const w of weights) total = fround(total + w);
  return {
    sample(random) {
      const share = uniformFloat(random);
      const i = uniform32(n, random);
      return share < limits[i]! ? i : aliases[i]!;
    },
    probability: (value) => fround((weights[value] ?? 0) / total),
  };
}

/** The weights of one shard of a vocabulary, after those of reserved classes, which are never drawn. */
export function shardWeights(
  unigrams: readonly number[],
  form: { distortion: number; reserved: number; shards: number; shard: number },
): number[] {
  const { distortion, reserved, shards, shard } = form;
  const weights: number[] = [];
  for (let id = 0; id < reserved; id++) if (id % shards === shard) weights.push(0);
  const first = weights.length;
  for (const [i, weight] of unigrams.entries())
    if ((first + i) % shards === shard) weights.push(fround(fround(weight) ** fround(distortion)));
  return weights;
}

/** The weights in a vocabulary file: the last of the fields of each line, which are separated by commas. */
export function vocabularyWeights(text: string): number[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => {
    const field = line.slice(line.lastIndexOf(',') + 1).trim();
    const weight = Number(field);
    if (field === '' || Number.isNaN(weight))
      throw new InvalidArgumentError(`Wrong vocabulary format at line: ${line}`);
    return weight;
  });
}

/** How often a class of probability `p` is expected among the samples, when it took so many tries to draw them. */
function expectedCount(p: number, samples: number, tries: number): number {
  if (tries === samples) return fround(p * samples);
  return fround(-Math.expm1(fround(tries * fround(Math.log1p(-p)))));
}

/** Samples, and the expected counts of the true classes and of the samples. */
export interface Draw {
  readonly sampled: BigInt64Array;
  readonly trueCounts: Float32Array;
  readonly sampledCounts: Float32Array;
}

/** Draws classes, all different if `unique`. */
export function drawClasses(
  sampler: RangeSampler,
  random: Philox,
  form: { count: number; unique: boolean; trueClasses: readonly number[] },
): Draw {
  const { count, unique, trueClasses } = form;
  const sampled: number[] = [];
  const used = new Set<number>();
  let tries = 0;
  while (sampled.length < count) {
    tries++;
    const value = sampler.sample(random);
    if (unique && used.has(value)) continue;
    used.add(value);
    sampled.push(value);
  }
  const counts = (values: readonly number[]) =>
    Float32Array.from(values, (value) => expectedCount(sampler.probability(value), count, tries));
  return {
    sampled: BigInt64Array.from(sampled, BigInt),
    trueCounts: counts(trueClasses),
    sampledCounts: counts(sampled),
  };
}
