/** @file Tables that change at any time and go into checkpoints. */
import type { DType } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith, nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { node, outputOf } from '../../op/node.ts';
import { addToCollection, GraphKeys } from '../collections.ts';
import type { SaveableObject } from '../saving/saveables.ts';
import { exported, type LookupInterface, lastPart, type NameOption, type Sparsely } from './staticTables.ts';

export interface MutableTableOptions extends NameOption {
  /** Whether savers save the content; true unless given. */
  readonly checkpoint?: boolean | undefined;
  /** Tables with the same one are one table in a session. */
  readonly sharedName?: string | undefined;
}

/** What both kinds of changing tables do. */
abstract class MutableTable implements LookupInterface {
  readonly name: string;

  protected constructor(
    readonly keyDtype: DType,
    readonly valueDtype: DType,
    readonly defaultValue: Tensor,
    readonly resourceHandle: Tensor,
    checkpoint: { readonly name: string } | undefined,
  ) {
    this.name = lastPart(resourceHandle.op.name);
    if (checkpoint) addToCollection(GraphKeys.SAVEABLE_OBJECTS, saveableOf(this, checkpoint.name));
  }

  /** The shape that values of keys have. */
  protected abstract valuesShape(keys: Dims): Dims;

  private scoped<T>(name: string | undefined, suffix: string, body: () => T): T {
    return nameScope(name ?? `${this.name}_${suffix}`, body);
  }
  private colocated<T>(body: () => T): T {
    return colocateWith(this.resourceHandle, body);
  }

  /** How many keys there are. */
  size(options: NameOption = {}): Tensor {
    const { name } = onlyOptions('table.size', options, 'name');
    return this.scoped(name, 'Size', () =>
      this.colocated(() => outputOf('LookupTableSizeV2', { table_handle: this.resourceHandle })),
    );
  }

  /** The values of keys. What stands for missing ones may be given for all or for each of them. */
  lookup<const K extends TensorLike | SparseTensor>(
    keys: K,
    options: NameOption & { readonly dynamicDefaultValues?: TensorLike | undefined } = {},
  ): Sparsely<K> {
    const { name, dynamicDefaultValues } = onlyOptions('table.lookup', options, 'name', 'dynamicDefaultValues');
    if (keys instanceof SparseTensor) {
      const values = this.lookup(keys.values, options);
      return new SparseTensor(keys.indices, values, keys.denseShape) as Sparsely<K>; // sparse as the keys are
    }
    return this.scoped(name, 'lookup_table_find', () => {
      const given = convertToTensor(keys as TensorLike, { dtype: this.keyDtype, name: 'keys' }); // not sparse
      const values = this.colocated(() => {
        const default_value =
          dynamicDefaultValues === undefined
            ? this.defaultValue
            : convertToTensor(dynamicDefaultValues, {
                dtype: this.valueDtype,
                name: 'LookupTableFindV2/default_value',
              });
        return outputOf('LookupTableFindV2', { table_handle: this.resourceHandle, keys: given, default_value });
      });
      values.setShape(this.valuesShape(given.shape));
      return values;
    }) as Sparsely<K>; // dense as the keys are
  }

  /** Sets the values of keys, new ones and old ones. */
  insert(keys: TensorLike, values: TensorLike, options: NameOption = {}): Operation {
    const { name } = onlyOptions('table.insert', options, 'name');
    return this.scoped(name, 'lookup_table_insert', () => {
      const inputs = {
        table_handle: this.resourceHandle,
        keys: convertToTensor(keys, { dtype: this.keyDtype, name: 'keys' }),
        values: convertToTensor(values, { dtype: this.valueDtype, name: 'values' }),
      };
      return this.colocated(() => node('LookupTableInsertV2', inputs));
    });
  }

  /** Takes keys away; those that are not there are passed over. */
  remove(keys: TensorLike, options: NameOption = {}): Operation {
    const { name } = onlyOptions('table.remove', options, 'name');
    return this.scoped(name, 'lookup_table_remove', () => {
      const given = convertToTensor(keys, { dtype: this.keyDtype, name: 'keys' });
      return node('LookupTableRemoveV2', { table_handle: this.resourceHandle, keys: given });
    });
  }

  /** All keys, and their values in the same order. */
  export(options: NameOption = {}): [keys: Tensor, values: Tensor] {
    const { name } = onlyOptions('table.export', options, 'name');
    return this.scoped(name, 'lookup_table_export_values', () => this.colocated(() => exported(this)));
  }
}

/** A table in a checkpoint: its keys and its values. */
function saveableOf(table: MutableTable, name: string): SaveableObject {
  const [keys, values] = table.export();
  const spec = (tensor: Tensor, part: string) => ({
    name: `${name}-${part}`,
    slice: '',
    dtype: tensor.dtype,
    device: tensor.op.device,
    tensor,
  });
  return {
    name,
    op: table,
    specs: [spec(keys, 'keys'), spec(values, 'values')],
    restore: ([savedKeys, savedValues]) =>
      nameScope(`${name}_table_restore`, () =>
        colocateWith(table.resourceHandle, () =>
          node('LookupTableImportV2', {
            table_handle: table.resourceHandle,
            keys: savedKeys!,
            values: savedValues!,
          }),
        ),
      ),
  };
}

const optionNames = ['name', 'checkpoint', 'sharedName'] as const;

/** How the node is shared: tables that are saved are found by their names. */
const sharing = (sharedName: string | undefined, checkpoint: boolean) => ({
  shared_name: sharedName ?? '',
  use_node_name_sharing: checkpoint && sharedName === undefined,
});

/**
 * A table that changes at any time. Values are single ones or vectors, as `defaultValue` is. Adds one `MutableHashTableV2` or
 * `MutableHashTableOfTensorsV2` node.
 *
 * @example
 * const table = new tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1);
 * await sess.run(table.insert(['a', 'b'], [1, 2]));
 * await sess.run(table.lookup(['b', 'x'])); // [2 -1]
 */
export class MutableHashTable extends MutableTable {
  constructor(keyDtype: DType, valueDtype: DType, defaultValue: TensorLike, options: MutableTableOptions = {}) {
    const {
      name = 'MutableHashTable',
      checkpoint = true,
      sharedName,
    } = onlyOptions('MutableHashTable', options, ...optionNames);
    const missing = convertToTensor(defaultValue, { dtype: valueDtype });
    const value_shape = missing.shape;
    const attrs = { ...sharing(sharedName, checkpoint), key_dtype: keyDtype, value_dtype: valueDtype };
    const handle =
      value_shape?.length === 0
        ? outputOf('MutableHashTableV2', {}, { name, attrs })
        : outputOf('MutableHashTableOfTensorsV2', {}, { name, attrs: { ...attrs, value_shape } });
    super(keyDtype, valueDtype, missing, handle, checkpoint ? { name } : undefined);
  }

  protected override valuesShape(keys: Dims): Dims {
    const { shape } = this.defaultValue;
    return keys && shape && [...keys, ...shape];
  }
}

export interface DenseTableOptions extends MutableTableOptions {
  /** A power of two. */
  readonly initialNumBuckets?: number | undefined;
  /** Which part of the buckets may be taken before there are twice as many; 0.8 unless given. */
  readonly maxLoadFactor?: number | undefined;
}

/**
 * A table that changes at any time, with its keys in buckets: one key stands for buckets that are empty and one for those that were
 * emptied, and neither can be used. Keys may be vectors. Adds one `MutableDenseHashTableV2` node.
 *
 * @example
 * const table = new tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0, -1, -2);
 * await sess.run(table.insert([7, 8], [0.5, 1.5]));
 */
export class DenseHashTable extends MutableTable {
  private readonly keyShape: Dims;

  constructor(
    keyDtype: DType,
    valueDtype: DType,
    defaultValue: TensorLike,
    emptyKey: TensorLike,
    deletedKey: TensorLike,
    options: DenseTableOptions = {},
  ) {
    const {
      name = 'MutableDenseHashTable',
      checkpoint = true,
      sharedName,
      initialNumBuckets,
      maxLoadFactor,
    } = onlyOptions('DenseHashTable', options, ...optionNames, 'initialNumBuckets', 'maxLoadFactor');
    const missing = convertToTensor(defaultValue, { dtype: valueDtype, name: 'default_value' });
    const empty_key = convertToTensor(emptyKey, { dtype: keyDtype, name: 'empty_key' });
    const deleted_key = convertToTensor(deletedKey, { dtype: keyDtype, name: 'deleted_key' });
    if (missing.shape === null) throw userError('The shape of the default value of a table must be known.');
    const attrs = {
      ...sharing(sharedName, checkpoint),
      value_dtype: valueDtype,
      value_shape: missing.shape,
      initial_num_buckets: initialNumBuckets,
      max_load_factor: maxLoadFactor,
    };
    const handle = outputOf('MutableDenseHashTableV2', { empty_key, deleted_key }, { name, attrs });
    super(keyDtype, valueDtype, missing, handle, checkpoint ? { name } : undefined);
    this.keyShape = empty_key.shape;
  }

  protected override valuesShape(keys: Dims): Dims {
    const { shape } = this.defaultValue;
    return keys && shape && this.keyShape && [...keys.slice(0, keys.length - this.keyShape.length), ...shape];
  }

  /** Another name of `insert`. */
  insertOrAssign(keys: TensorLike, values: TensorLike, options: NameOption = {}): Operation {
    return this.insert(keys, values, options);
  }
  /** Another name of `remove`. */
  erase(keys: TensorLike, options: NameOption = {}): Operation {
    return this.remove(keys, options);
  }
}
