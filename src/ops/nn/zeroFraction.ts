/** @file `zeroFraction`: how much of a tensor is zero, as activations are watched. */
import * as d from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { zeros } from '../array/fill.ts';
import { identity } from '../array/identity.ts';
import { size } from '../array/shape.ts';
import { cast } from '../math/cast.ts';
import { notEqual } from '../math/compare.ts';
import { minus, over } from '../math/operators.ts';
import { reduceSum } from '../math/reductions.ts';

/**
 * The share of elements that are zero, as a float32. Adds nodes under `zero_fraction/`.
 *
 * @example tf.nn.zeroFraction(tf.constant([0, 3, 0, 5])) // runs to 0.5
 */
export function zeroFraction(value: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.nn.zeroFraction', options, 'name');
  return nameScope(options.name ?? 'zero_fraction', () => {
    const x = convertToTensor(value, { name: 'value' });
    const count = size(x, { outType: d.int64 });
    const nonzero = nameScope('count_nonzero', () =>
      reduceSum(cast(notEqual(x, zeros([], { dtype: x.dtype })), d.int64), null, { name: 'nonzero_count' }),
    );
    const fraction = nameScope('counts_to_fraction', () => {
      const zero = cast(minus(count, nonzero), d.float32);
      return over(zero, cast(count, d.float32));
    });
    return identity(fraction, { name: 'fraction' });
  });
}
