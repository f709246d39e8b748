/** @file Conditional accumulators: gradients added up until there are enough; those of an earlier step are dropped. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, NDArray, storeElement } from '../../core/ndarray.ts';
import { compatible, type Dims, type Shape, sameShape, showRuntime, sizeOf } from '../../core/shape.ts';
import type { RunScope } from '../../program/instructions.ts';
import { Attempt, WaitingLine } from './waiting.ts';

export interface AccumulatorSpec {
  readonly dtype: DType;
  readonly shape: Dims;
  readonly reduction: string;
}

/** Adds to `sum` as many elements of `other`, from a place on. Floats, which gradients mostly are, without detours. */
function addTo(sum: NDArray, other: NDArray, from = 0): void {
  const [a, b] = [sum.data, other.data];
  if (a instanceof Float32Array || a instanceof Float64Array)
    for (let i = 0; i < a.length; i++) a[i] = a[i]! + Number(b[from + i]);
  else for (let i = 0; i < sum.size; i++) storeElement(sum.dtype, a, i, sum.numberAt(i) + other.numberAt(from + i));
}

function divideBy(sum: NDArray, count: number): void {
  const { data } = sum;
  if (data instanceof Float32Array || data instanceof Float64Array)
    for (let i = 0; i < data.length; i++) data[i] = data[i]! / count;
  else for (let i = 0; i < sum.size; i++) storeElement(sum.dtype, data, i, sum.numberAt(i) / count);
}

/** Counts gradients of type G and lets those wait who want a sum R of them. */
export abstract class Accumulator<G, R> {
  private readonly takers = new WaitingLine();
  protected count = 0;
  private globalStep = 0;

  constructor(protected readonly spec: AccumulatorSpec) {}

  get accumulated(): number {
    return this.count;
  }
  get dtype(): DType {
    return this.spec.dtype;
  }

  /** Throws when a gradient does not fit what is there or was declared. */
  protected abstract check(gradient: G): void;
  protected abstract begin(gradient: G): void;
  protected abstract add(gradient: G): void;
  protected abstract divide(): void;
  protected abstract get(): R;

  setGlobalStep(step: number): void {
    this.globalStep = step;
  }

  /** Adds a gradient, unless it was computed before the present step. */
  apply(gradient: G, localStep: number): void {
    if (localStep >= this.globalStep) {
      this.check(gradient);
      if (this.count > 0) this.add(gradient);
      else this.begin(gradient);
      this.count++;
    }
    this.flush();
  }

  /** The sum or mean, once there are enough gradients; it begins anew with the next step. */
  take(required: number, run: RunScope): R | Promise<R> {
    if (required <= 0) throw new InvalidArgumentError(`Argument num_required must be positive, but was ${required}`);
    const attempt = new Attempt<R>((a) => {
      if (this.count < required) return false;
      this.globalStep++;
      if (this.spec.reduction === 'MEAN') this.divide();
      this.count = 0;
      return a.succeed(this.get());
    });
    return this.takers.join(attempt, run, this.flush, 'TakeGrad operation was cancelled');
  }

  private readonly flush = (): void => {
    this.takers.advance();
  };
}

export class ConditionalAccumulator extends Accumulator<NDArray, NDArray> {
  private sum: NDArray | undefined;

  protected check({ shape }: NDArray): void {
    if (this.count > 0 && !sameShape(this.sum!.shape, shape)) throw mismatch(this.sum!.shape, shape);
    if (!compatible(this.spec.shape, shape)) throw mismatch(this.spec.shape, shape);
  }
  protected begin(gradient: NDArray): void {
    this.sum = gradient.copy();
  }
  protected add(gradient: NDArray): void {
    addTo(this.sum!, gradient);
  }
  protected divide(): void {
    divideBy(this.sum!, this.count);
  }
  protected get(): NDArray {
    return this.sum!;
  }
}

const mismatch = (wanted: Dims, shape: Shape) =>
  new InvalidArgumentError(`Shape mismatch: expected ${showRuntime(wanted)}, got ${showRuntime(shape)}`);

/** Rows of a gradient and where they belong. */
export interface SparseGradient {
  readonly indices: NDArray;
  readonly values: NDArray;
  /** The whole gradient's shape, where it is told. */
  readonly shape: readonly number[] | undefined;
}

interface Row {
  readonly values: NDArray;
  /** How many gradients had it. */
  count: number;
}

export class SparseConditionalAccumulator extends Accumulator<SparseGradient, readonly NDArray[]> {
  private rows = new Map<number, Row>();
  private rowShape: Shape = [];

  protected check({ indices, values, shape }: SparseGradient): void {
    const wanted = this.spec.shape ?? [];
    const refuse = (text: string): never => {
      throw new InvalidArgumentError(text);
    };
    if (indices.rank !== 1) refuse(`Input indices should be vector but received shape: ${showRuntime(indices.shape)}`);
    if (values.rank === 0) refuse('Values cannot be 0-dimensional.');
    if (values.shape[0] !== indices.size)
      refuse(`Expected ${indices.size} non-empty input values, got ${values.shape[0]}`);
    if (shape) {
      if (wanted.length > shape.length)
        refuse(`Shape mismatch: expected shape rank at least ${wanted.length}, got ${shape.length}`);
      for (const [i, size] of wanted.entries())
        if (size !== null && size !== shape[i])
          refuse(`Shape mismatch: expected shape dim ${i} to be ${size}, got ${shape[i]}`);
    }
    const [limit = null] = wanted;
    if (limit !== null)
      for (const [i, index] of indices.numbers().entries())
        if (index >= limit)
          refuse(`Shape mismatch: index of slice ${i} exceeded limits of shape; index is ${index} exceeded ${limit}`);
    const present: Dims = this.count > 0 ? [null, ...this.rowShape] : wanted;
    if (this.count > 0 && present.length !== values.rank)
      refuse(`Shape mismatch: expected values rank ${present.length}, got ${values.rank}`);
    if (present.length > values.rank)
      refuse(`Shape mismatch: expected values rank at least ${present.length}, got ${values.rank}`);
    for (const [i, size] of present.entries())
      if (i > 0 && size !== null && size !== values.shape[i])
        refuse(`Shape mismatch: expected values dim ${i} to be ${size}, got ${values.shape[i]}`);
  }

  protected begin(gradient: SparseGradient): void {
    this.rows = new Map();
    this.rowShape = gradient.values.shape.slice(1);
    this.add(gradient);
  }

  protected add({ indices, values }: SparseGradient): void {
    const size = sizeOf(this.rowShape);
    const { dtype } = this.spec;
    for (const [i, index] of indices.numbers().entries()) {
      const row = this.rows.get(index);
      const from = i * size;
      if (!row) {
        const data = values.data.slice(from * dtype.entries, (from + size) * dtype.entries);
        this.rows.set(index, { values: new NDArray(dtype, this.rowShape, data), count: 1 });
      } else {
        addTo(row.values, values, from);
        row.count++;
      }
    }
  }

  /** A row is the mean of those gradients that had it. */
  protected divide(): void {
    for (const { values, count } of this.rows.values()) divideBy(values, count);
  }

  protected get(): readonly NDArray[] {
    const order = [...this.rows.keys()].sort((a, b) => a - b);
    const size = sizeOf(this.rowShape);
    const { dtype, shape } = this.spec;
    const data = dtype.allocate(order.length * size);
    const all = new NDArray(dtype, [order.length, ...this.rowShape], data);
    for (const [i, index] of order.entries()) all.bytes.set(this.rows.get(index)!.values.bytes, i * size * dtype.size);
    const whole = [shape?.[0] ?? -1, ...this.rowShape];
    return [fromElements(int64, [order.length], order), all, fromElements(int64, [whole.length], whole)];
  }
}
