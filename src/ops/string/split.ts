/** @file StringSplit and StringSplitV2: the pieces of every string, as a sparse matrix with a row per string. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector, NDArray } from '../../core/ndarray.ts';
import { type Dims, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { ofRank } from '../array/common.ts';
import { getItem } from '../array/getItem.ts';
import { RaggedTensor } from '../ragged/raggedTensor.ts';
import { bytesOf, stringArray } from './text.ts';

/** Every byte is one character, so that pieces of characters are kept as they are. */
const asLatin1 = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

/** Cuts where any of the separator's bytes is, or between all bytes when it has none. */
function cutAtAny(text: string, separators: string, skipsEmpty: boolean): readonly string[] {
  if (text === '') return [];
  if (separators === '') return [...text];
  const pieces: string[] = [];
  let from = 0;
  for (let i = 0; i <= text.length; i++)
    if (i === text.length || separators.includes(text[i]!)) {
      if (!skipsEmpty || i > from) pieces.push(text.slice(from, i));
      from = i + 1;
    }
  return pieces;
}

/** Cuts as Python's `split` does: at the whole separator, or at stretches of white space when it is empty. */
function cutLikePython(text: string, separator: string, most: number): readonly string[] {
  if (most === 0) return [text];
  const pieces: string[] = [];
  let rest = separator === '' ? withoutSpace(text) : text;
  if (separator === '' && rest === '') return [];
  while (most < 0 || pieces.length < most) {
    const at = separator === '' ? rest.search(space) : rest.indexOf(separator);
    if (at < 0) break;
    pieces.push(rest.slice(0, at));
    rest = separator === '' ? withoutSpace(rest.slice(at)) : rest.slice(at + separator.length);
    if (separator === '' && rest === '') return pieces;
  }
  return [...pieces, rest];
}
const space = /[ \t\n\v\f\r]/;
const withoutSpace = (text: string) => text.replace(/^[ \t\n\v\f\r]+/, '');

function shapeOf(input: Dims, separator: Dims, port: string) {
  ofRank(input, 1, 'input');
  ofRank(separator, 0, port);
  return { indices: [null, 2], values: [null], shape: [2] };
}

/** Cuts every string of a vector. */
function cutAll(
  p: ProgramBuilder,
  input: Value,
  separator: Value,
  port: string,
  cut: (text: string, separator: string) => readonly string[],
) {
  if (input.shape.length !== 1)
    throw new InvalidArgumentError(`input must be a vector, got shape: ${showRuntime(input.shape)}`);
  if (separator.shape.length !== 0)
    throw new InvalidArgumentError(`${port} must be a scalar, got shape: ${showRuntime(separator.shape)}`);
  const results = [{ dtype: d.int64 }, { dtype: d.string }, { dtype: d.int64 }];
  const [indices, values, shape] = p.host([input, separator], results, ([texts, between]) => {
    const separators = asLatin1(bytesOf(between!)[0]!);
    const rows = bytesOf(texts!).map((text) => cut(asLatin1(text), separators));
    const pieces = rows.flat();
    const places = rows.flatMap((row, i) => row.flatMap((_, k) => [BigInt(i), BigInt(k)]));
    return [
      new NDArray(d.int64, [pieces.length, 2], BigInt64Array.from(places)),
      stringArray(
        [pieces.length],
        pieces.map((piece) => Buffer.from(piece, 'latin1')),
      ),
      intVector([rows.length, rows.reduce((most, row) => Math.max(most, row.length), 0)], d.int64),
    ];
  });
  return { indices: indices!, values: values!, shape: shape! };
}

const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });
/** What a case expects: the pieces of each string. */
function expected(...rows: string[][]) {
  const places = rows.flatMap((row, i) => row.map((_, k) => [i, k]));
  const shape = ints([rows.length, Math.max(0, ...rows.map((row) => row.length))]);
  return { indices: ints(places), values: rows.flat(), shape };
}

export const StringSplit = defineOp({
  name: 'StringSplit',
  inputs: { input: 'string', delimiter: 'string' },
  outputs: { indices: 'int64', values: 'string', shape: 'int64' },
  attrs: { skip_empty: attr('bool', { default: true }) },
  shape: ({ input, delimiter }) => shapeOf(input, delimiter, 'delimiter'),
  grad: notDifferentiable,
  lower: (p, { input, delimiter }, { skip_empty }) =>
    cutAll(p, input, delimiter, 'delimiter', (text, separators) => cutAtAny(text, separators, skip_empty)),
  cases: () => [
    { shape: '[?], ? -> [?, 2], [?], [2]' },
    { given: { input: ['a b', '', '  c d '], delimiter: ' ' }, expect: expected(['a', 'b'], [], ['c', 'd']) },
    {
      given: { input: ['a b', '', '  c d '], delimiter: ' ' },
      attrs: { skip_empty: false },
      expect: expected(['a', 'b'], [], ['', '', 'c', 'd', '']),
    },
    { given: { input: ['abc', 'x'], delimiter: '' }, expect: expected(['a', 'b', 'c'], ['x']) },
    { given: { input: ['a,b;c,,'], delimiter: ',;' }, expect: expected(['a', 'b', 'c']) },
    { given: { input: 'a', delimiter: ',' }, fails: /input must be a vector|Shape must be rank 1/ },
    { given: { input: ['a'], delimiter: ['b'] }, fails: /delimiter must be a scalar|Shape must be rank 0/ },
  ],
});

export const StringSplitV2 = defineOp({
  name: 'StringSplitV2',
  inputs: { input: 'string', sep: 'string' },
  outputs: { indices: 'int64', values: 'string', shape: 'int64' },
  attrs: { maxsplit: attr('int', { default: -1 }) },
  shape: ({ input, sep }) => shapeOf(input, sep, 'sep'),
  grad: notDifferentiable,
  lower: (p, { input, sep }, { maxsplit }) =>
    cutAll(p, input, sep, 'sep', (text, separator) => cutLikePython(text, separator, maxsplit)),
  cases: () => [
    { shape: '[?], [] -> [?, 2], [?], [2]' },
    { given: { input: ['a b', '', '  c d '], sep: '' }, expect: expected(['a', 'b'], [], ['c', 'd']) },
    {
      given: { input: ['1<>2<><>3', '<>', ''], sep: '<>' },
      expect: expected(['1', '2', '', '3'], ['', ''], ['']),
    },
    { given: { input: ['  a  b c d '], sep: '' }, attrs: { maxsplit: 1 }, expect: expected(['a', 'b c d ']) },
    { given: { input: ['a b  '], sep: '' }, attrs: { maxsplit: 1 }, expect: expected(['a', 'b  ']) },
    { given: { input: ['a,b,c'], sep: ',' }, attrs: { maxsplit: 1 }, expect: expected(['a', 'b,c']) },
    { given: { input: ['  a b '], sep: '' }, attrs: { maxsplit: 0 }, expect: expected(['  a b ']) },
    { given: { input: ['a\tb\nc\vd\fe\rf', 'größe'], sep: '' }, expect: expected([...'abcdef'], ['größe']) },
    { given: { input: ['aaa'], sep: 'aa' }, expect: expected(['', 'a']) },
    { given: { input: ['a'], sep: ['b'] }, fails: /sep must be a scalar|Shape must be rank 0/ },
  ],
});

/**
 * The pieces of each string between separators, as a sparse matrix; any byte of `delimiter` is one. Adds one `StringSplit`
 * node and a `Const` for the delimiter under `StringSplit/`.
 *
 * @example tf.stringSplit(['hello world', 'a b c']).values // runs to [b'hello' b'world' b'a' b'b' b'c']
 */
export function stringSplit(
  source: TensorLike,
  options: {
    readonly delimiter?: TensorLike | undefined;
    readonly skipEmpty?: boolean | undefined;
    readonly name?: string | undefined;
  } = {},
): SparseTensor {
  const { delimiter = ' ', skipEmpty, name } = onlyOptions('tf.stringSplit', options, 'delimiter', 'skipEmpty', 'name');
  return nameScope(name ?? 'StringSplit', () => {
    const between = convertToTensor(delimiter, { dtype: d.string });
    const { indices, values, shape } = StringSplit.build(
      { input: convertToTensor(source, { dtype: d.string }), delimiter: between },
      { attrs: { skip_empty: skipEmpty ?? true } },
    );
    return new SparseTensor(indices, values, shape);
  });
}

/**
 * The pieces of each string as Python's `split` finds them: at `sep`, or at white space. They are a sparse matrix, or with
 * `resultType: 'RaggedTensor'` rows of different lengths. Adds one `StringSplitV2` node and `Const`s under `StringSplit/`.
 *
 * @example tf.strings.split(['1<>2<>3'], { sep: '<>' }).values // runs to [b'1' b'2' b'3']
 */
export function split(input: TensorLike, options: SplitOptions & { readonly resultType: 'RaggedTensor' }): RaggedTensor;
export function split(
  input: TensorLike,
  options?: SplitOptions & { readonly resultType?: 'SparseTensor' | undefined },
): SparseTensor;
export function split(
  input: TensorLike,
  options: SplitOptions & { readonly resultType?: 'SparseTensor' | 'RaggedTensor' | undefined } = {},
): SparseTensor | RaggedTensor {
  const {
    sep = '',
    maxsplit,
    resultType = 'SparseTensor',
    name,
  } = onlyOptions('tf.strings.split', options, 'sep', 'maxsplit', 'resultType', 'name');
  return nameScope(name ?? 'StringSplit', () => {
    const source = convertToTensor(input, { dtype: d.string, name: 'input' });
    const { indices, values, shape } = StringSplitV2.build(
      { input: source, sep: convertToTensor(sep, { dtype: d.string }) },
      { attrs: { maxsplit: maxsplit ?? -1 } },
    );
    if (resultType === 'SparseTensor') return new SparseTensor(indices, values, shape);
    const [rowids, nrows] = [getItem(indices, [[], 0]), getItem(shape, [0])];
    return RaggedTensor.fromValueRowids(values, rowids, { nrows });
  });
}

export interface SplitOptions {
  readonly sep?: TensorLike | undefined;
  readonly maxsplit?: number | undefined;
  readonly name?: string | undefined;
}
