/** @file withSpaceToBatch: dilation of any sliding window by moving blocks of the image into the batch and back. */
import { int32 } from '../../core/dtypes.ts';
import { type Dims, isFullyDefined, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { type ConvertibleToTensor, Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { requiredSpaceToBatchPaddings } from '../array/requiredPaddings.ts';
import { shape } from '../array/shape.ts';
import { batchToSpaceNd, spaceToBatchNd } from '../array/spaceToBatch.ts';
import { stack } from '../array/stack.ts';
import { floorOver, minus, times } from '../math/operators.ts';
import { type ConvPadding, isChannelsFirst, paddingAttrs } from './convArgs.ts';

/** What slides over the image: made for a number of spatial axes and a padding, then applied to images and a filter. */
export type SlidingOp = (axes: number, padding: ConvPadding) => (input: Tensor, filter: Filter | undefined) => Tensor;

/** A tensor, or a variable that has not been read yet: the node that slides reads it, as in Python. */
export type Filter = Tensor | ConvertibleToTensor;

export interface Dilation {
  readonly inputShape: Dims;
  readonly dilationRate: TensorLike;
  readonly padding: ConvPadding;
  /** The filter's shape, which `SAME` needs; a static one must be known in full. */
  readonly filterShape?: TensorLike | undefined;
  readonly spatialDims?: readonly number[] | undefined;
  readonly dataFormat?: string | undefined;
  readonly batchDims?: number | undefined;
}

/** Prepares `op` for dilated windows; without dilation it is `op` itself. */
export function dilated(op: SlidingOp, d: Dilation): (input: Tensor, filter: Filter | undefined) => Tensor {
  const rate = convertToTensor(d.dilationRate, { dtype: int32, name: 'dilation_rate' });
  if (rate.rank !== null && rate.rank !== 1)
    throw userError(`dilationRate must have rank 1, but it is ${showShape(rate.shape)}`);
  if (!isFullyDefined(rate.shape))
    throw userError(`dilationRate must be a vector of known length, but it is ${showShape(rate.shape)}`);
  const axes = rate.shape[0]!;
  const spatialDims = spatialAxes(d, axes);
  const known = constantValue(rate)?.numbers();
  if (known?.some((n) => n < 1)) throw userError(`dilationRate must be positive, but it is [${known}]`);
  if (known?.every((n) => n === 1)) return op(axes, d.padding);
  const base = basePaddings(d, axes, known ?? rate);
  const inner = op(axes, 'VALID');
  return (input, filter) => {
    const sizes = spatialSizes(input, d.inputShape, spatialDims);
    const padding = typeof base === 'function' ? base(filter) : base;
    const { paddings, crops } = requiredSpaceToBatchPaddings(sizes, rate, { basePaddings: padding });
    const block = spreadOver(rate, 1, spatialDims);
    const wide = spreadOver(paddings, 0, spatialDims);
    const cut = spreadOver(crops, 0, spatialDims);
    const result = batchToSpaceNd(inner(spaceToBatchNd(input, block, wide), filter), block, cut);
    // The channels of images that have them first look like a spatial axis to the op above.
    if (isChannelsFirst(d.dataFormat) && filter && result.shape?.[1] === null)
      result.setShape(result.shape.map((n, i) => (i === 1 ? (filter.shape?.at(-1) ?? null) : n)));
    return result;
  };
}

function spatialAxes(
  { inputShape, spatialDims, dataFormat, batchDims = 1 }: Dilation,
  axes: number,
): readonly number[] {
  const isFirst = isChannelsFirst(dataFormat);
  const start = isFirst ? batchDims + 1 : batchDims;
  const dims = spatialDims ?? Array.from({ length: axes }, (_, i) => start + i);
  if (dims.some((d, i) => d < 1 || (i > 0 && d <= dims[i - 1]!)))
    throw userError(`spatialDims must be increasing positive integers, but they are [${dims}]`);
  const least = dims.at(-1)! + (isFirst ? 0 : 1);
  if (inputShape !== null && inputShape.length < least)
    throw userError(`the input must have at least rank ${least}, but it is ${showShape(inputShape)}`);
  return dims;
}

/** Sizes of the spatial axes: numbers where all are known, else nodes. */
function spatialSizes(input: Tensor, dims: Dims, spatialDims: readonly number[]): TensorLike {
  const sizes = spatialDims.map((axis) => dims?.[axis] ?? null);
  if (sizes.every((n) => n !== null)) return sizes;
  const whole = shape(input);
  return stack(spatialDims.map((axis) => getItem(whole, [axis])));
}

/** The padding that the window itself wants; a function of the filter where its size is not known yet. */
function basePaddings(
  { padding, filterShape, dataFormat }: Dilation,
  axes: number,
  rate: readonly number[] | Tensor,
): TensorLike | ((filter: Filter | undefined) => Tensor) {
  const { padding: kind, explicit_paddings: pads } = paddingAttrs(padding, axes + 2);
  if (kind === 'VALID') return Array.from({ length: axes }, () => [0, 0]);
  if (kind === 'EXPLICIT') {
    const first = isChannelsFirst(dataFormat) ? 2 : 1;
    return Array.from({ length: axes }, (_, i) => pads.slice(2 * (first + i), 2 * (first + i) + 2));
  }
  if (kind !== 'SAME') throw userError(`padding must be 'SAME' or 'VALID', but is '${kind}'`);
  if (filterShape === undefined) throw userError("padding 'SAME' needs the filterShape of the window");
  const given = convertToTensor(filterShape, { name: 'filter_shape' });
  const known = constantValue(given)?.numbers();
  if (known) return samePaddings(known.slice(0, axes), axes, rate);
  return (filter) => {
    if (!filter) throw userError('filterShape must be known while building');
    return samePaddings(getItem(shape(filter), `:${axes}`), axes, rate);
  };
}

/** Half of what the window covers beyond one element, the odd one at the end. */
function samePaddings(taps: readonly number[] | Tensor, axes: number, rate: readonly number[] | Tensor): Tensor {
  if (!(taps instanceof Tensor) && !(rate instanceof Tensor))
    return stack(
      taps.map((n, i) => {
        const extra = (n - 1) * rate[i]!;
        return [Math.floor(extra / 2), extra - Math.floor(extra / 2)];
      }),
    );
  const extra = times(taps instanceof Tensor ? minus(taps, 1) : taps.map((n) => n - 1), rate);
  const start = floorOver(extra, 2);
  const end = minus(extra, start);
  return stack(Array.from({ length: axes }, (_, i) => [getItem(start, [i]), getItem(end, [i])]));
}

/** Rows for all axes from 1 to the last spatial one; those of axes that are not spatial are `fill`. */
function spreadOver(rows: Tensor, fill: number, spatialDims: readonly number[]): TensorLike {
  const known = constantValue(rows);
  const width = rows.shape?.[1] ?? undefined;
  const filler = width === undefined ? fill : new Array<number>(width).fill(fill);
  const nested = known?.toArray() as readonly TensorLike[] | undefined; // a vector or a matrix
  const parts: (TensorLike | readonly TensorLike[])[] = [];
  let done = 0;
  for (let i = 0; i < spatialDims.length; ) {
    const start = i;
    const first = spatialDims[i]!;
    if (first > 1) parts.push(Array.from({ length: first - 1 - done }, () => filler));
    while (i + 1 < spatialDims.length && spatialDims[i + 1] === spatialDims[i]! + 1) i++;
    parts.push(nested ? nested.slice(start, i + 1) : getItem(rows, `${start}:${i + 1}`));
    done = spatialDims[i]!;
    i++;
  }
  return nested ? parts.flat() : concat(parts, 0);
}

export interface WithSpaceToBatchOptions {
  /** The window's shape, which `SAME` needs. */
  readonly filterShape?: TensorLike | undefined;
  /** The spatial axes; those after the batch unless given. */
  readonly spatialDims?: readonly number[] | undefined;
  readonly dataFormat?: string | undefined;
}

/**
 * Applies `op`, which slides a window over images, as if its window were dilated. Adds `SpaceToBatchND` and
 * `BatchToSpaceND` nodes around what `op` adds; without dilation only the latter.
 *
 * @example tf.nn.withSpaceToBatch([[[1], [2], [3]]], [2], 'VALID', (x) => tf.identity(x)) // runs to [[[1] [2] [3]]]
 */
export function withSpaceToBatch(
  input: TensorLike,
  dilationRate: TensorLike,
  padding: ConvPadding,
  op: (input: Tensor, axes: number, padding: ConvPadding) => Tensor,
  options: WithSpaceToBatchOptions = {},
): Tensor {
  onlyOptions('tf.nn.withSpaceToBatch', options, 'filterShape', 'spatialDims', 'dataFormat');
  const x = convertToTensor(input, { name: 'input' });
  const build: SlidingOp = (axes, kind) => (images) => op(images, axes, kind);
  return dilated(build, { inputShape: x.shape, dilationRate, padding, ...options })(x, undefined);
}
