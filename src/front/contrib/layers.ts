/** @file `tf.contrib.layers`: layers whose variables are called `weights` and `biases` and count as model variables. */

import { nameScope } from '../../graph/graph.ts';
import { checkOptions, type OptionNames, onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { relu } from '../../ops/nn/index.ts';
import { addToCollections, GraphKeys } from '../collections.ts';
import { zerosInitializer } from '../initializers.ts';
import type { Activation } from '../layers/biasedLayer.ts';
import { Dense } from '../layers/dense.ts';
import { Dropout } from '../layers/dropout.ts';
import { flatten as flattenLayer } from '../layers/flatten.ts';
import type { Variable } from '../variable.ts';
import { type VariableScope, variableScope } from '../variableScope.ts';
import type { CustomGetter, Reuse, VariableInitializer } from '../variableStore.ts';
import { xavierInitializer } from './initializers.ts';
import type { WeightsRegularizer } from './regularizers.ts';

type Collections = string | readonly string[];

export interface FullyConnectedOptions {
  /** Applied to the result: `tf.nn.relu` unless given, nothing for `null`. */
  readonly activationFn?: Activation | null | undefined;
  /** Applied before the activation, in place of biases. */
  readonly normalizerFn?: Activation | null | undefined;
  readonly weightsInitializer?: VariableInitializer | undefined;
  readonly weightsRegularizer?: WeightsRegularizer | undefined;
  /** Zeros unless given; `null` for no biases. */
  readonly biasesInitializer?: VariableInitializer | null | undefined;
  readonly biasesRegularizer?: WeightsRegularizer | undefined;
  readonly reuse?: Reuse | undefined;
  /** Collections for the variables: one list for all, or one list per `weights` and `biases`. */
  readonly variablesCollections?: Collections | Readonly<Record<string, Collections>> | undefined;
  readonly outputsCollections?: Collections | undefined;
  readonly trainable?: boolean | undefined;
  readonly scope?: string | VariableScope | undefined;
}

const fullyConnectedNames: OptionNames<FullyConnectedOptions> = {
  activationFn: true,
  normalizerFn: true,
  weightsInitializer: true,
  weightsRegularizer: true,
  biasesInitializer: true,
  biasesRegularizer: true,
  reuse: true,
  variablesCollections: true,
  outputsCollections: true,
  trainable: true,
  scope: true,
};

/** Variables under contrib's names, added to the collection of model variables. */
function modelVariables(rename: Readonly<Record<string, string>>): CustomGetter {
  return (getter, name, options) => {
    const parts = name.split('/');
    const last = parts.pop()!;
    const collections = [...(options.collections ?? []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES];
    return getter([...parts, rename[last] ?? last].join('/'), { ...options, collections });
  };
}

function scopeOf<T>(
  scope: string | VariableScope | undefined,
  defaultName: string,
  options: { reuse?: Reuse | undefined; customGetter: CustomGetter },
  body: (scope: VariableScope) => T,
): T {
  return scope === undefined
    ? variableScope(null, { ...options, defaultName }, body)
    : variableScope(scope, options, body);
}

function collect(
  variable: Variable | undefined,
  given: FullyConnectedOptions['variablesCollections'],
  key: string,
): void {
  if (!variable || given === undefined) return;
  const collections =
    typeof given === 'string' || Array.isArray(given) ? given : (given as Record<string, Collections>)[key]; // not a list
  if (collections !== undefined) addToCollections(collections as Collections, variable); // strings, as declared
}

function output(outputs: Tensor, collections: Collections | undefined): Tensor {
  if (collections !== undefined) addToCollections(collections, outputs);
  return outputs;
}

/**
 * `relu(inputs * weights + biases)`. Adds the variables `fully_connected/weights` and `fully_connected/biases`.
 *
 * @example const h = tf.contrib.layers.fullyConnected(x, 100, { weightsRegularizer: tf.contrib.layers.l2Regularizer(1e-4) });
 */
export function fullyConnected(inputs: TensorLike, numOutputs: number, options: FullyConnectedOptions = {}): Tensor {
  checkOptions('tf.contrib.layers.fullyConnected', options, fullyConnectedNames);
  const { normalizerFn, activationFn = relu, biasesInitializer = zerosInitializer(), reuse } = options;
  const customGetter = modelVariables({ kernel: 'weights', bias: 'biases' });
  return scopeOf(options.scope, 'fully_connected', { reuse, customGetter }, (scope) => {
    const x = convertToTensor(inputs);
    const layer = new Dense(numOutputs, {
      useBias: !normalizerFn && biasesInitializer !== null,
      kernelInitializer: options.weightsInitializer ?? xavierInitializer(),
      biasInitializer: biasesInitializer ?? undefined,
      kernelRegularizer: options.weightsRegularizer,
      biasRegularizer: options.biasesRegularizer,
      trainable: options.trainable,
      name: scope.name,
      dtype: x.dtype,
      scope,
      reuse,
    });
    let outputs = layer.apply(x);
    collect(layer.kernel, options.variablesCollections, 'weights');
    collect(layer.bias, options.variablesCollections, 'biases');
    if (normalizerFn) outputs = normalizerFn(outputs);
    if (activationFn) outputs = activationFn(outputs);
    return output(outputs, options.outputsCollections);
  });
}

/** As `fullyConnected`, without an activation. */
export function linear(inputs: TensorLike, numOutputs: number, options: FullyConnectedOptions = {}): Tensor {
  return fullyConnected(inputs, numOutputs, { ...options, activationFn: null });
}

/**
 * All axes but the first made one. Adds a `Reshape` node under `Flatten/`.
 *
 * @example tf.contrib.layers.flatten(tf.zeros([2, 3, 4])).shape // [2, 12]
 */
export function flatten(
  inputs: TensorLike,
  options: { readonly outputsCollections?: Collections | undefined; readonly scope?: string | undefined } = {},
): Tensor {
  onlyOptions('tf.contrib.layers.flatten', options, 'outputsCollections', 'scope');
  return nameScope(options.scope ?? 'Flatten', () =>
    output(flattenLayer(convertToTensor(inputs)), options.outputsCollections),
  );
}

export interface ContribDropoutOptions {
  /** The probability with which an element is kept; 0.5 unless given. */
  readonly keepProb?: TensorLike | undefined;
  readonly noiseShape?: readonly (number | null)[] | undefined;
  /** True unless given; a boolean tensor is looked at in each run. */
  readonly isTraining?: boolean | Tensor | undefined;
  readonly outputsCollections?: Collections | undefined;
  readonly scope?: string | undefined;
  readonly seed?: number | undefined;
}
const dropoutNames: OptionNames<ContribDropoutOptions> = {
  keepProb: true,
  noiseShape: true,
  isTraining: true,
  outputsCollections: true,
  scope: true,
  seed: true,
};

/**
 * Keeps elements with probability `keepProb` and scales them up, while training. Adds nodes under `Dropout/`.
 *
 * @example const h2 = tf.contrib.layers.dropout(h1, { keepProb: 0.8, isTraining });
 */
export function dropout(inputs: TensorLike, options: ContribDropoutOptions = {}): Tensor {
  checkOptions('tf.contrib.layers.dropout', options, dropoutNames);
  const { keepProb = 0.5, noiseShape, seed, isTraining = true } = options;
  return scopeOf(options.scope, 'Dropout', { customGetter: modelVariables({}) }, (scope) => {
    const x = convertToTensor(inputs);
    const rate = typeof keepProb === 'number' ? 1 - keepProb : convertToTensor(keepProb).neg().add(1);
    const layer = new Dropout(rate, { noiseShape, seed, name: scope.name, scope });
    return output(layer.apply(x, { training: isTraining }), options.outputsCollections);
  });
}
