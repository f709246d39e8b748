/** @file A model as users write it: what the editor knows about each tensor. Compiled, never run. */
import * as tf from 'tensorloom';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Fails to compile unless the tensor has exactly this static shape. */
declare function shaped<S>(): <T extends { readonly shape: unknown }>(
  t: Same<T['shape'], S> extends true ? T : never,
) => void;

const x = tf.placeholder(tf.float32, [null, 784]);
const w = tf.placeholder(tf.float32, [784, 10]);
const b = tf.zeros([10]);

shaped<readonly [null, 10]>()(tf.matmul(x, w));
shaped<readonly [null, 10]>()(tf.add(tf.matmul(x, w), b));
shaped<readonly [null, 10]>()(tf.matmul(x, w).add(b).mul(2));
shaped<readonly [10, null]>()(tf.matmul(w, x, { transposeA: true, transposeB: true }));
shaped<readonly [2, 2]>()(
  tf.constant([
    [1, 2],
    [3, 4],
  ]),
);
shaped<readonly [3]>()(tf.constant(1, { shape: [3] }));
shaped<readonly [4, 5]>()(tf.ones([4, 5], { dtype: tf.int32 }));
shaped<readonly [4, 5]>()(tf.fill([4, 5], 1));
shaped<readonly [784]>()(tf.reduceSum(x, 0));
shaped<readonly []>()(tf.reduceMean(x));
shaped<readonly [784, 1]>()(tf.reduceMax(w, 1, { keepdims: true }));
shaped<readonly [null]>()(tf.argmax(x, 1));
shaped<readonly [28, null, 28]>()(tf.reshape(x, [28, -1, 28]));
shaped<readonly [10, 784]>()(tf.transpose(w));
shaped<readonly [784, null]>()(tf.transpose(x, [1, 0]));
shaped<readonly [784, null]>()(tf.concat([w, w], 1));
shaped<readonly [2, 784, 10]>()(tf.stack([w, w]));
shaped<readonly [1, 10]>()(tf.expandDims(b, 0));
shaped<readonly [10]>()(tf.squeeze(tf.expandDims(b, 0), { axis: 0 }));
shaped<readonly [null, 10]>()(tf.oneHot(tf.placeholder(tf.int32, [null]), 10));
shaped<readonly [5, 10]>()(tf.gather(w, tf.placeholder(tf.int32, [5])));
shaped<readonly [null, 784]>()(tf.less(x, 0));
shaped<readonly [784, 10]>()(tf.cast(w, tf.float64));

shaped<readonly [null, 10]>()(tf.matmul(x, new tf.Variable(tf.zeros([784, 10]))));
shaped<readonly [null, 10]>()(tf.matmul(x, tf.getVariable('w', [784, 10])));

// The methods know as much as the functions.
shaped<readonly [null, 10]>()(x.matmul(w));
shaped<readonly [10, null]>()(w.matmul(x, { transposeA: true, transposeB: true }));
shaped<readonly [784]>()(x.reduceSum(0));
shaped<readonly []>()(x.reduceMean());
shaped<readonly [784, 1]>()(w.reduceMax(1, { keepdims: true }));
shaped<readonly [784, 1]>()(w.reduceProd({ axis: 1, keepdims: true }));
shaped<readonly [null]>()(x.less(0).reduceAll(1));
shaped<readonly [10]>()(w.reduceLogsumexp(0));
shaped<readonly [null]>()(x.argmax(1));
shaped<readonly [10]>()(w.argmin({ axis: 0 }));
shaped<readonly [null, 784]>()(x.cumsum(1));
shaped<readonly [28, null, 28]>()(x.reshape([28, -1, 28]));
shaped<readonly [10, 784]>()(w.transpose());
shaped<readonly [784, null]>()(x.transpose([1, 0]));
shaped<readonly [1, 10]>()(b.expandDims(0));
shaped<readonly [10]>()(b.expandDims(0).squeeze({ axis: 0 }));
shaped<readonly [10]>()(b.expandDims(0).squeeze(0));
shaped<readonly [5, 10]>()(w.gather(tf.placeholder(tf.int32, [5])));
shaped<readonly [null, 10]>()(x.matmul(w).add(b).reshape([-1, 2, 5]).reduceSum(1).expandDims(1).reshape([-1, 10]));
shaped<readonly [10, 784]>()(tf.getVariable('v', [784, 10]).value().transpose());
shaped<readonly [10]>()(new tf.Variable(tf.zeros([784, 10])).reduceSum(0));
shaped<readonly [null]>()(tf.reduceSum(x, { axis: 1 }));
shaped<readonly []>()(tf.reduceMean(x, { name: 'mean' }));
shaped<readonly [null]>()(tf.argmax(x, { axis: -1 }));
shaped<readonly [784, 2, 10]>()(tf.stack([w, w], 1));
shaped<readonly [784, 10]>()(tf.squeeze(tf.expandDims(w, 1), 1));
shaped<readonly [10]>()(tf.reduceLogsumexp(w, 0));

const asFloat64: tf.Tensor<typeof tf.float64, readonly [784, 10]> = tf.cast(w, tf.float64);
const asBool: tf.Tensor<typeof tf.bool> = x.less(0);
const summed: tf.Tensor<typeof tf.float32, readonly [10]> = w.reduceSum(0);

// @ts-expect-error 784 columns against 4 rows
tf.matmul(x, tf.zeros([4, 5]));
// @ts-expect-error [784, 10] and [7] cannot be broadcast together
tf.add(w, tf.zeros([7]));
// @ts-expect-error the same by a method
w.mul(tf.zeros([7]));
// @ts-expect-error a vector is no matrix
tf.matmul(b, w);
// @ts-expect-error the same by a method
b.matmul(w);
// @ts-expect-error 784 columns against 4 rows
x.matmul(tf.zeros([4, 5]));

// What is not known is always allowed.
const unknown: tf.Tensor = x;
tf.matmul(unknown, w).add(unknown);
tf.matmul(unknown, tf.zeros([4, 5]));
unknown
  .matmul(tf.zeros([4, 5]))
  .reduceSum(1)
  .reshape([2, 3]);
function layer(input: tf.TensorLike, weights: tf.TensorLike): tf.Tensor {
  return tf.nn.relu(tf.matmul(input, weights));
}

export { asBool, asFloat64, layer, summed };
