/** @file What the layers of `tf.contrib.layers` share: model variables, scopes, collections. */
import type { Tensor } from '../../graph/tensor.ts';
import { addToCollections, GraphKeys } from '../collections.ts';
import { zerosInitializer } from '../initializers.ts';
import type { Activation, KernelOptions } from '../layers/biasedLayer.ts';
import type { Variable } from '../variable.ts';
import { type VariableScope, type VariableScopeOptions, variableScope } from '../variableScope.ts';
import type { CustomGetter, Reuse, VariableInitializer } from '../variableStore.ts';
import { xavierInitializer } from './initializers.ts';
import type { WeightsRegularizer } from './regularizers.ts';

export type Collections = string | readonly string[];
/** One list of collections for all variables, or one for each of them by its name. */
export type VariablesCollections = Collections | Readonly<Record<string, Collections>>;

/** What most layers can be told. */
export interface ModelOptions {
  readonly reuse?: Reuse | undefined;
  readonly variablesCollections?: VariablesCollections | undefined;
  readonly outputsCollections?: Collections | undefined;
  readonly trainable?: boolean | undefined;
  readonly scope?: string | VariableScope | undefined;
}
export const modelNames = {
  reuse: true,
  variablesCollections: true,
  outputsCollections: true,
  trainable: true,
  scope: true,
} as const;

/** What layers with weights and biases can be told. */
export interface WeightedOptions extends ModelOptions {
  /** Applied to the result: `tf.nn.relu` unless given, nothing for `null`. */
  readonly activationFn?: Activation | null | undefined;
  /** Applied before the activation, in place of biases; it gets `normalizerParams` as its options. */
  readonly normalizerFn?: ((x: Tensor, params?: never) => Tensor) | null | undefined;
  readonly normalizerParams?: object | undefined;
  readonly weightsInitializer?: VariableInitializer | undefined;
  readonly weightsRegularizer?: WeightsRegularizer | undefined;
  /** Zeros unless given; `null` for no biases. */
  readonly biasesInitializer?: VariableInitializer | null | undefined;
  readonly biasesRegularizer?: WeightsRegularizer | undefined;
}
export const weightedNames = {
  ...modelNames,
  activationFn: true,
  normalizerFn: true,
  normalizerParams: true,
  weightsInitializer: true,
  weightsRegularizer: true,
  biasesInitializer: true,
  biasesRegularizer: true,
} as const;

/** What the layers of `tf.layers` that have a kernel are told. */
export function kernelOptions(options: WeightedOptions, scope: VariableScope, x: Tensor): KernelOptions {
  const { biasesInitializer = zerosInitializer() } = options;
  return {
    useBias: !options.normalizerFn && biasesInitializer !== null,
    kernelInitializer: options.weightsInitializer ?? xavierInitializer(),
    biasInitializer: biasesInitializer ?? undefined,
    kernelRegularizer: options.weightsRegularizer,
    biasRegularizer: options.biasesRegularizer,
    trainable: options.trainable,
    name: scope.name,
    dtype: x.dtype,
    scope,
    reuse: options.reuse,
  };
}

/** Variables under contrib's names, added to the collection of model variables. */
export function modelVariables(rename: Readonly<Record<string, string>> = {}): CustomGetter {
  return (getter, name, options) => {
    const parts = name.split('/');
    const last = parts.pop()!;
    const collections = [...(options.collections ?? []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES];
    return getter([...parts, rename[last] ?? last].join('/'), { ...options, collections });
  };
}

/** Runs `body` in the scope given, or in a new one. */
export function scopeOf<T>(
  { scope, reuse }: { readonly scope?: string | VariableScope | undefined; readonly reuse?: Reuse | undefined },
  defaultName: string,
  customGetter: CustomGetter,
  body: (scope: VariableScope) => T,
): T {
  const options: VariableScopeOptions = { reuse, customGetter };
  return scope === undefined
    ? variableScope(null, { ...options, defaultName }, body)
    : variableScope(scope, options, body);
}

/** Adds a variable to the collections that the caller named for it. */
export function collect(variable: Variable | undefined, given: VariablesCollections | undefined, key: string): void {
  if (!variable || given === undefined) return;
  const collections = isCollections(given) ? given : given[key];
  if (collections !== undefined) addToCollections(collections, variable);
}
const isCollections = (given: VariablesCollections): given is Collections =>
  typeof given === 'string' || Array.isArray(given);

/** Adds a result to the collections that the caller named for it. */
export function output(outputs: Tensor, collections: Collections | undefined): Tensor {
  if (collections !== undefined) addToCollections(collections, outputs);
  return outputs;
}

/** Normalization, then activation. */
export function finished(outputs: Tensor, options: WeightedOptions, defaultActivation: Activation): Tensor {
  const { normalizerFn, normalizerParams, activationFn = defaultActivation } = options;
  const normalized = normalizerFn ? normalizerFn(outputs, normalizerParams as never) : outputs; // the caller gives what it takes
  return output(activationFn ? activationFn(normalized) : normalized, options.outputsCollections);
}
