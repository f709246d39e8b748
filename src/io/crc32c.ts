/** @file CRC-32C, the checksum of records, checkpoints and event files. */
import { capacity, crcModule, stretch } from './crcModule.ts';
import { nativeCrc } from './nativeCrc.ts';

const polynomial = 0x82f63b78;

/** Eight tables: the checksum of a byte followed by 0 to 7 zero bytes, so that eight bytes are taken at a time. */
const tables = Array.from({ length: 8 }, () => new Uint32Array(256));
for (let i = 0; i < 256; i++) {
  let crc = i;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  tables[0]![i] = crc;
}
for (let i = 0; i < 256; i++)
  for (let t = 1; t < 8; t++) {
    const before = tables[t - 1]![i]!;
    tables[t]![i] = (before >>> 8) ^ tables[0]![before & 255]!;
  }
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
]; // eight were made

/** What each byte of a checksum adds to the one that it becomes when a stretch of zero bytes follows. */
function shiftTables(): Uint32Array[] {
  return [0, 8, 16, 24].map((bits) => {
    // It is linear: what a byte becomes is made of what its bits become.
    const ofBit = Array.from({ length: 8 }, (_, bit) => {
      let crc = 1 << (bits + bit);
      for (let i = 0; i < stretch; i++) crc = (crc >>> 8) ^ t0[crc & 255]!;
      return crc;
    });
    return Uint32Array.from({ length: 256 }, (_, byte) =>
      ofBit.reduce((all, crc, bit) => (byte & (1 << bit) ? all ^ crc : all), 0),
    );
  });
}

/** Shorter data is not worth a copy to the module's memory. */
const moduleFrom = 64;
/** Shorter data is not worth a call of the native library. */
const nativeFrom = 128;
let run: ReturnType<typeof crcModule> | undefined;

/** The checksum of some bytes; `before` is that of the bytes in front of them. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  const native = bytes.length >= nativeFrom ? nativeCrc() : null;
  return native ? native(bytes, bytes.length, before) : portableCrc32c(bytes, before);
}

/** The same without the native library. */
export function portableCrc32c(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  let i = 0;
  if (bytes.length >= moduleFrom) {
    run ??= crcModule(tables, shiftTables());
    const groups = bytes.length & -8;
    for (; i < groups; i += capacity) crc = run(bytes.subarray(i, Math.min(groups, i + capacity)), crc);
    i = groups;
  } else
    for (const end = bytes.length - 7; i < end; i += 8) {
      crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
      crc =
        t7[crc & 255]! ^
        t6[(crc >>> 8) & 255]! ^
        t5[(crc >>> 16) & 255]! ^
        t4[crc >>> 24]! ^
        t3[bytes[i + 4]!]! ^
        t2[bytes[i + 5]!]! ^
        t1[bytes[i + 6]!]! ^
        t0[bytes[i + 7]!]!;
    }
  for (; i < bytes.length; i++) crc = (crc >>> 8) ^ t0[(crc ^ bytes[i]!) & 255]!;
  return ~crc >>> 0;
}

/** A checksum as it is stored: changed, since a checksum of data that holds its own checksum is of little use. */
export function maskCrc(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

export function unmaskCrc(masked: number): number {
  const rotated = (masked - 0xa282ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}

/** The stored form of the checksum of some bytes. */
export function maskedCrc(bytes: Uint8Array): number {
  return maskCrc(crc32c(bytes));
}
