/** @file If and StatelessIf: one of two functions, chosen by a value. */
import { bool, float32, int32 } from '../../core/dtypes.ts';
import { isTrue } from '../../core/truth.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { branchGradient } from './branchGradient.ts';

const branches = { then_branch: { name: 'f', attr: {} }, else_branch: { name: 'g', attr: {} } };

const conditional = (name: string, stateful: false | 'repeatable') =>
  defineOp({
    name,
    inputs: { cond: 'Tcond', input: 'Tin' },
    outputs: { output: 'Tout' },
    attrs: {
      Tcond: anyType,
      Tin: attr('list(type)', { minimum: 0 }),
      Tout: attr('list(type)', { minimum: 0 }),
      then_branch: attr('func'),
      else_branch: attr('func'),
      output_shapes: attr('list(shape)', { default: [] }),
    },
    stateful,
    takesLists: true,
    hostInputs: ['cond'],
    shape: (_, { Tout, output_shapes }) => ({ output: Tout.map((_, i) => output_shapes[i] ?? null) }),
    grad: ({ op }, dy, tools) => ({ input: branchGradient(op, dy.output, tools) }),
    lower: (p, { cond, input }, { then_branch, else_branch }) => ({
      output: p.call(isTrue(p.demand(cond)) ? then_branch : else_branch, input),
    }),
    cases: () => [
      {
        shape: '[], [3], ? -> [2, ?]',
        attrs: { Tcond: bool, Tin: [float32, int32], Tout: [float32], ...branches, output_shapes: [[2, null]] },
      },
      { shape: '[], [3] -> ?', attrs: { Tcond: bool, Tin: [float32], Tout: [float32], ...branches } },
    ],
  });

export const If = conditional('If', 'repeatable');
export const StatelessIf = conditional('StatelessIf', false);
