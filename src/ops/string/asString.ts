/** @file AsString and StringToNumber: numbers written as text, and read back. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray, storeElement } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { plainNumber } from '../../io/csv.ts';
import { attr, realNumberTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { type Format, formatMagnitude, padded } from './printf.ts';
import { bytesOf, makeStrings, toText } from './text.ts';

interface Attrs {
  readonly T: DType;
  readonly precision: number;
  readonly scientific: boolean;
  readonly shortest: boolean;
  readonly width: number;
  readonly fill: string;
}

function checkAttrs({ T, precision, scientific, shortest, fill }: Attrs): void {
  if (!T.isFloating && !T.isComplex) {
    if (scientific || shortest)
      throw new InvalidArgumentError(`scientific and shortest format not supported for datatype ${T.runtimeName}`);
    if (precision >= 0) throw new InvalidArgumentError(`precision not supported for datatype ${T.runtimeName}`);
  }
  if (fill.length > 1) throw new InvalidArgumentError('Fill string must be one or fewer characters');
  if (fill !== '' && !' +-0#'.includes(fill)) throw new InvalidArgumentError(`Fill argument not supported: "${fill}"`);
  if (scientific && shortest) throw new InvalidArgumentError('Cannot select both scientific and shortest notation');
}

/** How one element is written. */
function writer({ T, precision, scientific, shortest, width, fill }: Attrs): (array: NDArray, i: number) => string {
  const flag = width > -1 ? fill : '';
  const columns = Math.max(width, 0);
  const style = shortest ? 'g' : scientific ? 'e' : 'f';
  const format: Format = { style, precision: precision < 0 ? 6 : precision, keepPoint: flag === '#' };
  const float = (x: number) => padded(formatMagnitude(x, format), x < 0 || Object.is(x, -0), true, columns, flag);
  if (T.isBool) return (array, i) => String(array.at(i));
  if (T === d.string) return (array, i) => padded(toText(bytesOf(array)[i]!), false, false, columns, flag);
  if (T.isFloating) return (array, i) => float(array.numberAt(i));
  if (T.isComplex)
    return (array, i) => {
      const { re, im } = array.at(i) as { re: number; im: number }; // elements of complex arrays
      return `(${float(re)},${float(im)})`;
    };
  return (array, i) => {
    const text = String(array.at(i));
    const negative = text.startsWith('-');
    // C has no sign to show for unsigned numbers.
    const shown = T.isUnsigned && (flag === '+' || flag === ' ') ? '' : flag;
    return padded(negative ? text.slice(1) : text, negative, true, columns, shown);
  };
}

export const AsString = defineOp({
  name: 'AsString',
  inputs: { input: 'T' },
  outputs: { output: 'string' },
  attrs: {
    T: attr('type', { allowed: [...realNumberTypes, d.complex64, d.complex128, d.bool, d.variant, d.string] }),
    precision: attr('int', { default: -1 }),
    scientific: attr('bool', { default: false }),
    shortest: attr('bool', { default: false }),
    width: attr('int', { default: -1 }),
    fill: attr('string', { default: '' }),
  },
  shape: ({ input }) => ({ output: input }),
  grad: notDifferentiable,
  lower(p, { input }, attrs) {
    checkAttrs(attrs);
    if (attrs.T === d.variant) throw new InvalidArgumentError('variants cannot be written as text');
    const { shape } = input;
    const write = writer(attrs);
    const [output] = p.host([input], [{ dtype: d.string, shape }], async ([array]) => [
      await makeStrings(shape, (i, memory) => memory.encoded(write(array!, i))),
    ]);
    return { output: output! };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: { input: [1.5, -0.0078125, 1e30, Number.NaN, Number.NEGATIVE_INFINITY] },
      expect: { output: ['1.500000', '-0.007812', '1000000015047466219876688855040.000000', 'nan', '-inf'] },
    },
    { given: { input: [1.5, 2.5] }, attrs: { precision: 0 }, expect: { output: ['2', '2'] } },
    { given: { input: [1.5, 1e-7] }, attrs: { scientific: true }, expect: { output: ['1.500000e+00', '1.000000e-07'] } },
    {
      given: { input: [1.5, 1e-7, 1e8, 100000] },
      attrs: { shortest: true },
      expect: { output: ['1.5', '1e-07', '1e+08', '100000'] },
    },
    { given: { input: [1.5, -2.5] }, attrs: { width: 10, fill: '0' }, expect: { output: ['001.500000', '-02.500000'] } },
    { given: { input: [1.5, Number.POSITIVE_INFINITY] }, attrs: { width: 6, fill: '0', precision: 1 }, expect: { output: ['0001.5', '   inf'] } },
    { given: { input: [1.5] }, attrs: { width: 0, fill: '#', precision: 0 }, expect: { output: ['2.'] } },
    { given: { input: { dtype: 'int32', value: [1, -2] } }, attrs: { width: 5, fill: '+' }, expect: { output: ['   +1', '   -2'] } },
    { given: { input: { dtype: 'int64', value: [1, -2] } }, attrs: { width: 4, fill: '-' }, expect: { output: ['1   ', '-2  '] } },
    { given: { input: [true, false] }, expect: { output: ['true', 'false'] } },
    { given: { input: ['a', 'bc'] }, attrs: { width: 4, fill: '0' }, expect: { output: ['   a', '  bc'] } },
    { given: { input: 1 }, attrs: { width: 5, fill: '*' }, fails: /Fill argument not supported: "\*"/ },
    { given: { input: { dtype: 'int32', value: 1 } }, attrs: { precision: 2 }, fails: /precision not supported for datatype int32/ },
    { given: { input: 1 }, attrs: { scientific: true, shortest: true }, fails: /Cannot select both/ },
  ], // biome-ignore format: a table reads better in rows
});

export interface AsStringOptions {
  /** Digits behind the point. */
  readonly precision?: number | undefined;
  /** Write with an exponent. */
  readonly scientific?: boolean | undefined;
  /** Write with or without an exponent, whichever is shorter. */
  readonly shortest?: boolean | undefined;
  /** The least number of characters. */
  readonly width?: number | undefined;
  /** printf's flag: `'0'`, `' '`, `'+'`, `'-'` or `'#'`. */
  readonly fill?: string | undefined;
  readonly name?: string | undefined;
}

/**
 * Every element as text. Adds one `AsString` node.
 *
 * @example tf.asString(tf.constant([1.5, 2]), { precision: 1 }) // runs to [b'1.5' b'2.0']
 */
export function asString(input: TensorLike, options: AsStringOptions = {}): Tensor {
  onlyOptions('tf.asString', options, 'precision', 'scientific', 'shortest', 'width', 'fill', 'name');
  const { precision = -1, scientific = false, shortest = false, width = -1, fill = '', name } = options;
  return AsString.build({ input }, { name, attrs: { precision, scientific, shortest, width, fill } }).output;
}

// The way back.
const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const hexadecimal = /^([+-]?)0x([0-9a-f]*)\.?([0-9a-f]*)(?:p([+-]?\d+))?$/i;
const blank = '[ \\t\\n\\v\\f\\r]*';
const trimmed = new RegExp(`^${blank}(.*?)${blank}$`, 's');

function readFloat(text: string): number | undefined {
  if (decimal.test(text)) return Number(text);
  const word = /^([+-]?)(inf|infinity|nan(?:\([\w]*\))?)$/i.exec(text);
  if (word) {
    const size = word[2]!.toLowerCase().startsWith('nan') ? Number.NaN : Number.POSITIVE_INFINITY;
    return word[1] === '-' ? -size : size;
  }
  const [, sign, whole = '', part = '', power = '0'] = hexadecimal.exec(text) ?? [];
  if (sign === undefined || whole + part === '') return undefined;
  const size = Number(BigInt(`0x${whole}${part}`)) * 2 ** (Number(power) - 4 * part.length);
  return sign === '-' ? -size : size;
}

function readInteger(text: string, { size, isUnsigned }: DType): bigint | undefined {
  if (!(isUnsigned ? /^\+?\d+$/ : /^[+-]?\d+$/).test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  const bits = BigInt(8 * size);
  const [least, most] = isUnsigned ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
  return value < least || value > most ? undefined : value;
}

export const StringToNumber = defineOp({
  name: 'StringToNumber',
  inputs: { string_tensor: 'string' },
  outputs: { output: 'out_type' },
  attrs: {
    out_type: attr('type', {
      allowed: [d.float32, d.float64, d.int32, d.int64, d.uint32, d.uint64],
      default: d.float32,
    }),
  },
  shape: ({ string_tensor }) => ({ output: string_tensor }),
  grad: notDifferentiable,
  lower(p, { string_tensor }, { out_type }) {
    const { shape } = string_tensor;
    const kind = out_type.isInteger ? 'whole' : out_type === d.float32 ? 'float' : 'double';
    /** Whether a plain whole number is surely one of the type. */
    const fits = (whole: number, bytes: Uint8Array) =>
      (out_type.size === 8 || whole === (whole | 0)) && !(out_type.isUnsigned && bytes[0] === 0x2d);
    const read = (bytes: Uint8Array) => {
      const plain = plainNumber(bytes, 0, bytes.length, kind);
      if (plain !== undefined && (kind !== 'whole' || fits(plain, bytes))) return plain;
      const text = toText(bytes);
      const core = trimmed.exec(text)![1]!;
      const value = out_type.isInteger ? readInteger(core, out_type) : readFloat(core);
      if (value === undefined)
        throw new InvalidArgumentError(`StringToNumberOp could not correctly convert string: ${text}`);
      return value;
    };
    const [output] = p.host([string_tensor], [{ dtype: out_type, shape }], async ([array]) => {
      const strings = bytesOf(array!);
      const numbers = out_type.allocate(strings.length);
      await eachInTurns(strings.length, (i) => storeElement(out_type, numbers, i, read(strings[i]!)));
      return [new NDArray(out_type, shape, numbers)];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: { string_tensor: ['1.5', ' 2 ', '-3e2', 'inf', 'NaN', '-Infinity', '1e50', '.5', '5.', '+1', '0x10'] },
      expect: {
        output: [1.5, 2, -300, Number.POSITIVE_INFINITY, Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0.5, 5, 1, 16],
      },
    },
    { given: { string_tensor: ['12', ' -3 ', '+4'] }, attrs: { out_type: d.int32 }, expect: { output: { dtype: 'int32', value: [12, -3, 4] } } },
    { given: { string_tensor: '9223372036854775807' }, attrs: { out_type: d.int64 }, expect: { output: { dtype: 'int64', value: 9223372036854775807n } } },
    { given: { string_tensor: 'abc' }, fails: /StringToNumberOp could not correctly convert string: abc/ },
    { given: { string_tensor: '' }, fails: /could not correctly convert string/ },
    { given: { string_tensor: '1.5' }, attrs: { out_type: d.int32 }, fails: /could not correctly convert string: 1.5/ },
    { given: { string_tensor: '3000000000' }, attrs: { out_type: d.int32 }, fails: /could not correctly convert/ },
  ], // biome-ignore format: a table reads better in rows
});

/**
 * Strings read as numbers. Adds one `StringToNumber` node.
 *
 * @example tf.stringToNumber(['1.5', '-2']) // runs to [ 1.5 -2. ]
 */
export function stringToNumber(stringTensor: TensorLike, options: { outType?: DType; name?: string } = {}): Tensor {
  onlyOptions('tf.stringToNumber', options, 'outType', 'name');
  const { outType = d.float32, name } = options;
  return StringToNumber.build({ string_tensor: stringTensor }, { name, attrs: { out_type: outType } }).output;
}
