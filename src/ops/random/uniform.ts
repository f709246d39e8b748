/** @file Random words as numbers in [0, 1), for distributions that are drawn on the host. */
import type { Philox } from '../../program/philox.ts';

const scratch = new DataView(new ArrayBuffer(8));

/** Mantissa bits under the exponent of 1 give [1, 2); taking 1 away gives [0, 1). */
export function unitDouble(high: number, low: number): number {
  scratch.setUint32(0, 0x3ff00000 | (high & 0xfffff));
  scratch.setUint32(4, low);
  return scratch.getFloat64(0) - 1;
}

/** Gives numbers one at a time from pairs that each block yields; the second of a pair comes first, as in TensorFlow. */
export function byPairs(pair: () => readonly [number, number]): () => number {
  let kept: number | undefined;
  return () => {
    if (kept !== undefined) {
      const first = kept;
      kept = undefined;
      return first;
    }
    const [first, second] = pair();
    kept = first;
    return second;
  };
}

/** Two uniform doubles from one block. */
export function uniformPair(random: Philox): readonly [number, number] {
  const block = random.nextBlock();
  return [unitDouble(block[0]!, block[1]!), unitDouble(block[2]!, block[3]!)];
}

/** Two normal doubles from one block, by the method of Box and Muller. */
export function normalPair(random: Philox): readonly [number, number] {
  const [first, second] = uniformPair(random);
  const angle = 2 * Math.PI * second;
  // The logarithm needs a positive number.
  const radius = Math.sqrt(-2 * Math.log(Math.max(first, 1e-7)));
  return [Math.sin(angle) * radius, Math.cos(angle) * radius];
}
