/** @file Schemas for import tests: ops of loops, while the library has none of its own, and an op that was retired. */
import { attr } from '../../../src/op/attrs.ts';
import { defineOp, notDifferentiable } from '../../../src/op/defineOp.ts';
import { registry } from '../../../src/op/registry.ts';

function lower(): never {
  throw new Error('only imported, never run');
}
const anyType = attr('type');

if (!registry.has('RetiredOp'))
  defineOp({
    name: 'RetiredOp',
    inputs: {},
    outputs: {},
    attrs: {},
    deprecatedSince: 9,
    shape: () => ({}),
    grad: notDifferentiable,
    lower,
    cases: () => [],
  });

if (!registry.has('Merge')) {
  defineOp({
    name: 'Enter',
    inputs: { data: 'T' },
    outputs: { output: 'T' },
    attrs: {
      T: anyType,
      frame_name: attr('string'),
      is_constant: attr('bool', { default: false }),
      parallel_iterations: attr('int', { default: 10 }),
    },
    shape: ({ data }) => ({ output: data }),
    grad: notDifferentiable,
    lower,
    cases: () => [],
  });
  for (const name of ['Exit', 'NextIteration'])
    defineOp({
      name,
      inputs: { data: 'T' },
      outputs: { output: 'T' },
      attrs: { T: anyType },
      shape: ({ data }) => ({ output: data }),
      grad: notDifferentiable,
      lower,
      cases: () => [],
    });
  defineOp({
    name: 'LoopCond',
    inputs: { input: 'bool' },
    outputs: { output: 'bool' },
    attrs: {},
    shape: ({ input }) => ({ output: input }),
    grad: notDifferentiable,
    lower,
    cases: () => [],
  });
  defineOp({
    name: 'Switch',
    inputs: { data: 'T', pred: 'bool' },
    outputs: { output_false: 'T', output_true: 'T' },
    attrs: { T: anyType },
    shape: ({ data }) => ({ output_false: data, output_true: data }),
    grad: notDifferentiable,
    lower,
    cases: () => [],
  });
  defineOp({
    name: 'Merge',
    inputs: { inputs: 'N * T' },
    outputs: { output: 'T', value_index: 'int32' },
    attrs: { T: anyType, N: attr('int', { minimum: 1 }) },
    // A loop's entry decides the shape; Python sets it from the entering value.
    shape: ({ inputs }) => ({ output: inputs[0]!, value_index: [] }),
    grad: notDifferentiable,
    lower,
    cases: () => [],
  });
}
