/** @file The ops that make lookup tables: under a name that others can have too, or with a handle only. */
import { type DType, resource } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Dims, Shape } from '../../core/shape.ts';
import type { SharedHandle } from '../../core/sharedObject.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { byReference, byResource, type Form, handleTo, sharedAttrs } from '../queue/handles.ts';
import { DenseTable } from './denseTable.ts';
import { HashTable } from './hashTable.ts';
import { LookupTable, type TableKind, type TableSpec } from './table.ts';

const typeAttrs = { key_dtype: anyType, value_dtype: anyType } as const;
const shapeAttrs = { ...typeAttrs, value_shape: attr('shape', { default: [] }) } as const;
const bucketAttrs = {
  ...shapeAttrs,
  initial_num_buckets: attr('int', { default: 131072 }),
  max_load_factor: attr('float', { default: 0.8 }),
} as const;
const nameAttrs = { ...sharedAttrs, use_node_name_sharing: attr('bool', { default: false }) } as const;

interface Types {
  readonly key_dtype: DType;
  readonly value_dtype: DType;
  readonly value_shape?: Dims;
}

function specOf(kind: TableKind, { key_dtype, value_dtype, value_shape = [] }: Types): TableSpec {
  if (!value_shape || value_shape.includes(null))
    throw new InvalidArgumentError('The shape of values must be fully known');
  return { kind, keyType: key_dtype, valueType: value_dtype, valueShape: value_shape as Shape }; // checked above
}

interface Names {
  readonly container: string;
  readonly shared_name: string;
  readonly use_node_name_sharing: boolean;
}

/** A handle to the table of that name, which is made if there is none. */
function named(
  p: ProgramBuilder,
  form: Form,
  { container, ...names }: Names,
  node: { readonly name: string },
  { keyType, valueType }: TableSpec,
  make: () => LookupTable,
): Value {
  const shared_name = names.shared_name || (names.use_node_name_sharing ? node.name : '');
  return handleTo(p, form, { container, shared_name }, make, (present) => {
    if (!(present instanceof LookupTable))
      throw new InvalidArgumentError(`Resource '${shared_name}' is no table, but a ${present.constructor.name}`);
    present.checkTypes(keyType, valueType);
  });
}

/** A handle to a table of its own for every run. */
function anonymous(p: ProgramBuilder, inputs: readonly Value[], make: (inputs: readonly NDArray[]) => LookupTable) {
  const [table_handle] = p.host(inputs, [{ dtype: resource, shape: [] }], (arrays) => {
    const table = make(arrays);
    const handle: SharedHandle = { container: '', name: 'anonymous table', find: () => table };
    return [new NDArray(resource, [], [handle])];
  });
  return { table_handle: table_handle! };
}

const words = { key_dtype: 'string', value_dtype: 'int64' } as const;

function makeTable(kind: Exclude<TableKind, 'MutableDenseHashTable'>, form: Form): void {
  const common = { inputs: {}, stateful: true, grad: notDifferentiable } as const;
  defineOp({
    ...common,
    name: `${kind}${form.suffix}`,
    outputs: { table_handle: form.port },
    attrs: { ...nameAttrs, ...(kind === 'MutableHashTableOfTensors' ? shapeAttrs : typeAttrs) },
    shape: () => ({ table_handle: form.handleShape }),
    lower(p, _, attrs, node) {
      const spec = specOf(kind, attrs);
      return { table_handle: named(p, form, attrs, node, spec, () => new HashTable(spec)) };
    },
    cases: () => [{ shape: `-> ${form.handleCase}`, attrs: words }],
  });
  if (form === byReference) return;
  defineOp({
    ...common,
    name: `Anonymous${kind}`,
    outputs: { table_handle: 'resource' },
    attrs: kind === 'MutableHashTableOfTensors' ? shapeAttrs : typeAttrs,
    shape: () => ({ table_handle: [] }),
    lower: (p, _, attrs) => anonymous(p, [], () => new HashTable(specOf(kind, attrs))),
    cases: () => [{ shape: '-> []', attrs: words }],
  });
}

for (const form of [byResource, byReference])
  for (const kind of ['HashTable', 'MutableHashTable', 'MutableHashTableOfTensors'] as const) makeTable(kind, form);

const denseTable = {
  inputs: { empty_key: 'key_dtype', deleted_key: 'key_dtype' },
  outputs: { table_handle: 'resource' },
  stateful: true,
  grad: notDifferentiable,
  shape({ empty_key, deleted_key }: { empty_key: Dims; deleted_key: Dims }) {
    for (const [key, name] of [[empty_key, 'empty_key'], [deleted_key, 'deleted_key']] as const) // biome-ignore format: pairs
      if (key && key.length > 1)
        throw new InvalidArgumentError(`Shape must be at most rank 1 but is rank ${key.length}: ${name}`);
    return { table_handle: [] };
  },
} as const;
const longs = { value_dtype: 'int64' } as const;

export const MutableDenseHashTableV2 = defineOp({
  ...denseTable,
  name: 'MutableDenseHashTableV2',
  attrs: { ...nameAttrs, ...bucketAttrs },
  lower(p, { empty_key, deleted_key }, attrs, node) {
    const spec = specOf('MutableDenseHashTable', attrs);
    const [emptyKey, deletedKey] = [p.demand(empty_key), p.demand(deleted_key)];
    const { initial_num_buckets: count, max_load_factor: maxLoad } = attrs;
    const make = () => new DenseTable(spec, { emptyKey, deletedKey, count, maxLoad });
    return { table_handle: named(p, byResource, attrs, node, spec, make) };
  },
  cases: () => [
    { shape: '[2], [2] -> []', attrs: longs },
    { shape: '[1, 1], [1, 1]', attrs: longs, rejects: /at most rank 1/ },
  ],
});

export const AnonymousMutableDenseHashTable = defineOp({
  ...denseTable,
  name: 'AnonymousMutableDenseHashTable',
  attrs: bucketAttrs,
  lower(p, { empty_key, deleted_key }, attrs) {
    const { initial_num_buckets: count, max_load_factor: maxLoad } = attrs;
    const spec = specOf('MutableDenseHashTable', attrs);
    return anonymous(
      p,
      [empty_key, deleted_key],
      ([emptyKey, deletedKey]) =>
        new DenseTable(spec, { emptyKey: emptyKey!, deletedKey: deletedKey!, count, maxLoad }),
    );
  },
  cases: () => [{ shape: '[], [] -> []', attrs: longs }],
});
