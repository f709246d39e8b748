/** @file The ops that make queues, and FakeQueue, which gives a queue's older handle. */
import { int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, isFullyDefined } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { byReference, byResource, type Form, handleTo, referenceTo, sharedAttrs } from './handles.ts';
import { Queue, type QueueSpec } from './queue.ts';
import { FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue, type ShuffleSpec } from './queueKinds.ts';

const capacity = attr('int', { default: -1 });
const components = {
  component_types: attr('list(type)', { minimum: 1 }),
  shapes: attr('list(shape)', { minimum: 0, default: [] }),
  capacity,
} as const;
const typed = { ...components, ...sharedAttrs } as const;
const shuffled = {
  ...components,
  min_after_dequeue: attr('int', { default: 0 }),
  seed: attr('int', { default: 0 }),
  seed2: attr('int', { default: 0 }),
  ...sharedAttrs,
} as const;
const byPriority = {
  component_types: attr('list(type)', { minimum: 0, default: [] }),
  shapes: attr('list(shape)', { minimum: 0 }),
  capacity,
  ...sharedAttrs,
} as const;

function checkPresent(present: object, node: { name: string; kind: string }, wanted: QueueSpec): void {
  if (!(present instanceof Queue))
    throw new InvalidArgumentError(`Resource '${wanted.name}' is no queue, but a ${present.constructor.name}`);
  present.matches(node, wanted);
}

/** Queues whose elements must all have one shape take fully known ones only. */
function checkKnown(kind: string, shapes: readonly Dims[]): void {
  if (!shapes.every(isFullyDefined))
    throw new InvalidArgumentError(
      `${kind}: the shapes of components must be fully known; leave shapes out, or use a PaddingFIFOQueue.`,
    );
}

function plain(kind: 'FIFOQueue' | 'PaddingFIFOQueue', form: Form) {
  const Kind = kind === 'FIFOQueue' ? FIFOQueue : PaddingFIFOQueue;
  const op = `${kind}${form.suffix}`;
  return defineOp({
    name: op,
    inputs: {},
    outputs: { handle: form.port },
    attrs: typed,
    stateful: true,
    shape: () => ({ handle: form.handleShape }),
    grad: notDifferentiable,
    lower(p, _, attrs, node) {
      const { component_types: types, shapes } = attrs;
      if (kind === 'FIFOQueue') checkKnown(kind, shapes);
      const spec = { capacity: attrs.capacity, types, shapes };
      const check = (present: object) =>
        checkPresent(present, { ...node, kind: op }, { ...spec, name: attrs.shared_name });
      return { handle: handleTo(p, form, attrs, (name) => new Kind({ ...spec, name }), check) };
    },
    cases: () => [{ shape: `-> ${form.handleCase}`, attrs: { component_types: ['float32'] } }],
  });
}
export const FIFOQueueV2 = plain('FIFOQueue', byResource);
export const PaddingFIFOQueueV2 = plain('PaddingFIFOQueue', byResource);
plain('FIFOQueue', byReference);
plain('PaddingFIFOQueue', byReference);

function shuffling(form: Form) {
  const op = `RandomShuffleQueue${form.suffix}`;
  return defineOp({
    name: op,
    inputs: {},
    outputs: { handle: form.port },
    attrs: shuffled,
    stateful: true,
    shape: () => ({ handle: form.handleShape }),
    grad: notDifferentiable,
    lower(p, _, attrs, node) {
      const { component_types: types, shapes, seed, seed2 } = attrs;
      checkKnown('RandomShuffleQueue', shapes);
      const spec = { capacity: attrs.capacity, types, shapes, seed, seed2, minAfterDequeue: attrs.min_after_dequeue };
      const wanted: ShuffleSpec = { ...spec, name: attrs.shared_name };
      const check = (present: object) => checkPresent(present, { ...node, kind: op }, wanted);
      return { handle: handleTo(p, form, attrs, (name) => new RandomShuffleQueue({ ...spec, name }), check) };
    },
    cases: () => [{ shape: `-> ${form.handleCase}`, attrs: { component_types: ['float32'] } }],
  });
}
export const RandomShuffleQueueV2 = shuffling(byResource);
shuffling(byReference);

function prioritizing(form: Form) {
  const op = `PriorityQueue${form.suffix}`;
  return defineOp({
    name: op,
    inputs: {},
    outputs: { handle: form.port },
    attrs: byPriority,
    stateful: true,
    shape: () => ({ handle: form.handleShape }),
    grad: notDifferentiable,
    lower(p, _, attrs, node) {
      checkKnown('PriorityQueue', attrs.shapes);
      const types = [int64, ...attrs.component_types];
      const isShapeless = attrs.component_types.length > 0 && attrs.shapes.length === 0;
      const spec = { capacity: attrs.capacity, types, shapes: isShapeless ? [] : [[], ...attrs.shapes] };
      const check = (present: object) =>
        checkPresent(present, { ...node, kind: op }, { ...spec, name: attrs.shared_name });
      return { handle: handleTo(p, form, attrs, (name) => new PriorityQueue({ ...spec, name }), check) };
    },
    cases: () => [{ shape: `-> ${form.handleCase}`, attrs: { component_types: ['float32'], shapes: [[]] } }],
  });
}
export const PriorityQueueV2 = prioritizing(byResource);
prioritizing(byReference);

export const FakeQueue = defineOp({
  name: 'FakeQueue',
  inputs: { resource: 'resource' },
  outputs: { handle: 'Ref(string)' },
  attrs: {},
  stateful: true,
  shape: () => ({ handle: [2] }),
  grad: notDifferentiable,
  lower: (p, { resource }) => ({
    handle: p.host([resource], [{ dtype: string, shape: [2] }], ([handle]) => [referenceTo(handle!)])[0]!,
  }),
  cases: () => [{ shape: '[] -> [2]' }],
});
