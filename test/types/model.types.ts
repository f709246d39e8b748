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

// Types are never converted, so operands must have one dtype.
const count = tf.placeholder(tf.int32, [null, 784]);
const weights64 = tf.getVariable('w64', [784, 10], { dtype: tf.float64 });
// @ts-expect-error float32 and int32 cannot be mixed
tf.add(x, count);
// @ts-expect-error the same by a method
x.mul(count);
// @ts-expect-error the same where the result is bool
x.less(count);
// @ts-expect-error a quotient of integers is a fraction, but not one of an integer and a fraction
tf.divide(x, count);
// @ts-expect-error text is no number
x.add('1');
// @ts-expect-error true is no number
tf.multiply(x, true);
// @ts-expect-error float32 and float64 cannot be mixed
tf.matmul(x, weights64);
// @ts-expect-error the same by a method
x.matmul(weights64);
// @ts-expect-error both branches have one dtype
tf.where(x.less(0), x, count);
// @ts-expect-error a variable keeps its dtype
weights64.assign(w);
// @ts-expect-error whatever is done with it
weights64.assignAdd(w);
const product32: tf.Tensor<typeof tf.int32> = tf.matmul(tf.zeros([2, 3], { dtype: tf.int8 }), tf.zeros([3, 4]), {
  outputType: tf.int32,
});
const chosen: tf.Tensor<typeof tf.float32> = tf.where(x.less(0), x, 0);
const cast: tf.Tensor<typeof tf.float32, readonly [null, 784]> = x.add(tf.cast(count, tf.float32));
weights64.assign([[1]]);
weights64.assign(tf.cast(w, tf.float64));
tf.add(x, 1).mul(tf.constant([2]));
tf.add(count, tf.constant(1)).floordiv(2);
x.less(0).logicalAnd(true);
tf.equal(tf.constant('a'), 'b');

// @ts-expect-error a list is of one dtype
tf.concat([x, count], 0);
// @ts-expect-error the same
tf.stack([x, count]);
// @ts-expect-error also beside what is open
tf.concat([x, [[0]], count], 0);

// Losses compare what has one shape; types they convert themselves.
const scores = tf.matmul(x, w);
const classes = tf.placeholder(tf.int32, [null]);
// @ts-expect-error [null, 10] and [null]
tf.losses.meanSquaredError(classes, scores);
// @ts-expect-error [null, 10] and [null, 784]
tf.losses.softmaxCrossEntropy(count, scores);
// @ts-expect-error the same, where types are not converted either
tf.nn.sigmoidCrossEntropyWithLogits({ labels: x, logits: scores });
// @ts-expect-error float32 and int32 cannot be mixed
tf.nn.sigmoidCrossEntropyWithLogits({ labels: count, logits: x });
// @ts-expect-error labels have one axis less than logits
tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels: count, logits: scores });
// @ts-expect-error classes are counted in whole numbers
tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels: tf.cast(classes, tf.float32), logits: scores });

// What is not known is always allowed.
const unknown: tf.Tensor = x;
tf.matmul(unknown, w).add(unknown);
tf.matmul(unknown, tf.zeros([4, 5]));
tf.add(unknown, count);
tf.add(x as tf.Tensor | number, count);
weights64.assign(unknown);
unknown
  .matmul(tf.zeros([4, 5]))
  .reduceSum(1)
  .reshape([2, 3]);
tf.concat([x, unknown, [[1, 2]]], 0);
tf.concat([x as tf.Tensor<typeof tf.float32> | tf.Tensor<typeof tf.int32>, count], 0);
tf.concat(new Array<tf.Tensor>(unknown), 0);
tf.stack([x, 0]);
tf.stack([count, tf.constant(1), 2], 1);
tf.losses.meanSquaredError(count, x);
tf.losses.meanSquaredError([[1, 2]], x);
tf.losses.meanSquaredError(unknown, x, { weights: 2 });
tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels: classes, logits: scores });
tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels: [1, 2], logits: unknown });
function layer(input: tf.TensorLike, weights: tf.TensorLike): tf.Tensor {
  return tf.nn.relu(tf.matmul(input, weights));
}

// What the library keeps in collections has a type; what users keep there has the one that they name.
tf.controlDependencies(tf.getCollection(tf.GraphKeys.UPDATE_OPS), () => tf.noOp());
tf.addN(tf.getCollection(tf.GraphKeys.REGULARIZATION_LOSSES));
tf.getCollection(tf.GraphKeys.TRAINABLE_VARIABLES, 'layer1/').map((v) => v.assign(0));
tf.getCollection<tf.Operation>(tf.GraphKeys.UPDATE_OPS).map((op) => op.type);
tf.getCollection<number>('mine').map((n) => n + 1);
const updates = tf.getCollection(tf.GraphKeys.UPDATE_OPS);
tf.controlDependencies(updates, () => tf.noOp());
const mine = tf.getCollection('mine');
// @ts-expect-error nothing is known of other collections
tf.addN(mine);

export { asBool, asFloat64, cast, chosen, layer, product32, summed };
