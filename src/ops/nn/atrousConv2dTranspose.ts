/** @file atrousConv2dTranspose: the transpose of a dilated convolution. */
import { isFullyDefined, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { scoped } from '../array/common.ts';
import { getItem } from '../array/getItem.ts';
import { shape } from '../array/shape.ts';
import { batchToSpace, spaceToBatch } from '../array/spaceToBatch.ts';
import { floorOver, minus, modulo, plus, times } from '../math/operators.ts';
import { conv2dTranspose } from './conv2d.ts';
import { Conv2DBackpropInput } from './conv2dGradients.ts';
import type { AtrousOptions } from './convolution.ts';

/** A size that is known, or a node. */
type Length = number | Tensor;

// Arithmetic on sizes makes nodes only where one of them is not known.
const add = (a: Length, b: Length): Length => (a instanceof Tensor || b instanceof Tensor ? plus(a, b) : a + b);
const subtract = (a: Length, b: Length): Length => (a instanceof Tensor || b instanceof Tensor ? minus(a, b) : a - b);
const multiply = (a: Length, b: Length): Length => (a instanceof Tensor || b instanceof Tensor ? times(a, b) : a * b);
const floorDivide = (a: Length, b: number): Length => (a instanceof Tensor ? floorOver(a, b) : Math.floor(a / b));
const remainder = (a: Length, b: number): Length => (a instanceof Tensor ? modulo(a, b) : ((a % b) + b) % b);

/**
 * The transpose of `atrousConv2d`: an image of shape `outputShape`; filters are [height, width, output channels, input
 * channels]. Adds a `Conv2DBackpropInput` between `SpaceToBatchND` and `BatchToSpaceND` nodes under
 * `atrous_conv2d_transpose`.
 *
 * @example tf.nn.atrousConv2dTranspose([[[[1]]]], [[[[1]], [[10]]]], [1, 1, 3, 1], { rate: 2, padding: 'VALID' }) // runs to [[[[1] [0] [10]]]]
 */
export function atrousConv2dTranspose(
  value: TensorLike,
  filters: TensorLike,
  outputShape: Tensor | readonly number[],
  options: Omit<AtrousOptions, 'rate'> & { readonly rate: number },
): Tensor {
  const { rate, padding, name } = onlyOptions('tf.nn.atrousConv2dTranspose', options, 'rate', 'padding', 'name');
  return scoped(name ?? 'atrous_conv2d_transpose', [value, filters, outputShape], () => {
    const x = convertToTensor(value, { name: 'value' });
    const filter = convertToTensor(filters, { name: 'filters' });
    const [channels, taken] = [x.shape?.[3] ?? null, filter.shape?.[3] ?? null];
    if (channels !== null && taken !== null && channels !== taken)
      throw userError(
        `value is ${showShape(x.shape)} with ${channels} channels, but filters are ${showShape(filter.shape)} and take ${taken}.`,
      );
    if (rate < 1) throw userError(`rate cannot be less than one, but is ${rate}`);
    if (rate === 1)
      return conv2dTranspose(x, filter, outputShape, { strides: [1, 1, 1, 1], padding, dataFormat: 'NHWC' });

    const wanted = convertToTensor(outputShape, { name: 'output_shape' });
    if (wanted.shape !== null && (wanted.shape.length !== 1 || (wanted.shape[0] ?? 4) !== 4))
      throw userError(`outputShape must have 4 entries, but its shape is ${showShape(wanted.shape)}`);
    const size = (axis: number): Length =>
      outputShape instanceof Tensor ? getItem(outputShape, [axis]) : outputShape[axis]!;
    const pads = padding === 'SAME' ? samePads(filter, rate) : noPads(padding);

    const height = add(add(size(1), pads.top), pads.bottom);
    const width = add(add(size(2), pads.left), pads.right);
    const moreRows = remainder(subtract(rate, remainder(height, rate)), rate);
    const moreColumns = remainder(subtract(rate, remainder(width, rate)), rate);
    const spread = spaceToBatch(
      x,
      [
        [0, moreRows],
        [0, moreColumns],
      ],
      rate,
    );
    const sizes = [
      multiply(rate * rate, size(0)),
      floorDivide(add(height, moreRows), rate),
      floorDivide(add(width, moreColumns), rate),
      size(3),
    ];
    const inputs = { input_sizes: sizes, filter, out_backprop: spread };
    const attrs = { strides: [1, 1, 1, 1], padding: 'VALID', data_format: 'NHWC' };
    const result = Conv2DBackpropInput.build(inputs, { attrs }).output;
    const crops = [
      [pads.top, add(pads.bottom, moreRows)],
      [pads.left, add(pads.right, moreColumns)],
    ];
    return batchToSpace(result, crops, rate);
  });
}

interface Pads {
  readonly top: Length;
  readonly bottom: Length;
  readonly left: Length;
  readonly right: Length;
}

function noPads(padding: string): Pads {
  if (padding !== 'VALID') throw userError(`padding must be 'VALID' or 'SAME', but is '${padding}'`);
  return { top: 0, bottom: 0, left: 0, right: 0 };
}

/** Half of what the dilated filter covers beyond one element, the odd one at the end. */
function samePads(filter: Tensor, rate: number): Pads {
  const dims = filter.shape;
  const sizes = isFullyDefined(dims) ? undefined : shape(filter);
  const tap = (axis: number): Length => (sizes ? getItem(sizes, [axis]) : dims![axis]!);
  const [rows, columns] = [tap(0), tap(1)];
  const covered = (n: Length) => add(n, multiply(subtract(n, 1), rate - 1));
  const [tall, wide] = [covered(rows), covered(columns)];
  const [high, across] = [subtract(tall, 1), subtract(wide, 1)];
  const top = floorDivide(high, 2);
  const bottom = subtract(high, top);
  const left = floorDivide(across, 2);
  return { top, bottom, left, right: subtract(across, left) };
}
