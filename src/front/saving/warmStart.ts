/** @file warmStart: variables begin with values of an earlier model, even where its vocabulary was another one. */
import { readFileSync } from 'node:fs';
import { float32, int64 } from '../../core/dtypes.ts';
import type { Shape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { checkpointAt } from '../../io/checkpointReader.ts';
import { fileError } from '../../io/fileErrors.ts';
import { localPath } from '../../io/paths.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../../ops/array/concat.ts';
import { range } from '../../ops/array/range.ts';
import {
  GenerateVocabRemapping,
  LoadAndRemapMatrix,
  vocabularyRemapping,
  vocabularyWords,
} from '../../ops/files/vocabRemapping.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import { type InitializerFunction, zerosInitializer } from '../initializers.ts';
import { Variable } from '../variable.ts';
import { initFromCheckpoint } from './initFromCheckpoint.ts';

export interface VocabInfoOptions {
  /** The file of the words that the new model knows, one per line. */
  readonly newVocab: string;
  /** How many of them it uses. */
  readonly newVocabSize: number;
  /** How many rows for unknown words come after them. */
  readonly numOovBuckets: number;
  /** The file of the words that the stored model knew. */
  readonly oldVocab: string;
  /** How many of them it used; all unless given. */
  readonly oldVocabSize?: number | undefined;
  /** What new words begin with; zeros unless given. */
  readonly backupInitializer?: InitializerFunction | undefined;
  /** 0 when words are rows, which is usual; 1 when they are columns. */
  readonly axis?: 0 | 1 | undefined;
}

/** Which words the rows or columns of a variable belong to, now and in the stored model. */
export class VocabInfo {
  readonly newVocab: string;
  readonly newVocabSize: number;
  readonly numOovBuckets: number;
  readonly oldVocab: string;
  readonly oldVocabSize: number;
  readonly backupInitializer: InitializerFunction | undefined;
  readonly axis: 0 | 1;

  constructor(options: VocabInfoOptions) {
    this.newVocab = options.newVocab;
    this.newVocabSize = options.newVocabSize;
    this.numOovBuckets = options.numOovBuckets;
    this.oldVocab = options.oldVocab;
    this.oldVocabSize = options.oldVocabSize ?? -1;
    this.backupInitializer = options.backupInitializer;
    this.axis = options.axis ?? 0;
    if (this.axis !== 0 && this.axis !== 1)
      throw userError(`The only supported values for the axis argument are 0 and 1. Provided axis: ${this.axis}`);
  }
}

export interface WarmStartOptions {
  /**
   * Which variables: a regular expression for trainable ones, a list of expressions for all, a list of variables, or null for
   * those with a vocabulary only. All trainable ones unless given.
   */
  readonly varsToWarmStart?: string | readonly string[] | readonly Variable[] | null | undefined;
  /** Vocabularies by the whole name of the variable. */
  readonly varNameToVocabInfo?: Readonly<Record<string, VocabInfo>> | undefined;
  /** Names in the checkpoint, where they are others. */
  readonly varNameToPrevVarName?: Readonly<Record<string, string>> | undefined;
}

const wholeName = (v: Variable) => v.saveSliceInfo?.fullName ?? v.op.name;

function chosen(vars: WarmStartOptions['varsToWarmStart']): Map<string, Variable[]> {
  const list = (): Variable[] => {
    if (vars === null) return getCollection<Variable>(GraphKeys.TRAINABLE_VARIABLES);
    if (vars === undefined || typeof vars === 'string')
      return getCollection<Variable>(GraphKeys.TRAINABLE_VARIABLES, vars ?? '.*');
    return (vars as readonly (string | Variable)[]).flatMap((v) => {
      if (v instanceof Variable) return [v];
      if (typeof v === 'string') return getCollection<Variable>(GraphKeys.GLOBAL_VARIABLES, v);
      throw userError('A list for varsToWarmStart has variables or texts');
    });
  };
  const groups = new Map<string, Variable[]>();
  for (const v of list()) groups.set(wholeName(v), [...(groups.get(wholeName(v)) ?? []), v]);
  return groups;
}

/**
 * Lets variables begin with values of a checkpoint, or of the latest of a folder, by their names.
 *
 * @example tf.train.warmStart('model1', { varsToWarmStart: 'embedding|layer1' });
 */
export function warmStart(checkpoint: string, options: WarmStartOptions = {}): void {
  onlyOptions('tf.train.warmStart', options, 'varsToWarmStart', 'varNameToVocabInfo', 'varNameToPrevVarName');
  const { varNameToVocabInfo: vocabularies = {}, varNameToPrevVarName: previous = {} } = options;
  const groups = chosen(options.varsToWarmStart);
  for (const [what, names] of [
    ['varNameToPrevVarName', Object.keys(previous)],
    ['varNameToVocabInfo', Object.keys(vocabularies)],
  ] as const) {
    const unused = names.filter((name) => !groups.has(name));
    if (unused.length > 0)
      throw userError(
        `You provided the following variables in ${what} that were not used: ${unused.join(', ')}. Perhaps you misspelled them? Here is the list of viable variable names: ${[...groups.keys()].join(', ')}`,
      );
  }
  for (const [name, variables] of groups) {
    const stored = previous[name] ?? name;
    const vocabulary = vocabularies[name];
    if (vocabulary) withVocabulary(variables, checkpoint, stored, vocabulary);
    else if (options.varsToWarmStart !== null)
      initFromCheckpoint(checkpoint, [
        [stored, variables.length === 1 && !variables[0]!.saveSliceInfo ? variables[0]! : variables],
      ]);
  }
}

const readWords = (path: string): string[] => {
  try {
    return vocabularyWords(readFileSync(localPath(path), 'latin1'));
  } catch (error) {
    throw fileError(error, path);
  }
};

function withVocabulary(variables: readonly Variable[], checkpoint: string, stored: string, info: VocabInfo): void {
  const rows = variables.reduce((sum, v) => sum + v.shape![0]!, 0);
  for (const v of variables) {
    const shape = v.shape as Shape; // variables with words have whole shapes
    const offset = v.saveSliceInfo?.varOffset[0] ?? 0;
    const value =
      info.axis === 0
        ? byRows(checkpoint, stored, shape, offset, info)
        : byColumns(checkpoint, stored, shape, offset, rows, info);
    v.initializeFrom(v.assign(value, { readValue: false }), value);
  }
}

function initial(info: VocabInfo, shape: Shape): Tensor {
  return convertToTensor((info.backupInitializer ?? zerosInitializer())(shape, { dtype: float32 }), { dtype: float32 });
}

/** The stored matrix by the words of the new vocabulary; `count` of them from word `offset` on. */
function remapping(info: VocabInfo, offset: number, count: number) {
  const places = vocabularyRemapping(readWords(info.newVocab), readWords(info.oldVocab), {
    offset,
    count,
    oldSize: info.oldVocabSize,
  });
  const { remapping: tensor } = GenerateVocabRemapping.build(
    { new_vocab_file: info.newVocab, old_vocab_file: info.oldVocab },
    { attrs: { new_vocab_offset: offset, num_new_vocab: count, old_vocab_size: info.oldVocabSize } },
  );
  return { tensor, present: places.filter((at) => at >= 0).length };
}

function byRows(checkpoint: string, stored: string, shape: Shape, offset: number, info: VocabInfo): Tensor {
  const [height, width] = shape as [number, number];
  const unknown = Math.min(height, Math.max(0, offset + height - info.newVocabSize));
  const count = height - unknown;
  if (count === 0) return initial(info, shape);
  const { tensor, present } = remapping(info, offset, count);
  const matrix = LoadAndRemapMatrix.build(
    {
      ckpt_path: checkpointAt(checkpoint),
      old_tensor_name: stored,
      row_remapping: tensor,
      col_remapping: new BigInt64Array(0),
      initializing_values: initial(info, [(count - present) * width, 1]),
    },
    { attrs: { num_rows: count, num_cols: width } },
  ).output_matrix;
  return unknown === 0 ? matrix : concat([matrix, initial(info, [unknown, width])], 0);
}

function byColumns(
  checkpoint: string,
  stored: string,
  shape: Shape,
  offset: number,
  rows: number,
  info: VocabInfo,
): Tensor {
  const [height] = shape as [number, number];
  if (offset + height > rows) throw userError(`The slices of ${stored} have more rows than it has`);
  const { tensor, present } = remapping(info, 0, info.newVocabSize);
  const matrix = LoadAndRemapMatrix.build(
    {
      ckpt_path: checkpointAt(checkpoint),
      old_tensor_name: stored,
      row_remapping: range(offset, offset + height, 1, { dtype: int64 }),
      col_remapping: tensor,
      initializing_values: initial(info, [height * (info.newVocabSize - present), 1]),
    },
    { attrs: { num_rows: height, num_cols: info.newVocabSize } },
  ).output_matrix;
  return info.numOovBuckets === 0 ? matrix : concat([matrix, initial(info, [height, info.numOovBuckets])], 1);
}
