/** @file Print, PrintV2 and StringFormat: showing values while a graph runs. */
import { appendFileSync } from 'node:fs';
import { string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import type { Operation } from '../../graph/operation.ts';
import { hasOnly, isOptions, onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { isConvertible } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { summarizeEdges, summarizeFlat } from './summarize.ts';

/** How often each traced Print node has printed, for `first_n`. */
const printed = new WeakMap<object, number>();

export const Print = defineOp({
  name: 'Print',
  inputs: { input: 'T', data: 'U' },
  outputs: { output: 'T' },
  attrs: {
    T: anyType,
    U: attr('list(type)', { minimum: 0 }),
    message: attr('string', { default: '' }),
    first_n: attr('int', { default: -1 }),
    summarize: attr('int', { default: 3 }),
  },
  stateful: 'repeatable',
  shape: ({ input }) => ({ output: input }),
  grad: ({ inputs }, dy) => ({ input: dy.output, data: inputs.data.map(() => null) }),
  lower(p, { input, data }, attrs) {
    const { message, first_n, summarize } = attrs;
    p.host(data, [], (values) => {
      const times = printed.get(attrs) ?? 0;
      if (first_n >= 0 && times >= first_n) return [];
      printed.set(attrs, times + 1);
      process.stderr.write(`${message}${values.map((v) => `[${summarizeFlat(v, summarize)}]`).join('')}\n`);
      return [];
    });
    return { output: input };
  },
  cases: () => [
    { shape: '[2, ?], [3] -> [2, ?]' },
    { given: { input: [1, 2], data: [] }, attrs: { first_n: 0 }, expect: { output: [1, 2] } },
  ],
});

/** Where PrintV2 writes for each `output_stream`. */
function write(stream: string, text: string): void {
  if (stream === 'stdout') process.stdout.write(text);
  else if (stream === 'stderr') process.stderr.write(text);
  else if (stream.startsWith('file://')) appendFileSync(stream.slice('file://'.length), text);
  else {
    const level = /^log\((info|warning|error)\)$/.exec(stream);
    if (!level)
      throw new InvalidArgumentError(
        `Unknown output stream: ${stream}. Use stdout, stderr, log(info), log(warning), log(error) or file://path.`,
      );
    process.stderr.write(`${level[1]!.toUpperCase()}:tensorloom:${text}`);
  }
}

export const PrintV2 = defineOp({
  name: 'PrintV2',
  inputs: { input: 'string' },
  outputs: {},
  attrs: { output_stream: attr('string', { default: 'stderr' }), end: attr('string', { default: '\n' }) },
  stateful: 'repeatable',
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { input }, { output_stream, end }) {
    p.host([input], [], ([text]) => {
      if (text!.size !== 1) throw new InvalidArgumentError('PrintV2 wants a single string to print.');
      write(output_stream, `${String(text!.at(0))}${end}`);
      return [];
    });
    return {};
  },
  cases: () => [{ shape: '[] -> ' }, { given: { input: '' }, attrs: { end: '' }, expect: {} }],
});

/** Puts the values into the template, one placeholder after the other. */
function format(template: string, placeholder: string, values: readonly string[]): string {
  const parts = placeholder === '' ? [template] : template.split(placeholder);
  if (parts.length - 1 !== values.length)
    throw new InvalidArgumentError(
      `num placeholders in template and num inputs must match: ${parts.length - 1} vs. ${values.length}`,
    );
  return parts.map((part, i) => part + (values[i] ?? '')).join('');
}

export const StringFormat = defineOp({
  name: 'StringFormat',
  inputs: { inputs: 'T' },
  outputs: { output: 'string' },
  attrs: {
    T: attr('list(type)', { minimum: 0 }),
    template: attr('string', { default: '%s' }),
    placeholder: attr('string', { default: '%s' }),
    summarize: attr('int', { default: 3 }),
  },
  shape(_, { template, placeholder, T }) {
    format(template, placeholder, T.map(String));
    return { output: [] };
  },
  grad: notDifferentiable,
  lower(p, { inputs }, { template, placeholder, summarize }) {
    const show = (v: NDArray) => summarizeEdges(v, summarize);
    const [output] = p.host(inputs, [{ dtype: string, shape: [] }], (values) => [
      fromElements(string, [], [format(template, placeholder, values.map(show))]),
    ]);
    return { output: output! };
  },
  cases: () => [
    { shape: '[2] -> []' },
    { shape: '[2], [3]', rejects: /num placeholders/ },
    {
      given: { inputs: [[1, 2.5, 3, 4, 5, 6, 7]] },
      attrs: { template: 'a {}', placeholder: '{}' },
      expect: { output: 'a [1 2.5 3 ... 5 6 7]' },
    },
    {
      given: {
        inputs: [
          [
            [1, 0.1],
            [3, 1e10],
          ],
          'text',
          true,
        ],
      },
      attrs: { template: '{} {} {}', placeholder: '{}' },
      expect: { output: '[[1 0.1]\n [3 1e+10]] "text" 1' },
    },
  ],
});

export interface PrintOptions {
  readonly message?: string;
  /** Print only this many times; always when negative. */
  readonly firstN?: number;
  readonly summarize?: number;
  readonly name?: string;
}

/**
 * The same tensor, and `data` on standard error each time it is computed. Adds one `Print` node.
 *
 * @example const y = tf.Print(x, [x], { message: 'x=' }); // prints x=[1 2 3...] when y is computed
 */
export function printIdentity(input: TensorLike, data: readonly TensorLike[], options: PrintOptions = {}): Tensor {
  onlyOptions('tf.Print', options, 'message', 'firstN', 'summarize', 'name');
  const attrs = {
    ...(options.message === undefined ? {} : { message: options.message }),
    ...(options.firstN === undefined ? {} : { first_n: options.firstN }),
    ...(options.summarize === undefined ? {} : { summarize: options.summarize }),
  };
  return Print.build({ input, data }, { name: options.name, attrs }).output;
}

/** What `tf.print` shows: tensors, plain values, and lists and records of them. */
export type Printable = TensorLike | null | undefined | readonly Printable[] | { readonly [key: string]: Printable };

export interface PrintV2Options {
  /** `'stderr'` by default; `'stdout'`, `'log(info)'`, `'log(warning)'`, `'log(error)'`, or a file as `'file://path'`. */
  readonly outputStream?: string;
  /** How many elements to show at each end of a dimension; 3 by default, all when -1. */
  readonly summarize?: number;
  readonly sep?: string;
  readonly end?: string;
  readonly name?: string;
}

const printOptionNames = ['outputStream', 'summarize', 'sep', 'end', 'name'] as const;

/**
 * An operation that prints the inputs when it runs. Adds a `StringFormat` and a `PrintV2` node.
 *
 * @example sess.run(tf.print('x:', x)) // prints x: [0 1 2 ... 7 8 9]
 * @example sess.run(tf.print(['x:', x], { outputStream: 'stdout' }))
 */
export function print(inputs: readonly Printable[], options?: PrintV2Options): Operation;
export function print(...inputs: readonly (Printable | PrintV2Options)[]): Operation;
export function print(...given: readonly (Printable | PrintV2Options)[]): Operation {
  const [first, second = {}] = given;
  if (!Array.isArray(first) || given.length > 2 || !isOptions(second)) {
    const last = given.at(-1);
    // A record at the end may be something to print, too.
    return hasOnly<PrintV2Options>(last, ...printOptionNames)
      ? printList(given.slice(0, -1) as Printable[], last)
      : printList(given as Printable[], {});
  }
  return printList(first, onlyOptions('tf.print', second as PrintV2Options, ...printOptionNames));
}

function printList(inputs: readonly Printable[], options: PrintV2Options): Operation {
  const { name, outputStream = 'stderr', end = '\n', summarize = 3, sep = ' ' } = options;
  const [only] = inputs;
  const plain = inputs.length === 1 && only instanceof Tensor && only.rank === 0 && only.dtype === string;
  const text = plain ? only : formatted(inputs, sep, summarize, name && `${name}_format`);
  return PrintV2.node({ input: text }, { name, attrs: { output_stream: outputStream, end } });
}

function formatted(inputs: readonly Printable[], sep: string, summarize: number, name: string | undefined): Tensor {
  const tensors: Tensor[] = [];
  const collect = (mark: string) => (t: Tensor) => {
    tensors.push(t);
    return mark;
  };
  let placeholder = '{}';
  const without = inputs.map((x) => template(x, () => '')).join(sep);
  while (without.includes(placeholder)) placeholder += '4';
  const text = inputs.map((x) => template(x, collect(placeholder))).join(sep);
  return StringFormat.build({ inputs: tensors }, { name, attrs: { template: text, placeholder, summarize } }).output;
}

/** A value as Python would show it, with a mark for each tensor. */
function template(value: Printable, mark: (tensor: Tensor) => string, nested = false): string {
  if (value instanceof Tensor) return mark(value);
  if (isConvertible(value)) return mark(value.toTensor());
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return nested ? `'${value}'` : value;
  if (Array.isArray(value)) return `[${value.map((x) => template(x as Printable, mark, true)).join(', ')}]`;
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype)
    return `{${Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, x]) => `'${key}': ${template(x as Printable, mark, true)}`)
      .join(', ')}}`;
  return String(value);
}
