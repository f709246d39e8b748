/** @file The functions of convolution, pooling, normalisation, embedding, CTC and losses, with unusual arguments: values, gradients and gradients of gradients are TensorFlow's. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

/** An array by its generator or its data; with `d` it is differentiated by. */
interface ArraySpec {
  readonly t: 1;
  readonly shape: readonly number[];
  readonly dtype: 'float32' | 'float64' | 'int32' | 'int64';
  readonly d?: boolean;
  readonly data?: readonly number[];
  readonly lo: number;
  readonly hi: number;
  readonly seed: number;
}
/** Size, sum with weights, sum of sizes. */
type Digest = readonly [number, number, number];
/** Made by tools/golden/networks.py. */
interface Call {
  readonly fn: string;
  readonly args: readonly unknown[];
  readonly kw: Readonly<Record<string, unknown>>;
  readonly kw2?: Readonly<Record<string, unknown>>;
  readonly second?: number;
  readonly gives: readonly [Digest[], Digest[], Digest[]];
}

const calls = JSON.parse(readFileSync(new URL('../golden/networks.json', import.meta.url), 'utf8')) as Call[];

function elements({ data, shape, dtype, lo, hi, seed }: ArraySpec): number[] {
  if (data) return [...data];
  const count = shape.reduce((a, b) => a * b, 1);
  let state = BigInt(seed) * 7919n + 1n;
  return Array.from({ length: count }, () => {
    state = (state * 1103515245n + 12345n) % 2147483648n;
    const number = lo + ((hi - lo) * Number(state)) / 2147483648;
    return dtype.startsWith('float') ? number : Math.floor(number);
  });
}

const sparseTypes = { sparse: tf.int32, sparse64: tf.int64, sparsef: tf.float32 };

/** The argument with a tensor for every description in it. */
function argument(spec: unknown, inputs: tf.Tensor[]): unknown {
  if (Array.isArray(spec)) return spec.map((x) => argument(x, inputs));
  if (typeof spec !== 'object' || spec === null) return spec;
  if ('t' in spec) {
    const array = spec as ArraySpec; // what the file holds
    const made = tf.constant(elements(array), { shape: [...array.shape], dtype: tf[array.dtype] });
    if (array.d) inputs.push(made);
    return made;
  }
  const [kind, [indices, values, shape]] = Object.entries(spec)[0] as [
    keyof typeof sparseTypes,
    [number[][], number[], number[]],
  ]; // what the file holds
  return new tf.SparseTensor(indices, tf.constant(values, { dtype: sparseTypes[kind] }), shape);
}

function flat(value: unknown): tf.Tensor[] {
  if (value instanceof tf.SparseTensor) return [value.indices, value.values, value.denseShape];
  if (value instanceof tf.Tensor) return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(flat) : [];
}

const camelCase = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Arguments that Python takes by name and that are required, and so have a place here. */
const byPlace: Readonly<Record<string, readonly string[]>> = {
  'nn.conv2d_transpose': ['outputShape'],
  'nn.conv3d_transpose': ['outputShape'],
  'nn.conv1d_transpose': ['outputShape'],
  'nn.atrous_conv2d_transpose': ['outputShape'],
  'nn.max_pool': ['ksize', 'strides', 'padding'],
  'nn.avg_pool': ['ksize', 'strides', 'padding'],
  'nn.max_pool3d': ['ksize', 'strides', 'padding'],
  'nn.avg_pool3d': ['ksize', 'strides', 'padding'],
  'nn.max_pool_with_argmax': ['ksize', 'strides', 'padding'],
  'nn.pool': ['windowShape', 'poolingType', 'padding'],
  'nn.max_pool1d': ['ksize', 'strides', 'padding'],
  'nn.avg_pool1d': ['ksize', 'strides', 'padding'],
  'nn.max_pool2d': ['ksize', 'strides', 'padding'],
  'nn.fractional_max_pool': ['poolingRatio'],
  'nn.fractional_avg_pool': ['poolingRatio'],
  space_to_depth: ['blockSize'],
  depth_to_space: ['blockSize'],
  space_to_batch_nd: ['blockShape', 'paddings'],
  batch_to_space_nd: ['blockShape', 'crops'],
  'nn.moments': ['axes'],
  'nn.batch_normalization': ['varianceEpsilon'],
  'nn.batch_norm_with_global_normalization': ['varianceEpsilon'],
  'nn.l2_normalize': ['axis'],
  'nn.ctc_loss': ['labels', 'inputs', 'sequenceLength'],
  'nn.nce_loss': ['weights', 'biases', 'labels', 'inputs', 'numSampled', 'numClasses'],
  'nn.sampled_softmax_loss': ['weights', 'biases', 'labels', 'inputs', 'numSampled', 'numClasses'],
  'nn.conv2d_backprop_input': ['inputSizes', 'filter', 'outBackprop'],
  'nn.conv2d_backprop_filter': ['input', 'filterSizes', 'outBackprop'],
  'nn.conv3d_backprop_filter': ['input', 'filterSizes', 'outBackprop'],
  'nn.depthwise_conv2d_native_backprop_input': ['inputSizes', 'filter', 'outBackprop'],
};

function call({ fn, args, kw, kw2 }: Call, inputs: tf.Tensor[]): unknown {
  const path = camelCase(fn).split('.');
  const found = path.reduce((o: unknown, part) => Reflect.get(o as object, part), tf as unknown); // tf is made of namespaces
  const given = args.map((a) => argument(a, inputs));
  const named = Object.entries({ ...kw, ...kw2 }).map(([k, v]) => [camelCase(k), argument(v, inputs)] as const);
  const placed = byPlace[fn] ?? [];
  const options = Object.fromEntries(named.filter(([k]) => !placed.includes(k)));
  const values = placed.map((k) => named.find(([name]) => name === k)?.[1]);
  return (found as (...all: unknown[]) => unknown)(...given, ...values, options); // the functions under test
}

const dense = (list: readonly (tf.Tensor | tf.IndexedSlices | null)[]) =>
  list.flatMap((g) => (g === null ? [] : [tf.convertToTensor(g)]));

function build(test: Call): tf.Tensor[][] {
  const inputs: tf.Tensor[] = [];
  const ys = flat(call(test, inputs));
  let loss: tf.Tensor = tf.constant(0, { dtype: tf.float32 });
  for (const y of ys) {
    if (!y.dtype.isFloating) continue;
    const weights = tf.reshape(tf.cos(tf.range(tf.cast(tf.size(y), tf.float32))), tf.shape(y));
    loss = loss.add(tf.reduceSum(tf.cast(y, tf.float32).mul(weights)));
  }
  const first = inputs.length > 0 ? dense(tf.gradients(loss, inputs)) : [];
  if (first.length === 0 || test.second === 0) return [ys, first, []];
  const squares = tf.addN(first.map((g) => tf.reduceSum(tf.square(tf.cast(g, tf.float32)))));
  return [ys, first, dense(tf.gradients(squares, inputs))];
}

function check(array: tf.NDArray, [size, weighted, sizes]: Digest, what: string): void {
  const numbers = array.numbers();
  expect(numbers.length, `${what}: elements`).toBe(size);
  const sum = numbers.reduce((total, x, i) => total + x * Math.cos(i), 0);
  const total = numbers.reduce((a, x) => a + Math.abs(x), 0);
  const allowed = 1e-4 * (1 + sizes); // float32, sums in another order, squares of gradients
  expect(Math.abs(sum - weighted), `${what}: ${sum} and not ${weighted}`).toBeLessThan(allowed);
  expect(Math.abs(total - sizes), `${what}: sizes ${total} and not ${sizes}`).toBeLessThan(allowed);
}

describe('networks', () => {
  for (const [i, test] of calls.entries())
    it(`${i} ${test.fn} ${JSON.stringify(test.kw).slice(0, 90)}`, () =>
      new tf.Graph().asDefault(async () => {
        tf.setRandomSeed(1);
        const parts = build(test);
        const sess = new tf.Session();
        const results = await sess.run(parts);
        await sess.close();
        for (const [k, kind] of ['value', 'gradient', 'second derivative'].entries()) {
          expect(results[k]!.length, `number of results, ${kind}`).toBe(test.gives[k]!.length);
          for (const [j, array] of results[k]!.entries()) check(array, test.gives[k]![j]!, `${kind} ${j}`);
        }
      }));
});
