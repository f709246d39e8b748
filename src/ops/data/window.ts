/** @file WindowDataset: datasets of neighbouring elements. */
import { type DType, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { stackElements } from './batch.ts';
import { Dataset, datasetIn, type Element, type ElementIterator, Failed, infinite, unknown } from './dataset.ts';
import { datasetOp, elementAttrs, flag, metadata, scalarOf } from './kit.ts';
import { Following, type Saved, savedElements, savedRecord } from './saved.ts';
import { indexed } from './sources.ts';

interface Windows {
  readonly size: number;
  readonly shift: number;
  readonly stride: number;
  readonly dropsRemainder: boolean;
}

/** How many elements of the input a full window spans. */
const spanOf = ({ size, stride }: Windows) => (size - 1) * stride + 1;

/** The elements at hand as a dataset. */
export function datasetOf(
  elements: readonly Element[],
  types: readonly DType[],
  shapes: readonly Dims[],
  kind = 'Window',
): Dataset {
  return indexed(kind, { types, shapes, sharesMemory: true }, elements.length, (i) => elements[i]!);
}

class WindowIterator extends Following {
  private buffer: (Element | Failed)[] = [];
  private hasEnded = false;
  constructor(
    input: ElementIterator,
    private readonly windows: Windows,
    private readonly windowOf: (elements: readonly Element[]) => Element,
  ) {
    super(input);
  }

  async next(): Promise<Element | undefined> {
    const { shift, stride, dropsRemainder } = this.windows;
    const span = spanOf(this.windows);
    while (!this.hasEnded && this.buffer.length < span) {
      const element = await this.pull();
      if (element) this.buffer.push(element);
    }
    if (this.buffer.length === 0 || (dropsRemainder && this.buffer.length < span)) return undefined;
    const picked = this.buffer.filter((_, i) => i % stride === 0);
    const failed = picked.find((x) => x instanceof Failed);
    const held = this.buffer.length;
    this.buffer = this.buffer.slice(shift);
    for (let k = held; k < shift && !this.hasEnded; k++) await this.pull();
    if (failed) throw failed.error;
    return this.windowOf(picked as Element[]); // none of them has failed
  }

  private async pull(): Promise<Element | Failed | undefined> {
    try {
      const element = await this.input.next();
      if (!element) this.hasEnded = true;
      return element;
    } catch (error) {
      return new Failed(error);
    }
  }

  protected override state(): Saved {
    const elements = this.buffer.filter((x) => !(x instanceof Failed)) as Element[]; // what is left
    return { elements, hasEnded: this.hasEnded };
  }
  protected override setState(saved: Saved): void {
    const { elements, hasEnded } = savedRecord(saved);
    this.buffer = savedElements(elements);
    this.hasEnded = hasEnded === true;
  }
}

function windowCount(n: number, windows: Windows): number {
  if (n === infinite || n === unknown) return n;
  if (!windows.dropsRemainder) return Math.ceil(n / windows.shift);
  const span = spanOf(windows);
  return n < span ? 0 : Math.floor((n - span) / windows.shift) + 1;
}

function positive(array: NDArray, name: string): number {
  const value = scalarOf(array, name);
  if (value <= 0) throw new InvalidArgumentError(`Window ${name} must be greater than zero.`);
  return value;
}

/** A dataset per component. */
function datasetsOf(elements: readonly Element[], { types, shapes }: Dataset): NDArray[] {
  return types.map((dtype, c) =>
    datasetOf(
      elements.map((element) => [element[c]!]),
      [dtype],
      [shapes[c]!],
    ).asArray(),
  );
}

export const WindowDataset = datasetOp({
  name: 'WindowDataset',
  inputs: { input_dataset: 'variant', size: 'int64', shift: 'int64', stride: 'int64', drop_remainder: 'bool' },
  attrs: { ...elementAttrs, metadata },
  batches: 'ofInput',
  make(arrays) {
    const input = datasetIn(arrays.input_dataset);
    const windows = {
      size: positive(arrays.size, 'size'),
      shift: positive(arrays.shift, 'shift'),
      stride: positive(arrays.stride, 'stride'),
      dropsRemainder: scalarOf(arrays.drop_remainder, 'drop_remainder') !== 0,
    };
    return new Dataset({
      kind: 'Window',
      types: input.types.map(() => variant),
      shapes: input.types.map(() => []),
      sharesMemory: false,
      cardinality: () => windowCount(input.cardinality, windows),
      iterate: (scope) => new WindowIterator(input.iterate(scope), windows, (elements) => datasetsOf(elements, input)),
    });
  },
});

const slidingOp = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant', window_size: 'int64', window_shift: 'int64', window_stride: 'int64' },
    attrs: { ...extra, ...elementAttrs },
    make(arrays, attrs) {
      const input = datasetIn(arrays.input_dataset);
      const windows = {
        size: positive(arrays.window_size, 'size'),
        shift: positive(arrays.window_shift, 'shift'),
        stride: positive(arrays.window_stride, 'stride'),
        dropsRemainder: !('drop_remainder' in attrs) || attrs.drop_remainder === true,
      };
      return new Dataset({
        kind: 'SlidingWindow',
        types: attrs.output_types,
        shapes: attrs.output_shapes,
        sharesMemory: false,
        cardinality: () => windowCount(input.cardinality, windows),
        iterate: (scope) => new WindowIterator(input.iterate(scope), windows, stackElements),
      });
    },
  });

export const SlidingWindowDataset = slidingOp('SlidingWindowDataset', { drop_remainder: flag(true) });
export const ExperimentalSlidingWindowDataset = slidingOp('ExperimentalSlidingWindowDataset', {});
