/** @file Losses of classifiers with very many classes, computed from the true classes and a sample of the others. */
import * as d from '../../core/dtypes.ts';
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { ones, zeros } from '../array/fill.ts';
import { getItem } from '../array/getItem.ts';
import { stopGradient } from '../array/identity.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { slice } from '../array/slice.ts';
import { squeeze } from '../array/squeeze.ts';
import { stack } from '../array/stack.ts';
import { cast } from '../math/cast.ts';
import { log } from '../math/exp.ts';
import { matmul } from '../math/matmul.ts';
import { multiply } from '../math/multiply.ts';
import { minus, over, plus } from '../math/operators.ts';
import { onesLike, zerosLike } from '../math/zerosLike.ts';
import { sparseToDense } from '../sparse/sparseToDense.ts';
import { computeAccidentalHits, logUniformCandidateSampler, type SampledCandidates } from './candidateSampling.ts';
import {
  sigmoidCrossEntropyWithLogits,
  softmaxCrossEntropyWithLogitsV2,
  sparseSoftmaxCrossEntropyWithLogits,
} from './crossEntropy.ts';
import { type EmbeddingOptions, embeddingLookup } from './embedding.ts';

/** One table of rows, or the tables that its rows are spread over; a partitioned variable is a list of its parts. */
type Tables = TensorLike | readonly TensorLike[];

export interface SampledLossOptions {
  /** True classes per example, 1 unless given. */
  readonly numTrue?: number | undefined;
  /** What a candidate sampler gave; `logUniformCandidateSampler` unless given. */
  readonly sampledValues?: SampledCandidates | null | undefined;
  /** Whether sampled classes that are true ones of an example are left out for it. */
  readonly removeAccidentalHits?: boolean | undefined;
  readonly partitionStrategy?: EmbeddingOptions['partitionStrategy'];
  readonly name?: string | undefined;
}

interface Sampling {
  readonly weights: Tables;
  readonly biases: Tables;
  readonly labels: TensorLike;
  readonly inputs: TensorLike;
  readonly numSampled: number;
  readonly numClasses: number;
  readonly options: SampledLossOptions & { readonly seed?: number | null | undefined };
}

const optionNames = ['numTrue', 'sampledValues', 'removeAccidentalHits', 'partitionStrategy', 'name'] as const;
const places = ['weights', 'biases', 'labels', 'inputs', 'numSampled', 'numClasses'] as const;

/** The arguments of a sampled loss, in their places or by name. */
interface SampledLossArguments extends Omit<Sampling, 'options'>, SampledLossOptions {}
interface SeedOption {
  readonly seed?: number | null | undefined;
}

function samplingOf(
  owner: string,
  given: readonly unknown[],
  ...names: (keyof (SampledLossOptions & SeedOption))[]
): Sampling {
  const all = byName<SampledLossArguments & SeedOption>(owner, given, ...places);
  const { weights, biases, labels, inputs, numSampled, numClasses, ...options } = onlyOptions(
    owner,
    all,
    ...places,
    ...names,
  );
  return { weights, biases, labels, inputs, numSampled, numClasses, options };
}

/** Sums of rows as a product with ones, whose gradient is cheaper than that of `reduceSum`. */
function sumRows(x: Tensor): Tensor {
  const columns = getItem(shape(x), [1]);
  const onesShape = stack([columns, 1]);
  return reshape(matmul(x, ones(onesShape, { dtype: x.dtype })), [-1]);
}

/** Logits of the true classes, then of the sampled ones, and their labels. */
function sampledLogits(given: Sampling, scope: string): { logits: Tensor; labels: Tensor } {
  const { numSampled, numClasses, options } = given;
  const { numTrue = 1, removeAccidentalHits, partitionStrategy = 'mod' } = options;
  return nameScope(scope, () => {
    const inputs = convertToTensor(given.inputs);
    const labels = cast(convertToTensor(given.labels), d.int64);
    const flat = reshape(labels, [-1]);
    const drawn =
      options.sampledValues ??
      logUniformCandidateSampler(labels, numTrue, numSampled, true, numClasses, { seed: options.seed });
    const [candidates, trueExpected, sampledExpected] = drawn.map((t) => stopGradient(t));
    const sampled = cast(candidates!, d.int64);
    const ids = concat([flat, sampled], 0);
    const rows = cast(embeddingLookup(given.weights, ids, { partitionStrategy }), inputs.dtype);
    const trueRows = slice(rows, [0, 0], stack([getItem(shape(flat), [0]), -1]));
    const sampledRows = slice(rows, stack([getItem(shape(flat), [0]), 0]), [-1, -1]);
    const sampledProducts = matmul(inputs, sampledRows, { transposeB: true });
    const offsets = cast(embeddingLookup(given.biases, ids, { partitionStrategy }), inputs.dtype);
    const trueOffsets = slice(offsets, [0], shape(flat));
    const sampledOffsets = slice(offsets, shape(flat), [-1]);
    const width = getItem(shape(trueRows), '1:2');
    const perExample = concat([[-1, numTrue], width], 0);
    const products = multiply(expandDims(inputs, 1), reshape(trueRows, perExample));
    const asRows = reshape(products, concat([[-1], width], 0));
    const trueSums = reshape(sumRows(asRows), [-1, numTrue]);
    let trueLogits: Tensor = plus(trueSums, reshape(trueOffsets, [-1, numTrue]));
    let logits: Tensor = plus(sampledProducts, sampledOffsets);
    if (removeAccidentalHits) logits = withoutHits(logits, labels, sampled, numTrue, numSampled);
    // How likely a class is to be among the candidates is taken off its logit.
    trueLogits = minus(trueLogits, log(trueExpected!));
    logits = minus(logits, log(sampledExpected!));
    const all = concat([trueLogits, logits], 1);
    const shares = over(onesLike(trueLogits), numTrue);
    return { logits: all, labels: concat([shares, zerosLike(logits)], 1) };
  });
}

/** Logits of sampled classes that are true ones become so low that they do not count. */
function withoutHits(logits: Tensor, labels: Tensor, sampled: Tensor, numTrue: number, numSampled: number): Tensor {
  const [examples, ids, weights] = computeAccidentalHits(labels, sampled, numTrue);
  const rows = reshape(examples, [-1, 1]);
  const columns = reshape(cast(ids, d.int32), [-1, 1]);
  const places = concat([rows, columns], 1, { name: 'sparse_indices' });
  const size = concat([getItem(shape(labels), ':1'), expandDims(numSampled, 0)], 0);
  const low = cast(weights, logits.dtype);
  return plus(logits, sparseToDense(places, size, low, { defaultValue: 0, validateIndices: false }));
}

/**
 * Noise-contrastive estimation: the loss of telling true classes from sampled ones, per example. Adds nodes under
 * `nce_loss/` and `sampled_losses/`.
 *
 * @example tf.nn.nceLoss(weights, biases, labels, inputs, 64, 50000)
 */
export function nceLoss(...given: Placed<SampledLossArguments, typeof places>): Tensor {
  const sampling = samplingOf('tf.nn.nceLoss', given, ...optionNames);
  const { options } = sampling;
  const sample = sampledLogits(sampling, options.name ?? 'nce_loss');
  return sumRows(sigmoidCrossEntropyWithLogits({ ...sample, name: 'sampled_losses' }));
}

/**
 * The softmax loss over the true classes and sampled ones, per example; for training only. Adds nodes under
 * `sampled_softmax_loss/` and a cross entropy.
 *
 * @example tf.nn.sampledSoftmaxLoss(weights, biases, labels, inputs, 64, 50000)
 */
export function sampledSoftmaxLoss(...given: Placed<SampledLossArguments & SeedOption, typeof places>): Tensor {
  const { options, ...sampling } = samplingOf('tf.nn.sampledSoftmaxLoss', given, ...optionNames, 'seed');
  const { removeAccidentalHits = true } = options;
  const sample = sampledLogits(
    { ...sampling, options: { ...options, removeAccidentalHits } },
    options.name ?? 'sampled_softmax_loss',
  );
  const fixed = stopGradient(sample.labels, { name: 'labels_stop_gradient' });
  return softmaxCrossEntropyWithLogitsV2({ labels: fixed, logits: sample.logits });
}

/**
 * As `sampledSoftmaxLoss` for one true class per example, through the cross entropy of class numbers. Adds nodes under
 * `sampled_sparse_softmax_loss/` and a sparse cross entropy.
 *
 * @example tf.contrib.nn.sampledSparseSoftmaxLoss(weights, biases, labels, inputs, 64, 50000)
 */
export function sampledSparseSoftmaxLoss(
  weights: Tables,
  biases: Tables,
  labels: TensorLike,
  inputs: TensorLike,
  numSampled: number,
  numClasses: number,
  options: Omit<SampledLossOptions, 'numTrue'> = {},
): Tensor {
  const names = ['sampledValues', 'removeAccidentalHits', 'partitionStrategy', 'name'] as const;
  const { removeAccidentalHits = true } = onlyOptions('tf.contrib.nn.sampledSparseSoftmaxLoss', options, ...names);
  const all = { ...options, removeAccidentalHits };
  const sampling = { weights, biases, labels, inputs, numSampled, numClasses, options: all };
  const { logits } = sampledLogits(sampling, options.name ?? 'sampled_sparse_softmax_loss');
  // The true class stands first among the logits.
  const first = zeros(stack([getItem(shape(logits), [0]), 1]), { dtype: d.int64 });
  return sparseSoftmaxCrossEntropyWithLogits({ labels: squeeze(first, { axis: [1] }), logits });
}
