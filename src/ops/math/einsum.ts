/** @file Einsum: sums of products of tensors, said with a letter for each axis. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showRuntime, sizeOf } from '../../core/shape.ts';
import { splitOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { type AttrSpec, anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { sliceView, type Value } from '../../program/value.ts';
import { einsumGradient } from './einsumGradient.ts';
import { contractionPath } from './einsumPath.ts';

interface Equation {
  readonly inputs: readonly string[];
  readonly output: string;
}

/** Splits `'ij,jk->ik'`; the ellipsis becomes the one letter `0`. */
function parse(equation: string): Equation {
  const parts = equation.replaceAll(' ', '').replaceAll('...', '0').split('->');
  if (parts.length !== 2) throw new InvalidArgumentError(`Expecting exactly one '->' in einsum equation: ${equation}`);
  const inputs = parts[0]!.split(',');
  if (inputs.length > 2)
    throw new InvalidArgumentError(
      `Expecting 1 or 2 input subscripts in equation '${equation}' but got: ${inputs.length}`,
    );
  return { inputs, output: parts[1]! };
}

/** One letter per axis: the axes under an ellipsis are called `0:0`, `0:1` … counted from the last. */
function axisLabels(subscripts: string, rank: number, input: number): string[] {
  const letters = [...subscripts];
  const at = letters.indexOf('0');
  if (at < 0) {
    if (letters.length !== rank)
      throw new InvalidArgumentError(`Expected input ${input} to have rank ${letters.length} but got: ${rank}`);
    return letters;
  }
  const hidden = rank - letters.length + 1;
  if (hidden < 0)
    throw new InvalidArgumentError(
      `Expected input ${input} to have rank at least ${letters.length - 1} but got: ${rank}`,
    );
  letters.splice(at, 1, ...hiddenLabels(hidden));
  return letters;
}
const hiddenLabels = (count: number) => Array.from({ length: count }, (_, i) => `0:${count - 1 - i}`);

/** The size of every label; sizes under the ellipsis broadcast, all others must agree. */
function labelSizes(labels: readonly (readonly string[])[], shapes: readonly (readonly (number | null)[])[]) {
  const sizes = new Map<string, number | null>();
  for (const [k, names] of labels.entries())
    for (const [axis, name] of names.entries()) {
      const size = shapes[k]![axis]!;
      const known = sizes.get(name);
      if (known == null || (known === 1 && name.startsWith('0:'))) sizes.set(name, size ?? known ?? null);
      else if (size !== null && size !== known && !(size === 1 && name.startsWith('0:')))
        throw new InvalidArgumentError(
          `Expected dimension ${known} at axis ${axis} of the input shaped ${showRuntime(shapes[k]!)} but got dimension ${size}`,
        );
    }
  return sizes;
}

function outputLabels(output: string, labels: readonly (readonly string[])[]): string[] {
  const hidden = Math.max(0, ...labels.map((names) => names.filter((n) => n.startsWith('0:')).length));
  return [...output].flatMap((letter) => (letter === '0' ? hiddenLabels(hidden) : [letter]));
}

/** The elements where axes of the same label have the same index, as a view. */
function diagonal(value: Value, labels: readonly string[]): { value: Value; labels: string[] } {
  const distinct = [...new Set(labels)];
  if (distinct.length === labels.length) return { value, labels: distinct };
  const axesOf = (label: string) => labels.flatMap((l, i) => (l === label ? [i] : []));
  return {
    labels: distinct,
    value: {
      buffer: value.buffer,
      dtype: value.dtype,
      offset: value.offset,
      shape: distinct.map((l) => value.shape[axesOf(l)[0]!]!),
      strides: distinct.map((l) => axesOf(l).reduce((sum, i) => sum + value.strides[i]!, 0)),
    },
  };
}

interface Labelled {
  readonly value: Value;
  readonly labels: readonly string[];
}

/** Sums over axes that appear nowhere else. */
function sumAway(p: ProgramBuilder, { value, labels }: Labelled, kept: (label: string) => boolean): Labelled {
  const axes = labels.flatMap((l, i) => (kept(l) ? [] : [i]));
  return axes.length === 0 ? { value, labels } : { value: p.reduce('sum', value, axes), labels: labels.filter(kept) };
}

/** Axes in the order of `labels`, with size 1 where the value has no such axis. */
function arrange(p: ProgramBuilder, { value, labels }: Labelled, order: readonly string[]): Value {
  const present = order.filter((l) => labels.includes(l));
  const turned = p.transpose(
    value,
    present.map((l) => labels.indexOf(l)),
  );
  let next = 0;
  return p.reshape(
    turned,
    order.map((l) => (labels.includes(l) ? turned.shape[next++]! : 1)),
  );
}

/** The product of two operands, summed over the labels that are not in the output. */
function contract(p: ProgramBuilder, left: Labelled, right: Labelled, output: readonly string[]): Labelled {
  const shared = left.labels.filter((l) => right.labels.includes(l));
  // Axes under the ellipsis always count as batch axes, since they may have to be repeated.
  const batch = output.filter((l) => shared.includes(l) || l.startsWith('0:'));
  const summed = shared.filter((l) => !output.includes(l));
  const freeLeft = left.labels.filter((l) => !batch.includes(l) && !summed.includes(l));
  const freeRight = right.labels.filter((l) => !batch.includes(l) && !summed.includes(l));
  const a = arrange(p, left, [...batch, ...freeLeft, ...summed]);
  const b = arrange(p, right, [...batch, ...summed, ...freeRight]);
  const sizesOf = (value: Value, from: number, count: number) => value.shape.slice(from, from + count);
  const rows = sizesOf(a, batch.length, freeLeft.length);
  const inner = sizesOf(b, batch.length, summed.length);
  const columns = sizesOf(b, batch.length + summed.length, freeRight.length);
  const product = p.dot(
    p.reshape(a, [...sizesOf(a, 0, batch.length), sizeOf(rows), sizeOf(inner)]),
    p.reshape(b, [...sizesOf(b, 0, batch.length), sizeOf(inner), sizeOf(columns)]),
  );
  const value = p.reshape(product, [...sizesOf(product, 0, batch.length), ...rows, ...columns]);
  return { value, labels: [...batch, ...freeLeft, ...freeRight] };
}

/** Puts axes in the order of the output; a label that is there twice gets a diagonal among zeros. */
function deliver(p: ProgramBuilder, { value, labels }: Labelled, output: readonly string[]): Value {
  const distinct = [...new Set(output)];
  const turned = arrange(p, { value, labels }, distinct);
  if (distinct.length === output.length) return turned;
  const sizes = new Map(distinct.map((l, i) => [l, turned.shape[i]!]));
  const target = p.fill(
    value.dtype,
    output.map((l) => sizes.get(l)!),
    0,
  );
  const { value: onDiagonal } = diagonal(
    sliceView(
      target,
      target.shape.map(() => 0),
      target.shape,
    ),
    output,
  );
  p.copyInto(turned, onDiagonal);
  return target;
}

export type EinsumOp = Op<
  { readonly inputs: 'N * T' },
  { readonly output: 'T' },
  { readonly equation: AttrSpec<'string'>; readonly N: AttrSpec<'int'>; readonly T: AttrSpec<'type'> }
>;

export const Einsum: EinsumOp = defineOp({
  name: 'Einsum',
  inputs: { inputs: 'N * T' },
  outputs: { output: 'T' },
  attrs: { equation: attr('string'), N: attr('int', { minimum: 1 }), T: anyType },
  shape({ inputs }, { equation }) {
    const parsed = parse(equation);
    if (parsed.inputs.length !== inputs.length)
      throw new InvalidArgumentError(
        `the equation '${equation}' names ${parsed.inputs.length} inputs, but ${inputs.length} were given.`,
      );
    const known = inputs.every((dims): dims is NonNullable<Dims> => dims !== null) ? inputs : undefined;
    if (!known) return { output: parsed.output.includes('0') ? null : [...parsed.output].map(() => null) };
    const labels = known.map((dims, i) => axisLabels(parsed.inputs[i]!, dims.length, i));
    const sizes = labelSizes(labels, known);
    return { output: outputLabels(parsed.output, labels).map((l) => sizes.get(l) ?? null) };
  },
  grad: (context, { output: dy }) => ({ inputs: einsumGradient(context, dy) }),
  lower(p, { inputs }, { equation }) {
    const parsed = parse(equation);
    const labels = inputs.map((v, i) => axisLabels(parsed.inputs[i]!, v.shape.length, i));
    labelSizes(
      labels,
      inputs.map((v) => v.shape),
    );
    const output = outputLabels(parsed.output, labels);
    const operands = inputs.map((value, i) => {
      const others = labels.filter((_, k) => k !== i).flat();
      return sumAway(p, diagonal(value, labels[i]!), (l) => output.includes(l) || others.includes(l));
    });
    const [left, right] = operands as [Labelled, Labelled | undefined]; // one or two, as parsed
    return { output: deliver(p, right ? contract(p, left, right, [...new Set(output)]) : left, output) };
  },
  cases: () => [
    { shape: '[2, ?], [3, 4] -> [2, 4]', attrs: { equation: 'ij,jk->ik', N: 2 } },
    { shape: '[5, 1, 2, 3], [6, 3, 4] -> [5, 6, 2, 4]', attrs: { equation: '...ij,...jk->...ik', N: 2 } },
    { shape: '[2, 3], [4, 5]', attrs: { equation: 'ij,jk->ik', N: 2 }, rejects: /Expected dimension 3 at axis 0/ },
    {
      given: {
        inputs: [
          [
            [1, 2],
            [3, 4],
          ],
          [
            [5, 6],
            [7, 8],
          ],
        ],
      },
      attrs: { equation: 'ij,jk->ik', N: 2 },
      expect: {
        output: [
          [19, 22],
          [43, 50],
        ],
      },
    },
    {
      given: {
        inputs: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
      },
      attrs: { equation: 'ij->ji', N: 1 },
      expect: {
        output: [
          [1, 3],
          [2, 4],
        ],
      },
    },
    {
      given: {
        inputs: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
      },
      attrs: { equation: 'ii->', N: 1 },
      expect: { output: 5 },
    },
    {
      given: {
        inputs: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
      },
      attrs: { equation: 'ii->i', N: 1 },
      expect: { output: [1, 4] },
    },
    {
      given: { inputs: [[1, 2]] },
      attrs: { equation: 'i->ii', N: 1 },
      expect: {
        output: [
          [1, 0],
          [0, 2],
        ],
      },
    },
    {
      given: {
        inputs: [
          [1, 2],
          [3, 4, 5],
        ],
      },
      attrs: { equation: 'i,j->ji', N: 2 },
      expect: {
        output: [
          [3, 6],
          [4, 8],
          [5, 10],
        ],
      },
    },
    {
      given: {
        inputs: [
          [[[1, 2]], [[3, 4]]],
          [[5], [6]],
        ],
      },
      attrs: { equation: '...ij,...jk->...ik', N: 2 },
      expect: { output: [[[17]], [[39]]] },
    },
    {
      given: {
        inputs: [
          [
            [1, 2],
            [3, 4],
          ],
          [5, 6],
        ],
      },
      attrs: { equation: 'ab,c->a', N: 2 },
      expect: { output: [33, 77] },
    },
  ],
});

const letters = /^[a-zA-Z0,]*(->[a-zA-Z0]*)?$/;

/** The equation with its output said, and without blanks; the ellipsis as `0`. */
function resolve(equation: string, count: number): string {
  const text = equation.replaceAll(' ', '');
  if (text.includes('0')) throw userError(`Invalid character '0' in equation: ${equation}`);
  let resolved = text.replaceAll('...', '0');
  if (!letters.test(resolved)) throw userError(`Subscripts have incorrect format: ${equation}`);
  const inputs = resolved.split('->')[0]!.split(',');
  if (inputs.length !== count)
    throw userError(`Got ${count} inputs for equation '${equation}', expecting ${inputs.length}`);
  const all = inputs.join('');
  if (!resolved.includes('->')) {
    const single = [...new Set(all)].sort().filter((l) => all.split(l).length === 2);
    resolved += `->${single.join('')}`;
  }
  const output = resolved.split('->')[1]!;
  if (new Set(output).size !== output.length)
    throw userError(`Output subscripts contain a label appearing more than once: ${equation}`);
  for (const label of output)
    if (label !== '0' && !all.includes(label))
      throw userError(`Output subscripts contain the label ${label} not present in the input subscripts.`);
  return resolved;
}

const withEllipsis = (equation: string) => equation.replaceAll('0', '...');

/**
 * Sums of products, said with a letter for each axis: `'ij,jk->ik'` is a matrix product. Adds one `Einsum` node for one or
 * two inputs, one per pair for more, under `einsum/`.
 *
 * @example tf.einsum('ij,ij->i', [[1, 2], [3, 4]], [[1, 1], [1, 1]]) // runs to [3 7]
 */
export function einsum(equation: string, ...args: readonly (TensorLike | { name?: string })[]): Tensor {
  const [given, named] = splitOptions<TensorLike, { name?: string }>(args, {});
  return nameScope(named.name ?? 'einsum', () => {
    const resolved = resolve(equation, given.length);
    if (given.length <= 2)
      return Einsum.build({ inputs: given }, { attrs: { equation: withEllipsis(resolved) } }).output;
    const operands = given.map((x) => convertToTensor(x));
    for (const { pick, equation: pair } of contractionPath(
      resolved,
      operands.map((t) => t.shape),
    )) {
      const inputs = pick.map((i) => operands.splice(i, 1)[0]!);
      operands.push(Einsum.build({ inputs }, { attrs: { equation: withEllipsis(pair) } }).output);
    }
    return operands[0]!;
  });
}
