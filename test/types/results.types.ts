/** @file What TypeScript knows of the results of runs: the dtype, and so what an element is. Checked by `npm run types`. */
import * as tf from '../../src/api/index.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>) => {};

const sess = new tf.Session();
const x = tf.placeholder(tf.float32, [null, 8]);
const labels = tf.placeholder(tf.int64, [null]);
const count = tf.getVariable('count', [], { dtype: tf.int32 });

const loss = await sess.run(
  tf.reduceMean(x),
  new Map<tf.Tensor, tf.FeedValue>([
    [x, [[1, 2]]],
    [labels, [3]],
  ]),
);
same<typeof loss, tf.NDArray<tf.DType<'float32'>>>(true);
same<ReturnType<typeof loss.item>, number>(true);
same<typeof loss.data, Float32Array>(true);

const several = await sess.run({ labels, count, isLess: tf.less(x, 0), name: tf.constant('a') });
same<ReturnType<typeof several.labels.item>, number | bigint>(true);
same<typeof several.labels.data, BigInt64Array>(true);
same<ReturnType<typeof several.count.at>, number>(true);
same<ReturnType<typeof several.isLess.item>, boolean>(true);
same<ReturnType<typeof several.name.item>, string | Uint8Array>(true);

// Of a name nothing is known before the run.
const named = await sess.run('Mean:0');
if (named) {
  // @ts-expect-error: it may be anything that an array can hold
  const wrong: number = named.item();
  void wrong;
}

// A sparse tensor is fed with plain lists; losses of weights are scalars, and can be added to one.
const sparse = tf.sparse.placeholder(tf.float32);
await sess.run(tf.sparse.toDense(sparse), [[sparse, new tf.SparseTensorValue([[0, 1]], [2.5], [2, 2])]]);
const fetched = await sess.run(sparse);
same<typeof fetched.values, tf.NDArray>(true);
let penalty = tf.constant(0, tf.float32);
penalty = penalty.add(tf.nn.l2Loss(x));
same<typeof tf.layers.Dense.prototype.kernel, tf.Variable>(true);
