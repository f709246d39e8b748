/** @file TensorArray: a list of tensors that lives as long as one run, each written once and read later. */
import { type DType, resource, string } from '../../core/dtypes.ts';
import { InvalidArgumentError, NotFoundError } from '../../core/errors.ts';
import { fromElements, NDArray, zeros } from '../../core/ndarray.ts';
import {
  compatible,
  type Dims,
  isFullyDefined,
  mergeAtRunTime,
  type Shape,
  sameShape,
  showRuntime,
} from '../../core/shape.ts';
import type { RunScope } from '../../program/instructions.ts';

interface Entry {
  /** Absent while only the shape is known, which means zeros. */
  value?: NDArray | undefined;
  shape: Shape;
  isWritten: boolean;
  isRead: boolean;
  isCleared: boolean;
}

export interface TensorArraySpec {
  readonly name: string;
  readonly dtype: DType;
  readonly size: number;
  readonly elementShape: Dims;
  /** The first element written decides the shape of all. */
  readonly identicalShapes: boolean;
  /** Writing beyond the end makes the array longer. */
  readonly growing: boolean;
  readonly clearAfterRead: boolean;
}

export class TensorArray {
  readonly name: string;
  readonly dtype: DType;
  private readonly entries: Entry[];
  private elementShape: Dims;
  private isGrowing: boolean;
  private isClosed = false;
  /** Elements written twice were summed, so that the way back to the summands is lost. */
  private hasSums = false;
  private readonly gradients = new Map<string, TensorArray>();

  constructor(
    private readonly spec: TensorArraySpec,
    /** Set for the array of a gradient: writing twice sums, and what was never written is zero. */
    private readonly ofGradient = false,
    /** How many elements a split made, which a gradient of it must give back. */
    private splitSize = -1,
  ) {
    this.name = spec.name;
    this.dtype = spec.dtype;
    this.elementShape = spec.elementShape;
    this.isGrowing = spec.growing;
    this.entries = Array.from({ length: spec.size }, newEntry);
  }

  get size(): number {
    this.throwIfClosed();
    return this.entries.length;
  }

  /** The size it could have if that many elements were written. */
  sizeFor(count: number): number {
    return this.isGrowing ? Math.max(this.size, count) : this.size;
  }

  /** How many elements a concatenation takes. */
  get concatSize(): number {
    return this.ofGradient ? this.splitSize : this.size;
  }
  markSplit(size: number): void {
    this.throwIfClosed();
    if (!this.ofGradient) this.splitSize = size;
  }

  write(index: number, value: NDArray): void {
    this.throwIfClosed();
    if (index < 0 || (!this.isGrowing && index >= this.entries.length))
      throw this.error(
        `Tried to write to index ${index} but array is not resizeable and size is: ${this.entries.length}`,
      );
    while (index >= this.entries.length) this.entries.push(newEntry());
    const cannot = `Could not write to TensorArray index ${index} because`;
    if (!compatible(this.elementShape, value.shape))
      throw this.error(
        `${cannot} the value shape is ${showRuntime(value.shape)} which is incompatible with the TensorArray's inferred element shape: ${showRuntime(this.elementShape)} (consider setting infer_shape=False).`,
      );
    if (this.spec.identicalShapes && !isFullyDefined(this.elementShape)) this.elementShape = value.shape;
    const entry = this.entries[index]!;
    if (entry.isRead) throw this.error(`${cannot} it has already been read.`);
    if (!entry.isWritten) {
      Object.assign(entry, { value, shape: value.shape, isWritten: true });
      return;
    }
    if (!this.ofGradient) throw this.error(`${cannot} it has already been written to.`);
    if (!sameShape(entry.shape, value.shape))
      throw this.error(
        `Could not aggregate to TensorArray index ${index} because the existing shape is ${showRuntime(entry.shape)} but the new input shape is ${showRuntime(value.shape)}.`,
      );
    if (!entry.value || entry.value.size === 0) entry.value = value;
    else {
      entry.value = sum(entry.value, value);
      this.hasSums = true;
    }
  }

  read(index: number): NDArray {
    this.throwIfClosed();
    if (index < 0 || (!this.ofGradient && index >= this.entries.length))
      throw new InvalidArgumentError(`Tried to read from index ${index} but array size is: ${this.entries.length}`);
    if (!this.entries[index]?.isWritten) this.fillWithZeros(index);
    const entry = this.entries[index]!;
    if (entry.isCleared)
      throw this.error(
        `Could not read index ${index} twice because it was cleared after a previous read (perhaps try setting clear_after_read = false?).`,
      );
    const value = entry.value ?? zeros(this.dtype, entry.shape);
    entry.isRead = true;
    entry.isCleared = this.spec.clearAfterRead;
    entry.value = entry.isCleared ? undefined : value;
    return value;
  }

  /** An element nobody wrote is zero, where it is known how large a zero. */
  private fillWithZeros(index: number): void {
    const own = this.entries[index]?.shape ?? [];
    let shape: Shape;
    if (this.ofGradient && own.length > 0) shape = own;
    else if (isFullyDefined(this.elementShape)) shape = this.elementShape;
    else
      throw this.error(
        `Could not read from TensorArray index ${index}.  Furthermore, the element shape is not fully defined: ${showRuntime(this.elementShape)}.  It is possible you are working with a resizeable TensorArray and stop_gradients is not allowing the gradients to be written.  If you set the full element_shape property on the forward TensorArray, the proper all-zeros tensor will be returned instead of incurring this error.`,
      );
    const wasLength = this.entries.length;
    while (index >= this.entries.length) this.entries.push(newEntry());
    for (const entry of this.entries.slice(Math.min(index, wasLength)))
      Object.assign(entry, { shape, isWritten: true });
  }

  /** Narrows the shape of all elements; throws when it cannot be that. */
  setElementShape(shape: Dims): void {
    this.elementShape = mergeAtRunTime(this.elementShape, shape);
  }

  /** The array that collects gradients of this one for one call of `tf.gradients`, made when it is first asked for. */
  gradient(source: string, prefix: Shape = []): TensorArray {
    // What is differentiated must not grow any more.
    this.isGrowing = false;
    const { size } = this;
    if (this.hasSums)
      throw new InvalidArgumentError(
        `Unable to create a gradients TensorArray for ${this.name}.  Perhaps you used the multiple_writes_aggregate flag on a previous write?  Gradient calculation is impossible when multiple writes are performed to the same index.`,
      );
    let found = this.gradients.get(source);
    if (!found) {
      const elementShape = this.elementShape && [...prefix, ...this.elementShape];
      found = new TensorArray(
        { ...this.spec, name: `${this.name}@${source}`, size, elementShape, growing: false, clearAfterRead: true },
        true,
        this.splitSize,
      );
      for (const [i, { isWritten, shape }] of this.entries.entries())
        if (isWritten) Object.assign(found.entries[i]!, { isWritten, shape: [...prefix, ...shape] });
      this.gradients.set(source, found);
    }
    return found;
  }

  close(): void {
    this.entries.length = 0;
    this.isClosed = true;
  }

  private throwIfClosed(): void {
    if (this.isClosed) throw new InvalidArgumentError(`TensorArray ${this.name} has already been closed.`);
  }

  private error(text: string): InvalidArgumentError {
    return new InvalidArgumentError(`TensorArray ${this.name}: ${text}`);
  }
}

const newEntry = (): Entry => ({ shape: [], isWritten: false, isRead: false, isCleared: false });

function sum(a: NDArray, b: NDArray): NDArray {
  if (a.dtype.storage === 'f16' || a.dtype.storage === 'bf16') {
    const elements = Array.from({ length: a.size }, (_, i) => a.numberAt(i) + b.numberAt(i));
    return fromElements(a.dtype, a.shape, elements);
  }
  const [x, y, z] = [a.data, b.data, a.dtype.allocate(a.size)];
  // Both have the same type: numbers, or bigints for the 64-bit integers.
  for (let i = 0; i < z.length; i++) z[i] = (x[i] as number) + (y[i] as number);
  return new NDArray(a.dtype, a.shape, z);
}

const container = '_tensor_arrays';
let made = 0;
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: object) => new TextDecoder().decode(bytes as Uint8Array); // elements of string arrays are bytes

/** A name that no other array has. */
export const uniqueName = (wanted: string) => `${wanted}_${made++}`;

/** What stands for an array in tensors: the object itself in a resource; in the older ops a name that lasts for the run. */
export function handleOf(array: TensorArray, dtype: DType, run: RunScope): NDArray {
  if (dtype === resource) return new NDArray(resource, [], [array]);
  run.resources.set(`${container}${array.name}`, array);
  return new NDArray(string, [2], [encode(container), encode(array.name)]);
}

/** The array that a handle stands for. */
export function arrayBehind(handle: NDArray, run: RunScope): TensorArray {
  if (handle.dtype === string && handle.size !== 2)
    throw new InvalidArgumentError(
      `Tensor array handle must be 2-element vector, but had shape: ${showRuntime(handle.shape)}`,
    );
  const found =
    handle.dtype === resource
      ? handle.objects[0]
      : run.resources.get(`${decode(handle.objects[0]!)}${decode(handle.objects[1]!)}`);
  if (found instanceof TensorArray) return found;
  if (handle.dtype === resource)
    throw new InvalidArgumentError('the handle does not belong to a TensorArray of this run');
  const name = `__per_step/${decode(handle.objects[0]!)}${decode(handle.objects[1]!)}`;
  throw new NotFoundError(`Container __per_step does not exist. (Could not find resource: ${name})`);
}
