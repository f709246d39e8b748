/** @file Caches: the elements of the first time through a dataset are kept, in memory or in a file, for the later times. */
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { AlreadyExistsError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { localPath } from '../../io/paths.ts';
import { BundleReader, BundleWriter } from '../../io/tensorBundle.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import {
  Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  type Pulled,
  soon,
} from './dataset.ts';
import { fileError } from './files.ts';
import { deleteOp, handleAndDeleter, handleTo, objectBehind, scalarPair, withDeleter } from './handles.ts';
import { datasetOp, elementAttrs, metadata, textOf } from './kit.ts';
import { type Saved, savedAll, savedElements, savedNumber, savedRecord } from './saved.ts';

/** What iterators of a dataset share: all its elements, once one of them has come to the end. */
class MemoryCache {
  elements: readonly Element[] | undefined;
}

class MemoryIterator implements ElementIterator {
  private position = 0;
  private gathered: Element[] = [];
  private input: ElementIterator | undefined;
  constructor(
    private readonly dataset: Dataset,
    private readonly scope: Iteration,
    private readonly cache: MemoryCache,
  ) {}

  next(): Pulled {
    if (!this.input && this.cache.elements) return this.cache.elements[this.position++];
    this.input ??= this.dataset.iterate(this.scope);
    return soon(this.input.next(), (element) => this.keep(element));
  }

  private keep(element: Element | undefined): Element | undefined {
    this.position++;
    if (element) this.gathered.push(element);
    else {
      this.cache.elements ??= this.gathered;
      this.input = undefined;
    }
    return element;
  }

  save(): Promise<Saved> {
    return savedAll({
      position: this.position,
      input: this.input ? this.input.save() : null,
      isReading: this.input === undefined,
      elements: this.input ? this.gathered : (this.cache.elements ?? []),
      isComplete: this.cache.elements !== undefined,
    });
  }
  async restore(saved: Saved): Promise<void> {
    const { position, input, isReading, elements, isComplete } = savedRecord(saved);
    this.position = savedNumber(position);
    if (isReading === true) {
      if (isComplete === true) this.cache.elements = savedElements(elements);
      return;
    }
    this.gathered = savedElements(elements);
    this.input = this.dataset.iterate(this.scope);
    await this.input.restore(input!);
  }
}

/** The name of a component of an element in a cache file, as TensorFlow writes it. */
function keyOf(index: number, component: number, width: number): string {
  return `${String(index).padStart(10)}_${String(component).padStart(width)}`;
}

/** An input whose elements go to a file as they come. */
interface Writing {
  readonly input: ElementIterator;
  readonly writer: BundleWriter;
}

/** Reads a file that is complete, or writes it while elements come by; it holds one element at a time. */
class FileIterator implements ElementIterator {
  private position = 0;
  private writing: Writing | undefined;
  private reader: BundleReader | undefined;
  private isOver = false;
  private readonly width: number;
  /** Where elements are kept when an iterator is saved before all of them have come. */
  private readonly part: string;
  constructor(
    private readonly dataset: Dataset,
    private readonly scope: Iteration,
    private readonly prefix: string,
  ) {
    this.width = String(Math.max(0, dataset.types.length - 1)).length;
    this.part = `${prefix}_0`;
  }

  async next(): Promise<Element | undefined> {
    if (this.isOver) return undefined;
    if (!this.writing && !this.reader) {
      if (isThere(this.prefix)) await this.open();
      else await this.begin();
    }
    const element = this.reader ? await this.read(this.reader) : await this.write(this.writing!);
    if (element) this.position++;
    else this.isOver = true;
    return element;
  }

  /** Begins to write, unless another iterator does, or one has written a part and is to be restored. */
  private async begin(): Promise<void> {
    if (isThere(this.part))
      throw new AlreadyExistsError(
        `Existing cache files found: \n${this.part}.index\n${this.part}.data-00000-of-00001\n To continue delete the above files.`,
      );
    const lock = localPath(`${this.prefix}_0.lockfile`);
    try {
      await writeFile(lock, `Created at: ${Math.floor(Date.now() / 1000)}`, { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw fileError(error, lock); // what fs throws has a code
      throw new AlreadyExistsError(
        `There appears to be a concurrent caching iterator running - cache lockfile already exists ('${lock}'). If you are sure no other running TF computations are using this cache prefix, delete the lockfile and re-initialize the iterator. Lockfile contents: ${await readFile(lock, 'utf8')}`,
      );
    }
    this.unlock = () => rm(lock, { force: true });
    this.scope.onStop(this.unlock);
    this.writing = await this.startWriting();
  }
  private unlock = async () => {};

  private async startWriting(): Promise<Writing> {
    const writer = await BundleWriter.open(this.prefix);
    this.scope.onStop(() => this.writing && writer.abandon());
    return { writer, input: this.dataset.iterate(this.scope) };
  }

  private async open(): Promise<void> {
    this.reader = BundleReader.open(this.prefix);
    const { reader } = this;
    this.scope.onStop(() => reader.close());
  }

  private async read(reader: BundleReader): Promise<Element | undefined> {
    const element = await this.elementAt(reader, this.position);
    if (!element) await reader.close();
    return element;
  }

  private async elementAt(reader: BundleReader, position: number): Promise<Element | undefined> {
    const keys = this.dataset.types.map((_, c) => keyOf(position, c, this.width));
    if (!reader.has(keys[0]!)) return undefined;
    const arrays: NDArray[] = [];
    for (const key of keys) arrays.push(await reader.read(key));
    return arrays;
  }

  private async write({ input, writer }: Writing): Promise<Element | undefined> {
    const element = await input.next();
    if (element) await this.put(writer, this.position, element);
    else {
      this.writing = undefined;
      await writer.finish();
      await this.unlock();
      for (const ending of ['index', 'data-00000-of-00001'])
        await rm(localPath(`${this.part}.${ending}`), { force: true });
    }
    return element;
  }

  private async put(writer: BundleWriter, position: number, element: Element): Promise<void> {
    for (const [c, array] of element.entries()) await writer.add({ name: keyOf(position, c, this.width), array });
  }

  /** What has been written so far becomes a file of its own, so that the state stays small. */
  async save(): Promise<Saved> {
    const { writing, position, isOver } = this;
    await writing?.writer.copyTo(this.part);
    const input = writing ? writing.input.save() : null;
    return await savedAll({ position, isOver, isWriting: writing !== undefined, input });
  }

  async restore(saved: Saved): Promise<void> {
    const { position, isOver, isWriting, input } = savedRecord(saved);
    this.position = savedNumber(position);
    this.isOver = isOver === true;
    // Another iterator may have written everything since.
    if (isWriting !== true || isThere(this.prefix)) return;
    const reader = BundleReader.open(this.part);
    try {
      this.writing = await this.startWriting();
      for (let i = 0; i < this.position; i++)
        await this.put(this.writing.writer, i, (await this.elementAt(reader, i))!);
    } finally {
      await reader.close();
    }
    await this.writing.input.restore(input!);
  }
}

/** Whether there is a file of elements of that name, complete by itself. */
const isThere = (prefix: string): boolean => existsSync(localPath(`${prefix}.index`));

function cached(input: Dataset, filename: string, cache: MemoryCache): Dataset {
  const { types, shapes } = input;
  return new Dataset({
    kind: 'Cache',
    types,
    shapes,
    sharesMemory: true,
    cardinality: () => input.cardinality,
    // What it has seen it can give again, however much there is.
    positionObstacle: () => undefined,
    iterate: (scope) =>
      filename === '' ? new MemoryIterator(input, scope, cache) : new FileIterator(input, scope, filename),
  });
}

export const CacheDataset = datasetOp({
  name: 'CacheDataset',
  inputs: { input_dataset: 'variant', filename: 'string' },
  attrs: { ...elementAttrs, metadata },
  batches: 'ofInput',
  make: ({ input_dataset, filename }) =>
    cached(datasetIn(input_dataset), textOf(filename, 'filename'), new MemoryCache()),
});

export const CacheDatasetV2 = datasetOp({
  name: 'CacheDatasetV2',
  inputs: { input_dataset: 'variant', filename: 'string', cache: 'resource' },
  attrs: { ...elementAttrs, metadata },
  stateful: 'repeatable',
  batches: 'ofInput',
  emptyObject: 'DummyMemoryCache',
  make({ input_dataset, filename, cache }) {
    const memory = objectBehind(cache, MemoryCache, () => new MemoryCache());
    return cached(datasetIn(input_dataset), textOf(filename, 'filename'), memory);
  },
});

export const AnonymousMemoryCache = defineOp({
  name: 'AnonymousMemoryCache',
  inputs: {},
  outputs: handleAndDeleter,
  attrs: {},
  stateful: 'repeatable',
  shape: scalarPair,
  grad: notDifferentiable,
  lower: (p) => withDeleter(p, [], () => handleTo('MemoryCache', new MemoryCache())),
  cases: () => [],
});

export const DeleteMemoryCache = deleteOp('DeleteMemoryCache');
