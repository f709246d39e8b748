/**
 * @file The inner loop of CRC-32C as a WebAssembly module, which takes eight bytes at a time several times as fast as
 * JavaScript: its loads need no checks of their own.
 *
 * Three stretches of the data are worked on in turn, since each step waits for the table entries of the step before it. The
 * checksums of the parts are joined by `shift`, tables that tell what a checksum becomes when `stretch` zero bytes follow.
 */

/** Bytes in each of the three stretches. */
export const stretch = 4096;
/** The module's memory: eight tables of a byte followed by 0 to 7 zero bytes, four of a byte followed by a stretch, then data. */
const tableSize = 1024;
const shiftStart = 8 * tableSize;
const dataStart = shiftStart + 4 * tableSize;
const pages = 17;
/** The most bytes that one call takes. */
export const capacity = pages * 65536 - dataStart;

/** Part of WebAssembly's instruction set. */
const op = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  end: [0x0b],
  leaveIf: [0x0d, 1],
  again: [0x0c, 0],
  add: [0x6a],
  and: [0x71],
  xor: [0x73],
  shiftLeft: [0x74],
  shiftRight: [0x76],
  atLeast: [0x4f],
  widen: [0xad],
  narrow: [0xa7],
  xor64: [0x85],
  shiftRight64: [0x88],
} as const;

/** Signed LEB128. */
function signed(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (;;) {
    const byte = rest & 127;
    rest >>= 7;
    const isLast = (rest === 0 && (byte & 64) === 0) || (rest === -1 && (byte & 64) !== 0);
    bytes.push(isLast ? byte : byte | 128);
    if (isLast) return bytes;
  }
}
/** Unsigned LEB128. */
function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const int = (value: number) => [0x41, ...signed(value)];
const long = (value: number) => [0x42, ...signed(value)];
/** The table entry whose offset in bytes is on the stack. */
const entry = (table: number) => [0x28, 2, ...unsigned(table)];
const load64 = (offset: number) => [0x29, 0, ...unsigned(offset)];

const [place, end, crc, second, third, word] = [0, 1, 2, 3, 4, 5];

/** `state` after the eight bytes at `place + offset`. */
function step(state: number, offset: number): number[] {
  const take = (i: number) => [
    ...get(word),
    // Entries have four bytes, so the byte is wanted times four.
    ...(i === 0 ? [...op.narrow, ...int(2), ...op.shiftLeft] : [...long(8 * i - 2), ...op.shiftRight64, ...op.narrow]),
    ...int(0x3fc),
    ...op.and,
    ...entry((7 - i) * tableSize),
    ...(i === 0 ? [] : op.xor),
  ];
  return [
    ...get(place),
    ...load64(offset),
    ...get(state),
    ...op.widen,
    ...op.xor64,
    ...set(word),
    ...[0, 1, 2, 3, 4, 5, 6, 7].flatMap(take),
    ...set(state),
  ];
}

/** What `state` becomes when a stretch of zero bytes follows, on the stack. */
function shifted(state: number): number[] {
  const take = (i: number) => [
    ...get(state),
    ...int(i === 0 ? 2 : 8 * i - 2),
    ...(i === 0 ? op.shiftLeft : op.shiftRight),
    ...int(0x3fc),
    ...op.and,
    ...entry(shiftStart + i * tableSize),
    ...(i === 0 ? [] : op.xor),
  ];
  return [0, 1, 2, 3].flatMap(take);
}

const advance = (bytes: number) => [...get(place), ...int(bytes), ...op.add, ...set(place)];

/** `body` while `place` is below `end`. */
const whileBelow = (body: readonly number[]) => [
  ...op.block,
  ...op.loop,
  ...get(place),
  ...get(end),
  ...op.atLeast,
  ...op.leaveIf,
  ...body,
  ...op.again,
  ...op.end,
  ...op.end,
];

const section = (id: number, content: readonly number[]) => [id, ...unsigned(content.length), ...content];
const named = (text: string) => [text.length, ...Buffer.from(text)];

function code(locals: readonly number[], body: readonly number[]): number[] {
  const content = [...locals, ...body, ...op.end];
  return [...unsigned(content.length), ...content];
}

/** Both functions take the place where the data begins, where it ends, and the checksum so far, and give the one after. */
function moduleBytes(): Uint8Array {
  const int32 = 0x7f;
  const locals = [2, 2, int32, 1, 0x7e];
  // One stretch at a time: `end` is the end of the first of three.
  const three = [
    ...whileBelow([...step(crc!, 0), ...step(second!, stretch), ...step(third!, 2 * stretch), ...advance(8)]),
    ...shifted(crc!),
    ...get(second!),
    ...op.xor,
    ...set(crc!),
    ...shifted(crc!),
    ...get(third!),
    ...op.xor,
  ];
  const one = [...whileBelow([...step(crc!, 0), ...advance(8)]), ...get(crc!)];
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 3, int32, int32, int32, 1, int32]),
    ...section(3, [2, 0, 0]),
    ...section(5, [1, 0, pages]),
    ...section(7, [3, ...named('memory'), 2, 0, ...named('three'), 0, 0, ...named('one'), 0, 1]),
    ...section(10, [2, ...code(locals, three), ...code(locals, one)]),
  ]);
}

/** What is used of WebAssembly, whose types come with those of browsers only. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

type Loop = (start: number, end: number, crc: number) => number;

/** The loop of CRC-32C over whole groups of eight bytes: `tables` and `shift` are put in its memory. */
export function crcModule(
  tables: readonly Uint32Array[],
  shift: readonly Uint32Array[],
): (bytes: Uint8Array, crc: number) => number {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()));
  const { memory, three, one } = instance.exports as {
    memory: { readonly buffer: ArrayBuffer };
    three: Loop;
    one: Loop;
  }; // as declared above
  const words = new Uint32Array(memory.buffer);
  for (const [i, table] of [...tables, ...shift].entries()) words.set(table, 256 * i);
  const heap = new Uint8Array(memory.buffer);
  return (bytes, before) => {
    heap.set(bytes, dataStart);
    const last = dataStart + bytes.length;
    let at = dataStart;
    let state = before;
    for (; last - at >= 3 * stretch; at += 3 * stretch) state = three(at, at + stretch, state);
    return one(at, last, state);
  };
}
