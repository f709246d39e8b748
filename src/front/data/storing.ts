/** @file Whole datasets in files: records, saved datasets, snapshots. */
import { int64 } from '../../core/dtypes.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { DatasetToTFRecord, LoadDataset, SaveDataset } from '../../ops/data/snapshot.ts';
import { SnapshotDatasetV2 } from '../../ops/data/snapshotDataset.ts';
import { modulo } from '../../ops/math/operators.ts';
import { metadataOf, text, typesOf } from './arguments.ts';
import { Dataset, DatasetComponent } from './dataset.ts';
import * as elementwise from './elementwise.ts';
import { type TracedFunction, traceFunction } from './functions.ts';
import { type ElementSpec, elementAttrs } from './spec.ts';

/** So many shards are written and read in turns unless a function says another number. */
const shards = 4;

type ShardFunction = (...args: never[]) => TensorLike;
/** What becomes of a dataset of shards, each a dataset. */
export type ReaderFunction = (shards: Dataset<Dataset>) => Dataset;

export interface SaveOptions {
  /** `'GZIP'`, or nothing. */
  readonly compression?: string | undefined;
  /** The number of the shard that an element goes to; all go to one unless said. */
  readonly shardFunc?: ShardFunction | undefined;
}
export interface LoadOptions {
  readonly compression?: string | undefined;
  readonly readerFunc?: ReaderFunction | undefined;
}
export interface SnapshotOptions {
  /** `'AUTO'` unless said, which leaves it to the runtime; `'GZIP'`, or `''` for none. */
  readonly compression?: string | undefined;
  readonly shardFunc?: ShardFunction | undefined;
  readonly readerFunc?: ReaderFunction | undefined;
  readonly name?: string | undefined;
}

/**
 * Writes the elements of a dataset of strings as records.
 *
 * @example await sess.run(new tf.data.experimental.TFRecordWriter('all.tfrecord').write(records));
 */
export class TFRecordWriter {
  private readonly filename: Tensor;
  private readonly compressionType: Tensor;
  constructor(filename: TensorLike, options: { readonly compressionType?: string | undefined } = {}) {
    const { compressionType = '' } = onlyOptions('TFRecordWriter', options, 'compressionType');
    this.filename = text(filename, 'filename');
    this.compressionType = text(compressionType, 'compression_type');
  }

  /** An operation that writes all elements each time it is run. Adds `DatasetToTFRecord`. */
  write(dataset: Dataset): Operation {
    const { output_types, output_shapes } = elementAttrs(dataset.elementSpec);
    if (output_types.length !== 1 || output_types[0]!.name !== 'string' || output_shapes[0]?.length !== 0)
      throw userError(
        `TFRecordWriter writes scalar strings, but the elements are of the types ${output_types.join(', ')}.`,
      );
    return DatasetToTFRecord.node({
      input_dataset: dataset.variant,
      filename: this.filename,
      compression_type: this.compressionType,
    });
  }
}

/** The number of a shard, from an element. */
function tracedShard(dataset: Dataset, fn: ShardFunction, transformation: string): TracedFunction {
  const asNumber = (...args: never[]) => convertToTensor(fn(...args), { hint: int64 });
  const traced = traceFunction(asNumber, { transformation, args: [dataset.elementSpec] });
  const { output_types, output_shapes } = elementAttrs(traced.spec);
  if (
    output_types.length !== 1 ||
    !['int32', 'int64'].includes(output_types[0]!.name) ||
    output_shapes[0]?.length !== 0
  )
    throw userError('shardFunc must return a scalar int64: the number of a shard.');
  return traced;
}

const inTurns: ReaderFunction = (parts) =>
  parts.interleave((part) => part, { cycleLength: shards, numParallelCalls: -1 });

function tracedReader(element: ElementSpec, fn: ReaderFunction, transformation: string): TracedFunction {
  const args = [new DatasetComponent(new DatasetComponent(element))];
  return traceFunction(fn as (...args: never[]) => unknown, { transformation, args }); // it takes what the spec says
}

/** An operation that writes the elements to files under a folder. */
export function save(dataset: Dataset, path: TensorLike, options: SaveOptions): Operation {
  const { compression = '', shardFunc } = onlyOptions('Dataset.save', options, 'compression', 'shardFunc');
  const target = text(path, 'path');
  const first = () => convertToTensor(0, { dtype: int64 });
  const { f, captured } = tracedShard(dataset, shardFunc ?? first, 'save');
  return SaveDataset.node(
    { input_dataset: dataset.variant, path: target, shard_func_other_args: captured },
    {
      attrs: {
        compression,
        shard_func: f,
        use_shard_func: shardFunc !== undefined,
        Tshard_func_args: typesOf(captured),
      },
    },
  );
}

/** What `save` has written, as a dataset of elements like these. */
export function load(path: TensorLike, elementSpec: ElementSpec, options: LoadOptions): Dataset {
  const { compression = '', readerFunc } = onlyOptions('Dataset.load', options, 'compression', 'readerFunc');
  const { f, captured } = tracedReader(elementSpec, readerFunc ?? inTurns, 'load');
  const attrs = { ...elementAttrs(elementSpec), compression, reader_func: f, Treader_func_args: typesOf(captured) };
  return new Dataset(LoadDataset.build({ path, reader_func_other_args: captured }, { attrs }).handle, elementSpec);
}

/** Writes elements the first time through, and reads them from there every other time. */
export function snapshot(dataset: Dataset, path: TensorLike, options: SnapshotOptions): Dataset {
  const {
    compression = 'AUTO',
    shardFunc,
    readerFunc,
    name,
  } = onlyOptions('Dataset.snapshot', options, 'compression', 'shardFunc', 'readerFunc', 'name');
  const numbered = shardFunc ? dataset : dataset.enumerate(0, { name });
  const byNumber = (index: Tensor) => modulo(index, shards);
  const reader = tracedReader(numbered.elementSpec, readerFunc ?? inTurns, 'Dataset_snapshot_reader_func');
  const shard = tracedShard(numbered, shardFunc ?? byNumber, 'Dataset_snapshot_shard_func');
  const inputs = {
    input_dataset: numbered.variant,
    path,
    reader_func_other_args: reader.captured,
    shard_func_other_args: shard.captured,
  };
  const attrs = {
    compression,
    reader_func: reader.f,
    shard_func: shard.f,
    Treader_func_args: typesOf(reader.captured),
    Tshard_func_args: typesOf(shard.captured),
    ...elementAttrs(numbered.elementSpec),
    metadata: metadataOf('snapshot', { name }),
  };
  const made = new Dataset(SnapshotDatasetV2.build(inputs, { attrs }).handle, numbered.elementSpec);
  return shardFunc ? made : elementwise.map(made, (_: never, element: never) => element, { name });
}
