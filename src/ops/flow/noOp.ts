/** @file NoOp and ControlTrigger: nodes that compute nothing and only order others. */
import type { Operation } from '../../graph/operation.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';

export const NoOp = defineOp({
  name: 'NoOp',
  inputs: {},
  outputs: {},
  attrs: {},
  shape: () => ({}),
  grad: notDifferentiable,
  lower: () => ({}),
  cases: () => [{ shape: ' -> ' }, { given: {}, expect: {} }],
});

/** As `NoOp`, but old control flow lets it run also when its inputs are dead. */
export const ControlTrigger = defineOp({
  name: 'ControlTrigger',
  inputs: {},
  outputs: {},
  attrs: {},
  controlFlow: 'controlTrigger',
  shape: () => ({}),
  grad: notDifferentiable,
  lower: () => ({}),
  cases: () => [{ shape: ' -> ' }, { given: {}, expect: {} }],
});

/**
 * An operation that does nothing; useful as a target with control dependencies. Adds one `NoOp` node.
 *
 * @example tf.controlDependencies([a, b], () => tf.noOp()) // running it runs a and b
 */
export function noOp(options: { name?: string } = {}): Operation {
  return NoOp.node({}, options);
}

/** A `ControlTrigger` node. */
export function controlTrigger(options: { name?: string } = {}): Operation {
  return ControlTrigger.node({}, options);
}
