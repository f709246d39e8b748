/** @file Tables that are filled once: from keys to values, and from words to numbers with buckets for unknown words. */

import { randomUUID } from 'node:crypto';
import { type DType, int64, string } from '../../core/dtypes.ts';
import { initScope } from '../../graph/funcGraph.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { node, outputOf } from '../../op/node.ts';
import { constant } from '../../ops/array/constant.ts';
import { group } from '../../ops/flow/group.ts';
import { noOp } from '../../ops/flow/noOp.ts';
import { AddV2 } from '../../ops/math/add.ts';
import { cast } from '../../ops/math/cast.ts';
import { notEqual } from '../../ops/math/compare.ts';
import { whereV2 } from '../../ops/math/select.ts';
import {
  asString,
  stringToHashBucket,
  stringToHashBucketFast,
  stringToHashBucketStrong,
} from '../../ops/string/index.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import type { TableInitializerBase } from './initializers.ts';

export interface NameOption {
  readonly name?: string | undefined;
}

/** Keys or values: dense, or sparse with the same positions. */
export type Sparsely<T> = T extends SparseTensor ? SparseTensor : Tensor;

/** What all tables can do. */
export interface LookupInterface {
  readonly keyDtype: DType;
  readonly valueDtype: DType;
  /** The name of its node, without scopes. */
  readonly name: string;
  size(options?: NameOption): Tensor;
  lookup<const K extends TensorLike | SparseTensor>(keys: K, options?: NameOption): Sparsely<K>;
}

export const lastPart = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

/** Looks up dense keys, or the values of sparse ones. */
function lookedUp<K extends TensorLike | SparseTensor>(
  keys: K,
  dtype: DType,
  lookup: (keys: Tensor) => Tensor,
): Sparsely<K> {
  const given =
    keys instanceof SparseTensor ? keys.values : convertToTensor(keys as TensorLike, { dtype, name: 'keys' }); // not sparse
  if (given.dtype !== dtype) throw userError(`The type of keys must be ${dtype}, received: ${given.dtype}`);
  const values = lookup(given);
  const result = keys instanceof SparseTensor ? new SparseTensor(keys.indices, values, keys.denseShape) : values;
  return result as Sparsely<K>; // sparse where the keys are
}

/**
 * A table that is filled once, by `tf.tablesInitializer()` or its own `initializer`. Adds one `HashTableV2` node.
 *
 * @example
 * const table = new tf.lookup.StaticHashTable(new tf.lookup.KeyValueTensorInitializer(['a', 'b'], [7, 8]), -1);
 * const found = table.lookup(['b', 'x']);
 * await sess.run(tf.tablesInitializer());
 * await sess.run(found); // [8 -1]
 */
export class StaticHashTable implements LookupInterface {
  readonly keyDtype: DType;
  readonly valueDtype: DType;
  readonly name: string;
  readonly resourceHandle: Tensor;
  /** What stands for keys that are not there. */
  readonly defaultValue: Tensor;
  /** Fills the table. */
  readonly initializer: Operation;

  constructor(initializer: TableInitializerBase, defaultValue: TensorLike, options: NameOption = {}) {
    const { name = 'hash_table' } = onlyOptions('tf.lookup.StaticHashTable', options, 'name');
    this.keyDtype = initializer.keyDtype;
    this.valueDtype = initializer.valueDtype;
    this.defaultValue = convertToTensor(defaultValue, { dtype: this.valueDtype });
    if (this.defaultValue.shape !== null && this.defaultValue.shape.length !== 0)
      throw userError(`The default value of a table is a single value, but ${this.defaultValue} is not.`);
    // Without a name every node would have a table of its own.
    const shared_name = initializer.sharedName ?? `hash_table_${randomUUID()}`;
    const attrs = { shared_name, key_dtype: this.keyDtype, value_dtype: this.valueDtype };
    this.resourceHandle = initScope(() => outputOf('HashTableV2', {}, { name, attrs }));
    this.name = lastPart(this.resourceHandle.op.name);
    this.initializer = initScope(() => initializer.initialize(this));
  }

  /** The older name of `initializer`. */
  get init(): Operation {
    return this.initializer;
  }

  /** How many keys there are. */
  size(options: NameOption = {}): Tensor {
    const { name } = onlyOptions('table.size', options, 'name');
    return nameScope(name ?? `${this.name}_Size`, () =>
      outputOf('LookupTableSizeV2', { table_handle: this.resourceHandle }),
    );
  }

  /** The values of keys, in the shape of the keys. */
  lookup<const K extends TensorLike | SparseTensor>(keys: K, options: NameOption = {}): Sparsely<K> {
    const { name } = onlyOptions('table.lookup', options, 'name');
    return lookedUp(keys, this.keyDtype, (given) => {
      const values = nameScope(name ?? `${this.name}_Lookup`, () =>
        outputOf('LookupTableFindV2', {
          table_handle: this.resourceHandle,
          keys: given,
          default_value: this.defaultValue,
        }),
      );
      values.setShape(given.shape);
      return values;
    });
  }

  /** All keys, and their values in the same order. */
  export(options: NameOption = {}): [keys: Tensor, values: Tensor] {
    const { name } = onlyOptions('table.export', options, 'name');
    return nameScope(name ?? `${this.name}_Export`, () => exported(this));
  }
}

/** Adds one `LookupTableExportV2` node. */
export function exported(table: {
  readonly resourceHandle: Tensor;
  readonly keyDtype: DType;
  readonly valueDtype: DType;
}): [keys: Tensor, values: Tensor] {
  const attrs = { Tkeys: table.keyDtype, Tvalues: table.valueDtype };
  const { outputs } = node('LookupTableExportV2', { table_handle: table.resourceHandle }, { attrs });
  return [outputs[0]!, outputs[1]!];
}

/** How unknown words are spread over buckets. */
export interface HasherSpec {
  readonly hasher: 'fasthash' | 'legacy' | 'stronghash';
  /** Two numbers, for a strong hash. */
  readonly key?: readonly number[] | undefined;
}
/** A hash that is quick, and the same everywhere and always. */
export const FastHashSpec: HasherSpec = { hasher: 'fasthash' };
/** A hash that nobody can make collide on purpose without knowing the key of two numbers. */
export class StrongHashSpec implements HasherSpec {
  readonly hasher = 'stronghash';
  constructor(readonly key: readonly number[]) {
    if (key.length !== 2) throw userError(`The key of a strong hash has 2 numbers, received ${key.length}`);
  }
}

function bucketsOf(values: Tensor, count: number, { hasher, key = [] }: HasherSpec): Tensor {
  const name = 'hash_bucket';
  const texts = values.dtype === string ? values : asString(values);
  if (hasher === 'stronghash') return stringToHashBucketStrong(texts, count, key, { name });
  return (hasher === 'legacy' ? stringToHashBucket : stringToHashBucketFast)(texts, count, { name });
}

export interface HashBucketsOptions extends NameOption {
  readonly hasherSpec?: HasherSpec | undefined;
  /** The type of keys that are looked up, where it is another than the table's. */
  readonly keyDtype?: DType | undefined;
}

/**
 * A table from words to numbers, and behind its numbers those of buckets, which words that are not in the table get by their hash.
 * Without a table all words get buckets.
 */
export class IdTableWithHashBuckets implements LookupInterface {
  readonly keyDtype: DType;
  readonly valueDtype = int64;
  readonly name: string;
  private readonly hasherSpec: HasherSpec;

  constructor(
    private readonly table: StaticHashTable | null,
    private readonly numOovBuckets: number,
    options: HashBucketsOptions = {},
  ) {
    const {
      hasherSpec = FastHashSpec,
      keyDtype,
      name,
    } = onlyOptions('IdTableWithHashBuckets', options, 'hasherSpec', 'keyDtype', 'name');
    this.keyDtype = keyDtype ?? table?.keyDtype ?? string;
    if (table) checkVocabulary(table, this.keyDtype);
    else if (numOovBuckets <= 0) throw userError('numOovBuckets must be > 0 where there is no table.');
    if (!this.keyDtype.isInteger && this.keyDtype !== string)
      throw userError(`Keys are integers or strings, but keyDtype is ${this.keyDtype}.`);
    this.hasherSpec = hasherSpec;
    this.name = lastPart((name ?? table?.name ?? 'hash_bucket').replace(/\/+$/, ''));
  }

  get resourceHandle(): Tensor | null {
    return this.table?.resourceHandle ?? null;
  }

  /** Fills the table. */
  get initializer(): Operation {
    return this.table?.initializer ?? nameScope('init', () => noOp());
  }
  /** The older name of `initializer`. */
  get init(): Operation {
    return this.initializer;
  }

  /** How many numbers words can get. */
  size(options: NameOption = {}): Tensor {
    const { name } = onlyOptions('table.size', options, 'name');
    return nameScope(name ?? `${this.name}_Size`, () => {
      const known = this.table ? this.table.size() : constant(0, int64);
      return known.add(this.numOovBuckets);
    });
  }

  /** The numbers of words, in the shape of the words. */
  lookup<const K extends TensorLike | SparseTensor>(keys: K, options: NameOption = {}): Sparsely<K> {
    const { name } = onlyOptions('table.lookup', options, 'name');
    return lookedUp(keys, this.keyDtype, (given) => {
      const { table } = this;
      const values = table?.keyDtype === int64 && given.dtype !== int64 ? cast(given, int64) : given;
      if (this.numOovBuckets === 0) return table!.lookup(values, options); // there are buckets where there is no table
      return nameScope(name ?? `${this.name}_Lookup`, () => {
        const buckets = bucketsOf(values, this.numOovBuckets, this.hasherSpec);
        if (!table) return buckets;
        const ids = table.lookup(values);
        const behind = AddV2.build({ x: buckets, y: table.size() }, { name: 'Add' }).z;
        return whereV2(notEqual(ids, table.defaultValue), ids, behind);
      });
    });
  }
}

function checkVocabulary(table: { readonly keyDtype: DType; readonly valueDtype: DType }, keyDtype: DType): void {
  if (table.keyDtype !== int64 && table.keyDtype !== string)
    throw userError(`Invalid key dtype, expected int64 or string, received ${table.keyDtype}.`);
  if (table.keyDtype.isInteger !== keyDtype.isInteger)
    throw userError(
      `Invalid key dtype, expected ${keyDtype.isInteger ? 'integer' : 'non-integer'} but got ${table.keyDtype}.`,
    );
  if (table.valueDtype !== int64) throw userError(`Invalid value dtype, expected int64 but got ${table.valueDtype}.`);
}

export interface VocabularyOptions extends NameOption {
  /** The type of keys that are looked up, where it is another than the initializer's. */
  readonly lookupKeyDtype?: DType | undefined;
}

/**
 * A table from words to numbers: those of the initializer, and the numbers of buckets behind them for all other words. Adds one
 * `HashTableV2` node, or none without an initializer.
 *
 * @example
 * const words = new tf.lookup.KeyValueTensorInitializer(['the', 'cat'], [0, 1], { valueDtype: tf.int64 });
 * const table = new tf.lookup.StaticVocabularyTable(words, 10); // other words get 2 to 11
 */
export class StaticVocabularyTable extends IdTableWithHashBuckets {
  constructor(initializer: TableInitializerBase | null, numOovBuckets: number, options: VocabularyOptions = {}) {
    const { lookupKeyDtype, name } = onlyOptions('tf.lookup.StaticVocabularyTable', options, 'lookupKeyDtype', 'name');
    if (numOovBuckets <= 0)
      throw userError('numOovBuckets must be > 0; without buckets use tf.lookup.StaticHashTable.');
    if (initializer) checkVocabulary(initializer, lookupKeyDtype ?? initializer.keyDtype);
    const table = initializer && new StaticHashTable(initializer, -1);
    super(table, numOovBuckets, { ...(table && { keyDtype: lookupKeyDtype }), name });
  }
}

/**
 * An operation that fills all tables that are filled once.
 *
 * @example await sess.run(tf.tablesInitializer());
 */
export function tablesInitializer(options: NameOption = {}): Operation {
  const { name = 'init_all_tables' } = onlyOptions('tf.tablesInitializer', options, 'name');
  const initializers = getCollection<Operation>(GraphKeys.TABLE_INITIALIZERS);
  return initializers.length === 0 ? noOp({ name }) : group(initializers, { name });
}
/** The older name of `tablesInitializer`. */
export const initializeAllTables = tablesInitializer;
