/** @file Summaries of tensors and collections, as `tf.contrib.layers` makes them. */
import { bool, float32, string } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { constant } from '../../ops/array/index.ts';
import { cast, greater, less, reduceMean } from '../../ops/math/index.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import { histogram, scalar } from '../summary/summaries.ts';
import type { Variable } from '../variable.ts';

/** What a collection may hold. */
type Summarized = Tensor | Variable;
export type Summarizer = (tensor: Summarized) => Tensor | null;

/** The part of elements for which something holds. */
const partOf = (holds: Tensor): Tensor => reduceMean(cast(holds, float32));

/**
 * A histogram of what a layer gives, called `…/activation`, and for relus how many of its inputs are cut off: `…/zeros` and
 * `…/sixes`.
 *
 * @example tf.contrib.layers.summarizeActivation(hidden);
 */
export function summarizeActivation(activation: Summarized): Tensor {
  const { op } = activation;
  const [input] = op.inputs;
  const bound = (value: number) => constant(value, { dtype: input!.dtype });
  if (['Relu', 'Softplus', 'Relu6'].includes(op.type)) scalar(`${op.name}/zeros`, partOf(less(input!, bound(0))));
  if (op.type === 'Relu6') scalar(`${op.name}/sixes`, partOf(greater(input!, bound(6))));
  return histogram(`${op.name}/activation`, activation);
}

/**
 * A summary of a tensor: its value if it is one number, otherwise a histogram; of text and booleans there is none.
 *
 * @example tf.contrib.layers.summarizeTensor(loss, { tag: 'loss' });
 */
export function summarizeTensor(
  tensor: Summarized,
  options: { readonly tag?: string | undefined } = {},
): Tensor | null {
  const { tag = `${tensor.op.name}_summary` } = onlyOptions('tf.contrib.layers.summarizeTensor', options, 'tag');
  if (tensor.dtype === string || tensor.dtype === bool) return null;
  return tensor.shape?.length === 0 ? scalar(tag, tensor) : histogram(tag, tensor);
}

/** The summaries of several tensors. */
export function summarizeTensors(
  tensors: readonly Summarized[],
  options: { readonly summarizer?: Summarizer | undefined } = {},
): (Tensor | null)[] {
  const { summarizer = (t: Summarized) => summarizeTensor(t) } = onlyOptions('tf.contrib.layers.summarizeTensors', options, 'summarizer'); // biome-ignore format: one call
  return tensors.map((t) => summarizer(t));
}

export interface SummarizeCollectionOptions {
  /** Only what has a name that begins so: text of a regular expression. */
  readonly nameFilter?: string | undefined;
  readonly summarizer?: Summarizer | undefined;
}

/**
 * The summaries of what is in a collection.
 *
 * @example tf.contrib.layers.summarizeCollection(tf.GraphKeys.LOSSES);
 */
export function summarizeCollection(collection: string, options: SummarizeCollectionOptions = {}): (Tensor | null)[] {
  const names = ['nameFilter', 'summarizer'] as const;
  const { nameFilter, summarizer } = onlyOptions('tf.contrib.layers.summarizeCollection', options, ...names);
  const wanted = nameFilter === undefined ? undefined : new RegExp(`^(?:${nameFilter})`);
  const found = getCollection<Summarized>(collection).filter(({ op }) => !wanted || wanted.test(op.name));
  return summarizeTensors(found, { summarizer });
}

/** The summaries of all variables. */
export function summarizeVariables(options: SummarizeCollectionOptions = {}): (Tensor | null)[] {
  return summarizeCollection(GraphKeys.GLOBAL_VARIABLES, options);
}
/** The summaries of `tf.GraphKeys.WEIGHTS`. */
export function summarizeWeights(options: SummarizeCollectionOptions = {}): (Tensor | null)[] {
  return summarizeCollection(GraphKeys.WEIGHTS, options);
}
/** The summaries of `tf.GraphKeys.BIASES`. */
export function summarizeBiases(options: SummarizeCollectionOptions = {}): (Tensor | null)[] {
  return summarizeCollection(GraphKeys.BIASES, options);
}
/** The summaries of `tf.GraphKeys.ACTIVATIONS`, by `summarizeActivation`. */
export function summarizeActivations(options: SummarizeCollectionOptions = {}): (Tensor | null)[] {
  return summarizeCollection(GraphKeys.ACTIVATIONS, { summarizer: summarizeActivation, ...options });
}
