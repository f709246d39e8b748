/** @file The position of an iterator as something that a saver saves. */
import { variant } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { DeserializeIterator, SerializeIterator } from '../../ops/data/state.ts';
import type { SaveableObject } from '../saving/saveables.ts';
import type { Iterator } from './iterator.ts';

/** What to do about state outside of the graph, by the numbers that the op takes. */
const policies = { warn: 0, ignore: 1, fail: 2 } as const;

/**
 * An iterator's position, for a saver: restoring it makes an initialized iterator go on from there. Adds
 * `SerializeIterator`.
 *
 * @example new tf.train.Saver({ varList: [...tf.globalVariables(), tf.data.experimental.makeSaveableFromIterator(iterator)] })
 */
export function makeSaveableFromIterator(
  iterator: Iterator,
  options: { readonly externalStatePolicy?: keyof typeof policies } = {},
): SaveableObject {
  const { externalStatePolicy = 'fail' } = onlyOptions('makeSaveableFromIterator', options, 'externalStatePolicy');
  const { resource } = iterator;
  const attrs = { external_state_policy: policies[externalStatePolicy] };
  const { serialized } = SerializeIterator.build({ resource_handle: resource }, { attrs });
  return {
    name: resource.name,
    op: resource,
    specs: [{ name: `${resource.name}-state`, slice: '', dtype: variant, device: '', tensor: serialized }],
    restore: ([state]) => DeserializeIterator.node({ resource_handle: resource, serialized: state! }),
  };
}
