/** @file What TypeScript knows of branches and loops: results have the structure of what went in. Checked by `npm run types`. */
import * as tf from '../../src/api/index.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>) => {};
type Float = tf.Tensor<tf.DType<'float32'>>;
type Int = tf.Tensor<tf.DType<'int32'>>;

const i = tf.placeholder(tf.int32, []);
const x = tf.placeholder(tf.float32, [2]);
const p = tf.placeholder(tf.bool, []);

const pair = tf.whileLoop(
  (a, b) => a.less(tf.cast(tf.reduceSum(b), tf.int32)),
  (a, b) => [a.add(1), b],
  [i, x],
);
same<typeof pair, [Int, Float]>(true);

const single = tf.whileLoop(
  (a) => a.less(3),
  (a) => a.add(1),
  [i],
);
same<typeof single, Int>(true);
const kept = tf.whileLoop(
  (a) => a.less(3),
  (a) => a.add(1),
  [i],
  { returnSameStructure: true },
);
same<typeof kept, [Int]>(true);

const nested = tf.whileLoop(
  (a) => a.less(3),
  (a, s) => [a.add(1), { h: s.h, c: [s.c[0]] as const }],
  [i, { h: x, c: [x] as const }],
);
same<typeof nested, [Int, { h: Float; c: [Float] }]>(true);

const arrays = tf.whileLoop(
  (a) => a.less(3),
  (a, t) => [a.add(1), t.write(a, 1)],
  [i, new tf.TensorArray(tf.int32, { size: 3 })],
);
same<typeof arrays, [Int, tf.TensorArray]>(true);

const goesOn = (a: Int) => a.less(3);
// @ts-expect-error a variable is missing
tf.whileLoop(goesOn, (a) => [a.add(1)], [i, x]);
// @ts-expect-error records have other keys
tf.whileLoop(goesOn, (a, s) => [a, { k: s.h }], [i, { h: x }]);

const chosen = tf.cond(
  p,
  () => ({ a: x, b: [i] as const }),
  () => ({ a: tf.zeros([2]), b: [1] as const }),
);
same<typeof chosen, { a: Float; b: [Int] }>(true);
const [two, one] = [() => [x, x] as const, () => [x] as const];
// @ts-expect-error the other branch gives another structure
tf.cond(p, two, one);

const mapped = tf.mapFn(({ a, b }) => [a, b] as const, { a: x, b: i }, { dtype: [tf.float32, tf.int32] });
same<typeof mapped, [Float, Int]>(true);
const both = tf.mapFn((row) => [row, row.neg()], x, { dtype: [tf.float32, tf.float32] });
same<typeof both, [Float, Float]>(true);
const pairs = tf.scan(([a, b], row) => [b, a.add(row)], x, { initializer: [x, x] });
same<typeof pairs, [Float, Float]>(true);
const last = tf.foldl(([a, b], row) => [b, a.add(row)], x, { initializer: [x, x] });
same<typeof last, [Float, Float]>(true);
// @ts-expect-error one member is missing
tf.scan(([a]) => [a], x, { initializer: [x, x] });
const scanned = tf.scan((total, row) => total.add(row), x);
same<typeof scanned, Float>(true);

const f = tf.function((a: tf.Tensor, training: boolean) => (training ? a : tf.neg(a)));
f(x, true);
// @ts-expect-error a string is no tensor
f('x', true);
