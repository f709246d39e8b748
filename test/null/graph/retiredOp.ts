/** @file A schema for import tests: an op that was retired. */
import { defineOp, notDifferentiable } from '../../../src/op/defineOp.ts';
import { registry } from '../../../src/op/registry.ts';

function lower(): never {
  throw new Error('only imported, never run');
}

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
