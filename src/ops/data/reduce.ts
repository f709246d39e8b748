/** @file Whole datasets as tensors: reduced, their only element, how many elements they have. */
import { int64 } from '../../core/dtypes.ts';
import { CancelledError, FailedPreconditionError, InvalidArgumentError, OutOfRangeError } from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { RunScope } from '../../program/instructions.ts';
import { type Dataset, datasetIn, type Element, type ElementIterator, Iteration } from './dataset.ts';

import { elementResults } from './iteratorOps.ts';
import { argumentTypes, asked, elementAttrs, flag, functionOf, metadata, question, types } from './kit.ts';

/** Goes through a dataset within a run, and stops with it. */
export async function within<T>(
  run: RunScope,
  dataset: Dataset,
  use: (iterator: ElementIterator, scope: Iteration) => Promise<T>,
  scope = new Iteration(),
): Promise<T> {
  const forget = run.stop.whenStopped((reason) => void scope.stop(reason));
  try {
    return await use(dataset.iterate(scope), scope);
  } finally {
    forget();
    await scope.stop(new CancelledError('The dataset is no longer needed.'));
  }
}

export const ReduceDataset = defineOp({
  name: 'ReduceDataset',
  inputs: { input_dataset: 'variant', initial_state: 'Tstate', other_arguments: 'Targuments' },
  outputs: { components: 'output_types' },
  attrs: {
    f: attr('func'),
    Tstate: types,
    Targuments: argumentTypes,
    ...elementAttrs,
    use_inter_op_parallelism: flag(true),
    metadata,
  },
  stateful: 'repeatable',
  shape: (_, { output_shapes }) => ({ components: output_shapes }),
  grad: notDifferentiable,
  lower(p, { input_dataset, initial_state, other_arguments }, attrs) {
    const call = functionOf(p, attrs.f);
    const inputs = [input_dataset, ...initial_state, ...other_arguments];
    const states = initial_state.length;
    return {
      components: p.host(inputs, elementResults(attrs), ([dataset, ...arrays], run) => {
        const fn = call(arrays.slice(states));
        return within(run, datasetIn(dataset!), async (iterator, scope) => {
          const apply = fn(scope);
          let state: Element = arrays.slice(0, states);
          for (;;) {
            run.stop.throwIfStopped();
            const element = await iterator.next();
            if (!element) return state;
            try {
              state = await apply([...state, ...element]);
            } catch (error) {
              // A function may end the reduction this way.
              if (error instanceof OutOfRangeError) return state;
              throw error;
            }
          }
        });
      }),
    };
  },
  cases: () => [],
});

export const DatasetToSingleElement = defineOp({
  name: 'DatasetToSingleElement',
  inputs: { dataset: 'variant' },
  outputs: { components: 'output_types' },
  attrs: { ...elementAttrs, metadata },
  stateful: 'repeatable',
  shape: (_, { output_shapes }) => ({ components: output_shapes }),
  grad: notDifferentiable,
  lower: (p, { dataset }, attrs) => ({
    components: p.host([dataset], elementResults(attrs), ([array], run) =>
      within(run, datasetIn(array!), async (iterator) => {
        const element = await iterator.next();
        if (!element) throw new InvalidArgumentError('Dataset was empty.');
        if (await iterator.next()) throw new InvalidArgumentError('Dataset had more than one element.');
        return element;
      }),
    ),
  }),
  cases: () => [],
});

export const GetElementAtIndex = defineOp({
  name: 'GetElementAtIndex',
  inputs: { dataset: 'variant', index: 'int64' },
  outputs: { components: 'output_types' },
  attrs: elementAttrs,
  shape: (_, { output_shapes }) => ({ components: output_shapes }),
  grad: notDifferentiable,
  lower: (p, { dataset, index }, attrs) => ({
    components: p.host([dataset, index], elementResults(attrs), ([array, position], run) => {
      const source = datasetIn(array!);
      const wanted = checkedPosition(source, position!.numberAt(0));
      const pick = async (iterator: ElementIterator) => {
        for (let i = 0; i < wanted; i++) await iterator.next();
        const element = await iterator.next();
        if (!element) throw new OutOfRangeError(`There are no more than ${wanted} elements.`);
        return element;
      };
      return within(run, source, pick, new Iteration(true));
    }),
  }),
  cases: () => [],
});

/** A position that a dataset can have. */
function checkedPosition({ positionObstacle, cardinality }: Dataset, position: number): number {
  if (positionObstacle !== undefined)
    throw new FailedPreconditionError(`${positionObstacle}, which does not support random access.`);
  if (position < 0 || (cardinality >= 0 && position >= cardinality))
    throw new OutOfRangeError(`Index out of range [0, ${cardinality}):${position}`);
  return position;
}

/** Whether the options (field 1 of CardinalityOptions) allow some work to find the number. */
function allowsWork(options: string): boolean {
  return options === '\b\u0002';
}

const cardinalityOp = (name: string, extra: object) =>
  defineOp({
    ...question,
    name,
    outputs: { cardinality: 'int64' },
    attrs: { ...extra },
    shape: () => ({ cardinality: [] }),
    lower(p, { input_dataset }, attrs) {
      const works = 'cardinality_options' in attrs && allowsWork(String(attrs.cardinality_options));
      const cardinality = asked(p, input_dataset, int64, async (dataset) =>
        scalar(int64, works ? await dataset.count() : dataset.cardinality),
      );
      return { cardinality };
    },
  });

export const DatasetCardinality = cardinalityOp('DatasetCardinality', {
  cardinality_options: attr('string', { default: '' }),
});
export const ExperimentalDatasetCardinality = cardinalityOp('ExperimentalDatasetCardinality', {});
