/** @file The gradient of Einsum, node for node as TensorFlow's Python builds it. */
import { int32 } from '../../core/dtypes.ts';
import { isFullyDefined } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import type { Gradient } from '../../op/registry.ts';
import { broadcastTo } from '../array/broadcastTo.ts';
import { concat } from '../array/concat.ts';
import { ones } from '../array/fill.ts';
import { getItem } from '../array/getItem.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { stack } from '../array/stack.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import { conj } from './complex.ts';
import { Einsum } from './einsum.ts';
import { plus } from './operators.ts';
import { reducedShape } from './reductionGradients.ts';
import { reduceSum } from './reductions.ts';

const einsumNode = (inputs: readonly TensorLike[], equation: string) =>
  Einsum.build({ inputs }, { attrs: { equation } }).output;

/** The axis of a label, counted from the end when it stands behind an ellipsis. */
function axisOf(subscripts: string, label: string): number {
  const [before, after] = subscripts.split('...') as [string, string | undefined]; // split gives at least one part
  const index = before.indexOf(label);
  return index >= 0 || after === undefined ? index : after.indexOf(label) - after.length;
}

const without = (subscripts: string, labels: ReadonlySet<string>) =>
  [...subscripts].filter((s) => !labels.has(s)).join('');
const hasRepeats = (subscripts: string) => new Set(subscripts).size < subscripts.length;

/** Repeats a gradient along the labels that were summed over. */
function spread(dy: Tensor, outputSubs: string, inputSubs: string, inputShape: Tensor, reduced: ReadonlySet<string>) {
  const reducedSubs = [...reduced].join('');
  const axes = [...reduced].map((label) => axisOf(inputSubs, label));
  const sizes = stack(axes.map((axis) => getItem(inputShape, [axis])));
  if (!hasRepeats(inputSubs) && !hasRepeats(outputSubs) && without(inputSubs, reduced) === outputSubs) {
    const kept = reducedShape(inputShape, convertToTensor(axes));
    return broadcastTo(reshape(dy, kept), inputShape);
  }
  const full = concat([sizes, shape(dy)], 0);
  const kept = concat([ones(reduced.size, { dtype: int32 }), shape(dy)], 0);
  return einsumNode([broadcastTo(reshape(dy, kept), full)], `${reducedSubs}${outputSubs}->${inputSubs}`);
}

interface Side {
  readonly subs: string;
  readonly value: Tensor;
  readonly shape: Tensor;
}

/** The gradient of one operand of a product. */
function sideGradient(dy: Tensor, own: Side, other: Side, outputSubs: string): Tensor {
  const elsewhere = new Set(`${outputSubs}${other.subs}.`);
  const reduced = new Set([...own.subs].filter((s) => !elsewhere.has(s)));
  const left = without(own.subs, reduced);
  const grad = einsumNode([dy, other.value], `${outputSubs},${other.subs}->${left}`);
  return reduced.size === 0 ? grad : spread(grad, left, own.subs, own.shape, reduced);
}

/** Where the axes under the ellipsis begin, and what stands behind them. */
function hiddenRange(subscripts: string): readonly [number, number | null] {
  const start = subscripts.indexOf('...');
  if (start < 0) return [0, 0];
  const behind = subscripts.length - start - 3;
  return [start, behind > 0 ? -behind : null];
}

interface Node {
  readonly inputs: { readonly inputs: readonly Tensor[] };
  readonly attrs: { readonly equation: string };
}

export function einsumGradient({ inputs: { inputs }, attrs: { equation } }: Node, given: Gradient): Tensor[] {
  const dy = convertToTensor(given);
  const [inputSubs, outputSubs] = equation.split('->') as [string, string]; // checked when the node was made
  if (inputs.length === 1) {
    const inputShape = shape(inputs[0]!);
    const reduced = new Set([...inputSubs].filter((s) => !`${outputSubs}...`.includes(s)));
    if (reduced.size === 0) return [einsumNode([dy], `${outputSubs}->${inputSubs}`)];
    return [spread(dy, outputSubs, inputSubs, inputShape, reduced)];
  }
  const subs = inputSubs.split(',').map((s) => (outputSubs.includes('...') && !s.includes('...') ? `${s}...` : s));
  const values = inputs.map((t) => (dy.dtype.isComplex ? conj(t) : t));
  const shapes = values.map((t) => shape(t));
  const [x, y] = values.map((value, i) => ({ subs: subs[i]!, value, shape: shapes[i]! })) as [Side, Side]; // two inputs
  const dx = sideGradient(dy, x, y, outputSubs);
  const dyy = sideGradient(dy, y, x, outputSubs);
  if (!outputSubs.includes('...')) return [dx, dyy];
  const [rangeX, rangeY] = [hiddenRange(x.subs), hiddenRange(y.subs)];
  const hidden = (side: Side, [start, end]: readonly [number, number | null]) =>
    side.value.shape?.slice(start, end ?? undefined);
  if (
    isFullyDefined(x.value.shape) &&
    isFullyDefined(y.value.shape) &&
    `${hidden(x, rangeX)}` === `${hidden(y, rangeY)}`
  )
    return [dx, dyy];
  const { r0, r1 } = BroadcastGradientArgs.build({
    s0: getItem(x.shape, [[...rangeX]]),
    s1: getItem(y.shape, [[...rangeY]]),
  });
  return [reshape(reduceSum(dx, plus(rangeX[0], r0)), x.shape), reshape(reduceSum(dyy, plus(rangeY[0], r1)), y.shape)];
}
