/** @file Ops of datasets and iterators: what they give are no values that cases could compare. */
import '../../src/ops/index.ts';
import { registry } from '../../src/op/registry.ts';

const reason =
  'takes or makes a dataset, an iterator or a function, which cases cannot give; tested in test/whole/data';

export const dataGaps: Readonly<Record<string, string>> = Object.fromEntries(
  [...registry.values()]
    .filter(
      ({ name, cases }) =>
        /Dataset|Iterator|MemoryCache|SeedGenerator|CompressElement|UncompressElement|MapDefun|GetElementAtIndex|GetOptions|ComputeBatchSize/.test(
          name,
        ) && cases().length === 0,
    )
    .map(({ name }) => [name, reason]),
);
