/** @file Barrier: tuples whose components come one by one under a key; complete ones can be taken, oldest first. */
import { type DType, int32, int64, string } from '../../core/dtypes.ts';
import { CancelledError, InvalidArgumentError, OutOfRangeError } from '../../core/errors.ts';
import { NDArray, scalar } from '../../core/ndarray.ts';
import { rowsOf } from '../../core/rows.ts';
import { type Dims, showRuntime } from '../../core/shape.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { RunScope } from '../../program/instructions.ts';
import type { HostResult } from '../../program/tracing.ts';
import { byReference, handleTo, objectAt, sharedAttrs } from './handles.ts';
import type { Tuple } from './queue.ts';
import { PriorityQueue } from './queueKinds.ts';

/** A tuple that lacks components. */
interface Incomplete {
  /** When its key was first seen. */
  readonly index: bigint;
  readonly key: Uint8Array;
  readonly components: (NDArray | undefined)[];
}

class Barrier {
  private readonly ready: PriorityQueue;
  private readonly incomplete = new Map<string, Incomplete>();
  private nextIndex = -(2n ** 63n);
  private isClosed = false;
  private cancelsInserts = false;

  constructor(
    readonly name: string,
    readonly types: readonly DType[],
    readonly shapes: readonly Dims[],
  ) {
    this.ready = new PriorityQueue({
      name: `${name}_queue`,
      capacity: -1,
      types: [int64, string, ...types],
      shapes: [[], [], ...shapes],
    });
  }

  get readySize(): number {
    return this.ready.size;
  }
  get incompleteSize(): number {
    return this.incomplete.size;
  }

  async insertMany(keys: NDArray, component: number, values: NDArray, run: RunScope): Promise<void> {
    const wanted = component < 0 ? undefined : this.types[component];
    if (!wanted)
      throw new InvalidArgumentError(
        `The component ID is out of range ${component} > num_components (= ${this.types.length})`,
      );
    if (values.dtype !== wanted)
      throw new InvalidArgumentError(
        `Signature mismatch, have: string_ref, string, ${values.dtype.runtimeName}-> expected: string_ref, string, ${wanted.runtimeName}->`,
      );
    if (keys.size > 0 && values.size === 0)
      throw new InvalidArgumentError(
        `Tensors with no elements are not supported ${this.name}: received shape ${showRuntime(values.shape)}`,
      );
    if (this.isClosed && (this.cancelsInserts || (keys.size > 0 && this.incomplete.size === 0)))
      throw new CancelledError(
        `Barrier ${this.name} is closed.  Pending enqueues cancelled: ${Number(this.cancelsInserts)}.  Number of new insertions: ${keys.size}.  Number of incomplete keys: ${this.incomplete.size}.`,
      );
    const before = this.nextIndex;
    const complete: Incomplete[] = [];
    for (let i = 0; i < keys.size; i++) {
      const tuple = this.insert(
        keys.objects[i] as Uint8Array,
        i,
        component,
        rowsOf(values, i, values.shape.slice(1)),
        before,
      );
      if (tuple) complete.push(tuple);
    }
    for (const { index, key, components } of complete) {
      const priority = new NDArray(int64, [], new BigInt64Array([index]));
      await this.ready.enqueue([priority, new NDArray(string, [], [key]), ...(components as NDArray[])], run); // complete
    }
    if (this.isClosed && this.incomplete.size === 0 && this.ready.size > 0) await this.closeQueue(false, run);
  }

  /** Adds one component under a key; gives the tuple if that completes it. */
  private insert(key: Uint8Array, i: number, component: number, value: NDArray, index: bigint): Incomplete | undefined {
    const name = Buffer.from(key).toString('latin1');
    let tuple = this.incomplete.get(name);
    if (!tuple) {
      if (this.isClosed)
        throw new CancelledError(
          `Barrier ${this.name} is closed, but attempted to insert a brand new key: ${name}.  Pending enqueues cancelled: ${Number(this.cancelsInserts)}.  Insertion index: ${i}.  Number of incomplete keys: ${this.incomplete.size}.`,
        );
      tuple = { index, key, components: new Array<NDArray | undefined>(this.types.length).fill(undefined) };
      this.incomplete.set(name, tuple);
      this.nextIndex = index + 1n;
    }
    if (tuple.components[component])
      throw new InvalidArgumentError(
        `Key ${name} already has a value for component ${component} in barrier ${this.name}`,
      );
    tuple.components[component] = value;
    if (tuple.components.includes(undefined)) return undefined;
    this.incomplete.delete(name);
    return tuple;
  }

  takeMany(count: number, allowsFewer: boolean, run: RunScope): Tuple | Promise<Tuple> {
    let wanted = count;
    if (this.isClosed) {
      let available = this.ready.size;
      if (allowsFewer) wanted = Math.min(count, available);
      else available += this.incomplete.size; // those may still be completed
      if (available < Math.max(wanted, 1))
        throw new OutOfRangeError(
          `Barrier '${this.name}' is closed and has insufficient elements (requested ${wanted}, total size ${available})`,
        );
    }
    return this.ready.dequeueMany(wanted, allowsFewer, run);
  }

  async close(cancelsInserts: boolean, run: RunScope): Promise<void> {
    // One that let inserts go on may be closed again, to end them.
    if (this.isClosed && (this.cancelsInserts || !cancelsInserts))
      throw new CancelledError(`Barrier '${this.name}' is already closed.`);
    this.cancelsInserts = cancelsInserts;
    this.isClosed = true;
    if (cancelsInserts || this.incomplete.size === 0) {
      this.incomplete.clear();
      await this.closeQueue(cancelsInserts, run);
    }
  }

  private async closeQueue(cancels: boolean, run: RunScope): Promise<void> {
    if (!this.ready.isClosed) await this.ready.close(cancels, run);
  }
}

const types = attr('list(type)', { minimum: 1 });
const barrierAt = (handle: NDArray | undefined) => objectAt(handle!, Barrier);
const handle = { handle: 'Ref(string)' } as const;

const typeList = (list: readonly DType[]) => list.map((t) => t.runtimeName).join(', ');
const shapeList = (list: readonly Dims[]) => `[${list.map(showRuntime).join(', ')}]`;

export const BarrierOp = defineOp({
  name: 'Barrier',
  inputs: {},
  outputs: handle,
  attrs: {
    component_types: types,
    shapes: attr('list(shape)', { minimum: 0, default: [] }),
    capacity: attr('int', { default: -1 }),
    ...sharedAttrs,
  },
  stateful: true,
  shape: () => ({ handle: [2] }),
  grad: notDifferentiable,
  lower(p, _, attrs) {
    const { component_types, shapes, capacity, shared_name } = attrs;
    if (shapes.length !== component_types.length)
      throw new InvalidArgumentError('All of the component shapes must be specified');
    if (capacity !== -1)
      throw new InvalidArgumentError(
        'Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a limited capacity.',
      );
    const check = (present: object) => {
      if (!(present instanceof Barrier))
        throw new InvalidArgumentError(`Resource '${shared_name}' is no barrier, but a ${present.constructor.name}`);
      const shared = `Shared barrier '${shared_name}' has component`;
      if (typeList(present.types) !== typeList(component_types))
        throw new InvalidArgumentError(
          `${shared} types ${typeList(present.types)} but requested component types were ${typeList(component_types)}`,
        );
      if (shapeList(present.shapes) !== shapeList(shapes))
        throw new InvalidArgumentError(
          `${shared} shapes ${shapeList(present.shapes)} but requested component shapes were ${shapeList(shapes)}`,
        );
    };
    return { handle: handleTo(p, byReference, attrs, (name) => new Barrier(name, component_types, shapes), check) };
  },
  cases: () => [{ shape: '-> [2]', attrs: { component_types: ['float32'] } }],
});

export const BarrierInsertMany = defineOp({
  name: 'BarrierInsertMany',
  inputs: { ...handle, keys: 'string', values: 'T' },
  outputs: {},
  attrs: { T: anyType, component_index: attr('int') },
  mayWait: true,
  shape({ keys, values }) {
    if (keys !== null && keys.length !== 1)
      throw new InvalidArgumentError(`keys must be a vector, but have shape ${showRuntime(keys)}`);
    if (values !== null && values.length === 0)
      throw new InvalidArgumentError('values must have a row per key, but are a scalar');
    const [count, rows] = [keys?.[0] ?? null, values?.[0] ?? null];
    if (count !== null && rows !== null && count !== rows)
      throw new InvalidArgumentError(`there are ${count} keys and ${rows} values; their numbers must be equal`);
    return {};
  },
  grad: notDifferentiable,
  lower(p, { handle: at, keys, values }, { component_index }) {
    p.host([at, keys, values], [], async ([barrier, names, rows], run) => {
      await barrierAt(barrier).insertMany(names!, component_index, rows!, run);
      return [];
    });
    return {};
  },
  cases: () => [
    { shape: '[2], [?], [?, 3] ->', attrs: { component_index: 0 } },
    { shape: '[2], [2], [3]', attrs: { component_index: 0 }, rejects: /2 keys and 3 values/ },
  ],
});

export const BarrierTakeMany = defineOp({
  name: 'BarrierTakeMany',
  inputs: { ...handle, num_elements: 'int32' },
  outputs: { indices: 'int64', keys: 'string', values: 'component_types' },
  attrs: {
    component_types: types,
    allow_small_batch: attr('bool', { default: false }),
    wait_for_incomplete: attr('bool', { default: false }),
    timeout_ms: attr('int', { default: -1 }),
  },
  mayWait: true,
  shape: (_, { component_types }) => ({ indices: null, keys: null, values: component_types.map(() => null) }),
  grad: notDifferentiable,
  lower(p, { handle: at, num_elements }, { component_types, allow_small_batch, timeout_ms }) {
    if (timeout_ms !== -1) throw new InvalidArgumentError('Timeout not supported yet.');
    const results = [int64, string, ...component_types].map((dtype): HostResult => ({ dtype }));
    const [indices, keys, ...values] = p.host([at, num_elements], results, ([barrier, count], run) =>
      barrierAt(barrier).takeMany(count!.numberAt(0), allow_small_batch, run),
    );
    return { indices: indices!, keys: keys!, values };
  },
  cases: () => [{ shape: '[2], [] -> ?, ?, ?', attrs: { component_types: ['float32'] } }],
});

export const BarrierClose = defineOp({
  name: 'BarrierClose',
  inputs: handle,
  outputs: {},
  attrs: { cancel_pending_enqueues: attr('bool', { default: false }) },
  mayWait: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { handle: at }, { cancel_pending_enqueues }) {
    p.host([at], [], async ([barrier], run) => {
      await barrierAt(barrier).close(cancel_pending_enqueues, run);
      return [];
    });
    return {};
  },
  cases: () => [{ shape: '[2] ->' }],
});

const sizeOp = (name: string, size: (barrier: Barrier) => number) =>
  defineOp({
    name,
    inputs: handle,
    outputs: { size: 'int32' },
    attrs: {},
    shape: () => ({ size: [] }),
    grad: notDifferentiable,
    lower: (p, { handle: at }) => ({
      size: p.host([at], [{ dtype: int32, shape: [] }], ([barrier]) => [scalar(int32, size(barrierAt(barrier)))])[0]!,
    }),
    cases: () => [{ shape: '[2] -> []' }],
  });
export const BarrierReadySize = sizeOp('BarrierReadySize', (barrier) => barrier.readySize);
export const BarrierIncompleteSize = sizeOp('BarrierIncompleteSize', (barrier) => barrier.incompleteSize);
