/** @file The ops of staging areas whose elements have keys: MapStage, OrderedMapStage and their kin. */
import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { sharedAttrs } from './handles.ts';
import { MapStagingArea } from './staging.ts';
import { type AreaOf, checkCount, clearingOp, countingOp, limits, someTypes, unknown } from './stagingOps.ts';

type MapAreaOf = AreaOf<MapStagingArea>;

function keyIn(array: NDArray | undefined, complaint: string): bigint {
  if (array!.rank > 0)
    throw new InvalidArgumentError(`key must be an int64 scalar${complaint}: ${showRuntime(array!.shape)}`);
  return array!.data[0] as bigint; // int64
}

/** Puts a tuple, or a part of one, under a key. */
const stageOp = (name: string, areaFor: MapAreaOf) =>
  defineOp({
    name,
    inputs: { key: 'int64', indices: 'int32', values: 'fake_dtypes' },
    outputs: {},
    attrs: { ...limits, dtypes: attr('list(type)'), fake_dtypes: attr('list(type)', { minimum: 1 }), ...sharedAttrs },
    stateful: true,
    mayWait: true,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { key, indices, values }, attrs, node) {
      const area = areaFor(p, attrs, node.name);
      p.host([key, indices, ...values], [], async ([at, which, ...tuple], run) => {
        await area().put(keyIn(at, ', got tensor with shape'), which!.numbers(), tuple, attrs.dtypes.length, run);
        return [];
      });
      return {};
    },
    cases: () => [{ shape: '[], [1], [2, ?] ->', attrs: { dtypes: ['float32'] } }],
  });

/** What is under a key, once it is there. */
const takingOp = (name: string, areaFor: MapAreaOf, method: 'peek' | 'take') =>
  defineOp({
    name,
    inputs: { key: 'int64', indices: 'int32' },
    outputs: { values: 'dtypes' },
    attrs: someTypes,
    stateful: true,
    mayWait: true,
    shape: (_, { dtypes }) => ({ values: dtypes.map(() => null) }),
    grad: notDifferentiable,
    lower(p, { key, indices }, attrs, node) {
      const area = areaFor(p, attrs, node.name);
      return {
        values: p.host([key, indices], unknown(attrs.dtypes), async ([at, which], run) =>
          checkCount(await area()[method](keyIn(at, ''), which!.numbers(), run), attrs.dtypes),
        ),
      };
    },
    cases: () => [{ shape: '[], [1] -> ?', attrs: { dtypes: ['float32'] } }],
  });

/** The next element, whatever its key is. */
const takingNextOp = (name: string, areaFor: MapAreaOf) =>
  defineOp({
    name,
    inputs: { indices: 'int32' },
    outputs: { key: 'int64', values: 'dtypes' },
    attrs: someTypes,
    stateful: true,
    mayWait: true,
    shape: (_, { dtypes }) => ({ key: null, values: dtypes.map(() => null) }),
    grad: notDifferentiable,
    lower(p, { indices }, attrs, node) {
      const area = areaFor(p, attrs, node.name);
      const results = unknown([int64, ...attrs.dtypes]);
      const [key, ...values] = p.host([indices], results, async ([which], run) => {
        const next = await area().takeNext(which!.numbers(), run);
        return [new NDArray(int64, [], new BigInt64Array([next.key])), ...checkCount(next.tuple, attrs.dtypes)];
      });
      return { key: key!, values };
    },
    cases: () => [{ shape: '[1] -> ?, ?', attrs: { dtypes: ['float32'] } }],
  });

function mapOps(prefix: 'Map' | 'OrderedMap') {
  const areaFor: MapAreaOf = (p, { container, shared_name, capacity, memory_limit, dtypes }, node) => {
    const make = () => new MapStagingArea({ capacity, memory_limit }, dtypes.length, prefix === 'OrderedMap');
    const handle = p.shared({ container, name: shared_name || node }, make).known!; // p.shared gives it
    return () => sharedObject(handle, MapStagingArea);
  };
  return {
    stage: stageOp(`${prefix}Stage`, areaFor),
    peek: takingOp(`${prefix}Peek`, areaFor, 'peek'),
    unstage: takingOp(`${prefix}Unstage`, areaFor, 'take'),
    unstageNoKey: takingNextOp(`${prefix}UnstageNoKey`, areaFor),
    size: countingOp(`${prefix}Size`, areaFor, (area) => area.size),
    incompleteSize: countingOp(`${prefix}IncompleteSize`, areaFor, (area) => area.incompleteSize),
    clear: clearingOp(`${prefix}Clear`, areaFor),
  };
}

export const unorderedMap = mapOps('Map');
export const orderedMap = mapOps('OrderedMap');
