/** @file Damage: inputs that are nearly right, the same ones for the same seed. */

/** A fixed sequence of numbers below `n` (mulberry32). */
export type Chance = (n: number) => number;

export function chance(seed: number): Chance {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/** Bytes that mean something to many formats: ends of ranges, long varints, delimiters. */
const telling = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x1a, 0x22, 0x2c];

/** One change somewhere in the bytes. */
function changed(bytes: Uint8Array, random: Chance): Uint8Array {
  if (bytes.length === 0) return Uint8Array.of(random(256));
  const at = random(bytes.length);
  const length = Math.min(1 + random(8), bytes.length - at);
  switch (random(8)) {
    case 0: // cut off
      return bytes.slice(0, at);
    case 1: // left out
      return join(bytes.subarray(0, at), bytes.subarray(at + length));
    case 2: // twice
      return join(bytes.subarray(0, at + length), bytes.subarray(at));
    case 3: // put in
      return join(
        bytes.subarray(0, at),
        Uint8Array.from({ length }, () => random(256)),
        bytes.subarray(at),
      );
    case 4: {
      const result = bytes.slice();
      result[at] = telling[random(telling.length)]!;
      return result;
    }
    case 5: // all bits, as in lengths that are far too long
      return bytes.slice().fill(0xff, at, at + length);
    default: {
      const result = bytes.slice();
      for (let flips = 1 + random(3); flips > 0; flips--) result[random(bytes.length)]! ^= 1 << random(8);
      return result;
    }
  }
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** A seed with one change, or with a few. */
export function mutate(seed: Uint8Array, random: Chance): Uint8Array {
  let bytes = seed;
  for (let changes = random(3) === 0 ? 2 + random(3) : 1; changes > 0; changes--) bytes = changed(bytes, random);
  return bytes;
}
