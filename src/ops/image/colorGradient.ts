/** @file The gradient of RGBToHSV as TensorFlow builds it: every partial derivative, case by case, then their sum. */
import { type DType, float32 } from '../../core/dtypes.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { getItem } from '../array/getItem.ts';
import { stack } from '../array/stack.ts';
import { add } from '../math/add.ts';
import { cast } from '../math/cast.ts';
import { greater, greaterEqual, less, lessEqual } from '../math/compare.ts';
import { divNoNan } from '../math/divide.ts';
import { bothOf } from '../math/logical.ts';
import { minus, over, plus, times } from '../math/operators.ts';
import { square } from '../math/sqrt.ts';

/** 1 / x, and 0 where x is 0. */
function inverse(x: Tensor): Tensor {
  const one = nameScope('Cast', (name) => {
    const number = convertToTensor(1, { dtype: float32, name: 'x' });
    return x.dtype === float32 ? number : cast(number, x.dtype, { name });
  });
  return divNoNan(one, x);
}

/** The product from left to right; a number stands for itself. */
function product(first: Tensor, ...rest: readonly (Tensor | number)[]): Tensor {
  return rest.reduce<Tensor>((left, right) => times(left, right), first);
}

/** A colour part and where it is the largest or the smallest of the three, as 0 or 1. */
interface Part {
  readonly value: Tensor;
  readonly biggest: Tensor;
  readonly smallest: Tensor;
}

const positive = (x: Tensor, dtype: DType) => cast(greater(x, 0), dtype);

/** How the saturation depends on one part, beside the two others. */
function saturationBy(part: Part, a: Part, b: Part, c: Part, e: Part, dtype: DType): Tensor {
  const present = positive(part.value, dtype);
  const smallest = add(times(a.smallest, a.value), times(b.smallest, b.value));
  const share = times(part.biggest, smallest);
  const asBiggest = times(share, inverse(square(part.value)));
  const scaled = times(part.smallest, -1);
  const biggest = plus(times(c.biggest, c.value), times(e.biggest, e.value));
  return times(present, add(asBiggest, times(scaled, inverse(biggest))));
}

type Parts = Readonly<Record<'red' | 'green' | 'blue', Part>>;

/** Where each part is the largest and the smallest; of equal ones, only one is. */
function partsOf(r: Tensor, g: Tensor, b: Tensor, dtype: DType): Parts {
  const indicator = (x: Tensor, y: Tensor) => cast(bothOf(x, y), dtype);
  const redBiggest = indicator(greaterEqual(r, b), greaterEqual(r, g));
  const greenBiggest = indicator(greater(g, r), greaterEqual(g, b));
  const blueBiggest = indicator(greater(b, r), greater(b, g));
  const redSmallest = indicator(less(r, b), less(r, g));
  const greenSmallest = indicator(lessEqual(g, r), less(g, b));
  const blueSmallest = indicator(lessEqual(b, r), lessEqual(b, g));
  return {
    red: { value: r, biggest: redBiggest, smallest: redSmallest },
    green: { value: g, biggest: greenBiggest, smallest: greenSmallest },
    blue: { value: b, biggest: blueBiggest, smallest: blueSmallest },
  };
}

/** Sixty degrees of a term. */
const degrees = (term: Tensor) => times(60, term);

/** How the hue depends on red, green and blue. */
function hueBy({ red, green, blue }: Parts, saturation: Tensor, value: Tensor, dtype: DType): Tensor[] {
  /** The part itself is the largest. */
  const whenBiggest = (part: Part, from: Part, to: Part) => {
    const present = product(positive(part.value, dtype), part.biggest, -1);
    const turned = times(present, minus(from.value, to.value));
    const flat = times(turned, inverse(square(saturation)));
    return degrees(times(flat, inverse(square(value))));
  };
  /** Another part is the largest and this one the smallest. */
  const whenSmallest = (biggest: Part, smallest: Part, from: Part, to: Part, across: readonly [Part, Part]) => {
    const present = product(positive(biggest.value, dtype), biggest.biggest, smallest.smallest);
    const turned = times(present, minus(from.value, to.value));
    return degrees(times(turned, inverse(square(minus(across[0].value, across[1].value)))));
  };
  /** Another part is the largest and the third one the smallest. */
  const whenBetween = (biggest: Part, smallest: Part, sign: 1 | -1) => {
    const present = product(positive(biggest.value, dtype), biggest.biggest, smallest.smallest);
    const signed = sign === -1 ? times(present, -1) : present;
    return degrees(times(signed, inverse(minus(biggest.value, smallest.value))));
  };
  const turns = (...terms: readonly Tensor[]) =>
    over(
      terms.reduce((sum, term) => plus(sum, term)),
      360,
    );
  return [
    turns(
      whenBiggest(red, green, blue),
      whenSmallest(green, red, blue, green, [red, green]),
      whenBetween(green, blue, -1),
      whenSmallest(blue, red, blue, green, [blue, red]),
      whenBetween(blue, green, 1),
    ),
    turns(
      whenBiggest(green, blue, red),
      whenSmallest(red, green, red, blue, [red, green]),
      whenBetween(red, blue, 1),
      whenSmallest(blue, green, red, blue, [blue, green]),
      whenBetween(blue, red, -1),
    ),
    turns(
      whenBiggest(blue, red, green),
      whenSmallest(red, blue, green, red, [red, blue]),
      whenBetween(red, green, -1),
      whenSmallest(green, blue, green, red, [green, blue]),
      whenBetween(green, red, 1),
    ),
  ];
}

export function rgbToHsvGradient(images: Tensor, hsv: Tensor, dy: Tensor): Tensor {
  const { dtype } = images;
  const channel = (of: Tensor, i: number) => getItem(of, `..., ${i}`);
  const [r, g, b] = [channel(images, 0), channel(images, 1), channel(images, 2)];
  const [saturation, value] = [channel(hsv, 1), channel(hsv, 2)];
  const parts = partsOf(r, g, b, dtype);
  const { red, green, blue } = parts;
  const saturations = [
    saturationBy(red, green, blue, green, blue, dtype),
    saturationBy(green, red, blue, red, blue, dtype),
    saturationBy(blue, green, red, green, red, dtype),
  ];
  const hues = hueBy(parts, saturation, value, dtype);
  const arriving = (i: number, slopes: readonly Tensor[]) =>
    stack(
      slopes.map((slope) => times(channel(dy, i), slope)),
      { axis: -1 },
    );
  const byValue = arriving(2, [red.biggest, green.biggest, blue.biggest]);
  const bySaturation = arriving(1, saturations);
  const byHue = arriving(0, hues);
  return add(add(byValue, bySaturation), byHue);
}
