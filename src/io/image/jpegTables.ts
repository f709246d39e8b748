/** @file The tables that the JPEG standard suggests to encoders, and Huffman codes made to measure. */

/** Quantization for half of the quality, in rows of a block. */
export const luminanceQuantization = [
  ...[
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51,
  ],
  ...[
    87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101,
  ],
  ...[72, 92, 95, 98, 112, 100, 103, 99],
];
export const chrominanceQuantization = Array.from({ length: 64 }, (_, i) => {
  const corner = [17, 18, 24, 47, 18, 21, 26, 66, 24, 26, 56, 99, 47, 66, 99, 99];
  return (i & 7) < 4 && i < 32 ? corner[(i >> 3) * 4 + (i & 7)]! : 99;
});

/** A quantization table for a quality from 1 to 100. */
export function scaledQuantization(base: readonly number[], quality: number): Uint16Array {
  const q = Math.min(Math.max(quality, 1), 100);
  const scale = q < 50 ? Math.trunc(5000 / q) : 200 - 2 * q;
  return Uint16Array.from(base, (value) => Math.min(Math.max(Math.trunc((value * scale + 50) / 100), 1), 255));
}

/** A Huffman code: how many codes there are of 1 to 16 bits, and their symbols in order. */
export interface HuffmanCode {
  readonly counts: readonly number[];
  readonly symbols: readonly number[];
}

/** The symbols of coefficients (a run of zeros and a size), the given ones first and the others in order. */
function withAllOthers(first: string): number[] {
  const given = first.split(' ').map((text) => Number.parseInt(text, 16));
  const all = Array.from({ length: 16 }, (_, run) => Array.from({ length: 10 }, (_, size) => (run << 4) | (size + 1)));
  return [...given, ...all.flat().filter((symbol) => !given.includes(symbol))];
}

const sizes = Array.from({ length: 12 }, (_, i) => i);

export const standardCodes = {
  luminanceDc: { counts: [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], symbols: sizes },
  chrominanceDc: { counts: [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0], symbols: sizes },
  luminanceAc: {
    counts: [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d],
    symbols: withAllOthers(
      '1 2 3 0 4 11 5 12 21 31 41 6 13 51 61 7 22 71 14 32 81 91 a1 8 23 42 b1 c1 15 52 d1 f0 24 33 62 72 82 9 a',
    ),
  },
  chrominanceAc: {
    counts: [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77],
    symbols: withAllOthers(
      '0 1 2 3 11 4 5 21 31 6 12 41 51 7 61 71 13 22 32 81 8 14 42 91 a1 b1 c1 9 23 33 52 f0 15 62 72 d1 a 16 24 34 e1 25 f1',
    ),
  },
} satisfies Record<string, HuffmanCode>;

/** The shortest code for symbols that occur this often, with no code above 16 bits and none of ones only. */
export function optimalCode(frequencies: Int32Array): HuffmanCode {
  const weights = [...frequencies.subarray(0, 256), 1]; // the last one takes the code of ones and is given to no symbol
  const lengths = new Int32Array(257);
  const others = new Int32Array(257).fill(-1);
  for (;;) {
    const [a, b] = twoRarest(weights);
    if (b < 0) break;
    weights[a] = weights[a]! + weights[b]!;
    weights[b] = 0;
    let last = a;
    for (let i = a; i >= 0; i = others[i]!) {
      lengths[i] = lengths[i]! + 1;
      last = i;
    }
    others[last] = b;
    for (let i = b; i >= 0; i = others[i]!) lengths[i] = lengths[i]! + 1;
  }
  const counts = new Array<number>(64).fill(0);
  for (const length of lengths) if (length > 0) counts[length] = counts[length]! + 1;
  // Too long codes come in pairs: one takes its parent's place, the other goes below a shorter code.
  for (let i = 63; i > 16; i--) {
    while (counts[i]! > 0) {
      let j = i - 2;
      while (counts[j] === 0) j--;
      counts[i] = counts[i]! - 2;
      counts[i - 1] = counts[i - 1]! + 1;
      counts[j + 1] = counts[j + 1]! + 2;
      counts[j] = counts[j]! - 1;
    }
  }
  let longest = 16;
  while (counts[longest] === 0) longest--;
  counts[longest] = counts[longest]! - 1;
  const symbols = Array.from({ length: 256 }, (_, i) => i).filter((i) => lengths[i]! > 0);
  symbols.sort((x, y) => lengths[x]! - lengths[y]! || x - y);
  return { counts: counts.slice(1, 17), symbols };
}

/** The two symbols that occur least, the later ones where several occur as often; -1 where there is only one left. */
function twoRarest(weights: readonly number[]): readonly [number, number] {
  let [a, b] = [-1, -1];
  for (const [i, weight] of weights.entries()) {
    if (weight === 0) continue;
    if (a < 0 || weight <= weights[a]!) [a, b] = [i, a];
    else if (b < 0 || weight <= weights[b]!) b = i;
  }
  return [a, b];
}
