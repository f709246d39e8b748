/** @file Parses serialized tf.train.SequenceExamples, many at once or one, straight into arrays. */
import { type DType, float32, int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { finish, inTurns, type Work } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import {
  arrayOf,
  type ExampleResult,
  type ExampleSpec,
  int64s,
  rowIndices,
  type SparseResult,
  shown,
  sinkFor,
  splitsArray,
} from './spec.ts';
import { copyRange, KeyTable, type Sink, tag, Wire } from './wire.ts';

/** What to look for in the sequences: their dense features may be missing where that is said. */
export interface SequenceSpec extends ExampleSpec {
  readonly mayBeMissing: readonly boolean[];
}
export interface SequenceResult {
  readonly context: ExampleResult;
  readonly lists: {
    readonly dense: readonly NDArray[];
    /** How many steps each example has of each dense feature. */
    readonly lengths: readonly NDArray[];
    readonly sparse: readonly SparseResult[];
    readonly ragged: readonly { readonly values: NDArray; readonly inner: NDArray; readonly outer: NDArray }[];
  };
}

const tagOf = new Map<DType, number>([
  [string, tag.delimited1],
  [float32, tag.delimited2],
  [int64, tag.delimited3],
]);

/** Where a feature stands in each example: pairs of start and end, -1 where it is missing. */
type Places = Int32Array;

/** Parses sequence examples. Without `isBatch` there is one, and the results have no axis for it. */
export const parseSequences = (...given: SequenceArguments): SequenceResult => finish(parsing(...given));

/** As `parseSequences`, with pauses for the event loop. */
export const parseSequencesInTurns = (...given: SequenceArguments): Promise<SequenceResult> =>
  inTurns(parsing(...given));

type SequenceArguments = [
  context: ExampleSpec,
  lists: SequenceSpec,
  serialized: readonly Uint8Array[],
  names: readonly Uint8Array[],
  fallbacks: readonly NDArray[],
  isBatch: boolean,
];

function parsing(...[context, lists, serialized, names, fallbacks, isBatch]: SequenceArguments): Work<SequenceResult> {
  if (names.length > 0 && names.length !== serialized.length)
    throw new InvalidArgumentError('example_names must be empty or have the correct number of elements');
  return new SequenceParser(serialized, names, isBatch).parse(context, lists, fallbacks);
}

/** After so many features of one list it is asked whether the event loop has waited long enough. */
const rowsPerTurn = 256;

class SequenceParser {
  private readonly wire = new Wire();
  constructor(
    private readonly serialized: readonly Uint8Array[],
    private readonly names: readonly Uint8Array[],
    private readonly isBatch: boolean,
  ) {}

  *parse(context: ExampleSpec, lists: SequenceSpec, fallbacks: readonly NDArray[]): Work<SequenceResult> {
    const keysOf = ({ dense, sparse, ragged }: ExampleSpec) => [...dense, ...sparse, ...ragged].map((f) => f.key);
    const [contextPlaces, listPlaces] = yield* this.locate(new KeyTable(keysOf(context)), new KeyTable(keysOf(lists)));
    const { dense, sparse, ragged } = context;
    const values: ContextValues[] = [];
    for (const [i, { key, dtype }] of [...dense, ...sparse, ...ragged].entries())
      values.push(yield* this.read(key, dtype, contextPlaces[i]!));
    const rows: RowValues[] = [];
    for (const [i, { key, dtype }] of [...lists.dense, ...lists.sparse, ...lists.ragged].entries())
      rows.push(yield* this.readRows(key, dtype, listPlaces[i]!));
    const dense2 = lists.dense.map((d, i) =>
      this.denseRows(d.key, d.dtype, d.shape as Shape, rows[i]!, lists.mayBeMissing[i]!, listPlaces[i]!),
    ); // checked by the op
    return {
      context: {
        dense: dense.map((d, i) => this.denseContext(d.key, d.dtype, d.shape as Shape, values[i]!, fallbacks[i]!)), // likewise
        sparse: sparse.map(({ dtype }, i) => this.sparseContext(dtype, values[dense.length + i]!)),
        ragged: ragged.map(({ dtype, splits }, i) => {
          const { sink, counts, total } = values[dense.length + sparse.length + i]!;
          return { values: arrayOf(dtype, [total], sink), splits: this.outerSplits(splits, counts) };
        }),
      },
      lists: {
        dense: dense2.map((d) => d.values),
        lengths: dense2.map((d) => d.lengths),
        sparse: lists.sparse.map(({ dtype }, i) => this.sparseRows(dtype, rows[lists.dense.length + i]!)),
        ragged: lists.ragged.map(({ dtype, splits }, i) => {
          const { sink, counts, total } = rows[lists.dense.length + lists.sparse.length + i]!;
          let end = 0;
          const ends = counts.flatMap((row) => row.map((n) => (end += n)));
          return {
            values: arrayOf(dtype, [total], sink),
            inner: splitsArray(splits, [0, ...ends]),
            outer: this.outerSplits(
              splits,
              counts.map((row) => row.length),
            ),
          };
        }),
      },
    };
  }

  private nameOf(e: number): string {
    return this.names.length === 0 ? '<unknown>' : shown(this.names[e]!);
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

  /** The values of a context feature in all examples; a count of -1 where it is missing. */
  private *read(key: Uint8Array, dtype: DType, places: Places): Work<ContextValues> {
    const sink = sinkFor(dtype);
    const counts: number[] = [];
    let total = 0;
    const { wire } = this;
    for (const [e, bytes] of this.serialized.entries()) {
      yield;
      const [start, end] = [places[2 * e]!, places[2 * e + 1]!];
      if (start < 0 || start === end) {
        counts.push(start < 0 ? -1 : 0);
        continue;
      }
      wire.bytes = bytes;
      wire.pos = start + 1;
      const count = bytes[start] === tagOf.get(dtype) ? sink.read(wire, end, total) : -1;
      if (count < 0)
        throw new InvalidArgumentError(
          `Name: ${this.nameOf(e)}, Context feature: ${shown(key)}.  Data types don't match. Expected type: ${dtype.runtimeName}`,
        );
      counts.push(count);
      total += count;
    }
    return { sink, counts, total };
  }

  /** The values of a list of features in all examples, row by row. */
  private *readRows(key: Uint8Array, dtype: DType, places: Places): Work<RowValues> {
    const sink = sinkFor(dtype);
    const counts: number[][] = [];
    let total = 0;
    const { wire } = this;
    for (const [e, bytes] of this.serialized.entries()) {
      yield;
      const row: number[] = [];
      counts.push(row);
      const end = places[2 * e + 1]!;
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
            `Name: ${this.nameOf(e)}, Feature list: ${shown(key)}, Index: ${row.length}.  Data types don't match. Expected type: ${dtype.runtimeName}`,
          );
        wire.pos = limit;
        row.push(count);
        total += count;
        if (row.length % rowsPerTurn === 0) yield;
      }
    }
    return { sink, counts, total };
  }

  private denseContext(key: Uint8Array, dtype: DType, shape: Shape, values: ContextValues, fallback: NDArray): NDArray {
    const size = sizeOf(shape);
    const longest = values.counts.reduce((a, b) => Math.max(a, b), fallback.size);
    if (longest !== size)
      throw new InvalidArgumentError(
        `Inconsistent max number of elements for feature ${shown(key)}: expected ${size}, but found ${longest}`,
      );
    const target = sinkFor(dtype, size * values.counts.length);
    let from = 0;
    for (const [e, count] of values.counts.entries()) {
      if (count < 0 && fallback.size === 0)
        throw new InvalidArgumentError(
          `Feature: ${shown(key)} (data type: ${dtype.runtimeName}) is required but could not be found.`,
        );
      if (count >= 0 && count !== size)
        throw new InvalidArgumentError(`Unexpected number of elements in example ${this.nameOf(e)}`);
      copyRange(count < 0 ? contentOf(fallback) : values.sink.data, count < 0 ? 0 : from, target, e * size, size);
      from += Math.max(0, count);
    }
    return arrayOf(dtype, this.batched(shape), target);
  }

  private sparseContext(dtype: DType, { sink, counts, total }: ContextValues): SparseResult {
    const lengths = counts.map((n) => Math.max(0, n));
    const longest = lengths.reduce((a, b) => Math.max(a, b), 0);
    const shape = this.batched([longest]);
    return {
      indices: rowIndices(lengths, total, this.isBatch),
      values: arrayOf(dtype, [total], sink),
      shape: int64s([shape.length], shape),
    };
  }

  private denseRows(
    key: Uint8Array,
    dtype: DType,
    shape: Shape,
    { sink, counts }: RowValues,
    mayBeMissing: boolean,
    places: Places,
  ): { readonly values: NDArray; readonly lengths: NDArray } {
    const size = sizeOf(shape);
    const longest = counts.reduce(
      (a, row) =>
        Math.max(
          a,
          row.reduce((n, x) => n + x, 0),
        ),
      0,
    );
    if (size === 0 || longest % size !== 0)
      throw new InvalidArgumentError(
        `Feature list '${shown(key)}' has an unexpected number of values.  Total values size: ${longest} is not consistent with output shape: ${showRuntime([null, ...shape])}`,
      );
    const target = sinkFor(dtype, longest * counts.length);
    let from = 0;
    for (const [e, row] of counts.entries()) {
      if (places[2 * e]! < 0 && !mayBeMissing)
        throw new InvalidArgumentError(
          `Name: ${this.nameOf(e)}, Feature list '${shown(key)}' is required but could not be found.  Did you mean to include it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?`,
        );
      for (const [i, count] of row.entries()) {
        if (count !== size)
          throw new InvalidArgumentError(
            `Name: ${this.nameOf(e)}, Key: ${shown(key)}, Index: ${i}.  Number of values != expected.  values size: ${count} but output shape: ${showRuntime(shape)}`,
          );
        copyRange(sink.data, from, target, e * longest + i * size, size);
        from += size;
      }
    }
    return {
      values: arrayOf(dtype, this.batched([longest / size, ...shape]), target),
      lengths: int64s(
        this.batched([]),
        counts.map((row) => row.length),
      ),
    };
  }

  private sparseRows(dtype: DType, { sink, counts, total }: RowValues): SparseResult {
    const columns = this.isBatch ? 3 : 2;
    const data = new BigInt64Array(total * columns);
    const halves = new Int32Array(data.buffer); // little-endian; the upper halves stay zero
    let at = 0;
    let [rows, most] = [0, 0];
    for (const [e, row] of counts.entries()) {
      rows = Math.max(rows, row.length);
      for (const [r, count] of row.entries()) {
        most = Math.max(most, count);
        for (let i = 0; i < count; i++) {
          if (this.isBatch) halves[2 * at++] = e;
          halves[2 * at++] = r;
          halves[2 * at++] = i;
        }
      }
    }
    return {
      indices: new NDArray(int64, [total, columns], data),
      values: arrayOf(dtype, [total], sink),
      shape: int64s([columns], this.batched([rows, most])),
    };
  }

  /** Where the rows of each example end; one example by itself has none, and TensorFlow gives a scalar there. */
  private outerSplits(dtype: DType, counts: readonly number[]): NDArray {
    if (!this.isBatch) return splitsArray(dtype, [0]).reshape([]);
    let end = 0;
    return splitsArray(dtype, [0, ...counts.map((n) => (end += Math.max(0, n)))]);
  }

  private batched(shape: Shape): Shape {
    return this.isBatch ? [this.serialized.length, ...shape] : shape;
  }
}

interface ContextValues {
  readonly sink: Sink;
  /** How many each example has. */
  readonly counts: readonly number[];
  readonly total: number;
}
interface RowValues {
  readonly sink: Sink;
  /** How many each row of each example has. */
  readonly counts: readonly (readonly number[])[];
  readonly total: number;
}

const contentOf = (array: NDArray): Sink['data'] => (array.dtype.isObject ? array.objects : array.data) as Sink['data']; // defaults have the types of features
