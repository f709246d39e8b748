/** @file Images and windows that the cases of pooling ops share. */
import type { Nested } from '../../core/ndarray.ts';
import type { CaseArray } from '../../op/cases.ts';

/** A nested list of `shape`, filled by position. */
function nested(
  shape: readonly number[],
  value: (at: readonly number[]) => number,
  at: readonly number[] = [],
): Nested {
  if (at.length === shape.length) return value(at);
  return Array.from({ length: shape[at.length]! }, (_, i) => nested(shape, value, [...at, i]));
}

/** Numbers that all differ, in no order, so that every window has one maximum. */
function pixel(shape: readonly number[], at: readonly number[]): number {
  const flat = at.reduce((n, i, axis) => n * shape[axis]! + i, 0);
  return (((flat * 37 + 11) % 127) - 60) / 10;
}

export function image(shape: readonly number[]): Nested {
  return nested(shape, (at) => pixel(shape, at));
}

export const ints = (value: readonly number[]): CaseArray => ({ dtype: 'int32', value });

/** The attributes of windows of some size, one number for each of `axes` spatial axes or one for all. */
export function windows(size: number | readonly number[], step: number | readonly number[], padding: string, axes = 2) {
  const all = (sides: number | readonly number[]) =>
    typeof sides === 'number' ? new Array<number>(axes).fill(sides) : sides;
  return { ksize: [1, ...all(size), 1], strides: [1, ...all(step), 1], padding };
}

/** The same for images with their channels in front. */
export function channelsFirst(size: number | readonly number[], step: number | readonly number[], padding: string) {
  const { ksize, strides } = windows(size, step, padding);
  const swap = ([batch, ...rest]: readonly number[]) => [batch!, rest.at(-1)!, ...rest.slice(0, -1)];
  return { ksize: swap(ksize), strides: swap(strides), padding, data_format: 'NCHW' };
}

/** The attributes of windows over channels. */
export const depthWindows = (size: number) => ({ ksize: [1, 1, 1, size], strides: [1, 1, 1, size], padding: 'VALID' });

/** An image that windows without padding cover, and the maximum of each window. */
export function pooled(shape: readonly number[], size: number, step: number, pixelOf = pixel) {
  const [batch, channels] = [shape[0]!, shape.at(-1)!];
  const sizes = shape.slice(1, -1).map((n) => Math.floor((n - size) / step) + 1);
  const output = [batch, ...sizes, channels];
  const maximum = (at: readonly number[]): number => {
    const begins = at.map((i, axis) => (axis === 0 || axis === at.length - 1 ? i : i * step));
    const offsets = nested(
      sizes.map(() => size),
      () => 0,
    );
    let best = Number.NEGATIVE_INFINITY;
    const visit = (list: Nested, point: readonly number[]): void => {
      if (Array.isArray(list)) for (const [i, inner] of list.entries()) visit(inner, [...point, i]);
      else
        best = Math.max(
          best,
          pixelOf(
            shape,
            begins.map((b, axis) => b + (point[axis - 1] ?? 0)),
          ),
        );
    };
    visit(offsets, []);
    return best;
  };
  return { input: nested(shape, (at) => pixelOf(shape, at)), output: nested(output, maximum), shape: output };
}

/** An image in which many windows have several maxima. */
export const ties = (_: readonly number[], at: readonly number[]): number => at.reduce((n, i) => n + i, 0) % 2;
