/** @file Positions of iterators as variants: taken, stored in checkpoints, and gone back to. */
import { variant } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { type TensorProto, VariantTensorDataProto } from '../../proto/tensor.ts';
import { tensorFromProto, tensorToProto } from '../../proto/tensorProto.ts';
import type { Saved } from './dataset.ts';
import { IteratorResource } from './iterator.ts';

const typeName = 'tensorloom::IteratorState';

/** Arrays go into the message as tensors; the rest is text, in which `{"$": 3}` stands for the fourth of them. */
function encodeState(saved: Saved): VariantTensorDataProto {
  const tensors: TensorProto[] = [];
  const plain = (value: Saved): unknown => {
    if (value instanceof NDArray) return { $: tensors.push(tensorToProto(value)) - 1 };
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, x]) => [key, plain(x as Saved)])); // records of such values
    return value;
  };
  const metadata = new TextEncoder().encode(JSON.stringify(plain(saved)));
  return VariantTensorDataProto.create({ type_name: typeName, metadata, tensors });
}

function decodeState(object: object | undefined): Saved {
  if (!object || !('type_name' in object) || object.type_name !== typeName)
    throw new InvalidArgumentError(
      'Expected the state of an iterator that tensorloom has saved; states that TensorFlow has saved describe its own kernels and cannot be used.',
    );
  const { metadata, tensors } = object as VariantTensorDataProto; // its name tells what it is
  return JSON.parse(new TextDecoder().decode(metadata), (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('$' in value)) return value;
    return tensorFromProto(tensors[Number(value.$)]!);
  }) as Saved; // as `encodeState` wrote it
}

export const SerializeIterator = defineOp({
  name: 'SerializeIterator',
  inputs: { resource_handle: 'resource' },
  outputs: { serialized: 'variant' },
  attrs: { external_state_policy: attr('int', { default: 0 }) },
  stateful: true,
  shape: () => ({ serialized: [null] }),
  grad: notDifferentiable,
  lower: (p, { resource_handle }) => ({
    serialized: p.host([resource_handle], [{ dtype: variant, shape: [1] }], async ([array]) => [
      new NDArray(variant, [1], [encodeState(await sharedObject(array!, IteratorResource).save())]),
    ])[0]!,
  }),
  cases: () => [],
});

export const DeserializeIterator = defineOp({
  name: 'DeserializeIterator',
  inputs: { resource_handle: 'resource', serialized: 'variant' },
  outputs: {},
  attrs: {},
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { resource_handle, serialized }) {
    p.host([resource_handle, serialized], [], async ([array, state]) => {
      await sharedObject(array!, IteratorResource).restore(decodeState(state!.objects[0]));
      return [];
    });
    return {};
  },
  cases: () => [],
});
