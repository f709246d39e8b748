/** @file InitializeTableFromDataset: a lookup table whose keys and values are the elements of a dataset. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { LookupTable } from '../lookup/table.ts';
import { objectAt } from '../queue/handles.ts';
import { stackElements } from './batch.ts';
import { datasetIn, type Element } from './dataset.ts';
import { within } from './reduce.ts';

export const InitializeTableFromDataset = defineOp({
  name: 'InitializeTableFromDataset',
  inputs: { table_handle: 'resource', dataset: 'variant' },
  outputs: {},
  attrs: {},
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { table_handle, dataset }) {
    p.host([table_handle, dataset], [], ([handle, array], run) =>
      within(run, datasetIn(array!), async (iterator) => {
        const table = objectAt(handle!, LookupTable);
        const pairs: Element[] = [];
        for (let pair = await iterator.next(); pair; pair = await iterator.next()) {
          run.stop.throwIfStopped();
          if (pair.length !== 2 || pair.some(({ rank }) => rank !== 0))
            throw new InvalidArgumentError('A dataset for a table gives pairs of a scalar key and a scalar value.');
          pairs.push(pair);
        }
        if (pairs.length > 0) {
          const [keys, values] = stackElements(pairs) as [Element[0], Element[0]]; // they are pairs
          table.checkTypes(keys.dtype, values.dtype);
          await table.line.run(() => table.initialize(keys, values));
        }
        return [];
      }),
    );
    return {};
  },
  cases: () => [],
});
