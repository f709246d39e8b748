/** @file RegexFullMatch and RegexReplace, with the pattern as an attribute or as an input. */
import { bool } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { compile, Rewrite, replaceMatches } from './regex.ts';
import type { StringMemory } from './stringMemory.ts';
import { bytesOf, makeStrings, mapStrings, toText } from './text.ts';

function scalarDims(dims: Dims, port: string): void {
  if (dims !== null && dims.length !== 0)
    throw new InvalidArgumentError(`${port} is ${showShape(dims)}, but must be a scalar.`);
}

function checkScalar(shape: Shape, what: string): void {
  if (shape.length !== 0) throw new InvalidArgumentError(`${what} must be scalar, but received ${showRuntime(shape)}`);
}

function matches(p: ProgramBuilder, input: Value, pattern: Value | string): Value {
  const { shape } = input;
  const fixed = typeof pattern === 'string' ? compile(pattern, true) : undefined;
  const others = typeof pattern === 'string' ? [] : [pattern];
  const [output] = p.host([input, ...others], [{ dtype: bool, shape }], async ([array, source]) => {
    const expression = fixed ?? compile(toText(bytesOf(source!)[0]!), true);
    const strings = bytesOf(array!);
    const found = new Uint8Array(strings.length);
    await eachInTurns(strings.length, (i) => {
      expression.lastIndex = 0;
      found[i] = Number(expression.test(toText(strings[i]!)));
    });
    return [new NDArray(bool, shape, found)];
  });
  return output!;
}

export const StaticRegexFullMatch = defineOp({
  name: 'StaticRegexFullMatch',
  inputs: { input: 'string' },
  outputs: { output: 'bool' },
  attrs: { pattern: attr('string') },
  shape: ({ input }) => ({ output: input }),
  grad: gradientPending('TensorFlow has none'),
  lower: (p, { input }, { pattern }) => ({ output: matches(p, input, pattern) }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]', attrs: { pattern: 'a' } },
    { given: { input: ['abc', 'ab', 'a\nc'] }, attrs: { pattern: 'a.c' }, expect: { output: [true, false, false] } },
    { given: { input: ['ab', 'a'] }, attrs: { pattern: 'a|ab' }, expect: { output: [true, true] } },
    { given: { input: 'tag/x-1' }, attrs: { pattern: '[A-Za-z0-9.][A-Za-z0-9_.\\\\/>-]*' }, expect: { output: true } },
    { given: { input: ['A\u00e9', 'b'] }, attrs: { pattern: '(?i)a\\pL' }, expect: { output: [true, false] } },
    { given: { input: 'a' }, attrs: { pattern: '(' }, fails: /Invalid pattern: \(, error: missing \): \(/ },
  ],
});

export const RegexFullMatch = defineOp({
  name: 'RegexFullMatch',
  inputs: { input: 'string', pattern: 'string' },
  outputs: { output: 'bool' },
  attrs: {},
  shape({ input, pattern }) {
    scalarDims(pattern, 'pattern');
    return { output: input };
  },
  grad: gradientPending('TensorFlow has none'),
  lower(p, { input, pattern }) {
    checkScalar(pattern.shape, 'Pattern');
    return { output: matches(p, input, pattern) };
  },
  cases: () => [
    { shape: '[2, ?], [] -> [2, ?]' },
    { shape: '[2], [1]', rejects: /pattern is \[1\], but must be a scalar/ },
    { given: { input: ['abc', 'ab'], pattern: 'a[a-z]{2}' }, expect: { output: [true, false] } },
    { given: { input: 'a', pattern: 'a++' }, fails: /Invalid pattern: a\+\+, error: bad repetition operator: \+\+/ },
  ],
});

/** Rewrites the matches in a string. */
function replacer(expression: RegExp, rewrite: string, all: boolean) {
  const by = new Rewrite(rewrite);
  return (bytes: Uint8Array, memory: StringMemory) => {
    const text = toText(bytes);
    const replaced = replaceMatches(text, expression, by, all);
    return replaced === text ? bytes : memory.encoded(replaced);
  };
}

const replaceGlobal = attr('bool', { default: true });

export const StaticRegexReplace = defineOp({
  name: 'StaticRegexReplace',
  inputs: { input: 'string' },
  outputs: { output: 'string' },
  attrs: { pattern: attr('string'), rewrite: attr('string'), replace_global: replaceGlobal },
  shape: ({ input }) => ({ output: input }),
  grad: gradientPending('TensorFlow has none'),
  lower(p, { input }, { pattern, rewrite, replace_global }) {
    return { output: mapStrings(p, input, replacer(compile(pattern), rewrite, replace_global)) };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]', attrs: { pattern: 'a', rewrite: 'b' } },
    { given: { input: ['abc', 'bbb'] }, attrs: { pattern: 'b*', rewrite: '-' }, expect: { output: ['-a-c-', '-'] } },
    { given: { input: ['abc'] }, attrs: { pattern: '(a)(b)', rewrite: '\\2\\1\\0' }, expect: { output: ['baabc'] } },
    {
      given: { input: 'abcabc' },
      attrs: { pattern: 'b', rewrite: 'X', replace_global: false },
      expect: { output: 'aXcabc' },
    },
    { given: { input: ['a b\u000bc'] }, attrs: { pattern: '\\s+', rewrite: '_' }, expect: { output: ['a_b\u000bc'] } },
    {
      given: { input: 'h\u00e9.a\n' },
      attrs: { pattern: '[[:alpha:]]', rewrite: 'e' },
      expect: { output: 'e\u00e9.e\n' },
    },
    { given: { input: 'ab' }, attrs: { pattern: '(a)', rewrite: '\\2' }, expect: { output: 'ab' } },
    { given: { input: 'abc' }, attrs: { pattern: '', rewrite: '-' }, expect: { output: '-a-b-c-' } },
    { given: { input: 'a' }, attrs: { pattern: 'a(?=b)', rewrite: '' }, fails: /invalid perl operator: \(\?=/ },
    { given: { input: 'a' }, attrs: { pattern: '\\y', rewrite: '' }, fails: /invalid escape sequence: \\y/ },
    { given: { input: 'a' }, attrs: { pattern: '[b-a]', rewrite: '' }, fails: /invalid character class range: b-a/ },
    { given: { input: 'a' }, attrs: { pattern: '*', rewrite: '' }, fails: /no argument for repetition operator: \*/ },
  ],
});

export const RegexReplace = defineOp({
  name: 'RegexReplace',
  inputs: { input: 'string', pattern: 'string', rewrite: 'string' },
  outputs: { output: 'string' },
  attrs: { replace_global: replaceGlobal },
  shape({ input, pattern, rewrite }) {
    scalarDims(pattern, 'pattern');
    scalarDims(rewrite, 'rewrite');
    return { output: input };
  },
  grad: notDifferentiable,
  lower(p, { input, pattern, rewrite }, { replace_global }) {
    checkScalar(pattern.shape, 'Pattern');
    checkScalar(rewrite.shape, 'Rewrite');
    const { shape, dtype } = input;
    const [output] = p.host([input, pattern, rewrite], [{ dtype, shape }], async ([array, source, by]) => {
      const replaced = replacer(compile(toText(bytesOf(source!)[0]!)), toText(bytesOf(by!)[0]!), replace_global);
      const strings = bytesOf(array!);
      return [await makeStrings(shape, (i, memory) => replaced(strings[i]!, memory))];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[2, ?], [], [] -> [2, ?]' },
    { given: { input: ['abc', 'd'], pattern: '[a-b]', rewrite: '<\\0>' }, expect: { output: ['<a><b>c', 'd'] } },
    { given: { input: 'a', pattern: '[a', rewrite: '' }, fails: /missing \]: \[a/ },
  ],
});

/**
 * Whether a regular expression (RE2's syntax) matches each string whole. Adds a `StaticRegexFullMatch` node, or a
 * `RegexFullMatch` one for a pattern that is a tensor.
 *
 * @example tf.strings.regexFullMatch(['abc', 'ab'], 'a.c') // runs to [ True False]
 */
export function regexFullMatch(input: TensorLike, pattern: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.strings.regexFullMatch', options, 'name');
  const { name } = options;
  if (typeof pattern === 'string') return StaticRegexFullMatch.build({ input }, { name, attrs: { pattern } }).output;
  return RegexFullMatch.build({ input, pattern }, { name }).output;
}

/**
 * The strings with the matches of a regular expression (RE2's syntax) rewritten; `\1` stands for the first group. Adds a
 * `StaticRegexReplace` node, or a `RegexReplace` one for a pattern or rewrite that is a tensor.
 *
 * @example tf.regexReplace(['abc'], 'b', 'x') // runs to [b'axc']
 */
export function regexReplace(
  input: TensorLike,
  pattern: TensorLike,
  rewrite: TensorLike,
  options: { replaceGlobal?: boolean; name?: string } = {},
): Tensor {
  onlyOptions('tf.regexReplace', options, 'replaceGlobal', 'name');
  const { replaceGlobal: replace_global = true, name } = options;
  if (typeof pattern === 'string' && typeof rewrite === 'string')
    return StaticRegexReplace.build({ input }, { name, attrs: { pattern, rewrite, replace_global } }).output;
  return RegexReplace.build({ input, pattern, rewrite }, { name, attrs: { replace_global } }).output;
}
