/** @file What outlives a run: variables and other resources, by container and name, and the private state of nodes. */
import { type DType, resource, uint8 } from '../core/dtypes.ts';
import { AbortedError, FailedPreconditionError, InternalError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { type Dims, type Shape, sameShape } from '../core/shape.ts';
import type { SharedHandle } from '../core/sharedObject.ts';
import type { Device, DeviceBuffer } from '../devices/device.ts';
import type { VariableState } from '../program/value.ts';

/** The memory of a variable, and who is using it at the moment. */
export class Storage {
  /** Segments under way that have it bound. */
  readers = 0;
  writers = 0;
  /** Host calls under way that read it. */
  loans = 0;
  constructor(readonly buffer: DeviceBuffer) {}

  get isInUse(): boolean {
    return this.readers + this.writers + this.loans > 0;
  }
}

/** A variable's content. */
export class Variable implements VariableState {
  storage: Storage | undefined;
  objects: NDArray | undefined;
  private contentShape: Shape | undefined;
  constructor(
    readonly name: string,
    readonly dtype: DType,
    readonly device: Device,
  ) {}

  get shape(): Shape | undefined {
    return this.objects?.shape ?? this.contentShape;
  }
  set shape(shape: Shape | undefined) {
    this.contentShape = shape;
  }

  /** The memory of its content, for a run that has seen that it has so many bytes; another run may have changed that since. */
  storageOf(bytes: number): Storage {
    if (!this.storage) throw new FailedPreconditionError(`Attempting to use uninitialized value ${this.name}`);
    if (this.storage.buffer.bytes !== bytes)
      throw new AbortedError(
        `Variable '${this.name}' was given another shape by another run while this one was under way. Run it again.`,
      );
    return this.storage;
  }

  /**
   * Its memory for a host call that reads it and says when it is done, or undefined where it cannot be lent: a segment that
   * writes it is under way, or the host cannot read it.
   */
  lend(bytes: number): Storage | undefined {
    const { storage } = this;
    if (storage?.buffer.bytes !== bytes || storage.writers > 0 || !storage.buffer.host) return undefined;
    storage.loans++;
    return storage;
  }

  /** To be called before the content is changed in place: who has borrowed it keeps what it was. */
  leaveLoans(): void {
    const { storage } = this;
    if (!storage || storage.loans === 0) return;
    const fresh = this.device.allocate(storage.buffer.bytes);
    fresh.host!.set(storage.buffer.host!); // what is lent is memory of the host
    this.storage = new Storage(fresh);
  }

  /** Takes memory with new content in place of what it has. */
  adopt(buffer: DeviceBuffer, shape: Shape): void {
    const before = this.storage;
    this.storage = new Storage(buffer);
    this.shape = shape;
    if (before && !before.isInUse) this.device.recycle?.(before.buffer);
  }

  clear(): void {
    this.shape = undefined;
    this.storage = undefined;
    this.objects = undefined;
  }

  private reference: Reference | undefined;
  /** A reference to it; the same object as long as the shape is the same. */
  referenceOf(shape: Shape): Reference {
    if (!this.reference || !sameShape(this.reference.shape, shape)) this.reference = new Reference(this, shape);
    return this.reference;
  }
}

/** How a reference to a variable travels from one program to another. */
export class Reference {
  constructor(
    readonly variable: Variable,
    /** The declared shape while there is no content. */
    readonly shape: Shape,
  ) {}

  /** The reference that an array between two programs stands for, if it is one. */
  static in(array: NDArray): Reference | undefined {
    const object = array.dtype === resource ? array.objects[0] : undefined;
    return object instanceof Reference ? object : undefined;
  }

  asArray(): NDArray {
    return new NDArray(resource, [], [this]);
  }
}

/** What a resource tensor holds: a name in a container; the thing itself is looked up when used. */
export class ResourceHandle {
  constructor(
    readonly container: string,
    readonly name: string,
    readonly dtype: DType | undefined,
    readonly shape: Dims,
  ) {}
  get key(): string {
    return `${this.container}/${this.name}`;
  }
  /** What a user sees who fetched the handle where the value was meant. */
  toString(): string {
    return `<resource '${this.name}'>`;
  }
}

/** A handle of something other than a variable; the thing is made when it is first asked for. */
export class ObjectHandle extends ResourceHandle implements SharedHandle {
  constructor(
    container: string,
    name: string,
    private readonly resources: ResourceManager,
    private readonly make: (() => object) | undefined,
  ) {
    super(container, name, undefined, null);
  }

  find(): object | undefined {
    return this.resources.object(this.key, this.make);
  }
}

/** Lets go of what an object holds outside of memory, such as open files. */
function dispose(object: Partial<Disposable> | undefined): void {
  object?.[Symbol.dispose]?.();
}

/** The resources of one process or isolated session. */
export class ResourceManager {
  private readonly variables = new Map<string, Variable>();
  private readonly others = new Map<string, object>();

  variable(container: string, name: string, dtype: DType, device: Device): Variable {
    const key = `${container}/${name}`;
    let found = this.variables.get(key);
    if (!found) this.variables.set(key, (found = new Variable(name, dtype, device)));
    if (found.dtype !== dtype)
      throw new InternalError(`variable '${name}' holds ${found.dtype}, but is used as ${dtype}`);
    return found;
  }

  private readonly handles = new Map<string, ResourceHandle>();
  /** The one handle object of a variable, so that handles can be compared. */
  handle(container: string, name: string, dtype: DType, shape: Dims): ResourceHandle {
    const key = `${container}/${name}/${dtype}`;
    let found = this.handles.get(key);
    if (!found) this.handles.set(key, (found = new ResourceHandle(container, name, dtype, shape)));
    return found;
  }

  find(handle: ResourceHandle): Variable | undefined {
    return this.variables.get(handle.key);
  }

  /** Anything else that has a name, made when first asked for, if it is known how. */
  object(key: string, make: (() => object) | undefined): object | undefined {
    let found = this.others.get(key);
    if (!found && make) this.others.set(key, (found = make()));
    return found;
  }

  destroy(handle: ResourceHandle): boolean {
    const variable = this.variables.get(handle.key);
    if (!variable) {
      const other = this.others.get(handle.key);
      dispose(other);
      return this.others.delete(handle.key);
    }
    // The entry stays: programs traced before hold on to it and must meet later ones in it.
    const existed = variable.shape !== undefined;
    variable.clear();
    return existed;
  }

  /** Forgets everything in some containers, or in all of them. */
  clear(containers: readonly string[] = []): void {
    for (const table of [this.variables, this.others])
      for (const [key, value] of table)
        if (containers.length === 0 || containers.some((c) => key.startsWith(`${c}/`))) {
          if (value instanceof Variable) value.clear();
          else dispose(value);
          table.delete(key);
        }
  }
}

let named = 0;
/** A name that nothing else in this process has, such as TensorFlow gives to what only one node can name. */
export const uniqueName = (node: string): string => `_${named++}_${node}`;

/** The generator counters, the objects and other states that belong to nodes of one session. */
export class NodeStates {
  private readonly buffers = new Map<string, DeviceBuffer>();
  private readonly handles = new Map<string, ObjectHandle>();
  constructor(
    private readonly device: Device,
    private readonly resources: ResourceManager,
  ) {}

  /** The handle to an object that only this node has. */
  handle(node: string, make: () => ObjectHandle): ObjectHandle {
    let handle = this.handles.get(node);
    if (!handle) this.handles.set(node, (handle = make()));
    return handle;
  }

  /** Forgets the objects of nodes when their session ends. */
  close(): void {
    for (const handle of this.handles.values()) this.resources.destroy(handle);
    this.handles.clear();
  }

  get(node: string, initial: () => Uint8Array): DeviceBuffer {
    let buffer = this.buffers.get(node);
    if (!buffer) {
      const bytes = initial();
      this.buffers.set(node, (buffer = this.device.fromHost(new NDArray(uint8, [bytes.length], bytes))));
    }
    return buffer;
  }
}
