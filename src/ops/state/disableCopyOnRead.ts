/** @file DisableCopyOnRead: says that a variable need not be copied for those who read it. Reads are views here anyway. */
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';

export const DisableCopyOnRead = defineOp({
  name: 'DisableCopyOnRead',
  inputs: { resource: 'resource' },
  outputs: {},
  attrs: {},
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower: () => ({}),
  cases: () => [{ shape: '[] ->' }],
});
