/** @file Reductions, products, segments and nn functions build TensorFlow's nodes, gradients included, and give its values. */
import * as tf from 'tensorloom';
import { fromElements } from '../../src/core/ndarray.ts';
import type { Dims, Shape } from '../../src/core/shape.ts';
import { type Build, describeCalls, type InputOptions, Inputs } from './goldenCalls.ts';

/** Floats and integers. */
class MathInputs extends Inputs {
  float(shape: Shape, name?: string, options?: InputOptions): tf.Tensor {
    return this.of(shape, name, options);
  }

  ints(values: readonly (number | readonly number[])[], name = 'ids', dims?: Dims): tf.Tensor {
    const first = values[0];
    const shape = Array.isArray(first) ? [values.length, first.length] : [values.length];
    const tensor: tf.Tensor = tf.placeholder(tf.int32, dims ?? shape, { name });
    this.feeds.push([tensor, fromElements(tf.int32, shape, values.flat())]);
    return tensor;
  }
}

const cases: Record<string, Build<MathInputs>> = {};

const statics: Record<string, Dims> = { full: [2, 3], part: [null, 3], unknown: null };
const reductions = {
  sum: tf.reduceSum,
  mean: tf.reduceMean,
  prod: tf.reduceProd,
  max: tf.reduceMax,
  min: tf.reduceMin,
  logsumexp: tf.reduceLogsumexp,
};
for (const [kind, dims] of Object.entries(statics))
  for (const [name, of] of Object.entries(reductions)) {
    cases[`${name} ${kind}`] = (x) => of(x.float([2, 3], 'x', { static: dims }));
    cases[`${name} ${kind} 1`] = (x) => of(x.float([2, 3], 'x', { static: dims }), 1);
    cases[`${name} ${kind} keep`] = (x) => of(x.float([2, 3], 'x', { static: dims }), [-1], { keepdims: true });
  }

Object.assign(cases, {
  euclideanNorm: (x) => tf.math.reduceEuclideanNorm(x.float([2, 3], 'x', { static: [null, 3] }), 1),
  std: (x) => tf.math.reduceStd(x.float([2, 3]), 1),
  variance: (x) => tf.math.reduceVariance(x.float([2, 3], 'x', { static: null })),
  countNonzero: (x) => tf.countNonzero(x.float([2, 3])),
  all: (x) => tf.reduceAll(tf.greater(x.float([2, 3]), 0), 1),
  argmax: (x) => tf.argmax(x.float([2, 3]), 1),
  argmin: (x) => tf.argmin(x.float([2, 3]), -1, { outputType: tf.int32 }),
  matmul: (x) => tf.matmul(x.float([2, 3]), x.float([3, 4], 'y', { seed: 2 })),
  'matmul ta': (x) => tf.matmul(x.float([3, 2]), x.float([3, 4], 'y', { seed: 2 }), { transposeA: true }),
  'matmul tb': (x) => tf.matmul(x.float([2, 3]), x.float([4, 3], 'y', { seed: 2 }), { transposeB: true }),
  'matmul tab': (x) =>
    tf.matmul(x.float([3, 2]), x.float([4, 3], 'y', { seed: 2 }), { transposeA: true, transposeB: true }),
  'matmul batch': (x) => tf.matmul(x.float([5, 2, 3]), x.float([3, 4], 'y', { seed: 2 })),
  'matmul batch unknown': (x) =>
    tf.matmul(x.float([5, 3, 2]), x.float([5, 3, 4], 'y', { static: [null, 3, 4], seed: 2 }), { transposeA: true }),
  'matmul operator': (x) => x.float([2, 3]).matmul(x.float([3, 4], 'y', { seed: 2 })),
  'matmul literals': () => tf.matmul([[1.5, 2]], [[3], [4]]),
  cumsum: (x) => tf.cumsum(x.float([2, 3]), 1, { exclusive: true }),
  cumprod: (x) => tf.cumprod(x.float([2, 3]), 1),
  cumulativeLogsumexp: (x) => tf.math.cumulativeLogsumexp(x.float([2, 3]), 1),
} satisfies Record<string, Build<MathInputs>>);

const { relu, relu6, elu, selu, leakyRelu, softplus, softsign, crelu, gelu } = tf.nn;
const activations: Record<string, (x: tf.TensorLike) => tf.Tensor> = {
  relu,
  relu6,
  elu,
  selu,
  leakyRelu,
  softplus,
  softsign,
  crelu,
  gelu,
};
for (const [name, of] of Object.entries(activations))
  cases[name] = (x) => of(x.float([2, 3], 'x', { static: [null, 3], low: -3, high: 8 }));

/** Labels between 0 and 1, and logits. */
const pair = (x: MathInputs, shape: Shape, dims: Dims = shape) => ({
  labels: x.float(shape, 'l', { static: dims, low: 0, high: 1 }),
  logits: x.float(shape, 'z', { static: dims, seed: 4 }),
});

Object.assign(cases, {
  'gelu approximate': (x) => gelu(x.float([2, 3]), { approximate: true }),
  biasAdd: (x) => tf.nn.biasAdd(x.float([2, 3], 'x', { static: [null, 3] }), x.float([3], 'b', { seed: 3 })),
  'biasAdd NCHW': (x) => tf.nn.biasAdd(x.float([2, 3, 2]), x.float([3], 'b', { seed: 3 }), { dataFormat: 'NCHW' }),
  softmax: (x) => tf.nn.softmax(x.float([2, 3], 'x', { static: [null, 3] })),
  'softmax 0': (x) => tf.nn.softmax(x.float([2, 3], 'x', { static: [null, 3] }), 0),
  'softmax -2': (x) => tf.nn.softmax(x.float([2, 3, 2], 'x', { static: [null, 3, 2] }), -2, { name: 'sm' }),
  'logSoftmax 1': (x) => tf.nn.logSoftmax(x.float([2, 3, 2]), 1),
  softmaxCrossEntropy: (x) => tf.nn.softmaxCrossEntropyWithLogits(pair(x, [4, 3])),
  softmaxCrossEntropyV2: (x) => tf.nn.softmaxCrossEntropyWithLogitsV2(pair(x, [4, 3], [null, 3])),
  'softmaxCrossEntropyV2 axis': (x) => tf.nn.softmaxCrossEntropyWithLogitsV2({ ...pair(x, [4, 2, 3]), axis: 1 }),
  sparseSoftmaxCrossEntropy: (x) =>
    tf.nn.sparseSoftmaxCrossEntropyWithLogits({
      labels: x.ints([0, 2, 1, 1], 'l'),
      logits: x.float([4, 3], 'z', { static: [null, 3], seed: 4 }),
    }),
  'sparseSoftmaxCrossEntropy 3': (x) =>
    tf.nn.sparseSoftmaxCrossEntropyWithLogits({
      labels: x.ints(
        [
          [0, 2],
          [1, 1],
        ],
        'l',
      ),
      logits: x.float([2, 2, 3], 'z', { seed: 4 }),
      name: 'foo',
    }),
  'sparseSoftmaxCrossEntropy unknown': (x) =>
    tf.nn.sparseSoftmaxCrossEntropyWithLogits({
      labels: x.ints(
        [
          [0, 2],
          [1, 1],
        ],
        'l',
        [null, 2],
      ),
      logits: x.float([2, 2, 3], 'z', { static: [null, null, 3], seed: 4 }),
    }),
  sigmoidCrossEntropy: (x) => tf.nn.sigmoidCrossEntropyWithLogits(pair(x, [4, 3])),
  weightedCrossEntropy: (x) => tf.nn.weightedCrossEntropyWithLogits({ ...pair(x, [4, 3]), posWeight: 2.5 }),
  logPoissonLoss: (x) =>
    tf.nn.logPoissonLoss(x.float([4], 'l', { low: 0, high: 3 }), x.float([4], 'z', { seed: 4 }), {
      computeFullLoss: true,
    }),
  l2Loss: (x) => tf.nn.l2Loss(x.float([2, 3])),
  l2Normalize: (x) => tf.nn.l2Normalize(x.float([2, 3]), 1),
  moments: (x) => tf.nn.moments(x.float([4, 3]), [0]),
  'moments keep': (x) => tf.nn.moments(x.float([4, 3], 'x', { static: [null, 3] }), [0, 1], { keepDims: true }),
  weightedMoments: (x) => tf.nn.weightedMoments(x.float([4, 3]), [0], x.float([4, 1], 'w', { low: 0, high: 1 })),
  sufficientStatistics: (x) =>
    tf.nn.normalizeMoments(...tf.nn.sufficientStatistics(x.float([4, 3], 'x', { static: [null, 3] }), [0])),
  batchNormalization: (x) =>
    tf.nn.batchNormalization(
      x.float([4, 3]),
      x.float([3], 'm'),
      x.float([3], 'v', { low: 0.5, high: 1 }),
      x.float([3], 'o'),
      x.float([3], 's'),
      1e-3,
    ),
  xwPlusB: (x) => tf.nn.xwPlusB(x.float([4, 3]), x.float([3, 2], 'w'), x.float([2], 'b')),
  reluLayer: (x) => tf.nn.reluLayer(x.float([4, 3]), x.float([3, 2], 'w'), x.float([2], 'b')),
  dropout: (x) => tf.nn.dropout(x.float([4, 3]), { keepProb: 0.6, seed: 7 }),
  'dropout noise': (x) => tf.nn.dropout(x.float([4, 3]), { rate: 0.6, seed: 7, noiseShape: [null, 1] }),
  'dropout tensor': (x) =>
    tf.nn.dropout(x.float([4, 3], 'x', { static: [null, 3] }), {
      keepProb: x.float([], 'kp', { low: 0.5, high: 0.9, diff: false }),
      seed: 7,
    }),
  topK: (x) => Object.values(tf.nn.topK(x.float([3, 4], 'x', { static: [null, 4] }), 2)),
  bincount: (x) => tf.bincount(x.ints([1, 2, 2, 5])),
  cross: (x) => tf.cross(x.float([2, 3]), x.float([2, 3], 'y', { seed: 2 })),
  tensordot: (x) =>
    tf.tensordot(x.float([2, 3, 4]), x.float([4, 3], 'y'), [
      [1, 2],
      [1, 0],
    ]),
  'tensordot unknown': (x) =>
    tf.tensordot(x.float([2, 3, 4], 'x', { static: [null, 3, 4] }), x.float([4, 3], 'y'), [[2], [0]]),
  norm: (x) => tf.norm(x.float([2, 3])),
  'norm 1': (x) => tf.norm(x.float([2, 3]), { ord: 1, axis: 1 }),
  'norm 3': (x) => tf.norm(x.float([2, 3]), { ord: 3, axis: 1, keepdims: true }),
  'norm inf': (x) => tf.norm(x.float([2, 3]), { ord: Number.POSITIVE_INFINITY, axis: [0, 1] }),
  trace: (x) => tf.trace(x.float([3, 3])),
  embeddingLookup: (x) => tf.nn.embeddingLookup(x.float([4, 2]), x.ints([1, 3, 1])),
  'embeddingLookup mod': (x) =>
    tf.nn.embeddingLookup([x.float([2, 2]), x.float([2, 2], 'y', { seed: 2 })], x.ints([1, 3, 0])),
  'embeddingLookup div': (x) =>
    tf.nn.embeddingLookup([x.float([3, 2]), x.float([2, 2], 'y', { seed: 2 })], x.ints([1, 3, 0]), {
      partitionStrategy: 'div',
    }),
  matrixInverse: (x) => tf.matrixInverse(x.float([2, 2, 2])),
  matrixDeterminant: (x) => tf.matrixDeterminant(x.float([2, 2, 2])),
  matrixSolve: (x) => tf.matrixSolve(x.float([2, 2]), x.float([2, 3], 'y', { seed: 2 })),
  matrixTriangularSolve: (x) =>
    tf.matrixTriangularSolve(x.float([3, 2, 2]), x.float([2, 3], 'y', { seed: 2 }), { lower: false }),
  qr: (x) => Object.values(tf.qr(x.float([3, 2]))),
} satisfies Record<string, Build<MathInputs>>);

for (const [name, of] of Object.entries({
  sum: tf.segmentSum,
  mean: tf.segmentMean,
  max: tf.segmentMax,
  min: tf.segmentMin,
  prod: tf.segmentProd,
}))
  cases[`segment ${name}`] = (x) => of(x.float([4, 2], 'x', { static: [null, 2], low: 1 }), x.ints([0, 0, 2, 2]));
for (const [name, of] of Object.entries({
  sum: tf.unsortedSegmentSum,
  max: tf.unsortedSegmentMax,
  min: tf.unsortedSegmentMin,
  prod: tf.unsortedSegmentProd,
  mean: tf.unsortedSegmentMean,
  sqrt_n: tf.unsortedSegmentSqrtN,
}))
  cases[`unsorted ${name}`] = (x) => of(x.float([4, 2], 'x', { static: [null, 2], low: 1 }), x.ints([0, -1, 2, 2]), 3);
for (const [name, of] of Object.entries({
  sum: tf.sparseSegmentSum,
  mean: tf.sparseSegmentMean,
  sqrt_n: tf.sparseSegmentSqrtN,
}))
  cases[`sparse ${name}`] = (x) => of(x.float([4, 2], 'x', { low: 1 }), x.ints([3, 1, 1], 'i'), x.ints([0, 0, 2]));

const einsums: Record<string, readonly Shape[]> = {
  'ij,jk->ik': [
    [2, 3],
    [3, 4],
  ],
  'ij->ji': [[2, 3]],
  'ii->i': [[3, 3]],
  ii: [[3, 3]],
  'i,j->ij': [[2], [3]],
  '...ij,...jk->...ik': [
    [5, 1, 2, 3],
    [4, 3, 2],
  ],
  'abc,cd->abd': [
    [2, 3, 4],
    [4, 2],
  ],
  'ij,ij->': [
    [2, 3],
    [2, 3],
  ],
  'ij->i': [[2, 3]],
  'ijk->ki': [[2, 3, 4]],
  'ij,k->i': [[2, 3], [4]],
  'ij,jk,kl->il': [
    [2, 3],
    [3, 4],
    [4, 2],
  ],
};
for (const [equation, shapes] of Object.entries(einsums))
  cases[`einsum ${equation}`] = (x) => {
    const inputs = shapes.map((shape, k) => x.float(shape, 'xyz'[k], { seed: k + 1 }));
    return tf.einsum(equation, ...inputs, {});
  };

cases['betainc'] = (x) =>
  tf.betainc(
    x.float([3], 'a', { low: 0.5 }),
    x.float([3], 'b', { seed: 2, low: 0.5 }),
    x.float([3], 'x', { low: 0.1, high: 0.9 }),
  );
cases['lbeta'] = (x) => tf.lbeta(x.float([2, 3], 'x', { low: 0.5 }));
cases['histogramFixedWidth'] = (x) =>
  tf.histogramFixedWidth(x.float([2, 3]), tf.constant([-1, 1], tf.float64), { nbins: 4 });
cases['histogramFixedWidthBins'] = (x) =>
  tf.histogramFixedWidthBins(x.float([2, 3], 'x', { diff: false }), tf.constant([-1, 1], tf.float64), { nbins: 4 });
cases['logdet'] = (x) => {
  const nine = tf.eye(2, { dtype: tf.float64 }).mul(9);
  return tf.linalg.logdet(nine.add(tf.matmul(x.float([2, 2]), x.float([2, 2], 'y'), { transposeB: true })));
};
cases['matrixRank'] = (x) => tf.linalg.matrixRank(x.float([2, 3, 2]));
cases['matrixRank unknown'] = (x) => tf.linalg.matrixRank(x.float([3, 2], 'x', { static: [null, 2], diff: false }));
cases['normalize'] = (x) => tf.linalg.normalize(x.float([2, 3]), 1);
cases['pinv'] = (x) => tf.linalg.pinv(x.float([3, 2], 'x', { diff: false }));
cases['pinv unknown'] = (x) => tf.linalg.pinv(x.float([3, 2], 'x', { static: [null, 2], diff: false }));
const factorsOf = (a: tf.Tensor) => {
  const { lu, p } = tf.linalg.lu(a);
  return [lu, p] as const;
};
cases['lu solve'] = (x) => tf.linalg.luSolve(...factorsOf(x.float([2, 2], 'x', { diff: false })), x.float([2, 1], 'y'));
cases['lu solve batch'] = (x) =>
  tf.linalg.luSolve(...factorsOf(x.float([2, 3, 3], 'x', { diff: false })), x.float([3, 2], 'y'));
cases['lu inverse'] = (x) => tf.linalg.luMatrixInverse(...factorsOf(x.float([2, 2], 'x', { diff: false })));
cases['lu reconstruct'] = (x) => tf.linalg.luReconstruct(...factorsOf(x.float([3, 3], 'x', { diff: false })));
cases['lu reconstruct batch'] = (x) => tf.linalg.luReconstruct(...factorsOf(x.float([2, 3, 3], 'x', { diff: false })));
cases['lstsq'] = (x) => tf.linalg.lstsq(x.float([3, 2]), x.float([3, 1], 'y', { seed: 2 }), { l2Regularizer: 0.5 });
cases['lstsq wide'] = (x) => tf.linalg.lstsq(x.float([2, 3]), x.float([2, 1], 'y', { seed: 2 }));
cases['lstsq unknown'] = (x) =>
  tf.linalg.lstsq(x.float([3, 2], 'x', { static: [null, 2] }), x.float([3, 1], 'y', { seed: 2 }));
cases['lstsq op'] = (x) =>
  tf.linalg.lstsq(x.float([3, 2], 'x', { diff: false }), x.float([3, 1], 'y', { seed: 2, diff: false }), {
    fast: false,
  });
const nine = () => tf.eye(2, { dtype: tf.float64 }).mul(9);
cases['sqrtm'] = (x) => tf.linalg.sqrtm(nine().add(x.float([2, 2])));
cases['logm'] = (x) =>
  tf.abs(tf.linalg.logm(tf.cast(nine().add(x.float([2, 2], 'x', { diff: false })), tf.complex128)));
cases['expm'] = (x) => tf.linalg.expm(x.float([2, 2]));
cases['expm large'] = (x) => tf.linalg.expm(x.float([2, 2, 2], 'x', { low: -9, high: 9, static: [null, 2, 2] }));
cases['polyval'] = (x) => {
  const coeffs = [x.float([3], 'a'), tf.constant(2, tf.float64), x.float([3], 'b', { seed: 2 })];
  return tf.math.polyval(coeffs, x.float([3]));
};
for (const weights of [undefined, [0.5, 1, 2]])
  for (const combiner of ['sum', 'mean', 'sqrtn'] as const)
    cases[`embeddingLookupSparse ${combiner}${weights ? ' weights' : ''}`] = (x) => {
      const table = x.float([2, 3]);
      const where = [
        [0, 0],
        [0, 1],
        [2, 0],
      ];
      const ids = new tf.SparseTensor(where, [1, 0, 1], [3, 2]);
      const given = weights ? new tf.SparseTensor(where, tf.constant(weights, tf.float64), [3, 2]) : null;
      return tf.nn.embeddingLookupSparse(table, ids, given, { combiner });
    };
cases['embeddingLookupSparse tables'] = (x) => {
  const tables = [x.float([2, 3]), x.float([2, 3], 'y', { seed: 2 })];
  const places = [
    [0, 0],
    [0, 1],
  ];
  return tf.nn.embeddingLookupSparse(tables, new tf.SparseTensor(places, x.ints([1, 2]), [2, 2]), null, {
    maxNorm: 1.5,
  });
};
for (const n of [6, 5]) {
  cases[`rfft ${n}`] = (x) => tf.real(tf.signal.rfft(x.float([2, n])));
  cases[`rfft2d ${n}`] = (x) => tf.imag(tf.signal.rfft2d(x.float([2, 3, n])));
  const half = Math.floor(n / 2) + 1;
  cases[`irfft ${n}`] = (x) => {
    const spectrum = tf.complex(x.float([2, half]), x.float([2, half], 'y', { seed: 2 }));
    return tf.signal.irfft(spectrum, { fftLength: [n] });
  };
  cases[`irfft2d ${n}`] = (x) => {
    const spectrum = tf.complex(x.float([3, half]), x.float([3, half], 'y', { seed: 2 }));
    return tf.signal.irfft2d(spectrum, { fftLength: [3, n] });
  };
}
cases['rfft unknown'] = (x) => tf.real(tf.signal.rfft(x.float([2, 6], 'x', { static: [null, null] })));
cases['rfft padded'] = (x) => tf.real(tf.signal.rfft(x.float([2, 6]), { fftLength: [8] }));
cases['rfft padded unknown'] = (x) => {
  const signal = x.float([2, 6], 'x', { static: [null, null], diff: false });
  return tf.real(tf.signal.rfft(signal, { fftLength: x.ints([8]) }));
};
cases['irfft unknown'] = (x) =>
  tf.signal.irfft(tf.complex(x.float([2, 4], 'x', { static: [null, null] }), x.float([2, 4], 'y', { seed: 2 })));
cases['irfft2d unknown'] = (x) => {
  const dims = { static: [null, null] };
  return tf.signal.irfft2d(tf.complex(x.float([2, 4], 'x', dims), x.float([2, 4], 'y', dims)));
};
cases['rfft3d'] = (x) => tf.real(tf.signal.rfft3d(x.float([2, 3, 4], 'x', { diff: false })));
cases['irfft3d'] = (x) =>
  tf.signal.irfft3d(tf.complex(x.float([2, 3, 4], 'x', { diff: false }), x.float([2, 3, 4], 'y', { diff: false })));
cases['rgbToYuv'] = (x) => tf.image.rgbToYuv(x.float([2, 2, 3]));
cases['yiqToRgb'] = (x) => tf.image.yiqToRgb(tf.image.rgbToYiq(x.float([2, 2, 3])));
const resizes = {
  '': { size: [3, 5] },
  ' nearest': { size: [3, 5], method: tf.image.ResizeMethod.NEAREST_NEIGHBOR },
  ' same': { size: [2, 4] },
  ' corners': { size: [3, 5], alignCorners: true },
};
for (const [kind, { size, ...options }] of Object.entries(resizes))
  cases[`resizeImages${kind}`] = (x) => tf.image.resizeImages(x.float([2, 4, 3]), size, options);
cases['resizeImages unknown'] = (x) => {
  const images = x.float([1, 2, 4, 3], 'x', { static: [null, null, null, 3] });
  return tf.image.resizeImages(images, [8, 5], { preserveAspectRatio: true });
};
cases['batchNormWithGlobalNormalization'] = (x) => {
  const [t, m, v] = [x.float([2, 3]), x.float([3], 'm'), x.float([3], 'v', { low: 1 })];
  return tf.nn.batchNormWithGlobalNormalization(t, m, v, x.float([3], 'b'), x.float([3], 'g'), 1e-3, true);
};
const matrices = { square: [2, 2], tall: [3, 2], wide: [2, 2, 3] };
for (const [kind, dims] of Object.entries(matrices)) {
  cases[`svd ${kind}`] = (x) => tf.reduceSum(tf.svd(x.float(dims), { computeUv: false }).s, -1);
  cases[`svd ${kind} vectors`] = (x) => {
    const { s, u, v } = tf.svd(x.float(dims));
    return [s, tf.matmul(u.mul(tf.expandDims(tf.exp(s), -2)), v, { adjointB: true })];
  };
}
cases['svd full'] = (x) => {
  const { s, u, v } = tf.svd(x.float([2, 3]), { fullMatrices: true });
  const whole = tf.matmul(u.mul(tf.expandDims(s, -2)), v.slice(':, :2'), { adjointB: true });
  return [s, whole, tf.matmul(v.slice(':, 2:'), v.slice(':, 2:'), { adjointB: true })];
};
cases['svd complex'] = (x) => {
  const { s, u, v } = tf.svd(tf.complex(x.float([3, 2]), x.float([3, 2], 'y', { seed: 2 })));
  const scaled = u.mul(tf.expandDims(tf.cast(tf.exp(s), tf.complex128), -2));
  return [s, tf.abs(tf.matmul(scaled, v, { adjointB: true }))];
};
cases['randomGamma'] = (x) => {
  const [alpha, beta] = [x.float([2], 'a', { low: 0.5 }), x.float([2], 'b', { low: 0.5, seed: 2 })];
  return tf.randomGamma([3], alpha, { beta, dtype: tf.float64, seed: 1 });
};
cases['sparseToDense'] = (x) => {
  const values = x.float([2]);
  const places = [
    [0, 0],
    [1, 2],
  ];
  return tf.sparse.toDense(new tf.SparseTensor(places, values, [2, 3]));
};

// Equal to nine digits, but for what sums of several numbers lose.
describeCalls('mathNn.json', cases, { inputs: () => new MathInputs(), tolerance: 1e-7 });
