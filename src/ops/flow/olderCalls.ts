/** @file Calls of functions that only graphs from elsewhere have: counted loops, calls on another device, truth as a node. */
import { bool, float32, int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import { isTrue } from '../../core/truth.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';

/** The number in a scalar that must be known to go on. */
function knownScalar(p: ProgramBuilder, name: string, value: Value): number {
  if (value.shape.length > 0) throw new InvalidArgumentError(`${name} must be a scalar`);
  return p.demand(value).numberAt(0);
}

export const For = defineOp({
  name: 'For',
  inputs: { start: 'int32', limit: 'int32', delta: 'int32', input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('list(type)', { minimum: 0 }), body: attr('func') },
  hostInputs: ['start', 'limit', 'delta'],
  takesLists: true,
  shape: (_, { T }) => ({ output: T.map(() => null) }),
  grad: gradientPending('TensorFlow has none either; tf.whileLoop has one'),
  lower: (p, { start, limit, delta, input }, { body }) => {
    const [from, to, step] = [
      knownScalar(p, 'start', start),
      knownScalar(p, 'limit', limit),
      knownScalar(p, 'delta', delta),
    ];
    if (step > 0 ? from > to : step < 0 ? from < to : from !== to)
      throw new InvalidArgumentError(`Invalid start/limit/delta: ${from} ${to} ${step}`);
    let values: readonly Value[] = input;
    for (let i = from; step > 0 ? i < to : i > to; i += step) {
      const results = p.call(body, [p.constant(scalar(int32, i)), ...values]);
      if (results.length !== input.length)
        throw new InvalidArgumentError(`For loop body returned ${results.length} arguments. Expected: ${input.length}`);
      values = results;
    }
    return { output: values };
  },
  cases: () => [
    { shape: '[], [], [], [2], ? -> ?, ?', attrs: { T: [float32, float32], body: { name: 'f', attr: {} } } },
  ],
});

export const RemoteCall = defineOp({
  name: 'RemoteCall',
  inputs: { target: 'string', args: 'Tin' },
  outputs: { output: 'Tout' },
  attrs: { Tin: attr('list(type)', { minimum: 1 }), Tout: attr('list(type)', { minimum: 1 }), f: attr('func') },
  stateful: true,
  takesLists: true,
  shape: (_, { Tout }) => ({ output: Tout.map(() => null) }),
  grad: gradientPending('TensorFlow has none either'),
  // There is one device, so whichever the target names, it is here.
  lower: (p, { args }, { f }) => ({ output: p.call(f, args) }),
  cases: () => [{ shape: '[], [2] -> ?', attrs: { Tin: [float32], Tout: [float32], f: { name: 'f', attr: {} } } }],
});

export const ToBool = defineOp({
  name: 'ToBool',
  inputs: { input: 'T' },
  outputs: { output: 'bool' },
  attrs: { T: anyType },
  shape: () => ({ output: [] }),
  grad: notDifferentiable,
  lower: (p, { input }) => {
    if (input.shape.length > 0) return { output: p.constant(scalar(bool, !input.shape.includes(0))) };
    const { dtype } = input;
    if (dtype.isComplex || (dtype.isObject && dtype.name !== 'string'))
      throw new InvalidArgumentError(`${dtype.runtimeName} cannot be converted to a boolean`);
    return { output: p.host([input], [{ dtype: bool, shape: [] }], ([x]) => [scalar(bool, isTrue(x!))])[0]! };
  },
  cases: () => [
    { shape: '[2, ?] -> []' },
    { given: { input: 0 }, expect: { output: false } },
    { given: { input: -0.5 }, expect: { output: true } },
    { given: { input: [0] }, expect: { output: true } },
    { given: { input: { dtype: 'int32', value: [], shape: [0, 2] } }, expect: { output: false } },
    { given: { input: '' }, expect: { output: false } },
    { given: { input: 'a' }, expect: { output: true } },
    { given: { input: true }, expect: { output: true } },
  ],
});
