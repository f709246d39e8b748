/** @file `tf.contrib.layers`: layers whose variables are called `weights` and `biases` and count as model variables. */

import { float32, int32, int64 } from '../../core/dtypes.ts';
import { checkOptions, type OptionNames, onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { oneHot } from '../../ops/array/index.ts';
import { cast, reduceSum, sqrt, square } from '../../ops/math/index.ts';
import { over, plus } from '../../ops/math/operators.ts';
import { elu as eluOf, relu6 as relu6Of, relu as reluOf } from '../../ops/nn/index.ts';
import { Dense } from '../layers/dense.ts';
import { Dropout } from '../layers/dropout.ts';
import { flatten as flattenLayer } from '../layers/flatten.ts';
import { variableScope } from '../variableScope.ts';
import { addArgScope } from './argScope.ts';
import {
  type Collections,
  collect,
  finished,
  kernelOptions,
  modelVariables,
  output,
  scopeOf,
  type WeightedOptions,
  weightedNames,
} from './model.ts';

export type FullyConnectedOptions = WeightedOptions;

/**
 * `relu(inputs * weights + biases)`. Adds the variables `fully_connected/weights` and `fully_connected/biases`.
 *
 * @example const h = tf.contrib.layers.fullyConnected(x, 100, { weightsRegularizer: tf.contrib.layers.l2Regularizer(1e-4) });
 */
export const fullyConnected = addArgScope(function fullyConnected(
  inputs: TensorLike,
  numOutputs: number,
  options: FullyConnectedOptions = {},
): Tensor {
  checkOptions('tf.contrib.layers.fullyConnected', options, weightedNames);
  return scopeOf(options, 'fully_connected', modelVariables({ kernel: 'weights', bias: 'biases' }), (scope) => {
    const x = convertToTensor(inputs);
    const layer = new Dense(numOutputs, kernelOptions(options, scope, x));
    const outputs = layer.apply(x);
    collect(layer.kernel, options.variablesCollections, 'weights');
    collect(layer.bias, options.variablesCollections, 'biases');
    return finished(outputs, options, reluOf);
  });
});

/** As `fullyConnected`, without an activation. */
export function linear(inputs: TensorLike, numOutputs: number, options: FullyConnectedOptions = {}): Tensor {
  return fullyConnected(inputs, numOutputs, { ...options, activationFn: null });
}
/** As `fullyConnected`. */
export function relu(inputs: TensorLike, numOutputs: number, options: FullyConnectedOptions = {}): Tensor {
  return fullyConnected(inputs, numOutputs, { ...options, activationFn: reluOf });
}
/** As `fullyConnected`, with `tf.nn.elu`. */
export function elu(inputs: TensorLike, numOutputs: number, options: FullyConnectedOptions = {}): Tensor {
  return fullyConnected(inputs, numOutputs, { ...options, activationFn: eluOf });
}
/** As `fullyConnected`, cut off at 6. */
export function relu6(inputs: TensorLike, numOutputs: number, options: FullyConnectedOptions = {}): Tensor {
  return fullyConnected(inputs, numOutputs, { ...options, activationFn: relu6Of });
}

/**
 * All axes but the first made one. Adds a `Reshape` node under `Flatten/`.
 *
 * @example tf.contrib.layers.flatten(tf.zeros([2, 3, 4])).shape // [2, 12]
 */
export const flatten = addArgScope(function flatten(
  inputs: TensorLike,
  options: { readonly outputsCollections?: Collections | undefined; readonly scope?: string | undefined } = {},
): Tensor {
  onlyOptions('tf.contrib.layers.flatten', options, 'outputsCollections', 'scope');
  return nameScope(options.scope ?? 'Flatten', () =>
    output(flattenLayer(convertToTensor(inputs)), options.outputsCollections),
  );
});

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
export const dropout = addArgScope(function dropout(inputs: TensorLike, options: ContribDropoutOptions = {}): Tensor {
  checkOptions('tf.contrib.layers.dropout', options, dropoutNames);
  const { keepProb = 0.5, noiseShape, seed, isTraining = true } = options;
  return scopeOf(options, 'Dropout', modelVariables(), (scope) => {
    const x = convertToTensor(inputs);
    const rate = typeof keepProb === 'number' ? 1 - keepProb : convertToTensor(keepProb).neg().add(1);
    const layer = new Dropout(rate, { noiseShape, seed, name: scope.name, scope });
    return output(layer.apply(x, { training: isTraining }), options.outputsCollections);
  });
});

export interface OneHotEncodingOptions {
  readonly onValue?: TensorLike | undefined;
  readonly offValue?: TensorLike | undefined;
  readonly outputsCollections?: Collections | undefined;
  readonly scope?: string | undefined;
}

/**
 * Class numbers as rows with a 1 in the place of the class. Adds a `OneHot` node under `OneHotEncoding/`.
 *
 * @example tf.contrib.layers.oneHotEncoding([2, 0], 3) // runs to [[0. 0. 1.] [1. 0. 0.]]
 */
export const oneHotEncoding = addArgScope(function oneHotEncoding(
  labels: TensorLike,
  numClasses: TensorLike,
  options: OneHotEncodingOptions = {},
): Tensor {
  const {
    onValue = 1,
    offValue = 0,
    outputsCollections,
    scope,
  } = onlyOptions('tf.contrib.layers.oneHotEncoding', options, 'onValue', 'offValue', 'outputsCollections', 'scope');
  return nameScope(scope ?? 'OneHotEncoding', () => {
    const given = convertToTensor(labels);
    const wide = given.dtype === int32 ? cast(given, int64) : given;
    const [on, off] = [onValue, offValue].map((value) => convertToTensor(value, { hint: float32 }));
    return output(oneHot(wide, numClasses, { onValue: on!, offValue: off! }), outputsCollections);
  });
});

/**
 * Vectors along `dim` scaled to length 1. Adds nodes under `UnitNorm/`.
 *
 * @example tf.contrib.layers.unitNorm(tf.constant([[3, 4.5]]), 1) // runs to [[0.5547002  0.83205026]]
 */
export const unitNorm = addArgScope(function unitNorm(
  inputs: TensorLike,
  dim: number,
  options: { readonly epsilon?: number | undefined; readonly scope?: string | undefined } = {},
): Tensor {
  const { epsilon = 1e-7, scope } = onlyOptions('tf.contrib.layers.unitNorm', options, 'epsilon', 'scope');
  return variableScope(scope ?? null, { defaultName: 'UnitNorm' }, () => {
    const x = convertToTensor(inputs);
    const rank = x.rank;
    if (rank === null) throw userError('The input rank must be known.');
    if (dim < 0 || dim >= rank)
      throw userError(`dim must be positive but smaller than the input rank, ${rank}: ${dim}`);
    return over(x, sqrt(plus(epsilon, reduceSum(square(x), [dim], { keepdims: true }))));
  });
});

/** A layer: takes what another gave, its own arguments, and options that can name its scope. */
type LayerFunction = (inputs: Tensor, ...rest: never[]) => Tensor;
type ArgumentsOf<L> = L extends (...args: infer P) => unknown
  ? Required<P> extends readonly [unknown, ...infer A, unknown]
    ? Readonly<A>
    : never
  : never;
type OptionsOf<L> = L extends (...args: infer P) => unknown
  ? Required<P> extends readonly [...unknown[], infer O]
    ? O
    : never
  : never;

/** Applies a layer again and again, in scopes that are numbered. */
function chain(
  inputs: TensorLike,
  layer: LayerFunction,
  each: readonly (readonly unknown[])[],
  defaultName: string,
  options: { readonly scope?: unknown },
): Tensor {
  const { scope } = options;
  if (scope !== undefined && typeof scope !== 'string') throw userError('the scope of several layers is a name.');
  const apply = layer as (...args: unknown[]) => Tensor; // the arguments have the types that the layer's parameters have
  return variableScope(scope ?? null, { defaultName }, () => {
    const base = scope ?? layer.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return each.reduce<Tensor>(
      (x, args, i) => apply(x, ...args, { ...options, scope: `${base}_${i + 1}` }),
      convertToTensor(inputs),
    );
  });
}

/**
 * The same layer so many times, each on what the one before gave, under `Repeat/` or the scope given.
 *
 * @example tf.contrib.layers.repeat(images, 3, tf.contrib.layers.conv2d, [64, [3, 3]], { scope: 'conv1' })
 */
export function repeat<L extends LayerFunction>(
  inputs: TensorLike,
  repetitions: number,
  layer: L,
  args: ArgumentsOf<L>,
  options?: OptionsOf<L>,
): Tensor {
  return chain(inputs, layer, new Array<typeof args>(repetitions).fill(args), 'Repeat', options ?? {});
}

/**
 * A layer for each of several lists of arguments, each on what the one before gave, under `Stack/` or the scope given.
 *
 * @example tf.contrib.layers.stack(x, tf.contrib.layers.fullyConnected, [[32], [64], [128]], { scope: 'fc' })
 */
export function stack<L extends LayerFunction>(
  inputs: TensorLike,
  layer: L,
  stackArgs: readonly ArgumentsOf<L>[],
  options?: OptionsOf<L>,
): Tensor {
  return chain(inputs, layer, stackArgs, 'Stack', options ?? {});
}
