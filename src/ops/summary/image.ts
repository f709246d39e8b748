/** @file ImageSummary: pictures as PNG files. */
import { type DType, float16, float32, float64, uint8 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { fromHalfBits, toHalfBits } from '../../core/half.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, showRuntime } from '../../core/shape.ts';
import { encodePng } from '../../io/png.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { SummaryValue } from '../../proto/event.ts';
import type { Init } from '../../proto/message.ts';
import { numberedTag, summaryArray, summaryResult, textOf, wantScalar } from './encode.ts';

/** Throws with TensorFlow's words unless a shape is that of a batch of pictures. */
export function checkImages(shape: Shape): void {
  const [batch, height, width, depth] = shape;
  if (shape.length !== 4 || ![1, 3, 4].includes(depth!))
    throw new InvalidArgumentError(`Tensor must be 4-D with last dim 1, 3, or 4, not ${showRuntime(shape)}`);
  if (height === 0 || width === 0)
    throw new InvalidArgumentError(
      `input tensor must have non-zero dims. Found: [${[batch, height, width, depth].join(', ')}].`,
    );
}

/** One summary value for each of the first pictures of a batch. */
export async function imageValues(
  tag: string,
  batch: NDArray,
  badColor: NDArray,
  max: number,
): Promise<Init<SummaryValue>[]> {
  const [size = 0, height = 0, width = 0, channels = 0] = batch.shape;
  const isByte = batch.dtype === uint8;
  if (!isByte && badColor.size < channels)
    throw new InvalidArgumentError(
      `expected depth <= bad_color.size, got depth = ${channels}, bad_color.size = ${badColor.size}`,
    );
  const length = height * width * channels;
  const bad = badColor.data as Uint8Array; // checked to be uint8 by the op
  const pixels = (i: number): Uint8Array | Promise<Uint8Array> =>
    isByte
      ? (batch.data as Uint8Array).subarray(i * length, (i + 1) * length) // uint8 arrays hold bytes
      : normalized(batch, i * length, length, channels, bad);
  const values: Init<SummaryValue>[] = [];
  for (let i = 0; i < Math.min(max, size); i++)
    values.push({
      tag: numberedTag(tag, 'image', i, max),
      image: {
        height,
        width,
        colorspace: channels,
        encoded_image_string: await encodePng({ data: await pixels(i), height, width, channels }),
      },
    });
  return values;
}

/** Rounds a number to a type, as arithmetic in that type does after each operation. */
const roundTo = (dtype: DType): ((x: number) => number) => {
  if (dtype === float64) return (x) => x;
  return dtype === float16 ? (x) => fromHalfBits(toHalfBits(x)) : Math.fround;
};

/** Largest magnitudes below this count as black: the picture would only show noise. */
const darkest = Math.fround(1e-6);

/**
 * A picture of real numbers as bytes. Without negative numbers the largest becomes 255; with some, zero becomes 128 and the
 * largest magnitude is 127 away from it. A pixel that is not finite takes the bad color.
 */
async function normalized(
  batch: NDArray,
  from: number,
  length: number,
  channels: number,
  bad: Uint8Array,
): Promise<Uint8Array> {
  const at = batch.numberReader();
  const count = length / channels;
  const isSound = (pixel: number) => {
    for (let i = pixel; i < pixel + channels; i++) if (!Number.isFinite(at(from + i))) return false;
    return true;
  };
  let least = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  await eachInTurns(count, (k) => {
    const pixel = k * channels;
    if (!isSound(pixel)) return;
    for (let i = pixel; i < pixel + channels; i++) {
      const value = Math.fround(at(from + i));
      least = Math.min(least, value);
      largest = Math.max(largest, value);
    }
  });
  const round = roundTo(batch.dtype);
  const reach = least < 0 ? Math.max(Math.abs(least), Math.abs(largest)) : largest;
  const scale = round(reach < darkest ? 0 : Math.fround((least < 0 ? 127 : 255) / reach));
  const offset = least < 0 ? 128 : 0;
  const bytes = new Uint8Array(length);
  await eachInTurns(count, (k) => {
    const pixel = k * channels;
    if (!isSound(pixel)) bytes.set(bad.subarray(0, channels), pixel);
    else
      for (let i = pixel; i < pixel + channels; i++) bytes[i] = Math.trunc(round(round(at(from + i) * scale) + offset));
  });
  return bytes;
}

/** Throws with TensorFlow's words unless the color of bad pixels is a list of bytes. */
export function checkBadColor(color: { readonly dtype: DType; readonly shape: Shape }): void {
  if (color.dtype !== uint8) throw new InvalidArgumentError(`bad_color must be uint8, got ${color.dtype.runtimeName}`);
  if (color.shape.length !== 1)
    throw new InvalidArgumentError(`bad_color must be a vector, got shape ${showRuntime(color.shape)}`);
}

export const ImageSummary = defineOp({
  name: 'ImageSummary',
  inputs: { tag: 'string', tensor: 'T' },
  outputs: { summary: 'string' },
  attrs: {
    max_images: attr('int', { default: 3, minimum: 1 }),
    T: attr('type', { allowed: [uint8, float32, float16, float64], default: float32 }),
    bad_color: attr('tensor', { default: new NDArray(uint8, [4], Uint8Array.of(255, 0, 0, 255)) }),
  },
  shape: () => ({ summary: [] }),
  grad: notDifferentiable,
  lower(p, { tag, tensor }, { max_images, bad_color }) {
    if (max_images >= 2 ** 31) throw new InvalidArgumentError('max_images must be < 2^31');
    checkBadColor(bad_color);
    wantScalar(tag, 'Tags must be a scalar');
    checkImages(tensor.shape);
    const [summary] = p.host([tag, tensor], summaryResult, async ([text, batch]) => [
      summaryArray(await imageValues(textOf(text!), batch!, bad_color, max_images)),
    ]);
    return { summary: summary! };
  },
  cases: () => [
    { shape: '[], [?, 10, 10, 3] -> []' },
    { shape: '?, ? -> []' },
    { given: { tag: ['s'], tensor: [[[[1]]]] }, fails: /Tags must be a scalar/ },
    {
      given: { tag: 's', tensor: [[[1]]] },
      fails: /Tensor must be 4-D with last dim 1, 3, or 4, not \[1,1,1\]/,
    },
    { given: { tag: 's', tensor: [[[[1, 2]]]] }, fails: /last dim 1, 3, or 4, not \[1,1,1,2\]/ },
    {
      given: { tag: 's', tensor: { dtype: 'float32', value: [], shape: [2, 0, 1, 3] } },
      fails: /input tensor must have non-zero dims\. Found: \[2, 0, 1, 3\]\./,
    },
    { given: { tag: 's', tensor: { dtype: 'float32', value: [], shape: [0, 2, 1, 3] } }, expect: { summary: '' } },
  ],
});
