/** @file Datasets whose function makes a dataset of each element: their elements one dataset after the other, or in turns. */
import { availableParallelism } from 'node:os';
import { CancelledError, InvalidArgumentError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';
import { Dataset, datasetIn, Iteration, unknown } from './dataset.ts';
import { InterleaveIterator, RacingIterator, type Turns } from './interleave.ts';
import {
  argumentTypes,
  datasetOp,
  deterministic,
  elementAttrs,
  flag,
  keepsOrder,
  metadata,
  type ScopedFunction,
  scalarOf,
} from './kit.ts';
import { parallelCalls } from './map.ts';

type Scalar = Parameters<typeof scalarOf>[0];

/** How many datasets take turns: as many as there are processors, or fewer calls, where it is left to the runtime. */
function cycleLength(array: Scalar, calls = -1): number {
  const asked = scalarOf(array, 'cycle_length');
  if (asked === -1) return calls === -1 ? availableParallelism() : Math.min(calls, availableParallelism());
  if (asked <= 0) throw new InvalidArgumentError('`cycle_length` must be > 0');
  return asked;
}

function blockLength(array: Scalar): number {
  const asked = scalarOf(array, 'block_length');
  if (asked <= 0) throw new InvalidArgumentError('`block_length` must be > 0');
  return asked;
}

interface Interleaving {
  readonly output_types: Dataset['types'];
  readonly output_shapes: Dataset['shapes'];
}

/** A dataset of the elements of the datasets that the function makes. */
function interleaved(kind: string, input: Dataset, fn: ScopedFunction, given: Interleaving, turns: Turns): Dataset {
  return new Dataset({
    kind,
    types: given.output_types,
    shapes: given.output_shapes,
    // The function's datasets may give their own memory.
    sharesMemory: true,
    cardinality: () => (input.cardinality < 1 ? input.cardinality : unknown),
    ...(kind === 'FlatMap' && { count: () => totalOf(input, fn) }),
    iterate(scope) {
      const inTurns = turns.ahead === 0 || keepsOrder(given, scope);
      return new (inTurns ? InterleaveIterator : RacingIterator)(input.iterate(scope), scope, fn(scope), turns);
    },
  });
}

/** How many elements the function's datasets have together; those are made to find out. */
async function totalOf(input: Dataset, fn: ScopedFunction): Promise<number> {
  const scope = new Iteration();
  const iterator = input.iterate(scope);
  const call = fn(scope);
  let total = 0;
  try {
    for (let element = await iterator.next(); element; element = await iterator.next()) {
      const [made] = await call(element);
      const n = datasetIn(made!).cardinality;
      if (n < 0) return n;
      total += n;
    }
    return total;
  } finally {
    await scope.stop(new CancelledError('The elements have been counted.'));
  }
}

const inputs = { input_dataset: 'variant', other_arguments: 'Targuments' } as const;
const turnInputs = { ...inputs, cycle_length: 'int64', block_length: 'int64' } as const;
const callInputs = { num_parallel_calls: 'int64' } as const;
const bufferInputs = { buffer_output_elements: 'int64', prefetch_input_elements: 'int64' } as const;
const functionAttrs = { f: attr('func'), Targuments: argumentTypes, ...elementAttrs } as const;
const orderedAttrs = {
  f: attr('func'),
  deterministic,
  Targuments: argumentTypes,
  ...elementAttrs,
  metadata,
} as const;

export const FlatMapDataset = datasetOp({
  name: 'FlatMapDataset',
  inputs,
  attrs: { ...functionAttrs, metadata },
  make: ({ input_dataset, other_arguments }, given, { f }) =>
    interleaved('FlatMap', datasetIn(input_dataset), f(other_arguments), given, { cycle: 1, block: 1, ahead: 0 }),
});

export const InterleaveDataset = datasetOp({
  name: 'InterleaveDataset',
  inputs: turnInputs,
  attrs: { ...functionAttrs, metadata },
  make({ input_dataset, other_arguments, cycle_length, block_length }, given, { f }) {
    const turns = { cycle: cycleLength(cycle_length), block: blockLength(block_length), ahead: 0 };
    return interleaved('Interleave', datasetIn(input_dataset), f(other_arguments), given, turns);
  },
});

interface Ahead {
  /** How many calls there may be at the same time, or -1. */
  readonly calls: number;
  /** How many elements of each dataset are made ahead, from the length of a turn. */
  readonly aheadOf: (block: number) => number;
}

interface Arrays {
  readonly input_dataset: Scalar;
  readonly cycle_length: Scalar;
  readonly block_length: Scalar;
}

/** Datasets in turns whose elements are made ahead. */
function parallel(arrays: Arrays, fn: ScopedFunction, given: Interleaving, { calls, aheadOf }: Ahead): Dataset {
  const block = blockLength(arrays.block_length);
  const turns = { cycle: cycleLength(arrays.cycle_length, calls), block, ahead: aheadOf(block) };
  return interleaved('ParallelInterleave', datasetIn(arrays.input_dataset), fn, given, turns);
}

/** With one call at a time there is nothing to make ahead. */
function aheadFor(array: Scalar, asked: number): Ahead {
  const calls = scalarOf(array, 'num_parallel_calls');
  parallelCalls(calls);
  return { calls, aheadOf: (block) => (calls === 1 ? 0 : Math.max(asked, block)) };
}

export const ParallelInterleaveDatasetV2 = datasetOp({
  name: 'ParallelInterleaveDatasetV2',
  inputs: { ...turnInputs, ...callInputs },
  attrs: { ...functionAttrs, sloppy: flag(false), metadata },
  make: (arrays, given, { f }) =>
    parallel(arrays, f(arrays.other_arguments), given, aheadFor(arrays.num_parallel_calls, 0)),
});

export const ParallelInterleaveDatasetV3 = datasetOp({
  name: 'ParallelInterleaveDatasetV3',
  inputs: { ...turnInputs, ...callInputs },
  attrs: orderedAttrs,
  make: (arrays, given, { f }) =>
    parallel(arrays, f(arrays.other_arguments), given, aheadFor(arrays.num_parallel_calls, 0)),
});

export const ParallelInterleaveDatasetV4 = datasetOp({
  name: 'ParallelInterleaveDatasetV4',
  inputs: { ...turnInputs, ...bufferInputs, ...callInputs },
  attrs: orderedAttrs,
  make(arrays, given, { f }) {
    const asked = scalarOf(arrays.buffer_output_elements, 'buffer_output_elements');
    if (asked === 0 || asked < -1)
      throw new InvalidArgumentError(`\`buffer_output_elements\` must be -1 or > 0 but is ${asked}`);
    const prefetch = scalarOf(arrays.prefetch_input_elements, 'prefetch_input_elements');
    if (prefetch < -1)
      throw new InvalidArgumentError(`\`prefetch_input_elements\` must be -1 or >= 0 but is ${prefetch}`);
    return parallel(arrays, f(arrays.other_arguments), given, aheadFor(arrays.num_parallel_calls, asked));
  },
});

/** How many elements of each dataset the older ops make ahead. */
function legacyAhead(array: Scalar): Ahead {
  const asked = scalarOf(array, 'buffer_output_elements');
  if (asked !== -1 && asked <= 0) throw new InvalidArgumentError('`buffer_output_elements` must be > 0');
  return { calls: -1, aheadOf: (block) => Math.max(asked, block) };
}

const sloppyOp = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { ...turnInputs, sloppy: 'bool', ...bufferInputs },
    attrs: { ...functionAttrs, ...extra },
    make(arrays, given, { f }) {
      const order = { ...given, sloppy: arrays.sloppy.at(0) === true };
      return parallel(arrays, f(arrays.other_arguments), order, legacyAhead(arrays.buffer_output_elements));
    },
  });

export const ParallelInterleaveDataset = sloppyOp('ParallelInterleaveDataset', { metadata });
export const ExperimentalParallelInterleaveDataset = sloppyOp('ExperimentalParallelInterleaveDataset', {});

export const LegacyParallelInterleaveDatasetV2 = datasetOp({
  name: 'LegacyParallelInterleaveDatasetV2',
  inputs: { ...turnInputs, ...bufferInputs },
  attrs: orderedAttrs,
  make: (arrays, given, { f }) =>
    parallel(arrays, f(arrays.other_arguments), given, legacyAhead(arrays.buffer_output_elements)),
});
