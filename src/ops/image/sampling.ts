/** @file Where resized pixels come from: source positions along one axis, and index tuples into a batch of images. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, ResourceExhaustedError } from '../../core/errors.ts';
import { fromElements, intVector } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';

export const sampleAttrs = {
  align_corners: attr('bool', { default: false }),
  half_pixel_centers: attr('bool', { default: false }),
} as const;

/** How positions of the result map to positions of the image. */
export interface Sampling {
  readonly align_corners: boolean;
  readonly half_pixel_centers: boolean;
}

/** Pixels of the image per pixel of the result, as a float32. */
export function scaleOf(from: number, to: number, { align_corners }: Sampling): number {
  return Math.fround(align_corners && to > 1 ? (from - 1) / (to - 1) : from / to);
}

/** For every position of the result, its two neighbours in the image and the share of the second. */
export interface Neighbours {
  readonly lower: Value;
  readonly upper: Value;
  readonly share: Value;
}

/** A table of positions along an axis must fit in memory with room to spare. */
const longestAxis = 2 ** 26;
function checkLength(to: number): void {
  if (to > longestAxis)
    throw new ResourceExhaustedError(`OOM: an image cannot be resized to ${to} pixels along one side`);
}

/** The neighbours along an axis, computed in float32 as TensorFlow does. */
export function neighbours(p: ProgramBuilder, from: number, to: number, sampling: Sampling): Neighbours {
  checkLength(to);
  const scale = scaleOf(from, to, sampling);
  const positions = Array.from({ length: to }, (_, i) =>
    sampling.half_pixel_centers ? Math.fround(Math.fround((i + 0.5) * scale) - 0.5) : Math.fround(i * scale),
  );
  const share = positions.map((x) => Math.fround(x - Math.floor(x)));
  return {
    lower: p.constant(
      intVector(
        positions.map((x) => Math.max(Math.floor(x), 0)),
        d.int64,
      ),
    ),
    upper: p.constant(
      intVector(
        positions.map((x) => Math.min(Math.ceil(x), from - 1)),
        d.int64,
      ),
    ),
    share: p.constant(fromElements(d.float32, [to], share)),
  };
}

/** Halves go away from zero, as C's `roundf`. */
const rounded = (x: number): number => Math.sign(x) * Math.floor(Math.abs(x) + 0.5);

/** The nearest position in the image for every position of the result. */
export function nearest(p: ProgramBuilder, from: number, to: number, sampling: Sampling): Value {
  checkLength(to);
  const scale = scaleOf(from, to, sampling);
  const positions = Array.from({ length: to }, (_, i) => {
    // Pixel centres lie at halves; rounding down takes the half off again.
    const x = Math.fround((sampling.half_pixel_centers ? i + 0.5 : i) * scale);
    const at = Math.min(sampling.align_corners ? rounded(x) : Math.floor(x), from - 1);
    return sampling.half_pixel_centers ? Math.max(at, 0) : at;
  });
  return p.constant(intVector(positions, d.int64));
}

/** Positions picked along the rows or columns of a batch of images. */
export function pick(p: ProgramBuilder, images: Value, axis: 1 | 2, positions: Value): Value {
  const [batch, height, width, channels] = images.shape as [number, number, number, number]; // images have rank 4
  const count = positions.shape[0]!;
  const index = p.reshape(positions, [1, count, 1]);
  if (axis === 1)
    return p.reshape(p.gather(p.reshape(images, [1, batch, height, width * channels]), index), [
      batch,
      count,
      width,
      channels,
    ]);
  return p.reshape(p.gather(p.reshape(images, [1, batch * height, width, channels]), index), [
    batch,
    height,
    count,
    channels,
  ]);
}

/**
 * Index tuples (image, row, column) for a grid of pixels, as `[count, 3]`. Each part is an int64 value that broadcasts to
 * the grid `[images, rows, columns]`.
 */
export function pixels(p: ProgramBuilder, grid: Shape, image: Value, row: Value, column: Value): Value {
  const along = (value: Value) => p.reshape(value, [...value.shape, 1]);
  const [tuples] = p.mapAll(
    [along(image), along(row), along(column)],
    (b, y, x) => [e.select(e.eq(e.index(3), 0), b!, e.select(e.eq(e.index(3), 1), y!, x!))],
    [...grid, 3],
  );
  return p.reshape(tuples!, [grid[0]! * grid[1]! * grid[2]!, 3]);
}

/** The sum of `updates` at each pixel, starting from zero. */
export function accumulated(
  p: ProgramBuilder,
  shape: Shape,
  parts: readonly { readonly tuples: Value; readonly updates: Value }[],
): Value {
  const channels = shape[3]!;
  const target = p.fill(parts[0]!.updates.dtype, shape, 0);
  for (const { tuples, updates } of parts)
    p.scatter('add', target, tuples, p.reshape(updates, [tuples.shape[0]!, channels]), { bounds: 'drop' });
  return target;
}

/** A static shape of rank 4, or four unknown sizes. */
export function imageDims(dims: Dims, port: string): readonly (number | null)[] {
  if (dims !== null && dims.length !== 4)
    throw new InvalidArgumentError(
      `${port} is ${showShape(dims)}, but rank 4 is needed: [batch, height, width, channels].`,
    );
  return dims ?? [null, null, null, null];
}

/** The height and width that a static size vector holds. */
export function sizeDims(
  size: Dims,
  known: readonly (number | null)[] | undefined,
  port: string,
): [number | null, number | null] {
  if (size !== null && (size.length !== 1 || (size[0] !== null && size[0] !== 2)))
    throw new InvalidArgumentError(`${port} is ${showShape(size)}, but [height, width] is needed: a vector of 2.`);
  // TensorFlow makes nothing of a size that is known in part.
  if (!known || known.includes(null)) return [null, null];
  const [height, width] = known as [number, number]; // no entry is null
  for (const n of [height, width])
    if (n < 0)
      throw new InvalidArgumentError(`Dimension size, given by scalar input ${port}, must be non-negative but is ${n}`);
  return [height, width];
}

/** Refuses images with more elements than 64 bits count, as TensorFlow does. */
export function checkCount(shape: Shape): void {
  let count = 1;
  for (const size of shape) {
    if (count * size >= 2 ** 63)
      throw new InvalidArgumentError(`Encountered overflow when multiplying ${count} with ${size}, result: -1`);
    count *= size;
  }
}

/** Height and width given at run time. */
export function demandSize(p: ProgramBuilder, size: Value, what = 'shape_t'): [number, number] {
  if (size.shape.length !== 1)
    throw new InvalidArgumentError(`${what} must be 1-dimensional${showRuntime(size.shape)}`);
  if (size.shape[0] !== 2) throw new InvalidArgumentError(`${what} must have two elements${showRuntime(size.shape)}`);
  return p.demandInts(size) as [number, number]; // two elements
}
