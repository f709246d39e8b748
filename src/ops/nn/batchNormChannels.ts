/** @file What FusedBatchNorm and its gradient share: data formats, the channel axis, checks of vectors beside an image. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';

/** Where the channels are, of the 4 or 5 axes that a data format has. */
export function channelAxisOf(format: string): number {
  return format.endsWith('C') ? format.length - 1 : 1;
}

export const planarFormats = attr('string', { choices: ['NHWC', 'NCHW'], default: 'NHWC' });
export const allFormats = attr('string', { choices: ['NHWC', 'NCHW', 'NDHWC', 'NCDHW'], default: 'NHWC' });
export const epsilon = attr('float', { default: 1e-4 });
export const training = attr('bool', { default: true });
export const halfOrFloat = attr('type', { allowed: [d.float16, d.bfloat16, d.float32] });
export const onlyFloat = attr('type', { allowed: [d.float32] });

/** The image with the number of channels that all of the inputs say together. */
export function normalizedShape(
  image: readonly [port: string, dims: Dims],
  vectors: readonly (readonly [port: string, dims: Dims])[],
  format: string,
): { image: readonly (number | null)[]; channels: number | null } {
  const [port, given] = image;
  const rank = format.length;
  if (given !== null && given.length !== rank)
    throw new InvalidArgumentError(`${port} is ${showShape(given)}, but ${format} means rank ${rank}.`);
  const dims = given ?? new Array<null>(rank).fill(null);
  const axis = channelAxisOf(format);
  let channels: number | null = dims[axis] ?? null;
  for (const [name, vector] of vectors) {
    if (vector !== null && vector.length !== 1)
      throw new InvalidArgumentError(
        `${name} is ${showShape(vector)}, but a vector with one entry per channel is needed.`,
      );
    const count = vector?.[0] ?? null;
    if (channels !== null && count !== null && channels !== count)
      throw new InvalidArgumentError(
        `${name} has ${count} entries, but there are ${channels} channels; they must be equal.`,
      );
    channels ??= count;
  }
  return { image: dims.map((n, i) => (i === axis ? channels : n)), channels };
}

/** A vector along the channel axis, so that it broadcasts against the image. */
export function alongChannels(p: ProgramBuilder, vector: Value, format: string): Value {
  const channel = channelAxisOf(format);
  return p.reshape(
    vector,
    [...format].map((_, i) => (i === channel ? vector.shape[0]! : 1)),
  );
}

/** Every axis but the channels'. */
export function pixelAxes(format: string): number[] {
  return [...format].map((_, i) => i).filter((i) => i !== channelAxisOf(format));
}

/** The channel count of the image, after TensorFlow's checks of the vectors beside it. */
export function checkChannels(image: Shape, vectors: readonly (readonly [string, Value])[], format: string): number {
  if (image.length !== format.length)
    throw new InvalidArgumentError(`input must be ${format.length}-dimensional${showRuntime(image)}`);
  const channels = image[channelAxisOf(format)]!;
  for (const [name, vector] of vectors)
    if (vector.shape.length !== 1)
      throw new InvalidArgumentError(`${name} must be 1-dimensional${showRuntime(vector.shape)}`);
  for (const [name, vector] of vectors)
    if (vector.shape[0] !== channels)
      throw new InvalidArgumentError(
        `${name} must have the same number of elements as the channels of x, got ${vector.shape[0]} and ${channels}`,
      );
  return channels;
}

/** Moments are computed in float32, whatever the type of the image. */
export const wide = (p: ProgramBuilder, value: Value) => p.cast(value, d.float32);
