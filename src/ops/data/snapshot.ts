/** @file Whole datasets in files: as TensorFlow saves them, and as records. */
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DType, string, variant } from '../../core/dtypes.ts';
import { DataLossError, InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { fileError } from '../../io/fileErrors.ts';
import { makeFolders } from '../../io/folders.ts';
import type { RecordCompression } from '../../io/records.ts';
import { TFRecordWriter } from '../../io/recordWriter.ts';
import { arrayFromProto, decodeTensorProto, serializeContent } from '../../io/serializedTensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { SnapshotMetadataRecord } from '../../proto/snapshot.ts';
import {
  Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  type StoredFiles,
  someOf,
  unknown,
} from './dataset.ts';
import { checkedCompression, defaultChunk, fromFiles, recordsOf } from './files.ts';
import { InterleaveIterator } from './interleave.ts';
import { argumentTypes, datasetOp, elementAttrs, flag, functionOf, type GraphFunction, textOf } from './kit.ts';
import { within } from './reduce.ts';
import { Following, type Saved } from './saved.ts';
import { datasetOf } from './window.ts';

/** Elements as one record per component. */
const formatVersion = 2;
const metadataName = 'snapshot.metadata';
export const digits = (n: number) => String(n).padStart(8, '0');

export function recordCompression(compression: string): RecordCompression {
  if (compression === '' || compression === 'GZIP' || compression === 'ZLIB') return compression;
  throw new UnimplementedError(`Datasets compressed by ${compression} cannot be read or written; use '' or 'GZIP'.`);
}

/** Something that elements are written to, between a beginning and an end. */
export interface ElementWriter {
  begin(): Promise<void>;
  write(element: Element): Promise<void>;
  end(): Promise<void>;
  /** Leaves what has been written as it is. */
  stop(): Promise<void>;
}

interface SaveOptions {
  readonly path: string;
  readonly compression: RecordCompression;
  /** Which shard an element belongs to; all to the first without it. */
  readonly shardOf: ((element: Element) => Promise<number>) | undefined;
}

/** A name for one time that a dataset is written. */
export const newRunId = (): string => String(crypto.getRandomValues(new BigUint64Array(1))[0]! >> 1n);

/** Says in a folder which of its runs is the last, and whether that is complete. */
export async function writeMetadata(
  folder: string,
  { id, types, count }: { readonly id: string; readonly types: readonly DType[]; readonly count: number | undefined },
): Promise<void> {
  const record = SnapshotMetadataRecord.create({
    run_id: id,
    creation_timestamp: BigInt(Date.now()) * 1000n,
    version: BigInt(formatVersion),
    dtype: types.map((t) => t.number),
    num_elements: BigInt(count ?? -1),
    finalized: count !== undefined,
  });
  const path = join(folder, metadataName);
  const beside = `${path}-tmp-${id}`;
  await writeFile(beside, SnapshotMetadataRecord.encode(record));
  await rename(beside, path);
}

/** Writes elements as they come; they are complete when the metadata says so. */
export class SnapshotWriter implements ElementWriter {
  private readonly writers = new Map<number, TFRecordWriter>();
  private readonly id = newRunId();
  private count = 0;
  constructor(
    private readonly types: readonly DType[],
    private readonly options: SaveOptions,
  ) {}

  async begin(): Promise<void> {
    try {
      await makeFolders(join(this.options.path, this.id));
    } catch (error) {
      throw fileError(error, this.options.path);
    }
    await writeMetadata(this.options.path, { id: this.id, types: this.types, count: undefined });
  }

  async write(element: Element): Promise<void> {
    const shard = (await this.options.shardOf?.(element)) ?? 0;
    let writer = this.writers.get(shard);
    if (!writer) {
      const folder = join(this.options.path, this.id, `${digits(shard)}.shard`);
      await makeFolders(folder);
      const { compression } = this.options;
      this.writers.set(shard, (writer = new TFRecordWriter(join(folder, `${digits(0)}.snapshot`), { compression })));
    }
    for (const array of element) await writer.write(serializeContent(array));
    this.count++;
  }

  async end(): Promise<void> {
    for (const writer of this.writers.values()) await writer.close();
    await writeMetadata(this.options.path, { id: this.id, types: this.types, count: this.count });
  }

  async stop(): Promise<void> {
    for (const writer of this.writers.values()) await writer.close();
  }
}

/** The number of the shard that a function gives. */
export const shardBy = (call: GraphFunction) => async (element: Element) => {
  const [shard] = await call(element);
  if (shard?.size !== 1) throw new InvalidArgumentError('`shard_func` must return a scalar int64.');
  return shard.numberAt(0);
};

const saveAttrs = {
  compression: attr('string', { default: '' }),
  shard_func: attr('func'),
  use_shard_func: flag(true),
  Tshard_func_args: argumentTypes,
} as const;
const saveInputs = { input_dataset: 'variant', path: 'string', shard_func_other_args: 'Tshard_func_args' } as const;

export const SaveDataset = defineOp({
  name: 'SaveDataset',
  inputs: saveInputs,
  outputs: {},
  attrs: saveAttrs,
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { input_dataset, path, shard_func_other_args }, attrs) {
    const shard = functionOf(p, attrs.shard_func);
    p.host([input_dataset, path, ...shard_func_other_args], [], ([array, target, ...captured], run) => {
      const dataset = datasetIn(array!);
      return within(run, dataset, async (iterator, scope) => {
        const writer = new SnapshotWriter(dataset.types, {
          path: textOf(target!, 'path'),
          compression: recordCompression(attrs.compression),
          shardOf: attrs.use_shard_func ? shardBy(shard(captured)(scope)) : undefined,
        });
        const saving = new SavingIterator(iterator, scope, writer);
        while (await saving.next()) run.stop.throwIfStopped();
        return [];
      });
    });
    return {};
  },
  cases: () => [],
});

/** Gives elements and writes them on the way. */
export class SavingIterator extends Following {
  private isOpen = false;
  private isOver = false;
  constructor(
    input: ElementIterator,
    private readonly scope: Iteration,
    private readonly writer: ElementWriter,
  ) {
    super(input);
  }

  async next(): Promise<Element | undefined> {
    if (!this.isOpen) {
      this.isOpen = true;
      await this.writer.begin();
      this.forget = this.scope.onStop(() => this.writer.stop());
    }
    const element = this.isOver ? undefined : await this.input.next();
    if (element) await this.writer.write(element);
    else if (!this.isOver) {
      this.isOver = true;
      this.forget();
      await this.writer.end();
    }
    return element;
  }
  private forget = () => {};

  override save(): Saved {
    throw new UnimplementedError('SaveDatasetV2 does not support checkpointing: the files would have to be saved too.');
  }
}

export const SaveDatasetV2 = datasetOp({
  name: 'SaveDatasetV2',
  inputs: saveInputs,
  attrs: { ...saveAttrs, ...elementAttrs },
  stateful: 'repeatable',
  make({ input_dataset, path, shard_func_other_args }, attrs, { shard_func }) {
    const input = datasetIn(input_dataset);
    const target = textOf(path, 'path');
    const compression = recordCompression(attrs.compression);
    const iterate = (scope: Iteration) => {
      const shardOf = attrs.use_shard_func ? shardBy(shard_func(shard_func_other_args)(scope)) : undefined;
      const writer = new SnapshotWriter(input.types, { path: target, compression, shardOf });
      return new SavingIterator(input.iterate(scope), scope, writer);
    };
    return someOf('SaveV2', input, () => input.cardinality, iterate);
  },
});

/** Puts the records of an element together. */
class ElementsIterator extends Following {
  constructor(
    input: ElementIterator,
    private readonly types: readonly DType[],
  ) {
    super(input);
  }
  async next(): Promise<Element | undefined> {
    const element: NDArray[] = [];
    for (const dtype of this.types) {
      const record = await this.input.next();
      if (!record) {
        if (element.length === 0) return undefined;
        throw new DataLossError('A saved dataset ends in the middle of an element.');
      }
      const proto = decodeTensorProto(record[0]!.objects[0] as Uint8Array); // records are strings
      if (!proto) throw new DataLossError('A saved dataset has a record that is no tensor.');
      const array = arrayFromProto(proto);
      if (array.dtype !== dtype)
        throw new InvalidArgumentError(
          `The saved dataset has a component of type ${array.dtype.runtimeName}, but ${dtype.runtimeName} is expected.`,
        );
      element.push(array);
    }
    return element;
  }
}

/** The elements of one shard. */
export function shardDataset(files: StoredFiles, types: readonly DType[], shapes: readonly Dims[]): Dataset {
  const records = fromFiles('SnapshotReader', { ...files, chunk: defaultChunk }, recordsOf);
  return new Dataset({
    kind: 'SnapshotReader',
    types,
    shapes,
    sharesMemory: false,
    cardinality: () => unknown,
    files,
    iterate: (scope) => new ElementsIterator(records.iterate(scope), types),
  });
}

export async function filesIn(folder: string, ending: string): Promise<string[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(folder, name));
}

export async function readMetadata(path: string): Promise<SnapshotMetadataRecord> {
  try {
    return SnapshotMetadataRecord.decode(await readFile(join(path, metadataName)));
  } catch (error) {
    throw fileError(error, join(path, metadataName));
  }
}

/** A dataset of the shards in a folder, each a dataset. */
export async function shardsIn(
  folder: string,
  compression: RecordCompression,
  { types, shapes }: { readonly types: readonly DType[]; readonly shapes: readonly Dims[] },
): Promise<Dataset> {
  const parts: Element[] = [];
  for (const shard of await filesIn(folder, '.shard')) {
    const paths = await filesIn(shard, '.snapshot');
    parts.push([shardDataset({ paths, compression }, types, shapes).asArray()]);
  }
  return datasetOf(parts, [variant], [[]], 'SnapshotNestedReader');
}

/** The elements of the dataset that a function makes of shards. */
export function readBy(read: GraphFunction, shards: Dataset, scope: Iteration): ElementIterator {
  const once = datasetOf([[]], [], []).iterate(scope);
  return new InterleaveIterator(once, scope, () => read([shards.asArray()]), { cycle: 1, block: 1, ahead: 0 });
}

export const LoadDataset = datasetOp({
  name: 'LoadDataset',
  inputs: { path: 'string', reader_func_other_args: 'Treader_func_args' },
  attrs: {
    ...elementAttrs,
    compression: attr('string', { default: '' }),
    reader_func: attr('func'),
    Treader_func_args: argumentTypes,
  },
  stateful: 'repeatable',
  async make({ path, reader_func_other_args }, attrs, { reader_func }) {
    const folder = textOf(path, 'path');
    const { output_types: types, output_shapes: shapes } = attrs;
    const compression = recordCompression(attrs.compression);
    const { run_id, num_elements } = await readMetadata(folder);
    const nested = await shardsIn(join(folder, run_id), compression, { types, shapes });
    return new Dataset({
      kind: 'Load',
      types,
      shapes,
      sharesMemory: true,
      cardinality: () => (num_elements >= 0n ? Number(num_elements) : unknown),
      iterate: (scope) => readBy(reader_func(reader_func_other_args)(scope), nested, scope),
    });
  },
});

/** Writes a dataset of strings as records. */
const toRecordsOp = (name: string) =>
  defineOp({
    name,
    inputs: { input_dataset: 'variant', filename: 'string', compression_type: 'string' },
    outputs: {},
    attrs: {},
    stateful: true,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { input_dataset, filename, compression_type }) {
      p.host([input_dataset, filename, compression_type], [], ([array, path, compression], run) =>
        within(run, datasetIn(array!), async (iterator) => {
          const options = { compression: checkedCompression(compression!) };
          await using writer = new TFRecordWriter(textOf(path!, 'filename'), options);
          for (let element = await iterator.next(); element; element = await iterator.next()) {
            run.stop.throwIfStopped();
            const [record] = element;
            if (element.length !== 1 || record!.dtype !== string || record!.rank !== 0)
              throw new InvalidArgumentError('Only a dataset of scalar strings can be written as records.');
            await writer.write(record!.objects[0] as Uint8Array); // strings are bytes
          }
          return [];
        }),
      );
      return {};
    },
    cases: () => [],
  });

export const DatasetToTFRecord = toRecordsOp('DatasetToTFRecord');
export const ExperimentalDatasetToTFRecord = toRecordsOp('ExperimentalDatasetToTFRecord');
