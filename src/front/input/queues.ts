/** @file The queues: first in first out, shuffled, padded, by priority. */
import { createHash } from 'node:crypto';
import { int64 } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import { initScope } from '../../graph/funcGraph.ts';
import { onlyOptions } from '../../graph/options.ts';
import { device } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { FIFOQueueV2, PaddingFIFOQueueV2, PriorityQueueV2, RandomShuffleQueueV2 } from '../../ops/queue/queueCreate.ts';
import { getSeed } from '../../ops/random/seed.ts';
import { asShapes, asTypes, type Dequeued, QueueBase, type ShapeList, type TypeList } from './queueBase.ts';

type Names = string | readonly string[];

export interface QueueOptions<N extends Names | undefined = Names | undefined> {
  /** The shape of each component, fully known; without them elements may have any, but cannot be taken out as batches. */
  readonly shapes?: ShapeList | undefined;
  /** Names of the components: elements are records then. */
  readonly names?: N;
  /** Queues of this name are one, in all sessions that share resources. */
  readonly sharedName?: string | undefined;
  readonly name?: string | undefined;
}

const optionNames = ['shapes', 'names', 'sharedName', 'name'] as const;
const asNames = (names: Names | undefined) => (typeof names === 'string' ? [names] : names);

/**
 * A queue that gives elements in the order in which they came. Adds one `FIFOQueueV2` node.
 *
 * @example new tf.FIFOQueue(10, [tf.float32, tf.string], { shapes: [[2], []] })
 */
export class FIFOQueue<const T extends TypeList, const N extends Names | undefined = undefined> extends QueueBase<
  Dequeued<T, N>
> {
  constructor(capacity: number, dtypes: T, options: QueueOptions<N> = {}) {
    onlyOptions('tf.FIFOQueue', options, ...optionNames);
    const types = asTypes(dtypes);
    const shapes = asShapes(options.shapes);
    const attrs = {
      component_types: types,
      shapes: shapes ?? [],
      capacity,
      shared_name: options.sharedName ?? '',
    };
    const handle = initScope(() =>
      device('/device:CPU:*', () => FIFOQueueV2.build({}, { name: options.name ?? 'fifo_queue', attrs }).handle),
    );
    super(types, shapes, asNames(options.names), handle);
  }
}

export interface RandomShuffleQueueOptions<N extends Names | undefined = Names | undefined> extends QueueOptions<N> {
  readonly seed?: number | null | undefined;
}

/**
 * A queue that gives elements at random; `minAfterDequeue` always stay in it to choose from, until it is closed. For the
 * same seeds the order is TensorFlow's. Adds one `RandomShuffleQueueV2` node.
 */
export class RandomShuffleQueue<
  const T extends TypeList,
  const N extends Names | undefined = undefined,
> extends QueueBase<Dequeued<T, N>> {
  constructor(capacity: number, minAfterDequeue: number, dtypes: T, options: RandomShuffleQueueOptions<N> = {}) {
    onlyOptions('tf.RandomShuffleQueue', options, ...optionNames, 'seed');
    const { sharedName, seed } = options;
    const types = asTypes(dtypes);
    const shapes = asShapes(options.shapes);
    const seeds = getSeed(seed);
    const isSeeded = seeds.seed !== 0 || seeds.seed2 !== 0;
    // With a seed of the graph only, queues that share a name must have the same seeds.
    const ownSeed =
      isSeeded && seed == null && sharedName !== undefined ? seedOfName(seeds.seed, sharedName) : seeds.seed2;
    const { handle } = RandomShuffleQueueV2.build(
      {},
      {
        name: options.name ?? 'random_shuffle_queue',
        attrs: {
          component_types: types,
          shapes: shapes ?? [],
          capacity,
          min_after_dequeue: minAfterDequeue,
          seed: seeds.seed,
          seed2: ownSeed,
          shared_name: sharedName ?? '',
        },
      },
    );
    super(types, shapes, asNames(options.names), handle);
  }
}

function seedOfName(graphSeed: number, name: string): number {
  return createHash('md5').update(`${graphSeed}${name}`).digest().readUInt32BE(0) & 0x7fffffff;
}

/**
 * A FIFO queue of elements that differ in size: `null` in a shape. A batch is filled up with zeros to its largest. Adds one
 * `PaddingFIFOQueueV2` node.
 */
export class PaddingFIFOQueue<
  const T extends TypeList,
  const N extends Names | undefined = undefined,
> extends QueueBase<Dequeued<T, N>> {
  constructor(capacity: number, dtypes: T, shapes: readonly Dims[], options: Omit<QueueOptions<N>, 'shapes'> = {}) {
    onlyOptions('tf.PaddingFIFOQueue', options, 'names', 'sharedName', 'name');
    const types = asTypes(dtypes);
    const list = asShapes(shapes, { unknownSizes: true }) ?? [];
    if (types.length !== list.length)
      throw userError(
        `Shapes must be provided for all components, but received ${types.length} dtypes and ${list.length} shapes.`,
      );
    const { handle } = PaddingFIFOQueueV2.build(
      {},
      {
        name: options.name ?? 'padding_fifo_queue',
        attrs: { component_types: types, shapes: list, capacity, shared_name: options.sharedName ?? '' },
      },
    );
    super(types, list, asNames(options.names), handle);
  }
}

/**
 * A queue that gives the element with the least priority, an int64 that comes before the components. Adds one
 * `PriorityQueueV2` node.
 */
export class PriorityQueue<const N extends Names | undefined = undefined> extends QueueBase<
  N extends Names ? Record<string, Tensor> : Tensor[]
> {
  constructor(capacity: number, dtypes: TypeList, options: QueueOptions<N> = {}) {
    onlyOptions('tf.PriorityQueue', options, ...optionNames);
    const types = asTypes(dtypes);
    const shapes = asShapes(options.shapes);
    const { handle } = PriorityQueueV2.build(
      {},
      {
        name: options.name ?? 'priority_queue',
        attrs: { component_types: types, shapes: shapes ?? [], capacity, shared_name: options.sharedName ?? '' },
      },
    );
    super([int64, ...types], shapes && [[], ...shapes], asNames(options.names), handle);
  }
}
