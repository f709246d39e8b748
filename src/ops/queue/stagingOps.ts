/** @file The ops of staging areas: Stage, Unstage and their kin. */
import { type DType, int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { HostResult } from '../../program/tracing.ts';
import { sharedAttrs } from './handles.ts';
import type { Tuple } from './queue.ts';
import { type Limits, StagingArea } from './staging.ts';

export const limits = {
  capacity: attr('int', { minimum: 0, default: 0 }),
  memory_limit: attr('int', { minimum: 0, default: 0 }),
} as const;
export const someTypes = { ...limits, dtypes: attr('list(type)', { minimum: 1 }), ...sharedAttrs } as const;
const anyTypes = { ...limits, dtypes: attr('list(type)'), ...sharedAttrs } as const;

interface AreaAttrs extends Limits {
  readonly dtypes: readonly DType[];
  readonly container: string;
  readonly shared_name: string;
}
/** Finds the area that a node names, by its shared name or its own. */
export type AreaOf<A> = (p: ProgramBuilder, attrs: AreaAttrs, node: string) => () => A;

export const unknown = (types: readonly DType[]): HostResult[] => types.map((dtype) => ({ dtype }));

export function checkCount(tuple: Tuple, types: readonly DType[]): Tuple {
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
export const countingOp = <A>(name: string, areaFor: AreaOf<A>, count: (area: A) => number) =>
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
export const clearingOp = (name: string, areaFor: AreaOf<{ clear(): void }>) =>
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
