/** @file Datasets of the names of files. */
import { int64, string } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { constant } from '../../ops/array/constant.ts';
import { identity } from '../../ops/array/identity.ts';
import { shape } from '../../ops/array/shape.ts';
import { TensorSliceDataset } from '../../ops/data/sources.ts';
import { matchingFiles } from '../../ops/files/wholeFiles.ts';
import { assert } from '../../ops/flow/assert.ts';
import { add } from '../../ops/math/add.ts';
import { greater } from '../../ops/math/compare.ts';
import { maximum } from '../../ops/math/maximum.ts';
import { reduceJoin } from '../../ops/string/join.ts';
import { type DatasetOptions, metadataOf } from './arguments.ts';
import { shuffle } from './arranging.ts';
import { Dataset } from './dataset.ts';
import { TensorComponent } from './spec.ts';

export interface ListFilesOptions extends DatasetOptions {
  /** Whether the names come in a random order; true unless said. */
  readonly shuffle?: boolean | undefined;
  readonly seed?: number | undefined;
}

/** The names of files that match patterns; it is an error when there are none. */
export function listFiles(pattern: TensorLike, options: ListFilesOptions): Dataset<Tensor> {
  const {
    shuffle: isShuffled = true,
    seed,
    name,
  } = onlyOptions('Dataset.listFiles', options, 'shuffle', 'seed', 'name');
  return nameScope('list_files', () => {
    const filePattern = convertToTensor(pattern, { dtype: string, name: 'file_pattern' });
    const matching = matchingFiles(filePattern);
    const condition = greater(shape(matching).slice('0'), 0, { name: 'match_not_empty' });
    const patterns = reduceJoin(filePattern, undefined, { separator: ', ' });
    const message = add('No files matched pattern: ', patterns, { name: 'message' });
    const check = assert(condition, [message], { summarize: 1, name: 'assert_not_empty' });
    const files = controlDependencies([check], () => identity(matching));
    const attrs = { output_shapes: [[]], is_files: true, metadata: metadataOf('listFiles', { name }) };
    const dataset = new Dataset<Tensor>(
      TensorSliceDataset.build({ components: [files] }, { attrs }).handle,
      new TensorComponent(string, []),
    );
    if (!isShuffled) return dataset;
    const size = maximum(shape(files, { outType: int64 }).slice('0'), constant(1, { dtype: int64, name: 'Maximum/y' }));
    return shuffle(dataset, size, { seed, name });
  });
}
