/** @file The pooling functions of tf.nn: windows given as one number, as one per spatial axis, or as one per axis. */
import * as d from '../../core/dtypes.ts';
import { type NamedTuple, namedTuple } from '../../graph/namedTuple.ts';
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { type Named, scoped } from '../array/common.ts';
import { expandDims } from '../array/expandDims.ts';
import { squeeze } from '../array/squeeze.ts';
import { AvgPool } from './avgPoolOps.ts';
import { type ConvPadding, isChannelsFirst, type PerAxis, paddingAttrs, perAxis } from './convArgs.ts';
import { FractionalAvgPool, FractionalMaxPool } from './fractionalPool.ts';
import { MaxPoolWithArgmax } from './maxPoolArgmax.ts';
import { MaxPool } from './maxPoolOps.ts';
import { AvgPool3D, MaxPool3D } from './pool3dOps.ts';
import { withSpaceToBatch } from './withSpaceToBatch.ts';

export interface PoolOptions extends Named {
  readonly dataFormat?: string | null | undefined;
}

/** Only maxima can be taken over windows that reach into explicit padding. */
function plainPadding(padding: ConvPadding): string {
  if (typeof padding !== 'string')
    throw userError(
      Array.isArray(padding)
        ? "Explicit padding is not supported here. Use 'SAME' or 'VALID', or tf.pad."
        : `padding is ${padding}, but must be 'SAME' or 'VALID'.`,
    );
  return padding;
}

/** What the pools of images take, in their places or by name. */
interface ImagePoolOptions<P> extends PoolOptions {
  /** The size of a window. */
  readonly ksize: PerAxis;
  readonly strides: PerAxis;
  readonly padding: P;
}
type PlacedPool<P> = Placed<ImagePoolOptions<P>, ['ksize', 'strides', 'padding']>;

function imagePool(fn: string, scope: string, given: readonly unknown[]): ImagePool {
  const owner = `tf.nn.${fn}`;
  const options = byName<ImagePoolOptions<ConvPadding>>(owner, given, 'ksize', 'strides', 'padding');
  const { ksize, strides, padding, ...rest } = onlyOptions(
    owner,
    options,
    'ksize',
    'strides',
    'padding',
    'dataFormat',
    'name',
  );
  return { size: ksize, step: strides, padding, options: { ...rest, scope } };
}

interface ImagePool {
  readonly size: PerAxis;
  readonly step: PerAxis;
  readonly padding: ConvPadding;
  readonly options: PoolOptions & { readonly scope: string };
}

function maxPoolImage(input: TensorLike, { size, step, padding, options }: ImagePool): Tensor {
  const { name, dataFormat, scope } = options;
  const format = dataFormat ?? 'NHWC';
  return scoped(name ?? scope, [input], (own) => {
    const ksize = perAxis(size, 2, isChannelsFirst(format), 'ksize');
    const strides = perAxis(step, 2, isChannelsFirst(format), 'strides');
    if (ksize.includes(0)) throw userError(`ksize cannot be zero. Received: ksize=[${ksize}]`);
    const attrs = { ksize, strides, ...paddingAttrs(padding), data_format: format };
    return MaxPool.build({ input }, { name: own, attrs }).output;
  });
}

function avgPoolImage(value: TensorLike, { size, step, padding, options }: ImagePool): Tensor {
  const { name, dataFormat, scope } = options;
  const format = dataFormat ?? 'NHWC';
  return scoped(name ?? scope, [value], (own) => {
    const ksize = perAxis(size, 2, isChannelsFirst(format), 'ksize');
    const strides = perAxis(step, 2, isChannelsFirst(format), 'strides');
    const attrs = { ksize, strides, padding: plainPadding(padding), data_format: format };
    return AvgPool.build({ value }, { name: own, attrs }).output;
  });
}

/**
 * The largest element of each window of an image. Adds one `MaxPool` node.
 *
 * @example tf.nn.maxPool([[[[1], [2.5]], [[4], [3]]]], 2, 2, 'VALID') // runs to [[[[4.]]]]
 */
export function maxPool(value: TensorLike, ...given: PlacedPool<ConvPadding>): Tensor {
  return maxPoolImage(value, imagePool('maxPool', 'MaxPool', given));
}

/**
 * The largest element of each window of an image. Adds one `MaxPool` node, named `MaxPool2d`.
 *
 * @example tf.nn.maxPool2d([[[[1], [2.5]], [[4], [3]]]], 2, 2, 'VALID') // runs to [[[[4.]]]]
 */
export function maxPool2d(input: TensorLike, ...given: PlacedPool<ConvPadding>): Tensor {
  return maxPoolImage(input, imagePool('maxPool2d', 'MaxPool2d', given));
}

/**
 * The mean of each window of an image; what lies outside the image does not count. Adds one `AvgPool` node.
 *
 * @example tf.nn.avgPool([[[[1], [2.5]], [[4], [3.5]]]], 2, 2, 'VALID') // runs to [[[[2.75]]]]
 */
export function avgPool(value: TensorLike, ...given: PlacedPool<'SAME' | 'VALID'>): Tensor {
  return avgPoolImage(value, imagePool('avgPool', 'AvgPool', given));
}

/** A row of pixels as an image of height 1, pooled by `pool`, and back. */
function pooledRow(
  input: TensorLike,
  { size, step, padding, options }: ImagePool,
  pool: (image: Tensor, attrs: RowAttrs, name: string) => Tensor,
): Tensor {
  const { name, dataFormat, scope } = options;
  const format = dataFormat ?? 'NWC';
  return scoped(name ?? scope, [input], (own) => {
    const explicit = paddingAttrs(padding, 3);
    const attrs = {
      ksize: [1, ...perAxis(size, 1, isChannelsFirst(format), 'ksize')],
      strides: [1, ...perAxis(step, 1, isChannelsFirst(format), 'strides')],
      padding: explicit.padding,
      explicit_paddings: typeof padding === 'string' ? [] : [0, 0, ...explicit.explicit_paddings],
      data_format: format === 'NWC' ? 'NHWC' : 'NCHW',
    };
    const axis = format === 'NWC' ? 1 : 2;
    return squeeze(pool(expandDims(input, axis), attrs, own), { axis });
  });
}
interface RowAttrs {
  readonly ksize: readonly number[];
  readonly strides: readonly number[];
  readonly padding: string;
  readonly explicit_paddings: readonly number[];
  readonly data_format: string;
}

/**
 * The largest element of each window of a row of pixels. Adds `MaxPool` between `ExpandDims` and `Squeeze`.
 *
 * @example tf.nn.maxPool1d([[[1], [2.5], [4], [3]]], 2, 2, 'VALID') // runs to [[[2.5] [4. ]]]
 */
export function maxPool1d(
  input: TensorLike,
  ksize: PerAxis,
  strides: PerAxis,
  padding: ConvPadding,
  options: PoolOptions = {},
): Tensor {
  onlyOptions('tf.nn.maxPool1d', options, 'dataFormat', 'name');
  const form = { size: ksize, step: strides, padding, options: { ...options, scope: 'MaxPool1d' } };
  return pooledRow(input, form, (image, attrs, name) => MaxPool.build({ input: image }, { name, attrs }).output);
}

/**
 * The mean of each window of a row of pixels. Adds `AvgPool` between `ExpandDims` and `Squeeze`.
 *
 * @example tf.nn.avgPool1d([[[1], [2.5], [4], [3]]], 2, 2, 'VALID') // runs to [[[1.75] [3.5 ]]]
 */
export function avgPool1d(
  input: TensorLike,
  ksize: PerAxis,
  strides: PerAxis,
  padding: 'SAME' | 'VALID',
  options: PoolOptions = {},
): Tensor {
  onlyOptions('tf.nn.avgPool1d', options, 'dataFormat', 'name');
  const form = { size: ksize, step: strides, padding: padding, options: { ...options, scope: 'AvgPool1D' } };
  return pooledRow(input, form, (value, { explicit_paddings: _, ...attrs }, name) => {
    plainPadding(padding);
    return AvgPool.build({ value }, { name, attrs }).output;
  });
}

function volumeAttrs(ksize: PerAxis, strides: PerAxis, padding: string, format: string) {
  return {
    ksize: perAxis(ksize, 3, isChannelsFirst(format), 'ksize'),
    strides: perAxis(strides, 3, isChannelsFirst(format), 'strides'),
    padding: plainPadding(padding as 'SAME'), // a string; the op checks which
    data_format: format,
  };
}

/**
 * The largest element of each window of a volume. Adds one `MaxPool3D` node.
 *
 * @example tf.nn.maxPool3d([[[[[1], [2.5]], [[4], [3]]]]], [1, 2, 2], 1, 'VALID') // runs to [[[[[4.]]]]]
 */
export function maxPool3d(
  input: TensorLike,
  ksize: PerAxis,
  strides: PerAxis,
  padding: 'SAME' | 'VALID',
  options: PoolOptions = {},
): Tensor {
  const { name, dataFormat } = onlyOptions('tf.nn.maxPool3d', options, 'dataFormat', 'name');
  return scoped(name ?? 'MaxPool3D', [input], (own) => {
    const attrs = volumeAttrs(ksize, strides, padding, dataFormat ?? 'NDHWC');
    return MaxPool3D.build({ input }, { name: own, attrs }).output;
  });
}

/**
 * The mean of each window of a volume. Adds one `AvgPool3D` node.
 *
 * @example tf.nn.avgPool3d([[[[[1], [2.5]], [[4], [3.5]]]]], [1, 2, 2], 1, 'VALID') // runs to [[[[[2.75]]]]]
 */
export function avgPool3d(
  input: TensorLike,
  ksize: PerAxis,
  strides: PerAxis,
  padding: 'SAME' | 'VALID',
  options: PoolOptions = {},
): Tensor {
  const { name, dataFormat } = onlyOptions('tf.nn.avgPool3d', options, 'dataFormat', 'name');
  return scoped(name ?? 'AvgPool3D', [input], (own) => {
    const attrs = volumeAttrs(ksize, strides, padding, dataFormat ?? 'NDHWC');
    return AvgPool3D.build({ input }, { name: own, attrs }).output;
  });
}

/** How many spatial axes an image has, from its rank or its format. */
function spatialAxes(input: Tensor, format: string | null | undefined): number {
  const rank = input.shape?.length ?? format?.length;
  if (rank === undefined) throw userError('input must have a static rank, or a data format must be given.');
  if (rank < 3 || rank > 5) throw userError(`input must have rank 3, 4 or 5, but its rank is ${rank}.`);
  return rank - 2;
}

/**
 * The largest element of each window of a row, an image or a volume, whichever the input is.
 *
 * @example tf.nn.maxPoolV2([[[1], [2.5], [4], [3]]], 2, 2, 'VALID') // runs to [[[2.5] [4. ]]]
 */
export function maxPoolV2(
  input: TensorLike,
  ksize: PerAxis,
  strides: PerAxis,
  padding: ConvPadding,
  options: PoolOptions = {},
): Tensor {
  onlyOptions('tf.nn.maxPoolV2', options, 'dataFormat', 'name');
  const x = convertToTensor(input, { name: 'input' });
  const axes = spatialAxes(x, options.dataFormat);
  if (axes === 1) return maxPool1d(x, ksize, strides, padding, options);
  if (axes === 2) return maxPool2d(x, ksize, strides, padding, options);
  const attrs = volumeAttrs(ksize, strides, plainPadding(padding), options.dataFormat ?? 'NDHWC');
  return MaxPool3D.build({ input: x }, { name: options.name, attrs }).output;
}

/**
 * The mean of each window of a row, an image or a volume, whichever the input is.
 *
 * @example tf.nn.avgPoolV2([[[1], [2.5], [4], [3]]], 2, 2, 'VALID') // runs to [[[1.75] [3.5 ]]]
 */
export function avgPoolV2(
  input: TensorLike,
  ksize: PerAxis,
  strides: PerAxis,
  padding: 'SAME' | 'VALID',
  options: PoolOptions = {},
): Tensor {
  onlyOptions('tf.nn.avgPoolV2', options, 'dataFormat', 'name');
  const x = convertToTensor(input, { name: 'input' });
  const axes = spatialAxes(x, options.dataFormat);
  if (axes === 1) return avgPool1d(x, ksize, strides, padding, options);
  if (axes === 3) {
    const attrs = volumeAttrs(ksize, strides, padding, options.dataFormat ?? 'NDHWC');
    return AvgPool3D.build({ input: x }, { name: options.name, attrs }).output;
  }
  return avgPool(x, ksize, strides, padding, options);
}

/** Maxima and where they are. */
export type PoolWithArgmax = NamedTuple<{ readonly output: Tensor; readonly argmax: Tensor }>;

/**
 * The largest element of each window and its position, counted within its image (or, with `includeBatchInIndex`, within
 * the whole batch). Adds one `MaxPoolWithArgmax` node.
 *
 * @example tf.nn.maxPoolWithArgmax([[[[1], [2.5]], [[4], [3]]]], [1, 2, 2, 1], [1, 2, 2, 1], 'VALID').argmax // runs to [[[[2]]]]
 */
export function maxPoolWithArgmax(
  input: TensorLike,
  ksize: readonly number[],
  strides: readonly number[],
  padding: 'SAME' | 'VALID',
  options: PoolOptions & {
    /** The type of positions, int64 unless given. */
    readonly Targmax?: d.DType | undefined;
    readonly outputDtype?: d.DType | undefined;
    readonly includeBatchInIndex?: boolean | undefined;
  } = {},
): PoolWithArgmax {
  const names = ['dataFormat', 'Targmax', 'outputDtype', 'includeBatchInIndex', 'name'] as const;
  const {
    name,
    dataFormat = 'NHWC',
    Targmax,
    outputDtype,
    includeBatchInIndex = false,
  } = onlyOptions('tf.nn.maxPoolWithArgmax', options, ...names);
  if (dataFormat !== 'NHWC')
    throw userError(`dataFormat values other than 'NHWC' are not supported. Received: ${dataFormat}`);
  if (Targmax && outputDtype) throw userError("Cannot specify both 'outputDtype' and 'Targmax'");
  const attrs = {
    ksize,
    strides,
    padding,
    Targmax: outputDtype ?? Targmax ?? d.int64,
    include_batch_in_index: includeBatchInIndex,
  };
  return namedTuple(MaxPoolWithArgmax.build({ input }, { name, attrs }));
}

export interface FractionalPoolOptions extends Named {
  /** Windows of two sizes in an even sequence, which begins at a random place. */
  readonly pseudoRandom?: boolean | undefined;
  /** Windows share their last row and column with the next. */
  readonly overlapping?: boolean | undefined;
  /** The same windows in every run. */
  readonly deterministic?: boolean | undefined;
  readonly seed?: number | undefined;
  readonly seed2?: number | undefined;
}

/** The pooled image, and where windows begin along rows and columns. */
export interface FractionalPool {
  readonly output: Tensor;
  readonly rowPoolingSequence: Tensor;
  readonly colPoolingSequence: Tensor;
}

function fractionalAttrs(owner: string, ratio: readonly number[], options: FractionalPoolOptions) {
  const names = ['pseudoRandom', 'overlapping', 'deterministic', 'seed', 'seed2', 'name'] as const;
  const given = onlyOptions(owner, options, ...names);
  const { pseudoRandom = false, overlapping = false, deterministic = false, seed = 0, seed2 = 0, name } = given;
  return {
    name,
    attrs: { pooling_ratio: ratio, pseudo_random: pseudoRandom, overlapping, deterministic, seed, seed2 },
  };
}

/**
 * The largest elements of random windows that shrink an image by `poolingRatio`. Adds one `FractionalMaxPool` node.
 *
 * @example tf.nn.fractionalMaxPool(image, [1, 1.44, 1.73, 1]).output
 */
export function fractionalMaxPool(
  value: TensorLike,
  poolingRatio: readonly number[],
  options: FractionalPoolOptions = {},
): FractionalPool {
  const form = fractionalAttrs('tf.nn.fractionalMaxPool', poolingRatio, options);
  return named(FractionalMaxPool.build({ value }, form));
}

/**
 * The means of random windows that shrink an image by `poolingRatio`. Adds one `FractionalAvgPool` node.
 *
 * @example tf.nn.fractionalAvgPool(image, [1, 1.44, 1.73, 1]).output
 */
export function fractionalAvgPool(
  value: TensorLike,
  poolingRatio: readonly number[],
  options: FractionalPoolOptions = {},
): FractionalPool {
  const form = fractionalAttrs('tf.nn.fractionalAvgPool', poolingRatio, options);
  return named(FractionalAvgPool.build({ value }, form));
}

function named(pool: { output: Tensor; row_pooling_sequence: Tensor; col_pooling_sequence: Tensor }): FractionalPool {
  const { output, row_pooling_sequence: rowPoolingSequence, col_pooling_sequence: colPoolingSequence } = pool;
  return { output, rowPoolingSequence, colPoolingSequence };
}

export interface GeneralPoolOptions extends PoolOptions {
  /** How far apart the elements of a window are, per spatial axis. */
  readonly dilationRate?: readonly number[] | null | undefined;
  /** Another name of `dilationRate`. */
  readonly dilations?: readonly number[] | null | undefined;
  readonly strides?: readonly number[] | null | undefined;
}

/**
 * Pooling of one to three spatial axes, with strides or dilated windows. Adds the node of `maxPool`, `avgPool`, `maxPool3d`
 * or `avgPool3d`, and what dilation and single rows need around it.
 *
 * @example tf.nn.pool([[[1], [2.5], [4], [3]]], [2], 'MAX', 'VALID') // runs to [[[2.5] [4. ] [4. ]]]
 */
export function pool(
  input: TensorLike,
  windowShape: readonly number[],
  poolingType: 'MAX' | 'AVG',
  padding: 'SAME' | 'VALID',
  options: GeneralPoolOptions = {},
): Tensor {
  onlyOptions('tf.nn.pool', options, 'dilationRate', 'dilations', 'strides', 'dataFormat', 'name');
  const { dilationRate, dilations, dataFormat, name } = options;
  if (dilationRate != null && dilations != null) throw userError("Cannot specify both 'dilations' and 'dilationRate'");
  return scoped(name ?? `${poolingType.toLowerCase()}_pool`, [input], (scope) => {
    const x = convertToTensor(input, { name: 'input' });
    const axes = windowShape.length;
    if (axes < 1 || axes > 3) throw userError(`windowShape must have 1, 2 or 3 numbers, but is [${windowShape}]`);
    if (poolingType !== 'MAX' && poolingType !== 'AVG')
      throw userError(`${axes}-D ${poolingType} pooling is not supported.`);
    const { strides, rate } = stridesAndRate(axes, options.strides, dilations ?? dilationRate);
    if (padding === 'SAME' && rate.some((r) => r > 1))
      throw userError(
        `pooling with 'SAME' padding is not implemented for dilationRate > 1. Received: dilationRate=[${rate}]`,
      );
    if (strides.some((s, i) => s > windowShape[i]!))
      throw userError(
        `strides > windowShape is not supported. Received: strides=[${strides}] and windowShape=[${windowShape}]`,
      );
    const first = isChannelsFirst(dataFormat ?? undefined);
    const spread = (list: readonly number[]) => [
      ...(axes === 1 ? [1] : []),
      1,
      ...(first ? [1] : []),
      ...list,
      ...(first ? [] : [1]),
    ];
    const begin = first ? 2 : 1;
    const format = axes > 1 ? dataFormat : first ? 'NCHW' : 'NHWC';
    const apply =
      axes < 3 ? { MAX: maxPool, AVG: avgPool }[poolingType] : { MAX: maxPool3d, AVG: avgPool3d }[poolingType];
    const op = (images: Tensor, _: number, inner: ConvPadding): Tensor => {
      const image = axes === 1 ? expandDims(images, begin) : images;
      // Padding is one of the two words here, and stays so.
      const own = { name: scope, dataFormat: format };
      const result = apply(image, spread(windowShape), spread(strides), inner as 'SAME' | 'VALID', own);
      return axes === 1 ? squeeze(result, { axis: [begin] }) : result;
    };
    const spatialDims = windowShape.map((_, i) => begin + i);
    return withSpaceToBatch(x, rate, padding, op, { filterShape: windowShape, spatialDims });
  });
}

/** Strides and dilation rates per spatial axis; only one of the two may be larger than 1. */
function stridesAndRate(axes: number, givenStrides?: readonly number[] | null, givenRate?: readonly number[] | null) {
  const ones = new Array<number>(axes).fill(1);
  const rate = givenRate ?? ones;
  const strides = givenStrides ?? ones;
  for (const [name, list] of [['dilationRate', rate] as const, ['strides', strides] as const]) {
    if (list.length !== axes)
      throw userError(`${name} must have ${axes} numbers, one per spatial axis, but is [${list}]`);
    if (list.some((n) => n < 1)) throw userError(`all values of ${name} must be positive, not [${list}]`);
  }
  if (strides.some((s) => s > 1) && rate.some((r) => r > 1))
    throw userError(
      `strides > 1 is not supported together with dilationRate > 1. Received: strides=[${strides}] and dilationRate=[${rate}]`,
    );
  return { strides, rate };
}
