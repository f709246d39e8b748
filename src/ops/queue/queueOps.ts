/** @file The ops that put elements into queues, take them out and close them, for both forms of handles. */
import { bool, type DType, int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type NDArray, scalar } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { attr, decodeAttr } from '../../op/attrs.ts';
import type { ShapeCase } from '../../op/cases.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { HostResult } from '../../program/tracing.ts';
import { byReference, byResource, type Form, objectAt } from './handles.ts';
import { Queue } from './queue.ts';

const timeout = { timeout_ms: attr('int', { default: -1 }) } as const;
const shapesAttr = attr('list(shape)');
const taken = { component_types: attr('list(type)', { minimum: 1 }), ...timeout } as const;
const given = { Tcomponents: attr('list(type)', { minimum: 1 }), ...timeout } as const;

/** TensorFlow has the attribute and refuses its use. */
function checkTimeout(milliseconds: number): void {
  if (milliseconds !== -1) throw new InvalidArgumentError('Timeout not supported yet.');
}

const queueAt = (handle: NDArray | undefined) => objectAt(handle!, Queue);

/** TensorFlow's complaint about a node whose components are not those of the queue that its handle turns out to be. */
function checkTypes(queue: Queue, types: readonly DType[], side: 'in' | 'out'): void {
  if (types.length === queue.types.length && types.every((t, i) => t === queue.types[i])) return;
  const list = (all: readonly DType[]) => all.map((t) => t.runtimeName).join(',');
  const show = (all: readonly DType[]) => (side === 'in' ? `resource,${list(all)}->` : `resource->${list(all)}`);
  throw new InvalidArgumentError(`Signature mismatch, have: ${show(types)} expected: ${show(queue.types)}`);
}

/** The shapes of a queue's components, as far as the node that made the queue tells. */
function declaredShapes(op: Operation, count: number): Dims[] {
  const unknown = new Array<Dims>(count).fill(null);
  const maker = op.inputs[0]!.op;
  const encoded = maker.attrs['shapes'];
  if (!maker.type.includes('Queue') || !encoded) return unknown;
  const shapes = decodeAttr('shapes', shapesAttr, encoded) as readonly Dims[]; // of that kind
  if (maker.type.startsWith('PriorityQueue')) return shapes.length === count - 1 ? [[], ...shapes] : unknown;
  return shapes.length === count ? [...shapes] : unknown;
}

/** Each shape behind a first axis. */
const rows = (count: number | null, shapes: readonly Dims[]): Dims[] =>
  shapes.map((shape) => shape && [count, ...shape]);

/** What a host call will give: with its shape where it is known, so that nobody has to look at the result. */
const results = (types: readonly DType[], shapes: readonly Dims[]): HostResult[] =>
  types.map((dtype, i) => (isFullyDefined(shapes[i] ?? null) ? { dtype, shape: shapes[i] as number[] } : { dtype })); // fully defined

const enqueueOp = (name: string, method: 'enqueue' | 'enqueueMany', { suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `${name}${suffix}`,
    inputs: { handle: port, components: 'Tcomponents' },
    outputs: {},
    attrs: given,
    stateful,
    mayWait: true,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { handle, components }, { Tcomponents, timeout_ms }) {
      checkTimeout(timeout_ms);
      p.host([handle, ...components], [], async ([at, ...tuple], run) => {
        const queue = queueAt(at);
        checkTypes(queue, Tcomponents, 'in');
        await queue[method](tuple, run);
        return [];
      });
      return {};
    },
    cases: () => [{ shape: `${handleCase}, [2, ?] ->` }],
  });

const dequeueOp = ({ suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `QueueDequeue${suffix}`,
    inputs: { handle: port },
    outputs: { components: 'component_types' },
    attrs: taken,
    stateful,
    mayWait: true,
    hostInputs: ['handle'],
    shape: (_, { component_types }, { op }) => ({ components: declaredShapes(op, component_types.length) }),
    grad: notDifferentiable,
    lower(p, { handle }, { component_types, timeout_ms }) {
      checkTimeout(timeout_ms);
      const known = queueAt(p.demand(handle));
      checkTypes(known, component_types, 'out');
      const shapes = component_types.map((_, i) => known.shapeOf(i));
      const components = p.host([handle], results(component_types, shapes), ([at], run) => queueAt(at).dequeue(run));
      return { components };
    },
    cases: () => [{ shape: `${handleCase} -> ?`, attrs: { component_types: ['float32'] } }],
  });

const batchOp = (name: string, allowsFewer: boolean, { suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `Queue${name}${suffix}`,
    inputs: { handle: port, n: 'int32' },
    outputs: { components: 'component_types' },
    attrs: taken,
    stateful,
    mayWait: true,
    hostInputs: ['handle', 'n'],
    shape(_, { component_types }, context) {
      const count = allowsFewer ? null : (context.partial('n')?.[0] ?? null);
      if (count !== null && count < 0)
        throw new InvalidArgumentError(`${name} wants n elements, and n must be >= 0, but is ${count}`);
      return { components: rows(count, declaredShapes(context.op, component_types.length)) };
    },
    grad: notDifferentiable,
    lower(p, { handle, n }, { component_types, timeout_ms }) {
      checkTimeout(timeout_ms);
      const known = queueAt(p.demand(handle));
      const [count] = p.demandInts(n) as [number]; // a scalar
      checkTypes(known, component_types, 'out');
      if (count < 0) throw new InvalidArgumentError(`${name}Op requested ${count} < 0 elements`);
      const shapes = rows(
        allowsFewer ? null : count,
        component_types.map((_, i) => known.shapeOf(i)),
      );
      const call = (at: NDArray, run: Parameters<Queue['dequeue']>[0]) =>
        queueAt(at).dequeueMany(count, allowsFewer, run);
      return { components: p.host([handle], results(component_types, shapes), ([at], run) => call(at!, run)) };
    },
    cases: () => {
      const attrs = { component_types: ['float32'] };
      const shapes: ShapeCase[] = [{ shape: `${handleCase}, [] -> ?`, attrs }];
      const given = { n: { dtype: 'int32', value: -1 } } as const;
      if (!allowsFewer) shapes.push({ shape: `${handleCase}, []`, attrs, given, rejects: /must be >= 0/ });
      return shapes;
    },
  });

const closeOp = ({ suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `QueueClose${suffix}`,
    inputs: { handle: port },
    outputs: {},
    attrs: { cancel_pending_enqueues: attr('bool', { default: false }) },
    stateful,
    mayWait: true,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { handle }, { cancel_pending_enqueues }) {
      p.host([handle], [], async ([at], run) => {
        await queueAt(at).close(cancel_pending_enqueues, run);
        return [];
      });
      return {};
    },
    cases: () => [{ shape: `${handleCase} ->` }],
  });

const isClosedOp = ({ suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `QueueIsClosed${suffix}`,
    inputs: { handle: port },
    outputs: { is_closed: 'bool' },
    attrs: {},
    stateful,
    shape: () => ({ is_closed: [] }),
    grad: notDifferentiable,
    lower: (p, { handle }) => ({
      is_closed: p.host([handle], [{ dtype: bool, shape: [] }], ([at]) => [scalar(bool, queueAt(at).isClosed)])[0]!,
    }),
    cases: () => [{ shape: `${handleCase} -> []` }],
  });

const sizeOp = ({ suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `QueueSize${suffix}`,
    inputs: { handle: port },
    outputs: { size: 'int32' },
    attrs: {},
    stateful,
    shape: () => ({ size: [] }),
    grad: notDifferentiable,
    lower: (p, { handle }) => ({
      size: p.host([handle], [{ dtype: int32, shape: [] }], ([at]) => [scalar(int32, queueAt(at).size)])[0]!,
    }),
    cases: () => [{ shape: `${handleCase} -> []` }],
  });

export const QueueEnqueueV2 = enqueueOp('QueueEnqueue', 'enqueue', byResource);
export const QueueEnqueue = enqueueOp('QueueEnqueue', 'enqueue', byReference);
export const QueueEnqueueManyV2 = enqueueOp('QueueEnqueueMany', 'enqueueMany', byResource);
export const QueueEnqueueMany = enqueueOp('QueueEnqueueMany', 'enqueueMany', byReference);
export const QueueDequeueV2 = dequeueOp(byResource);
export const QueueDequeue = dequeueOp(byReference);
export const QueueDequeueManyV2 = batchOp('DequeueMany', false, byResource);
export const QueueDequeueMany = batchOp('DequeueMany', false, byReference);
export const QueueDequeueUpToV2 = batchOp('DequeueUpTo', true, byResource);
export const QueueDequeueUpTo = batchOp('DequeueUpTo', true, byReference);
export const QueueCloseV2 = closeOp(byResource);
export const QueueClose = closeOp(byReference);
export const QueueIsClosedV2 = isClosedOp(byResource);
export const QueueIsClosed = isClosedOp(byReference);
export const QueueSizeV2 = sizeOp(byResource);
export const QueueSize = sizeOp(byReference);
