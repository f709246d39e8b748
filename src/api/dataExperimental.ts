/** @file tf.data.experimental: transformations for `dataset.apply`, and other sources of elements. */

export { CsvDataset, type CsvOptions } from '../front/data/csv.ts';
export * from '../front/data/experimental.ts';
export { type CsvBatch, type MakeCsvOptions, makeCsvDataset } from '../front/data/makeCsv.ts';
export { getNextAsOptional, Optional } from '../front/data/optional.ts';
export { parseExampleDataset } from '../front/data/parseExamples.ts';
export { makeSaveableFromIterator } from '../front/data/saveable.ts';
export { denseToSparseBatch } from '../front/data/sparse.ts';
