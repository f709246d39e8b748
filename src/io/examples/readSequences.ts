/** @file Finds the features of serialized tf.train.SequenceExamples and reads their values, in TypeScript. */
import { type DType, float32, int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Work } from '../../core/eventLoop.ts';
import { type ExampleSpec, shown, sinkFor } from './spec.ts';
import { KeyTable, type Sink, tag, Wire } from './wire.ts';

/** The values of a feature of the context in all examples. */
export interface ContextValues {
  readonly sink: Sink;
  /** How many each example has; -1 where the feature is missing. */
  readonly counts: Int32Array;
  readonly total: number;
}
/** The values of a list of features in all examples. */
export interface RowValues {
  readonly sink: Sink;
  /** How many rows each example has; -1 where the list is missing. */
  readonly rows: Int32Array;
  /** How many values each row has, those of all examples one behind the other. */
  readonly counts: Int32Array;
  readonly total: number;
}
export interface SequenceValues {
  readonly context: readonly ContextValues[];
  readonly lists: readonly RowValues[];
}

/** The features of a kind, in the order in which their values are given. */
export const featuresOf = ({ dense, sparse, ragged }: ExampleSpec) => [...dense, ...sparse, ...ragged];

const tagOf = new Map<DType, number>([
  [string, tag.delimited1],
  [float32, tag.delimited2],
  [int64, tag.delimited3],
]);

/** Where a feature stands in each example: pairs of start and end, -1 where it is missing. */
type Places = Int32Array;

/** After so many features of one list it is asked whether the event loop has waited long enough. */
const rowsPerTurn = 256;

export class SequenceReader {
  private readonly wire = new Wire();
  constructor(
    private readonly serialized: readonly Uint8Array[],
    /** What to call an example in a message. */
    private readonly nameOf: (example: number) => string,
  ) {}

  *read(context: ExampleSpec, lists: ExampleSpec): Work<SequenceValues> {
    const tableOf = (spec: ExampleSpec) => new KeyTable(featuresOf(spec).map(({ key }) => key));
    const [contextPlaces, listPlaces] = yield* this.locate(tableOf(context), tableOf(lists));
    const values: ContextValues[] = [];
    for (const [i, { key, dtype }] of featuresOf(context).entries())
      values.push(yield* this.readValues(key, dtype, contextPlaces[i]!));
    const rows: RowValues[] = [];
    for (const [i, { key, dtype }] of featuresOf(lists).entries())
      rows.push(yield* this.readRows(key, dtype, listPlaces[i]!));
    return { context: values, lists: rows };
  }

  /** Finds the features asked for in all examples. */
  private *locate(context: KeyTable, lists: KeyTable): Work<readonly [readonly Places[], readonly Places[]]> {
    const places = (table: KeyTable) => table.keys.map(() => new Int32Array(2 * this.serialized.length).fill(-1));
    const found = [places(context), places(lists)] as const;
    const { wire } = this;
    for (const [e, bytes] of this.serialized.entries()) {
      yield;
      wire.bytes = bytes;
      wire.pos = 0;
      const invalid = () => new InvalidArgumentError(`Invalid protocol message input, example id: ${this.nameOf(e)}`);
      while (wire.pos < bytes.length) {
        const kind = bytes[wire.pos];
        if (kind !== tag.delimited1 && kind !== tag.delimited2) {
          if (!wire.skipField(bytes.length)) throw invalid();
          continue;
        }
        wire.pos++;
        const limit = wire.enclosed(bytes.length);
        if (limit < 0) throw invalid();
        const [table, into] = kind === tag.delimited1 ? [context, found[0]] : [lists, found[1]];
        while (wire.pos < limit) if (!this.locateEntry(limit, table, into, e)) throw invalid();
      }
    }
    return found;
  }

  private locateEntry(limit: number, table: KeyTable, into: readonly Places[], e: number): boolean {
    const { wire } = this;
    const { bytes } = wire;
    if (bytes[wire.pos++] !== tag.delimited1) return false;
    const end = wire.enclosed(limit);
    if (end < 0 || bytes[wire.pos++] !== tag.delimited1) return false;
    const keyEnd = wire.whole(end);
    if (keyEnd < 0) return false;
    const slot = table.find(bytes, wire.pos, keyEnd);
    wire.pos = keyEnd;
    if (wire.pos >= end || bytes[wire.pos++] !== tag.delimited2) return false;
    const valueEnd = wire.whole(end);
    if (valueEnd !== end) return false;
    if (slot >= 0) {
      into[slot]![2 * e] = wire.pos;
      into[slot]![2 * e + 1] = valueEnd;
    }
    wire.pos = valueEnd;
    return true;
  }

  /** The values of a feature of the context in all examples. */
  private *readValues(key: Uint8Array, dtype: DType, places: Places): Work<ContextValues> {
    const sink = sinkFor(dtype);
    const counts = new Int32Array(this.serialized.length);
    let total = 0;
    const { wire } = this;
    for (const [e, bytes] of this.serialized.entries()) {
      yield;
      const [start, end] = [places[2 * e]!, places[2 * e + 1]!];
      if (start < 0 || start === end) {
        counts[e] = start < 0 ? -1 : 0;
        continue;
      }
      wire.bytes = bytes;
      wire.pos = start + 1;
      const count = bytes[start] === tagOf.get(dtype) ? sink.read(wire, end, total) : -1;
      if (count < 0)
        throw new InvalidArgumentError(
          `Name: ${this.nameOf(e)}, Context feature: ${shown(key)}.  Data types don't match. Expected type: ${dtype.runtimeName}`,
        );
      counts[e] = count;
      total += count;
    }
    return { sink, counts, total };
  }

  /** The values of a list of features in all examples, row by row. */
  private *readRows(key: Uint8Array, dtype: DType, places: Places): Work<RowValues> {
    const sink = sinkFor(dtype);
    const rows = new Int32Array(this.serialized.length);
    const counts: number[] = [];
    let total = 0;
    const { wire } = this;
    for (const [e, bytes] of this.serialized.entries()) {
      yield;
      const end = places[2 * e + 1]!;
      let row = 0;
      wire.bytes = bytes;
      wire.pos = Math.max(0, places[2 * e]!);
      while (wire.pos < end) {
        const isFeature = bytes[wire.pos++] === tag.delimited1;
        const length = isFeature ? wire.varint(end) : -1;
        if (length < 0 || length === 1)
          throw new InvalidArgumentError(`Error in sequence feature ${shown(key)} in example ${this.nameOf(e)}`);
        const limit = Math.min(end, wire.pos + length);
        let count = 0;
        if (length > 0) count = bytes[wire.pos++] === tagOf.get(dtype) ? sink.read(wire, limit, total) : -1;
        if (count < 0)
          throw new InvalidArgumentError(
            `Name: ${this.nameOf(e)}, Feature list: ${shown(key)}, Index: ${row}.  Data types don't match. Expected type: ${dtype.runtimeName}`,
          );
        wire.pos = limit;
        counts.push(count);
        row++;
        total += count;
        if (row % rowsPerTurn === 0) yield;
      }
      rows[e] = end < 0 ? -1 : row;
    }
    return { sink, rows, counts: Int32Array.from(counts), total };
  }
}
