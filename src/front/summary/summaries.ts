/** @file The functions of `tf.summary` that add nodes. */
import { float32, string } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { AudioSummaryV2 } from '../../ops/summary/audio.ts';
import { HistogramSummary } from '../../ops/summary/histogram.ts';
import { ImageSummary } from '../../ops/summary/image.ts';
import { MergeSummary } from '../../ops/summary/merge.ts';
import { ScalarSummary } from '../../ops/summary/scalar.ts';
import { TensorSummaryV2 } from '../../ops/summary/tensor.ts';
import { SummaryMetadata as SummaryMetadataProto } from '../../proto/event.ts';
import type { NodeDef } from '../../proto/graph.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import { type CamelInit, protoRecord, SummaryDescription } from './messages.ts';
import { cleanTag, collect, summaryScope } from './scope.ts';

export interface SummaryOptions {
  /** Collections that the summary is added to; `[tf.GraphKeys.SUMMARIES]` unless given. */
  readonly collections?: readonly string[] | undefined;
  /** Begins the tag: TensorBoard shows summaries of one family together. */
  readonly family?: string | undefined;
}
export interface OutputsOptions extends SummaryOptions {
  /** How many elements of the batch are shown; 3 unless given. */
  readonly maxOutputs?: number | undefined;
}
export interface TensorSummaryOptions extends SummaryOptions {
  /** A longer text about the data, in Markdown. */
  readonly summaryDescription?: string | undefined;
  readonly summaryMetadata?: CamelInit<SummaryMetadataProto> | undefined;
  readonly displayName?: string | undefined;
}

const usual = [GraphKeys.SUMMARIES];

/**
 * Records a number in each run that asks for it. Adds a `ScalarSummary` node and a constant for its tag.
 *
 * @example tf.summary.scalar('loss', 0.5).name // 'loss:0'
 */
export function scalar(name: string, tensor: TensorLike, options: SummaryOptions = {}): Tensor {
  const { collections, family } = onlyOptions('tf.summary.scalar', options, 'collections', 'family');
  return summaryScope(name, family, (tags, scope) =>
    collect(ScalarSummary.build({ tags, values: tensor }, { name: scope }).summary, collections, usual),
  );
}

/**
 * Records how the elements of a tensor are distributed. Adds a `HistogramSummary` node and a constant for its tag.
 *
 * @example tf.summary.histogram('weights', [0.1, 0.2]).name // 'weights:0'
 */
export function histogram(name: string, values: TensorLike, options: SummaryOptions = {}): Tensor {
  const { collections, family } = onlyOptions('tf.summary.histogram', options, 'collections', 'family');
  return summaryScope(name, family, (tag, scope) =>
    collect(HistogramSummary.build({ tag, values }, { name: scope }).summary, collections, usual),
  );
}

/**
 * Records pictures, `[batch, height, width, 1, 3 or 4]`. Real numbers are scaled, each picture for itself. Adds an
 * `ImageSummary` node and a constant for its tag.
 *
 * @example tf.summary.image('digits', tf.zeros([5, 28, 28, 1]), { maxOutputs: 2 }) // tags 'digits/image/0', 'digits/image/1'
 */
export function image(name: string, tensor: TensorLike, options: OutputsOptions = {}): Tensor {
  const {
    collections,
    family,
    maxOutputs = 3,
  } = onlyOptions('tf.summary.image', options, 'maxOutputs', 'collections', 'family');
  return summaryScope(name, family, (tag, scope) =>
    collect(
      ImageSummary.build({ tag, tensor }, { name: scope, attrs: { max_images: maxOutputs } }).summary,
      collections,
      usual,
    ),
  );
}

/**
 * Records sounds, `[batch, frames]` or `[batch, frames, channels]`, with samples between -1 and 1. Adds an `AudioSummaryV2` node
 * and constants for its tag and sample rate.
 *
 * @example tf.summary.audio('tone', tf.zeros([1, 8000]), 8000, { maxOutputs: 1 }) // the tag is 'tone/audio'
 */
export function audio(name: string, tensor: TensorLike, sampleRate: TensorLike, options: OutputsOptions = {}): Tensor {
  const {
    collections,
    family,
    maxOutputs = 3,
  } = onlyOptions('tf.summary.audio', options, 'maxOutputs', 'collections', 'family');
  return summaryScope(name, family, (tag, scope) => {
    const sample_rate = convertToTensor(sampleRate, { dtype: float32, name: 'sample_rate' });
    const attrs = { max_outputs: maxOutputs };
    return collect(
      AudioSummaryV2.build({ tag, tensor, sample_rate }, { name: scope, attrs }).summary,
      collections,
      usual,
    );
  });
}

/**
 * Records texts, which TensorBoard shows as Markdown. Adds a `TensorSummaryV2` node.
 *
 * @example tf.summary.text('note', tf.constant('**bold**')).name // 'note:0'
 */
export function text(name: string, tensor: Tensor, options: Omit<SummaryOptions, 'family'> = {}): Tensor {
  const { collections } = onlyOptions('tf.summary.text', options, 'collections');
  if (tensor.dtype !== string)
    throw userError(`Expected tensor ${tensor.name} to have dtype string, got ${tensor.dtype}`);
  return tensorSummary(name, tensor, { collections, summaryMetadata: { pluginData: { pluginName: 'text' } } });
}

/**
 * Records a whole tensor, for a plugin that the metadata names. Adds a `TensorSummaryV2` node and constants for its tag and
 * metadata.
 *
 * @example tf.summary.tensorSummary('curve', [1, 2], { displayName: 'A curve' }).name // 'curve:0'
 */
export function tensorSummary(name: string, tensor: TensorLike, options: TensorSummaryOptions = {}): Tensor {
  const { collections, family, summaryDescription, summaryMetadata, displayName } = onlyOptions(
    'tf.summary.tensorSummary',
    options,
    'collections',
    'family',
    'summaryDescription',
    'summaryMetadata',
    'displayName',
  );
  const metadata = {
    ...(summaryMetadata && protoRecord(SummaryMetadataProto, summaryMetadata)),
    ...(summaryDescription !== undefined && { summary_description: summaryDescription }),
    ...(displayName !== undefined && { display_name: displayName }),
  };
  const serialized = SummaryMetadataProto.encode(metadata);
  return summaryScope(name, family, (tag, scope) => {
    const inputs = { tag, tensor, serialized_summary_metadata: serialized };
    return collect(TensorSummaryV2.build(inputs, { name: scope }).summary, collections, usual);
  });
}

export interface MergeOptions {
  /** Collections that the merged summary is added to; none unless given. */
  readonly collections?: readonly string[] | undefined;
  readonly name?: string | undefined;
}

/**
 * Several summaries as one. Adds a `MergeSummary` node.
 *
 * @example tf.summary.merge([tf.summary.scalar('a', 1), tf.summary.scalar('b', 2)]).name // 'Merge/MergeSummary:0'
 */
export function merge(inputs: readonly TensorLike[], options: MergeOptions = {}): Tensor {
  const { collections, name } = onlyOptions('tf.summary.merge', options, 'collections', 'name');
  const clean = name === undefined ? undefined : cleanTag(name);
  return nameScope(clean ?? 'Merge', () =>
    collect(MergeSummary.build({ inputs }, { name: clean }).summary, collections, []),
  );
}

export interface MergeAllOptions {
  /** The collection to merge; `tf.GraphKeys.SUMMARIES` unless given. */
  readonly key?: string | undefined;
  /** Only summaries whose name begins with a match of it. */
  readonly scope?: string | undefined;
  readonly name?: string | undefined;
}

/** All summaries of the default graph as one; `null` when there are none. Adds a `MergeSummary` node. */
export function mergeAll(options: MergeAllOptions = {}): Tensor | null {
  const {
    key = GraphKeys.SUMMARIES,
    scope,
    name,
  } = onlyOptions('tf.summary.mergeAll', options, 'key', 'scope', 'name');
  const summaries = getCollection<Tensor>(key, scope);
  return summaries.length === 0 ? null : merge(summaries, { name });
}

/** What a `TensorSummary` node says about its data. */
export function getSummaryDescription(nodeDef: NodeDef): SummaryDescription {
  if (nodeDef.op !== 'TensorSummary') throw userError(`Can't get_summary_description on ${nodeDef.op}`);
  const json = new TextDecoder().decode(nodeDef.attr.description?.s ?? new Uint8Array(0));
  try {
    const { typeHint, type_hint = typeHint } = JSON.parse(json) as { typeHint?: string; type_hint?: string }; // checked by its use
    return new SummaryDescription({ typeHint: type_hint });
  } catch (cause) {
    throw userError(`The description of '${nodeDef.name}' is not JSON: ${json}`, { cause });
  }
}
