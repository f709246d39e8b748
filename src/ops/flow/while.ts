/** @file While and StatelessWhile: a function applied as long as another one says so. */
import { float32 } from '../../core/dtypes.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { whileGradient } from './whileGradient.ts';

const bodies = { cond: { name: 'f', attr: {} }, body: { name: 'g', attr: {} } };

const loop = (name: string, stateful: false | 'repeatable') =>
  defineOp({
    name,
    inputs: { input: 'T' },
    outputs: { output: 'T' },
    attrs: {
      T: attr('list(type)', { minimum: 0 }),
      cond: attr('func'),
      body: attr('func'),
      output_shapes: attr('list(shape)', { default: [] }),
      parallel_iterations: attr('int', { default: 10 }),
    },
    stateful,
    takesLists: true,
    handsOn: true,
    shape: ({ input }, { T, output_shapes }) => ({
      output: T.map((_, i) => (output_shapes.length > 0 ? output_shapes[i]! : input[i]!)),
    }),
    grad: ({ op }, dy, tools) => ({ input: whileGradient(op, dy.output, tools) }),
    lower: (p, { input }, { cond, body }) => ({ output: p.loop(cond, body, input) }),
    cases: () => [
      { shape: '[2], ? -> [2], ?', attrs: { T: [float32, float32], ...bodies } },
      { shape: '[2], ? -> [?], [3]', attrs: { T: [float32, float32], ...bodies, output_shapes: [[null], [3]] } },
    ],
  });

export const While = loop('While', 'repeatable');
export const StatelessWhile = loop('StatelessWhile', false);
