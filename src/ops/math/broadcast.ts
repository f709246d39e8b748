/** @file Gradients of broadcasting: which axes were repeated, and summing over them. */
import { int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined, type Shape, sameShape, showRuntime } from '../../core/shape.ts';
import { Tensor } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import type { GradientPair } from './elementwise.ts';
import { reduceSum } from './reductions.ts';

export const BroadcastGradientArgs = defineOp({
  name: 'BroadcastGradientArgs',
  inputs: { s0: 'T', s1: 'T' },
  outputs: { r0: 'T', r1: 'T' },
  attrs: { T: attr('type', { allowed: [int32, int64], default: int32 }) },
  hostInputs: ['s0', 's1'],
  shape: () => ({ r0: [null], r1: [null] }),
  partialValue({ inputs: { s0, s1 } }, known, output) {
    const [x, y] = [known(s0), known(s1)];
    const isKnown = (entries: Dims | undefined): entries is Shape => entries?.every((d) => d !== null) ?? false;
    return isKnown(x) && isKnown(y) ? repeatedAxes(x, y)[output] : undefined;
  },
  grad: notDifferentiable,
  lower(p, { s0, s1 }, { T }) {
    const [r0, r1] = repeatedAxes(p.demandInts(s0), p.demandInts(s1));
    return { r0: p.constant(fromElements(T, [r0.length], r0)), r1: p.constant(fromElements(T, [r1.length], r1)) };
  },
  cases: () => [
    { shape: '[3], [2] -> [?], [?]' },
    { shape: '?, ? -> [?], [?]' },
    {
      given: { s0: { dtype: 'int32', value: [2, 1, 3] }, s1: { dtype: 'int32', value: [4, 1] } },
      expect: { r0: { dtype: 'int32', value: [1] }, r1: { dtype: 'int32', value: [0, 2] } },
    },
    {
      given: { s0: { dtype: 'int64', value: [2, 3] }, s1: { dtype: 'int64', value: [2, 3] } },
      expect: {
        r0: { dtype: 'int64', value: [], shape: [0] },
        r1: { dtype: 'int64', value: [], shape: [0] },
      },
    },
    {
      given: { s0: { dtype: 'int32', value: [1, 1] }, s1: { dtype: 'int32', value: [], shape: [0] } },
      expect: { r0: { dtype: 'int32', value: [0, 1] }, r1: { dtype: 'int32', value: [0, 1] } },
    },
    {
      given: { s0: { dtype: 'int32', value: [3] }, s1: { dtype: 'int32', value: [2] } },
      fails: /Incompatible shapes: \[3\] vs\. \[2\]/,
    },
  ],
});

/** Per operand, the axes of the broadcast shape along which it has size 1; none for equal shapes. */
function repeatedAxes(x: Shape, y: Shape): [number[], number[]] {
  if (sameShape(x, y)) return [[], []];
  const rank = Math.max(x.length, y.length);
  const [xAxes, yAxes]: [number[], number[]] = [[], []];
  for (let axis = 0; axis < rank; axis++) {
    const m = x[axis - rank + x.length] ?? 1;
    const n = y[axis - rank + y.length] ?? 1;
    if (m !== n && m !== 1 && n !== 1)
      throw new InvalidArgumentError(`Incompatible shapes: ${showRuntime(x)} vs. ${showRuntime(y)}`);
    if (m === 1) xAxes.push(axis);
    if (n === 1) yAxes.push(axis);
  }
  return [xAxes, yAxes];
}

/** The same from static shapes; undefined when an unknown size leaves it to the run. */
function staticAxes(x: Dims, y: Dims): [number[], number[]] | undefined {
  if (x === null || y === null) return undefined;
  const rank = Math.max(x.length, y.length);
  const [xAxes, yAxes]: [number[], number[]] = [[], []];
  for (let axis = 0; axis < rank; axis++) {
    const m = axis < rank - x.length ? 1 : x[axis - rank + x.length]!;
    const n = axis < rank - y.length ? 1 : y[axis - rank + y.length]!;
    if (m === 1 && n !== 1) xAxes.push(axis);
    else if (n === 1 && m !== 1) yAxes.push(axis);
    else if (m === null || n === null) return undefined;
  }
  return [xAxes, yAxes];
}

/** Whether operands and (dense) gradient have one, fully known shape, so that nothing was repeated. */
export function shapesEqual(x: Tensor, y: Tensor, dy: Gradient): boolean {
  if (!(dy instanceof Tensor)) return false;
  const [a, b, c] = [x.shape, y.shape, dy.shape];
  return isFullyDefined(a) && isFullyDefined(b) && isFullyDefined(c) && sameShape(a, b) && sameShape(a, c);
}

/** Gradients of the operands of a broadcasting op from gradients of the broadcast shape: sums what was repeated. */
export function reduceGradients(x: Tensor, y: Tensor, dx: Gradient | null, dy: Gradient | null): GradientPair {
  if (dx === null && dy === null) return [null, null];
  const xShape = shape(x);
  const yShape = shape(y);
  const axes = staticAxes(x.shape, y.shape);
  if (axes === undefined) {
    const { r0, r1 } = BroadcastGradientArgs.build({ s0: xShape, s1: yShape });
    return [sumTo(dx, r0, xShape), sumTo(dy, r1, yShape)];
  }
  const [xRank, yRank] = [x.shape!.length, y.shape!.length]; // static axes need static ranks
  return [
    axes[0].length > 0 || xRank < yRank ? sumTo(dx, axes[0], xShape) : dx,
    axes[1].length > 0 || yRank < xRank ? sumTo(dy, axes[1], yShape) : dy,
  ];
}

function sumTo(gradient: Gradient | null, axes: Tensor | readonly number[], target: Tensor): Tensor | null {
  return gradient === null ? null : reshape(reduceSum(gradient, axes, { keepdims: true }), target);
}
