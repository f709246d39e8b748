/** @file Case and StatelessCase: one of several functions, chosen by number. */
import { float32 } from '../../core/dtypes.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { branchGradient } from './branchGradient.ts';

const choice = (name: string, stateful: false | 'repeatable') =>
  defineOp({
    name,
    inputs: { branch_index: 'int32', input: 'Tin' },
    outputs: { output: 'Tout' },
    attrs: {
      Tin: attr('list(type)', { minimum: 0 }),
      Tout: attr('list(type)', { minimum: 0 }),
      branches: attr('list(func)', { minimum: 1 }),
      output_shapes: attr('list(shape)', { default: [] }),
    },
    stateful,
    takesLists: true,
    hostInputs: ['branch_index'],
    shape: (_, { Tout, output_shapes }) => ({ output: Tout.map((_, i) => output_shapes[i] ?? null) }),
    grad: ({ op }, dy, tools) => ({ input: branchGradient(op, dy.output, tools) }),
    lower(p, { branch_index, input }, { branches }) {
      const [wanted] = p.demandInts(branch_index);
      // A number that names no branch takes the last.
      const index = wanted! >= 0 && wanted! < branches.length ? wanted! : branches.length - 1;
      return { output: p.call(branches[index]!, input) };
    },
    cases: () => [
      {
        given: { branch_index: { dtype: 'int32', value: 0 } },
        shape: '[], [3] -> [2, ?]',
        attrs: { Tin: [float32], Tout: [float32], branches: [{ name: 'f', attr: {} }], output_shapes: [[2, null]] },
      },
      {
        given: { branch_index: { dtype: 'int32', value: 0 } },
        shape: '[], [3] -> ?',
        attrs: { Tin: [float32], Tout: [float32], branches: [] },
        rejects: /Length for attr 'branches' of 0 must be at least minimum 1/,
      },
    ],
  });

export const Case = choice('Case', 'repeatable');
export const StatelessCase = choice('StatelessCase', false);
