/** @file Gradients inside a gradient function: what Python's GradientTape does when one is used while building a graph. */
import { InternalError } from '../../core/errors.ts';
import { graphFor, nameScope } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { findOp, type Gradient } from '../../op/registry.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { addN } from '../math/addN.ts';
import { zerosLike } from '../math/zerosLike.ts';

/** Gradients, by `given`, of the tensors that `build` makes, when `dys` arrive at them; `null` where there is none. */
export function gradientsOf(
  build: () => readonly Tensor[],
  given: readonly Tensor[],
  dys: readonly Tensor[],
): (Tensor | null)[] {
  const graph = graphFor(given);
  const xs = given.map((x) => graph.capture(x));
  const before = graph.operations.length;
  const ys = build();
  const terms = new Map<Tensor, Tensor[]>();
  const add = (to: Tensor, gradient: Gradient | null | undefined) => {
    if (!gradient) return;
    const list = terms.get(to) ?? [];
    terms.set(to, [...list, denseGradient(gradient)]);
  };
  const sum = (of: Tensor) => {
    const list = terms.get(of) ?? [];
    return list.length > 1 ? addN(list) : (list[0] ?? null);
  };
  for (const [i, y] of ys.entries()) add(y, dys[i]);
  const recorded = dependents(graph.operations.slice(before), xs);
  for (const op of recorded.reverse()) {
    const arriving = op.outputs.map(sum);
    const { gradient } = findOp(op.type);
    if (gradient === 'none' || arriving.every((g) => g === null)) continue;
    if (typeof gradient !== 'function') throw new InternalError(`${op.type} cannot be differentiated on a tape`);
    nameScope(`gradient_tape/${scopeOf(op)}`, () => {
      const found = gradient(
        op,
        arriving.map((g, i) => g ?? zerosLike(op.outputs[i]!)),
      );
      for (const [i, input] of op.inputs.entries()) add(input, found[i]);
    });
  }
  return xs.map(sum);
}

/** The operations through which a change of `xs` travels, in the order they were made. */
function dependents(made: readonly Operation[], xs: readonly Tensor[]): Operation[] {
  const reached = new Set<Tensor>(xs);
  return made.filter((op) => {
    if (!op.inputs.some((t) => reached.has(t))) return false;
    for (const t of op.outputs) reached.add(t);
    return true;
  });
}

/** The name scope that an operation was made in, with a slash at its end. */
function scopeOf(op: Operation): string {
  return op.name.slice(0, op.name.lastIndexOf('/') + 1);
}
