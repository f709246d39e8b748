/** @file What layers share that add a bias to what they compute, and apply a function to it. */
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { biasAdd } from '../../ops/nn/biasAdd.ts';
import { zerosInitializer } from '../initializers.ts';
import type { Constraint, Variable } from '../variable.ts';
import type { Regularizer, VariableInitializer } from '../variableStore.ts';
import { Layer, type LayerOptions, layerOptionNames, type WeightOptions } from './layer.ts';

/** A function applied to what a layer computes. */
export type Activation = (x: Tensor) => Tensor;

/** Refuses the name of an activation: types do not hold callers that do not check them. */
export function checkActivation(activation: Activation | null | undefined): void {
  if (activation == null || typeof activation === 'function') return;
  throw userError(`activation must be a function, such as tf.nn.relu, but it is '${String(activation)}'.`);
}

export interface BiasOptions extends LayerOptions {
  /** Applied to the result; nothing unless given. */
  readonly activation?: Activation | null | undefined;
  readonly useBias?: boolean | undefined;
  /** Zeros unless given. */
  readonly biasInitializer?: VariableInitializer | undefined;
  readonly biasRegularizer?: Regularizer | undefined;
  readonly biasConstraint?: Constraint | undefined;
}
export const biasOptionNames = [
  ...layerOptionNames,
  'activation',
  'useBias',
  'biasInitializer',
  'biasRegularizer',
  'biasConstraint',
] as const;

export interface KernelOptions extends BiasOptions {
  /** Glorot's uniform distribution unless given. */
  readonly kernelInitializer?: VariableInitializer | undefined;
  readonly kernelRegularizer?: Regularizer | undefined;
  readonly kernelConstraint?: Constraint | undefined;
}
export const kernelOptionNames = [
  ...biasOptionNames,
  'kernelInitializer',
  'kernelRegularizer',
  'kernelConstraint',
] as const;

/** How the kernel is made. */
export function kernelWeight(options: KernelOptions): WeightOptions {
  return {
    initializer: options.kernelInitializer,
    regularizer: options.kernelRegularizer,
    constraint: options.kernelConstraint,
  };
}

export abstract class BiasedLayer<O extends BiasOptions> extends Layer {
  bias: Variable | undefined;

  constructor(protected readonly options: O) {
    super(options);
    checkActivation(options.activation);
  }

  /** Makes the bias, unless the layer is to have none. */
  protected addBias(size: number): void {
    const { useBias = true, biasInitializer, biasRegularizer, biasConstraint } = this.options;
    if (!useBias) return;
    this.bias = this.addWeight('bias', [size], {
      initializer: biasInitializer ?? zerosInitializer(),
      regularizer: biasRegularizer,
      constraint: biasConstraint,
    });
  }

  protected biased(outputs: Tensor, channelsFirst = false): Tensor {
    return this.bias ? biasAdd(outputs, this.bias, { dataFormat: channelsFirst ? 'NCHW' : 'NHWC' }) : outputs;
  }
  protected activated(outputs: Tensor): Tensor {
    return this.options.activation ? this.options.activation(outputs) : outputs;
  }
}
