/** @file Records of comma-separated values parsed by the native library: few at once, many beside the event loop. */
import { type DType, float32, float64, int32, int64, string, type TypedArray } from '../core/dtypes.ts';
import type { Work } from '../core/eventLoop.ts';
import { NDArray } from '../core/ndarray.ts';
import type { Shape } from '../core/shape.ts';
import type { CsvOptions } from './csv.ts';
import type { CsvRecordOptions } from './csvRecords.ts';
import { keep, nativeFamily } from './native.ts';
import {
  callWithStrings,
  joinedKeys,
  NativeBlocks,
  nativeCall,
  separated,
  separatedNow,
  withBlocks,
} from './nativeStrings.ts';

const native = nativeFamily((functions) => ({
  parse: nativeCall(
    functions,
    'int64_t tl_csv_parse(int64_t columns, int64_t count, int64_t options, int64_t texts, int64_t data, int64_t offsets, int64_t records)',
  ),
  records: nativeCall(
    functions,
    'int64_t tl_csv_records(int64_t columns, int64_t count, int64_t options, int64_t texts, int64_t data, int64_t from, int64_t to, int64_t isLast, int64_t isStrict)',
  ),
  numbers: nativeCall(
    functions,
    'int64_t tl_csv_numbers(int64_t bytes, int64_t ends, int64_t from, int64_t count, double missing, int64_t out)',
  ),
  address: functions.address,
}));

const worth = { least: 2 ** 10, quick: 2 ** 16 };
const types: readonly DType[] = [string, float32, float64, int32, int64];

/** What the library is told about columns: their types, where their numbers go, and what stands for values that are missing. */
function tablesOf(
  options: CsvOptions & { readonly excluded?: readonly number[] },
  notAvailable: Uint8Array,
  defaults: readonly NDArray[],
  addresses: readonly number[],
) {
  const fallbacks = defaults.map(
    (array) => (array.dtype === string ? (array.objects[0] as Uint8Array | undefined) : array.bytes), // strings are bytes
  );
  const texts = joinedKeys([notAvailable, ...fallbacks.map((bytes) => bytes ?? new Uint8Array(0))]);
  const columns = Float64Array.from(
    defaults.flatMap(({ dtype, size }, i) => [
      types.indexOf(dtype),
      addresses[i]!,
      ...(size === 0 ? [-1, -1] : texts.places[i + 1]!),
    ]),
  );
  const { delimiter, useQuotes, columns: chosen, excluded = [] } = options;
  const lists = [chosen.length, excluded.length, ...chosen, ...excluded];
  const table = Float64Array.of(delimiter, Number(useQuotes), ...texts.places[0]!, ...lists);
  return [columns, defaults.length, table, texts.bytes] as const;
}

/**
 * The columns of records, one for each default, in arrays of the given shape; undefined where this is not the way to find out, for
 * records with mistakes, and for odd numbers.
 */
export async function csvBeside(
  records: readonly Uint8Array[],
  options: CsvOptions,
  notAvailable: Uint8Array,
  defaults: readonly NDArray[],
  shape: Shape,
): Promise<readonly NDArray[] | undefined> {
  const library = native();
  if (!library) return undefined;
  const targets = defaults.map(({ dtype }) => (dtype === string ? undefined : dtype.allocate(records.length)));
  const addresses = targets.map((target) => (target ? library.address(target) : 0));
  const found = await callWithStrings(
    library.parse,
    worth,
    records,
    ...tablesOf(options, notAvailable, defaults, addresses),
  );
  keep(targets);
  return await withBlocks(found, (blocks) => columnsIn(blocks, defaults, targets, shape));
}

/** The columns: numbers where they were put already, and strings. */
function* columnsIn(
  blocks: NativeBlocks,
  defaults: readonly NDArray[],
  targets: readonly (TypedArray | undefined)[],
  shape: Shape,
): Work<NDArray[]> {
  const arrays: NDArray[] = [];
  for (const [i, { dtype }] of defaults.entries())
    arrays.push(
      new NDArray(dtype, shape, targets[i] ?? (yield* separated(blocks.bytes(2 * i), blocks.int32s(2 * i + 1)))),
    );
  return arrays;
}

/** The elements of a column: numbers, or strings one behind the other. */
type CsvColumn = { readonly dtype: DType; readonly numbers: TypedArray } | CsvTexts;
export interface CsvTexts {
  readonly bytes: Uint8Array;
  /** Where each of them ends. */
  readonly ends: Int32Array;
}

/** Records that follow each other in the bytes of a file. */
export class CsvStretch {
  constructor(
    private readonly columns: readonly CsvColumn[],
    /** Where each record ends, counted from where the first begins. */
    readonly ends: Int32Array,
    /** Whether a record follows that is not for the library. */
    readonly isBeforeOdd: boolean,
  ) {}

  get count(): number {
    return this.ends.length;
  }

  /** A column of strings as it is. */
  texts(column: number): CsvTexts {
    return this.columns[column] as CsvTexts; // the caller knows the types
  }

  /** The values of a record, in memory of their own. */
  values(i: number): NDArray[] {
    return this.columns.map((column) =>
      'numbers' in column
        ? new NDArray(column.dtype, [], column.numbers.slice(i, i + 1))
        : new NDArray(string, [], [stringAt(column, i)]),
    );
  }

  /** The values of some records, in an array for each column. */
  rows(start: number, end: number): NDArray[] {
    const shape = [end - start];
    return this.columns.map((column) => {
      if ('numbers' in column) return new NDArray(column.dtype, shape, column.numbers.slice(start, end));
      return new NDArray(string, shape, separatedNow(column.bytes, column.ends, start, end));
    });
  }
}

function stringAt({ bytes, ends }: CsvTexts, i: number): Uint8Array {
  return bytes.slice(i === 0 ? 0 : ends[i - 1]!, ends[i]!);
}

/** How reading ended, in the library: see native/io/csvRecords.cpp. */
const odd = 2;

/** Reads records out of the bytes of a file. */
export class NativeCsvRecords {
  private readonly tables: ReturnType<typeof tablesOf>;
  private readonly dtypes: readonly DType[];

  private constructor(
    private readonly library: NonNullable<ReturnType<typeof native>>,
    options: CsvRecordOptions,
    /** Whether empty lines, and lines that end with \r alone, are left to the caller. */
    private readonly isStrict: boolean,
  ) {
    const { notAvailable, defaults } = options;
    const inBlocks = defaults.map(() => 0);
    this.tables = tablesOf(options, notAvailable, defaults, inBlocks);
    this.dtypes = defaults.map(({ dtype }) => dtype);
  }

  /** A reader, where there is a library. */
  static reader(options: CsvRecordOptions, isStrict = false): NativeCsvRecords | undefined {
    const library = native();
    return library && new NativeCsvRecords(library, options, isStrict);
  }

  /** The records from `start` on that are complete with these bytes, as far as the library can read them. */
  async read(bytes: Uint8Array, start: number, isLast: boolean): Promise<CsvStretch | undefined> {
    if (bytes.length >= 2 ** 31) return undefined;
    const { library, tables } = this;
    const args = [...tables, bytes, start, bytes.length, Number(isLast), Number(this.isStrict)] as const;
    const isQuick = bytes.length - start <= worth.quick;
    const found = isQuick ? library.records.now(...args) : await library.records.later(...args);
    keep(tables, bytes);
    if (found === 0) return undefined;
    const blocks = new NativeBlocks(found);
    try {
      const columns = this.dtypes.map((dtype, i) => columnIn(blocks, dtype, 2 * i));
      const last = 2 * columns.length;
      return new CsvStretch(columns, blocks.int32s(last), blocks.int32s(last + 1)[0] === odd);
    } finally {
      blocks.free();
    }
  }
}

function columnIn(blocks: NativeBlocks, dtype: DType, which: number): CsvColumn {
  if (dtype === string) return { bytes: blocks.bytes(which), ends: blocks.int32s(which + 1) };
  return { dtype, numbers: blocks.copy(which, dtype.allocate(blocks.size(which) / dtype.size)) };
}

/** Texts as numbers, blank ones as `missing`, as JavaScript reads them; false where one of them is none, or there is no library. */
export async function csvNumbers(texts: CsvTexts, missing: number, out: Float64Array): Promise<boolean> {
  const library = native();
  if (!library) return false;
  const { bytes, ends } = texts;
  for (let at = 0; at < ends.length; at++) {
    const args = [bytes, ends, at, ends.length, missing, out] as const;
    at = await (bytes.length <= worth.quick ? library.numbers.now(...args) : library.numbers.later(...args));
    if (at === ends.length) break;
    const value = Number(Buffer.from(stringAt(texts, at)).toString());
    if (Number.isNaN(value)) return false;
    out[at] = value;
  }
  return true;
}
