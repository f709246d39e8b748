/** @file PartitionedCall and StatefulPartitionedCall: the call of a function of the graph's library. */
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';

const call = (name: string, stateful: boolean) =>
  defineOp({
    name,
    inputs: { args: 'Tin' },
    outputs: { output: 'Tout' },
    attrs: {
      Tin: attr('list(type)', { minimum: 0 }),
      Tout: attr('list(type)', { minimum: 0 }),
      f: attr('func'),
      config: attr('string', { default: '' }),
      config_proto: attr('string', { default: '' }),
      executor_type: attr('string', { default: '' }),
    },
    stateful,
    takesLists: true,
    shape: (_, { Tout }) => ({ output: Tout.map(() => null) }),
    grad: gradientPending('calls are being written'),
    lower: (p, { args }, { f }) => ({ output: p.call(f, args) }),
    cases: () => [],
  });

export const PartitionedCall = call('PartitionedCall', false);
export const StatefulPartitionedCall = call('StatefulPartitionedCall', true);
