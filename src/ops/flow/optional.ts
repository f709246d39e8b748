/** @file Optionals: variants that hold some tensors, or none. TensorFlow's conditionals hand intermediate values over in them. */
import { bool } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import { TensorList } from '../../core/tensorList.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { listIn, onLists, only } from './tensorList/kit.ts';

const types = attr('list(type)', { minimum: 1 });

// An optional is a list of its components; the list of none is empty.
export const OptionalFromValue = defineOp({
  name: 'OptionalFromValue',
  inputs: { components: 'Toutput_types' },
  outputs: { optional: 'variant' },
  attrs: { Toutput_types: types },
  takesLists: true,
  shape: () => ({ optional: [] }),
  grad: ({ inputs }, { optional }) => ({ components: valuesLike(denseGradient(optional), inputs.components) }),
  lower: (p, { components }) => ({
    optional: only(
      onLists(p, { tensors: components }, ['list'], (_, { tensors }) => [
        TensorList.of(components[0]!.dtype, null, tensors),
      ]),
    ),
  }),
  cases: () => [],
});

export const OptionalNone = defineOp({
  name: 'OptionalNone',
  inputs: {},
  outputs: { optional: 'variant' },
  attrs: {},
  shape: () => ({ optional: [] }),
  grad: notDifferentiable,
  lower: (p) => ({ optional: p.list(TensorList.of(bool, null, [])) }),
  cases: () => [],
});

export const OptionalHasValue = defineOp({
  name: 'OptionalHasValue',
  inputs: { optional: 'variant' },
  outputs: { has_value: 'bool' },
  attrs: {},
  takesLists: true,
  shape: () => ({ has_value: [] }),
  grad: notDifferentiable,
  lower: (p, { optional }) => ({
    has_value: optional.list
      ? p.constant(scalar(bool, optional.list.length > 0))
      : only(p.host([optional], [{ dtype: bool, shape: [] }], ([array]) => [scalar(bool, listIn(array!).length > 0)])),
  }),
  cases: () => [],
});

export const OptionalGetValue = defineOp({
  name: 'OptionalGetValue',
  inputs: { optional: 'variant' },
  outputs: { components: 'output_types' },
  attrs: { output_types: types, output_shapes: attr('list(shape)', { minimum: 1 }) },
  takesLists: true,
  shape: (_, { output_shapes }) => ({ components: output_shapes }),
  grad: (_, { components }) => ({ optional: optionalOf(components.map(denseGradient)) }),
  lower: (p, { optional }, { output_types }) => ({
    components: onLists(
      p,
      { lists: [optional] },
      output_types.map((dtype) => ({ dtype })),
      (_, { lists: [list] }) => {
        if (list!.length === 0) throw new InvalidArgumentError('The given optional does not have a value.');
        return list!.elements.map((x) => x!);
      },
    ),
  }),
  cases: () => [],
});

/** The tensors in an optional, which are like these. */
export function valuesLike(optional: Tensor, like: readonly Tensor[]): readonly Tensor[] {
  const attrs = { output_types: like.map((t) => t.dtype), output_shapes: like.map((t) => t.shape) };
  return OptionalGetValue.build({ optional }, { attrs }).components;
}

/** An optional with these tensors in it. */
export function optionalOf(components: readonly Tensor[]): Tensor {
  return OptionalFromValue.build({ components }).optional;
}
