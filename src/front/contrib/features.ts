/** @file Small layers of `tf.contrib.layers`: biases, softmax, maxout, scaled gradients, images as sequences and back. */
import { customGradient } from '../../autodiff/index.ts';
import { float32, int64 } from '../../core/dtypes.ts';
import { checkOptions, onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import {
  concat,
  constant,
  gatherNd,
  identity,
  linspace,
  meshgrid,
  reshape,
  shape,
  transpose,
} from '../../ops/array/index.ts';
import { minimum, multiply, notEqual, reduceMax, reduceSum, rsqrt, square, where } from '../../ops/math/index.ts';
import { biasAdd as biasAddOf, softmax as softmaxOf } from '../../ops/nn/index.ts';
import { constantInitializer, onesInitializer, zerosInitializer } from '../initializers.ts';
import type { Activation } from '../layers/biasedLayer.ts';
import { getVariable, type VariableScope, variableScope } from '../variableScope.ts';
import type { VariableInitializer } from '../variableStore.ts';
import { addArgScope } from './argScope.ts';
import {
  type Collections,
  collect,
  type ModelOptions,
  modelNames,
  modelVariables,
  output,
  scopeOf,
  type VariablesCollections,
} from './model.ts';
import type { WeightsRegularizer } from './regularizers.ts';

type ImageLetters = 'NHWC' | 'NCHW';

function checkLetters(dataFormat: ImageLetters): void {
  if (dataFormat !== 'NHWC' && dataFormat !== 'NCHW') throw userError('dataFormat has to be either NCHW or NHWC.');
}

export interface BiasAddLayerOptions extends ModelOptions {
  readonly activationFn?: Activation | null | undefined;
  /** Zeros unless given. */
  readonly initializer?: VariableInitializer | undefined;
  readonly regularizer?: WeightsRegularizer | undefined;
  readonly dataFormat?: ImageLetters | undefined;
}
const biasAddNames = {
  ...modelNames,
  activationFn: true,
  initializer: true,
  regularizer: true,
  dataFormat: true,
} as const;

/**
 * A trained number for each channel, added. Adds the variable `BiasAdd/biases`.
 *
 * @example const y = tf.contrib.layers.biasAdd(x, { activationFn: tf.nn.relu });
 */
export const biasAdd = addArgScope(function biasAdd(inputs: TensorLike, options: BiasAddLayerOptions = {}): Tensor {
  checkOptions('tf.contrib.layers.biasAdd', options, biasAddNames);
  const { dataFormat = 'NHWC', initializer = zerosInitializer(), regularizer, trainable } = options;
  checkLetters(dataFormat);
  return scopeOf(options, 'BiasAdd', modelVariables(), () => {
    const x = convertToTensor(inputs);
    if (x.shape === null) throw userError('Dims of shape must be known but is None');
    if (x.shape.length !== 4 && dataFormat === 'NCHW') throw userError('Data format NCHW only supports 4D Tensor');
    const channels = x.shape.at(dataFormat === 'NCHW' ? 1 : -1) ?? null;
    if (channels === null) throw userError('`C` dimension must be known but is None');
    const biases = getVariable('biases', [channels], { dtype: x.dtype, initializer, regularizer, trainable });
    collect(biases, options.variablesCollections, 'biases');
    const sum = biasAddOf(x, biases, { dataFormat });
    return output(options.activationFn ? options.activationFn(sum) : sum, options.outputsCollections);
  });
});

/**
 * Softmax over the last axis of logits of any rank. Adds nodes under `softmax/`.
 *
 * @example tf.contrib.layers.softmax(tf.zeros([1, 1, 2])) // runs to [[[0.5 0.5]]]
 */
export function softmax(
  logits: TensorLike,
  options: { readonly scope?: string | VariableScope | undefined } = {},
): Tensor {
  const { scope } = onlyOptions('tf.contrib.layers.softmax', options, 'scope');
  return variableScope(scope ?? null, { defaultName: 'softmax' }, () => {
    const x = convertToTensor(logits);
    const classes = x.rank === null || x.rank < 2 ? null : (x.shape!.at(-1) ?? null);
    if (classes === null) throw userError('softmax needs logits of at least two axes, the last of a known size.');
    const result = reshape(softmaxOf(reshape(x, [-1, classes])), shape(x));
    result.setShape(x.shape);
    return result;
  });
}

export interface SpatialSoftmaxOptions {
  /** Where the trained temperature begins; 1 unless given. */
  readonly temperature?: number | undefined;
  readonly name?: string | undefined;
  readonly variablesCollections?: VariablesCollections | undefined;
  readonly trainable?: boolean | undefined;
  readonly dataFormat?: ImageLetters | undefined;
}

/**
 * Where in an image each channel is strongest: the expected position under a softmax over all pixels, row and column from -1
 * to 1, [batch, 2 * channels]. Adds the variable `spatial_softmax/temperature`.
 *
 * @example const keypoints = tf.contrib.layers.spatialSoftmax(features);
 */
export const spatialSoftmax = addArgScope(function spatialSoftmax(
  features: TensorLike,
  options: SpatialSoftmaxOptions = {},
): Tensor {
  const names = ['temperature', 'name', 'variablesCollections', 'trainable', 'dataFormat'] as const;
  const given = onlyOptions('tf.contrib.layers.spatialSoftmax', options, ...names);
  const { dataFormat = 'NHWC', trainable = true } = given;
  checkLetters(dataFormat);
  return scopeOf({ scope: given.name }, 'spatial_softmax', modelVariables(), () => {
    const x = convertToTensor(features);
    const isFirst = dataFormat === 'NCHW';
    const channels = x.shape?.[isFirst ? 1 : 3] ?? null;
    if (channels === null)
      throw userError('The channels of the inputs to `spatialSoftmax` must be known. Use setShape.');
    const sizes = shape(x);
    const [height, width] = (isFirst ? ['2', '3'] : ['1', '2']).map((axis) => sizes.slice(axis)) as [Tensor, Tensor]; // two axes
    return nameScope('spatial_softmax_op', () => {
      const along = (count: Tensor) =>
        linspace(constant(-1, { dtype: float32 }), constant(1, { dtype: float32 }), count);
      const pixels = reshape(height.mul(width), [1]);
      const [rows, columns] = meshgrid([along(height), along(width)], { indexing: 'ij' }).map((t) =>
        reshape(t, pixels),
      );
      const temperature = getVariable('temperature', [], {
        dtype: float32,
        initializer: given.temperature === undefined ? onesInitializer() : constantInitializer(given.temperature),
        trainable,
      });
      if (trainable) collect(temperature, given.variablesCollections, 'temperature');
      const flat = reshape(isFirst ? x : transpose(x, [0, 3, 1, 2]), concat([[-1], pixels], 0));
      const weights = softmaxOf(flat.div(temperature));
      const expected = (place: Tensor) => reduceSum(place.mul(weights), [1], { keepdims: true });
      const result = reshape(concat([expected(rows!), expected(columns!)], 1), [-1, channels * 2]);
      result.setShape([null, channels * 2]);
      return result;
    });
  });
});

/**
 * The largest of each group of channels, such that `numUnits` are left. Adds nodes under `MaxOut/`.
 *
 * @example tf.contrib.layers.maxout(tf.constant([[1, 5, 3, 2]]), 2) // runs to [[5 3]]
 */
export const maxout = addArgScope(function maxout(
  inputs: TensorLike,
  numUnits: number,
  options: { readonly axis?: number | undefined; readonly scope?: string | VariableScope | undefined } = {},
): Tensor {
  const { axis = -1, scope } = onlyOptions('tf.contrib.layers.maxout', options, 'axis', 'scope');
  return variableScope(scope ?? null, { defaultName: 'MaxOut' }, () => {
    const x = convertToTensor(inputs);
    const channels = x.shape?.at(axis) ?? null;
    if (x.shape === null || channels === null) throw userError('maxout needs inputs whose channels are known.');
    if (channels % numUnits !== 0)
      throw userError(`number of features(${channels}) is not a multiple of numUnits(${numUnits})`);
    const at = axis < 0 ? x.shape.length + axis : axis;
    const sizes = x.shape.map((size, i) => (i === at ? numUnits : (size ?? shape(x).slice(`${i}`))));
    return reduceMax(reshape(x, [...sizes, channels / numUnits]), -1);
  });
});

/**
 * Vectors along `axis` that are longer than `1 - epsilon` cut to that length. Adds nodes under `poincare_normalize/`.
 *
 * @example tf.contrib.layers.poincareNormalize(tf.constant([[3, 4.5]]), { epsilon: 0.5 }) // runs to [[0.2773501  0.41602513]]
 */
export function poincareNormalize(
  x: TensorLike,
  options: {
    readonly axis?: number | undefined;
    readonly epsilon?: number | undefined;
    readonly name?: string | undefined;
  } = {},
): Tensor {
  const { axis = 1, epsilon = 1e-5, name } = onlyOptions('tf.contrib.layers.poincareNormalize', options, 'axis', 'epsilon', 'name'); // biome-ignore format: one call
  return nameScope(name ?? 'poincare_normalize', (scope) => {
    const given = convertToTensor(x, { name: 'x' });
    const inverse = rsqrt(reduceSum(square(given), axis, { keepdims: true }));
    return multiply(given, minimum(inverse.mul(1 - epsilon), 1), { name: scope });
  });
}

/**
 * What is given, unchanged; its gradient is multiplied. No gradient reaches the multiplier.
 *
 * @example const y = tf.contrib.layers.scaleGradient(x, 0.1);
 */
export function scaleGradient(inputs: TensorLike, gradientMultiplier: TensorLike): Tensor {
  const scaled = customGradient((x: Tensor) => ({
    value: identity(x),
    grad: (dy: Tensor) => dy.mul(gradientMultiplier),
  }));
  return scaled(inputs);
}

export interface ImagesToSequenceOptions {
  readonly dataFormat?: ImageLetters | undefined;
  readonly outputsCollections?: Collections | undefined;
  readonly scope?: string | undefined;
}

/**
 * Images, [batch, height, width, depth], as sequences of columns, [width, batch * height, depth]. Adds nodes under
 * `ImagesToSequence/`.
 *
 * @example tf.contrib.layers.imagesToSequence(tf.zeros([2, 7, 11, 5])).shape // [11, 14, 5]
 */
export const imagesToSequence = addArgScope(function imagesToSequence(
  inputs: TensorLike,
  options: ImagesToSequenceOptions = {},
): Tensor {
  const names = ['dataFormat', 'outputsCollections', 'scope'] as const;
  const { dataFormat = 'NHWC', ...given } = onlyOptions('tf.contrib.layers.imagesToSequence', options, ...names);
  checkLetters(dataFormat);
  return nameScope(given.scope ?? 'ImagesToSequence', () => {
    const images = convertToTensor(inputs);
    const x = dataFormat === 'NCHW' ? transpose(images, [0, 2, 3, 1]) : images;
    const [batch, height, width, depth] = x.shape ?? [];
    if (width == null || depth == null)
      throw userError('imagesToSequence needs images whose width and depth are known.');
    const sizes = shape(x);
    const rows = batch == null || height == null ? sizes.slice('0').mul(sizes.slice('1')) : batch * height;
    return output(reshape(transpose(x, [2, 0, 1, 3]), [width, rows, depth]), given.outputsCollections);
  });
});

export interface SequenceToImagesOptions {
  /** `'channels_last'` unless given. */
  readonly outputDataFormat?: 'channels_last' | 'channels_first' | undefined;
  readonly outputsCollections?: Collections | undefined;
  readonly scope?: string | undefined;
}

/**
 * Sequences of columns, [width, batch * height, depth], as images again. Adds nodes under `SequenceToImages/`.
 *
 * @example tf.contrib.layers.sequenceToImages(tf.zeros([11, 14, 5]), 7).shape // [2, 7, 11, 5]
 */
export const sequenceToImages = addArgScope(function sequenceToImages(
  inputs: TensorLike,
  height: number,
  options: SequenceToImagesOptions = {},
): Tensor {
  const names = ['outputDataFormat', 'outputsCollections', 'scope'] as const;
  const given = onlyOptions('tf.contrib.layers.sequenceToImages', options, ...names);
  return nameScope(given.scope ?? 'SequenceToImages', () => {
    const x = convertToTensor(inputs);
    const [width, rows, depth] = x.shape ?? [];
    if (width == null || depth == null)
      throw userError('sequenceToImages needs a sequence whose length and depth are known.');
    const apart = reshape(x, [width, rows == null ? -1 : Math.floor(rows / height), height, depth]);
    const order = given.outputDataFormat === 'channels_first' ? [1, 3, 2, 0] : [1, 2, 0, 3];
    return output(transpose(apart, order), given.outputsCollections);
  });
});

export interface DenseToSparseOptions {
  /** What is left out; 0 unless given. */
  readonly eosToken?: number | string | undefined;
  readonly scope?: string | VariableScope | undefined;
}

/**
 * A tensor as a sparse one, without the elements that are `eosToken`. Adds nodes under `dense_to_sparse/`.
 *
 * @example const labels = tf.contrib.layers.denseToSparse(ids);
 */
export const denseToSparse = addArgScope(function denseToSparse(
  tensor: TensorLike,
  options: DenseToSparseOptions = {},
): SparseTensor {
  const { eosToken = 0, scope } = onlyOptions('tf.contrib.layers.denseToSparse', options, 'eosToken', 'scope');
  return variableScope(scope ?? null, { defaultName: 'dense_to_sparse' }, () => {
    const x = convertToTensor(tensor);
    const indices = where(notEqual(x, constant(eosToken, { dtype: x.dtype })));
    return new SparseTensor(indices, gatherNd(x, indices), shape(x, { outType: int64 }));
  });
});
