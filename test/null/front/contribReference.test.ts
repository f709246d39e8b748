/** @file Normalization, tf.contrib.layers, attention and decoders against TensorFlow 1.15's own code. */
import * as tf from 'tensorloom';
import { compareAll, data, gradients, withUpdates } from './contribCases.ts';

const { layers, seq2seq } = tf.contrib;
const cases: Record<string, () => tf.Tensor[]> = {};

type Batch = tf.layers.BatchNormalizationOptions & tf.layers.BatchNormalizationCall;
const batches: Record<string, [shape: number[], options: Batch]> = {
  rows: [[6, 3], { training: true, momentum: 0.8 }],
  rowsInference: [[6, 3], { training: false }],
  images: [[2, 2, 3, 2], { training: true, momentum: 0.8 }],
  imagesComposed: [[2, 2, 3, 2], { training: true, fused: false, momentum: 0.8 }],
  imagesChannelsFirst: [[2, 3, 2, 2], { training: true, axis: 1, fused: false, momentum: 0.8 }],
  imagesInference: [[2, 2, 3, 2], { training: false }],
  noScale: [[2, 2, 3, 2], { training: true, scale: false, momentum: 0.8 }],
  fusedAskedOfRows: [[6, 3], { training: true, fused: true, momentum: 0.8 }],
  renorm: [[6, 3], { training: true, renorm: true, renormMomentum: 0.7, momentum: 0.8 }],
  renormClipped: [
    [2, 2, 3, 2],
    { training: true, renorm: true, momentum: 0.8, renormClipping: { rmin: 0.9, rmax: 1.1, dmax: 0.2 } },
  ],
  virtual: [[6, 3], { training: true, virtualBatchSize: 2, momentum: 0.8 }],
  virtualImages: [[4, 2, 3, 2], { training: true, virtualBatchSize: 2, momentum: 0.8 }],
  virtualChannelsFirst: [[4, 3, 2], { training: true, axis: 1, virtualBatchSize: 2, momentum: 0.8 }],
  virtualInference: [[6, 3], { training: false, virtualBatchSize: 2 }],
  adjustment: [
    [6, 3],
    { training: true, momentum: 0.8, adjustment: () => [tf.constant([1.5, 0.5, 2]), tf.fill([3], tf.constant(0.25))] },
  ],
};
for (const [name, [shape, options]] of Object.entries(batches))
  cases[`batchNormalization.${name}`] = () => withUpdates(tf.layers.batchNormalization(data(2, ...shape), options));

const contribBatches: Record<string, [shape: number[], options: () => tf.contrib.layers.BatchNormOptions]> = {
  plain: [[6, 3], () => ({})],
  images: [[2, 2, 3, 2], () => ({ decay: 0.8, scale: true })],
  atOnce: [[2, 2, 3, 2], () => ({ decay: 0.8, updatesCollections: null })],
  rowsAtOnce: [[6, 3], () => ({ decay: 0.8, updatesCollections: null, scale: true, center: false })],
  composedAtOnce: [[6, 3], () => ({ decay: 0.8, updatesCollections: null, fused: false })],
  inference: [[6, 3], () => ({ isTraining: false })],
  weights: [[4, 3], () => ({ decay: 0.8, fused: false, batchWeights: tf.constant([1, 2, 0.5, 0]) })],
  debiased: [[6, 3], () => ({ decay: 0.8, zeroDebiasMovingMean: true, updatesCollections: null })],
  renorm: [[6, 3], () => ({ decay: 0.8, renorm: true, renormDecay: 0.7 })],
};
for (const [name, [shape, options]] of Object.entries(contribBatches))
  cases[`batchNorm.${name}`] = () => withUpdates(layers.batchNorm(data(2, ...shape), options()));

const layerNorms: Record<string, [shape: number[], options: Parameters<typeof layers.layerNorm>[1]]> = {
  rows: [[4, 5], {}],
  plain: [[4, 5], { center: false, scale: false }],
  images: [[2, 2, 3, 2], { scale: false }],
  axes: [[2, 2, 3, 2], { beginNormAxis: 2, beginParamsAxis: 2, activationFn: tf.nn.tanh }],
};
for (const [name, [shape, options]] of Object.entries(layerNorms))
  cases[`layerNorm.${name}`] = () => withUpdates(layers.layerNorm(data(2, ...shape), options));

const { l1Regularizer: l1, l2Regularizer: l2 } = layers;
const { fullyConnected, conv2d } = layers;
const nets: Record<string, () => tf.Tensor> = {
  fullyConnected: () => fullyConnected(data(2, 3, 4), 2, { weightsRegularizer: l2(0.1), biasesRegularizer: l1(0.2) }),
  fullyConnectedTwice: () => fullyConnected(fullyConnected(data(2, 3, 4), 3), 2, { activationFn: null }),
  fullyConnectedWide: () => fullyConnected(data(2, 2, 3, 4), 2, { biasesInitializer: null }),
  fullyConnectedNormalized: () =>
    fullyConnected(data(2, 5, 4), 2, { normalizerFn: layers.batchNorm, normalizerParams: { decay: 0.5 } }),
  conv2d: () => conv2d(data(2, 1, 5, 5, 2), 3, 3, { stride: 2 }),
  conv2dRate: () => conv2d(data(2, 1, 6, 6, 2), 2, [2, 3], { rate: 2, padding: 'VALID', activationFn: null }),
  conv2dNormalized: () => conv2d(data(2, 2, 4, 4, 2), 2, 3, { normalizerFn: layers.layerNorm, scope: 'mine' }),
  maxPool2d: () => layers.maxPool2d(data(2, 1, 5, 5, 2), 3),
  maxPool2dSame: () => layers.maxPool2d(data(2, 1, 5, 5, 2), [3, 2], { stride: [1, 2], padding: 'SAME' }),
  avgPool2d: () => layers.avgPool2d(data(2, 1, 5, 5, 2), 2),
  flatten: () => layers.flatten(data(2, 2, 3, 2)),
  dropout: () => layers.dropout(data(2, 5, 5), { keepProb: 0.6, seed: 3 }),
  dropoutIdle: () => layers.dropout(data(2, 5, 5), { keepProb: 0.6, isTraining: false }),
  separate: () => layers.layerNorm(layers.stack(data(2, 3, 4), fullyConnected, [[5], [2]], { scope: 'fc' })),
};
for (const [name, make] of Object.entries(nets))
  cases[`layers.${name}`] = () => [
    ...withUpdates(make()),
    ...tf.getCollection<tf.Tensor>(tf.GraphKeys.REGULARIZATION_LOSSES),
  ];

cases.regularizers = () => {
  const w = data(2, 3, 4);
  const both = layers.l1L2Regularizer({ scaleL1: 0.3, scaleL2: 0.7 });
  const summed = layers.sumRegularizer([l1(0.3), l2(0.2), l2(0)]);
  const applied = layers.applyRegularization(l2(0.5), [w, w.mul(2)]);
  return [l1(0.4)(w)!, l2(0.4)(w)!, both(w)!, summed(w)!, applied];
};
cases.xavier = () => {
  const { xavierInitializer: xavier, varianceScalingInitializer: scaling } = layers;
  return [
    xavier({ seed: 5 })([4, 6]),
    xavier({ uniform: false, seed: 5 })([4, 6]),
    xavier({ seed: 5 })([3, 3, 2, 4]),
    scaling({ seed: 9 })([4, 6]),
    scaling({ factor: 1, mode: 'FAN_OUT', uniform: true, seed: 9 })([2, 3, 4]),
  ].map((values) => tf.convertToTensor(values));
};

type Rate = Parameters<typeof layers.optimizeLoss>[2];
type Method = Parameters<typeof layers.optimizeLoss>[3];
const decayed = (rate: tf.TensorLike, step: tf.Variable) => tf.train.exponentialDecay(rate, step, 2, 0.5);
const losses: Record<string, [rate: Rate, optimizer: Method, options: tf.contrib.layers.OptimizeLossOptions]> = {
  plain: [0.1, 'SGD', {}],
  clipped: [0.1, 'Adam', { clipGradients: 0.5 }],
  decayed: [0.1, 'Momentum', { learningRateDecayFn: decayed }],
  multiplied: [0.1, 'Adagrad', { gradientMultipliers: new Map([['w:0', 0.1]]) }],
  summaries: [
    0.1,
    'RMSProp',
    {
      clipGradients: 0.5,
      learningRateDecayFn: decayed,
      summaries: ['learning_rate', 'loss', 'gradients', 'gradient_norm', 'global_gradient_norm'],
    },
  ],
  class: [0.1, tf.train.FtrlOptimizer, { summaries: [] }],
  made: [null, () => new tf.train.GradientDescentOptimizer(0.2), { incrementGlobalStep: false }],
  adaptive: [0.1, 'SGD', { clipGradients: layers.adaptiveClippingFn({ decay: 0.9 }) }],
};
for (const [name, [rate, optimizer, options]] of Object.entries(losses))
  cases[`optimizeLoss.${name}`] = () => {
    const step = tf.train.getOrCreateGlobalStep();
    const [w, b] = [tf.getVariable('w', [3]), tf.getVariable('b', [])];
    const loss = tf.reduceSum(tf.square(w.mul(data(2, 3)).add(b).sub(1)));
    const train = layers.optimizeLoss(loss, step, rate, optimizer, options);
    return tf.controlDependencies([train], () => [train, w.readValue(), b.readValue(), step.readValue()]);
  };

const memoryLengths = [5, 3];
type Mechanism = tf.contrib.seq2seq.AttentionMechanism;
const given = { memorySequenceLength: memoryLengths };
const mechanisms: Record<string, (memory: tf.Tensor) => Mechanism> = {
  bahdanau: (m) => new seq2seq.BahdanauAttention(4, m, given),
  bahdanauNormalized: (m) => new seq2seq.BahdanauAttention(4, m, { ...given, normalize: true }),
  luong: (m) => new seq2seq.LuongAttention(4, m, given),
  luongScaled: (m) => new seq2seq.LuongAttention(4, m, { ...given, scale: true }),
  bahdanauMonotonic: (m) =>
    new seq2seq.BahdanauMonotonicAttention(4, m, { ...given, normalize: true, scoreBiasInit: -1 }),
  bahdanauMonotonicRecursive: (m) => new seq2seq.BahdanauMonotonicAttention(4, m, { ...given, mode: 'recursive' }),
  luongMonotonic: (m) => new seq2seq.LuongMonotonicAttention(4, m, { ...given, scale: true }),
  luongMonotonicHard: (m) => new seq2seq.LuongMonotonicAttention(4, m, { ...given, mode: 'hard' }),
  custom: (m) =>
    new seq2seq.LuongAttention(4, m, {
      ...given,
      probabilityFn: (score) => seq2seq.hardmax(score),
      customKeyValueFn: (keys, values) => [keys.mul(2), values.add(1)],
    }),
};
type WrapperOptions = Omit<tf.contrib.seq2seq.AttentionWrapperOptions<tf.Tensor>, 'alignmentHistory'>;
function attended(
  which: readonly string[],
  options: WrapperOptions,
  decode: tf.contrib.seq2seq.DynamicDecodeOptions = {},
): tf.Tensor[] {
  const made = which.map((name) => mechanisms[name]!(data(5, 2, 5, 3)));
  const cell = new tf.nn.rnnCell.GRUCell(4);
  const helper = new seq2seq.TrainingHelper(data(8, 2, 4, 3), [4, 3]);
  const decoded = <G extends tf.contrib.seq2seq.Mechanisms>(given: G) => {
    const wrapper = new seq2seq.AttentionWrapper(cell, given, { ...options, alignmentHistory: true });
    const decoder = new seq2seq.BasicDecoder(wrapper, helper, wrapper.zeroState(2, tf.float32));
    const [{ rnnOutput, sampleId }, state, lengths] = seq2seq.dynamicDecode(decoder, decode);
    return { found: [rnnOutput, sampleId, lengths], history: state.alignmentHistory };
  };
  const one = () => {
    const { found, history } = decoded(made[0]!);
    return [...found, history.stack()];
  };
  const many = () => {
    const { found, history } = decoded(made);
    return [...found, ...history.map((h) => h.stack())];
  };
  const results = made.length === 1 ? one() : many();
  return [...results, ...gradients(results[0]!)];
}
for (const name of Object.keys(mechanisms))
  cases[`attention.${name}`] = () => attended([name], { attentionLayerSize: 3 });
Object.assign(cases, {
  'wrapper.context': () => attended(['luong'], { outputAttention: false }),
  'wrapper.several': () => attended(['bahdanau', 'luong', 'bahdanau'], { attentionLayerSize: [2, 3, 2] }),
  'wrapper.inputs': () => attended(['luong'], { cellInputFn: (x, a) => x.add(a), attentionLayerSize: 3 }),
  'wrapper.imputed': () => attended(['luong'], { attentionLayerSize: 3 }, { imputeFinished: true }),
  'wrapper.timeMajor': () => attended(['luong'], {}, { outputTimeMajor: true, maximumIterations: 2 }),
  'wrapper.layer': () => {
    const attentionLayer = new tf.layers.Dense(3, { activation: tf.nn.tanh, name: 'own' });
    return attended(['luong'], { attentionLayer });
  },
} satisfies typeof cases);

const inputs = () => data(8, 2, 5, 3);
const helpers: Record<string, (embedding: tf.Tensor) => tf.contrib.seq2seq.Helper> = {
  greedy: (e) => new seq2seq.GreedyEmbeddingHelper(e, [0, 1], 5),
  sampled: (e) => new seq2seq.SampleEmbeddingHelper(e, [0, 1], 5, { softmaxTemperature: 0.5, seed: 3 }),
  scheduled: (e) =>
    new seq2seq.ScheduledEmbeddingTrainingHelper(inputs(), [5, 4], e, 0.5, { seed: 3, schedulingSeed: 4 }),
  scheduledOutputs: () =>
    new seq2seq.ScheduledOutputTrainingHelper(inputs(), [5, 4], 0.5, {
      seed: 3,
      nextInputsFn: (y) => y.slice(':, :3').mul(2),
    }),
  scheduledAuxiliary: () =>
    new seq2seq.ScheduledOutputTrainingHelper(data(8, 2, 5, 6), [5, 4], 0.5, {
      seed: 3,
      auxiliaryInputs: data(9, 2, 5, 2),
    }),
  inference: () =>
    new seq2seq.InferenceHelper(
      (y) => tf.tanh(y),
      [6],
      tf.float32,
      data(8, 2, 6),
      (s) => s.slice(':, 0').greater(5),
    ),
};
for (const [name, make] of Object.entries(helpers))
  cases[`helper.${name}`] = () => {
    const cell = new tf.nn.rnnCell.GRUCell(4);
    const helper = make(data(4, 6, 3));
    const out = new tf.layers.Dense(6, { name: 'out' });
    const decoder = new seq2seq.BasicDecoder(cell, helper, cell.zeroState(2, tf.float32), out);
    const [{ rnnOutput, sampleId }, , lengths] = seq2seq.dynamicDecode(decoder, { maximumIterations: 6 });
    return [rnnOutput, sampleId, lengths];
  };

function searched<S>(cell: tf.nn.rnnCell.RNNCell<S>, options: tf.contrib.seq2seq.BeamSearchOptions) {
  const outputLayer = new tf.layers.Dense(6, { name: 'out' });
  const start = cell.zeroState(6, tf.float32);
  const search = { outputLayer, ...options };
  const decoder = new seq2seq.BeamSearchDecoder(cell, data(4, 6, 3), [0, 1], 5, start, 3, search);
  const [outputs, state, lengths] = seq2seq.dynamicDecode(decoder, { maximumIterations: 6 });
  const { scores, predictedIds, parentIds } = outputs.beamSearchDecoderOutput;
  const found = [outputs.predictedIds, scores, predictedIds, parentIds, state.logProbs, state.lengths, lengths];
  return { found, state };
}
function searchedWithAttention(options: tf.contrib.seq2seq.BeamSearchOptions): tf.Tensor[] {
  const memory = seq2seq.tileBatch(data(5, 2, 5, 3), 3);
  const memorySequenceLength = seq2seq.tileBatch(tf.constant(memoryLengths, tf.int32), 3);
  const mechanism = new seq2seq.BahdanauAttention(4, memory, { memorySequenceLength });
  const wrapping = { attentionLayerSize: 3, alignmentHistory: true } as const;
  const cell = new seq2seq.AttentionWrapper(new tf.nn.rnnCell.GRUCell(4), mechanism, wrapping);
  const { found, state } = searched(cell, options);
  const { alignmentHistory } = state.cellState;
  if (!(alignmentHistory instanceof tf.Tensor)) throw new Error('the alignments are not in order');
  return [...found, alignmentHistory];
}
Object.assign(cases, {
  'beamSearch.plain': () => searched(new tf.nn.rnnCell.GRUCell(4), {}).found,
  'beamSearch.penalized': () => searched(new tf.nn.rnnCell.GRUCell(4), { lengthPenaltyWeight: 0.8 }).found,
  'beamSearch.attention': () => searchedWithAttention({}),
  'beamSearch.covered': () => searchedWithAttention({ coveragePenaltyWeight: 0.3 }),
} satisfies typeof cases);

compareAll('contribReference.json', cases);
