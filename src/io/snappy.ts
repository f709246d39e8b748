/** @file Snappy, as blocks of tables may be compressed with it: reading only. */
import { DataLossError } from '../core/errors.ts';

/** The bytes that a Snappy block stands for. */
export function snappyUncompress(block: Uint8Array): Uint8Array {
  let at = 0;
  const next = (): number => {
    const byte = block[at++];
    if (byte === undefined) throw new DataLossError('corrupted compressed block: it is cut off');
    return byte;
  };
  const little = (bytes: number): number => {
    let value = 0;
    for (let i = 0; i < bytes; i++) value += next() * 256 ** i;
    return value;
  };
  let length = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = next();
    length += (byte & 127) * scale;
    if (byte < 128) break;
  }
  // A copy of 64 bytes takes two: more than this is not the length of a block.
  if (length > block.length * 64) throw new DataLossError('corrupted compressed block: its length is wrong');
  const out = new Uint8Array(length);
  let to = 0;
  const room = (bytes: number): void => {
    if (to + bytes > length) throw new DataLossError('corrupted compressed block: it is longer than it says');
  };
  while (at < block.length) {
    const tag = next();
    if ((tag & 3) === 0) {
      const short = tag >> 2;
      const bytes = (short < 60 ? short : little(short - 59)) + 1;
      room(bytes);
      if (at + bytes > block.length) throw new DataLossError('corrupted compressed block: it is cut off');
      out.set(block.subarray(at, at + bytes), to);
      at += bytes;
      to += bytes;
      continue;
    }
    const kind = tag & 3;
    const bytes = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const back = kind === 1 ? (tag >> 5) * 256 + next() : little(kind === 2 ? 2 : 4);
    room(bytes);
    if (back === 0 || back > to)
      throw new DataLossError('corrupted compressed block: a copy from before its beginning');
    // Copies may overlap what they write: byte by byte.
    for (let i = 0; i < bytes; i++, to++) out[to] = out[to - back]!;
  }
  if (to !== length) throw new DataLossError('corrupted compressed block: it is shorter than it says');
  return out;
}
