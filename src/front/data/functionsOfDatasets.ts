/** @file What tf.compat.v1.data has as functions: iterators of datasets, and what their elements look like. */
import type { Dataset } from './dataset.ts';
import type { Iterator } from './iterator.ts';

/** As `dataset.makeOneShotIterator()`. */
export function makeOneShotIterator<E>(dataset: Dataset<E>): Iterator<E> {
  return dataset.makeOneShotIterator();
}

/** As `dataset.makeInitializableIterator()`. */
export function makeInitializableIterator<E>(
  dataset: Dataset<E>,
  options: { readonly sharedName?: string | undefined } = {},
): Iterator<E> {
  return dataset.makeInitializableIterator(options);
}

/** As `outputTypes` of a dataset or an iterator. */
export function getOutputTypes(of: Dataset | Iterator): unknown {
  return of.outputTypes;
}
/** As `outputShapes` of a dataset or an iterator. */
export function getOutputShapes(of: Dataset | Iterator): unknown {
  return of.outputShapes;
}
/** As `outputClasses` of a dataset or an iterator. */
export function getOutputClasses(of: Dataset | Iterator): unknown {
  return of.outputClasses;
}
