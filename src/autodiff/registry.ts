/** @file Which gradient function an operation has: the op's own, one registered by a user, or none. */

import { LookupError } from '../core/errors.ts';
import { withContext } from '../graph/context.ts';
import type { Operation } from '../graph/operation.ts';
import type { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { type Gradient, type GradientTools, registry } from '../op/registry.ts';
import { callGradient } from '../ops/flow/calls.ts';

/** What a gradient function may return: one gradient per input, `null` where there is none; alone for a single input. */
export type GradientResult = Gradient | null | readonly (Gradient | null)[];
/** A user's gradient: the operation, then the gradient of each of its outputs, dense. */
export type GradientFunction = (op: Operation, ...dy: Tensor[]) => GradientResult;

/** `null` means known not to be differentiable. */
const registered = new Map<string, GradientFunction | null>();

function add(name: string, gradient: GradientFunction | null): void {
  const own = registry.get(name);
  const taken = registered.has(name) || (own !== undefined && typeof own.gradient !== 'object');
  if (taken)
    throw userError(
      `Registering two gradient with name '${name}'! Choose another name, and use graph.gradientOverrideMap to apply it to an op.`,
    );
  registered.set(name, gradient);
}

/**
 * Registers a gradient under an op type, or under a name for `graph.gradientOverrideMap`.
 *
 * @example tf.registerGradient('Doubled', (op, dy) => [tf.multiply(dy, 2)]);
 */
export function registerGradient(name: string, gradient: GradientFunction): void {
  add(name, gradient);
}

/**
 * Says that an op type has no derivative, so that gradients stop there without an error.
 *
 * @example tf.notDifferentiable('MyCounter');
 */
export function notDifferentiable(opType: string): void {
  add(opType, null);
}

const callGradientOf: Backward = (op, dy, tools) => callGradient(op, dy as readonly Gradient[], tools); // outputs that can have one were filled in

type Backward = (op: Operation, dy: readonly (Gradient | null)[], tools: GradientTools) => readonly (Gradient | null)[];

/** The gradient function of an operation; `null` when there is nothing to pass back. */
export function gradientOf(op: Operation): Backward | null {
  if (op.inputs.length === 0) return null;
  const override = op.attrs['_gradient_op_type']?.s;
  const name = override ? new TextDecoder().decode(override) : op.type;
  const custom = registered.get(name);
  if (custom === null) return null;
  if (custom)
    return (node, dy) => {
      const dense = dy.map((g) => (g === null ? null : convertToTensor(g)));
      // The user's function makes its nodes at lines of its own. Outputs that can have a gradient were filled in.
      const result = withContext({ site: undefined }, () => custom(node, ...(dense as readonly Tensor[])));
      return isList(result) ? result : [result];
    };
  const own = op.graph.functions.has(name) ? callGradientOf : registry.get(name)?.gradient;
  if (own === 'none') return null;
  if (typeof own === 'function') return own;
  const why = own === undefined ? '' : ` ${own.pending}`;
  throw new LookupError(
    `No gradient defined for operation '${op.name}' (op type: ${name}).${why} Cut it off with tf.stopGradient, or write one with tf.registerGradient.`,
    { node: op.name, op: op.type, createdAt: op.createdAt },
  );
}

function isList(result: GradientResult): result is readonly (Gradient | null)[] {
  return Array.isArray(result);
}
