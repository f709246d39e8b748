/** @file Arguments that the convolution functions share: strides and dilations in short forms, explicit padding. */
import { NDArray } from '../../core/ndarray.ts';
import type { TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { isSymbolic } from '../../op/convert.ts';
import type { Named } from '../array/common.ts';

/** `SAME`, `VALID`, or a pair (before, after) for every axis of the input. */
export type ConvPadding = 'SAME' | 'VALID' | readonly (readonly [number, number])[];

/** One number for all spatial axes, one for each, or one for every axis of the input. */
export type PerAxis = number | readonly number[];

/** What most convolutions of images take. */
export interface ConvOptions extends Named {
  readonly strides?: PerAxis | undefined;
  readonly padding: ConvPadding;
  readonly dilations?: PerAxis | undefined;
  /** `'NHWC'` (the default) or `'NCHW'`. */
  readonly dataFormat?: string | undefined;
  readonly useCudnnOnGpu?: boolean | undefined;
}

/** A number per axis of the input, from any of the forms of `PerAxis`. */
export function perAxis(value: PerAxis | undefined, spatial: number, channelsFirst: boolean, what: string): number[] {
  const given = typeof value === 'number' ? [value] : [...(value ?? [1])];
  if (given.length === spatial + 2) return given;
  if (given.length !== 1 && given.length !== spatial)
    throw userError(
      `${what} should be of length 1, ${spatial} or ${spatial + 2}. Received: ${what}=[${given}] of length ${given.length}`,
    );
  const each = given.length === 1 ? new Array<number>(spatial).fill(given[0]!) : given;
  return channelsFirst ? [1, 1, ...each] : [1, ...each, 1];
}

/** Whether a format such as `NCHW` has the channels before the spatial axes. */
export const isChannelsFirst = (format: string | undefined): boolean => format?.startsWith('NC') ?? false;

/** The attributes of a padding that may be explicit. */
export function paddingAttrs(padding: ConvPadding, axes = 4): { padding: string; explicit_paddings: number[] } {
  if (typeof padding === 'string') {
    if (padding === ('EXPLICIT' as string))
      throw userError("'EXPLICIT' is not a valid value for padding. To use explicit padding, padding must be a list.");
    return { padding, explicit_paddings: [] };
  }
  if (!Array.isArray(padding))
    throw userError(
      `padding is ${padding}, but must be 'SAME', 'VALID' or a list of pairs, one for each axis of the input.`,
    );
  if (padding.length !== axes || padding.some((pair) => !Array.isArray(pair) || pair.length !== 2))
    throw userError(
      `padding is ${JSON.stringify(padding)}, but a list must have ${axes} pairs [before, after], one for each axis of the input.`,
    );
  return { padding: 'EXPLICIT', explicit_paddings: padding.flat() };
}

/** The rank of something that may become a tensor, without making it one; null where it is not known. */
export function rankOf(value: TensorLike): number | null {
  if (isSymbolic(value)) return value.shape?.length ?? null;
  if (value instanceof NDArray) return value.rank;
  let rank = 0;
  for (let at: unknown = value; Array.isArray(at); at = at[0]) rank++;
  return rank;
}
