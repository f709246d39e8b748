/** @file `resizeImages`: images in another size, by any of the ways there are. */
import { float32, int32 } from '../../core/dtypes.ts';
import { UnimplementedError } from '../../core/errors.ts';
import { compatible } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { partialValueOf } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { expandDims } from '../array/expandDims.ts';
import { getItem } from '../array/getItem.ts';
import { shape } from '../array/shape.ts';
import { squeeze } from '../array/squeeze.ts';
import { unstack } from '../array/stack.ts';
import { cast } from '../math/cast.ts';
import { minimum } from '../math/maximum.ts';
import { over, times } from '../math/operators.ts';
import { round } from '../math/round.ts';
import { resizeBilinear, resizeNearestNeighbor } from './resize.ts';
import { resizeArea, resizeBicubic } from './resizeByWeights.ts';

/** How pixels between the given ones are found. */
export const ResizeMethod = { BILINEAR: 0, NEAREST_NEIGHBOR: 1, BICUBIC: 2, AREA: 3 } as const;

export interface ResizeImagesOptions {
  /** One of `tf.image.ResizeMethod`, or its name; bilinear unless given. */
  readonly method?: number | 'bilinear' | 'nearest' | 'bicubic' | 'area' | undefined;
  readonly alignCorners?: boolean | undefined;
  /** Keeps the proportions: the result may be smaller than `size` in one direction. */
  readonly preserveAspectRatio?: boolean | undefined;
  readonly name?: string | undefined;
}

/** The largest size with the image's own proportions that fits into `size`. */
function fitting(images: Tensor, size: Tensor): Tensor {
  const dims = images.shape!;
  const known = dims.every((n) => n !== null) ? dims : undefined;
  const parts = known ?? unstack(shape(images));
  const scales = [1, 2].map((axis) => {
    const wanted = cast(getItem(size, [axis - 1]), float32);
    return over(wanted, cast(dims[axis] ?? parts[axis]!, float32));
  }) as [Tensor, Tensor]; // height and width
  const scale = minimum(...scales);
  const scaled = [1, 2].map((axis) => cast(round(times(scale, cast(dims[axis] ?? parts[axis]!, float32))), int32));
  return convertToTensor(scaled, { name: 'size', dtype: int32 });
}

function resized(images: Tensor, size: Tensor, { method = 0, alignCorners }: ResizeImagesOptions): Tensor {
  if (method === ResizeMethod.BILINEAR || method === 'bilinear') return resizeBilinear(images, size, { alignCorners });
  if (method === ResizeMethod.NEAREST_NEIGHBOR || method === 'nearest')
    return resizeNearestNeighbor(images, size, { alignCorners });
  if (method === ResizeMethod.BICUBIC || method === 'bicubic') return resizeBicubic(images, size, { alignCorners });
  if (method === ResizeMethod.AREA || method === 'area') return resizeArea(images, size, { alignCorners });
  throw new UnimplementedError(`Resize method is not implemented: ${method}. Use one of tf.image.ResizeMethod.`);
}

/**
 * One image, `[height, width, channels]`, or a batch of them, in another size. Adds a `ResizeBilinear` or
 * `ResizeNearestNeighbor` (or other) node under `resize/`; none at all when the size is the same.
 *
 * @example tf.image.resizeImages([[[1.5], [2.5]]], [1, 4]) // runs to [[[1.5] [2. ] [2.5] [2.5]]]
 */
export function resizeImages(images: TensorLike, size: TensorLike, options: ResizeImagesOptions = {}): Tensor {
  onlyOptions('tf.image.resizeImages', options, 'method', 'alignCorners', 'preserveAspectRatio', 'name');
  return nameScope(options.name ?? 'resize', () => {
    const given = convertToTensor(images, { name: 'images' });
    if (given.rank !== 3 && given.rank !== 4)
      throw userError(`images is ${given}, but must be one image of rank 3 or a batch of rank 4.`);
    const batch = given.rank === 4 ? given : expandDims(given, 0);
    const asked = convertToTensor(size, { name: 'size', dtype: int32 });
    if (!compatible(asked.shape, [2])) throw userError(`size is ${asked}, but must be [newHeight, newWidth].`);
    const wanted = options.preserveAspectRatio ? fitting(batch, asked) : asked;
    const [height, width] = partialValueOf(wanted)?.map((n) => (n === null || n < 0 ? null : n)) ?? [null, null];
    const isSame = height !== null && width !== null && batch.shape![1] === height && batch.shape![2] === width;
    const result = isSame ? batch : resized(batch, wanted, options);
    if (!isSame) result.setShape([null, height ?? null, width ?? null, null]);
    return given.rank === 4 ? result : squeeze(result, { axis: [0] });
  });
}
