/** @file The kinds of queues: by age, at random, padded, by priority. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray, zeros } from '../../core/ndarray.ts';
import { showRuntime, sizeOf, stridesOf } from '../../core/shape.ts';
import { Philox } from '../../program/philox.ts';
import { initialState, type Seeds } from '../random/seed.ts';
import { componentShape, type Element, Queue, type QueueSpec, type Tuple } from './queue.ts';

/** First in, first out. */
export class FIFOQueue extends Queue {
  protected readonly kind: string = 'FIFOQueue';
  private elements: (Element | undefined)[] = [];
  private head = 0;

  get size(): number {
    return this.elements.length - this.head;
  }
  protected add(element: Element): void {
    this.elements.push(element);
  }
  protected take(): Element {
    const element = this.elements[this.head]!;
    this.elements[this.head++] = undefined;
    // Moving the rest once per so many elements costs nothing per element.
    if (this.head >= 256 && this.head * 2 > this.elements.length) {
      this.elements = this.elements.slice(this.head);
      this.head = 0;
    }
    return element;
  }
  protected putBack(elements: readonly Element[]): void {
    if (elements.length === 0) return;
    this.elements = [...elements, ...this.elements.slice(this.head)];
    this.head = 0;
  }
}

export interface ShuffleSpec extends QueueSpec, Seeds {
  readonly minAfterDequeue: number;
}

/** Gives elements at random, as long as enough others stay to choose from. */
export class RandomShuffleQueue extends Queue {
  protected readonly kind = 'RandomShuffleQueue';
  private readonly elements: Element[] = [];
  private readonly generator: Philox;

  constructor(protected override readonly spec: ShuffleSpec) {
    super(spec);
    const { minAfterDequeue, capacity } = spec;
    if (minAfterDequeue < 0) throw new InvalidArgumentError(`min_after_dequeue ${minAfterDequeue} must be >= 0`);
    if (capacity >= 0 && minAfterDequeue >= capacity)
      throw new InvalidArgumentError(`min_after_dequeue ${minAfterDequeue} must be < capacity ${capacity}`);
    this.generator = new Philox(new DataView(initialState(spec).buffer), 0);
  }

  get size(): number {
    return this.elements.length;
  }
  protected override get available(): number {
    return this.isClosed ? this.size : this.size - this.spec.minAfterDequeue;
  }
  protected add(element: Element): void {
    this.elements.push(element);
  }
  /** The last element takes the place of the one that goes: TensorFlow's order for the same seeds. */
  protected take(): Element {
    const { elements } = this;
    const index = this.generator.next() % elements.length;
    const element = elements[index]!;
    elements[index] = elements.at(-1)!;
    elements.pop();
    return element;
  }
  protected putBack(elements: readonly Element[]): void {
    for (const element of elements.toReversed()) this.elements.push(element);
  }

  protected override matchesMore(shared: string, wanted: ShuffleSpec): void {
    const { minAfterDequeue, seed, seed2 } = this.spec;
    if (wanted.minAfterDequeue !== minAfterDequeue)
      throw new InvalidArgumentError(
        `${shared} min_after_dequeue ${minAfterDequeue} but requested min_after_dequeue was ${wanted.minAfterDequeue}.`,
      );
    if ((wanted.seed !== 0 || wanted.seed2 !== 0) && (wanted.seed !== seed || wanted.seed2 !== seed2))
      throw new InvalidArgumentError(
        `${shared} random seeds (${seed}, ${seed2}) but requested seeds are (${wanted.seed}, ${wanted.seed2}).`,
      );
  }
}

/** First in, first out; elements of a batch may differ in size and are filled up with zeros. */
export class PaddingFIFOQueue extends FIFOQueue {
  protected override readonly kind = 'PaddingFIFOQueue';

  protected override checkShapesForBatches(): void {}

  protected override async batch(elements: readonly Element[]): Promise<Tuple> {
    const components: NDArray[] = [];
    for (const [i, dtype] of this.types.entries()) {
      const shapes = elements.map((element) => componentShape(element, i));
      const shape = (this.shapeOf(i) ?? []).map(
        (d, axis) => d ?? shapes.reduce((most, found) => Math.max(most, found[axis]!), 0),
      );
      const whole = zeros(dtype, [elements.length, ...shape]);
      const objects = dtype.isObject ? [...whole.objects] : undefined;
      const bytes = objects ? undefined : whole.bytes;
      const strides = stridesOf(shape);
      const fill = (row: number) => {
        const array = elements[row]!.arrays[i]!;
        const found = shapes[row]!;
        const size = sizeOf(found);
        const first = (elements[row]!.row ?? 0) * size;
        const start = row * sizeOf(shape);
        // Row by row of the last axis: those lie side by side in both.
        const width = found.at(-1) ?? 1;
        const inner = stridesOf(found);
        for (let place = 0; place < size; place += width) {
          let to = start;
          for (let axis = 0; axis < found.length - 1; axis++)
            to += (Math.floor(place / inner[axis]!) % found[axis]!) * strides[axis]!;
          const from = first + place;
          if (objects) for (let k = 0; k < width; k++) objects[to + k] = array.objects[from + k]!;
          else bytes!.set(array.bytes.subarray(from * dtype.size, (from + width) * dtype.size), to * dtype.size); // one of both is there
        }
      };
      await eachInTurns(elements.length, fill, 64);
      components.push(objects ? new NDArray(dtype, whole.shape, objects) : whole);
    }
    return components;
  }
}

/** Gives the element with the least first component, an int64. */
export class PriorityQueue extends Queue {
  protected readonly kind = 'PriorityQueue';
  /** A heap: no element is before those at twice its place. */
  private readonly heap: { readonly priority: bigint; readonly element: Element }[] = [];

  get size(): number {
    return this.heap.length;
  }

  /** The first elements of a batch may come last. */
  protected override get takesAsTheyCome(): boolean {
    return false;
  }

  protected override checkTuple(tuple: Tuple): void {
    super.checkTuple(tuple);
    const { shape } = tuple[0]!;
    if (shape.length > 0)
      throw new InvalidArgumentError(
        `Expected priority element to be a scalar, but received shape: ${showRuntime(shape)}`,
      );
  }
  protected override checkBatch(batch: Tuple): number {
    const count = super.checkBatch(batch);
    const { shape } = batch[0]!;
    if (shape.length !== 1)
      throw new InvalidArgumentError(
        `Expected priority element to be a vector, but received shape: ${showRuntime(shape)}`,
      );
    return count;
  }

  /** Moves up from the end. Which of equals goes first is as in TensorFlow, whose heap moves the same way. */
  protected add(element: Element): void {
    const priority = element.arrays[0]!.data[element.row ?? 0] as bigint; // int64
    this.heap.push({ priority, element });
    this.rise(this.heap.length - 1, 0);
  }

  private rise(from: number, top: number): void {
    const { heap } = this;
    const entry = heap[from]!;
    let hole = from;
    while (hole > top) {
      const parent = (hole - 1) >> 1;
      if (heap[parent]!.priority <= entry.priority) break;
      heap[hole] = heap[parent]!;
      hole = parent;
    }
    heap[hole] = entry;
  }

  /** The last fills the gap that the first leaves: the gap goes down to the end, then the last rises from there. */
  protected take(): Element {
    const { heap } = this;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first.element;
    let hole = 0;
    for (let child = 2; ; child = 2 * hole + 2) {
      if (child > heap.length) break;
      if (child === heap.length || heap[child]!.priority > heap[child - 1]!.priority) child--;
      heap[hole] = heap[child]!;
      hole = child;
    }
    heap[hole] = last;
    this.rise(hole, 0);
    return first.element;
  }

  protected putBack(elements: readonly Element[]): void {
    for (const element of elements.toReversed()) this.add(element);
  }
}
