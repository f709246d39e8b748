/** @file What convolution ops know from their attributes: where axes are, and how large sliding windows make things. */
import { InvalidArgumentError, type OpError, UnimplementedError } from '../../core/errors.ts';
import { type Dims, showShape } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import type { ConvGeometry } from '../../program/instructions.ts';

/** A size, or `null` where it is not known while building. */
export type Size = number | null;

/** The attributes that all convolutions have, as TensorFlow names them. */
export interface ConvAttrs {
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padding: string;
  readonly explicit_paddings?: readonly number[];
  readonly data_format: string;
}

const ones = (n: number): number[] => new Array<number>(n).fill(1);

export const paddingOrExplicit = attr('string', { choices: ['SAME', 'VALID', 'EXPLICIT'] });
export const explicitPaddings = attr('list(int)', { default: [] });
export const imageFormat = attr('string', { choices: ['NHWC', 'NCHW'], default: 'NHWC' });
export const volumeFormat = attr('string', { choices: ['NDHWC', 'NCDHW'], default: 'NDHWC' });
export const defaultDilations = (rank: number) => attr('list(int)', { default: ones(rank) });

/** Where the axes of an image are; the batch comes first. */
export interface ImageAxes {
  readonly channel: number;
  readonly spatial: readonly number[];
}

export function imageAxes(rank: number, format: string): ImageAxes {
  const isFirst = format.startsWith('NC') || format === 'CHANNELS_FIRST';
  const spatial = Array.from({ length: rank - 2 }, (_, i) => i + (isFirst ? 2 : 1));
  return { channel: isFirst ? 1 : rank - 1, spatial };
}

/** An image's shape from its parts. */
export function imageShape<D extends Size>(batch: D, spatial: readonly D[], channels: D, { channel }: ImageAxes): D[] {
  return channel === 1 ? [batch, channels, ...spatial] : [batch, ...spatial, channels];
}

/** How a window slides along one axis. `before` and `after` are given for explicit padding only. */
interface Slide {
  readonly stride: number;
  readonly dilation: number;
  readonly padding: string;
  readonly before: number;
  readonly after: number;
}

function slideOf(attrs: ConvAttrs, axis: number): Slide {
  const { strides, dilations, padding, explicit_paddings: pads = [] } = attrs;
  const [before, after] = padding === 'EXPLICIT' ? [pads[2 * axis]!, pads[2 * axis + 1]!] : [0, 0];
  return { stride: strides[axis]!, dilation: dilations[axis]!, padding, before, after };
}

/** How many positions a window has, as far as that is known while building. */
function staticSize(input: Size, taps: Size, { stride, dilation, padding, before, after }: Slide): Size {
  if (padding === 'SAME') return input === null ? null : Math.ceil(input / stride);
  if (input === null || taps === null) return null;
  const padded = input + before + after;
  const window = (taps - 1) * dilation + 1;
  if (window > padded)
    throw new InvalidArgumentError(
      `Negative dimension size caused by subtracting ${window} from ${padded}: the filter covers ${window} positions, but the input with its padding has ${padded}. With padding: 'SAME' it would fit.`,
    );
  return Math.floor((padded - window + stride) / stride);
}

/** The spatial sizes of a convolution's output while building. */
export function staticSizes(input: Dims, taps: readonly Size[], attrs: ConvAttrs, { spatial }: ImageAxes): Size[] {
  return spatial.map((axis, i) => staticSize(input?.[axis] ?? null, taps[i]!, slideOf(attrs, axis)));
}

/** Output sizes and padding at run time, in TensorFlow's words when there are none. */
export function runtimeSizes(
  input: readonly number[],
  taps: readonly number[],
  attrs: ConvAttrs,
  { spatial }: ImageAxes,
): { output: number[]; geometry: ConvGeometry } {
  const slides = spatial.map((axis) => slideOf(attrs, axis));
  const found = slides.map((slide, i) => runtimeSize(input[spatial[i]!]!, taps[i]!, slide));
  return {
    output: found.map(({ size }) => size),
    geometry: {
      strides: slides.map(({ stride }) => stride),
      dilations: slides.map(({ dilation }) => dilation),
      before: found.map(({ before }) => before),
    },
  };
}

function runtimeSize(input: number, taps: number, slide: Slide): { size: number; before: number } {
  const { stride, dilation, padding } = slide;
  const window = (taps - 1) * dilation + 1;
  if (padding === 'SAME') {
    const size = Math.ceil(input / stride);
    return { size, before: Math.floor(Math.max(0, (size - 1) * stride + window - input) / 2) };
  }
  const size = Math.trunc((input + slide.before + slide.after - window + stride) / stride);
  if (size < 0)
    throw new InvalidArgumentError(
      `Computed output size would be negative: ${size} [input_size: ${input}, effective_filter_size: ${window}, stride: ${stride}]`,
    );
  return { size, before: slide.before };
}

/** Refuses attributes that no input can make right; the words are those of TensorFlow's kernels. */
export function checkConvAttrs(attrs: ConvAttrs, rank: number, options: { unimplemented?: boolean } = {}): void {
  const { strides, dilations, data_format } = attrs;
  const isVolume = rank === 5;
  const dilationsWord = isVolume ? 'Dilation rates' : 'Sliding window dilations';
  if (dilations.length !== rank)
    throw new InvalidArgumentError(`${dilationsWord} field must specify ${rank} dimensions`);
  if (strides.length !== rank)
    throw new InvalidArgumentError(`Sliding window strides field must specify ${rank} dimensions`);
  const axes = imageAxes(rank, data_format);
  const refuse = (what: string): OpError => {
    const text = `Current implementation does not yet support ${what} in the batch and depth dimensions.`;
    return options.unimplemented ? new UnimplementedError(text) : new InvalidArgumentError(text);
  };
  if (strides[0] !== 1 || strides[axes.channel] !== 1) throw refuse('strides');
  if (axes.spatial.some((axis) => strides[axis]! <= 0))
    throw new InvalidArgumentError(`${isVolume ? 'Spatial' : 'Row and column'} strides should be larger than 0.`);
  if (dilations[0] !== 1 || dilations[axes.channel] !== 1) throw refuse(isVolume ? 'dilation rates' : 'dilations');
  if (axes.spatial.some((axis) => dilations[axis]! <= 0))
    throw new InvalidArgumentError('Dilated rates should be larger than 0.');
  checkPadding(attrs, rank, axes);
}

function checkPadding({ padding, explicit_paddings: pads = [] }: ConvAttrs, rank: number, axes: ImageAxes): void {
  if (padding !== 'EXPLICIT') {
    if (pads.length > 0)
      throw new InvalidArgumentError(
        'explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT',
      );
    return;
  }
  if (pads.length !== 2 * rank)
    throw new InvalidArgumentError(
      `explicit_paddings attribute must contain ${2 * rank} values, but got: ${pads.length}`,
    );
  if (pads.some((n) => n < 0)) throw new InvalidArgumentError('All elements of explicit_paddings must be nonnegative');
  if ([0, axes.channel].some((axis) => pads[2 * axis] !== 0 || pads[2 * axis + 1] !== 0))
    throw new InvalidArgumentError('Nonzero explicit padding in the batch or depth dimensions is not supported');
}

/** A shape of the rank an op needs; unknown dims where nothing is known. */
export function ranked(port: string, dims: Dims, rank: number): readonly Size[] {
  if (dims === null) return new Array<null>(rank).fill(null);
  if (dims.length !== rank)
    throw new InvalidArgumentError(`${port} is ${showShape(dims)}, but rank ${rank} is needed.`);
  return dims;
}

/** How many groups the channels fall into: each filter sees `perGroup` of the input's channels. */
export function groupsOf(channels: Size, perGroup: Size, features: Size): Size {
  if (channels === null || perGroup === null) return null;
  if (perGroup === 0) throw new InvalidArgumentError('Depth of filter must not be 0');
  if (channels % perGroup !== 0)
    throw new InvalidArgumentError(
      `input has ${channels} channels, but filter takes ${perGroup}; they must be equal, or the input must have a multiple of them (groups).`,
    );
  const groups = channels / perGroup;
  if (features !== null && groups > 0 && features % groups !== 0)
    throw new InvalidArgumentError(
      `Depth of output (${features}) is not a multiple of the number of groups (${groups})`,
    );
  return groups;
}
