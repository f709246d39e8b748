/** @file Files found once and kept in a variable. */

import { onlyOptions } from '../graph/options.ts';
import { nameScope } from '../graph/scopes.ts';
import type { TensorLike } from '../graph/tensor.ts';
import { matchingFiles } from '../ops/files/wholeFiles.ts';
import { GraphKeys } from './collections.ts';
import { Variable } from './variable.ts';

/**
 * A local variable whose first value are the names of the files that match a pattern: looked for when it is initialized
 * (`tf.localVariablesInitializer`) and not again. Adds a `MatchingFiles` node and a variable.
 */
export function matchFilenamesOnce(
  pattern: TensorLike,
  options: { readonly name?: string | undefined } = {},
): Variable {
  const { name } = onlyOptions('tf.train.matchFilenamesOnce', options, 'name');
  return nameScope(name ?? 'matching_filenames', (scope) => {
    const collections = [GraphKeys.LOCAL_VARIABLES];
    return new Variable(matchingFiles(pattern), { name: scope, trainable: false, validateShape: false, collections });
  });
}
