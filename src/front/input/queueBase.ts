/** @file QueueBase: what all queues can do, and what is told about their elements. */
import { type DType, resource } from '../../core/dtypes.ts';
import { type Dims, isFullyDefined, showShape } from '../../core/shape.ts';
import { TensorShape } from '../../core/tensorShape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { knownValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { gather } from '../../ops/array/gather.ts';
import { stack } from '../../ops/array/stack.ts';
import {
  QueueClose,
  QueueCloseV2,
  QueueDequeue,
  QueueDequeueManyV2,
  QueueDequeueUpToV2,
  QueueDequeueV2,
  QueueEnqueue,
  QueueEnqueueManyV2,
  QueueEnqueueV2,
  QueueIsClosed,
  QueueIsClosedV2,
  QueueSize,
  QueueSizeV2,
} from '../../ops/queue/queueOps.ts';

/** What is put into a queue: one tensor, one per component, or one per name of a component. */
export type QueueElements = TensorLike | readonly TensorLike[] | Readonly<Record<string, TensorLike>>;
export type TypeList = DType | readonly DType[];
/** What comes out: a tensor for one component, a list for several, a record for named ones. */
export type Dequeued<T = unknown, N = undefined> = unknown extends T
  ? Tensor | Tensor[] | Record<string, Tensor>
  : N extends string | readonly string[]
    ? Record<string, Tensor>
    : T extends DType | readonly [DType]
      ? Tensor
      : T extends readonly [DType, DType, ...(readonly DType[])]
        ? { [K in keyof T]: Tensor }
        : Tensor | Tensor[];
/** One shape, or one per component. */
export type ShapeList = Dims | TensorShape | readonly (Dims | TensorShape)[];

interface Named {
  readonly name?: string | undefined;
}

export function asTypes(types: TypeList): readonly DType[] {
  return Array.isArray(types) ? (types as readonly DType[]) : [types as DType]; // told apart by the test
}

const asDims = (shape: Dims | TensorShape): Dims => (shape instanceof TensorShape ? shape.dims : shape);

/** Shapes as a list; nothing where elements may have any. A list of sizes is one shape. */
export function asShapes(
  shapes: ShapeList | undefined,
  allows: { readonly unknownSizes?: boolean } = {},
): readonly Dims[] | undefined {
  if (shapes === undefined || shapes === null) return undefined;
  if (!(shapes instanceof TensorShape) && !Array.isArray(shapes))
    throw userError(
      `Shapes are a list with one for each component, as in [[2, 3], []], not ${JSON.stringify(shapes)}.`,
    );
  const list: readonly Dims[] =
    shapes instanceof TensorShape
      ? [shapes.dims]
      : shapes.every((d) => d === null || typeof d === 'number')
        ? [shapes as Dims] // only sizes
        : (shapes as readonly (Dims | TensorShape)[]).map(asDims); // a list of shapes
  for (const shape of list) {
    if (shape === null) throw userError(`All shapes must have a defined rank: ${list.map(showShape).join(', ')}`);
    if (!allows.unknownSizes && !isFullyDefined(shape))
      throw userError(
        `All shapes must be fully defined: ${list.map(showShape).join(', ')}. For sizes that differ use tf.PaddingFIFOQueue.`,
      );
  }
  return list;
}

/** A queue in the graph: what its elements are, and operations on it. */
export class QueueBase<E = Dequeued> {
  readonly shapes: readonly Dims[];
  private readonly localName: string;

  constructor(
    readonly dtypes: readonly DType[],
    shapes: readonly Dims[] | undefined,
    /** The names of components; with them, elements are records. */
    readonly names: readonly string[] | undefined,
    /** The handle. */
    readonly queueRef: Tensor,
  ) {
    if (shapes && shapes.length !== dtypes.length)
      throw userError(
        `Queue shapes must have the same length as dtypes, but there are ${shapes.length} shapes and ${dtypes.length} dtypes.`,
      );
    if (names && names.length !== dtypes.length)
      throw userError(
        `Queue names must have the same length as dtypes, but there are ${names.length} names and ${dtypes.length} dtypes.`,
      );
    this.shapes = shapes ?? dtypes.map(() => null);
    this.localName = queueRef.op.name.slice(queueRef.op.name.lastIndexOf('/') + 1);
  }

  /** The queue of the list that `index` picks when it is used. All must have components of the same types. */
  static fromList(index: TensorLike, queues: readonly QueueBase[]): QueueBase {
    const [first, ...others] = queues;
    if (!first || !queues.every((queue) => queue instanceof QueueBase)) throw userError('A list of queues expected');
    if (!others.every(({ dtypes }) => dtypes.join() === first.dtypes.join()))
      throw userError('Queues do not have matching component dtypes.');
    if (!others.every(({ names }) => names?.join() === first.names?.join()))
      throw userError('Queues do not have matching component names.');
    const shapes = first.shapes.map((shape, i) =>
      others.reduce((common, q) => commonShape(common, q.shapes[i]!), shape),
    );
    const selected = gather(stack(queues.map((queue) => queue.queueRef)), index);
    return new QueueBase(first.dtypes, shapes, first.names, selected);
  }

  /** The name of the node that made the queue. */
  get name(): string {
    return this.queueRef.op.name;
  }

  private get isResource(): boolean {
    return this.queueRef.dtype === resource;
  }

  /** Puts one element in; waits while the queue is full. Adds one `QueueEnqueueV2` node. */
  enqueue(values: QueueElements, options: Named = {}): Operation {
    const { name } = onlyOptions('enqueue', options, 'name');
    return nameScope(name ?? `${this.localName}_enqueue`, (scope) => {
      const components = this.components(values);
      for (const [i, { shape }] of components.entries()) checkShape(i, shape, this.shapes[i]!);
      const inputs = { handle: this.queueRef, components };
      return this.isResource
        ? QueueEnqueueV2.node(inputs, { name: scope })
        : QueueEnqueue.node(inputs, { name: scope });
    });
  }

  /** Puts in one element per row of the values. Adds one `QueueEnqueueManyV2` node. */
  enqueueMany(values: QueueElements, options: Named = {}): Operation {
    const { name } = onlyOptions('enqueueMany', options, 'name');
    return nameScope(name ?? `${this.localName}_EnqueueMany`, (scope) => {
      const components = this.components(values);
      let rows: number | null = null;
      for (const [i, { shape }] of components.entries()) {
        if (shape === null) continue;
        if (shape.length === 0)
          throw userError(
            `Component ${i} is a scalar; enqueueMany wants a row per element. Use enqueue for one element.`,
          );
        const [count = null, ...rest] = shape;
        if (rows !== null && count !== null && rows !== count)
          throw userError(`Component ${i} has ${count} rows, but those before it have ${rows}; they must be equal.`);
        rows ??= count;
        checkShape(i, rest, this.shapes[i]!);
      }
      return QueueEnqueueManyV2.node({ handle: this.queueRef, components }, { name: scope });
    });
  }

  /** Takes one element out; waits while there is none. Adds one `QueueDequeueV2` node. */
  dequeue(options: Named = {}): E {
    const { name } = onlyOptions('dequeue', options, 'name');
    const Op = this.isResource ? QueueDequeueV2 : QueueDequeue;
    const { components } = Op.build(
      { handle: this.queueRef },
      { name: name ?? `${this.localName}_Dequeue`, attrs: { component_types: this.dtypes } },
    );
    return this.elements(components, this.shapes);
  }

  /** Takes `n` elements out, joined along a new first axis. Adds one `QueueDequeueManyV2` node. */
  dequeueMany(n: TensorLike, options: Named = {}): E {
    const { name } = onlyOptions('dequeueMany', options, 'name');
    const node = QueueDequeueManyV2.node(
      { handle: this.queueRef, n },
      { name: name ?? `${this.localName}_DequeueMany`, attrs: { component_types: this.dtypes } },
    );
    const count = knownValue(node.inputs[1]!)?.numberAt(0) ?? null;
    return this.elements(
      node.outputs,
      this.shapes.map((shape) => shape && [count, ...shape]),
    );
  }

  /** As `dequeueMany`, but gives what is left once the queue is closed. Adds one `QueueDequeueUpToV2` node. */
  dequeueUpTo(n: TensorLike, options: Named = {}): E {
    const { name } = onlyOptions('dequeueUpTo', options, 'name');
    const { components } = QueueDequeueUpToV2.build(
      { handle: this.queueRef, n },
      { name: name ?? `${this.localName}_DequeueUpTo`, attrs: { component_types: this.dtypes } },
    );
    return this.elements(
      components,
      this.shapes.map((shape) => shape && [null, ...shape]),
    );
  }

  /**
   * Says that no more elements come: later enqueues fail, and dequeues once the queue is empty. Enqueues that wait are served
   * first, or cancelled. Adds one `QueueCloseV2` node.
   */
  close(options: Named & { readonly cancelPendingEnqueues?: boolean | undefined } = {}): Operation {
    const { name, cancelPendingEnqueues } = onlyOptions('close', options, 'cancelPendingEnqueues', 'name');
    return (this.isResource ? QueueCloseV2 : QueueClose).node(
      { handle: this.queueRef },
      { name: name ?? `${this.localName}_Close`, attrs: { cancel_pending_enqueues: cancelPendingEnqueues ?? false } },
    );
  }

  /** Whether the queue is closed. Adds one `QueueIsClosedV2` node. */
  isClosed(options: Named = {}): Tensor {
    const { name } = onlyOptions('isClosed', options, 'name');
    const Op = this.isResource ? QueueIsClosedV2 : QueueIsClosed;
    return Op.build({ handle: this.queueRef }, { name: name ?? `${this.localName}_Is_Closed` }).is_closed;
  }

  /** How many elements are in the queue. Adds one `QueueSizeV2` node. */
  size(options: Named = {}): Tensor {
    const { name } = onlyOptions('size', options, 'name');
    const Op = this.isResource ? QueueSizeV2 : QueueSize;
    return Op.build({ handle: this.queueRef }, { name: name ?? `${this.localName}_Size` }).size;
  }

  /** The components of what is to be put in, in order. */
  private components(values: QueueElements): Tensor[] {
    let list: readonly TensorLike[];
    if (isRecord(values)) {
      if (!this.names) throw userError('Queue must have names to enqueue a dictionary');
      const [given, wanted] = [Object.keys(values).sort(), [...this.names].sort()];
      if (given.join() !== wanted.join())
        throw userError(
          `Keys in dictionary to enqueue do not match names of Queue.  Dictionary: ${given.join(', ')}, Queue: ${wanted.join(', ')}`,
        );
      list = this.names.map((name) => values[name]!);
    } else {
      if (this.names) throw userError('You must enqueue a dictionary in a Queue with names');
      list = this.isTuple(values) ? values : [values as TensorLike]; // not a tuple
    }
    if (list.length !== this.dtypes.length)
      throw userError(`The queue has ${this.dtypes.length} components, but ${list.length} values were given.`);
    return list.map((value, i) => convertToTensor(value, { dtype: this.dtypes[i]!, name: `component_${i}` }));
  }

  /** A list has a value per component; the only component may also be given as the list that it is. */
  private isTuple(values: QueueElements): values is readonly TensorLike[] {
    return Array.isArray(values) && (this.dtypes.length > 1 || values.length === 1);
  }

  /** What a dequeue gives, as the user sees it. */
  private elements(tensors: readonly Tensor[], shapes: readonly Dims[]): E {
    for (const [i, tensor] of tensors.entries()) tensor.setShape(shapes[i]!);
    const single = tensors.length === 1 ? tensors[0]! : [...tensors];
    const result = this.names ? Object.fromEntries(this.names.map((name, i) => [name, tensors[i]!])) : single;
    return result as E; // E describes what types and names make of it
  }
}

function isRecord(values: QueueElements): values is Readonly<Record<string, TensorLike>> {
  return Object.getPrototypeOf(values) === Object.prototype && !('re' in (values as object)); // a plain object is no complex number
}

function checkShape(component: number, given: Dims, wanted: Dims): void {
  if (!new TensorShape(given).isCompatibleWith(wanted))
    throw userError(
      `Component ${component} has shape ${showShape(given)}, but the queue's elements have ${showShape(wanted)} there; shapes are not compatible.`,
    );
}

/** What two shapes have in common. */
function commonShape(a: Dims, b: Dims): Dims {
  if (a === null || b === null || a.length !== b.length) return null;
  return a.map((size, i) => (size === b[i] ? size : null));
}
