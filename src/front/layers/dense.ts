/** @file Dense: a fully connected layer. */

import { type Dims, showTuple } from '../../core/shape.ts';
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { tensordot } from '../../ops/math/index.ts';
import { MatMul } from '../../ops/math/matmul.ts';
import type { Variable } from '../variable.ts';
import { BiasedLayer, type KernelOptions, kernelOptionNames, kernelWeight } from './biasedLayer.ts';

export type DenseOptions = KernelOptions;

/**
 * `activation(inputs * kernel + bias)`; the variables are `kernel` and `bias`.
 *
 * @example const layer = new tf.layers.Dense(10, { activation: tf.nn.relu }); layer.apply(x);
 */
export class Dense extends BiasedLayer<DenseOptions> {
  /** Made when the layer is first applied. */
  kernel!: Variable;

  constructor(
    readonly units: number,
    options: DenseOptions = {},
  ) {
    super(options);
    onlyOptions('tf.layers.Dense', options, ...kernelOptionNames);
    if (!Number.isInteger(units) || units < 0)
      throw userError(
        `Received an invalid value for \`units\`, expected a positive integer, got ${JSON.stringify(units)}.`,
      );
    this.inputSpec = { minRank: 2 };
  }

  override build(inputShape: Dims): void {
    const { dtype } = this;
    if (dtype && !dtype.isFloating && !dtype.isComplex)
      throw userError(
        `Unable to build \`Dense\` layer with non-floating point dtype ${dtype}. Wrap the input in tf.cast(…, tf.float32).`,
      );
    const width = inputShape?.at(-1) ?? null;
    if (width === null)
      throw userError(
        'The last dimension of the inputs to `Dense` should be defined. Found `None`. Give the placeholder a size there, or use setShape.',
      );
    this.inputSpec = { minRank: 2, axes: { [-1]: width } };
    this.kernel = this.addWeight('kernel', [width, this.units], kernelWeight(this.options));
    this.addBias(this.units);
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: Dims): Dims {
    if (inputShape === null) return null;
    if (inputShape.length < 2 || inputShape.at(-1) == null)
      throw userError(
        `The innermost dimension of the input shape of \`Dense\` must be defined, but saw: ${showTuple(inputShape)}`,
      );
    return [...inputShape.slice(0, -1), this.units];
  }

  override call(inputs: Tensor): Tensor {
    const kernel = this.kernel;
    let outputs: Tensor;
    if (inputs.rank === null || inputs.rank === 2) outputs = MatMul.build({ a: inputs, b: kernel }).product;
    else {
      outputs = tensordot(inputs, kernel, [[inputs.rank - 1], [0]]);
      outputs.setShape([...inputs.shape!.slice(0, -1), this.units]);
    }
    return this.activated(this.biased(outputs));
  }
}

interface DenseArguments extends Omit<DenseOptions, 'dtype' | 'scope'> {
  /** How many features there are behind the layer. */
  readonly units: number;
}

/**
 * A fully connected layer applied to `inputs`. Adds the variables `dense/kernel` and `dense/bias`, and `MatMul` and `BiasAdd`
 * nodes. With a `name` and `reuse: true` it shares the variables of the layer of that name.
 *
 * @example const logits = tf.layers.dense(hidden, 10, { name: 'logits' });
 */
export function dense(inputs: TensorLike, ...given: Placed<DenseArguments, ['units']>): Tensor {
  const { units, ...options } = byName<DenseArguments>('tf.layers.dense', given, 'units');
  return new Dense(units, { ...options, scope: options.name }).apply(inputs);
}
