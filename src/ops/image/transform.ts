/** @file Images flipped, transposed, cut and padded. */
import { float64, int32 } from '../../core/dtypes.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { getItem } from '../array/getItem.ts';
import { pad } from '../array/pad.ts';
import { reshape } from '../array/reshape.ts';
import { reverse } from '../array/reverse.ts';
import { shape } from '../array/shape.ts';
import { slice } from '../array/slice.ts';
import { stack } from '../array/stack.ts';
import { transpose } from '../array/transpose.ts';
import { withDependencies } from '../flow/group.ts';
import { cast } from '../math/cast.ts';
import { greater, lessEqual } from '../math/compare.ts';
import { logicalOr } from '../math/logical.ts';
import { minus, over, times } from '../math/operators.ts';
import {
  asBatch,
  checkedImage,
  half,
  imageChecks,
  imageRank,
  isAbove,
  isAtLeast,
  isEqual,
  larger,
  less,
  negated,
  requirement,
  type Size,
  sizesOf,
  smaller,
  staticSize,
  sum,
} from './checks.ts';

const setRank = 'Give it one with setShape: 3 axes for an image, 4 for a batch of images.';

function flip(image: TensorLike, axis: 0 | 1, name: string): Tensor {
  return nameScope(name, () => {
    const input = checkedImage(convertToTensor(image, { name: 'image' }));
    return reverse(input, [imageRank(input, setRank) === 3 ? axis : axis + 1]);
  });
}

/**
 * An image, or every image of a batch, with its columns in the opposite order. Adds a `ReverseV2` under
 * `flip_left_right/`.
 *
 * @example tf.image.flipLeftRight([[[1], [2]]]) // runs to [[[2] [1]]]
 */
export function flipLeftRight(image: TensorLike): Tensor {
  return flip(image, 1, 'flip_left_right');
}

/**
 * An image, or every image of a batch, with its rows in the opposite order. Adds a `ReverseV2` under `flip_up_down/`.
 *
 * @example tf.image.flipUpDown([[[1]], [[2]]]) // runs to [[[2]] [[1]]]
 */
export function flipUpDown(image: TensorLike): Tensor {
  return flip(image, 0, 'flip_up_down');
}

/**
 * An image, or every image of a batch, with rows and columns exchanged. Adds a `Transpose` under `transpose/`.
 *
 * @example tf.image.transposeImage([[[1], [2]]]) // runs to [[[1]] [[2]]]
 */
export function transposeImage(image: TensorLike, options: { name?: string } = {}): Tensor {
  return nameScope(options.name ?? 'transpose', () => {
    const input = checkedImage(convertToTensor(image, { name: 'image' }));
    return transpose(input, imageRank(input, setRank) === 3 ? [1, 0, 2] : [0, 2, 1, 3], options);
  });
}

/** The first kept position of an axis; a number where the fraction and the length are known. */
function middleStart(length: Size, fraction: number | Tensor, known: number | undefined): Size {
  if (typeof length === 'number' && known !== undefined) return Math.trunc((length - length * known) / 2);
  const whole = cast(length, float64);
  const kept = times(whole, cast(fraction, float64));
  return cast(over(minus(whole, kept), 2), int32);
}

/**
 * The middle of an image, or of every image of a batch: `centralFraction` of its height and width. Adds a `Slice` under
 * `central_crop/`.
 *
 * @example tf.image.centralCrop([[[1], [2], [3], [4]]], 0.5) // runs to [[[2] [3]]]
 */
export function centralCrop(image: TensorLike, centralFraction: number | Tensor): Tensor {
  return nameScope('central_crop', () => {
    let input = convertToTensor(image, { name: 'image' });
    const known = typeof centralFraction === 'number' ? centralFraction : constantValue(centralFraction)?.numberAt(0);
    if (known !== undefined) {
      if (known <= 0 || known > 1) throw userError('central_fraction must be within (0, 1]');
      if (known === 1) return input;
    } else {
      const inside = logicalOr(greater(centralFraction, 0), lessEqual(centralFraction, 1));
      input = withDependencies(requirement(inside, 'central_fraction must be within (0, 1]'), input);
    }
    checkedImage(input);
    const dims = input.shape;
    if (dims?.length !== 3 && dims?.length !== 4)
      throw userError(
        `\`image\` should either be a Tensor with rank = 3 or rank = 4. Had rank = ${dims?.length ?? 'None'}.`,
      );
    const first = dims.length - 3;
    const lengths = [first, first + 1].map((axis): Size => dims[axis] ?? getItem(shape(input), [axis]));
    const [top, left] = lengths.map((length) => middleStart(length, centralFraction, known));
    const [height, width] = [top!, left!].map((start, i) =>
      typeof start === 'number' ? less(lengths[i]!, start * 2) : minus(lengths[i]!, times(start, 2)),
    );
    const batch = first === 1;
    const begin = stack([...(batch ? [0] : []), top!, left!, 0]);
    const size = stack([...(batch ? [-1] : []), height!, width!, -1]);
    const cropped = slice(input, begin, size);
    const kept = [staticSize(height!), staticSize(width!), dims.at(-1) ?? null];
    cropped.setShape(batch ? [dims[0]!, ...kept] : kept);
    return cropped;
  });
}

/**
 * A part of an image, or of every image of a batch. Adds a `Slice` under `crop_to_bounding_box/`.
 *
 * @example tf.image.cropToBoundingBox([[[1], [2], [3]]], 0, 1, 1, 2) // runs to [[[2] [3]]]
 */
export function cropToBoundingBox(
  image: TensorLike,
  offsetHeight: Size,
  offsetWidth: Size,
  targetHeight: Size,
  targetWidth: Size,
): Tensor {
  return nameScope('crop_to_bounding_box', () => {
    const { batch, back } = asBatch(convertToTensor(image, { name: 'image' }));
    const checks = imageChecks(batch);
    const [count, height, width, depth] = sizesOf(batch);
    checks.push(...requirement(isAtLeast(offsetWidth, 0), 'offset_width must be >= 0.'));
    checks.push(...requirement(isAtLeast(offsetHeight, 0), 'offset_height must be >= 0.'));
    checks.push(...requirement(isAbove(targetWidth, 0), 'target_width must be > 0.'));
    checks.push(...requirement(isAbove(targetHeight, 0), 'target_height must be > 0.'));
    checks.push(...requirement(isAtLeast(width, sum(targetWidth, offsetWidth)), 'width must be >= target + offset.'));
    checks.push(
      ...requirement(isAtLeast(height, sum(targetHeight, offsetHeight)), 'height must be >= target + offset.'),
    );
    const checked = withDependencies(checks, batch);
    const begin = stack([0, offsetHeight, offsetWidth, 0]);
    const size = stack([getItem(shape(checked), [0]), targetHeight, targetWidth, getItem(shape(checked), [3])]);
    const cropped = slice(checked, begin, size);
    cropped.setShape([count, targetHeight, targetWidth, depth].map(staticSize));
    return back(cropped);
  });
}

/**
 * An image, or every image of a batch, on a larger ground of zeros. Adds a `Pad` under `pad_to_bounding_box/`.
 *
 * @example tf.image.padToBoundingBox([[[1]]], 0, 1, 1, 3) // runs to [[[0] [1] [0]]]
 */
export function padToBoundingBox(
  image: TensorLike,
  offsetHeight: Size,
  offsetWidth: Size,
  targetHeight: Size,
  targetWidth: Size,
): Tensor {
  return nameScope('pad_to_bounding_box', () => {
    const { batch, back } = asBatch(convertToTensor(image, { name: 'image' }));
    const [count, height, width, depth] = sizesOf(batch);
    const afterWidth = less(less(targetWidth, offsetWidth), width);
    const afterHeight = less(less(targetHeight, offsetHeight), height);
    const checks = imageChecks(batch);
    checks.push(...requirement(isAtLeast(offsetHeight, 0), 'offset_height must be >= 0'));
    checks.push(...requirement(isAtLeast(offsetWidth, 0), 'offset_width must be >= 0'));
    checks.push(...requirement(isAtLeast(afterWidth, 0), 'width must be <= target - offset'));
    checks.push(...requirement(isAtLeast(afterHeight, 0), 'height must be <= target - offset'));
    const checked = withDependencies(checks, batch);
    const amounts = stack([0, 0, offsetHeight, afterHeight, offsetWidth, afterWidth, 0, 0]);
    const padded = pad(checked, reshape(amounts, [4, 2]));
    padded.setShape([count, targetHeight, targetWidth, depth].map(staticSize));
    return back(padded);
  });
}

/**
 * An image, or every image of a batch, brought to a size by cutting or padding around its centre. Adds nodes under
 * `resize_image_with_crop_or_pad/`.
 *
 * @example tf.image.resizeImageWithCropOrPad([[[1], [2], [3]]], 1, 1) // runs to [[[2]]]
 */
export function resizeImageWithCropOrPad(image: TensorLike, targetHeight: Size, targetWidth: Size): Tensor {
  return nameScope('resize_image_with_crop_or_pad', () => {
    const { batch, back } = asBatch(convertToTensor(image, { name: 'image' }));
    const checks = imageChecks(batch);
    checks.push(...requirement(isAbove(targetWidth, 0), 'target_width must be > 0.'));
    checks.push(...requirement(isAbove(targetHeight, 0), 'target_height must be > 0.'));
    const checked = withDependencies(checks, batch);
    const after = (size: Size) => (size instanceof Tensor ? withDependencies(checks, size) : size);
    const [toHeight, toWidth] = [after(targetHeight), after(targetWidth)];
    const [, height, width] = sizesOf(checked);
    const moreWidth = less(toWidth, width);
    const cropX = larger(half(negated(moreWidth), 2), 0);
    const padX = larger(half(moreWidth, 2), 0);
    const moreHeight = less(toHeight, height);
    const cropY = larger(half(negated(moreHeight), 2), 0);
    const padY = larger(half(moreHeight, 2), 0);
    const cropped = cropToBoundingBox(checked, cropY, cropX, smaller(toHeight, height), smaller(toWidth, width));
    const resized = padToBoundingBox(cropped, padY, padX, toHeight, toWidth);
    const [, newHeight, newWidth] = sizesOf(resized);
    const results = [
      ...requirement(isEqual(newHeight, toHeight), 'resized height is not correct.'),
      ...requirement(isEqual(newWidth, toWidth), 'resized width is not correct.'),
    ];
    return back(withDependencies(results, resized));
  });
}
