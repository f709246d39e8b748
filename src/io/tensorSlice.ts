/** @file Slices of tensors: how checkpoints write that a tensor is a part of a larger one. */
import { InvalidArgumentError } from '../core/errors.ts';
import type { Shape } from '../core/shape.ts';
import type { TensorSliceProto } from '../proto/tensor.ts';

/** A range along every axis; a length of -1 is the whole axis. */
export type TensorSlice = readonly { readonly start: number; readonly length: number }[];

/** `4 3 0,2:-` is rows 0 and 1 of a tensor of shape [4, 3]. */
export function parseShapeAndSlice(text: string): { readonly shape: Shape; readonly slice: TensorSlice } {
  const words = text.trim().split(/\s+/);
  const shape = words.slice(0, -1).map(Number);
  const slice = words
    .at(-1)!
    .split(':')
    .map((range) => {
      if (range === '-') return { start: 0, length: -1 };
      const [start, length] = range.split(',').map(Number);
      return { start: start ?? Number.NaN, length: length ?? Number.NaN };
    });
  const numbers = [...shape, ...slice.flatMap(({ start, length }) => [start, length])];
  if (slice.length !== shape.length || !numbers.every(Number.isInteger))
    throw new InvalidArgumentError(
      `Need as many dimensions as ranges in shape_and_slice specification, such as '4 3 0,2:-': ${text}`,
    );
  return { shape, slice };
}

export function sliceToProto(slice: TensorSlice): TensorSliceProto {
  return { extent: slice.map(({ start, length }) => (length < 0 ? { start: 0 } : { start, length })) };
}

export function sliceFromProto({ extent }: TensorSliceProto): TensorSlice {
  return extent.map(({ start, length }) => ({ start, length: length ?? -1 }));
}

/** The slice's shape within a tensor. */
export function sliceShape(slice: TensorSlice, shape: Shape): number[] {
  return slice.map(({ length }, axis) => (length < 0 ? shape[axis]! : length));
}

/** The key under which a slice's data is stored: the name, then rank, starts and lengths, in an order-keeping code. */
export function sliceKey(name: string, slice: TensorSlice): Uint8Array {
  const bytes: number[] = [...orderedNumber(0)];
  for (const byte of new TextEncoder().encode(name)) {
    bytes.push(byte);
    if (byte === 0) bytes.push(255);
    if (byte === 255) bytes.push(0);
  }
  bytes.push(0, 1, ...orderedNumber(slice.length));
  for (const { start, length } of slice) bytes.push(...orderedSigned(start), ...orderedSigned(length));
  return Uint8Array.from(bytes);
}

/** How many bytes follow, then the number, most significant byte first. */
function orderedNumber(value: number): number[] {
  const digits: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return [digits.length, ...digits];
}

/** A number of n bytes begins with n ones, one of them for the sign; negative numbers have all bits turned. */
function orderedSigned(value: number): number[] {
  const magnitude = BigInt(value < 0 ? -value - 1 : value);
  let length = 1;
  while (magnitude >= 1n << BigInt(7 * length - 1)) length++;
  const bytes: number[] = [];
  for (let i = length - 1; i >= 0; i--) bytes.push(Number((magnitude >> BigInt(8 * i)) & 255n));
  // The first bits say how long the number is: 10…, 110…, 1110…
  let ones = length;
  for (let i = 0; ones > 0 && i < bytes.length; i++, ones -= 8)
    bytes[i]! |= ones >= 8 ? 255 : (255 << (8 - ones)) & 255;
  return value < 0 ? bytes.map((b) => ~b & 255) : bytes;
}
