/** @file Datasets that apply a function to each element: map, filter, scan, takeWhile. */
import { InvalidArgumentError, OutOfRangeError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import {
  Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  type Pulled,
  type Saved,
  type Soon,
  savedAll,
  savedElements,
  savedRecord,
  unknown,
} from './dataset.ts';
import {
  argumentTypes,
  deterministic,
  type ElementFunction,
  elementAttrs,
  flag,
  functionOf,
  type GraphFunction,
  handle,
  madeBy,
  metadata,
  scalarHandle,
  scalarOf,
  truthOf,
  types,
} from './kit.ts';
import { InOrder } from './parallel.ts';

/** One call after the other. */
class MapIterator implements ElementIterator {
  constructor(
    private readonly input: ElementIterator,
    private readonly call: ElementFunction,
  ) {}
  next(): Pulled {
    const pulled = this.input.next();
    if (pulled instanceof Promise) return pulled.then((element) => element && this.call(element));
    return pulled && this.call(pulled);
  }
  save(): Soon<Saved> {
    return this.input.save();
  }
  restore(saved: Saved): Soon<void> {
    return this.input.restore(saved);
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
  defineOp({
    name,
    inputs: { input_dataset: 'variant', other_arguments: 'Targuments' },
    outputs: handle,
    attrs: { ...mapAttrs, preserve_cardinality: flag(false), force_synchronous: flag(false), ...extra },
    shape: scalarHandle,
    grad: notDifferentiable,
    lower(p, inputs, attrs) {
      const call = functionOf(p, attrs.f);
      return madeBy(p, inputs, ({ input_dataset, other_arguments }) => {
        const input = datasetIn(input_dataset);
        const apply = endingByError(call(other_arguments), attrs.preserve_cardinality);
        return mapped('Map', input, attrs, (scope) => new MapIterator(input.iterate(scope), apply));
      });
    },
    cases: () => [],
  });

export const MapDataset = mapDataset('MapDataset', { metadata });
export const ExperimentalMapDataset = mapDataset('ExperimentalMapDataset', {});

export const ParallelMapDataset = defineOp({
  name: 'ParallelMapDataset',
  inputs: { input_dataset: 'variant', other_arguments: 'Targuments', num_parallel_calls: 'int32' },
  outputs: handle,
  attrs: { ...mapAttrs, sloppy: flag(false), preserve_cardinality: flag(false), metadata },
  shape: scalarHandle,
  grad: notDifferentiable,
  lower(p, inputs, attrs) {
    const call = functionOf(p, attrs.f);
    return madeBy(p, inputs, ({ input_dataset, other_arguments, num_parallel_calls }) => {
      const input = datasetIn(input_dataset);
      const apply = endingByError(call(other_arguments), attrs.preserve_cardinality);
      const calls = parallelCalls(scalarOf(num_parallel_calls, 'num_parallel_calls'));
      return mapped('ParallelMap', input, attrs, (scope) => new InOrder(input.iterate(scope), scope, calls, apply));
    });
  },
  cases: () => [],
});

export const ParallelMapDatasetV2 = defineOp({
  name: 'ParallelMapDatasetV2',
  inputs: { input_dataset: 'variant', other_arguments: 'Targuments', num_parallel_calls: 'int64' },
  outputs: handle,
  attrs: {
    ...mapAttrs,
    deterministic,
    preserve_cardinality: flag(false),
    use_unbounded_threadpool: flag(false),
    metadata,
  },
  shape: scalarHandle,
  grad: notDifferentiable,
  lower(p, inputs, attrs) {
    const call = functionOf(p, attrs.f);
    return madeBy(p, inputs, ({ input_dataset, other_arguments, num_parallel_calls }) => {
      const input = datasetIn(input_dataset);
      const apply = endingByError(call(other_arguments), attrs.preserve_cardinality);
      const calls = parallelCalls(scalarOf(num_parallel_calls, 'num_parallel_calls'));
      return mapped('ParallelMap', input, attrs, (scope) => new InOrder(input.iterate(scope), scope, calls, apply));
    });
  },
  cases: () => [],
});

/** Keeps the elements of which the predicate holds. */
class FilterIterator implements ElementIterator {
  constructor(
    private readonly input: ElementIterator,
    private readonly scope: Iteration,
    private readonly predicate: GraphFunction,
  ) {}
  async next(): Promise<Element | undefined> {
    for (;;) {
      this.scope.check();
      const element = await this.input.next();
      if (!element || truthOf(await this.predicate(element), '`predicate`')) return element;
    }
  }
  save(): Soon<Saved> {
    return this.input.save();
  }
  restore(saved: Saved): Soon<void> {
    return this.input.restore(saved);
  }
}

/** A dataset of some of the elements of another, without changing them. */
export function someOf(
  kind: string,
  input: Dataset,
  cardinality: () => number,
  iterate: (scope: Iteration) => ElementIterator,
): Dataset {
  const { types, shapes, sharesMemory } = input;
  return new Dataset({ kind, types, shapes, sharesMemory, cardinality, iterate });
}

const someAreKept = (input: Dataset) => (input.cardinality === 0 ? 0 : unknown);

export const FilterDataset = defineOp({
  name: 'FilterDataset',
  inputs: { input_dataset: 'variant', other_arguments: 'Targuments' },
  outputs: handle,
  attrs: { predicate: attr('func'), Targuments: argumentTypes, ...elementAttrs, metadata },
  shape: scalarHandle,
  grad: notDifferentiable,
  lower(p, inputs, { predicate }) {
    const call = functionOf(p, predicate);
    return madeBy(p, inputs, ({ input_dataset, other_arguments }) => {
      const input = datasetIn(input_dataset);
      const holds = call(other_arguments);
      const iterate = (scope: Iteration) => new FilterIterator(input.iterate(scope), scope, holds);
      return someOf('Filter', input, () => someAreKept(input), iterate);
    });
  },
  cases: () => [],
});

export const ParallelFilterDataset = defineOp({
  name: 'ParallelFilterDataset',
  inputs: { input_dataset: 'variant', other_arguments: 'Targuments', num_parallel_calls: 'int64' },
  outputs: handle,
  attrs: { predicate: attr('func'), deterministic, Targuments: argumentTypes, ...elementAttrs, metadata },
  shape: scalarHandle,
  grad: notDifferentiable,
  lower(p, inputs, { predicate }) {
    const call = functionOf(p, predicate);
    return madeBy(p, inputs, ({ input_dataset, other_arguments, num_parallel_calls }) => {
      const input = datasetIn(input_dataset);
      const holds = call(other_arguments);
      const calls = parallelCalls(scalarOf(num_parallel_calls, 'num_parallel_calls'));
      const judged = async (element: Element) => [...element, ...(await holds(element))];
      const iterate = (scope: Iteration) =>
        new FilterIterator(
          new InOrder(input.iterate(scope), scope, calls, judged),
          scope,
          async (element) => element.slice(-1), // what the predicate said stands last
        );
      const filtered = someOf('ParallelFilter', input, () => someAreKept(input), iterate);
      return withoutLast(filtered);
    });
  },
  cases: () => [],
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
class ScanIterator implements ElementIterator {
  constructor(
    private readonly input: ElementIterator,
    private state: Element,
    private readonly call: GraphFunction,
  ) {}
  async next(): Promise<Element | undefined> {
    const element = await this.input.next();
    if (!element) return undefined;
    const results = await this.call([...this.state, ...element]);
    const count = this.state.length;
    this.state = results.slice(0, count);
    return results.slice(count);
  }
  save(): Soon<Saved> {
    return savedAll({ input: this.input.save(), state: [this.state] });
  }
  restore(saved: Saved): Soon<void> {
    const { input, state } = savedRecord(saved);
    [this.state] = savedElements(state) as [Element]; // as it was saved
    return this.input.restore(input!);
  }
}

const scanDataset = (name: string, extra: object) =>
  defineOp({
    name,
    inputs: { input_dataset: 'variant', initial_state: 'Tstate', other_arguments: 'Targuments' },
    outputs: handle,
    attrs: {
      f: attr('func'),
      Tstate: types,
      Targuments: argumentTypes,
      ...elementAttrs,
      preserve_cardinality: flag(false),
      ...extra,
    },
    shape: scalarHandle,
    grad: notDifferentiable,
    lower(p, inputs, attrs) {
      const call = functionOf(p, attrs.f);
      return madeBy(p, inputs, ({ input_dataset, initial_state, other_arguments }) => {
        const input = datasetIn(input_dataset);
        const apply = call(other_arguments);
        return mapped('Scan', input, attrs, (scope) => new ScanIterator(input.iterate(scope), initial_state, apply));
      });
    },
    cases: () => [],
  });

export const ScanDataset = scanDataset('ScanDataset', { use_default_device: flag(true), metadata });
export const ExperimentalScanDataset = scanDataset('ExperimentalScanDataset', {});

/** Ends with the first element of which the predicate does not hold. */
class TakeWhileIterator implements ElementIterator {
  private isOver = false;
  constructor(
    private readonly input: ElementIterator,
    private readonly predicate: GraphFunction,
  ) {}
  async next(): Promise<Element | undefined> {
    const element = this.isOver ? undefined : await this.input.next();
    if (element && truthOf(await this.predicate(element), '`predicate`')) return element;
    this.isOver = true;
    return undefined;
  }
  save(): Soon<Saved> {
    return savedAll({ input: this.input.save(), isOver: this.isOver });
  }
  restore(saved: Saved): Soon<void> {
    const { input, isOver } = savedRecord(saved);
    this.isOver = isOver === true;
    return this.input.restore(input!);
  }
}

const takeWhileDataset = (name: string, extra: object) =>
  defineOp({
    name,
    inputs: { input_dataset: 'variant', other_arguments: 'Targuments' },
    outputs: handle,
    attrs: { predicate: attr('func'), Targuments: argumentTypes, ...elementAttrs, ...extra },
    shape: scalarHandle,
    grad: notDifferentiable,
    lower(p, inputs, { predicate }) {
      const call = functionOf(p, predicate);
      return madeBy(p, inputs, ({ input_dataset, other_arguments }) => {
        const input = datasetIn(input_dataset);
        const holds = call(other_arguments);
        const iterate = (scope: Iteration) => new TakeWhileIterator(input.iterate(scope), holds);
        return someOf('TakeWhile', input, () => unknown, iterate);
      });
    },
    cases: () => [],
  });

export const TakeWhileDataset = takeWhileDataset('TakeWhileDataset', { metadata });
export const ExperimentalTakeWhileDataset = takeWhileDataset('ExperimentalTakeWhileDataset', {});
