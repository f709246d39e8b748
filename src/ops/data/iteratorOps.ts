/** @file The ops of iterators: making them, starting them, taking elements. */
import { bool, type DType, resource, string, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError, OutOfRangeError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { compatible, type Dims, isFullyDefined, showRuntime } from '../../core/shape.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { TensorList } from '../../core/tensorList.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { FunctionRef } from '../../program/tracing.ts';
import type { Value } from '../../program/value.ts';
import { datasetIn, type Element, type Pulled } from './dataset.ts';

import {
  deleteOp,
  handleAndDeleter,
  handleTo,
  ObjectsByText,
  resourceHandle,
  scalarPair,
  scalarResource,
  withDeleter,
} from './handles.ts';
import { checkCompatible, IteratorResource } from './iterator.ts';
import { elementAttrs } from './kit.ts';

interface ElementSpec {
  readonly output_types: readonly DType[];
  readonly output_shapes: readonly Dims[];
}

/** A handle to an iterator that has this name, or no name for others. */
function namedIterator(
  p: ProgramBuilder,
  { container, shared_name }: { readonly container: string; readonly shared_name: string },
  make: () => IteratorResource,
): Value {
  return shared_name === '' ? p.unshared(container, make) : p.shared({ container, name: shared_name }, make);
}

const iteratorOp = (name: string) =>
  defineOp({
    name,
    inputs: {},
    outputs: resourceHandle,
    attrs: { shared_name: attr('string'), container: attr('string'), ...elementAttrs },
    stateful: true,
    shape: scalarResource,
    grad: notDifferentiable,
    lower: (p, _, attrs) => ({
      handle: namedIterator(p, attrs, () => new IteratorResource(attrs.output_types, attrs.output_shapes)),
    }),
    cases: () => [],
  });

export const Iterator = iteratorOp('Iterator');
export const IteratorV2 = iteratorOp('IteratorV2');

export const OneShotIterator = defineOp({
  name: 'OneShotIterator',
  inputs: {},
  outputs: resourceHandle,
  attrs: {
    dataset_factory: attr('func'),
    ...elementAttrs,
    container: attr('string', { default: '' }),
    shared_name: attr('string', { default: '' }),
  },
  stateful: 'repeatable',
  shape: scalarResource,
  grad: notDifferentiable,
  lower: (p, _, attrs) => ({
    handle: namedIterator(p, attrs, oneShot(p, attrs.dataset_factory, attrs)),
  }),
  cases: () => [],
});

function oneShot(p: ProgramBuilder, factory: FunctionRef, { output_types, output_shapes }: ElementSpec) {
  const call = p.hostFunction(factory);
  return () =>
    new IteratorResource(output_types, output_shapes, async () => {
      const [dataset] = await call([]);
      if (dataset?.dtype !== variant)
        throw new InvalidArgumentError(
          'The `dataset_factory` function must return a single scalar of dtype DT_VARIANT.',
        );
      return datasetIn(dataset);
    });
}

const handleOf = (iterator: IteratorResource) => handleTo('AnonymousIterator', iterator);
const anonymous = ({ output_types, output_shapes }: ElementSpec) =>
  handleOf(new IteratorResource(output_types, output_shapes));

const anonymousOp = (name: string) =>
  defineOp({
    name,
    inputs: {},
    outputs: resourceHandle,
    attrs: elementAttrs,
    stateful: 'repeatable',
    shape: scalarResource,
    grad: notDifferentiable,
    lower: (p, _, attrs) => ({ handle: p.host([], [{ dtype: resource, shape: [] }], () => [anonymous(attrs)])[0]! }),
    cases: () => [],
  });

export const AnonymousIterator = anonymousOp('AnonymousIterator');
export const AnonymousIteratorV3 = anonymousOp('AnonymousIteratorV3');

export const AnonymousIteratorV2 = defineOp({
  name: 'AnonymousIteratorV2',
  inputs: {},
  outputs: handleAndDeleter,
  attrs: elementAttrs,
  stateful: 'repeatable',
  shape: scalarPair,
  grad: notDifferentiable,
  lower: (p, _, attrs) => withDeleter(p, [], () => anonymous(attrs)),
  cases: () => [],
});

export const DeleteIterator = deleteOp('DeleteIterator', (handle) => sharedObject(handle, IteratorResource).close());

export const MakeIterator = defineOp({
  name: 'MakeIterator',
  inputs: { dataset: 'variant', iterator: 'resource' },
  outputs: {},
  attrs: {},
  stateful: 'repeatable',
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { dataset, iterator }) {
    p.host([dataset, iterator], [], ([made, array]) => {
      sharedObject(array!, IteratorResource).initialize(datasetIn(made!));
      return [];
    });
    return {};
  },
  cases: () => [],
});

/** An element as the node promised it. */
export function promised(element: Element, { output_types, output_shapes }: ElementSpec): Element {
  if (element.length !== output_types.length)
    throw new InvalidArgumentError(
      `Number of components does not match: expected ${output_types.length} types but got ${element.length}.`,
    );
  for (const [i, array] of element.entries()) {
    if (array.dtype !== output_types[i])
      throw new InvalidArgumentError(
        `Data type mismatch at component ${i}: expected ${output_types[i]!.runtimeName} but got ${array.dtype.runtimeName}.`,
      );
    if (!compatible(output_shapes[i]!, array.shape))
      throw new InvalidArgumentError(
        `Incompatible shapes at component ${i}: expected ${showRuntime(output_shapes[i]!)} but got ${showRuntime(array.shape)}.`,
      );
  }
  return element;
}

/** The results of a host call that gives an element, with the shapes that are known before. */
export function elementResults({ output_types, output_shapes }: ElementSpec) {
  return output_types.map((dtype, i) => {
    const shape = output_shapes[i]!;
    return isFullyDefined(shape) ? { dtype, shape } : { dtype };
  });
}

const getNextOp = (name: string) =>
  defineOp({
    name,
    inputs: { iterator: 'resource' },
    outputs: { components: 'output_types' },
    attrs: elementAttrs,
    stateful: 'repeatable',
    shape: (_, { output_shapes }) => ({ components: output_shapes }),
    grad: notDifferentiable,
    lower: (p, { iterator }, attrs) => ({
      components: p.host([iterator], elementResults(attrs), ([array], run) =>
        pulledThen(sharedObject(array!, IteratorResource).next(run.stop), (element) => {
          if (!element) throw new OutOfRangeError('End of sequence');
          return promised(element, attrs);
        }),
      ),
    }),
    cases: () => [],
  });

function pulledThen<R>(pulled: Pulled, then: (element: Element | undefined) => R): R | Promise<R> {
  return pulled instanceof Promise ? pulled.then(then) : then(pulled);
}

export const IteratorGetNext = getNextOp('IteratorGetNext');
export const IteratorGetNextSync = getNextOp('IteratorGetNextSync');

export const IteratorGetNextAsOptional = defineOp({
  name: 'IteratorGetNextAsOptional',
  inputs: { iterator: 'resource' },
  outputs: { optional: 'variant' },
  attrs: elementAttrs,
  stateful: 'repeatable',
  shape: () => ({ optional: [] }),
  grad: notDifferentiable,
  lower: (p, { iterator }, attrs) => ({
    optional: p.host([iterator], [{ dtype: variant, shape: [] }], ([array], run) =>
      pulledThen(sharedObject(array!, IteratorResource).next(run.stop), (element) => {
        const list = TensorList.of(bool, null, element ? promised(element, attrs) : []);
        return [new NDArray(variant, [], [list])];
      }),
    )[0]!,
  }),
  cases: () => [],
});

const byText = new ObjectsByText<IteratorResource>('iterator');

export const IteratorToStringHandle = defineOp({
  name: 'IteratorToStringHandle',
  inputs: { resource_handle: 'resource' },
  outputs: { string_handle: 'string' },
  attrs: {},
  stateful: true,
  shape: () => ({ string_handle: [] }),
  grad: notDifferentiable,
  lower: (p, { resource_handle }) => ({
    string_handle: p.host([resource_handle], [{ dtype: string, shape: [] }], ([array]) => [
      byText.textFor(sharedObject(array!, IteratorResource)),
    ])[0]!,
  }),
  cases: () => [],
});

const optionalTypes = attr('list(type)', { default: [], minimum: 0 });
const optionalShapes = attr('list(shape)', { default: [], minimum: 0 });

const fromStringOp = (name: string) =>
  defineOp({
    name,
    inputs: { string_handle: 'string' },
    outputs: { resource_handle: 'resource' },
    attrs: { output_types: optionalTypes, output_shapes: optionalShapes },
    stateful: true,
    shape: () => ({ resource_handle: [] }),
    grad: notDifferentiable,
    lower: (p, { string_handle }, { output_types, output_shapes }) => ({
      resource_handle: p.host([string_handle], [{ dtype: resource, shape: [] }], ([array]) => {
        const found = byText.find(array!);
        if (output_types.length > 0 || output_shapes.length > 0)
          checkCompatible({ types: output_types, shapes: output_shapes }, found);
        return [handleOf(found)];
      })[0]!,
    }),
    cases: () => [],
  });

export const IteratorFromStringHandle = fromStringOp('IteratorFromStringHandle');
export const IteratorFromStringHandleV2 = fromStringOp('IteratorFromStringHandleV2');

export const IteratorGetDevice = defineOp({
  name: 'IteratorGetDevice',
  inputs: { resource: 'resource' },
  outputs: { device: 'string' },
  attrs: {},
  stateful: true,
  shape: () => ({ device: [] }),
  grad: notDifferentiable,
  lower: (p, { resource: iterator }) => ({
    device: p.host([iterator], [{ dtype: string, shape: [] }], ([array]) => {
      sharedObject(array!, IteratorResource);
      return [new NDArray(string, [], [new TextEncoder().encode('/job:localhost/replica:0/task:0/device:CPU:0')])];
    })[0]!,
  }),
  cases: () => [],
});
