/** @file Lu: triangular factors of square matrices, with the order of the rows. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector } from '../../core/ndarray.ts';
import { type NamedTuple, namedTuple } from '../../graph/namedTuple.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { HostCall } from '../../program/instructions.ts';
import type { NameOption } from './elementwise.ts';
import { factorize } from './equations.ts';
import { checkSquare, matrixTypes, squareDims } from './linalgShapes.ts';
import { promises } from './nativeMatrix.ts';

const indexType = attr('type', { allowed: [d.int32, d.int64], default: d.int32 });

export const Lu = defineOp({
  name: 'Lu',
  inputs: { input: 'T' },
  outputs: { lu: 'T', p: 'output_idx_type' },
  attrs: { T: matrixTypes, output_idx_type: indexType },
  shape({ input }) {
    const lu = squareDims('input', input);
    return { lu, p: lu?.slice(0, -1) ?? null };
  },
  grad: gradientPending('TensorFlow has none either; tf.linalg.solve and tf.linalg.inv have one'),
  lower(p, { input }, { output_idx_type }) {
    checkSquare(input.shape);
    const { dtype, shape } = input;
    const rows = shape.slice(0, -1);
    const results = [
      { dtype, shape },
      { dtype: output_idx_type, shape: rows },
    ];
    const call: HostCall = async ([x], _run, { threads }) => {
      const found = await factorize(x!, threads);
      if (!found) throw new InvalidArgumentError('Input is not invertible.');
      const [factors, places] = found;
      return [factors, output_idx_type === d.int32 ? places : intVector(places.numbers(), d.int64).reshape(rows)];
    };
    const [lu, order] = p.host([input], results, call, promises);
    return { lu: lu!, p: order! };
  },
  cases: () => [
    { shape: '[?, 2, ?] -> [?, 2, 2], [?, 2]' },
    { shape: '[2, 3]', rejects: /must be square/ },
    {
      given: {
        input: [
          [1, 2],
          [4, 4],
        ],
      },
      expect: {
        lu: [
          [4, 4],
          [0.25, 1],
        ],
        p: { dtype: 'int32', value: [1, 0] },
      },
    },
    {
      given: {
        input: [
          [
            [2, 1, 1],
            [4, 3, 3],
            [8, 7, 9],
          ],
          [
            [1, 0, 0],
            [0, 2, 1],
            [0, 4, 1],
          ],
        ],
      },
      attrs: { output_idx_type: d.int64 },
    },
    {
      given: {
        input: [
          [1, 2],
          [2, 4],
        ],
      },
      fails: /Input is not invertible/,
    },
  ],
});

interface LuOptions extends NameOption {
  /** The type of the indices; int32 unless given. */
  readonly outputIdxType?: d.DType<'int32' | 'int64'> | undefined;
}

/**
 * The lower and upper triangular factors of square matrices in one matrix each, and which row of the input each row comes
 * from. Adds one `Lu` node.
 *
 * @example tf.linalg.lu(tf.constant([[1, 2], [4, 4]], tf.float32)).lu // runs to [[4. 4.] [0.25 1.]]
 */
export function lu(
  input: TensorLike,
  options: LuOptions = {},
): NamedTuple<{ readonly lu: Tensor; readonly p: Tensor }> {
  const { name, outputIdxType = d.int32 } = onlyOptions('tf.linalg.lu', options, 'name', 'outputIdxType');
  return namedTuple(Lu.build({ input }, { name, attrs: { output_idx_type: outputIdxType } }));
}
