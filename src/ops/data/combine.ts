/** @file Datasets made of several others: side by side, one after the other, in an order that another one gives. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';

import {
  attempted,
  Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Failed,
  type Iteration,
  infinite,
  type Pulled,
  soon,
  unknown,
} from './dataset.ts';
import { datasetOp, elementAttrs, flag, metadata } from './kit.ts';
import { type Saved, savedAll, savedNumber, savedRecord, succeeded } from './saved.ts';

/** The states of several iterators. */
async function savedEach(iterators: readonly (ElementIterator | undefined)[]): Promise<Saved> {
  const saved: Saved[] = [];
  for (const iterator of iterators) saved.push(iterator ? [await iterator.save()] : []);
  return saved;
}

/** Puts iterators back; those that were over then are over again. */
async function restoreEach(iterators: (ElementIterator | undefined)[], saved: Saved | undefined): Promise<void> {
  for (const [i, state] of (saved as readonly (readonly Saved[])[]).entries()) {
    // as `savedEach` writes it
    if (state.length === 0) iterators[i] = undefined;
    else await iterators[i]!.restore(state[0]!);
  }
}

/** One element of each, side by side; ends with the shortest. */
class ZipIterator implements ElementIterator {
  private hasEnded = false;
  constructor(private readonly inputs: readonly ElementIterator[]) {}

  next(): Pulled {
    return this.hasEnded ? undefined : this.pullFrom(0, []);
  }

  /** Where one of them fails, the others are asked all the same, so that they stay side by side. */
  private pullFrom(first: number, parts: (Element | Failed)[]): Pulled {
    for (let i = first; i < this.inputs.length; i++) {
      const pulled = attempted(this.inputs[i]!);
      if (pulled instanceof Promise)
        return pulled.then((part) => {
          if (!part) return this.end(i);
          parts.push(part);
          return this.pullFrom(i + 1, parts);
        });
      if (!pulled) return this.end(i);
      parts.push(pulled);
    }
    return succeeded(parts).flat();
  }

  /** The inputs behind the one that has ended may be at their end too, where caches complete their files. */
  private async end(at: number): Promise<undefined> {
    this.hasEnded = true;
    for (const input of this.inputs.slice(at + 1)) await input.next();
    return undefined;
  }

  save(): Promise<Saved> {
    return savedAll({ inputs: savedEach(this.inputs), hasEnded: this.hasEnded });
  }
  async restore(saved: Saved): Promise<void> {
    const { inputs, hasEnded } = savedRecord(saved);
    this.hasEnded = hasEnded === true;
    await restoreEach([...this.inputs], inputs);
  }
}

export const ZipDataset = datasetOp({
  name: 'ZipDataset',
  inputs: { input_datasets: 'N * variant' },
  attrs: { ...elementAttrs, N: attr('int', { minimum: 1 }), metadata },
  batches: 'ofAll',
  make({ input_datasets }) {
    const parts = input_datasets.map(datasetIn);
    return new Dataset({
      kind: 'Zip',
      types: parts.flatMap((d) => d.types),
      shapes: parts.flatMap((d) => d.shapes),
      sharesMemory: parts.some((d) => d.sharesMemory),
      cardinality() {
        const counts = parts.map((d) => d.cardinality);
        if (counts.includes(unknown)) return unknown;
        const finite = counts.filter((n) => n !== infinite);
        return finite.length === 0 ? infinite : Math.min(...finite);
      },
      iterate: (scope) => new ZipIterator(parts.map((d) => d.iterate(scope))),
    });
  },
});

/** One after the other. */
class ConcatenateIterator implements ElementIterator {
  private at = 0;
  private input: ElementIterator;
  constructor(
    private readonly parts: readonly Dataset[],
    private readonly scope: Iteration,
  ) {
    this.input = parts[0]!.iterate(scope);
  }

  next(): Pulled {
    return soon(this.input.next(), (element) => {
      if (element || this.at === this.parts.length - 1) return element;
      this.input = this.parts[++this.at]!.iterate(this.scope);
      return this.next();
    });
  }

  save(): Promise<Saved> {
    return savedAll({ input: this.input.save(), at: this.at });
  }
  async restore(saved: Saved): Promise<void> {
    const { input, at } = savedRecord(saved);
    this.at = savedNumber(at);
    this.input = this.parts[this.at]!.iterate(this.scope);
    await this.input.restore(input!);
  }
}

export const ConcatenateDataset = datasetOp({
  name: 'ConcatenateDataset',
  inputs: { input_dataset: 'variant', another_dataset: 'variant' },
  attrs: { ...elementAttrs, metadata },
  batches: 'ofAll',
  make({ input_dataset, another_dataset }, { output_types, output_shapes }) {
    const parts = [datasetIn(input_dataset), datasetIn(another_dataset)];
    const [first, second] = parts as [Dataset, Dataset]; // just made
    if (first.types.length !== second.types.length || first.types.some((t, i) => t !== second.types[i]))
      throw new InvalidArgumentError(
        `input dataset and dataset to concatenate have different output_types ${first.types.map((t) => t.runtimeName).join(', ')} and ${second.types.map((t) => t.runtimeName).join(', ')}`,
      );
    return new Dataset({
      kind: 'Concatenate',
      types: output_types,
      shapes: output_shapes,
      sharesMemory: parts.some((d) => d.sharesMemory),
      cardinality() {
        const counts = parts.map((d) => d.cardinality);
        if (counts.includes(infinite)) return infinite;
        return counts.includes(unknown) ? unknown : counts[0]! + counts[1]!;
      },
      iterate: (scope) => new ConcatenateIterator(parts, scope),
    });
  },
});

/** Takes each element from the dataset whose number comes next. */
class DirectedIterator implements ElementIterator {
  private readonly inputs: (ElementIterator | undefined)[];
  private hasEnded = false;
  constructor(
    private readonly selector: ElementIterator,
    inputs: readonly ElementIterator[],
    private readonly scope: Iteration,
    private readonly stopsOnEmpty: boolean,
  ) {
    this.inputs = [...inputs];
  }

  async next(): Promise<Element | undefined> {
    while (!this.hasEnded && this.inputs.some((input) => input)) {
      this.scope.check();
      const selected = await this.selector.next();
      if (!selected) break;
      const index = selected[0]!.numberAt(0);
      if (index < 0 || index >= this.inputs.length)
        throw new InvalidArgumentError(`Selector index out of range: ${index} >= ${this.inputs.length}`);
      const element = await this.inputs[index]?.next();
      if (element) return element;
      if (this.inputs[index] && this.stopsOnEmpty) break;
      this.inputs[index] = undefined;
    }
    this.hasEnded = true;
    return undefined;
  }

  save(): Promise<Saved> {
    return savedAll({ selector: this.selector.save(), inputs: savedEach(this.inputs), hasEnded: this.hasEnded });
  }
  async restore(saved: Saved): Promise<void> {
    const { selector, inputs, hasEnded } = savedRecord(saved);
    this.hasEnded = hasEnded === true;
    await this.selector.restore(selector!);
    await restoreEach(this.inputs, inputs);
  }
}

const directedOp = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { selector_input_dataset: 'variant', data_input_datasets: 'N * variant' },
    attrs: { ...elementAttrs, N: attr('int', { minimum: 1 }), ...extra },
    make({ selector_input_dataset, data_input_datasets }, attrs) {
      const selector = datasetIn(selector_input_dataset);
      const parts = data_input_datasets.map(datasetIn);
      const stops = 'stop_on_empty_dataset' in attrs && attrs.stop_on_empty_dataset === true;
      return new Dataset({
        kind: 'DirectedInterleave',
        types: attrs.output_types,
        shapes: attrs.output_shapes,
        sharesMemory: parts.some((d) => d.sharesMemory),
        cardinality: () => directedCount(selector, parts, stops),
        iterate: (scope) =>
          new DirectedIterator(
            selector.iterate(scope),
            parts.map((d) => d.iterate(scope)),
            scope,
            stops,
          ),
      });
    },
  });

/** What can be told before the order is known: nothing in, or no end of everything. */
function directedCount(selector: Dataset, parts: readonly Dataset[], stopsOnEmpty: boolean): number {
  const n = selector.cardinality;
  if (n === unknown || n === 0) return n;
  const counts = parts.map((d) => d.cardinality);
  if (counts.every((c) => c === infinite)) return n;
  if (stopsOnEmpty && counts.every((c) => c === 0)) return 0;
  return unknown;
}

export const DirectedInterleaveDataset = directedOp('DirectedInterleaveDataset', {
  stop_on_empty_dataset: flag(false),
});
export const ExperimentalDirectedInterleaveDataset = directedOp('ExperimentalDirectedInterleaveDataset', {});
