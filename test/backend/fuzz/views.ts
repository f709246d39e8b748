/** @file Random shapes, random arrays, and random ways to lay an array out in memory. */
import type { DType } from '../../../src/core/dtypes.ts';
import { type Element, fromElements, type NDArray } from '../../../src/core/ndarray.ts';
import { type Shape, sizeOf, stridesOf } from '../../../src/core/shape.ts';
import type { View } from '../../../src/program/instructions.ts';
import { restride, type SegmentBuilder } from '../build.ts';
import type { Chance } from './chance.ts';

export function randomShape(chance: Chance, maxRank = 4): number[] {
  const rank = chance.integer(0, maxRank);
  const large = chance.happens(0.2);
  return Array.from({ length: rank }, () => {
    if (chance.happens(0.03)) return 0;
    return chance.integer(1, large ? 19 : 5);
  });
}

/** Floats in [-1, 1], so that errors stay small; small integers and, now and then, the largest. */
function randomElement(chance: Chance, dtype: DType): Element {
  if (dtype.isBool) return chance.happens(0.5);
  if (dtype.isComplex) return { re: chance.fraction() * 2 - 1, im: chance.fraction() * 2 - 1 };
  if (dtype.isFloating) return chance.fraction() * 2 - 1;
  if (chance.happens(0.1))
    return dtype.size === 8 ? BigInt.asIntN(62, BigInt(chance.integer(0, 2 ** 50)) ** 2n) : dtype.max;
  return chance.integer(dtype.isUnsigned ? 0 : -20, 20);
}

export function randomArray(chance: Chance, dtype: DType, shape: Shape): NDArray {
  const elements = Array.from({ length: sizeOf(shape) }, () => randomElement(chance, dtype));
  return fromElements(dtype, shape, elements);
}

/** How an array of some shape lies in a buffer: axes in any order, backwards, with gaps, an offset in front. */
function randomLayout(chance: Chance, shape: Shape): { elements: number; strides: number[]; offset: number } {
  const order = chance.happens(0.5) ? shape.map((_, i) => i) : chance.order(shape.length);
  const gaps = order.map(() => (chance.happens(0.2) ? chance.integer(1, 2) : 0));
  const stored = order.map((axis, i) => shape[axis]! + gaps[i]!);
  const storedStrides = stridesOf(stored);
  let offset = chance.happens(0.3) ? chance.integer(1, 5) : 0;
  const elements = sizeOf(stored) + offset;
  const strides = shape.map(() => 0);
  for (const [i, axis] of order.entries()) {
    const backwards = chance.happens(0.2) && shape[axis]! > 0;
    strides[axis] = backwards ? -storedStrides[i]! : storedStrides[i]!;
    if (backwards) offset += (shape[axis]! - 1) * storedStrides[i]!;
  }
  return { elements, strides, offset };
}

/** A view of random content with random strides, some of them 0. */
export function randomInput(chance: Chance, b: SegmentBuilder, dtype: DType, shape: Shape): View {
  const own = shape.map((size) => (chance.happens(0.2) ? Math.min(size, 1) : size));
  const { elements, strides, offset } = randomLayout(chance, own);
  const view = b.bind(randomArray(chance, dtype, [elements]));
  return restride(
    view,
    shape,
    strides.map((stride, axis) => (own[axis] === shape[axis] ? stride : 0)),
    offset,
  );
}

/** A view to be written, with random strides that never meet, on random content. */
export function randomOutput(chance: Chance, b: SegmentBuilder, dtype: DType, shape: Shape): View {
  const { elements, strides, offset } = randomLayout(chance, shape);
  return restride(b.bind(randomArray(chance, dtype, [elements])), shape, strides, offset);
}
