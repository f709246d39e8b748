/** @file convTranspose: the transpose of a convolution over one, two or three axes. */
import { onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { type Named, scoped } from '../array/common.ts';
import { conv1dTranspose } from './conv1d.ts';
import { conv2dTranspose } from './conv2d.ts';
import { conv3dTranspose } from './conv3d.ts';
import type { PerAxis } from './convArgs.ts';

export interface AnyConvTransposeOptions extends Named {
  readonly strides?: PerAxis | undefined;
  readonly padding?: 'SAME' | 'VALID' | undefined;
  readonly dilations?: PerAxis | undefined;
  readonly dataFormat?: string | undefined;
}

/**
 * The transpose of `convolution`: an array of shape `outputShape`, which tells how many axes there are. Adds what
 * `conv1dTranspose`, `conv2dTranspose` or `conv3dTranspose` adds, under `conv_transpose`.
 *
 * @example tf.nn.convTranspose([[[[1], [2]]]], [[[[1]], [[10]]]], [1, 1, 4, 1], { strides: 2 }) // runs to [[[[1] [10] [2] [20]]]]
 */
export function convTranspose(
  input: TensorLike,
  filters: TensorLike,
  outputShape: Tensor | readonly TensorLike[],
  options: AnyConvTransposeOptions = {},
): Tensor {
  const names = ['strides', 'padding', 'dilations', 'dataFormat', 'name'] as const;
  const { name, ...rest } = onlyOptions('tf.nn.convTranspose', options, ...names);
  return scoped(name ?? 'conv_transpose', [input, filters, outputShape], (scope) => {
    const length = outputShape instanceof Tensor ? (outputShape.shape?.[0] ?? null) : outputShape.length;
    const transposes = { 3: conv1dTranspose, 4: conv2dTranspose, 5: conv3dTranspose };
    if (length !== 3 && length !== 4 && length !== 5)
      throw userError(
        `outputShape must be of length 3, 4 or 5, but it has ${length ?? 'an unknown number of'} entries`,
      );
    return transposes[length](input, filters, outputShape, { ...rest, name: scope });
  });
}
