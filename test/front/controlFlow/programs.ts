/** @file Programs with branches and loops; tools/golden/controlFlow.py builds the same in Python. */
import * as tf from '../../../src/api/index.ts';

/** What a program computes, and the tensors that it is differentiated by. */
export interface Program {
  readonly y: tf.Tensor;
  readonly by: readonly Parameters<typeof tf.gradients>[1][];
}

const x = (shape: readonly (number | null)[] | null = [3]) => tf.placeholder(tf.float32, shape, { name: 'x' });

/** Values of `x`, fed to every program whose `x` has that shape. */
export const feeds = {
  scalars: [1.3, -0.4],
  vectors: [
    [0.4, -0.6, 1.1],
    [-0.5, 0.2, 0.9],
  ],
  matrices: [
    [
      [0.5, -1],
      [2, 0.3],
      [1.5, 1.2],
    ],
    [
      [-0.7, 0.4],
      [0.1, 1.1],
    ],
  ],
} as const;

export const programs: Record<string, () => Program> = {
  cond() {
    const a = x();
    const y = tf.cond(
      tf.greater(a.slice('0'), 0),
      () => tf.sin(tf.tanh(a)),
      () => tf.exp(tf.square(a)),
    );
    return { y, by: [a] };
  },
  condStructure() {
    const a = x();
    const { first, rest } = tf.cond(
      tf.less(a.slice('0'), 0),
      () => ({ first: tf.sin(a), rest: [a, tf.square(a)] as const }),
      () => ({ first: a, rest: [tf.exp(a), tf.zerosLike(a)] as const }),
    );
    return { y: first.mul(rest[0]).add(rest[1]), by: [a] };
  },
  condUnconnected() {
    const a = x();
    return {
      y: tf.cond(
        tf.less(a.slice('0'), 0),
        () => tf.ones([3]),
        () => a.mul(a),
      ),
      by: [a],
    };
  },
  nestedCond() {
    const a = x([]);
    const y = tf.cond(
      tf.greater(a, 1),
      () => tf.sin(a),
      () =>
        tf.cond(
          tf.less(a, 0),
          () => tf.square(a),
          () => a.mul(3),
        ),
    );
    return { y, by: [a] };
  },
  condVariable() {
    const a = x([]);
    const v = tf.getVariable('v', [], { initializer: tf.constantInitializer(3) });
    const y = tf.cond(
      tf.greater(a, 0),
      () => tf.multiply(tf.sin(v.value()), a),
      () => tf.multiply(a, v),
    );
    return { y, by: [a, v] };
  },
  condGather() {
    const a = x([]);
    const table = tf.getVariable('table', [4, 2], { initializer: tf.onesInitializer() });
    const y = tf.cond(
      tf.greater(a, 0),
      () => tf.reduceSum(tf.gather(table, [1, 3])).mul(a),
      () => tf.reduceSum(tf.gather(table, [0, 0, 2])),
    );
    return { y, by: [table] };
  },
  case() {
    const a = x();
    const y = tf.case(
      [
        [tf.less(a.slice('0'), 0), () => tf.sin(a)],
        [tf.less(a.slice('1'), 0), () => tf.cos(a)],
      ],
      { default: () => tf.square(a) },
    );
    return { y, by: [a] };
  },
  switchCase() {
    const a = x();
    const index = tf.cast(tf.multiply(a.slice('2'), 3), tf.int32);
    const y = tf.switchCase(index, [() => tf.sin(a), () => tf.cos(a), () => tf.multiply(a, a), () => tf.exp(a)]);
    return { y, by: [a] };
  },
  while() {
    const a = x();
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 4),
      (i, b) => [i.add(1), tf.tanh(b.mul(a))],
      [tf.constant(0), a],
    );
    return { y, by: [a] };
  },
  whileUnknown() {
    const a = x([null, 2]);
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, b) => [i.add(1), tf.sin(b.mul(tf.reduceSum(a, 0)))],
      [tf.constant(0), a],
    );
    return { y, by: [a] };
  },
  whileVariable() {
    const a = x();
    const v = tf.getVariable('v', [3], { initializer: tf.constantInitializer(0.5) });
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, b) => [i.add(1), tf.tanh(b.mul(v).add(a))],
      [tf.constant(0), a],
      { name: 'loop' },
    );
    return { y, by: [a, v] };
  },
  whileGather() {
    const a = x([]);
    const table = tf.getVariable('table', [4, 2], { initializer: tf.onesInitializer() });
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, b) => [i.add(1), b.mul(tf.reduceSum(tf.gather(table, tf.stack([i, i]))))],
      [tf.constant(0), a],
    );
    return { y, by: [a, table] };
  },
  whileNever() {
    const a = x();
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 0),
      (i, b) => [i.add(1), tf.sin(b)],
      [tf.constant(0), a],
    );
    return { y, by: [a] };
  },
  whileByValue() {
    const a = x([]);
    const y = tf.whileLoop(
      (b) => tf.less(b, 10),
      (b) => b.mul(b).add(1.5),
      [a],
    );
    return { y, by: [a] };
  },
  maximumIterations() {
    const a = x();
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 100),
      (i, b) => [i.add(1), tf.sin(b).mul(a)],
      [tf.constant(0), a],
      {
        maximumIterations: 3,
      },
    );
    return { y, by: [a] };
  },
  shapeInvariants() {
    const a = x();
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, b) => [i.add(1), tf.concat([b, tf.sin(b)], 0)],
      [tf.constant(0), a],
      {
        shapeInvariants: [[], [null]],
      },
    );
    return { y: tf.reduceSum(tf.square(y)), by: [a] };
  },
  structures() {
    const a = x();
    const [, { s, t }] = tf.whileLoop(
      (i) => tf.less(i, 2),
      (i, { s, t }) => [i.add(1), { s: t[0].mul(s), t: [tf.sin(t[0]), t[1].mul(s)] as const }],
      [tf.constant(0), { s: a, t: [tf.exp(a), tf.square(a)] as const }],
    );
    return { y: s.add(t[0]).add(t[1]), by: [a] };
  },
  nestedWhile() {
    const a = x([]);
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, b) => {
        const [, inner] = tf.whileLoop(
          (j) => tf.less(j, i.add(1)),
          (j, c) => [j.add(1), tf.sin(c.mul(a))],
          [tf.constant(0), b],
        );
        return [i.add(1), inner.mul(b)];
      },
      [tf.constant(0), a],
    );
    return { y, by: [a] };
  },
  whileInCond() {
    const a = x([]);
    const loop = () =>
      tf.whileLoop(
        (i) => tf.less(i, 3),
        (i, b) => [i.add(1), tf.sin(b.mul(a))],
        [tf.constant(0), a],
      )[1];
    return { y: tf.cond(tf.greater(a, 0), loop, () => tf.square(a)), by: [a] };
  },
  condInWhile() {
    const a = x([]);
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 4),
      (i, b) => [
        i.add(1),
        tf.cond(
          tf.equal(tf.floormod(i, 2), 0),
          () => tf.sin(b.mul(a)),
          () => tf.square(b),
        ),
      ],
      [tf.constant(0), a],
    );
    return { y, by: [a] };
  },
  gradientInside() {
    const a = x([]);
    const y = tf.cond(
      tf.greater(a, 0),
      () => tf.gradients(tf.pow(a, 3), [a])[0] as tf.Tensor,
      () => tf.square(a),
    );
    return { y, by: [a] };
  },
  mapFn() {
    const a = x([null, 2]);
    return { y: tf.mapFn((row) => tf.reduceSum(tf.sin(row)).mul(row), a), by: [a] };
  },
  mapFnKnown() {
    const a = x();
    return { y: tf.mapFn((element) => tf.tanh(element).mul(tf.reduceSum(a)), a), by: [a] };
  },
  mapFnStructure() {
    const a = x([null, 2]);
    const pairs = tf.mapFn(
      ({ p, q }) => [p.mul(q), tf.reduceSum(q)] as const,
      { p: a, q: tf.square(a) },
      {
        dtype: [tf.float32, tf.float32],
      },
    );
    return { y: tf.reduceSum(pairs[0]).mul(pairs[1]), by: [a] };
  },
  scan() {
    const a = x([null, 2]);
    return { y: tf.scan((total, row) => total.mul(row), a), by: [a] };
  },
  scanReverse() {
    const a = x();
    return {
      y: tf.scan((total, element) => total.add(tf.sin(element)), a, { initializer: 2.5, reverse: true }),
      by: [a],
    };
  },
  foldl() {
    const a = x([null, 2]);
    return { y: tf.foldl((total, row) => total.mul(row), a), by: [a] };
  },
  foldr() {
    const a = x();
    return { y: tf.foldr((total, element) => total.mul(element).add(1), a, { initializer: 0.5 }), by: [a] };
  },
  tensorArray() {
    const a = x();
    let array = new tf.TensorArray(tf.float32, { size: 3 });
    for (const i of [0, 1, 2]) array = array.write(i, a.mul(i + 1));
    return { y: array.stack().mul(array.read(1)), by: [a] };
  },
  tensorArrayLoop() {
    const a = x();
    const rows = new tf.TensorArray(tf.float32, { size: 3 }).unstack(a);
    const [, out] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, out) => [i.add(1), out.write(i, tf.square(rows.read(i)).mul(a))],
      [tf.constant(0), new tf.TensorArray(tf.float32, { size: 0, dynamicSize: true })],
    );
    return { y: out.stack(), by: [a] };
  },
  tensorArrayPieces() {
    const a = x();
    const gathered = new tf.TensorArray(tf.float32, { size: 3 }).unstack(tf.square(a)).gather([2, 0]);
    const pieces = new tf.TensorArray(tf.float32, { size: 2, inferShape: false }).split(tf.sin(a), [1, 2]).concat();
    const scattered = new tf.TensorArray(tf.float32, { size: 3 }).scatter([2, 1, 0], tf.exp(a)).stack();
    return { y: tf.concat([gathered, pieces, scattered], 0), by: [a] };
  },
  functionCall() {
    const a = x([]);
    const v = tf.getVariable('v', [], { initializer: tf.constantInitializer(3) });
    const f = tf.function((b: tf.Tensor) => tf.sin(tf.tanh(b).mul(v)));
    return { y: f(f(a)), by: [a, v] };
  },
  functionInLoop() {
    const a = x([]);
    const f = tf.function((b: tf.Tensor) => tf.sin(tf.tanh(b).mul(a)));
    const [, y] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, b) => [i.add(1), f(b)],
      [tf.constant(0), a],
    );
    return { y, by: [a] };
  },
  loopInFunction() {
    const a = x([]);
    const f = tf.function(
      (b: tf.Tensor) =>
        tf.whileLoop(
          (i) => tf.less(i, 3),
          (i, c) => [i.add(1), tf.sin(c.mul(b))],
          [tf.constant(0), b],
        )[1],
    );
    return { y: f(a), by: [a] };
  },
  condInFunction() {
    const a = x([]);
    const f = tf.function((b: tf.Tensor) =>
      tf.cond(
        tf.greater(b, 0),
        () => tf.sin(tf.tanh(b)),
        () => tf.square(b),
      ),
    );
    return { y: f(a), by: [a] };
  },
};
