/** @file SnapshotDataset: writes what a pipeline gives the first time, and reads it from there every other time. */
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DType } from '../../core/dtypes.ts';
import { NotFoundError } from '../../core/errors.ts';
import { fileError } from '../../io/fileErrors.ts';
import { makeFolders } from '../../io/folders.ts';
import { localPath } from '../../io/paths.ts';
import type { RecordCompression } from '../../io/records.ts';
import { TFRecordWriter } from '../../io/recordWriter.ts';
import { serializeContent } from '../../io/serializedTensor.ts';
import { attr } from '../../op/attrs.ts';
import { Philox } from '../../program/philox.ts';
import { GraphDef } from '../../proto/graph.ts';
import type { SnapshotMetadataRecord } from '../../proto/snapshot.ts';
import { printText } from '../../proto/textFormat.ts';
import { type Dataset, datasetIn, type Element, type ElementIterator, type Iteration, someOf } from './dataset.ts';
import { argumentTypes, datasetOp, elementAttrs, flag, metadata, textOf } from './kit.ts';
import { fingerprintOf, graphOf } from './recipe.ts';
import { type Saved, savedAll, savedRecord } from './saved.ts';
import {
  digits,
  type ElementWriter,
  filesIn,
  newRunId,
  readBy,
  readMetadata,
  recordCompression,
  SavingIterator,
  SnapshotWriter,
  shardBy,
  shardDataset,
  shardsIn,
  writeMetadata,
} from './snapshot.ts';

/** What a pass through a snapshot does: it is decided when the first element is asked for. */
type Mode = 'read' | 'write' | 'passthrough';

interface Passes {
  choose(): Promise<Mode>;
  read(): Promise<ElementIterator>;
  writer(): ElementWriter;
}

/** Reads what is there, or gives the elements of the pipeline and writes them, or only gives them. */
class SnapshotIterator implements ElementIterator {
  private mode: Mode | undefined;
  private input: ElementIterator | undefined;
  private elements: ElementIterator | undefined;
  constructor(
    private readonly dataset: Dataset,
    private readonly scope: Iteration,
    private readonly passes: Passes,
  ) {}

  async next(): Promise<Element | undefined> {
    if (!this.elements) await this.begin(await this.passes.choose());
    return await this.elements!.next();
  }

  private async begin(mode: Mode): Promise<void> {
    this.mode = mode;
    this.input = mode === 'read' ? await this.passes.read() : this.dataset.iterate(this.scope);
    this.elements = mode === 'write' ? new SavingIterator(this.input, this.scope, this.passes.writer()) : this.input;
  }

  async save(): Promise<Saved> {
    return await savedAll({ mode: this.mode ?? null, input: this.input?.save() ?? null });
  }

  /** What a pass wrote before it was saved ends in the middle: the rest is given, and the next pass writes anew. */
  async restore(saved: Saved): Promise<void> {
    const { mode, input } = savedRecord(saved);
    if (mode === null) return;
    await this.begin(mode === 'read' ? 'read' : 'passthrough');
    await this.input!.restore(input!);
  }
}

const isMissing = (error: unknown) => error instanceof NotFoundError;

/** What a folder says of its last run, if it has one. */
const metadataIn = (folder: string): Promise<SnapshotMetadataRecord | undefined> =>
  readMetadata(folder).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });

/** The folder of a pipeline's snapshots. Beside it stands the graph, for people who wonder which pipeline it was. */
async function describePipeline(path: string, name: string, input: Dataset): Promise<void> {
  try {
    await makeFolders(join(path, name));
    await writeFile(join(path, `${name}-graph.pbtxt`), printText(GraphDef, graphOf(input, false)));
  } catch (error) {
    throw fileError(error, path);
  }
}

/** Snapshots are read by this library only, so a compression that is left to it may be none. */
const compressionOf = (name: string): RecordCompression =>
  name === 'AUTO' || name === 'SNAPPY' ? '' : recordCompression(name);

const text = attr('string', { default: '' });

export const SnapshotDatasetV2 = datasetOp({
  name: 'SnapshotDatasetV2',
  inputs: {
    input_dataset: 'variant',
    path: 'string',
    reader_func_other_args: 'Treader_func_args',
    shard_func_other_args: 'Tshard_func_args',
  },
  attrs: {
    ...elementAttrs,
    compression: text,
    reader_prefix: text,
    writer_prefix: text,
    hash_valid: flag(false),
    hash: attr('int', { default: 0 }),
    reader_func: attr('func'),
    shard_func: attr('func'),
    Treader_func_args: argumentTypes,
    Tshard_func_args: argumentTypes,
    metadata,
  },
  make({ input_dataset, path, reader_func_other_args, shard_func_other_args }, attrs, { reader_func, shard_func }) {
    const input = datasetIn(input_dataset);
    const name = attrs.hash_valid ? String(attrs.hash) : String(fingerprintOf(input));
    const [from, to] = [attrs.reader_prefix, attrs.writer_prefix].map((prefix) =>
      localPath(prefix + textOf(path, 'path')),
    );
    const compression = compressionOf(attrs.compression);
    const iterate = (scope: Iteration) =>
      new SnapshotIterator(input, scope, {
        choose: async () => ((await metadataIn(join(from!, name)))?.finalized ? 'read' : 'write'),
        async read() {
          const { run_id } = await readMetadata(join(from!, name));
          const shards = await shardsIn(join(from!, name, run_id), compression, input);
          return readBy(reader_func(reader_func_other_args)(scope), shards, scope);
        },
        writer() {
          const shardOf = shardBy(shard_func(shard_func_other_args)(scope));
          const writer = new SnapshotWriter(input.types, { path: join(to!, name), compression, shardOf });
          return { ...bound(writer), begin: () => describePipeline(to!, name, input).then(() => writer.begin()) };
        },
      });
    return someOf('SnapshotV2', input, () => input.cardinality, iterate);
  },
});

const bound = (writer: ElementWriter): ElementWriter => ({
  begin: () => writer.begin(),
  write: (element) => writer.write(element),
  end: () => writer.end(),
  stop: () => writer.stop(),
});

interface RunSpec {
  readonly folder: string;
  readonly id: string;
  readonly types: readonly DType[];
  readonly compression: RecordCompression;
  /** A file of this size is followed by another. */
  readonly fileBytes: number;
}

/** Writes elements to one file after the other. An element is written when the next one is asked for. */
class RunWriter implements ElementWriter {
  private writer: TFRecordWriter | undefined;
  private files = 0;
  private bytes = 0;
  private count = 0;
  private last: Element | undefined;
  constructor(private readonly spec: RunSpec) {}

  async begin(): Promise<void> {
    const { folder, id, types } = this.spec;
    await makeFolders(join(folder, id));
    await writeMetadata(folder, { id, types, count: undefined });
    this.open();
  }

  private path(): string {
    return join(this.spec.folder, this.spec.id, `${digits(this.files)}.snapshot`);
  }
  private open(): TFRecordWriter {
    this.bytes = 0;
    this.writer = new TFRecordWriter(this.path(), { compression: this.spec.compression });
    return this.writer;
  }

  async write(element: Element): Promise<void> {
    const before = this.last;
    this.last = element;
    if (before) await this.append(before);
  }

  private async append(element: Element): Promise<void> {
    const { compression, fileBytes } = this.spec;
    const size = compression === '' ? this.bytes : (await stat(this.path())).size;
    if (size > fileBytes) {
      await this.writer!.close();
      this.files++;
      this.open();
    }
    for (const array of element) {
      const record = serializeContent(array);
      await this.writer!.write(record);
      this.bytes += array.dtype.isObject ? record.length : array.bytes.length;
    }
    this.count++;
  }

  async end(): Promise<void> {
    if (this.last) await this.append(this.last);
    await this.writer!.close();
    const { folder, id, types } = this.spec;
    await writeMetadata(folder, { id, types, count: this.count });
  }

  async stop(): Promise<void> {
    await this.writer?.close();
  }
}

/** Files in an order that two seeds decide; zeros stand for any order. */
function shuffledFiles(paths: readonly string[], seeds: readonly [number, number]): string[] {
  const state = new DataView(new ArrayBuffer(24));
  const words = seeds.some((seed) => seed !== 0)
    ? BigUint64Array.from(seeds, (seed) => BigInt.asUintN(64, BigInt(seed)))
    : crypto.getRandomValues(new BigUint64Array(2));
  state.setBigUint64(8, words[1]!, true);
  state.setBigUint64(16, words[0]!, true);
  const generator = new Philox(state, 0);
  const order = [...paths];
  for (let i = order.length - 1; i > 0; i--) {
    const j = generator.nextBlock()[0]! % (i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

const int = (value: number) => attr('int', { default: value });
const day = 86400;
const tenGigabytes = 10 * 2 ** 30;

export const SnapshotDataset = datasetOp({
  name: 'SnapshotDataset',
  inputs: { input_dataset: 'variant', path: 'string' },
  attrs: {
    ...elementAttrs,
    compression: text,
    reader_path_prefix: text,
    writer_path_prefix: text,
    shard_size_bytes: int(tenGigabytes),
    pending_snapshot_expiry_seconds: int(day),
    num_reader_threads: int(1),
    reader_buffer_size: int(1),
    num_writer_threads: int(1),
    writer_buffer_size: int(1),
    shuffle_on_read: flag(false),
    seed: int(0),
    seed2: int(0),
    mode: attr('string', { default: 'auto' }),
    snapshot_name: text,
  },
  make({ input_dataset, path }, attrs) {
    const input = datasetIn(input_dataset);
    const { snapshot_name, mode, shuffle_on_read, seed, seed2 } = attrs;
    const name = snapshot_name === '' ? String(fingerprintOf(input)) : `custom-${snapshot_name}`;
    const [from, to] = [attrs.reader_path_prefix, attrs.writer_path_prefix].map((prefix) =>
      localPath(prefix + textOf(path, 'path')),
    );
    const compression = attrs.compression === 'SNAPPY' ? 'GZIP' : compressionOf(attrs.compression);
    const expiry = attrs.pending_snapshot_expiry_seconds < 0 ? day : attrs.pending_snapshot_expiry_seconds;
    const fileBytes = attrs.shard_size_bytes < 0 ? tenGigabytes : attrs.shard_size_bytes;
    const iterate = (scope: Iteration) =>
      new SnapshotIterator(input, scope, {
        async choose() {
          if (mode !== 'auto') return mode as Mode; // the other three are its names
          const known = await metadataIn(join(from!, name));
          if (known?.finalized) return 'read';
          const isFresh = known && Number(known.creation_timestamp) / 1e6 >= Date.now() / 1000 - expiry;
          return isFresh ? 'passthrough' : 'write';
        },
        async read() {
          const { run_id } = await readMetadata(join(from!, name));
          const paths = await filesIn(join(from!, name, run_id), '.snapshot');
          const order = shuffle_on_read ? shuffledFiles(paths, [seed, seed2]) : paths;
          return shardDataset({ paths: order, compression }, input.types, input.shapes).iterate(scope);
        },
        writer() {
          const id = snapshot_name === '' ? newRunId() : 'custom';
          const writer = new RunWriter({ folder: join(to!, name), id, types: input.types, compression, fileBytes });
          return { ...bound(writer), begin: () => describePipeline(to!, name, input).then(() => writer.begin()) };
        },
      });
    return someOf('Snapshot', input, () => input.cardinality, iterate);
  },
});
