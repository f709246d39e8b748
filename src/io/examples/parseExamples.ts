/** @file Parses serialized tf.train.Examples, many at once or one, straight into arrays. */
import { type DType, float32, int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime } from '../../core/shape.ts';
import { parseBeside } from './nativeParse.ts';
import {
  arrayOf,
  type ExampleResult,
  type ExampleSpec,
  int64s,
  isVariable,
  rowIndices,
  shown,
  sinkFor,
  splitsArray,
  strideOf,
} from './spec.ts';
import { BytesSink, copyRange, KeyTable, type Sink, tag, Wire } from './wire.ts';

/** What is said of a list of each type. */
const listNames = new Map<DType, { readonly list: string; readonly values: string }>([
  [string, { list: 'bytes_list', values: 'bytes' }],
  [float32, { list: 'float_list', values: 'float' }],
  [int64, { list: 'int64_list', values: 'int64' }],
]);

/** A damaged example may be large; its message need not be. */
const shownBytes = 1024;

/** One feature asked for: where its value stands in the example being read, and what its values go into. */
export interface Slot {
  readonly kind: 'dense' | 'sparse' | 'ragged';
  readonly key: Uint8Array;
  readonly dtype: DType;
  readonly shape: Dims;
  /** Dense and of a fixed shape. */
  readonly isFixed: boolean;
  readonly stride: number;
}

export class ExampleParser {
  private readonly slots: readonly Slot[];
  private readonly table: KeyTable;
  private readonly wire = new Wire();
  /** Where the values of the slots are in the current example, if `seen` is its number. */
  private readonly starts: Int32Array;
  private readonly ends: Int32Array;
  private readonly seen: Int32Array;
  private current = 0;
  /** The slots of the features of the example before, in order: examples of one origin are alike. */
  private readonly order: number[] = [];

  constructor(private readonly spec: ExampleSpec) {
    this.slots = [
      ...spec.dense.map(
        (d): Slot => ({ ...d, kind: 'dense', isFixed: !isVariable(d.shape), stride: strideOf(d.shape) }),
      ),
      ...spec.sparse.map((s): Slot => ({ ...s, kind: 'sparse', shape: [null], isFixed: false, stride: 1 })),
      ...spec.ragged.map((r): Slot => ({ ...r, kind: 'ragged', shape: [null], isFixed: false, stride: 1 })),
    ];
    this.table = new KeyTable(this.slots.map((slot) => slot.key));
    this.starts = new Int32Array(this.slots.length);
    this.ends = new Int32Array(this.slots.length);
    this.seen = new Int32Array(this.slots.length);
  }

  /** Parses examples into arrays whose first axis goes over them. `fallbacks` are the defaults of the dense features. */
  parse(serialized: readonly Uint8Array[], names: readonly Uint8Array[], fallbacks: readonly NDArray[]): ExampleResult {
    const count = serialized.length;
    const sinks = this.slots.map((slot) => sinkFor(slot.dtype, slot.isFixed ? count * slot.stride : 0));
    const lengths = this.slots.map(() => new Array<number>(count).fill(0));
    const totals = this.slots.map(() => 0);
    for (let e = 0; e < count; e++) {
      const bytes = serialized[e]!;
      this.locate(bytes);
      for (let s = 0; s < this.slots.length; s++) {
        const slot = this.slots[s]!;
        const isFound = this.seen[s] === this.current;
        if (slot.isFixed) {
          if (isFound) this.readFixed(slot, s, sinks[s]!, e, names);
          else fillFixed(slot, sinks[s]!, e, fallbacks[s]!, nameOf(names, e));
        } else if (isFound) {
          const read = this.readVariable(slot, s, sinks[s]!, totals[s]!, e, names);
          lengths[s]![e] = read;
          totals[s]! += read;
        }
      }
    }
    return this.results(count, sinks, lengths, totals, fallbacks);
  }

  /** As `parse`, beside the event loop where that is worth while. */
  async parseLater(
    serialized: readonly Uint8Array[],
    names: readonly Uint8Array[],
    fallbacks: readonly NDArray[],
  ): Promise<ExampleResult> {
    const read = await parseBeside(this.slots, serialized, fallbacks);
    if (!read) return this.parse(serialized, names, fallbacks);
    return this.results(serialized.length, read.sinks, read.lengths, read.totals, fallbacks);
  }

  private results(
    count: number,
    sinks: readonly Sink[],
    lengths: readonly (readonly number[])[],
    totals: readonly number[],
    fallbacks: readonly NDArray[],
  ): ExampleResult {
    const { dense, sparse, ragged } = this.spec;
    return {
      dense: dense.map(({ dtype, shape }, d) => {
        const slot = this.slots[d]!;
        if (slot.isFixed) return arrayOf(dtype, [count, ...(shape as Shape)], sinks[d]!); // fixed shapes are known
        return padded(slot, sinks[d]!, lengths[d]!, fallbacks[d]!);
      }),
      sparse: sparse.map(({ dtype }, i) => {
        const s = dense.length + i;
        const total = totals[s]!;
        return {
          indices: rowIndices(lengths[s]!, total, true),
          values: arrayOf(dtype, [total], sinks[s]!),
          shape: int64s([2], [count, longest(lengths[s]!)]),
        };
      }),
      ragged: ragged.map(({ dtype, splits }, i) => {
        const s = dense.length + sparse.length + i;
        let end = 0;
        const ends = lengths[s]!.map((length) => (end += length));
        return { values: arrayOf(dtype, [totals[s]!], sinks[s]!), splits: splitsArray(splits, [0, ...ends]) };
      }),
    };
  }

  /** Parses one example into arrays without that axis. */
  parseOne(bytes: Uint8Array, fallbacks: readonly NDArray[]): ExampleResult {
    this.locate(bytes, true);
    const { dense, sparse, ragged } = this.spec;
    const values = this.slots.map((slot, s) => this.readOne(slot, s, fallbacks[s]));
    return {
      dense: dense.map((_, d) => values[d]!),
      sparse: sparse.map((_, i) => {
        const array = values[dense.length + i]!;
        return {
          indices: rowIndices([array.size], array.size, false),
          values: array,
          shape: int64s([1], [array.size]),
        };
      }),
      ragged: ragged.map(({ splits }, i) => ({
        values: values[dense.length + sparse.length + i]!,
        splits: splitsArray(splits, []),
      })),
    };
  }

  /** Finds the features asked for in an example. Of two with one name the last counts. */
  private locate(bytes: Uint8Array, isAlone = false): void {
    this.current++;
    const { wire } = this;
    wire.bytes = bytes;
    wire.pos = 0;
    const end = bytes.length;
    let position = 0;
    while (wire.pos < end) {
      if (bytes[wire.pos] !== tag.delimited1) {
        if (!wire.skipField(end)) throw unparsable(bytes);
        continue;
      }
      wire.pos++;
      const limit = wire.enclosed(end);
      if (limit < 0) throw unparsable(bytes);
      while (wire.pos < limit) if (!this.locateFeature(limit, position++, isAlone)) throw unparsable(bytes);
    }
  }

  private locateFeature(limit: number, position: number, isAlone: boolean): boolean {
    const { wire, order } = this;
    const { bytes } = wire;
    if (bytes[wire.pos++] !== tag.delimited1) return false;
    const end = wire.enclosed(limit);
    if (end < 0) return false;
    let keyStart = 0;
    let keyEnd = 0;
    let start = 0;
    let valueEnd = 0;
    // The key and the value may come in either order.
    for (let part = 0; part < 2; part++) {
      const kind = wire.varint(end);
      const last = kind === tag.delimited1 || kind === tag.delimited2 ? wire.whole(end) : -1;
      if (last < 0) return false;
      if (kind === tag.delimited1) {
        keyStart = wire.pos;
        keyEnd = last;
      } else {
        start = wire.pos;
        valueEnd = last;
      }
      wire.pos = last;
    }
    if (wire.pos !== end) return false;
    let slot = order[position] ?? -1;
    if (slot < 0 || !this.table.matches(slot, bytes, keyStart, keyEnd)) {
      slot = this.table.find(bytes, keyStart, keyEnd);
      order[position] = slot;
    }
    // A dense feature without a value is as good as missing, and so is any in an example by itself.
    if (slot < 0 || (start === valueEnd && (isAlone || this.slots[slot]!.kind === 'dense'))) return true;
    this.starts[slot] = start;
    this.ends[slot] = valueEnd;
    this.seen[slot] = this.current;
    return true;
  }

  /** The type of the list that a slot's value holds; the wire stands behind its tag then. */
  private typeAt(s: number): DType | undefined {
    const { wire } = this;
    wire.pos = this.starts[s]!;
    if (wire.pos === this.ends[s]) return undefined;
    switch (wire.bytes[wire.pos++]) {
      case tag.delimited1:
        return string;
      case tag.delimited2:
        return float32;
      case tag.delimited3:
        return int64;
      default:
        throw new InvalidArgumentError('Unsupported datatype.');
    }
  }

  private readFixed(slot: Slot, s: number, sink: Sink, e: number, names: readonly Uint8Array[]): void {
    const { dtype, stride, shape } = slot;
    const place = () => `Name: ${nameOf(names, e)}, Key: ${shown(slot.key)}, Index: ${e}.  `;
    const found = this.typeAt(s);
    if (found !== dtype) throw new InvalidArgumentError(place() + wrongType(found!, dtype));
    const count = sink.read(this.wire, this.ends[s]!, e * stride, stride);
    if (count < 0) throw new InvalidArgumentError(`${place()}Can't parse serialized Example.`);
    if (count !== stride)
      throw new InvalidArgumentError(
        `${place()}Number of ${listNames.get(dtype)!.values} values != expected.  Values size: ${count} but output shape: ${showRuntime(shape)}`,
      );
  }

  /** Reads a list of any length to the place `at` of its sink. */
  private readVariable(slot: Slot, s: number, sink: Sink, at: number, e: number, names: readonly Uint8Array[]): number {
    const { dtype, stride, shape, kind } = slot;
    const place = () => `Name: ${nameOf(names, e)}, Key: ${shown(slot.key)}, Index: ${e}.  `;
    const found = this.typeAt(s);
    if (found === undefined) return 0;
    if (found !== dtype)
      throw new InvalidArgumentError(place() + (kind === 'dense' ? wrongType(found, dtype) : otherType(found, dtype)));
    const count = sink.read(this.wire, this.ends[s]!, at);
    if (count < 0) throw new InvalidArgumentError(`${place()}Can't parse serialized Example.`);
    if (count % stride !== 0)
      throw new InvalidArgumentError(
        `${place()}Number of ${listNames.get(dtype)!.values} values is not a multiple of stride length. Saw ${count} values but output shape is: ${showRuntime(shape)}`,
      );
    return count;
  }

  private readOne(slot: Slot, s: number, fallback: NDArray | undefined): NDArray {
    const { dtype, isFixed, stride, kind } = slot;
    const key = shown(slot.key);
    const sizes = kind === 'dense' ? slot.shape! : [null]; // dense shapes have a rank
    if (this.seen[s] !== this.current) {
      if (!isFixed) return arrayOf(dtype, [0, ...(sizes.slice(1) as Shape)], sinkFor(dtype)); // only the first is unknown
      if (fallback!.size > 0) return fallback!.copy();
      throw new InvalidArgumentError(
        `Feature: ${key} (data type: ${dtype.runtimeName}) is required but could not be found.`,
      );
    }
    const found = this.typeAt(s)!; // features without a value are missing here
    if (found !== dtype)
      throw new InvalidArgumentError(
        `Key: ${key}.  ${kind === 'dense' ? wrongType(found, dtype) : otherType(found, dtype)}`,
      );
    const { list } = listNames.get(dtype)!;
    const sink = sinkFor(dtype, isFixed ? stride : 0);
    const count = sink.read(this.wire, this.ends[s]!, 0, isFixed ? stride : undefined);
    const unparsed = (why: string) => new InvalidArgumentError(`Key: ${key}.  Can't parse serialized Example: ${why}`);
    if (count < 0) throw unparsed(`Parsing ${list} failed.`);
    if (isFixed) {
      if (count !== stride) throw unparsed(`Some ${list} slice was not parsed.`);
      return arrayOf(dtype, sizes as Shape, sink); // fixed shapes are known
    }
    if (count % stride !== 0)
      throw new InvalidArgumentError(
        `Error while parsing feature with key ${key}: number of elements should be divisible by ${stride}, found ${count} instead`,
      );
    return arrayOf(dtype, [stride === 0 ? 0 : count / stride, ...(sizes.slice(1) as Shape)], sink); // as above
  }
}

const wrongType = (found: DType, wanted: DType) =>
  `Data types don't match. Data type: ${found.runtimeName} but expected type: ${wanted.runtimeName}`;
const otherType = (found: DType, wanted: DType) =>
  `Data types don't match. Expected type: ${wanted.runtimeName}, Actual type: ${found.runtimeName}`;

const nameOf = (names: readonly Uint8Array[], e: number) => (names.length === 0 ? '<unknown>' : shown(names[e]!));

function unparsable(bytes: Uint8Array): InvalidArgumentError {
  const text = shown(bytes.subarray(0, shownBytes));
  return new InvalidArgumentError(
    `Could not parse example input, value: '${text}${bytes.length > shownBytes ? '…' : ''}'`,
  );
}

/** Puts the default of a fixed feature where an example lacks it. */
function fillFixed({ key, dtype, stride }: Slot, sink: Sink, e: number, fallback: NDArray, name: string): void {
  if (fallback.size === 0)
    throw new InvalidArgumentError(
      `Name: ${name}, Feature: ${shown(key)} (data type: ${dtype.runtimeName}) is required but could not be found.`,
    );
  if (sink instanceof BytesSink)
    for (let i = 0; i < stride; i++) sink.data[e * stride + i] = fallback.objects[i] as Uint8Array; // what string arrays hold
  else sink.data.set(fallback.data as never, e * stride); // the parser made the sink for the type of the default
}

const longest = (lengths: readonly number[]) => lengths.reduce((a, b) => Math.max(a, b), 0);

/** The values of a feature whose length differs, filled up to the longest. */
function padded({ dtype, shape, stride }: Slot, sink: Sink, lengths: readonly number[], padding: NDArray): NDArray {
  const steps = stride === 0 ? 0 : longest(lengths) / stride;
  const inner = (shape ?? []).slice(1) as Shape; // only the first size may be unknown
  const width = steps * stride;
  const size = lengths.length * width;
  const target = sinkFor(dtype, size);
  const fill = padding.dtype.isObject ? padding.objects[0] : padding.data[0];
  let from = 0;
  for (const [e, length] of lengths.entries()) {
    copyRange(sink.data, from, target, e * width, length);
    from += length;
  }
  for (const [e, length] of lengths.entries())
    (target.data as { fill(x: unknown, from: number, to: number): unknown }).fill(
      fill,
      e * width + length,
      (e + 1) * width,
    ); // the default has the sink's type
  return arrayOf(dtype, [lengths.length, steps, ...inner], target);
}
