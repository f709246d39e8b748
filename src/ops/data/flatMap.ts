/** @file Datasets whose function makes a dataset of each element: their elements one dataset after the other, or in turns. */
import { availableParallelism } from 'node:os';
import { InvalidArgumentError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';

import type { ProgramBuilder } from '../../program/builder.ts';
import {
  Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  type Saved,
  savedAll,
  savedElements,
  savedNumber,
  savedRecord,
  unknown,
} from './dataset.ts';
import {
  argumentTypes,
  datasetOp,
  deterministic,
  elementAttrs,
  flag,
  type functionOf,
  type GraphFunction,
  metadata,
  scalarOf,
} from './kit.ts';
import { parallelCalls } from './map.ts';
import { PrefetchIterator } from './prefetch.ts';

/** A dataset under way, and the element that it was made of. */
interface Open {
  readonly element: Element;
  readonly iterator: ElementIterator;
}

interface Turns {
  /** How many datasets take turns. */
  readonly cycle: number;
  /** How many elements a dataset gives when it is its turn. */
  readonly block: number;
  /** How many elements of each dataset are made ahead. */
  readonly ahead: number;
}

/** Elements of several datasets in turns; with a cycle of one, one dataset after the other. */
class InterleaveIterator implements ElementIterator {
  private readonly open: (Open | undefined)[];
  private at = 0;
  /** How many elements the present turn has given. */
  private given = 0;
  private hasEnded = false;

  constructor(
    private readonly input: ElementIterator,
    private readonly scope: Iteration,
    private readonly call: GraphFunction,
    private readonly turns: Turns,
  ) {
    this.open = new Array<Open | undefined>(turns.cycle).fill(undefined);
  }

  next(): Promise<Element | undefined> | Element | undefined {
    // Most elements come from a dataset that is open and gives them at once.
    const current = this.open[this.at];
    if (!current) return this.search();
    const pulled = current.iterator.next();
    if (pulled instanceof Promise) return pulled.then((element) => this.taken(element));
    return this.taken(pulled);
  }

  private taken(element: Element | undefined): Promise<Element | undefined> | Element {
    if (element) {
      if (++this.given === this.turns.block) this.advance();
      return element;
    }
    this.open[this.at] = undefined;
    this.advance();
    return this.search();
  }

  private async search(): Promise<Element | undefined> {
    while (!this.hasEnded || this.open.some((o) => o)) {
      this.scope.check();
      const current = this.open[this.at];
      if (current) {
        const element = await current.iterator.next();
        if (element) return this.taken(element);
        this.open[this.at] = undefined;
        this.advance();
      } else if (!this.hasEnded) {
        const element = await this.input.next();
        if (element) this.open[this.at] = await this.start(element);
        else this.hasEnded = true;
      } else this.advance();
    }
    return undefined;
  }

  private advance(): void {
    this.given = 0;
    this.at = (this.at + 1) % this.turns.cycle;
  }

  private async start(element: Element): Promise<Open> {
    const [made] = await this.call(element);
    const iterator = datasetIn(made!).iterate(this.scope);
    return {
      element,
      iterator: this.turns.ahead > 0 ? new PrefetchIterator(iterator, this.scope, this.turns.ahead) : iterator,
    };
  }

  async save(): Promise<Saved> {
    const open: Saved[] = [];
    for (const o of this.open) open.push(o ? { element: o.element, state: await o.iterator.save() } : null);
    return await savedAll({ input: this.input.save(), open, at: this.at, given: this.given, hasEnded: this.hasEnded });
  }

  async restore(saved: Saved): Promise<void> {
    const { input, open, at, given, hasEnded } = savedRecord(saved);
    this.at = savedNumber(at);
    this.given = savedNumber(given);
    this.hasEnded = hasEnded === true;
    for (const [i, state] of (open as readonly Saved[]).entries()) {
      // as `save` writes it
      if (state === null) continue;
      const { element, state: inner } = savedRecord(state);
      const started = await this.start(savedElements([element!])[0]!);
      await started.iterator.restore(inner!);
      this.open[i] = started;
    }
    await this.input.restore(input!);
  }
}

/** As many as there are processors, where it is left to the runtime. */
function cycleLength(asked: number): number {
  if (asked === -1) return availableParallelism();
  if (asked <= 0) throw new InvalidArgumentError('`cycle_length` must be > 0');
  return asked;
}

function blockLength(asked: number): number {
  if (asked <= 0) throw new InvalidArgumentError('`block_length` must be > 0');
  return asked;
}

const attrs = { f: attr('func'), Targuments: argumentTypes, ...elementAttrs } as const;
type Attrs = {
  readonly f: Parameters<ProgramBuilder['hostFunction']>[0];
  output_types: Dataset['types'];
  output_shapes: Dataset['shapes'];
};

/** A dataset of the elements of the datasets that the function makes. */
function interleaved(kind: string, input: Dataset, call: GraphFunction, given: Attrs, turns: Turns): Dataset {
  return new Dataset({
    kind,
    types: given.output_types,
    shapes: given.output_shapes,
    // The function's datasets may give their own memory.
    sharesMemory: true,
    cardinality: () => (input.cardinality < 1 ? input.cardinality : unknown),
    iterate: (scope) => new InterleaveIterator(input.iterate(scope), scope, call, turns),
  });
}

export const FlatMapDataset = datasetOp({
  name: 'FlatMapDataset',
  inputs: { input_dataset: 'variant', other_arguments: 'Targuments' },
  attrs: { ...attrs, metadata },
  make: ({ input_dataset, other_arguments }, given, { f: call }) =>
    interleaved('FlatMap', datasetIn(input_dataset), call(other_arguments), given, { cycle: 1, block: 1, ahead: 0 }),
});

export const InterleaveDataset = datasetOp({
  name: 'InterleaveDataset',
  inputs: {
    input_dataset: 'variant',
    other_arguments: 'Targuments',
    cycle_length: 'int64',
    block_length: 'int64',
  },
  attrs: { ...attrs, metadata },
  make: ({ input_dataset, other_arguments, cycle_length, block_length }, given, { f: call }) =>
    interleaved('Interleave', datasetIn(input_dataset), call(other_arguments), given, {
      cycle: cycleLength(scalarOf(cycle_length, 'cycle_length')),
      block: blockLength(scalarOf(block_length, 'block_length')),
      ahead: 0,
    }),
});

const parallelInputs = {
  input_dataset: 'variant',
  other_arguments: 'Targuments',
  cycle_length: 'int64',
  block_length: 'int64',
  num_parallel_calls: 'int64',
} as const;

const parallelOp = (name: string, first: object, last: object) =>
  datasetOp({
    name,
    inputs: parallelInputs,
    attrs: { f: attr('func'), ...first, Targuments: argumentTypes, ...elementAttrs, ...last, metadata },
    make({ input_dataset, other_arguments, cycle_length, block_length, num_parallel_calls }, given, { f: call }) {
      const cycle = cycleLength(scalarOf(cycle_length, 'cycle_length'));
      const block = blockLength(scalarOf(block_length, 'block_length'));
      const calls = scalarOf(num_parallel_calls, 'num_parallel_calls');
      parallelCalls(calls);
      const turns = { cycle, block, ahead: calls === 1 ? 0 : block };
      return interleaved('ParallelInterleave', datasetIn(input_dataset), call(other_arguments), given, turns);
    },
  });

export const ParallelInterleaveDatasetV2 = parallelOp('ParallelInterleaveDatasetV2', {}, { sloppy: flag(false) });
export const ParallelInterleaveDatasetV3 = parallelOp('ParallelInterleaveDatasetV3', { deterministic }, {});

export const ParallelInterleaveDatasetV4 = datasetOp({
  name: 'ParallelInterleaveDatasetV4',
  inputs: {
    input_dataset: 'variant',
    other_arguments: 'Targuments',
    cycle_length: 'int64',
    block_length: 'int64',
    buffer_output_elements: 'int64',
    prefetch_input_elements: 'int64',
    num_parallel_calls: 'int64',
  },
  attrs: { f: attr('func'), deterministic, Targuments: argumentTypes, ...elementAttrs, metadata },
  make(arrays, given, { f: call }) {
    const cycle = cycleLength(scalarOf(arrays.cycle_length, 'cycle_length'));
    const block = blockLength(scalarOf(arrays.block_length, 'block_length'));
    const asked = scalarOf(arrays.buffer_output_elements, 'buffer_output_elements');
    if (asked === 0 || asked < -1)
      throw new InvalidArgumentError(`\`buffer_output_elements\` must be -1 or > 0 but is ${asked}`);
    const prefetch = scalarOf(arrays.prefetch_input_elements, 'prefetch_input_elements');
    if (prefetch < -1)
      throw new InvalidArgumentError(`\`prefetch_input_elements\` must be -1 or >= 0 but is ${prefetch}`);
    const calls = scalarOf(arrays.num_parallel_calls, 'num_parallel_calls');
    parallelCalls(calls);
    const turns = { cycle, block, ahead: calls === 1 ? 0 : Math.max(asked, block) };
    const input = datasetIn(arrays.input_dataset);
    return interleaved('ParallelInterleave', input, call(arrays.other_arguments), given, turns);
  },
});

const legacyInputs = {
  input_dataset: 'variant',
  other_arguments: 'Targuments',
  cycle_length: 'int64',
  block_length: 'int64',
} as const;
const bufferInputs = { buffer_output_elements: 'int64', prefetch_input_elements: 'int64' } as const;

interface LegacyArrays {
  readonly input_dataset: Parameters<typeof datasetIn>[0];
  readonly other_arguments: Parameters<ReturnType<typeof functionOf>>[0];
  readonly cycle_length: Parameters<typeof scalarOf>[0];
  readonly block_length: Parameters<typeof scalarOf>[0];
  readonly buffer_output_elements: Parameters<typeof scalarOf>[0];
}

function legacy(arrays: LegacyArrays, call: ReturnType<typeof functionOf>, given: Attrs): Dataset {
  const cycle = cycleLength(scalarOf(arrays.cycle_length, 'cycle_length'));
  const block = blockLength(scalarOf(arrays.block_length, 'block_length'));
  const ahead = scalarOf(arrays.buffer_output_elements, 'buffer_output_elements');
  if (ahead !== -1 && ahead <= 0) throw new InvalidArgumentError('`buffer_output_elements` must be > 0');
  const turns = { cycle, block, ahead: Math.max(ahead, block) };
  return interleaved('ParallelInterleave', datasetIn(arrays.input_dataset), call(arrays.other_arguments), given, turns);
}

const sloppyOp = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { ...legacyInputs, sloppy: 'bool', ...bufferInputs },
    attrs: { ...attrs, ...extra },
    make: (arrays, given, { f: call }) => legacy(arrays, call, given),
  });

export const ParallelInterleaveDataset = sloppyOp('ParallelInterleaveDataset', { metadata });
export const ExperimentalParallelInterleaveDataset = sloppyOp('ExperimentalParallelInterleaveDataset', {});

export const LegacyParallelInterleaveDatasetV2 = datasetOp({
  name: 'LegacyParallelInterleaveDatasetV2',
  inputs: { ...legacyInputs, ...bufferInputs },
  attrs: { f: attr('func'), deterministic, Targuments: argumentTypes, ...elementAttrs, metadata },
  make: (arrays, given, { f: call }) => legacy(arrays, call, given),
});
