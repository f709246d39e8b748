/** @file Transformations that change which elements come, and when, but not the elements. */
import { int64 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { constant } from '../../ops/array/constant.ts';
import { CacheDataset } from '../../ops/data/cache.ts';
import { ConcatenateDataset, ZipDataset } from '../../ops/data/combine.ts';
import { RepeatDataset, ShardDataset, SkipDataset, TakeDataset } from '../../ops/data/count.ts';
import { PrefetchDataset } from '../../ops/data/prefetch.ts';
import { ShuffleDataset } from '../../ops/data/shuffle.ts';
import { WindowDataset } from '../../ops/data/window.ts';
import { RewriteDataset } from '../../ops/data/wrappers.ts';
import { equal } from '../../ops/math/compare.ts';
import { logicalAnd } from '../../ops/math/logical.ts';
import { SelectV2 } from '../../ops/math/select.ts';
import { getSeed } from '../../ops/random/seed.ts';
import { packSequenceAs } from '../nest.ts';
import { type DatasetOptions, metadataOf, number, text, truth } from './arguments.ts';
import { Dataset, DatasetComponent } from './dataset.ts';
import { componentsOf, type ElementSpec, elementAttrs, mapSpec } from './spec.ts';

const attrsOf = (dataset: Dataset, method: string, name: string | undefined) => ({
  ...elementAttrs(dataset.elementSpec),
  metadata: metadataOf(method, { name }),
});

/** A dataset of the same kind of elements. */
const like = <E>(dataset: Dataset<E>, variant: Tensor) => new Dataset<E>(variant, dataset.elementSpec);

/** The two seeds as tensors, made as Python makes them: both 0 would mean none. */
export function seedTensors(seed: number | Tensor | undefined): { seed: Tensor; seed2: Tensor } {
  if (seed !== undefined && typeof seed !== 'number') {
    const own = number(seed, 'seed');
    return { seed: number(87654321, 'seed'), seed2: nonZero(number(87654321, 'seed'), own) };
  }
  const drawn = getSeed(seed);
  const first = number(drawn.seed, 'seed');
  if (drawn.seed === 0 && drawn.seed2 === 0) return { seed: first, seed2: number(0, 'seed2') };
  return {
    seed: first,
    seed2: nameScope('seed2', (scope) => nonZero(first, convertToTensor(drawn.seed2, { dtype: int64 }), scope)),
  };
}

function nonZero(seed: Tensor, seed2: Tensor, name?: string): Tensor {
  const bothZero = logicalAnd(equal(seed, 0), equal(seed2, 0));
  const t = constant(2 ** 31 - 1, { dtype: int64 });
  return SelectV2.build({ condition: bothZero, t, e: seed2 }, { name }).output;
}

export interface ShuffleOptions extends DatasetOptions {
  readonly seed?: number | Tensor | undefined;
  /** Whether every time through the dataset has an order of its own; true unless said. */
  readonly reshuffleEachIteration?: boolean | undefined;
}

export function shuffle<E>(dataset: Dataset<E>, bufferSize: TensorLike, options: ShuffleOptions): Dataset<E> {
  const {
    seed,
    reshuffleEachIteration = true,
    name,
  } = onlyOptions('Dataset.shuffle', options, 'seed', 'reshuffleEachIteration', 'name');
  const buffer_size = number(bufferSize, 'buffer_size');
  const inputs = { input_dataset: dataset.variant, buffer_size, ...seedTensors(seed) };
  const attrs = { ...attrsOf(dataset, 'shuffle', name), reshuffle_each_iteration: reshuffleEachIteration };
  return like(dataset, ShuffleDataset.build(inputs, { attrs }).handle);
}

export interface RepeatOptions extends DatasetOptions {
  /** May stand here, or alone; -1, unless given, is without end. */
  readonly count?: TensorLike | null | undefined;
}
export interface CacheOptions extends DatasetOptions {
  /** May stand here, or alone; in memory unless given. */
  readonly filename?: TensorLike | undefined;
}

export function repeat<E>(dataset: Dataset<E>, options: RepeatOptions): Dataset<E> {
  const { count, name } = onlyOptions('Dataset.repeat', options, 'count', 'name');
  const inputs = { input_dataset: dataset.variant, count: number(count ?? -1, 'count') };
  return like(dataset, RepeatDataset.build(inputs, { attrs: attrsOf(dataset, 'repeat', name) }).handle);
}

export function take<E>(dataset: Dataset<E>, count: TensorLike, { name }: DatasetOptions): Dataset<E> {
  const inputs = { input_dataset: dataset.variant, count: number(count, 'count') };
  return like(dataset, TakeDataset.build(inputs, { attrs: attrsOf(dataset, 'take', name) }).handle);
}

export function skip<E>(dataset: Dataset<E>, count: TensorLike, { name }: DatasetOptions): Dataset<E> {
  const inputs = { input_dataset: dataset.variant, count: number(count, 'count') };
  return like(dataset, SkipDataset.build(inputs, { attrs: attrsOf(dataset, 'skip', name) }).handle);
}

export function shard<E>(
  dataset: Dataset<E>,
  shards: readonly [numShards: TensorLike, index: TensorLike],
  { name }: DatasetOptions,
): Dataset<E> {
  const inputs = {
    input_dataset: dataset.variant,
    num_shards: number(shards[0], 'num_shards'),
    index: number(shards[1], 'index'),
  };
  return like(dataset, ShardDataset.build(inputs, { attrs: attrsOf(dataset, 'shard', name) }).handle);
}

export function cache<E>(dataset: Dataset<E>, options: CacheOptions): Dataset<E> {
  const { filename = '', name } = onlyOptions('Dataset.cache', options, 'filename', 'name');
  const inputs = { input_dataset: dataset.variant, filename: text(filename, 'filename') };
  return like(dataset, CacheDataset.build(inputs, { attrs: attrsOf(dataset, 'cache', name) }).handle);
}

export function prefetch<E>(dataset: Dataset<E>, bufferSize: TensorLike, { name }: DatasetOptions): Dataset<E> {
  const buffer_size = number(bufferSize, 'buffer_size');
  const attrs = { ...attrsOf(dataset, 'prefetch', name), legacy_autotune: bufferSize === -1 };
  const made = colocateWith(dataset.variant, () =>
    PrefetchDataset.build({ input_dataset: dataset.variant, buffer_size }, { attrs }),
  );
  return like(dataset, made.handle);
}

export interface WindowOptions extends DatasetOptions {
  /** How far apart the beginnings of windows are; the size unless said. */
  readonly shift?: TensorLike | undefined;
  /** How far apart the elements of a window are. */
  readonly stride?: TensorLike | undefined;
  readonly dropRemainder?: TensorLike | undefined;
}

export function window<E>(dataset: Dataset<E>, size: TensorLike, options: WindowOptions): Dataset<unknown> {
  const {
    shift,
    stride = 1,
    dropRemainder = false,
    name,
  } = onlyOptions('Dataset.window', options, 'shift', 'stride', 'dropRemainder', 'name');
  const inputs = {
    input_dataset: dataset.variant,
    size: number(size, 'size'),
    shift: number(shift ?? size, 'shift'),
    stride: number(stride, 'stride'),
    drop_remainder: truth(dropRemainder, 'drop_remainder'),
  };
  const spec = mapSpec(dataset.elementSpec, (component) => new DatasetComponent(component));
  const attrs = { ...elementAttrs(spec), metadata: metadataOf('window', { name }) };
  return new Dataset(WindowDataset.build(inputs, { attrs }).handle, spec);
}

export function concatenate<E>(dataset: Dataset<E>, other: Dataset<E>, { name }: DatasetOptions): Dataset<E> {
  const [mine, theirs] = [componentsOf(dataset.elementSpec), componentsOf(other.elementSpec)];
  const merged = mine.map((component, i) => {
    const both = theirs[i] && component.merged(theirs[i]);
    if (!both || mine.length !== theirs.length)
      throw userError(
        `Incompatible types of input datasets: ${String(dataset.elementSpec)} vs. ${String(other.elementSpec)}.`,
      );
    return both;
  });
  const spec = packSequenceAs(dataset.elementSpec, merged) as ElementSpec; // same structure
  const attrs = { ...elementAttrs(spec), metadata: metadataOf('concatenate', { name }) };
  const inputs = { input_dataset: dataset.variant, another_dataset: other.variant };
  return new Dataset<E>(ConcatenateDataset.build(inputs, { attrs }).handle, spec);
}

/** Datasets side by side, in the structure they are given in. */
export function zip(structure: unknown, datasets: readonly Dataset[], { name }: DatasetOptions): Dataset {
  const spec = packSequenceAs(
    structure,
    datasets.map((d) => d.elementSpec),
  ) as ElementSpec; // specs in the place of datasets
  const attrs = { ...elementAttrs(spec), metadata: metadataOf('zip', { name }) };
  const input_datasets = datasets.map((d) => d.variant);
  return new Dataset(ZipDataset.build({ input_datasets }, { attrs }).handle, spec);
}

/** As it is, with a word to TensorFlow's sharding that it may be repeated on every worker. */
export function replicated<E>(dataset: Dataset<E>): Dataset<E> {
  const inputs = { input_dataset: dataset.variant, rewrite_name: 'replicate_on_split' };
  return like(dataset, RewriteDataset.build(inputs, { attrs: elementAttrs(dataset.elementSpec) }).handle);
}
