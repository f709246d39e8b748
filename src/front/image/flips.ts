/** @file Images flipped at random, turned by quarters, and resized with a border. */
import { float32, int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import { showTuple } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { getItem } from '../../ops/array/getItem.ts';
import { reshape } from '../../ops/array/reshape.ts';
import { reverse } from '../../ops/array/reverse.ts';
import { rank, shape } from '../../ops/array/shape.ts';
import { transpose } from '../../ops/array/transpose.ts';
import { withDependencies } from '../../ops/flow/group.ts';
import {
  asBatch,
  checkedImage,
  imageChecks,
  isAbove,
  larger,
  requirement,
  type Size,
  sizesOf,
} from '../../ops/image/checks.ts';
import { type ResizeImagesOptions, resizeImages } from '../../ops/image/resizeImages.ts';
import { padToBoundingBox } from '../../ops/image/transform.ts';
import { cast } from '../../ops/math/cast.ts';
import { equal, less } from '../../ops/math/compare.ts';
import { maximum } from '../../ops/math/maximum.ts';
import { minus, modulo, over, plus, times } from '../../ops/math/operators.ts';
import { floor, round } from '../../ops/math/round.ts';
import { randomUniform } from '../../ops/random/distributions.ts';
import { case as caseOf, cond } from '../controlFlow/index.ts';

/** Python passes 1.0 here, which does not count as the whole number 1, for which there would be fewer nodes. */
const one = scalar(float32, 1);

function wrongRank(image: Tensor): InvalidArgumentError {
  return new InvalidArgumentError(`'image' (shape ${showTuple(image.shape)}) must have either 3 or 4 dimensions.`);
}

function randomFlip(given: TensorLike, axis: 0 | 1, seed: number | undefined, scope: string): Tensor {
  return nameScope(scope, (name) => {
    const image = checkedImage(convertToTensor(given, { name: 'image' }));
    const single = () => {
      const chance = randomUniform([], { minval: 0, maxval: one, seed });
      const mirrored = less(chance, 0.5);
      const result = cond(mirrored, () => reverse(image, [axis]), () => image, { name }); // biome-ignore format: one choice
      result.setShape(image.shape ?? [null, null, null]);
      return result;
    };
    const batch = () => {
      const count = getItem(shape(image), [0]);
      const chances = randomUniform([count], { minval: 0, maxval: one, seed });
      const flips = cast(round(reshape(chances, [count, 1, 1, 1])), image.dtype);
      const flipped = reverse(image, [axis + 1]);
      return plus(times(flips, flipped), times(minus(1, flips), image));
    };
    if (image.rank === null) return cond(equal(rank(image), 3), single, batch);
    if (image.rank === 3) return single();
    if (image.rank === 4) return batch();
    throw wrongRank(image);
  });
}

/** An image, or each image of a batch for itself, with its columns in the opposite order in one of two cases. */
export function randomFlipLeftRight(image: TensorLike, options: { readonly seed?: number | undefined } = {}): Tensor {
  const { seed } = onlyOptions('tf.image.randomFlipLeftRight', options, 'seed');
  return randomFlip(image, 1, seed, 'random_flip_left_right');
}

/** An image, or each image of a batch for itself, with its rows in the opposite order in one of two cases. */
export function randomFlipUpDown(image: TensorLike, options: { readonly seed?: number | undefined } = {}): Tensor {
  const { seed } = onlyOptions('tf.image.randomFlipUpDown', options, 'seed');
  return randomFlip(image, 0, seed, 'random_flip_up_down');
}

/** The image turned by `k` quarters; `first` is the axis of its rows. */
function turned(image: Tensor, k: Tensor, first: 0 | 1, name: string): Tensor {
  const order = first === 0 ? [1, 0, 2] : [0, 2, 1, 3];
  const turn1 = () => transpose(reverse(image, [first + 1]), order);
  const turn2 = () => reverse(image, [first, first + 1]);
  const turn3 = () => reverse(transpose(image, order), [first + 1]);
  const cases = [
    [equal(k, 1), turn1],
    [equal(k, 2), turn2],
    [equal(k, 3), turn3],
  ] as const;
  const result = caseOf(cases, { default: () => image, exclusive: true, name });
  const dims = image.shape ?? new Array<null>(first + 3).fill(null);
  result.setShape(first === 0 ? [null, null, dims[2] ?? null] : [dims[0] ?? null, null, null, dims[3] ?? null]);
  return result;
}

export interface Rot90Options {
  /** How many quarters; one unless given. */
  readonly k?: TensorLike | undefined;
  readonly name?: string | undefined;
}

/**
 * An image, or every image of a batch, turned counter-clockwise by quarters. Adds nodes under `rot90/`.
 *
 * @example tf.image.rot90([[[1], [2]], [[3], [4]]]) // runs to [[[2] [4]] [[1] [3]]]
 */
export function rot90(image: TensorLike, options: Rot90Options = {}): Tensor {
  onlyOptions('tf.image.rot90', options, 'k', 'name');
  return nameScope(options.name ?? 'rot90', (scope) => {
    const input = checkedImage(convertToTensor(image, { name: 'image' }));
    const quarters = modulo(convertToTensor(options.k ?? 1, { dtype: int32, name: 'k' }), 4);
    if (input.rank === null) {
      return cond(equal(rank(input), 3), () => turned(input, quarters, 0, scope), () => turned(input, quarters, 1, scope)); // biome-ignore format: one choice
    }
    if (input.rank === 3) return turned(input, quarters, 0, scope);
    if (input.rank === 4) return turned(input, quarters, 1, scope);
    throw wrongRank(input);
  });
}

/** The size of an image that was made to fit into another, where all sizes are known; in float32, as the nodes compute it. */
function fittingSize(...sizes: readonly [Size, Size, Size, Size]): [number, number] | undefined {
  const [height, width, targetHeight, targetWidth] = sizes;
  if (typeof height !== 'number' || typeof width !== 'number') return undefined;
  if (typeof targetHeight !== 'number' || typeof targetWidth !== 'number') return undefined;
  const f = Math.fround;
  const ratio = Math.max(f(width / targetWidth), f(height / targetHeight));
  return [Math.floor(f(height / ratio)), Math.floor(f(width / ratio))];
}

/**
 * An image, or every image of a batch, resized to fit into a size without changing its proportions, on a ground of zeros.
 * Adds nodes under `resize_image_with_pad/`.
 */
export function resizeImageWithPad(
  image: TensorLike,
  targetHeight: Size,
  targetWidth: Size,
  options: Pick<ResizeImagesOptions, 'method' | 'alignCorners'> = {},
): Tensor {
  onlyOptions('tf.image.resizeImageWithPad', options, 'method', 'alignCorners');
  return nameScope('resize_image_with_pad', () => {
    const { batch, back } = asBatch(convertToTensor(image, { name: 'image' }));
    const checks = imageChecks(batch);
    checks.push(...requirement(isAbove(targetWidth, 0), 'target_width must be > 0.'));
    checks.push(...requirement(isAbove(targetHeight, 0), 'target_height must be > 0.'));
    const checked = withDependencies(checks, batch);
    const [, height, width] = sizesOf(checked);
    const [high, wide, targetHigh, targetWide] = [height, width, targetHeight, targetWidth].map((n) =>
      cast(n, float32),
    ) as [Tensor, Tensor, Tensor, Tensor]; // one for each size
    const ratio = maximum(over(wide, targetWide), over(high, targetHigh));
    const newHigh = over(high, ratio);
    const newWide = over(wide, ratio);
    const newHeight = cast(floor(newHigh), int32);
    const newWidth = cast(floor(newWide), int32);
    const aboveFloat = over(minus(targetHigh, newHigh), 2);
    const leftFloat = over(minus(targetWide, newWide), 2);
    const [aboveWhole, leftWhole] = [floor(aboveFloat), floor(leftFloat)];
    const above = larger(0, cast(aboveWhole, int32));
    const left = larger(0, cast(leftWhole, int32));
    const resized = resizeImages(checked, [newHeight, newWidth], options);
    const known = fittingSize(height, width, targetHeight, targetWidth);
    if (known) resized.setShape([null, ...known, null]);
    const padded = padToBoundingBox(resized, above, left, targetHeight, targetWidth);
    sizesOf(padded);
    return back(padded);
  });
}
