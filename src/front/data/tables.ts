/** @file Lookup tables whose keys and values are the elements of a dataset. */
import { type DType, string } from '../../core/dtypes.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { InitializeTableFromDataset } from '../../ops/data/tables.ts';
import { addToCollection, GraphKeys } from '../collections.ts';
import { type InitializableTable, TableInitializerBase } from '../lookup/initializers.ts';
import { FastHashSpec, type HasherSpec, IdTableWithHashBuckets, StaticHashTable } from '../lookup/staticTables.ts';
import type { Dataset } from './dataset.ts';
import { elementAttrs } from './spec.ts';

/** The types of keys and values in a dataset of pairs. */
function pairTypes({ elementSpec }: Dataset): [DType, DType] {
  const { output_types, output_shapes } = elementAttrs(elementSpec);
  if (output_types.length !== 2 || output_shapes.some((dims) => dims !== null && dims.length !== 0))
    throw userError(
      `To fill a table, a dataset must give pairs of a scalar key and a scalar value, but its elements are of the types ${output_types.join(', ')}.`,
    );
  return output_types as [DType, DType]; // two, as just seen
}

/**
 * Fills a table with the elements of a dataset: pairs of a key and a value.
 *
 * @example new tf.lookup.StaticHashTable(new tf.data.experimental.DatasetInitializer(pairs), -1)
 */
export class DatasetInitializer extends TableInitializerBase {
  constructor(readonly dataset: Dataset) {
    super(...pairTypes(dataset));
  }

  /** Adds `InitializeTableFromDataset`. */
  override initialize(table: InitializableTable): Operation {
    this.checkTypes(table);
    const inputs = { table_handle: table.resourceHandle, dataset: this.dataset.variant };
    const filled = InitializeTableFromDataset.node(inputs);
    addToCollection(GraphKeys.TABLE_INITIALIZERS, filled);
    return filled;
  }
}

export interface TableFromDatasetOptions {
  /** How many numbers there are for keys that are not in the dataset. */
  readonly numOovBuckets?: number | undefined;
  /** What stands for keys that are not in the dataset, where there are no buckets. */
  readonly defaultValue?: TensorLike | undefined;
  readonly hasherSpec?: HasherSpec | undefined;
  /** string unless given. */
  readonly keyDtype?: DType | undefined;
  readonly name?: string | undefined;
}
const optionNames = ['numOovBuckets', 'defaultValue', 'hasherSpec', 'keyDtype', 'name'] as const;

/**
 * A table of the pairs that a dataset gives. Adds `HashTableV2` and `InitializeTableFromDataset`.
 *
 * @example tf.data.experimental.tableFromDataset(pairs, { defaultValue: -1 }).lookup(['a', 'b'])
 */
export function tableFromDataset(
  dataset: Dataset,
  options: TableFromDatasetOptions = {},
): StaticHashTable | IdTableWithHashBuckets {
  const given = onlyOptions('tableFromDataset', options, ...optionNames);
  const { numOovBuckets = 0, defaultValue, hasherSpec = FastHashSpec, keyDtype = string } = given;
  const [, valueDtype] = pairTypes(dataset);
  if (numOovBuckets < 0) throw userError(`numOovBuckets must be greater or equal than 0, got ${numOovBuckets}.`);
  const missing = defaultValue ?? (valueDtype === string ? '' : -1);
  return nameScope(given.name ?? 'string_to_index', () => {
    const table = nameScope('hash_table', () => new StaticHashTable(new DatasetInitializer(dataset), missing));
    return numOovBuckets === 0 ? table : new IdTableWithHashBuckets(table, numOovBuckets, { hasherSpec, keyDtype });
  });
}

/**
 * A table from the elements of a dataset to their numbers. Adds `ZipDataset`, `HashTableV2` and
 * `InitializeTableFromDataset`.
 *
 * @example tf.data.experimental.indexTableFromDataset(words).lookup(['a', 'b'])
 */
export function indexTableFromDataset(
  vocabulary: Dataset,
  options: TableFromDatasetOptions = {},
): StaticHashTable | IdTableWithHashBuckets {
  const swapped = vocabulary.enumerate().map((number, word) => [word, number] as const);
  return tableFromDataset(swapped, { defaultValue: -1, ...options });
}
