/** @file Batches of other sizes than those that come in. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { rowsTogether } from './batch.ts';
import { Dataset, datasetIn, type Element, type ElementIterator, infinite, unknown } from './dataset.ts';
import { datasetOp, elementAttrs, flag, scalarOf } from './kit.ts';
import { Following, type Saved, savedElements, savedNumber, savedRecord } from './saved.ts';
import { rowRange } from './sources.ts';

/** How many rows all components of a batch have. */
function rowsOf(batch: Element): number {
  for (const { rank } of batch)
    if (rank === 0)
      throw new InvalidArgumentError('Cannot rebatch dataset: All components must have at least one dimension.');
  const [rows] = batch[0]!.shape;
  for (const [c, { shape }] of batch.entries())
    if (shape[0] !== rows)
      throw new InvalidArgumentError(
        `Cannot rebatch dataset: Components must have the same batch dimension; component 0 has ${rows}, component ${c} has ${shape[0]}.`,
      );
  return rows!;
}

/** Pieces of batches, one below the other. */
function joined(pieces: readonly Element[], rows: number): Element {
  if (pieces.length === 1) return pieces[0]!;
  return pieces[0]!.map((first, c) => {
    const parts = pieces.map((piece) => piece[c]!);
    for (const { shape } of parts)
      if (shape.slice(1).join() !== first.shape.slice(1).join())
        throw new InvalidArgumentError(
          `Cannot rebatch dataset: Batches have rows of different shapes, [${first.shape.slice(1)}] and [${shape.slice(1)}].`,
        );
    return rowsTogether(first.dtype, [rows, ...first.shape.slice(1)], parts);
  });
}

interface Sizes {
  /** One after the other, then from the first again. */
  readonly sizes: readonly number[];
  readonly dropsRemainder: boolean;
}

class RebatchIterator extends Following {
  private batch: Element | undefined;
  private row = 0;
  private turn = 0;
  private isOver = false;
  constructor(
    input: ElementIterator,
    private readonly dataset: { readonly types: Dataset['types']; readonly shapes: readonly Dims[] },
    private readonly wanted: Sizes,
  ) {
    super(input);
  }

  async next(): Promise<Element | undefined> {
    const { sizes, dropsRemainder } = this.wanted;
    if (this.isOver) return undefined;
    const size = sizes[this.turn]!;
    const pieces: Element[] = [];
    let rows = 0;
    while (rows < size) {
      this.batch ??= await this.input.next();
      if (!this.batch) {
        this.isOver = true;
        if (dropsRemainder || rows === 0) return undefined;
        break;
      }
      const count = rowsOf(this.batch);
      const end = Math.min(this.row + size - rows, count);
      if (end > this.row) pieces.push(this.batch.map((array) => rowRange(array, this.row, end)));
      rows += end - this.row;
      this.row = end;
      if (end === count) {
        this.batch = undefined;
        this.row = 0;
      }
    }
    this.turn = (this.turn + 1) % sizes.length;
    return size === 0 ? this.empty() : joined(pieces, rows);
  }

  private empty(): Element {
    return this.dataset.types.map((dtype, c) => {
      const shape = [0, ...(this.dataset.shapes[c]?.slice(1) ?? []).map((n) => n ?? 0)];
      return new NDArray(dtype, shape, dtype.isObject ? [] : dtype.allocate(0));
    });
  }

  protected override state(): Saved {
    return { batch: this.batch ? [this.batch] : [], row: this.row, turn: this.turn, isOver: this.isOver };
  }
  protected override setState(saved: Saved): void {
    const { batch, row, turn, isOver } = savedRecord(saved);
    this.isOver = isOver === true;
    [this.batch] = savedElements(batch);
    this.row = savedNumber(row);
    this.turn = savedNumber(turn);
  }
}

/** How many batches become of all rows, where the sizes of both are known. */
function rebatchedCount(input: Dataset, { sizes, dropsRemainder }: Sizes): number {
  const n = input.cardinality;
  const rows = input.shapes[0]?.[0];
  if (n === infinite || n === 0) return n;
  if (n === unknown || rows == null || sizes.length !== 1) return unknown;
  return dropsRemainder ? Math.floor((n * rows) / sizes[0]!) : Math.ceil((n * rows) / sizes[0]!);
}

export const RebatchDatasetV2 = datasetOp({
  name: 'RebatchDatasetV2',
  inputs: { input_dataset: 'variant', batch_sizes: 'int64', drop_remainder: 'bool' },
  attrs: elementAttrs,
  make({ input_dataset, batch_sizes, drop_remainder }, { output_types: types, output_shapes: shapes }) {
    const input = datasetIn(input_dataset);
    if (batch_sizes.rank > 1) throw new InvalidArgumentError('`batch_sizes` must be a scalar or a vector.');
    const sizes = batch_sizes.numbers();
    if (sizes.length === 0 || sizes.some((size) => size < 0) || sizes.every((size) => size === 0))
      throw new InvalidArgumentError('`batch_sizes` must be positive in sum, and none may be negative.');
    const wanted = { sizes, dropsRemainder: scalarOf(drop_remainder, 'drop_remainder') !== 0 };
    return new Dataset({
      kind: 'RebatchV2',
      types,
      shapes,
      sharesMemory: true,
      cardinality: () => rebatchedCount(input, wanted),
      iterate: (scope) => new RebatchIterator(input.iterate(scope), { types, shapes }, wanted),
    });
  },
});

/** Cuts every batch into as many pieces as there are replicas. */
class SplittingIterator extends Following {
  private batch: Element | undefined;
  private piece = 0;
  constructor(
    input: ElementIterator,
    private readonly replicas: number,
  ) {
    super(input);
  }

  async next(): Promise<Element | undefined> {
    this.batch ??= await this.input.next();
    if (!this.batch) return undefined;
    const { batch } = this;
    const rows = rowsOf(batch);
    const size = Math.ceil(rows / this.replicas);
    const from = Math.min(this.piece * size, rows);
    const to = Math.min(from + size, rows);
    if (++this.piece === this.replicas) {
      this.piece = 0;
      this.batch = undefined;
    }
    return batch.map((array) => rowRange(array, from, to));
  }

  protected override state(): Saved {
    return { batch: this.batch ? [this.batch] : [], piece: this.piece };
  }
  protected override setState(saved: Saved): void {
    const { batch, piece } = savedRecord(saved);
    [this.batch] = savedElements(batch);
    this.piece = savedNumber(piece);
  }
}

const splitOp = (name: string) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant', num_replicas: 'int64' },
    attrs: { ...elementAttrs, use_fallback: flag(true) },
    make({ input_dataset, num_replicas }, { output_types: types, output_shapes: shapes }) {
      const input = datasetIn(input_dataset);
      const replicas = scalarOf(num_replicas, 'num_replicas');
      if (replicas <= 0) throw new InvalidArgumentError('num_replicas must be greater than zero.');
      return new Dataset({
        kind: 'Rebatch',
        types,
        shapes,
        sharesMemory: true,
        cardinality: () => (input.cardinality < 0 ? input.cardinality : input.cardinality * replicas),
        iterate: (scope) => new SplittingIterator(input.iterate(scope), replicas),
      });
    },
  });

export const RebatchDataset = splitOp('RebatchDataset');
export const ExperimentalRebatchDataset = splitOp('ExperimentalRebatchDataset');
