/** @file DecodeCSV: records of comma-separated values, one tensor per column. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { inTurns, type Work } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { showRuntime, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import {
  CsvCutter,
  type CsvOptions,
  csvInteger,
  csvNumber,
  latin1,
  type NumberKind,
  plainNumber,
} from '../../io/csv.ts';
import { csvBeside } from '../../io/nativeCsv.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { bytesOf, toText } from '../string/text.ts';

/** Puts fields of one type, one after the other, into an array. */
class Column {
  private readonly texts: Uint8Array[] | undefined;
  private readonly numbers: d.TypedArray | undefined;
  private readonly kind: NumberKind;

  constructor(
    private readonly index: number,
    private readonly dtype: d.DType,
    private readonly fallback: NDArray,
    size: number,
  ) {
    this.kind = dtype.isInteger ? 'whole' : dtype === d.float32 ? 'float' : 'double';
    if (dtype === d.string) this.texts = new Array<Uint8Array>(size);
    else this.numbers = dtype.allocate(size);
  }

  /** Stores a field of record `i`; an empty one, or one that says there is none, is the default. */
  put(i: number, cut: CsvCutter, notAvailable: Uint8Array): void {
    const [bytes, start, end] = [cut.sources[this.index]!, cut.starts[this.index]!, cut.ends[this.index]!];
    const length = end - start;
    if (length === 0 || (length === notAvailable.length && Buffer.compare(cut.field(this.index), notAvailable) === 0))
      this.putFallback(i);
    else if (this.texts) this.texts[i] = bytes.slice(start, end);
    else {
      const { dtype } = this;
      const plain = plainNumber(bytes, start, end, this.kind);
      if (plain === undefined || (dtype === d.int32 && plain !== (plain | 0))) this.putNumber(i, cut.field(this.index));
      else this.numbers![i] = dtype === d.int64 ? BigInt(plain) : plain;
    }
  }

  private putNumber(i: number, field: Uint8Array): void {
    const { dtype } = this;
    const text = latin1(field);
    const value = dtype.isInteger ? csvInteger(text, dtype === d.int32 ? 32 : 64) : csvNumber(text);
    if (value === undefined) {
      // In JavaScript 0.0 is the whole number 0, so a default that was meant as a float does not say so.
      const hint =
        dtype.isInteger && /[.e]/i.test(text) && csvNumber(text) !== undefined
          ? `. The default of this column is a whole number; for floats give tf.constant([0], tf.float32)`
          : '';
      throw new InvalidArgumentError(
        `Field ${this.index} in record ${i} is not a valid ${dtype.runtimeName}: ${toText(field)}${hint}`,
      );
    }
    this.numbers![i] = dtype === d.int64 ? value : Number(value);
  }

  private putFallback(i: number): void {
    if (this.fallback.size !== 1)
      throw new InvalidArgumentError(`Field ${this.index} is required but missing in record ${i}!`);
    if (this.texts) this.texts[i] = bytesOf(this.fallback)[0]!;
    else this.numbers![i] = this.fallback.data[0]!;
  }

  array(shape: readonly number[]): NDArray {
    return new NDArray(this.dtype, shape, this.texts ?? this.numbers!);
  }
}

const encoder = new TextEncoder();

/** After so many records it is asked whether the event loop has waited long enough. */
const recordsPerTurn = 64;

function* decode(
  lines: readonly Uint8Array[],
  cutter: CsvCutter,
  columns: readonly Column[],
  notAvailable: Uint8Array,
): Work {
  for (const [i, line] of lines.entries()) {
    const count = cutter.cut(line);
    if (count !== columns.length)
      throw new InvalidArgumentError(`Expect ${columns.length} fields but have ${count} in record ${i}`);
    for (const column of columns) column.put(i, cutter, notAvailable);
    if (i % recordsPerTurn === 0) yield;
  }
}

interface CsvAttrs {
  readonly OUT_TYPE: readonly d.DType[];
  readonly field_delim: string;
  readonly use_quote_delim: boolean;
  readonly select_cols: readonly number[];
}

function optionsOf({ OUT_TYPE, field_delim, use_quote_delim, select_cols }: CsvAttrs): CsvOptions {
  if (select_cols.length > 0 && select_cols.length !== OUT_TYPE.length)
    throw new InvalidArgumentError('select_cols should match output size');
  if (select_cols.some((column, i) => i > 0 && column <= select_cols[i - 1]!))
    throw new InvalidArgumentError('select_cols should be strictly increasing indices');
  if (select_cols.length > 0 && select_cols[0]! < 0)
    throw new InvalidArgumentError('select_cols should be non-negative indices');
  const delimiter = encoder.encode(field_delim);
  if (delimiter.length !== 1) throw new InvalidArgumentError('field_delim should be only 1 char');
  return { delimiter: delimiter[0]!, useQuotes: use_quote_delim, columns: select_cols };
}

export const DecodeCSV = defineOp({
  name: 'DecodeCSV',
  inputs: { records: 'string', record_defaults: 'OUT_TYPE' },
  outputs: { output: 'OUT_TYPE' },
  attrs: {
    OUT_TYPE: attr('list(type)', { allowed: [d.float32, d.float64, d.int32, d.int64, d.string], minimum: 1 }),
    field_delim: attr('string', { default: ',' }),
    use_quote_delim: attr('bool', { default: true }),
    na_value: attr('string', { default: '' }),
    select_cols: attr('list(int)', { default: [] }),
  },
  shape({ records, record_defaults }) {
    for (const dims of record_defaults) {
      if (dims !== null && dims.length > 1)
        throw new InvalidArgumentError(
          `Shape must be at most rank 1 but is rank ${dims.length}, with shape ${showRuntime(dims)}`,
        );
      if (dims?.[0] !== undefined && dims[0] !== null && dims[0] > 1)
        throw new InvalidArgumentError('Shape of a default must be a length-0 or length-1 vector, or a scalar.');
    }
    return { output: record_defaults.map(() => records) };
  },
  grad: gradientPending('TensorFlow has none'),
  lower(p, { records, record_defaults }, attrs) {
    const options = optionsOf(attrs);
    const notAvailable = encoder.encode(attrs.na_value);
    for (const [i, { shape }] of record_defaults.entries()) {
      if (shape.length > 1) throw new InvalidArgumentError('Each record default should be at most rank 1');
      if (sizeOf(shape) > 1)
        throw new InvalidArgumentError(`There should only be 1 default per field but field ${i} has ${sizeOf(shape)}`);
    }
    const { shape } = records;
    const { OUT_TYPE } = attrs;
    const results = OUT_TYPE.map((dtype) => ({ dtype, shape }));
    const output = p.host([records, ...record_defaults], results, async ([lines, ...defaults]) => {
      const beside = await csvBeside(bytesOf(lines!), options, notAvailable, defaults, shape);
      if (beside) return beside;
      const columns = OUT_TYPE.map((dtype, f) => new Column(f, dtype, defaults[f]!, lines!.size));
      await inTurns(decode(bytesOf(lines!), new CsvCutter(options), columns, notAvailable));
      return columns.map((column) => column.array(shape));
    });
    return { output };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[2, ?], [1], [] -> [2, ?], [2, ?]', attrs: { OUT_TYPE: [d.int32, d.string] } },
    { shape: '[2], [2]', attrs: { OUT_TYPE: [d.int32] }, rejects: /length-0 or length-1 vector, or a scalar/ },
    {
      given: { records: ['1,2.5,a', ' -7 ,1e3,"b ""c"", d"', ',,'], record_defaults: [{ dtype: 'int32', value: [9] }, [0.5], 'none'] },
      attrs: { OUT_TYPE: [d.int32, d.float32, d.string] },
      expect: { output: [{ dtype: 'int32', value: [1, -7, 9] }, [2.5, 1000, 0.5], ['a', 'b "c", d', 'none']] },
    },
    {
      given: { records: '9223372036854775807\tinf\tNA', record_defaults: [{ dtype: 'int64', value: [], shape: [0] }, { dtype: 'float64', value: [], shape: [0] }, { dtype: 'float64', value: -1 }] },
      attrs: { OUT_TYPE: [d.int64, d.float64, d.float64], field_delim: '\t', na_value: 'NA' },
      expect: { output: [{ dtype: 'int64', value: 9223372036854775807n }, { dtype: 'float64', value: Number.POSITIVE_INFINITY }, { dtype: 'float64', value: -1 }] },
    },
    { given: { records: ['0,1,2,3', '"0",1,"2",3'], record_defaults: [{ dtype: 'int32', value: [0] }, { dtype: 'int32', value: [0] }] }, attrs: { OUT_TYPE: [d.int32, d.int32], select_cols: [1, 3] }, expect: { output: [{ dtype: 'int32', value: [1, 1] }, { dtype: 'int32', value: [3, 3] }] } },
    { given: { records: ['a"b,"c"'], record_defaults: [['x'], ['x']] }, attrs: { OUT_TYPE: [d.string, d.string], use_quote_delim: false }, expect: { output: [['a"b'], ['"c"']] } },
    { given: { records: '\n"a\nb",c\u00e9', record_defaults: [['x'], ['x']] }, attrs: { OUT_TYPE: [d.string, d.string] }, expect: { output: ['a\nb', 'c\u00e9'] } },
    { given: { records: ['1', ''], record_defaults: [{ dtype: 'int32', value: [], shape: [0] }] }, attrs: { OUT_TYPE: [d.int32] }, fails: /Expect 1 fields but have 0 in record 1/ },
    { given: { records: ['1,', ',2'], record_defaults: [{ dtype: 'int32', value: [], shape: [0] }, ['x']] }, attrs: { OUT_TYPE: [d.int32, d.string] }, fails: /Field 0 is required but missing in record 1!/ },
    { given: { records: '0.5', record_defaults: [{ dtype: 'int32', value: 1 }] }, attrs: { OUT_TYPE: [d.int32] }, fails: /not a valid int32: 0\.5\. .*for floats give/ },
    { given: { records: '2147483648', record_defaults: [{ dtype: 'int32', value: 1 }] }, attrs: { OUT_TYPE: [d.int32] }, fails: /Field 0 in record 0 is not a valid int32: 2147483648/ },
    { given: { records: ['0x10', '1e400', ' +.5 ', '-1.e-2'], record_defaults: [[0]] }, attrs: { OUT_TYPE: [d.float32] }, expect: { output: [[16, Number.POSITIVE_INFINITY, 0.5, -0.01]] } },
    { given: { records: ['0.14285714285714285', '-0.000000000000000000001', '1234567890123456.5', '1.', '.5', '00000000000000000007'], record_defaults: [[0]] }, attrs: { OUT_TYPE: [d.float32] }, expect: { output: [[0.14285714285714285, -1e-21, 1234567890123456.5, 1, 0.5, 7]] } },
    { given: { records: ['0.14285714285714285', '0.1', '123456789012345678', '-.'], record_defaults: [{ dtype: 'float64', value: [0] }] }, attrs: { OUT_TYPE: [d.float64] }, fails: /Field 0 in record 3 is not a valid double: -\./ },
    { given: { records: ['0.14285714285714285', '0.1', '123456789012345678'], record_defaults: [{ dtype: 'float64', value: [0] }] }, attrs: { OUT_TYPE: [d.float64] }, expect: { output: [{ dtype: 'float64', value: [0.14285714285714285, 0.1, 123456789012345680] }] } },
    { given: { records: '1.5x', record_defaults: [0] }, attrs: { OUT_TYPE: [d.float32] }, fails: /Field 0 in record 0 is not a valid float: 1.5x/ },
    { given: { records: 'a"b', record_defaults: ['x'] }, attrs: { OUT_TYPE: [d.string] }, fails: /Unquoted fields cannot have quotes\/CRLFs inside/ },
    { given: { records: '"a"b",c', record_defaults: ['x', 'x'] }, attrs: { OUT_TYPE: [d.string, d.string] }, fails: /Quote inside a string has to be escaped by another quote/ },
    { given: { records: '"a', record_defaults: ['x'] }, attrs: { OUT_TYPE: [d.string] }, fails: /Quoted field has to end with quote followed by delim or end/ },
    { given: { records: 'a', record_defaults: ['x'] }, attrs: { OUT_TYPE: [d.string], field_delim: '::' }, fails: /field_delim should be only 1 char/ },
  ],
});

export interface DecodeCsvOptions {
  readonly fieldDelim?: string | undefined;
  /** Whether fields may stand in double quotes. */
  readonly useQuoteDelim?: boolean | undefined;
  readonly name?: string | undefined;
  /** A field that says that there is no value. */
  readonly naValue?: string | undefined;
  /** The columns wanted, rising; all unless given. */
  readonly selectCols?: readonly number[] | undefined;
}

/**
 * The columns of records of comma-separated values: one tensor for each of `recordDefaults`, which say the types, and the
 * values of fields that are empty (an empty one makes a field required). Adds one `DecodeCSV` node.
 *
 * @example tf.decodeCsv(['1,a', ',b'], [[7], ['']])[0] // runs to [1 7]
 */
export function decodeCsv(
  records: TensorLike,
  recordDefaults: readonly TensorLike[],
  options: DecodeCsvOptions = {},
): Tensor[] {
  onlyOptions('tf.decodeCsv', options, 'fieldDelim', 'useQuoteDelim', 'name', 'naValue', 'selectCols');
  const { fieldDelim, useQuoteDelim, name, naValue, selectCols } = options;
  if (selectCols) {
    if (selectCols.some((column, i) => i > 0 && column <= selectCols[i - 1]!))
      throw userError('select_cols is not strictly increasing.');
    if (selectCols.length > 0 && selectCols[0]! < 0) throw userError('select_cols contains negative values.');
    if (selectCols.length !== recordDefaults.length)
      throw userError('Length of select_cols and record_defaults do not match.');
  }
  const attrs = {
    ...(fieldDelim !== undefined && { field_delim: fieldDelim }),
    ...(useQuoteDelim !== undefined && { use_quote_delim: useQuoteDelim }),
    ...(naValue !== undefined && { na_value: naValue }),
    ...(selectCols !== undefined && { select_cols: selectCols }),
  };
  return [...DecodeCSV.build({ records, record_defaults: recordDefaults }, { name, attrs }).output];
}
