/** @file Parses serialized tf.train.SequenceExamples, many at once or one, straight into arrays. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { finish, inTurns, type Work } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import { sequencesBeside } from './nativeSequences.ts';
import { type ContextValues, type RowValues, SequenceReader, type SequenceValues } from './readSequences.ts';
import {
  arrayOf,
  type DenseFeature,
  type ExampleResult,
  type ExampleSpec,
  int64s,
  rowIndices,
  type SparseResult,
  shown,
  sinkFor,
  splitsArray,
} from './spec.ts';
import { copyRange, type Sink } from './wire.ts';

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

type SequenceArguments = [
  context: ExampleSpec,
  lists: SequenceSpec,
  serialized: readonly Uint8Array[],
  names: readonly Uint8Array[],
  fallbacks: readonly NDArray[],
  isBatch: boolean,
];

/** Parses sequence examples. Without `isBatch` there is one, and the results have no axis for it. */
export function parseSequences(...[context, lists, serialized, names, fallbacks, isBatch]: SequenceArguments) {
  const name = namer(serialized, names);
  const values = finish(new SequenceReader(serialized, name).read(context, lists));
  return finish(new Assembler(serialized.length, isBatch, name).assemble(context, lists, values, fallbacks));
}

/** As `parseSequences`, beside the event loop where that is worth while, else with pauses for it. */
export async function parseSequencesLater(
  ...[context, lists, serialized, names, fallbacks, isBatch]: SequenceArguments
): Promise<SequenceResult> {
  const name = namer(serialized, names);
  const values =
    (await sequencesBeside(context, lists, serialized)) ??
    (await inTurns(new SequenceReader(serialized, name).read(context, lists)));
  return await inTurns(new Assembler(serialized.length, isBatch, name).assemble(context, lists, values, fallbacks));
}

/** What to call an example in a message. */
function namer(serialized: readonly Uint8Array[], names: readonly Uint8Array[]): (example: number) => string {
  if (names.length > 0 && names.length !== serialized.length)
    throw new InvalidArgumentError('example_names must be empty or have the correct number of elements');
  return (e) => (names.length === 0 ? '<unknown>' : shown(names[e]!));
}

const longestOf = (counts: Int32Array) => counts.reduce((a, b) => Math.max(a, b), 0);

/** Makes arrays of values; what does not fit the features asked for is an error. */
class Assembler {
  constructor(
    private readonly examples: number,
    private readonly isBatch: boolean,
    private readonly nameOf: (example: number) => string,
  ) {}

  *assemble(
    context: ExampleSpec,
    lists: SequenceSpec,
    { context: values, lists: rows }: SequenceValues,
    fallbacks: readonly NDArray[],
  ): Work<SequenceResult> {
    const denseLists: DenseRows[] = [];
    for (const [i, feature] of lists.dense.entries())
      denseLists.push(yield* this.denseRows(feature, rows[i]!, lists.mayBeMissing[i]!));
    const dense: NDArray[] = [];
    for (const [i, feature] of context.dense.entries())
      dense.push(yield* this.denseContext(feature, values[i]!, fallbacks[i]!));
    const sparse: SparseResult[] = [];
    for (const [i, { dtype }] of lists.sparse.entries())
      sparse.push(yield* this.sparseRows(dtype, rows[lists.dense.length + i]!));
    return {
      context: {
        dense,
        sparse: context.sparse.map(({ dtype }, i) => this.sparseContext(dtype, values[dense.length + i]!)),
        ragged: context.ragged.map(({ dtype, splits }, i) => {
          const { sink, counts, total } = values[dense.length + context.sparse.length + i]!;
          return { values: arrayOf(dtype, [total], sink), splits: this.outerSplits(splits, counts) };
        }),
      },
      lists: {
        dense: denseLists.map((d) => d.values),
        lengths: denseLists.map((d) => d.lengths),
        sparse,
        ragged: lists.ragged.map(({ dtype, splits }, i) => {
          const { sink, rows: perExample, counts, total } = rows[lists.dense.length + lists.sparse.length + i]!;
          return {
            values: arrayOf(dtype, [total], sink),
            inner: splitsArray(splits, endsOf(counts)),
            outer: this.outerSplits(splits, perExample),
          };
        }),
      },
    };
  }

  private *denseContext(
    { key, dtype, shape }: DenseFeature,
    { sink, counts }: ContextValues,
    fallback: NDArray,
  ): Work<NDArray> {
    const sizes = shape as Shape; // the op has seen that it is known
    const size = sizeOf(sizes);
    const longest = Math.max(longestOf(counts), fallback.size);
    if (longest !== size)
      throw new InvalidArgumentError(
        `Inconsistent max number of elements for feature ${shown(key)}: expected ${size}, but found ${longest}`,
      );
    const target = sinkFor(dtype, size * counts.length);
    let from = 0;
    for (const [e, count] of counts.entries()) {
      if (count < 0 && fallback.size === 0)
        throw new InvalidArgumentError(
          `Feature: ${shown(key)} (data type: ${dtype.runtimeName}) is required but could not be found.`,
        );
      if (count >= 0 && count !== size)
        throw new InvalidArgumentError(`Unexpected number of elements in example ${this.nameOf(e)}`);
      copyRange(count < 0 ? contentOf(fallback) : sink.data, count < 0 ? 0 : from, target, e * size, size);
      from += Math.max(0, count);
      if (e % examplesPerTurn === 0) yield;
    }
    return arrayOf(dtype, this.batched(sizes), target);
  }

  private sparseContext(dtype: DType, { sink, counts, total }: ContextValues): SparseResult {
    const lengths = Array.from(counts, (n) => Math.max(0, n));
    const shape = this.batched([longestOf(counts)]);
    return {
      indices: rowIndices(lengths, total, this.isBatch),
      values: arrayOf(dtype, [total], sink),
      shape: int64s([shape.length], shape),
    };
  }

  private *denseRows(
    { key, dtype, shape }: DenseFeature,
    { sink, rows, counts }: RowValues,
    mayBeMissing: boolean,
  ): Work<DenseRows> {
    const sizes = shape as Shape; // the op has seen that it is known
    const size = sizeOf(sizes);
    const longest = mostValues(rows, counts);
    if (size === 0 || longest % size !== 0)
      throw new InvalidArgumentError(
        `Feature list '${shown(key)}' has an unexpected number of values.  Total values size: ${longest} is not consistent with output shape: ${showRuntime([null, ...sizes])}`,
      );
    const target = sinkFor(dtype, longest * rows.length);
    let row = 0;
    for (const [e, length] of rows.entries()) {
      if (length < 0 && !mayBeMissing)
        throw new InvalidArgumentError(
          `Name: ${this.nameOf(e)}, Feature list '${shown(key)}' is required but could not be found.  Did you mean to include it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?`,
        );
      const first = row;
      for (const end = row + Math.max(0, length); row < end; row++)
        if (counts[row] !== size)
          throw new InvalidArgumentError(
            `Name: ${this.nameOf(e)}, Key: ${shown(key)}, Index: ${row - first}.  Number of values != expected.  values size: ${counts[row]} but output shape: ${showRuntime(sizes)}`,
          );
      copyRange(sink.data, first * size, target, e * longest, (row - first) * size);
      if (e % examplesPerTurn === 0) yield;
    }
    return {
      values: arrayOf(dtype, this.batched([longest / size, ...sizes]), target),
      lengths: int64s(
        this.batched([]),
        Array.from(rows, (n) => Math.max(0, n)),
      ),
    };
  }

  private *sparseRows(dtype: DType, { sink, rows, counts, total }: RowValues): Work<SparseResult> {
    const columns = this.isBatch ? 3 : 2;
    const data = new BigInt64Array(total * columns);
    const halves = new Int32Array(data.buffer); // little-endian; the upper halves stay zero
    let at = 0;
    let row = 0;
    for (const [e, length] of rows.entries()) {
      for (let r = 0; r < length; r++, row++) {
        const count = counts[row]!;
        for (let i = 0; i < count; i++) {
          if (this.isBatch) halves[2 * at++] = e;
          halves[2 * at++] = r;
          halves[2 * at++] = i;
        }
      }
      if (e % examplesPerTurn === 0) yield;
    }
    return {
      indices: new NDArray(int64, [total, columns], data),
      values: arrayOf(dtype, [total], sink),
      shape: int64s([columns], this.batched([longestOf(rows), longestOf(counts)])),
    };
  }

  /** Where the rows of each example end; one example by itself has none, and TensorFlow gives a scalar there. */
  private outerSplits(dtype: DType, counts: Int32Array): NDArray {
    return this.isBatch ? splitsArray(dtype, endsOf(counts)) : splitsArray(dtype, [0]).reshape([]);
  }

  private batched(shape: Shape): Shape {
    return this.isBatch ? [this.examples, ...shape] : shape;
  }
}

/** After so many examples it is asked whether the event loop has waited long enough. */
const examplesPerTurn = 64;

interface DenseRows {
  readonly values: NDArray;
  readonly lengths: NDArray;
}

/** How many values the example has that has most of them. */
function mostValues(rows: Int32Array, counts: Int32Array): number {
  let most = 0;
  let row = 0;
  for (const length of rows) {
    let values = 0;
    for (const end = row + Math.max(0, length); row < end; row++) values += counts[row]!;
    most = Math.max(most, values);
  }
  return most;
}

/** Zero, and where each of some parts ends when they lie one behind the other. */
function endsOf(counts: Int32Array): number[] {
  let end = 0;
  return [0, ...Array.from(counts, (n) => (end += Math.max(0, n)))];
}

const contentOf = (array: NDArray): Sink['data'] => (array.dtype.isObject ? array.objects : array.data) as Sink['data']; // defaults have the types of features
