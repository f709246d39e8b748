/** @file Datasets of the names of files that match patterns. */
import { string } from '../../core/dtypes.ts';
import { InvalidArgumentError, NotFoundError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { matchingPaths } from '../../io/glob.ts';
import { Dataset, type ElementIterator, type Pulled, unknown } from './dataset.ts';
import { textsOf } from './files.ts';
import { datasetOp } from './kit.ts';
import { type Saved, savedNumber } from './saved.ts';

/** Looks for files when the first name is asked for. */
class MatchesIterator implements ElementIterator {
  private paths: readonly Uint8Array[] | undefined;
  private position = 0;
  constructor(private readonly patterns: readonly string[]) {}

  next(): Pulled {
    this.paths ??= this.find();
    const path = this.paths[this.position];
    if (!path) return undefined;
    this.position++;
    return [new NDArray(string, [], [path])];
  }

  private find(): Uint8Array[] {
    const paths = this.patterns.flatMap(matchingPaths);
    if (paths.length === 0)
      throw new NotFoundError(`No files matched the patterns ${this.patterns.join(', ')}: no such file or directory`);
    return paths.map((path) => new TextEncoder().encode(path)).sort(Buffer.compare);
  }

  save(): Saved {
    return this.position;
  }
  restore(saved: Saved): void {
    this.position = savedNumber(saved);
  }
}

const matchingOp = (name: string) =>
  datasetOp({
    name,
    inputs: { patterns: 'string' },
    attrs: {},
    stateful: 'repeatable',
    make({ patterns }) {
      if (patterns.rank > 1) throw new InvalidArgumentError('`patterns` must be a scalar or a vector.');
      const texts = textsOf(patterns);
      return new Dataset({
        kind: 'MatchingFiles',
        types: [string],
        shapes: [[]],
        sharesMemory: false,
        cardinality: () => unknown,
        iterate: () => new MatchesIterator(texts),
      });
    },
  });

export const MatchingFilesDataset = matchingOp('MatchingFilesDataset');
export const ExperimentalMatchingFilesDataset = matchingOp('ExperimentalMatchingFilesDataset');
