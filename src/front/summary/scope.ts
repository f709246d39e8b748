/** @file The name scopes and tags of summaries. */
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { addToCollection } from '../collections.ts';

/** A name without the characters that node names cannot have. */
export function cleanTag(name: string): string {
  return name.replace(/[^-/\w.\p{L}\p{N}]/gu, '_').replace(/^\/+/, '');
}

/**
 * Calls `body` in a scope for a summary, with its tag. The tag is the scope's whole name, so it is as unique as that; a family
 * stands in the scope's name, and once more before all of it, which decides where TensorBoard shows it.
 */
export function summaryScope(
  name: string,
  family: string | undefined,
  body: (tag: string, scope: string) => Tensor,
): Tensor {
  const cleanName = cleanTag(name);
  const cleanFamily = family === undefined ? undefined : cleanTag(family);
  return nameScope(cleanFamily === undefined ? cleanName : `${cleanFamily}/${cleanName}`, (scope) => {
    const path = scope.replace(/\/+$/, '');
    return body(cleanFamily === undefined ? path : `${cleanFamily}/${path}`, scope);
  });
}

/** Adds a summary to the collections given, or else to the default ones. */
export function collect(summary: Tensor, collections: readonly string[] | undefined, usual: readonly string[]): Tensor {
  for (const key of collections ?? usual) addToCollection(key, summary);
  return summary;
}
