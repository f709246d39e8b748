/** @file Options of datasets: said for a whole pipeline, and asked for. */
import { string } from '../../core/dtypes.ts';
import { NDArray } from '../../core/ndarray.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { datasetIn, type Iteration, someOf } from './dataset.ts';
import { asked, datasetOp, elementAttrs, metadata, question } from './kit.ts';

/** Field 1 of tf.data.Options, which comes first: whether elements come in their order. */
const keepsOrder = (options: Uint8Array): boolean | undefined =>
  options.length >= 2 && options[0] === 8 ? options[1] !== 0 : undefined;

export const OptionsDataset = datasetOp({
  name: 'OptionsDataset',
  inputs: { input_dataset: 'variant' },
  attrs: { serialized_options: attr('string'), ...elementAttrs, metadata },
  batches: 'ofInput',
  make({ input_dataset }, _, __, { rawAttrs }) {
    const input = datasetIn(input_dataset);
    const options = rawAttrs['serialized_options']?.s ?? new Uint8Array(0); // bytes, whatever text they would make
    const order = keepsOrder(options);
    const iterate = (scope: Iteration) => {
      if (order !== undefined) scope.keepsOrder = order;
      return input.iterate(scope);
    };
    return someOf('Options', input, () => input.cardinality, iterate, { options });
  },
});

export const GetOptions = defineOp({
  ...question,
  name: 'GetOptions',
  outputs: { serialized_options: 'string' },
  attrs: {},
  shape: () => ({ serialized_options: [] }),
  lower: (p, { input_dataset }) => ({
    serialized_options: asked(p, input_dataset, string, ({ options }) => new NDArray(string, [], [options])),
  }),
});
