/** @file Gradients inside a gradient function: what Python's GradientTape does when one is used while building a graph. */
import { InternalError } from '../../core/errors.ts';
import { graphFor } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { findOp, type Gradient, type GradientTools } from '../../op/registry.ts';
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
  const { recorded, reached } = dependents(graph.operations.slice(before), xs);
  for (const op of backwards(recorded, ys)) {
    const arriving = op.outputs.map(sum);
    const { gradient } = findOp(op.type);
    if (arriving.every((g) => g === null)) continue;
    if (typeof gradient !== 'function') throw new InternalError(`${op.type} cannot be differentiated on a tape`);
    nameScope(`gradient_tape/${scopeOf(op)}`, () => {
      const found = gradient(
        op,
        arriving.map((g, i) => g ?? zerosLike(op.outputs[i]!)),
        { ...tools, skips: (i) => !reached.has(op.inputs[i]!) },
      );
      for (const [i, input] of op.inputs.entries()) add(input, found[i]);
    });
  }
  return xs.map(sum);
}

const tools: GradientTools = {
  differentiate: () => {
    throw new InternalError('an op with a body cannot be differentiated on a tape');
  },
  isTrainable: ({ dtype }) => dtype.isFloating || dtype.isComplex,
  zeros: (tensor) => zerosLike(tensor),
};

/** The operations that hand a change of `xs` on, in the order they were made, and the tensors that it reaches. */
function dependents(
  made: readonly Operation[],
  xs: readonly Tensor[],
): { recorded: readonly Operation[]; reached: ReadonlySet<Tensor> } {
  const reached = new Set<Tensor>(xs);
  const recorded = made.filter((op) => {
    if (findOp(op.type).gradient === 'none' || !op.inputs.some((t) => reached.has(t))) return false;
    for (const t of op.outputs) reached.add(t);
    return true;
  });
  return { recorded, reached };
}

/**
 * The recorded operations that lead to `ys`, each after all that use it, in the order of Python's tape: those nobody uses
 * first, as they were made, and then every other one as soon as its last user is done.
 */
function backwards(recorded: readonly Operation[], ys: readonly Tensor[]): Operation[] {
  const isRecorded = new Set(recorded);
  const uses = new Map<Operation, number>();
  const wanted = new Set(ys.map((y) => y.op).filter((op) => isRecorded.has(op)));
  for (const op of wanted)
    for (const input of op.inputs)
      if (isRecorded.has(input.op)) {
        uses.set(input.op, (uses.get(input.op) ?? 0) + 1);
        wanted.add(input.op); // sets are walked through to whatever is added meanwhile
      }
  const queue = recorded.filter((op) => wanted.has(op) && !uses.has(op));
  for (const op of queue)
    for (const { op: from } of op.inputs) {
      const left = (uses.get(from) ?? 0) - 1;
      uses.set(from, left);
      if (left === 0) queue.push(from);
    }
  return queue;
}

/**
 * The name scope that an operation was made in, with a slash at its end. Operators such as `mul`, and casts, are made in a
 * scope of their own name, as in Python.
 */
function scopeOf({ name }: Operation): string {
  const slash = name.lastIndexOf('/') + 1;
  return /^([a-z]|Cast(_|$))/.test(name.slice(slash)) ? `${name}/` : name.slice(0, slash);
}
