/** @file Range and LinSpace: evenly spaced numbers. */

import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { isOptions, onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { attr, indexTypes } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import { add, cast, constant, eq, mul, select } from '../../program/map.ts';
import { complete, type Named, ofRank, scoped } from './common.ts';
import { cast as castTensor } from './neighbours.ts';

/** How many numbers lie in [start, limit) at distance delta, with TensorFlow's checks. */
function countOf(start: number, limit: number, delta: number): number {
  if (delta === 0) throw new InvalidArgumentError('Requires delta != 0: 0');
  if (delta > 0 && start > limit)
    throw new InvalidArgumentError(`Requires start <= limit when delta > 0: ${start}/${limit}`);
  if (delta < 0 && start < limit)
    throw new InvalidArgumentError(`Requires start >= limit when delta < 0: ${start}/${limit}`);
  return Math.ceil(Math.abs((limit - start) / delta));
}

export const Range = defineOp({
  name: 'Range',
  inputs: { start: 'Tidx', limit: 'Tidx', delta: 'Tidx' },
  outputs: { output: 'Tidx' },
  attrs: {
    Tidx: attr('type', {
      allowed: [
        d.bfloat16,
        d.float16,
        d.float32,
        d.float64,
        d.int8,
        d.int16,
        d.int32,
        d.int64,
        d.uint16,
        d.uint32,
        d.uint64,
      ],
      default: d.int32,
    }),
  },
  hostInputs: ['start', 'limit', 'delta'],
  shape({ start, limit, delta }, _, context) {
    ofRank(start, 0, 'start');
    ofRank(limit, 0, 'limit');
    ofRank(delta, 0, 'delta');
    const known = (['start', 'limit', 'delta'] as const).map(
      (port) => context.value(port)?.numberAt(0) ?? context.partial(port)?.[0],
    );
    const [a, b, c] = known;
    return { output: [a == null || b == null || c == null ? null : countOf(a, b, c)] };
  },
  grad: notDifferentiable,
  lower(p, { start, limit, delta }, { Tidx }) {
    const [a, b, c] = [start, limit, delta].map((v) => p.demand(v));
    const count = countOf(a!.numberAt(0), b!.numberAt(0), c!.numberAt(0));
    const output = p.mapAll([start, delta], (x, step) => [add(x, mul(cast(position, Tidx), step))], [count])[0]!;
    return { output };
  },
  partialValue({ inputs }, known) {
    const [a, b, c] = [inputs.start, inputs.limit, inputs.delta].map((t) => complete(known(t))?.[0]);
    if (a === undefined || b === undefined || c === undefined) return undefined;
    return Array.from({ length: countOf(a, b, c) }, (_, i) => a + i * c);
  },
  cases: () => [
    { shape: '[], [], [] -> [?]' },
    {
      shape: '[], [], [] -> [3]',
      given: {
        start: { dtype: 'int32', value: 1 },
        limit: { dtype: 'int32', value: 7 },
        delta: { dtype: 'int32', value: 2 },
      },
    },
    {
      given: {
        start: { dtype: 'int32', value: 5 },
        limit: { dtype: 'int32', value: 0 },
        delta: { dtype: 'int32', value: -2 },
      },
      expect: { output: { dtype: 'int32', value: [5, 3, 1] } },
    },
    { given: { start: 0, limit: 1, delta: 0.25 }, expect: { output: [0, 0.25, 0.5, 0.75] } },
    {
      given: {
        start: { dtype: 'int32', value: 5 },
        limit: { dtype: 'int32', value: 0 },
        delta: { dtype: 'int32', value: 1 },
      },
      fails: /Requires start <= limit when delta > 0: 5\/0/,
    },
  ],
});

/** The position along the only axis of a vector. */
const position = { op: 'index', dtype: d.int64, axis: 0 } as const;

export const LinSpace = defineOp({
  name: 'LinSpace',
  inputs: { start: 'T', stop: 'T', num: 'Tidx' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [d.bfloat16, d.float16, d.float32, d.float64] }), Tidx: indexTypes },
  hostInputs: ['num'],
  shape({ start, stop, num }, _, context) {
    ofRank(start, 0, 'start');
    ofRank(stop, 0, 'stop');
    ofRank(num, 0, 'num');
    const count = context.partial('num')?.[0];
    if (count != null && count <= 0) throw new InvalidArgumentError(`Requires num > 0: ${count}`);
    return { output: [count ?? null] };
  },
  grad: gradientPending('TensorFlow has no gradient for LinSpace either'),
  lower(p, { start, stop, num }, { T }) {
    const count = p.demandInts(num)[0]!;
    if (count <= 0) throw new InvalidArgumentError(`Requires num > 0: ${count}`);
    if (count === 1) return { output: p.reshape(p.copy(start), [1]) };
    const step = p.map([start, stop], (a, b) => ({
      op: 'div',
      dtype: T,
      args: [{ op: 'sub', dtype: T, args: [b, a] }, constant(count - 1, T)],
    }));
    const output = p.mapAll(
      [start, stop, step],
      (a, b, h) => [select(eq(position, count - 1), b, add(a, mul(cast(position, T), h)))],
      [count],
    )[0]!;
    return { output };
  },
  cases: () => [
    { shape: '[], [], [] -> [4]', given: { num: { dtype: 'int32', value: 4 } } },
    { shape: '[], [], [] -> [?]' },
    { given: { start: 1, stop: 5, num: { dtype: 'int32', value: 5 } }, expect: { output: [1, 2, 3, 4, 5] } },
    { given: { start: 10, stop: 12, num: { dtype: 'int32', value: 1 } }, expect: { output: [10] } },
    { given: { start: 1, stop: 5, num: { dtype: 'int32', value: 0 } }, fails: /Requires num > 0: 0/ },
  ],
});

export interface RangeOptions extends Named {
  readonly dtype?: d.DType | undefined;
}

/** From narrow to wide: the result has the widest type among start, limit and delta. */
const widening: readonly d.DType[] = [d.int32, d.int64, d.float16, d.bfloat16, d.float32, d.float64];

/**
 * The numbers from `start` (0 unless given) up to but without `limit`, `delta` apart. Adds `range/start`,
 * `range/limit`, `range/delta` constants and one `Range` node.
 *
 * @example tf.range(3, 18, 5) // runs to [ 3  8 13]
 */
export function range(limit: TensorLike, options?: RangeOptions): Tensor;
export function range(start: TensorLike, limit: TensorLike, options?: RangeOptions): Tensor;
export function range(start: TensorLike, limit: TensorLike, delta: TensorLike, options?: RangeOptions): Tensor;
export function range(...args: readonly (TensorLike | RangeOptions | undefined)[]): Tensor {
  const last = args.at(-1);
  const options: RangeOptions = isOptions(last) ? (last as RangeOptions) : {}; // a plain object is never a tensor
  const { name = 'range', dtype } = onlyOptions('tf.range', options, 'name', 'dtype');
  // What is left after the options is one, two or three numbers, as the overloads say.
  const numbers = args.filter((x) => x !== undefined && !isOptions(x)) as readonly TensorLike[];
  const [start, limit, delta] =
    numbers.length === 1 ? [0, numbers[0]!, 1] : [numbers[0]!, numbers[1]!, numbers[2] ?? 1];
  return scoped(name, [start, limit, delta], (scope) => {
    const convert = (value: TensorLike, port: string) =>
      value instanceof Tensor ? value : convertToTensor(value, { dtype, name: port });
    const values = [convert(start, 'start'), convert(limit, 'limit'), convert(delta, 'delta')];
    const type = dtype ?? widening[Math.max(...values.map((v) => widening.indexOf(v.dtype)))];
    const [a, b, c] = values.map((v) => castTensor(v, type ?? v.dtype));
    return Range.build({ start: a!, limit: b!, delta: c! }, { name: scope }).output;
  });
}
