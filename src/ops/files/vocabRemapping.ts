/** @file Ops for matrices whose rows or columns belong to words: loaded by the words of another vocabulary. */
import { readFile } from 'node:fs/promises';
import { float32, int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, showShape, sizeOf } from '../../core/shape.ts';
import { openCheckpoint } from '../../io/checkpointReader.ts';
import { fileError } from '../../io/fileErrors.ts';
import { localPath } from '../../io/paths.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { texts } from './checkpointKit.ts';

async function wordsOf(path: string): Promise<string[]> {
  const content = await readFile(localPath(path), 'latin1').catch((error: unknown) => {
    throw fileError(error, path);
  });
  return vocabularyWords(content);
}

/** One word per line; a line break at the end is no empty word. */
export function vocabularyWords(content: string): string[] {
  const lines = content.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** For each of some words of a new vocabulary, where it is in the old one, or -1. */
export function vocabularyRemapping(
  newWords: readonly string[],
  oldWords: readonly string[],
  { offset, count, oldSize }: { readonly offset: number; readonly count: number; readonly oldSize: number },
): number[] {
  const places = new Map(oldWords.slice(0, oldSize < 0 ? undefined : oldSize).map((word, i) => [word, i]));
  if (offset + count > newWords.length)
    throw new InvalidArgumentError(
      `The new vocabulary has ${newWords.length} words, but ${count} were asked for from word ${offset} on`,
    );
  return newWords.slice(offset, offset + count).map((word) => places.get(word) ?? -1);
}

export const GenerateVocabRemapping = defineOp({
  name: 'GenerateVocabRemapping',
  inputs: { new_vocab_file: 'string', old_vocab_file: 'string' },
  outputs: { remapping: 'int64', num_present: 'int32' },
  attrs: {
    new_vocab_offset: attr('int', { minimum: 0 }),
    num_new_vocab: attr('int', { minimum: 0 }),
    old_vocab_size: attr('int', { minimum: -1, default: -1 }),
  },
  shape: (_, { num_new_vocab }) => ({ remapping: [num_new_vocab], num_present: [] }),
  grad: notDifferentiable,
  lower(p, { new_vocab_file, old_vocab_file }, { new_vocab_offset: offset, num_new_vocab: count, old_vocab_size }) {
    const results = [
      { dtype: int64, shape: [count] },
      { dtype: int32, shape: [] },
    ];
    const [remapping, num_present] = p.host([new_vocab_file, old_vocab_file], results, async ([newFile, oldFile]) => {
      const newWords = await wordsOf(texts(newFile!)[0]!);
      const oldWords = await wordsOf(texts(oldFile!)[0]!);
      const places = vocabularyRemapping(newWords, oldWords, { offset, count, oldSize: old_vocab_size });
      return [
        new NDArray(int64, [count], BigInt64Array.from(places, BigInt)),
        new NDArray(int32, [], Int32Array.of(places.filter((at) => at >= 0).length)),
      ];
    });
    return { remapping: remapping!, num_present: num_present! };
  },
  cases: () => [],
});

function checkVector(name: string, shape: Dims): void {
  if (shape && shape.length !== 1)
    throw new InvalidArgumentError(`The ${name} tensor must be 1-D, but has shape ${showShape(shape)}`);
}

export const LoadAndRemapMatrix = defineOp({
  name: 'LoadAndRemapMatrix',
  inputs: {
    ckpt_path: 'string',
    old_tensor_name: 'string',
    row_remapping: 'int64',
    col_remapping: 'int64',
    initializing_values: 'float32',
  },
  outputs: { output_matrix: 'float32' },
  attrs: {
    num_rows: attr('int', { minimum: 0 }),
    num_cols: attr('int', { minimum: 1 }),
    max_rows_in_memory: attr('int', { default: -1 }),
  },
  stateful: true,
  shape({ row_remapping, col_remapping }, { num_rows, num_cols }) {
    checkVector('row_remapping', row_remapping);
    checkVector('col_remapping', col_remapping);
    return { output_matrix: [num_rows, num_cols] };
  },
  grad: notDifferentiable,
  lower(p, { ckpt_path, old_tensor_name, row_remapping, col_remapping, initializing_values }, { num_rows, num_cols }) {
    checkVector('row_remapping', row_remapping.shape);
    checkVector('col_remapping', col_remapping.shape);
    const inputs = [ckpt_path, old_tensor_name, row_remapping, col_remapping, initializing_values];
    const results = [{ dtype: float32, shape: [num_rows, num_cols] }];
    const [output_matrix] = p.host(inputs, results, async ([path, name, rows, columns, values]) => [
      await remapped(texts(path!)[0]!, texts(name!)[0]!, {
        rows: rows!.numbers(),
        columns: columns!.numbers(),
        values: values!,
        shape: [num_rows, num_cols],
      }),
    ]);
    return { output_matrix: output_matrix! };
  },
  cases: () => [],
});

interface Remapping {
  /** Where each new row, and column if any are given, is in the stored matrix; -1 for new ones. */
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  /** What is taken, in order, where nothing is stored. */
  readonly values: NDArray;
  readonly shape: readonly [number, number];
}

async function remapped(path: string, name: string, { rows, columns, values, shape }: Remapping): Promise<NDArray> {
  const [height, width] = shape;
  if (rows.length !== height)
    throw new InvalidArgumentError(`Size of row_remapping ${rows.length} must equal num_rows ${height}`);
  if (columns.length !== 0 && columns.length !== width)
    throw new InvalidArgumentError(`Provided col_remapping, but its size is ${columns.length}, not num_cols ${width}`);
  for (const [what, list] of [['row', rows], ['column', columns]] as const) // biome-ignore format: a table
    if (new Set(list.filter((at) => at >= 0)).size !== list.filter((at) => at >= 0).length)
      throw new UnimplementedError(`Duplicate mapping for an old ${what} in the ${what}_remapping`);
  const reader = openCheckpoint(path);
  let stored: NDArray;
  try {
    stored = await reader.read(name);
  } finally {
    await reader.close();
  }
  const [oldRows, oldColumns] = stored.shape;
  if (stored.dtype !== float32 || stored.shape.length !== 2 || oldRows === undefined || oldColumns === undefined)
    throw new InvalidArgumentError(
      `Expected a 2-D float tensor ${name}, but it is ${stored.dtype} of rank ${stored.shape.length}`,
    );
  if (columns.length === 0 && oldColumns !== width)
    throw new InvalidArgumentError(`Tensor ${name} has shape of [${oldRows},${oldColumns}] but num_cols is ${width}`);
  const from = stored.data as Float32Array; // checked above
  const fresh = values.data as Float32Array; // the input's type
  const result = new Float32Array(sizeOf(shape));
  let used = 0;
  for (let i = 0; i < height; i++)
    for (let j = 0; j < width; j++) {
      const row = rows[i]!;
      const column = columns.length === 0 ? j : columns[j]!;
      if (row >= oldRows || column >= oldColumns)
        throw new InvalidArgumentError(`The remapping names an element [${row},${column}] that ${name} does not have`);
      if (row >= 0 && column >= 0) result[i * width + j] = from[row * oldColumns + column]!;
      else if (used < fresh.length) result[i * width + j] = fresh[used++]!;
      else
        throw new InvalidArgumentError(
          `initializing_values contained ${fresh.length} elements, but more are missing in ${name}`,
        );
    }
  if (used !== fresh.length)
    throw new InvalidArgumentError(
      `initializing_values contained ${fresh.length} elements, but only ${used} are missing in ${name}`,
    );
  return new NDArray(float32, shape, result);
}
