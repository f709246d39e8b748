/** @file Select and SelectV2: elements of one tensor or another, by a condition. */
import { bool } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import {
  broadcastConcrete,
  type Dims,
  mergeShapes,
  type Shape,
  sameShape,
  showRuntime,
  showShape,
} from '../../core/shape.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Alike, CommonDType } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType } from '../../op/attrs.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { select } from '../../program/map.ts';
import { zeros } from '../array/fill.ts';
import { Where } from '../array/where.ts';
import { reduceGradients } from './broadcast.ts';
import { broadcastPorts, type NameOption } from './elementwise.ts';
import { zerosLike } from './zerosLike.ts';

/** The common shape of `t` and `e`; the condition has it too, or is a scalar, or has one entry per row. */
function selectShape(condition: Dims, t: Dims, e: Dims): Dims {
  let values: Dims;
  try {
    values = mergeShapes(t, e);
  } catch {
    throw new InvalidArgumentError(
      `t is ${showShape(t)} and e is ${showShape(e)}; tf.where wants equal shapes. tf.whereV2 broadcasts.`,
    );
  }
  if (condition === null || values === null || condition.length === 0) return values;
  const rows = condition.length === 1 && values.length > 1 ? [condition[0]!, ...values.slice(1)] : condition;
  try {
    return mergeShapes(rows, values);
  } catch {
    throw new InvalidArgumentError(
      `condition is ${showShape(condition)} but t and e are ${showShape(values)}; the condition must have their shape, be a scalar, or be a vector with one entry per row. tf.whereV2 broadcasts.`,
    );
  }
}

export const Select = defineOp({
  name: 'Select',
  inputs: { condition: 'bool', t: 'T', e: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  shape: ({ condition, t, e }) => ({ output: selectShape(condition, t, e) }),
  grad({ inputs: { condition, t } }, { output: dy }) {
    const none = zerosLike(t);
    const dt = where(condition, dy, none);
    return { condition: null, t: dt, e: where(condition, none, dy) };
  },
  lower(p, { condition, t, e }, _, node) {
    const refuse = (port: number, first: Shape, other: Shape) => {
      throw new InvalidArgumentError(
        `Inputs to operation ${node.name} of type Select must have the same size and shape.  Input 0: ${showRuntime(first)} != input ${port}: ${showRuntime(other)}`,
      );
    };
    const { shape } = condition;
    if (!sameShape(t.shape, e.shape)) refuse(2, t.shape, e.shape);
    if (shape.length === 1 && t.shape.length > 1) {
      if (shape[0] !== t.shape[0])
        throw new InvalidArgumentError(
          `Number of batches of 'then' must match size of 'cond', but saw: ${t.shape[0]} vs. ${shape[0]}`,
        );
      const rows = p.reshape(condition, [shape[0]!, ...t.shape.slice(1).map(() => 1)]);
      return { output: p.map([rows, t, e], (c, x, y) => select(c!, x!, y!)) };
    }
    if (shape.length > 0 && !sameShape(shape, t.shape)) refuse(1, shape, t.shape);
    return { output: p.map([condition, t, e], (c, x, y) => select(c!, x!, y!)) };
  },
  cases: () => [
    { shape: '[2, ?], [?, 3], [2, 3] -> [2, 3]' },
    { shape: '[2], [?, 3], [?, ?] -> [2, 3]' },
    { shape: '[], [?, 3], [2, ?] -> [2, 3]' },
    { shape: '[3], [2, 3], [2, 3]', rejects: /one entry per row/ },
    { shape: '[2], [2], [3]', rejects: /wants equal shapes/ },
    { given: { condition: [true, false], t: [1, 2], e: [3, 4] }, expect: { output: [1, 4] } },
    {
      given: {
        condition: [true, false],
        t: [
          [1, 2],
          [3, 4],
        ],
        e: [
          [5, 6],
          [7, 8],
        ],
      },
      expect: {
        output: [
          [1, 2],
          [7, 8],
        ],
      },
    },
    { given: { condition: false, t: [1, 2], e: [3, 4] }, expect: { output: [3, 4] } },
    { given: { condition: [true, false], t: ['a', 'b'], e: ['c', 'd'] }, expect: { output: ['a', 'd'] } },
    { given: { condition: [true], t: [1], e: [Number.NaN] }, expect: { output: [1] }, differentiable: false },
  ],
});

/** At run time, in TensorFlow's words. */
function checkBroadcast(condition: Shape, t: Shape, e: Shape): void {
  try {
    broadcastConcrete(broadcastConcrete(condition, t), e);
  } catch {
    const [c, x, y] = [condition, t, e].map((shape) => showRuntime(shape));
    throw new InvalidArgumentError(`condition ${c}, then ${x}, and else ${y} must be broadcastable`);
  }
}

export const SelectV2 = defineOp({
  name: 'SelectV2',
  inputs: { condition: 'bool', t: 'T', e: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  shape: ({ condition, t, e }) => ({
    output: broadcastPorts(['condition', condition], ['t and e together', broadcastPorts(['t', t], ['e', e])]),
  }),
  grad({ inputs: { condition, t, e }, outputs: { output } }, { output: dy }) {
    const none = zeros([], { dtype: dy.dtype });
    const dt = whereV2(condition, dy, none);
    const de = whereV2(condition, none, dy);
    const [forT] = reduceGradients(t, output, dt, null);
    const [forE] = reduceGradients(e, output, de, null);
    return { condition: null, t: forT, e: forE };
  },
  lower(p, { condition, t, e }) {
    checkBroadcast(condition.shape, t.shape, e.shape);
    return { output: p.map([condition, t, e], (c, x, y) => select(c!, x!, y!)) };
  },
  partialValue({ inputs: { condition, t, e } }, known) {
    const chosen = constantValue(condition);
    return chosen?.rank === 0 ? known(chosen.at(0) ? t : e) : undefined;
  },
  cases: () => [
    { shape: '[2, 1], [3], [?] -> [2, 3]' },
    { shape: '?, [3], [3] -> ?' },
    { shape: '[2], [3], [3]', rejects: /Dimensions must be equal, but are 2 and 3/ },
    { given: { condition: [true, false], t: [1, 2], e: [3, 4] }, expect: { output: [1, 4] } },
    { given: { condition: [true, false], t: [1, 2], e: [3, 4, 5] }, fails: /must be broadcastable|t is \[2\] and e is \[3\]/ }, // biome-ignore format: a row
    {
      given: { condition: [[true], [false]], t: [1, 2], e: 9 },
      expect: {
        output: [
          [1, 2],
          [9, 9],
        ],
      },
    },
    { given: { condition: [true, false], t: 'a', e: ['c', 'd'] }, expect: { output: ['a', 'd'] } },
  ],
});

/** The coordinates of the true elements. */
function coordinates(condition: TensorLike, options: TensorLike | NameOption | undefined): Tensor {
  if (options !== undefined && !isOptions(options))
    throw userError('tf.where takes a condition alone, or a condition with both x and y.');
  return nameScope(options?.name ?? 'Where', (name) => {
    const input = convertToTensor(condition, { name: 'condition', hint: bool });
    return Where.build({ input }, { name }).index;
  });
}

function isOptions(value: TensorLike | NameOption): value is NameOption {
  return typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype && !isSymbolic(value);
}

/**
 * `x` where the condition is true, else `y`; both have one shape, and a vector condition picks whole rows. With the
 * condition alone, the coordinates of its true elements. Adds one `Select` node, or `Where`.
 *
 * @example tf.where([true, false], [1, 2], [3, 4]) // runs to [1 4]
 * @example tf.where([false, true, true]) // runs to [[1] [2]]
 */
export function where(condition: TensorLike, options?: NameOption): Tensor;
export function where<X extends TensorLike, Y extends TensorLike>(
  condition: TensorLike,
  x: X,
  y: Alike<X, Y>,
  options?: NameOption,
): Tensor<CommonDType<X, Y>>;
export function where(
  condition: TensorLike,
  x?: TensorLike | NameOption,
  y?: TensorLike,
  options?: NameOption,
): Tensor {
  if (y === undefined) return coordinates(condition, x);
  return Select.build({ condition, t: x as TensorLike, e: y }, options).output; // the overload with x and y
}

/**
 * As `tf.where`, but condition, `x` and `y` broadcast against each other. Adds one `SelectV2` node, or `Where`.
 *
 * @example tf.whereV2([true, false], [1, 2], 9) // runs to [1 9]
 */
export function whereV2(condition: TensorLike, options?: NameOption): Tensor;
export function whereV2<X extends TensorLike, Y extends TensorLike>(
  condition: TensorLike,
  x: X,
  y: Alike<X, Y>,
  options?: NameOption,
): Tensor<CommonDType<X, Y>>;
export function whereV2(
  condition: TensorLike,
  x?: TensorLike | NameOption,
  y?: TensorLike,
  options?: NameOption,
): Tensor {
  if (y === undefined) return coordinates(condition, x);
  return SelectV2.build({ condition, t: x as TensorLike, e: y }, options).output; // the overload with x and y
}
