/** @file The initial state of a random generator, from TensorFlow's two seeds. */

/**
 * The 24 bytes of a generator that has drawn nothing: the 128-bit counter [0, 0, low32(seed2), high32(seed2)], then the
 * 64-bit key `seed`, little-endian. This is what a `random` instruction's `state` holds.
 */
export function philoxState(seed: bigint | number, seed2: bigint | number): Uint8Array {
  const state = new DataView(new ArrayBuffer(24));
  state.setBigUint64(8, BigInt.asUintN(64, BigInt(seed2)), true);
  state.setBigUint64(16, BigInt.asUintN(64, BigInt(seed)), true);
  return new Uint8Array(state.buffer);
}
