/** @file What pooling ops know from their attributes: the sizes of pooled images, and the windows along every axis. */

import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError, ResourceExhaustedError, UnimplementedError } from '../../core/errors.ts';
import { NDArray, zeros } from '../../core/ndarray.ts';
import { type Dims, mergeShapes, type Shape, sameShape, showRuntime, sizeOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { WindowOp } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import { unknownDims } from '../array/common.ts';
import { imageAxes, imageShape, ranked, runtimeSizes, type Size, staticSizes } from './convSizes.ts';

/** The attributes of a pooling op, as TensorFlow names them; those of images without a format have channels last. */
export interface PoolAttrs {
  readonly ksize: readonly number[];
  readonly strides: readonly number[];
  readonly padding: string;
  readonly explicit_paddings?: readonly number[];
  readonly data_format?: string;
}

export const windowSizes = (rank: number) => attr('list(int)', { minimum: rank });
export const poolPadding = attr('string', { choices: ['SAME', 'VALID'] });

const formatOf = ({ data_format = 'NHWC' }: PoolAttrs) => data_format;

/** The same attributes as those of a convolution whose filter is the window. */
const slidingOf = (attrs: PoolAttrs) => ({
  ...attrs,
  dilations: attrs.strides.map(() => 1),
  data_format: formatOf(attrs),
});

function checkLengths({ ksize, strides }: PoolAttrs, rank: number): void {
  for (const [name, list] of [['ksize', ksize] as const, ['strides', strides] as const])
    if (list.length !== rank)
      throw new InvalidArgumentError(
        `${name} is [${list}], but needs ${rank} numbers, one for each axis: Sliding window ${name} field must specify ${rank} dimensions`,
      );
  const bad = strides.find((s) => s <= 0);
  if (bad !== undefined) throw new InvalidArgumentError(`Stride must be > 0, but got ${bad}`);
}

function pooledDepth(depth: Size, { ksize, strides, padding }: PoolAttrs, channel: number): Size {
  if (depth === null) return null;
  const window = padding === 'SAME' ? 1 : ksize[channel]!;
  return Math.ceil((depth - window + 1) / strides[channel]!);
}

/** The static shape of a pooled image; `depth` where windows may also go over channels. */
export function pooledDims(input: Dims, attrs: PoolAttrs, rank: number, options: { depth?: boolean } = {}): Size[] {
  const dims = ranked('input', input, rank);
  checkLengths(attrs, rank);
  const axes = imageAxes(rank, formatOf(attrs));
  const { ksize } = attrs;
  const spatial = staticSizes(
    dims,
    axes.spatial.map((axis) => ksize[axis]!),
    slidingOf(attrs),
    axes,
  );
  const channels = options.depth ? pooledDepth(dims[axes.channel]!, attrs, axes.channel) : dims[axes.channel]!;
  return imageShape(dims[0]!, spatial, channels, axes);
}

/** `pooledDims` where the window may be a value that is not known while building. */
export function pooledDimsOf(
  input: Dims,
  window: Partial<Pick<PoolAttrs, 'ksize' | 'strides'>>,
  attrs: Omit<PoolAttrs, 'ksize' | 'strides'>,
): Dims {
  const { ksize, strides } = window;
  if (!ksize || !strides) {
    const axes = imageAxes(4, attrs.data_format ?? 'NHWC');
    const dims = ranked('input', input, 4);
    return imageShape(dims[0]!, unknownDims(2), null, axes);
  }
  return pooledDims(input, { ...attrs, ksize, strides }, 4, { depth: true });
}

/** A pooled image and what it must have the shape of, as the gradients of gradients have them. */
export function mergedWith(pooled: Dims, other: Dims, image: Dims, like: Dims): Dims {
  mergeShapes(image, like);
  return mergeShapes(pooled, other);
}

/** Where windows lie at run time. */
export interface PoolGeometry {
  /** The pooled image's shape. */
  readonly output: Shape;
  /** What windows make of images and pooled images, in their own layout; `to` says which of the two the result is like. */
  apply(op: WindowOp, operands: readonly Value[], to: 'image' | 'pooled'): Value;
}

/** The windows of an image at run time; says what is wrong in the words of TensorFlow's kernels. */
export function poolGeometry(p: ProgramBuilder, image: Shape, attrs: PoolAttrs): PoolGeometry {
  const rank = image.length;
  checkLengths(attrs, rank);
  const axes = imageAxes(rank, formatOf(attrs));
  const windows = axes.spatial.map((axis) => attrs.ksize[axis]!);
  const { output: sizes, geometry } = runtimeSizes(image, windows, slidingOf(attrs), axes);
  const output = imageShape(image[0]!, sizes, image[axes.channel]!, axes);
  const last = [0, ...axes.spatial, axes.channel];
  const back = axes.channel === 1 ? [0, rank - 1, ...axes.spatial.map((axis) => axis - 1)] : last;
  return {
    output,
    apply(op, operands, to) {
      const shape = to === 'image' ? image : output;
      // An empty image may have any sizes, and windows that nobody could list.
      if (sizeOf(shape) === 0) return p.constant(zeros(op === 'argmax' ? int64 : operands[0]!.dtype, shape));
      const spans = sizes.map((size, i) => spansOf(p, size, windows[i]!, geometry.strides[i]!, geometry.before[i]!));
      const arranged = operands.map((operand) => p.transpose(operand, last));
      const result = p.window(
        op,
        arranged,
        spans,
        last.map((axis) => shape[axis]!),
      );
      return p.transpose(result, back);
    },
  };
}

/** More windows along one axis than this cannot be meant. */
const mostWindows = 2 ** 27;

function spansOf(p: ProgramBuilder, count: number, window: number, stride: number, before: number): Value {
  if (count > mostWindows) throw new ResourceExhaustedError(`${count} windows along one axis do not fit into memory`);
  const bounds = new BigInt64Array(2 * count);
  for (let i = 0; i < count; i++) {
    bounds[2 * i] = BigInt(i * stride - before);
    bounds[2 * i + 1] = BigInt(i * stride - before + window);
  }
  return p.constant(new NDArray(int64, [count, 2], bounds));
}

/** What kernels of two-dimensional pooling refuse before they look at sizes. */
export function checkImagePool(
  shape: Shape,
  attrs: PoolAttrs,
  options: { depth?: string; anyDepthStride?: boolean } = {},
): void {
  const { ksize, strides } = attrs;
  const format = formatOf(attrs);
  if (format === 'NCHW_VECT_C')
    throw new InvalidArgumentError('Default MaxPoolingOp only supports NHWC on device type CPU');
  if (shape.length !== 4)
    throw new InvalidArgumentError(`tensor_in_shape must have 2 spatial dimensions. ${shape.length} ${format}`);
  checkLengths(attrs, 4);
  const { channel, spatial } = imageAxes(4, format);
  if (ksize[0] !== 1 || strides[0] !== 1)
    throw new UnimplementedError('Pooling is not yet supported on the batch dimension.');
  const overDepth = ksize[channel] !== 1 || (strides[channel] !== 1 && !options.anyDepthStride);
  if (options.depth !== undefined && overDepth) throw new UnimplementedError(options.depth);
  if (ksize[channel] !== 1 && spatial.some((axis) => ksize[axis] !== 1))
    throw new UnimplementedError(
      'MaxPooling supports exactly one of pooling across depth or pooling across width/height.',
    );
  if (attrs.padding === 'EXPLICIT') checkExplicit(attrs, 4);
}

/** Padding as wide as the window would make windows of nothing. */
function checkExplicit({ explicit_paddings: pads = [], ksize, ...attrs }: PoolAttrs, rank: number): void {
  if (pads.length !== 2 * rank)
    throw new InvalidArgumentError(
      `explicit_paddings attribute must contain ${2 * rank} values, but got: ${pads.length}`,
    );
  const { spatial, channel } = imageAxes(rank, attrs.data_format ?? 'NHWC');
  if ([0, channel].some((axis) => pads[2 * axis] !== 0 || pads[2 * axis + 1] !== 0))
    throw new InvalidArgumentError('Nonzero explicit padding in the batch or depth dimensions is not supported');
  const names = [
    ['Top', 'Bottom'],
    ['Left', 'Right'],
  ];
  for (const [i, axis] of spatial.entries())
    for (const side of [0, 1]) {
      const pad = pads[2 * axis + side]!;
      if (pad < 0 || pad >= ksize[axis]!)
        throw new InvalidArgumentError(
          `${names[i]![side]} padding ${pad} needs to be smaller than the window size ${ksize[axis]}`,
        );
    }
}

/** The words for windows without elements, of which each kernel has its own. */
export function checkPositive(ksize: readonly number[], message: (bad: number) => string): void {
  const bad = ksize.find((k) => k <= 0);
  if (bad !== undefined) throw new InvalidArgumentError(message(bad));
}

/** What kernels of three-dimensional pooling refuse before they look at sizes. */
export function checkVolumePool(attrs: PoolAttrs): void {
  const { ksize, strides } = attrs;
  checkLengths(attrs, 5);
  checkPositive(ksize, () => 'Sliding window ksize field must have non-negative dimensions');
  const { channel } = imageAxes(5, formatOf(attrs));
  if (ksize[0] !== 1 || strides[0] !== 1)
    throw new UnimplementedError('Pooling is not yet supported on the batch dimension.');
  if (ksize[channel] !== 1 || strides[channel] !== 1)
    throw new UnimplementedError('Pooling is not yet supported on the depth dimension.');
}

/** The input of a gradient has the shape that the forward op gave. */
export function expectShape(what: string, given: Shape, expected: Shape): void {
  if (!sameShape(given, expected))
    throw new InvalidArgumentError(
      `Expected ${what} shape to be ${showRuntime(expected)}, but got ${showRuntime(given)}`,
    );
}

/** The operands of a gradient have the rank of an image. */
export function expectRank(rank: number, values: Readonly<Record<string, Shape>>): void {
  for (const [name, shape] of Object.entries(values))
    if (shape.length !== rank) throw new InvalidArgumentError(`${name} must be ${rank}-dimensional`);
}
