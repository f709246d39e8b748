/** @file The ops of staging areas: Stage, Unstage and their kin, and those of areas with keys. */
import { type DType, int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray, scalar } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { HostResult } from '../../program/tracing.ts';
import { sharedAttrs } from './handles.ts';
import type { Tuple } from './queue.ts';
import { type Limits, MapStagingArea, StagingArea } from './staging.ts';

const limits = {
  capacity: attr('int', { minimum: 0, default: 0 }),
  memory_limit: attr('int', { minimum: 0, default: 0 }),
} as const;
const someTypes = { ...limits, dtypes: attr('list(type)', { minimum: 1 }), ...sharedAttrs } as const;
const anyTypes = { ...limits, dtypes: attr('list(type)'), ...sharedAttrs } as const;

interface AreaAttrs extends Limits {
  readonly dtypes: readonly DType[];
  readonly container: string;
  readonly shared_name: string;
}
/** Finds the area that a node names, by its shared name or its own. */
type AreaOf<A> = (p: ProgramBuilder, attrs: AreaAttrs, node: string) => () => A;

const unknown = (types: readonly DType[]): HostResult[] => types.map((dtype) => ({ dtype }));

function checkCount(tuple: Tuple, types: readonly DType[]): Tuple {
  if (tuple.length !== types.length)
    throw new InvalidArgumentError(`Mismatch stage/unstage: ${tuple.length} vs. ${types.length}`);
  return tuple;
}

const areaOf: AreaOf<StagingArea> = (p, { container, shared_name, capacity, memory_limit }, node) => {
  const make = () => new StagingArea({ capacity, memory_limit });
  const handle = p.shared({ container, name: shared_name || node }, make).known!; // p.shared gives it
  return () => sharedObject(handle, StagingArea);
};

/** How many elements an area has. */
const countingOp = <A>(name: string, areaFor: AreaOf<A>, count: (area: A) => number) =>
  defineOp({
    name,
    inputs: {},
    outputs: { size: 'int32' },
    attrs: anyTypes,
    stateful: true,
    shape: () => ({ size: [] }),
    grad: notDifferentiable,
    lower(p, _, attrs, node) {
      const area = areaFor(p, attrs, node.name);
      return { size: p.host([], [{ dtype: int32, shape: [] }], () => [scalar(int32, count(area()))])[0]! };
    },
    cases: () => [{ shape: '-> []', attrs: { dtypes: ['float32'] } }],
  });

/** Empties an area. */
const clearingOp = (name: string, areaFor: AreaOf<{ clear(): void }>) =>
  defineOp({
    name,
    inputs: {},
    outputs: {},
    attrs: anyTypes,
    stateful: true,
    mayWait: true,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, _, attrs, node) {
      const area = areaFor(p, attrs, node.name);
      p.host([], [], () => {
        area().clear();
        return [];
      });
      return {};
    },
    cases: () => [{ shape: '->', attrs: { dtypes: ['float32'] } }],
  });

export const Stage = defineOp({
  name: 'Stage',
  inputs: { values: 'dtypes' },
  outputs: {},
  attrs: someTypes,
  stateful: true,
  mayWait: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { values }, attrs, node) {
    const area = areaOf(p, attrs, node.name);
    p.host(values, [], async (tuple, run) => {
      await area().put(tuple, run);
      return [];
    });
    return {};
  },
  cases: () => [{ shape: '[2, ?] ->' }],
});

export const Unstage = defineOp({
  name: 'Unstage',
  inputs: {},
  outputs: { values: 'dtypes' },
  attrs: someTypes,
  stateful: true,
  mayWait: true,
  shape: (_, { dtypes }) => ({ values: dtypes.map(() => null) }),
  grad: notDifferentiable,
  lower(p, _, attrs, node) {
    const area = areaOf(p, attrs, node.name);
    const { dtypes } = attrs;
    return {
      values: p.host([], unknown(dtypes), async (_inputs, run) => checkCount(await area().get(run), dtypes)),
    };
  },
  cases: () => [{ shape: '-> ?', attrs: { dtypes: ['float32'] } }],
});

export const StagePeek = defineOp({
  name: 'StagePeek',
  inputs: { index: 'int32' },
  outputs: { values: 'dtypes' },
  attrs: someTypes,
  stateful: true,
  mayWait: true,
  shape: (_, { dtypes }) => ({ values: dtypes.map(() => null) }),
  grad: notDifferentiable,
  lower(p, { index }, attrs, node) {
    const area = areaOf(p, attrs, node.name);
    const { dtypes } = attrs;
    return {
      values: p.host([index], unknown(dtypes), async ([at], run) => {
        if (at!.rank > 0) throw new InvalidArgumentError('index must be scalar');
        return checkCount(await area().peek(at!.numberAt(0), run), dtypes);
      }),
    };
  },
  cases: () => [{ shape: '[] -> ?', attrs: { dtypes: ['float32'] } }],
});

export const StageSize = countingOp('StageSize', areaOf, (area) => area.size);
export const StageClear = clearingOp('StageClear', areaOf);

/** The ops of areas whose elements have keys. */
function mapOps(prefix: 'Map' | 'OrderedMap') {
  const areaFor: AreaOf<MapStagingArea> = (p, attrs, node) => {
    const { container, shared_name, capacity, memory_limit, dtypes } = attrs;
    const make = () => new MapStagingArea({ capacity, memory_limit }, dtypes.length, prefix === 'OrderedMap');
    const handle = p.shared({ container, name: shared_name || node }, make).known!; // p.shared gives it
    return () => sharedObject(handle, MapStagingArea);
  };
  const keyIn = (array: NDArray | undefined, complaint: string) => {
    if (array!.rank > 0)
      throw new InvalidArgumentError(`key must be an int64 scalar${complaint}: ${showRuntime(array!.shape)}`);
    return array!.data[0] as bigint; // int64
  };

  const stage = defineOp({
    name: `${prefix}Stage`,
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

  const taking = (name: string, method: 'peek' | 'take') =>
    defineOp({
      name: `${prefix}${name}`,
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

  const unstageNoKey = defineOp({
    name: `${prefix}UnstageNoKey`,
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

  return {
    stage,
    peek: taking('Peek', 'peek'),
    unstage: taking('Unstage', 'take'),
    unstageNoKey,
    size: countingOp(`${prefix}Size`, areaFor, (area) => area.size),
    incompleteSize: countingOp(`${prefix}IncompleteSize`, areaFor, (area) => area.incompleteSize),
    clear: clearingOp(`${prefix}Clear`, areaFor),
  };
}

export const unorderedMap = mapOps('Map');
export const orderedMap = mapOps('OrderedMap');
