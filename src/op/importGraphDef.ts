/** @file importGraphDef: a GraphDef from a file or another program becomes part of the default graph. */

import { InvalidArgumentError } from '../core/errors.ts';
import { type ImportOptions, type InputMapping, importInto } from '../graph/import.ts';
import { Operation } from '../graph/operation.ts';
import { onlyOptions } from '../graph/options.ts';
import { nameScope } from '../graph/scopes.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import type { GraphDef } from '../proto/graph.ts';
import { convertToTensor } from './convert.ts';

/**
 * Adds the nodes of a GraphDef to the default graph, under the prefix `name`. Gives the `returnElements`, in order. When anything
 * is wrong with the message nothing is added.
 *
 * @example
 * const [y] = tf.importGraphDef(tf.GraphDef.decode(bytes), { inputMap: { 'x:0': images }, returnElements: ['y:0'] });
 */
export function importGraphDef(
  graphDef: GraphDef,
  options: ImportOptions<TensorLike | InputMapping> = {},
): (Operation | Tensor)[] {
  onlyOptions('tf.importGraphDef', options, 'inputMap', 'returnElements', 'name');
  if (!Array.isArray(graphDef?.node))
    throw userError('graphDef must be a GraphDef. Of bytes, tf.GraphDef.decode(bytes) makes one.');
  return importInto(graphDef, options, (value) => {
    if (value instanceof Tensor || value instanceof Operation) return value;
    if (typeof value === 'object' && 'op' in value && value.op instanceof Operation && !('toTensor' in value))
      return { op: value.op };
    if (options.name === '')
      throw new InvalidArgumentError(
        'importGraphDef requires a non-empty `name` if `inputMap` contains values that are not tensors. Try tf.convertToTensor on them first.',
      );
    return nameScope('_inputs', () => convertToTensor(value as TensorLike)); // the other kinds were handled above
  });
}
