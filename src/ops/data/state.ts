/** @file Positions of iterators as variants: taken, stored in checkpoints, and gone back to. */
import { dtypeFromNumber, variant } from '../../core/dtypes.ts';
import { FailedPreconditionError, InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { type TensorProto, VariantTensorDataProto } from '../../proto/tensor.ts';
import { tensorFromProto, tensorToProto } from '../../proto/tensorProto.ts';
import { Dataset, type Element, type StoredFiles } from './dataset.ts';
import { IteratorResource } from './iterator.ts';
import type { Saved } from './saved.ts';
import { shardDataset } from './snapshot.ts';
import { datasetOf } from './window.ts';

const typeName = 'tensorloom::IteratorState';

/**
 * Arrays go into the message as tensors; the rest is text, in which `{"$": 3}` stands for the fourth of them. Arrays of
 * objects are written as what they hold: arrays, or datasets whose elements are at hand.
 */
function encodeState(saved: Saved): VariantTensorDataProto {
  const tensors: TensorProto[] = [];
  const plain = (value: Saved): unknown => {
    if (value instanceof NDArray)
      return value.dtype === variant
        ? { $objects: value.objects.map(held), $shape: value.shape }
        : { $: tensors.push(tensorToProto(value)) - 1 };
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, x]) => [key, plain(x as Saved)])); // records of such values
    return value;
  };
  const held = (object: object): unknown => {
    if (object instanceof NDArray) return plain(object);
    const { atHand, files, types = [], shapes = [] } = object instanceof Dataset ? object : {};
    const content = atHand ? { $dataset: plain(atHand) } : files && { $files: files };
    if (!content)
      throw new UnimplementedError('An element that holds a dataset whose elements are not at hand cannot be saved.');
    return { ...content, types: types.map((t) => t.number), shapes };
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
  const revived = (_: string, value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if ('$' in value) return tensorFromProto(tensors[Number(value.$)]!);
    // As `encodeState` wrote it.
    if ('$objects' in value && '$shape' in value)
      return new NDArray(variant, value.$shape as number[], value.$objects as object[]);
    if (!('types' in value && 'shapes' in value)) return value;
    const types = (value.types as number[]).map((n) => dtypeFromNumber(n)!);
    const shapes = value.shapes as Dims[];
    if ('$dataset' in value) return datasetOf(value.$dataset as Element[], types, shapes);
    if ('$files' in value) return shardDataset(value.$files as StoredFiles, types, shapes);
    return value;
  };
  return JSON.parse(new TextDecoder().decode(metadata), revived) as Saved; // as `encodeState` wrote it
}

/** What `external_state_policy` may say about state that is not saved. */
const failOnState = 2;

function checkState({ statefulOps }: { readonly statefulOps: readonly string[] }): void {
  if (statefulOps.length > 0)
    throw new FailedPreconditionError(
      `The iterator cannot be saved, for functions of its dataset have state that is not saved with it: ${statefulOps.join(', ')} is stateful.`,
    );
}

export const SerializeIterator = defineOp({
  name: 'SerializeIterator',
  inputs: { resource_handle: 'resource' },
  outputs: { serialized: 'variant' },
  attrs: { external_state_policy: attr('int', { default: 0 }) },
  stateful: true,
  shape: () => ({ serialized: [null] }),
  grad: notDifferentiable,
  lower: (p, { resource_handle }, { external_state_policy }) => ({
    serialized: p.host([resource_handle], [{ dtype: variant, shape: [1] }], async ([array]) => {
      const iterator = sharedObject(array!, IteratorResource);
      if (external_state_policy === failOnState) checkState(iterator);
      return [new NDArray(variant, [1], [encodeState(await iterator.save())])];
    })[0]!,
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
