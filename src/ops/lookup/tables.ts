/** @file The ops that fill lookup tables, look into them and empty them, for both forms of handles. */
import { int64 } from '../../core/dtypes.ts';
import { type NDArray, scalar } from '../../core/ndarray.ts';
import { anyType } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { mergeDim, ofRank } from '../array/common.ts';
import { byReference, byResource, type Form, objectAt } from '../queue/handles.ts';
import { LookupTable } from './table.ts';

const tableAt = (handle: NDArray | undefined) => objectAt(handle!, LookupTable);

function makeFind({ suffix, port, stateful, handleCase }: Form): void {
  defineOp({
    name: `LookupTableFind${suffix}`,
    inputs: { table_handle: port, keys: 'Tin', default_value: 'Tout' },
    outputs: { values: 'Tout' },
    attrs: { Tin: anyType, Tout: anyType },
    stateful: stateful && 'repeatable',
    shape: () => ({ values: null }),
    grad: notDifferentiable,
    lower(p, { table_handle, keys, default_value }, { Tin, Tout }) {
      // Of a table that is known, so is the shape of what it gives.
      const known = table_handle.known && tableAt(table_handle.known);
      const shape = known && { shape: known.resultShape(keys.shape) };
      const [values] = p.host([table_handle, keys, default_value], [{ dtype: Tout, ...shape }], async ([at, k, d]) => {
        const table = tableAt(at);
        table.checkTypes(Tin, Tout);
        return [await table.line.run(() => table.find(k!, d!))];
      });
      return { values: values! };
    },
    cases: () => [{ shape: `${handleCase}, [2, ?], [] -> ?` }],
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
    shape({ keys, values }) {
      if (method === 'insert') return {};
      ofRank(keys, 1, 'keys');
      if (keys && values && values.length > 0) mergeDim(keys[0]!, values[0]!, 'the number of keys and of values');
      return {};
    },
    grad: notDifferentiable,
    lower(p, { table_handle, keys, values }) {
      p.host([table_handle, keys, values], [], async ([at, k, v]) => {
        const table = tableAt(at);
        table.checkTypes(k!.dtype, v!.dtype);
        await table.line.run(() => table[method](k!, v!));
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
    stateful: stateful && 'repeatable',
    shape: () => ({ size: [] }),
    grad: notDifferentiable,
    lower: (p, { table_handle }) => ({
      size: p.host([table_handle], [{ dtype: int64, shape: [] }], async ([at]) => {
        const table = tableAt(at);
        return [scalar(int64, await table.line.run(() => table.size))];
      })[0]!,
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
    // TensorFlow says less of the newer form.
    shape: () => ({ keys: suffix === '' ? [null] : null, values: null }),
    grad: notDifferentiable,
    lower(p, { table_handle }, { Tkeys, Tvalues }) {
      const [keys, values] = p.host([table_handle], [{ dtype: Tkeys }, { dtype: Tvalues }], async ([at]) => {
        const table = tableAt(at);
        table.checkTypes(Tkeys, Tvalues);
        return await table.line.run(() => table.export());
      });
      return { keys: keys!, values: values! };
    },
    cases: () => [
      { shape: `${handleCase} -> ${suffix === '' ? '[?]' : '?'}, ?`, attrs: { Tkeys: 'string', Tvalues: 'int64' } },
    ],
  });
}

for (const form of [byResource, byReference]) {
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
    p.host([table_handle, keys], [], async ([at, k]) => {
      const table = tableAt(at);
      table.checkTypes(k!.dtype, undefined);
      await table.line.run(() => table.remove(k!));
      return [];
    });
    return {};
  },
  cases: () => [{ shape: '[], [2] ->' }],
});
