/** @file Strings cut, measured, stripped and put in lower or upper case. */
import { int32, string } from '../../core/dtypes.ts';
import { InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { broadcastShapes, compatible, type Shape, sameShape, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { int32or64 } from '../array/common.ts';
import type { StringMemory } from './stringMemory.ts';
import { bytesOf, characters, isSpace, makeStrings, mapStrings, toText } from './text.ts';

const unit = attr('string', { choices: ['BYTE', 'UTF8_CHAR'], default: 'BYTE' });
/** What positions and lengths count. */
export type Unit = 'BYTE' | 'UTF8_CHAR';

const pending = gradientPending('TensorFlow has none');

/** The part from `pos` (from the end when negative), `len` long or up to the end; undefined when `pos` lies outside. */
function cut(bytes: Uint8Array, pos: number, len: number, by: string): Uint8Array | undefined {
  if (by === 'BYTE') {
    const begin = pos < 0 ? pos + bytes.length : pos;
    if (begin < 0 || begin > bytes.length) return undefined;
    return bytes.subarray(begin, len < 0 ? undefined : begin + len);
  }
  const begin = pos < 0 ? pos + characters(bytes).found : pos;
  if (begin < 0) return undefined;
  const { found, end } = characters(bytes, begin);
  if (found < begin) return undefined;
  const rest = bytes.subarray(end);
  return rest.subarray(0, characters(rest, Math.max(len, 0)).end);
}

/** The flat position in a smaller array for a flat position in the broadcast one. */
function sourceOf(i: number, shape: Shape, whole: Shape): number {
  let [source, step, rest] = [0, 1, i];
  for (let k = 1; k <= whole.length; k++) {
    const size = whole[whole.length - k]!;
    const own = k <= shape.length ? shape[shape.length - k]! : 1;
    if (own > 1) source += (rest % size) * step;
    step *= own;
    rest = Math.floor(rest / size);
  }
  return source;
}

export const Substr = defineOp({
  name: 'Substr',
  inputs: { input: 'string', pos: 'T', len: 'T' },
  outputs: { output: 'string' },
  attrs: { T: int32or64, unit },
  shape({ input, pos, len }) {
    if (!compatible(pos, len))
      throw new InvalidArgumentError(`pos is ${showShape(pos)} and len is ${showShape(len)}; they must be equal.`);
    return { output: broadcastShapes(input, pos) };
  },
  grad: pending,
  lower(p, { input, pos, len }, { unit }) {
    if (!sameShape(pos.shape, len.shape))
      throw new InvalidArgumentError(
        `pos and len should have the same shape, got: ${showRuntime(pos.shape)} vs. ${showRuntime(len.shape)}`,
      );
    const simple = pos.shape.length === 0 || sameShape(input.shape, pos.shape);
    const shape = broadcastShapes(input.shape, pos.shape) as Shape; // known sizes broadcast to known sizes
    if (!simple && shape.length > 2)
      throw new UnimplementedError(`Substr broadcast not implemented for ${shape.length} dimensions`);
    const place = (i: number) => (simple || shape.length < 2 ? i : `(${Math.floor(i / shape[1]!)}, ${i % shape[1]!})`);
    const [output] = p.host([input, pos, len], [{ dtype: string, shape }], async ([array, from, lengths]) => {
      const strings = bytesOf(array!);
      const [positions, sizes] = [from!.numbers(), lengths!.numbers()];
      const part = (i: number) => {
        const bytes = strings[sourceOf(i, input.shape, shape)]!;
        const k = sourceOf(i, pos.shape, shape);
        const at = positions[k]!;
        const found = cut(bytes, at, sizes[k]!, unit);
        if (found) return found;
        const which = unit === 'BYTE' ? `string b'${toText(bytes)}'` : 'string';
        throw new InvalidArgumentError(`pos ${at} out of range for ${which} at index ${place(i)}`);
      };
      return [await makeStrings(shape, part)];
    });
    return { output: output! };
  },
  cases: () => {
    const ints = (value: number | number[] | number[][]) => ({ dtype: 'int32' as const, value });
    return [
      { shape: '[2, ?], [], [] -> [2, ?]' },
      { shape: '[2], [2], [3]', rejects: /pos is \[2\] and len is \[3\]/ },
      { given: { input: ['hello', 'wo'], pos: ints(1), len: ints(3) }, expect: { output: ['ell', 'o'] } },
      { given: { input: ['hello', 'wo'], pos: ints(-2), len: ints(5) }, expect: { output: ['lo', 'wo'] } },
      { given: { input: ['hello', 'wo'], pos: ints([1, 0]), len: ints([2, 1]) }, expect: { output: ['el', 'w'] } },
      { given: { input: 'hello', pos: ints([1, -1]), len: ints([2, 1]) }, expect: { output: ['el', 'o'] } },
      { given: { input: [['hello', 'wo']], pos: ints([[1], [0]]), len: ints([[2], [1]]) }, expect: { output: [['el', 'o'], ['h', 'w']] } },
      { given: { input: ['h\u00e9llo'], pos: ints(-4), len: ints(2) }, attrs: { unit: 'UTF8_CHAR' }, expect: { output: ['\u00e9l'] } },
      { given: { input: ['hello'], pos: ints(1), len: ints(-1) }, expect: { output: ['ello'] } },
      { given: { input: ['hello', 'wo'], pos: ints(3), len: ints(1) }, fails: /pos 3 out of range for string b'wo' at index 1/ },
      { given: { input: ['\u00e9'], pos: ints(2), len: ints(1) }, attrs: { unit: 'UTF8_CHAR' }, fails: /pos 2 out of range for string at index 0/ },
    ]; // biome-ignore format: a table reads better in rows
  },
});

/**
 * Parts of strings: `len` bytes from `pos` on, which counts from the end when it is negative. Adds one `Substr` node.
 *
 * @example tf.substr(['hello', 'world'], 1, 3) // runs to [b'ell' b'orl']
 */
export function substr(
  input: TensorLike,
  pos: TensorLike,
  len: TensorLike,
  options: { unit?: Unit; name?: string } = {},
): Tensor {
  onlyOptions('tf.substr', options, 'unit', 'name');
  return Substr.build({ input, pos, len }, { name: options.name, attrs: { unit: options.unit ?? 'BYTE' } }).output;
}

export const StringLength = defineOp({
  name: 'StringLength',
  inputs: { input: 'string' },
  outputs: { output: 'int32' },
  attrs: { unit },
  shape: ({ input }) => ({ output: input }),
  grad: pending,
  lower(p, { input }, { unit }) {
    const { shape } = input;
    const measure = (bytes: Uint8Array) => (unit === 'BYTE' ? bytes.length : characters(bytes).found);
    const [output] = p.host([input], [{ dtype: int32, shape }], async ([array]) => {
      const strings = bytesOf(array!);
      const lengths = new Int32Array(strings.length);
      await eachInTurns(strings.length, (i) => {
        lengths[i] = measure(strings[i]!);
      });
      return [new NDArray(int32, shape, lengths)];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { input: ['h\u00e9\u00e9', ''] }, expect: { output: { dtype: 'int32', value: [5, 0] } } },
    {
      given: { input: ['h\u00e9\u00e9', ''] },
      attrs: { unit: 'UTF8_CHAR' },
      expect: { output: { dtype: 'int32', value: [3, 0] } },
    },
    { given: { input: 'abc' }, expect: { output: { dtype: 'int32', value: 3 } } },
  ],
});

/**
 * The lengths of strings, in bytes or characters. Adds one `StringLength` node.
 *
 * @example tf.strings.length(['abc', '']) // runs to [3 0]
 */
export function stringLength(input: TensorLike, options: { unit?: Unit; name?: string } = {}): Tensor {
  onlyOptions('tf.strings.length', options, 'unit', 'name');
  return StringLength.build({ input }, { name: options.name, attrs: { unit: options.unit ?? 'BYTE' } }).output;
}

/** An op that changes the case of texts: as Unicode says, or only of the ASCII letters from `first` to `last`. */
const caseOp = (
  name: string,
  change: (text: string) => string,
  [first, last]: readonly [number, number],
  cases: () => readonly Case<'input', 'output'>[],
) =>
  defineOp({
    name,
    inputs: { input: 'string' },
    outputs: { output: 'string' },
    attrs: { encoding: attr('string', { default: '' }) },
    shape: ({ input }) => ({ output: input }),
    grad: pending,
    lower(p, { input }, { encoding }) {
      if (encoding !== '' && encoding !== 'utf-8')
        throw new InvalidArgumentError(`only utf-8 or '' (no encoding) is supported, received ${encoding}`);
      const letters = (bytes: Uint8Array, memory: StringMemory) => {
        const changed = memory.take(bytes.length);
        for (let i = 0; i < bytes.length; i++) {
          const byte = bytes[i]!;
          changed[i] = byte >= first && byte <= last ? byte ^ 0x20 : byte; // the bit that tells the cases apart
        }
        return changed;
      };
      const all = (bytes: Uint8Array, memory: StringMemory) => memory.encoded(change(toText(bytes)));
      return { output: mapStrings(p, input, encoding === 'utf-8' ? all : letters) };
    },
    cases: () => [
      { shape: '[2, ?] -> [2, ?]' },
      { given: { input: ['A'] }, attrs: { encoding: 'latin' }, fails: /only utf-8 or '' \(no encoding\) is supported/ },
      ...cases(),
    ],
  });

export const StringLower = caseOp(
  'StringLower',
  (text) => text.toLowerCase(),
  [0x41, 0x5a],
  () => [
    { given: { input: ['@ABcZ[`\u00c9'] }, expect: { output: ['@abcz[`\u00c9'] } },
    { given: { input: ['AB\u00c9'] }, attrs: { encoding: 'utf-8' }, expect: { output: ['ab\u00e9'] } },
  ],
);

export const StringUpper = caseOp(
  'StringUpper',
  (text) => text.toUpperCase(),
  [0x61, 0x7a],
  () => [
    { given: { input: ['`abCz{@\u00e9'] }, expect: { output: ['`ABCZ{@\u00e9'] } },
    { given: { input: ['ab\u00df'] }, attrs: { encoding: 'utf-8' }, expect: { output: ['ABSS'] } },
  ],
);

/**
 * Strings in lower case: their ASCII letters, or all letters with `encoding: 'utf-8'`. Adds one `StringLower` node.
 *
 * @example tf.strings.lower(['ABC']) // runs to [b'abc']
 */
export function stringLower(input: TensorLike, options: { encoding?: string; name?: string } = {}): Tensor {
  onlyOptions('tf.strings.lower', options, 'encoding', 'name');
  return StringLower.build({ input }, { name: options.name, attrs: { encoding: options.encoding ?? '' } }).output;
}

/**
 * Strings in upper case: their ASCII letters, or all letters with `encoding: 'utf-8'`. Adds one `StringUpper` node.
 *
 * @example tf.strings.upper(['abc']) // runs to [b'ABC']
 */
export function stringUpper(input: TensorLike, options: { encoding?: string; name?: string } = {}): Tensor {
  onlyOptions('tf.strings.upper', options, 'encoding', 'name');
  return StringUpper.build({ input }, { name: options.name, attrs: { encoding: options.encoding ?? '' } }).output;
}

export const StringStrip = defineOp({
  name: 'StringStrip',
  inputs: { input: 'string' },
  outputs: { output: 'string' },
  attrs: {},
  shape: ({ input }) => ({ output: input }),
  grad: pending,
  lower: (p, { input }) => ({
    output: mapStrings(p, input, (bytes) => {
      let [start, end] = [0, bytes.length];
      while (start < end && isSpace(bytes[start]!)) start++;
      while (start < end && isSpace(bytes[end - 1]!)) end--;
      return bytes.subarray(start, end);
    }),
  }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { input: [' \t\n\u000b a b \r', ''] }, expect: { output: ['a b', ''] } },
  ],
});

/**
 * Strings without white space at their ends. Adds one `StringStrip` node.
 *
 * @example tf.stringStrip([' a b ']) // runs to [b'a b']
 */
export function stringStrip(input: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.stringStrip', options, 'name');
  return StringStrip.build({ input }, { name: options.name }).output;
}
