/** @file Random graphs over the public functions: broadcasting, odd shapes, empty dims, mixed types; the same graph for the same seed. */
import * as tf from '../../src/api/index.ts';
import { fromElements, type NDArray } from '../../src/core/ndarray.ts';
import { isFullyDefined, type Shape, sizeOf } from '../../src/core/shape.ts';
import type { Chance } from '../../test/backend/fuzz/chance.ts';

/** A tensor of the pool: how large its elements can get, and whether they carry no rounding. */
interface Item {
  readonly t: tf.Tensor;
  readonly bound: number;
  /** Without rounding, functions that jump (floor, comparisons, casts to integers) have only one right answer. */
  readonly exact: boolean;
}

export interface RandomGraph {
  readonly graph: tf.Graph;
  readonly feeds: readonly (readonly [tf.Tensor, NDArray])[];
  readonly fetches: readonly tf.Tensor[];
  /** Float inputs, for the gradient. */
  readonly xs: readonly tf.Tensor[];
}

type Step = (pick: Picker) => Item | readonly Item[] | undefined;

const floatTypes = [tf.float32, tf.float32, tf.float32, tf.float64, tf.float16] as const;
const intTypes = [tf.int32, tf.int32, tf.int64, tf.uint8, tf.int8] as const;
/** Sums and products beyond this lose integers' low bits in float32 and leave float16. */
const largest = 2000;

/** Chooses tensors from the pool that fit a need. */
class Picker {
  constructor(
    readonly chance: Chance,
    readonly pool: readonly Item[],
  ) {}

  any(fits: (item: Item) => boolean = () => true): Item | undefined {
    const found = this.pool.filter(fits);
    return found.length === 0 ? undefined : this.chance.pick(found);
  }
  float(fits: (item: Item) => boolean = () => true): Item | undefined {
    return this.any((item) => item.t.dtype.isFloating && fits(item));
  }
  number(fits: (item: Item) => boolean = () => true): Item | undefined {
    return this.any((item) => (item.t.dtype.isFloating || item.t.dtype.isInteger) && fits(item));
  }
  /** A second operand of the same type that broadcasts with the first. */
  partner(first: Item): Item {
    const fits = (item: Item) => item.t.dtype === first.t.dtype && broadcasts(shapeOf(item), shapeOf(first));
    return this.any(fits) ?? first;
  }
  axis(item: Item): number | undefined {
    const rank = shapeOf(item).length;
    return rank === 0 ? undefined : this.chance.integer(-rank, rank - 1);
  }
  /** Some axes, possibly none. */
  axes(item: Item): number[] {
    return shapeOf(item).flatMap((_, i) => (this.chance.happens(0.5) ? [i] : []));
  }
}

function shapeOf({ t }: Item): Shape {
  if (!isFullyDefined(t.shape)) throw new Error(`${t} has lost its static shape`);
  return t.shape;
}

function broadcasts(a: Shape, b: Shape): boolean {
  for (let i = 1; i <= Math.min(a.length, b.length); i++) {
    const [x, y] = [a.at(-i)!, b.at(-i)!];
    if (x !== y && x !== 1 && y !== 1) return false;
  }
  return true;
}

const keepsExact = ({ t }: Item) => t.dtype !== tf.float16;

/** Elementwise, smooth, with rounding. `bound` says how large the result gets, or that the input is too large. */
const smooth: readonly (readonly [(x: tf.Tensor) => tf.Tensor, (bound: number) => number | undefined])[] = [
  [tf.exp, (b) => (b <= 4 ? Math.exp(b) : undefined)],
  [tf.tanh, () => 1],
  [tf.sigmoid, () => 1],
  [tf.sin, () => 1],
  [tf.cos, () => 1],
  [tf.atan, () => 2],
  [tf.erf, () => 1],
  [tf.expm1, (b) => (b <= 4 ? Math.exp(b) : undefined)],
  [tf.nn.softplus, (b) => b + 1],
  [tf.nn.elu, (b) => b],
  [tf.nn.softsign, () => 1],
  [(x) => tf.sqrt(tf.abs(x)), (b) => b + 1],
  [(x) => tf.log1p(tf.abs(x)), (b) => b],
  [(x) => tf.rsqrt(tf.add(tf.square(x), 1)), (b) => (b < 40 ? 1 : undefined)],
];

const steps: Readonly<Record<string, Step>> = {
  smooth(pick) {
    const [f, grow] = pick.chance.pick(smooth);
    const x = pick.float();
    const bound = x && grow(x.bound);
    return x && bound !== undefined ? { t: f(x.t), bound, exact: false } : undefined;
  },
  sign(pick) {
    const x = pick.number();
    const f = pick.chance.pick([tf.abs, tf.negative, tf.nn.relu, tf.identity]);
    if (!x || x.t.dtype === tf.uint8) return undefined;
    return { t: f(x.t), bound: x.bound, exact: x.exact };
  },
  jump(pick) {
    const x = pick.float((i) => i.exact);
    if (!x) return undefined;
    // TensorFlow has no Rint of float16.
    const f = pick.chance.pick([tf.floor, tf.ceil, tf.round, tf.sign, x.t.dtype === tf.float16 ? tf.floor : tf.rint]);
    return { t: f(x.t), bound: x.bound + 1, exact: true };
  },
  square(pick) {
    const x = pick.number((i) => i.bound ** 2 < largest);
    return x && { t: tf.square(x.t), bound: x.bound ** 2, exact: x.exact && keepsExact(x) };
  },
  addition(pick) {
    const x = pick.number((i) => i.bound < largest / 2);
    if (!x) return undefined;
    const y = pick.partner(x);
    const f = pick.chance.pick([tf.add, tf.subtract, tf.maximum, tf.minimum]);
    return { t: f(x.t, y.t), bound: x.bound + y.bound, exact: x.exact && y.exact && keepsExact(x) };
  },
  operators(pick) {
    const x = pick.number((i) => i.bound < largest / 2);
    if (!x) return undefined;
    const y = pick.partner(x);
    const bound = Math.max(x.bound + y.bound, x.bound * y.bound);
    if (bound > largest) return undefined;
    const f = pick.chance.pick(['add', 'sub', 'mul'] as const);
    return { t: x.t[f](y.t), bound, exact: x.exact && y.exact && keepsExact(x) };
  },
  product(pick) {
    const x = pick.number();
    if (!x) return undefined;
    const y = pick.partner(x);
    if (x.bound * y.bound > largest) return undefined;
    return { t: tf.multiply(x.t, y.t), bound: x.bound * y.bound, exact: x.exact && y.exact && keepsExact(x) };
  },
  quotient(pick) {
    const x = pick.float();
    if (!x) return undefined;
    const y = pick.partner(x);
    return { t: tf.divide(x.t, tf.add(tf.abs(y.t), 1)), bound: x.bound, exact: false };
  },
  modulo(pick) {
    const x = pick.any((i) => i.t.dtype.isInteger);
    if (!x) return undefined;
    const by = pick.chance.integer(2, 7);
    const f = pick.chance.pick([tf.floormod, tf.floordiv]);
    return { t: f(x.t, tf.constant(by, { dtype: x.t.dtype })), bound: x.bound + 7, exact: true };
  },
  compare(pick) {
    const x = pick.number((i) => i.exact);
    if (!x) return undefined;
    const y = pick.partner(x);
    if (!y.exact) return undefined;
    const f = pick.chance.pick([tf.less, tf.lessEqual, tf.greater, tf.greaterEqual, tf.equal, tf.notEqual]);
    return { t: f(x.t, y.t), bound: 1, exact: true };
  },
  logic(pick) {
    const x = pick.any((i) => i.t.dtype.isBool);
    if (!x) return undefined;
    const y = pick.partner(x);
    const f = pick.chance.pick([tf.logicalAnd, tf.logicalOr, tf.logicalXor]);
    return { t: f(x.t, y.t), bound: 1, exact: true };
  },
  select(pick) {
    const c = pick.any((i) => i.t.dtype.isBool);
    const x = c && pick.any((i) => broadcasts(shapeOf(i), shapeOf(c)));
    if (!c || !x) return undefined;
    const y = pick.partner(x);
    if (!broadcasts(shapeOf(y), shapeOf(c))) return undefined;
    // All three must broadcast together, not only in pairs.
    const t = attempt(() => tf.whereV2(c.t, x.t, y.t));
    return t && { t, bound: Math.max(x.bound, y.bound), exact: x.exact && y.exact };
  },
  cast(pick) {
    const x = pick.any((i) => i.exact && i.bound < 100);
    if (!x) return undefined;
    const dtype = pick.chance.pick([tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.float16]);
    if (x.t.dtype.isFloating && dtype.isBool) return undefined;
    return { t: tf.cast(x.t, dtype), bound: dtype.isBool ? 1 : x.bound, exact: true };
  },
  reduce(pick) {
    const x = pick.number((i) => i.bound * Math.max(1, sizeOf(shapeOf(i))) < largest);
    if (!x) return undefined;
    const axes = pick.axes(x);
    const keepdims = pick.chance.happens(0.4);
    const isEmpty = sizeOf(shapeOf(x)) === 0;
    const kinds = [
      tf.reduceSum,
      ...(isEmpty ? [] : [tf.reduceMax, tf.reduceMin]),
      ...(x.t.dtype.isFloating && !isEmpty ? [tf.reduceMean] : []),
    ];
    const f = pick.chance.pick(kinds);
    const isMean = f === tf.reduceMean;
    const t = pick.chance.happens(0.3) ? f(x.t) : f(x.t, axes, { keepdims });
    return { t, bound: x.bound * Math.max(1, sizeOf(shapeOf(x))), exact: x.exact && !isMean && keepsExact(x) };
  },
  reduceBool(pick) {
    const x = pick.any((i) => i.t.dtype.isBool);
    return x && { t: pick.chance.pick([tf.reduceAll, tf.reduceAny])(x.t, pick.axes(x)), bound: 1, exact: true };
  },
  matmul(pick) {
    const a = pick.float((i) => shapeOf(i).length >= 2 && shapeOf(i).length <= 3 && i.bound < 30);
    if (!a) return undefined;
    const [m, k] = shapeOf(a).slice(-2) as [number, number]; // rank two or more
    const transposeA = pick.chance.happens(0.3);
    const inner = transposeA ? m : k;
    const fits = (i: Item) =>
      i.t.dtype === a.t.dtype &&
      shapeOf(i).length === shapeOf(a).length &&
      i.bound < 30 &&
      shapeOf(i).slice(0, -2).join() === shapeOf(a).slice(0, -2).join();
    const b = pick.any((i) => fits(i) && shapeOf(i).at(-2) === inner);
    const c = pick.any((i) => fits(i) && shapeOf(i).at(-1) === inner);
    const other = b ?? c;
    if (!other || a.bound * other.bound * Math.max(1, inner) > largest) return undefined;
    const t = tf.matmul(a.t, other.t, { transposeA, transposeB: other !== b });
    return { t, bound: a.bound * other.bound * Math.max(1, inner), exact: a.exact && other.exact && keepsExact(a) };
  },
  reshape(pick) {
    const x = pick.any();
    if (!x) return undefined;
    const shape = shapeOf(x);
    const merged =
      shape.length >= 2 && pick.chance.happens(0.5) ? [shape[0]! * shape[1]!, ...shape.slice(2)] : [sizeOf(shape)];
    const target = pick.chance.happens(0.3) && sizeOf(shape) > 0 ? [...merged.slice(0, -1), -1] : [...merged, 1];
    return { ...x, t: tf.reshape(x.t, target) };
  },
  transpose(pick) {
    const x = pick.any((i) => shapeOf(i).length > 0);
    return x && { ...x, t: tf.transpose(x.t, pick.chance.order(shapeOf(x).length)) };
  },
  expand(pick) {
    const x = pick.any((i) => shapeOf(i).length < 4);
    if (!x) return undefined;
    const rank = shapeOf(x).length;
    return { ...x, t: tf.expandDims(x.t, pick.chance.integer(-rank - 1, rank)) };
  },
  squeeze(pick) {
    const x = pick.any((i) => shapeOf(i).includes(1));
    return x && { ...x, t: tf.squeeze(x.t) };
  },
  slice(pick) {
    const x = pick.any((i) => shapeOf(i).length > 0);
    if (!x) return undefined;
    const begin = shapeOf(x).map((d) => pick.chance.integer(0, d));
    const size = shapeOf(x).map((d, i) => (pick.chance.happens(0.3) ? -1 : pick.chance.integer(0, d - begin[i]!)));
    return { ...x, t: tf.slice(x.t, begin, size) };
  },
  strided(pick) {
    const x = pick.any((i) => shapeOf(i).length > 0);
    if (!x) return undefined;
    const rank = shapeOf(x).length;
    const ints = (low: number, high: number) => Array.from({ length: rank }, () => pick.chance.integer(low, high));
    const strides = ints(-2, 2).map((s) => s || 1);
    const mask = () => pick.chance.integer(0, 2 ** rank - 1);
    return { ...x, t: tf.stridedSlice(x.t, ints(-4, 4), ints(-4, 4), strides, { beginMask: mask(), endMask: mask() }) };
  },
  concat(pick) {
    const x = pick.any((i) => shapeOf(i).length > 0);
    const axis = x && pick.axis(x);
    if (!x || axis === undefined) return undefined;
    const at = axis < 0 ? axis + shapeOf(x).length : axis;
    const others = pick.pool.filter(
      (i) =>
        i.t.dtype === x.t.dtype &&
        shapeOf(i).length === shapeOf(x).length &&
        shapeOf(i).every((d, k) => k === at || d === shapeOf(x)[k]),
    );
    const y = pick.chance.pick(others);
    const z = pick.chance.pick(others);
    return {
      t: tf.concat([x.t, y.t, z.t], axis),
      bound: Math.max(x.bound, y.bound, z.bound),
      exact: x.exact && y.exact && z.exact,
    };
  },
  stack(pick) {
    const x = pick.any((i) => shapeOf(i).length < 4);
    if (!x) return undefined;
    const y = pick.any(
      (i) =>
        i.t.dtype === x.t.dtype && shapeOf(i).join() === shapeOf(x).join() && shapeOf(i).length === shapeOf(x).length,
    )!;
    return {
      t: tf.stack([x.t, y.t], { axis: pick.chance.integer(0, shapeOf(x).length) }),
      bound: Math.max(x.bound, y.bound),
      exact: x.exact && y.exact,
    };
  },
  split(pick) {
    const x = pick.any((i) => shapeOf(i).some((d) => d > 0 && d % 2 === 0));
    if (!x) return undefined;
    const axis = shapeOf(x).findIndex((d) => d > 0 && d % 2 === 0);
    return tf.split(x.t, 2, { axis }).map((t) => ({ ...x, t }));
  },
  pad(pick) {
    const x = pick.number((i) => shapeOf(i).length > 0 && sizeOf(shapeOf(i)) < 200);
    if (!x) return undefined;
    const paddings = shapeOf(x).map(() => [pick.chance.integer(0, 2), pick.chance.integer(0, 1)]);
    return { ...x, t: tf.pad(x.t, paddings) };
  },
  tile(pick) {
    const x = pick.any((i) => shapeOf(i).length > 0 && sizeOf(shapeOf(i)) < 100);
    return (
      x && {
        ...x,
        t: tf.tile(
          x.t,
          shapeOf(x).map(() => pick.chance.integer(0, 2)),
        ),
      }
    );
  },
  reverse(pick) {
    const x = pick.any((i) => shapeOf(i).length > 0);
    return x && { ...x, t: tf.reverse(x.t, pick.axes(x)) };
  },
  gather(pick) {
    const x = pick.any((i) => (shapeOf(i)[0] ?? 0) > 0);
    if (!x) return undefined;
    const indices = Array.from({ length: pick.chance.integer(0, 4) }, () => pick.chance.integer(0, shapeOf(x)[0]! - 1));
    return { ...x, t: tf.gather(x.t, tf.constant(fromElements(tf.int32, [indices.length], indices))) };
  },
  broadcast(pick) {
    const x = pick.any((i) => shapeOf(i).length < 3 && sizeOf(shapeOf(i)) < 100);
    return x && { ...x, t: tf.broadcastTo(x.t, [pick.chance.integer(0, 3), ...shapeOf(x)]) };
  },
  cumsum(pick) {
    const x = pick.number((i) => shapeOf(i).length > 0 && i.bound * sizeOf(shapeOf(i)) < largest);
    const axis = x && pick.axis(x);
    if (!x || axis === undefined) return undefined;
    const options = { exclusive: pick.chance.happens(0.5), reverse: pick.chance.happens(0.5) };
    return {
      t: tf.cumsum(x.t, axis, options),
      bound: x.bound * Math.max(1, sizeOf(shapeOf(x))),
      exact: x.exact && keepsExact(x),
    };
  },
  argmax(pick) {
    const x = pick.number((i) => i.exact && shapeOf(i).length > 0 && sizeOf(shapeOf(i)) > 0);
    const axis = x && pick.axis(x);
    return x && axis !== undefined
      ? { t: pick.chance.pick([tf.argmax, tf.argmin])(x.t, axis), bound: 10, exact: true }
      : undefined;
  },
  oneHot(pick) {
    const x = pick.any((i) => i.t.dtype === tf.int32 && shapeOf(i).length < 3);
    return x && { t: tf.oneHot(x.t, pick.chance.integer(0, 4)), bound: 1, exact: true };
  },
  softmax(pick) {
    const x = pick.float((i) => shapeOf(i).length > 0 && sizeOf(shapeOf(i)) > 0 && i.bound < 50);
    return x && { t: pick.chance.pick([tf.nn.softmax, tf.nn.logSoftmax])(x.t), bound: 100, exact: false };
  },
  zeros(pick) {
    const x = pick.number();
    return x && { t: pick.chance.pick([tf.zerosLike, tf.onesLike])(x.t), bound: 1, exact: true };
  },
  shape(pick) {
    const x = pick.any();
    return x && { t: tf.shape(x.t), bound: 20, exact: true };
  },
};

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/** Small multiples of 1/8: sums and products of a few of them are exact in float32. */
function values(chance: Chance, dtype: tf.Tensor['dtype'], shape: Shape): NDArray {
  const number = () => {
    if (dtype.isBool) return chance.happens(0.5);
    if (dtype.isFloating) return chance.integer(-24, 24) / 8;
    return chance.integer(dtype.isUnsigned ? 0 : -5, 5);
  };
  return fromElements(dtype, shape, Array.from({ length: sizeOf(shape) }, number));
}

/** The graph of a seed. */
export function randomGraph(chance: Chance): RandomGraph {
  const graph = new tf.Graph();
  return graph.asDefault(() => {
    const pool: Item[] = [];
    const feeds: (readonly [tf.Tensor, NDArray])[] = [];
    const sizes = Array.from({ length: 3 }, () => chance.pick([1, 1, 2, 3, 4, 5, 0]));
    for (let i = chance.integer(2, 5); i > 0; i--) {
      const dtype = chance.happens(0.6)
        ? chance.pick(floatTypes)
        : chance.happens(0.7)
          ? chance.pick(intTypes)
          : tf.bool;
      const shape = Array.from({ length: chance.integer(0, 3) }, () => (chance.happens(0.3) ? 1 : chance.pick(sizes)));
      const array = values(chance, dtype, shape);
      const t = chance.happens(0.8) ? tf.placeholder(dtype, shape) : tf.constant(array);
      if (t.op.type === 'Placeholder') feeds.push([t, array]);
      pool.push({ t, bound: dtype.isBool ? 1 : 5, exact: true });
    }
    const names = Object.keys(steps);
    for (let i = chance.integer(4, 16); i > 0; i--) {
      const made = steps[chance.pick(names)]!(new Picker(chance, pool));
      for (const item of made === undefined ? [] : 't' in made ? [made] : made)
        if (sizeOf(shapeOf(item)) < 2000) pool.push(item);
    }
    const leaves = pool.filter(({ t }) => t.consumers().length === 0 && t.op.type !== 'Placeholder');
    if (leaves.length === 0) leaves.push({ ...pool[0]!, t: tf.identity(pool[0]!.t) });
    return {
      graph,
      feeds,
      fetches: leaves.map(({ t }) => t),
      xs: feeds.map(([t]) => t).filter((t) => t.dtype.isFloating),
    };
  });
}
