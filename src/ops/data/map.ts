/** @file Datasets that apply a function to each element: map, filter, scan, takeWhile. */
import { InvalidArgumentError, OutOfRangeError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';

import {
  Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  type Pulled,
  someOf,
  unknown,
} from './dataset.ts';
import {
  argumentTypes,
  datasetOp,
  deterministic,
  type ElementFunction,
  elementAttrs,
  flag,
  type GraphFunction,
  keepsOrder,
  metadata,
  scalarOf,
  truthOf,
  types,
} from './kit.ts';
import { ParallelCalls } from './parallel.ts';
import { Following, type Saved, savedElements } from './saved.ts';

/** One call after the other. */
class MapIterator extends Following {
  constructor(
    input: ElementIterator,
    private readonly call: ElementFunction,
  ) {
    super(input);
  }
  next(): Pulled {
    const pulled = this.input.next();
    if (pulled instanceof Promise) return pulled.then((element) => element && this.call(element));
    return pulled && this.call(pulled);
  }
}

/** A function that is out of range ends the sequence, unless it was promised that there are as many results as elements. */
function endingByError(call: GraphFunction, keepsCount: boolean): ElementFunction {
  return (element) =>
    call(element).catch((error: unknown) => {
      if (!(error instanceof OutOfRangeError)) throw error;
      if (keepsCount)
        throw new InvalidArgumentError(`Function invocation produced OutOfRangeError: ${error.message}`, {
          cause: error,
        });
      return undefined;
    });
}

/** So many calls at the same time where it is left to the runtime. */
const automaticCalls = 16;

/** How many calls may be under way: as asked for, or a number of our own for -1. */
export function parallelCalls(asked: number): number {
  if (asked === -1) return automaticCalls;
  if (asked < 1) throw new InvalidArgumentError('num_parallel_calls must be greater than zero.');
  return asked;
}

const mapAttrs = {
  f: attr('func'),
  Targuments: argumentTypes,
  ...elementAttrs,
  use_inter_op_parallelism: flag(true),
} as const;

interface MappedAttrs {
  readonly output_types: Dataset['types'];
  readonly output_shapes: Dataset['shapes'];
  /** Whether there is a result for every element; otherwise a function may end the sequence. */
  readonly preserve_cardinality: boolean;
}

function mapped(
  kind: string,
  input: Dataset,
  { output_types, output_shapes, preserve_cardinality }: MappedAttrs,
  iterate: (scope: Iteration) => ElementIterator,
): Dataset {
  return new Dataset({
    kind,
    types: output_types,
    shapes: output_shapes,
    sharesMemory: false,
    cardinality: () => (preserve_cardinality ? input.cardinality : unknown),
    iterate,
  });
}

const mapDataset = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant', other_arguments: 'Targuments' },
    attrs: { ...mapAttrs, preserve_cardinality: flag(false), force_synchronous: flag(false), ...extra },
    make({ input_dataset, other_arguments }, attrs, { f }) {
      const input = datasetIn(input_dataset);
      const fn = f(other_arguments);
      return mapped('Map', input, attrs, (scope) => {
        const apply = endingByError(fn(scope), attrs.preserve_cardinality);
        return new MapIterator(input.iterate(scope), apply);
      });
    },
  });

export const MapDataset = mapDataset('MapDataset', { metadata });
export const ExperimentalMapDataset = mapDataset('ExperimentalMapDataset', {});

const parallelMapOp = (name: string, callsType: 'int32' | 'int64', first: object, last: object) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant', other_arguments: 'Targuments', num_parallel_calls: callsType },
    attrs: { ...mapAttrs, ...first, preserve_cardinality: flag(false), ...last, metadata },
    make({ input_dataset, other_arguments, num_parallel_calls }, attrs, { f }) {
      const input = datasetIn(input_dataset);
      const fn = f(other_arguments);
      const room = parallelCalls(scalarOf(num_parallel_calls, 'num_parallel_calls'));
      return mapped('ParallelMap', input, attrs, (scope) => {
        const calls = { room, keepsOrder: keepsOrder(attrs, scope) };
        const apply = endingByError(fn(scope), attrs.preserve_cardinality);
        return new ParallelCalls(input.iterate(scope), scope, calls, apply);
      });
    },
  });

export const ParallelMapDataset = parallelMapOp('ParallelMapDataset', 'int32', { sloppy: flag(false) }, {});
export const ParallelMapDatasetV2 = parallelMapOp(
  'ParallelMapDatasetV2',
  'int64',
  { deterministic },
  { use_unbounded_threadpool: flag(false) },
);

/** Keeps the elements of which the predicate holds. */
class FilterIterator extends Following {
  constructor(
    input: ElementIterator,
    private readonly scope: Iteration,
    private readonly predicate: GraphFunction,
  ) {
    super(input);
  }
  async next(): Promise<Element | undefined> {
    for (;;) {
      this.scope.check();
      const element = await this.input.next();
      if (!element || truthOf(await this.predicate(element), '`predicate`')) return element;
    }
  }
}

const someAreKept = (input: Dataset) => (input.cardinality === 0 ? 0 : unknown);

export const FilterDataset = datasetOp({
  name: 'FilterDataset',
  inputs: { input_dataset: 'variant', other_arguments: 'Targuments' },
  attrs: { predicate: attr('func'), Targuments: argumentTypes, ...elementAttrs, metadata },
  batches: 'ofInput',
  make({ input_dataset, other_arguments }, _, { predicate }) {
    const input = datasetIn(input_dataset);
    const holds = predicate(other_arguments);
    const iterate = (scope: Iteration) => new FilterIterator(input.iterate(scope), scope, holds(scope));
    return someOf('Filter', input, () => someAreKept(input), iterate);
  },
});

export const ParallelFilterDataset = datasetOp({
  name: 'ParallelFilterDataset',
  inputs: { input_dataset: 'variant', other_arguments: 'Targuments', num_parallel_calls: 'int64' },
  attrs: { predicate: attr('func'), deterministic, Targuments: argumentTypes, ...elementAttrs, metadata },
  make({ input_dataset, other_arguments, num_parallel_calls }, attrs, { predicate }) {
    const input = datasetIn(input_dataset);
    const room = parallelCalls(scalarOf(num_parallel_calls, 'num_parallel_calls'));
    const iterate = (scope: Iteration) => {
      const holds = predicate(other_arguments)(scope);
      const judged = async (element: Element) => [...element, ...(await holds(element))];
      const calls = { room, keepsOrder: keepsOrder(attrs, scope) };
      return new FilterIterator(
        new ParallelCalls(input.iterate(scope), scope, calls, judged),
        scope,
        async (element) => element.slice(-1), // what the predicate said stands last
      );
    };
    const filtered = someOf('ParallelFilter', input, () => someAreKept(input), iterate);
    return withoutLast(filtered);
  },
});

/** A dataset whose iterators give one component more than it has. */
function withoutLast(dataset: Dataset): Dataset {
  return someOf(
    dataset.kind,
    dataset,
    () => dataset.cardinality,
    (scope) => {
      const iterator = dataset.iterate(scope);
      return {
        next: async () => (await iterator.next())?.slice(0, -1),
        save: () => iterator.save(),
        restore: (saved) => iterator.restore(saved),
      };
    },
  );
}

/** Hands a state from element to element. */
class ScanIterator extends Following {
  constructor(
    input: ElementIterator,
    private carried: Element,
    private readonly call: GraphFunction,
  ) {
    super(input);
  }
  async next(): Promise<Element | undefined> {
    const element = await this.input.next();
    if (!element) return undefined;
    const results = await this.call([...this.carried, ...element]);
    const count = this.carried.length;
    this.carried = results.slice(0, count);
    return results.slice(count);
  }
  protected override state(): Saved {
    return [this.carried];
  }
  protected override setState(saved: Saved): void {
    [this.carried] = savedElements(saved) as [Element]; // as it was saved
  }
}

const scanDataset = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant', initial_state: 'Tstate', other_arguments: 'Targuments' },
    attrs: {
      f: attr('func'),
      Tstate: types,
      Targuments: argumentTypes,
      ...elementAttrs,
      preserve_cardinality: flag(false),
      ...extra,
    },
    make({ input_dataset, initial_state, other_arguments }, attrs, { f }) {
      const input = datasetIn(input_dataset);
      const fn = f(other_arguments);
      return mapped('Scan', input, attrs, (scope) => new ScanIterator(input.iterate(scope), initial_state, fn(scope)));
    },
  });

export const ScanDataset = scanDataset('ScanDataset', { use_default_device: flag(true), metadata });
export const ExperimentalScanDataset = scanDataset('ExperimentalScanDataset', {});

/** Ends with the first element of which the predicate does not hold. */
class TakeWhileIterator extends Following {
  private isOver = false;
  constructor(
    input: ElementIterator,
    private readonly predicate: GraphFunction,
  ) {
    super(input);
  }
  async next(): Promise<Element | undefined> {
    const element = this.isOver ? undefined : await this.input.next();
    if (element && truthOf(await this.predicate(element), '`predicate`')) return element;
    this.isOver = true;
    return undefined;
  }
  protected override state(): Saved {
    return this.isOver;
  }
  protected override setState(saved: Saved): void {
    this.isOver = saved === true;
  }
}

const takeWhileDataset = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant', other_arguments: 'Targuments' },
    attrs: { predicate: attr('func'), Targuments: argumentTypes, ...elementAttrs, ...extra },
    batches: 'ofInput',
    make({ input_dataset, other_arguments }, _, { predicate }) {
      const input = datasetIn(input_dataset);
      const holds = predicate(other_arguments);
      const iterate = (scope: Iteration) => new TakeWhileIterator(input.iterate(scope), holds(scope));
      return someOf('TakeWhile', input, () => unknown, iterate);
    },
  });

export const TakeWhileDataset = takeWhileDataset('TakeWhileDataset', { metadata });
export const ExperimentalTakeWhileDataset = takeWhileDataset('ExperimentalTakeWhileDataset', {});
