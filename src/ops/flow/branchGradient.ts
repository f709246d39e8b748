/** @file The gradient of If and Case: the same choice again, between the derivatives of the branches. */
import type { Operation } from '../../graph/operation.ts';
import type { Gradient, GradientTools } from '../../op/registry.ts';
import { identity } from '../array/identity.ts';
import { bodyGradient } from './bodyGradient.ts';
import { branchAttrs, branchesOf, buildBranches, isIf } from './branches.ts';

/** Gradients of the inputs after the first, which only chooses. */
export function branchGradient(op: Operation, dy: readonly Gradient[], tools: GradientTools): (Gradient | null)[] {
  const bodies = branchesOf(op);
  return bodyGradient(op, dy, tools, {
    bodies,
    before: 1,
    extend: (shapes) => op.graph.extendOp(op, { attrs: branchAttrs(op, bodies, shapes) }),
    call: (backward, inputs) => {
      const [kind, name] = isIf(op) ? (['If', undefined] as const) : (['Case', 'gradient'] as const);
      return buildBranches(kind, op.inputs[0]!, backward, inputs, name).outputs.map((t) => identity(t));
    },
  });
}
