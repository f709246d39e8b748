/** @file SpaceToDepth and DepthToSpace: blocks of an image as channels, and back. */
import { InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { type Dims, type Shape, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { type Named, ofRank } from './common.ts';

export type ImageFormat = 'NHWC' | 'NCHW';

const attrs = {
  T: anyType,
  block_size: attr('int', { minimum: 2 }),
  data_format: attr('string', { default: 'NHWC', choices: ['NHWC', 'NCHW', 'NCHW_VECT_C'] }),
};

/** Positions of height, width and channels. */
function axesOf(format: string): readonly [number, number, number] {
  if (format === 'NHWC') return [1, 2, 3];
  if (format === 'NCHW') return [2, 3, 1];
  throw new UnimplementedError(`the data format ${format} is only for quantized images on GPUs. Use NHWC or NCHW.`);
}

function divided(size: number | null, by: number, dims: Dims): number | null {
  if (size !== null && size % by !== 0)
    throw new InvalidArgumentError(
      `Dimension size must be evenly divisible by ${by} but is ${size}: input is ${showShape(dims)}`,
    );
  return size === null ? null : size / by;
}

export const SpaceToDepth = defineOp({
  name: 'SpaceToDepth',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs,
  shape({ input }, { block_size: b, data_format }) {
    const dims = ofRank(input, 4, 'input');
    const [h, w, c] = axesOf(data_format);
    const output = dims.map((d, i) =>
      i === h || i === w ? divided(d, b, input) : i === c && d !== null ? d * b * b : d,
    );
    return { output };
  },
  grad: ({ attrs: { block_size, data_format } }, { output: dy }) => ({
    input: depthToSpace(dy, block_size, { dataFormat: data_format as ImageFormat }), // axesOf refuses the third
  }),
  lower(p, { input }, { block_size: b, data_format }) {
    const [h, w, c] = axesOf(data_format);
    const [n, height, width, depth] = [0, h, w, c].map((i) => input.shape[i]!) as [number, number, number, number]; // rank 4
    if (width % b !== 0 || height % b !== 0)
      throw new InvalidArgumentError(
        `Image width ${width} and height ${height} should be divisible by block_size: ${b}`,
      );
    const [rows, columns] = [height / b, width / b];
    if (data_format === 'NHWC') {
      const blocks = p.transpose(p.reshape(input, [n, rows, b, columns, b, depth]), [0, 1, 3, 2, 4, 5]);
      return { output: p.reshape(blocks, [n, rows, columns, b * b * depth]) };
    }
    const blocks = p.transpose(p.reshape(input, [n, depth, rows, b, columns, b]), [0, 3, 5, 1, 2, 4]);
    return { output: p.reshape(blocks, [n, b * b * depth, rows, columns]) };
  },
  cases: () => [
    { shape: '[?, 4, 6, 3] -> [?, 2, 3, 12]', attrs: { block_size: 2 } },
    { shape: '[?, 3, 6, 3]', attrs: { block_size: 2 }, rejects: /evenly divisible by 2 but is 3/ },
    {
      given: {
        input: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
      },
      attrs: { block_size: 2 },
      expect: { output: [[[[1, 2, 3, 4]]]] },
    },
  ],
});

export const DepthToSpace = defineOp({
  name: 'DepthToSpace',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs,
  shape({ input }, { block_size: b, data_format }) {
    const dims = ofRank(input, 4, 'input');
    const [h, w, c] = axesOf(data_format);
    const output = dims.map((d, i) =>
      i === c ? divided(d, b * b, input) : (i === h || i === w) && d !== null ? d * b : d,
    );
    return { output };
  },
  grad: ({ attrs: { block_size, data_format } }, { output: dy }) => ({
    input: spaceToDepth(dy, block_size, { dataFormat: data_format as ImageFormat }), // axesOf refuses the third
  }),
  lower(p, { input }, { block_size: b, data_format }) {
    const [h, w, c] = axesOf(data_format);
    const [n, rows, columns, channels] = [0, h, w, c].map((i) => input.shape[i]!) as [number, number, number, number]; // rank 4
    if (channels % (b * b) !== 0)
      throw new InvalidArgumentError(`Input depth dimension ${channels} should be divisible by: ${b * b}`);
    const depth = channels / (b * b);
    const shape: Shape = data_format === 'NHWC' ? [n, rows * b, columns * b, depth] : [n, depth, rows * b, columns * b];
    const blocks =
      data_format === 'NHWC'
        ? p.transpose(p.reshape(input, [n, rows, columns, b, b, depth]), [0, 1, 3, 2, 4, 5])
        : p.transpose(p.reshape(input, [n, b, b, depth, rows, columns]), [0, 3, 4, 1, 5, 2]);
    return { output: p.reshape(blocks, shape) };
  },
  cases: () => [
    { shape: '[?, 2, 3, 12] -> [?, 4, 6, 3]', attrs: { block_size: 2 } },
    {
      given: { input: [[[[1, 2, 3, 4]]]] },
      attrs: { block_size: 2 },
      expect: {
        output: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
      },
    },
  ],
});

/**
 * Blocks of an image as channels. Adds one `SpaceToDepth` node.
 *
 * @example tf.spaceToDepth([[[[1], [2]], [[3], [4]]]], 2) // runs to [[[[1 2 3 4]]]]
 */
export function spaceToDepth(
  input: TensorLike,
  blockSize: number,
  options: Named & { dataFormat?: ImageFormat | undefined } = {},
): Tensor {
  const { name, dataFormat = 'NHWC' } = onlyOptions('tf.spaceToDepth', options, 'name', 'dataFormat');
  return SpaceToDepth.build({ input }, { name, attrs: { block_size: blockSize, data_format: dataFormat } }).output;
}

/**
 * Channels as blocks of a larger image. Adds one `DepthToSpace` node.
 *
 * @example tf.depthToSpace([[[[1, 2, 3, 4]]]], 2) // runs to [[[[1] [2]] [[3] [4]]]]
 */
export function depthToSpace(
  input: TensorLike,
  blockSize: number,
  options: Named & { dataFormat?: ImageFormat | undefined } = {},
): Tensor {
  const { name, dataFormat = 'NHWC' } = onlyOptions('tf.depthToSpace', options, 'name', 'dataFormat');
  return DepthToSpace.build({ input }, { name, attrs: { block_size: blockSize, data_format: dataFormat } }).output;
}
