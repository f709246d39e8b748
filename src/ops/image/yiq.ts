/** @file The colour spaces of television, YIQ and YUV: products of colours with a matrix. */
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { tensordot } from '../math/tensordot.ts';

type Rows = readonly (readonly [number, number, number])[];

const yiqOfRgb: Rows = [
  [0.299, 0.59590059, 0.2115],
  [0.587, -0.27455667, -0.52273617],
  [0.114, -0.32134392, 0.31119955],
];
const rgbOfYiq: Rows = [
  [1, 1, 1],
  [0.95598634, -0.27201283, -1.10674021],
  [0.6208248, -0.64720424, 1.70423049],
];
const yuvOfRgb: Rows = [
  [0.299, -0.14714119, 0.61497538],
  [0.587, -0.28886916, -0.51496512],
  [0.114, 0.43601035, -0.10001026],
];
const rgbOfYuv: Rows = [
  [1, 1, 1],
  [0, -0.394642334, 2.03206185],
  [1.13988303, -0.58062185, 0],
];

type Recolor = (images: TensorLike) => Tensor;

function recolor(matrix: Rows): Recolor {
  return (images) => {
    const pixels = convertToTensor(images, { name: 'images' });
    const kernel = convertToTensor(matrix, { name: 'kernel', dtype: pixels.dtype });
    if (pixels.rank === null) throw userError(`${pixels} must have a known rank; use setShape.`);
    return tensordot(pixels, kernel, [[pixels.rank - 1], [0]]);
  };
}

/**
 * Brightness and two colour differences from red, green and blue, in the last axis. Adds the nodes of `tf.tensordot`.
 *
 * @example tf.image.rgbToYiq([[[1.0, 2.0, 3.5]]]) // runs to [[[ 1.872      -1.0779165   0.25522602]]]
 */
export const rgbToYiq: Recolor = recolor(yiqOfRgb);
/** The opposite of `rgbToYiq`. */
export const yiqToRgb: Recolor = recolor(rgbOfYiq);
/** Brightness, blue and red differences from red, green and blue, in the last axis. */
export const rgbToYuv: Recolor = recolor(yuvOfRgb);
/** The opposite of `rgbToYuv`. */
export const yuvToRgb: Recolor = recolor(rgbOfYuv);
