/** @file The ops that make lookup tables, fill them, look into them and empty them, for both forms of handles. */
import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type NDArray, scalar } from '../../core/ndarray.ts';
import type { Dims, Shape } from '../../core/shape.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { byReference, byResource, type Form, handleTo, objectAt, sharedAttrs } from '../queue/handles.ts';
import { LookupTable, type TableSpec } from './table.ts';

const tableAt = (handle: NDArray | undefined) => objectAt(handle!, LookupTable);
const tableAttrs = {
  ...sharedAttrs,
  use_node_name_sharing: attr('bool', { default: false }),
  key_dtype: anyType,
  value_dtype: anyType,
} as const;
const tensorAttrs = { ...tableAttrs, value_shape: attr('shape', { default: [] }) } as const;

function makeTable(kind: TableSpec['kind'], form: Form): void {
  const name = `${kind}${form.suffix}`;
  defineOp({
    name,
    inputs: {},
    outputs: { table_handle: form.port },
    attrs: kind === 'MutableHashTableOfTensors' ? tensorAttrs : tableAttrs,
    stateful: true,
    shape: () => ({ table_handle: form.handleShape }),
    grad: notDifferentiable,
    lower(p, _, attrs, node) {
      const valueShape = 'value_shape' in attrs ? ((attrs.value_shape as Dims) ?? []) : [];
      if (valueShape.includes(null)) throw new InvalidArgumentError('The shape of values must be fully known');
      const { key_dtype: keyType, value_dtype: valueType } = attrs;
      const spec = { kind, keyType, valueType, valueShape: valueShape as Shape }; // checked above
      const shared_name = attrs.shared_name || (attrs.use_node_name_sharing ? node.name : '');
      const check = (present: object) => {
        if (!(present instanceof LookupTable))
          throw new InvalidArgumentError(`Resource '${shared_name}' is no table, but a ${present.constructor.name}`);
        present.checkTypes(keyType, valueType);
      };
      const table_handle = handleTo(
        p,
        form,
        { container: attrs.container, shared_name },
        () => new LookupTable(spec),
        check,
      );
      return { table_handle };
    },
    cases: () => [{ shape: `-> ${form.handleCase}`, attrs: { key_dtype: 'string', value_dtype: 'int64' } }],
  });
}

function makeFind({ suffix, port, stateful, handleCase }: Form): void {
  defineOp({
    name: `LookupTableFind${suffix}`,
    inputs: { table_handle: port, keys: 'Tin', default_value: 'Tout' },
    outputs: { values: 'Tout' },
    attrs: { Tin: anyType, Tout: anyType },
    stateful,
    shape: ({ keys, default_value }) => ({ values: default_value?.length === 0 ? keys : null }),
    grad: notDifferentiable,
    lower(p, { table_handle, keys, default_value }, { Tin, Tout }) {
      // One plain value by default: the result has the shape of the keys.
      const shape = default_value.shape.length === 0 ? { shape: keys.shape } : {};
      const [values] = p.host([table_handle, keys, default_value], [{ dtype: Tout, ...shape }], ([at, k, d]) => {
        const table = tableAt(at);
        table.checkTypes(Tin, Tout);
        return [table.find(k!, d!)];
      });
      return { values: values! };
    },
    cases: () => [{ shape: `${handleCase}, [2, ?], [] -> [2, ?]` }],
  });
}

/** Ops that change a table by keys and values. */
function makeChange(name: string, method: 'insert' | 'import' | 'initialize', form: Form): void {
  const [Tkey, Tvalue] = method === 'initialize' ? (['Tkey', 'Tval'] as const) : (['Tin', 'Tout'] as const);
  defineOp({
    name: `${name}${form.suffix}`,
    inputs: { table_handle: form.port, keys: Tkey, values: Tvalue },
    outputs: {},
    attrs: { [Tkey]: anyType, [Tvalue]: anyType } as Record<typeof Tkey | typeof Tvalue, typeof anyType>, // the two just named
    stateful: form.stateful,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { table_handle, keys, values }) {
      p.host([table_handle, keys, values], [], ([at, k, v]) => {
        const table = tableAt(at);
        table.checkTypes(k!.dtype, v!.dtype);
        table[method](k!, v!);
        return [];
      });
      return {};
    },
    cases: () => [{ shape: `${form.handleCase}, [2], [2] ->` }],
  });
}

function makeSize({ suffix, port, stateful, handleCase }: Form): void {
  defineOp({
    name: `LookupTableSize${suffix}`,
    inputs: { table_handle: port },
    outputs: { size: 'int64' },
    attrs: {},
    stateful,
    shape: () => ({ size: [] }),
    grad: notDifferentiable,
    lower: (p, { table_handle }) => ({
      size: p.host([table_handle], [{ dtype: int64, shape: [] }], ([at]) => [
        scalar(int64, BigInt(tableAt(at).size)),
      ])[0]!,
    }),
    cases: () => [{ shape: `${handleCase} -> []` }],
  });
}

function makeExport({ suffix, port, stateful, handleCase }: Form): void {
  defineOp({
    name: `LookupTableExport${suffix}`,
    inputs: { table_handle: port },
    outputs: { keys: 'Tkeys', values: 'Tvalues' },
    attrs: { Tkeys: anyType, Tvalues: anyType },
    stateful,
    shape: () => ({ keys: [null], values: null }),
    grad: notDifferentiable,
    lower(p, { table_handle }, { Tkeys, Tvalues }) {
      const [keys, values] = p.host([table_handle], [{ dtype: Tkeys }, { dtype: Tvalues }], ([at]) => {
        const table = tableAt(at);
        table.checkTypes(Tkeys, Tvalues);
        return table.export();
      });
      return { keys: keys!, values: values! };
    },
    cases: () => [{ shape: `${handleCase} -> [?], ?`, attrs: { Tkeys: 'string', Tvalues: 'int64' } }],
  });
}

for (const form of [byResource, byReference]) {
  for (const kind of ['HashTable', 'MutableHashTable', 'MutableHashTableOfTensors'] as const) makeTable(kind, form);
  makeFind(form);
  makeChange('LookupTableInsert', 'insert', form);
  makeChange('LookupTableImport', 'import', form);
  makeChange('InitializeTable', 'initialize', form);
  makeSize(form);
  makeExport(form);
}

export const LookupTableRemoveV2 = defineOp({
  name: 'LookupTableRemoveV2',
  inputs: { table_handle: 'resource', keys: 'Tin' },
  outputs: {},
  attrs: { Tin: anyType },
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { table_handle, keys }) {
    p.host([table_handle, keys], [], ([at, k]) => {
      tableAt(at).remove(k!);
      return [];
    });
    return {};
  },
  cases: () => [{ shape: '[], [2] ->' }],
});
