/** @file StringSplit and StringSplitV2: the pieces of every string, as a sparse matrix with a row per string. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
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
import { bytesOf, isSpace, stringArray } from './text.ts';

/** Takes the pieces of a string: from where each begins to where it ends. */
type Take = (from: number, to: number) => void;
/** Cuts a string. */
type Cut = (text: Uint8Array, take: Take) => void;

/** Cuts where any of the separator's bytes is, or between all bytes when it has none. */
function cutterAtAny(separators: Uint8Array, skipsEmpty: boolean): Cut {
  if (separators.length === 0)
    return (text, take) => {
      for (let i = 0; i < text.length; i++) take(i, i + 1);
    };
  const isSeparator = new Uint8Array(256);
  for (const byte of separators) isSeparator[byte] = 1;
  return (text, take) => {
    let from = 0;
    if (text.length === 0) return;
    for (let i = 0; i <= text.length; i++)
      if (i === text.length || isSeparator[text[i]!] === 1) {
        if (!skipsEmpty || i > from) take(from, i);
        from = i + 1;
      }
  };
}

/** Cuts as Python's `split` does: at the whole separator, or at stretches of white space when it is empty. */
function cutterLikePython(separator: Uint8Array, most: number): Cut {
  if (most === 0) return (text, take) => take(0, text.length);
  if (separator.length === 0) return (text, take) => cutAtSpace(text, most, take);
  return (text, take) => {
    let from = 0;
    for (let left = most; left !== 0; left--) {
      const at = indexOf(text, separator, from);
      if (at < 0) break;
      take(from, at);
      from = at + separator.length;
    }
    take(from, text.length);
  };
}

function cutAtSpace(text: Uint8Array, most: number, take: Take): void {
  for (let [from, left] = [pastSpace(text, 0), most]; from < text.length; left--) {
    let to = left === 0 ? text.length : from;
    while (to < text.length && !isSpace(text[to]!)) to++;
    take(from, to);
    from = pastSpace(text, to);
  }
}

function pastSpace(text: Uint8Array, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text[at]!)) at++;
  return at;
}

function indexOf(text: Uint8Array, wanted: Uint8Array, from: number): number {
  for (let at = text.indexOf(wanted[0]!, from); at >= 0; at = text.indexOf(wanted[0]!, at + 1)) {
    let same = 1;
    while (same < wanted.length && text[at + same] === wanted[same]) same++;
    if (same === wanted.length) return at;
  }
  return -1;
}

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
  cutter: (separator: Uint8Array) => Cut,
) {
  if (input.shape.length !== 1)
    throw new InvalidArgumentError(`input must be a vector, got shape: ${showRuntime(input.shape)}`);
  if (separator.shape.length !== 0)
    throw new InvalidArgumentError(`${port} must be a scalar, got shape: ${showRuntime(separator.shape)}`);
  const results = [{ dtype: d.int64 }, { dtype: d.string }, { dtype: d.int64 }];
  const [indices, values, shape] = p.host([input, separator], results, async ([texts, between]) => {
    const cut = cutter(bytesOf(between!)[0]!);
    const strings = bytesOf(texts!);
    const pieces: Uint8Array[] = [];
    const counts = new Int32Array(strings.length);
    await eachInTurns(strings.length, (i) => {
      const text = strings[i]!;
      const before = pieces.length;
      cut(text, (from, to) => pieces.push(text.subarray(from, to)));
      counts[i] = pieces.length - before;
    });
    const places = new Int64s(2 * pieces.length);
    let [next, columns] = [0, 0];
    await eachInTurns(strings.length, (i) => {
      const count = counts[i]!;
      columns = Math.max(columns, count);
      for (let k = 0; k < count; k++) {
        places.set(next++, i);
        places.set(next++, k);
      }
    });
    return [
      new NDArray(d.int64, [pieces.length, 2], places.data),
      stringArray([pieces.length], pieces),
      intVector([strings.length, columns], d.int64),
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
    cutAll(p, input, delimiter, 'delimiter', (separators) => cutterAtAny(separators, skip_empty)),
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
    cutAll(p, input, sep, 'sep', (separator) => cutterLikePython(separator, maxsplit)),
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
