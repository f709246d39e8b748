/** @file PartitionedCall and StatefulPartitionedCall: the call of a function of the graph's library. */
import { float32 } from '../../core/dtypes.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { callGradient } from './calls.ts';

const call = (name: string, stateful: false | 'repeatable') =>
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
    grad: ({ op }, dy, tools) => ({ args: callGradient(op, dy.output, tools) }),
    lower: (p, { args }, { f }) => ({ output: p.call(f, args) }),
    cases: () => [
      { shape: '[2], ? -> ?', attrs: { Tin: [float32, float32], Tout: [float32], f: { name: 'f', attr: {} } } },
    ],
  });

export const PartitionedCall = call('PartitionedCall', false);
export const StatefulPartitionedCall = call('StatefulPartitionedCall', 'repeatable');
