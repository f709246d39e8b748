/** @file Stateless integers of all values of their type: the generator's words as they come. */
import * as d from '../../core/dtypes.ts';
import type { Shape } from '../../core/shape.ts';
import { sizeOf } from '../../core/shape.ts';
import { attr, indexTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { concreteShape, dimsFrom } from '../array/common.ts';
import { checkSeed, draw, seedTypes, stateFromKey, stateFromSeed } from './stateless.ts';

const dtypes = attr('type', { allowed: [d.int32, d.int64, d.uint32, d.uint64], default: d.uint64 });

/** One word for each 32-bit number, two for each of 64 bits, the lower half first. */
function words(p: ProgramBuilder, state: Value, dtype: d.DType, shape: Shape): Value {
  if (dtype.size === 4) return p.cast(draw(p, state, 'bits', d.uint32, shape), dtype);
  const count = sizeOf(shape);
  const halves = p.reshape(draw(p, state, 'bits', d.uint32, [2 * count]), [count, 2]);
  const [low, high] = [0, 1].map((column) => p.slice(halves, [0, column], [count, 1]));
  const wide = (x: e.Expr) => e.cast(x, d.uint64);
  const joined = p.map([low!, high!], (lo, hi) => e.add(wide(lo!), e.mul(wide(hi!), e.constant(2n ** 32n, d.uint64))));
  return p.reshape(p.cast(joined, dtype), shape);
}

const five = { dtype: 'int32' as const, value: [5] };

export const StatelessRandomUniformFullInt = defineOp({
  name: 'StatelessRandomUniformFullInt',
  inputs: { shape: 'T', seed: 'Tseed' },
  outputs: { output: 'dtype' },
  attrs: {
    dtype: dtypes,
    T: indexTypes,
    Tseed: attr('type', { allowed: [...seedTypes.allowed!, d.uint32, d.uint64], default: d.int64 }),
  },
  hostInputs: ['shape'],
  shape({ seed }, _, context) {
    checkSeed(seed);
    return { output: dimsFrom(context.partial('shape')) };
  },
  grad: notDifferentiable,
  lower(p, { shape, seed }, { dtype }) {
    const dims = concreteShape(p, shape, 'shape');
    return { output: words(p, stateFromSeed(p, seed), dtype, dims) };
  },
  cases: () => [
    { shape: '[1], [2] -> [5]', given: { shape: five } },
    { given: { shape: five, seed: { dtype: 'int32', value: [1, 2] } }, attrs: { dtype: d.int32 } },
    { given: { shape: five, seed: { dtype: 'int64', value: [1, 2] } } },
  ],
});

export const StatelessRandomUniformFullIntV2 = defineOp({
  name: 'StatelessRandomUniformFullIntV2',
  inputs: { shape: 'Tshape', key: 'uint64', counter: 'uint64', alg: 'int32' },
  outputs: { output: 'dtype' },
  attrs: { dtype: dtypes, Tshape: indexTypes },
  hostInputs: ['shape', 'alg'],
  shape: (_, __, context) => ({ output: dimsFrom(context.partial('shape')) }),
  grad: notDifferentiable,
  lower(p, { shape, key, counter, alg }, { dtype }) {
    const dims = concreteShape(p, shape, 'shape');
    return { output: words(p, stateFromKey(p, key, counter, alg), dtype, dims) };
  },
  cases: () => [
    { shape: '[1], [1], [2], [] -> [5]', given: { shape: five } },
    {
      given: {
        shape: five,
        key: { dtype: 'uint64', value: [10413732777507651514n] },
        counter: { dtype: 'uint64', value: [0, 17830669156045600267n] },
        alg: { dtype: 'int32', value: 1 },
      },
      attrs: { dtype: d.int32 },
    },
  ],
});
