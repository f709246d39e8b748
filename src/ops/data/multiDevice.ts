/** @file The ops of iterators that share one dataset among several devices, whose turns come in a fixed order. */
import { type DType, int64, resource, string } from '../../core/dtypes.ts';
import {
  CancelledError,
  FailedPreconditionError,
  InvalidArgumentError,
  type OpError,
  OutOfRangeError,
} from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { RunScope } from '../../program/instructions.ts';
import { type Dataset, datasetIn, type Element } from './dataset.ts';
import {
  handleAndDeleter,
  handleTo,
  ObjectsByText,
  resourceHandle,
  scalarPair,
  scalarResource,
  withDeleter,
} from './handles.ts';
import { checkCompatible, IteratorResource } from './iterator.ts';
import { elementResults, promised } from './iteratorOps.ts';
import { elementAttrs, scalarOf } from './kit.ts';

/** What a device gets: an element, the end, or the error that came in place of an element. */
type Outcome = Element | undefined | { readonly error: unknown };

/** Whoever waits for the next element of one device. */
type Waiter = (outcome: Outcome) => void;

/** The elements of one dataset, dealt to devices in turn; each device has some in store. */
class Dealer {
  private readonly stores: { readonly ready: Outcome[]; readonly waiting: Waiter[] }[];
  private turn = 0;
  private isDealing = false;
  private hasEnded = false;

  constructor(
    private readonly source: IteratorResource,
    devices: number,
    private readonly storeSize: number,
  ) {
    this.stores = Array.from({ length: devices }, () => ({ ready: [], waiting: [] }));
  }

  next(device: number, { stop }: RunScope): Promise<Outcome> {
    const { ready, waiting } = this.stores[device]!;
    const given =
      ready.length > 0 || this.hasEnded
        ? Promise.resolve(ready.shift())
        : new Promise<Outcome>((resolve) => {
            waiting.push(resolve);
            stop.whenStopped(() => {
              const at = waiting.indexOf(resolve);
              if (at >= 0) waiting.splice(at, 1);
              resolve({ error: new CancelledError('GetNextFromShard was cancelled') });
            });
          });
    void this.deal();
    return given;
  }

  /** Deals until the device whose turn it is has enough in store, and nobody waits for more. */
  private async deal(): Promise<void> {
    if (this.isDealing) return;
    this.isDealing = true;
    while (!this.hasEnded) {
      const { ready, waiting } = this.stores[this.turn]!;
      if (ready.length >= this.storeSize && waiting.length === 0) break;
      const outcome = await this.pulled();
      if (outcome === undefined) return this.end(undefined);
      const waiter = waiting.shift();
      if (waiter) waiter(outcome);
      else ready.push(outcome);
      this.turn = (this.turn + 1) % this.stores.length;
    }
    this.isDealing = false;
  }

  private async pulled(): Promise<Outcome> {
    try {
      return await this.source.next();
    } catch (error) {
      return { error };
    }
  }

  private end(outcome: Outcome): void {
    this.hasEnded = true;
    for (const { waiting } of this.stores) for (const waiter of waiting.splice(0)) waiter(outcome);
  }

  /** Those who wait get an error, others who come later the end. */
  close(reason: OpError): void {
    this.end({ error: reason });
    this.source[Symbol.dispose]();
  }
}

class MultiDeviceResource {
  private dealer: Dealer | undefined;
  private incarnation = 0;

  constructor(
    readonly devices: number,
    readonly types: readonly DType[],
    readonly shapes: readonly Dims[],
  ) {}

  /** Begins a dataset; only whoever knows the number given here gets its elements. */
  initialize(dataset: Dataset, storeSize: number): number {
    checkCompatible(this, dataset);
    this[Symbol.dispose]();
    const source = new IteratorResource(this.types, this.shapes);
    source.initialize(dataset);
    this.dealer = new Dealer(source, this.devices, storeSize);
    return ++this.incarnation;
  }

  next(device: number, incarnation: number, run: RunScope): Promise<Outcome> {
    if (!this.dealer)
      throw new FailedPreconditionError('GetNextFromShard failed because the iterator has not been initialized.');
    if (incarnation !== this.incarnation)
      throw new InvalidArgumentError(`Invalid incarnation id. Provided: ${incarnation}; Expected: ${this.incarnation}`);
    if (!(device >= 0 && device < this.devices))
      throw new InvalidArgumentError(`shard_num is ${device}, but there are ${this.devices} devices`);
    return this.dealer.next(device, run);
  }

  [Symbol.dispose](): void {
    this.dealer?.close(new CancelledError('Cancelled and buffer not filled.'));
  }
}

const deviceAttrs = { devices: attr('list(string)', { minimum: 1 }) } as const;

export const MultiDeviceIterator = defineOp({
  name: 'MultiDeviceIterator',
  inputs: {},
  outputs: resourceHandle,
  attrs: { ...deviceAttrs, shared_name: attr('string'), container: attr('string'), ...elementAttrs },
  stateful: true,
  shape: scalarResource,
  grad: notDifferentiable,
  lower(p, _, { devices, shared_name, container, output_types, output_shapes }) {
    const make = () => new MultiDeviceResource(devices.length, output_types, output_shapes);
    const isNamed = shared_name !== '';
    return { handle: isNamed ? p.shared({ container, name: shared_name }, make) : p.unshared(container, make) };
  },
  cases: () => [],
});

interface Anonymous {
  readonly devices: readonly unknown[];
  readonly output_types: readonly DType[];
  readonly output_shapes: readonly Dims[];
}

const handleOf = (iterator: MultiDeviceResource) => handleTo('AnonymousMultiDeviceIterator', iterator);
const anonymous = ({ devices, output_types, output_shapes }: Anonymous) =>
  handleOf(new MultiDeviceResource(devices.length, output_types, output_shapes));

export const AnonymousMultiDeviceIterator = defineOp({
  name: 'AnonymousMultiDeviceIterator',
  inputs: {},
  outputs: handleAndDeleter,
  attrs: { ...deviceAttrs, ...elementAttrs },
  stateful: true,
  shape: scalarPair,
  grad: notDifferentiable,
  lower: (p, _, attrs) => withDeleter(p, [], () => anonymous(attrs)),
  cases: () => [],
});

export const AnonymousMultiDeviceIteratorV3 = defineOp({
  name: 'AnonymousMultiDeviceIteratorV3',
  inputs: {},
  outputs: resourceHandle,
  attrs: { ...deviceAttrs, ...elementAttrs },
  stateful: true,
  shape: scalarResource,
  grad: notDifferentiable,
  lower: (p, _, attrs) => ({ handle: p.host([], [{ dtype: resource, shape: [] }], () => [anonymous(attrs)])[0]! }),
  cases: () => [],
});

export const DeleteMultiDeviceIterator = defineOp({
  name: 'DeleteMultiDeviceIterator',
  inputs: { multi_device_iterator: 'resource', iterators: 'N * resource', deleter: 'variant' },
  outputs: {},
  attrs: { N: attr('int', { minimum: 0 }) },
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { multi_device_iterator, iterators, deleter }) {
    p.host([multi_device_iterator, ...iterators, deleter], [], ([array]) => {
      sharedObject(array!, MultiDeviceResource)[Symbol.dispose]();
      return [];
    });
    return {};
  },
  cases: () => [],
});

export const MultiDeviceIteratorInit = defineOp({
  name: 'MultiDeviceIteratorInit',
  inputs: { dataset: 'variant', multi_device_iterator: 'resource', max_buffer_size: 'int64' },
  outputs: { incarnation_id: 'int64' },
  attrs: {},
  stateful: true,
  shape: () => ({ incarnation_id: [] }),
  grad: notDifferentiable,
  lower: (p, { dataset, multi_device_iterator, max_buffer_size }) => ({
    incarnation_id: p.host(
      [dataset, multi_device_iterator, max_buffer_size],
      [{ dtype: int64, shape: [] }],
      ([made, handle, size]) => {
        const iterator = sharedObject(handle!, MultiDeviceResource);
        const incarnation = iterator.initialize(datasetIn(made!), scalarOf(size!, 'max_buffer_size'));
        return [scalar(int64, BigInt(incarnation))];
      },
    )[0]!,
  }),
  cases: () => [],
});

export const MultiDeviceIteratorGetNextFromShard = defineOp({
  name: 'MultiDeviceIteratorGetNextFromShard',
  inputs: { multi_device_iterator: 'resource', shard_num: 'int32', incarnation_id: 'int64' },
  outputs: { components: 'output_types' },
  attrs: elementAttrs,
  stateful: true,
  mayWait: true,
  shape: (_, { output_shapes }) => ({ components: output_shapes }),
  grad: notDifferentiable,
  lower: (p, { multi_device_iterator, shard_num, incarnation_id }, attrs) => ({
    components: p.host(
      [multi_device_iterator, shard_num, incarnation_id],
      elementResults(attrs),
      async ([handle, shard, incarnation], run) => {
        const iterator = sharedObject(handle!, MultiDeviceResource);
        const device = scalarOf(shard!, 'shard_num');
        const outcome = await iterator.next(device, scalarOf(incarnation!, 'incarnation_id'), run);
        if (!outcome) throw new OutOfRangeError('End of sequence');
        if ('error' in outcome) throw outcome.error;
        return promised(outcome, attrs);
      },
    ),
  }),
  cases: () => [],
});

const byText = new ObjectsByText<MultiDeviceResource>('multi-device iterator');

export const MultiDeviceIteratorToStringHandle = defineOp({
  name: 'MultiDeviceIteratorToStringHandle',
  inputs: { multi_device_iterator: 'resource' },
  outputs: { string_handle: 'string' },
  attrs: {},
  stateful: true,
  shape: () => ({ string_handle: [] }),
  grad: notDifferentiable,
  lower: (p, { multi_device_iterator }) => ({
    string_handle: p.host([multi_device_iterator], [{ dtype: string, shape: [] }], ([array]) => [
      byText.textFor(sharedObject(array!, MultiDeviceResource)),
    ])[0]!,
  }),
  cases: () => [],
});

export const MultiDeviceIteratorFromStringHandle = defineOp({
  name: 'MultiDeviceIteratorFromStringHandle',
  inputs: { string_handle: 'string' },
  outputs: { multi_device_iterator: 'resource' },
  attrs: {
    output_types: attr('list(type)', { default: [], minimum: 0 }),
    output_shapes: attr('list(shape)', { default: [], minimum: 0 }),
  },
  stateful: true,
  shape: () => ({ multi_device_iterator: [] }),
  grad: notDifferentiable,
  lower: (p, { string_handle }, { output_types, output_shapes }) => ({
    multi_device_iterator: p.host([string_handle], [{ dtype: resource, shape: [] }], ([array]) => {
      const found = byText.find(array!);
      if (output_types.length > 0 || output_shapes.length > 0)
        checkCompatible({ types: output_types, shapes: output_shapes }, found);
      return [handleOf(found)];
    })[0]!,
  }),
  cases: () => [],
});
