/** @file Datasets that give the elements of another unchanged: hints for TensorFlow's optimizer, and checks. */
import { FailedPreconditionError, OpError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import {
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  infinite,
  type Pulled,
  someOf,
  soon,
  unknown,
} from './dataset.ts';
import { datasetOp, elementAttrs, flag, handle, scalarHandle, scalarOf } from './kit.ts';
import { Following, type Saved, savedNumber } from './saved.ts';

const int = (value: number) => attr('int', { default: value });
const configs = { ...elementAttrs, optimization_configs: attr('list(string)', { default: [] }) } as const;

/** An op that only hands its input on: what it says matters to an optimizer, which there is none of here. */
const hint = (name: string, inputs: Readonly<Record<string, string>>, attrs: object) =>
  defineOp({
    name,
    inputs: { input_dataset: 'variant', ...inputs },
    outputs: handle,
    attrs: { ...attrs },
    shape: scalarHandle,
    grad: notDifferentiable,
    lower: (_, { input_dataset }) => ({ handle: input_dataset! }),
    cases: () => [],
  });

export const ModelDataset = hint(
  'ModelDataset',
  {},
  { algorithm: int(0), cpu_budget: int(0), ram_budget: int(0), ...elementAttrs },
);
export const OptimizeDataset = hint('OptimizeDataset', { optimizations: 'string' }, configs);
export const OptimizeDatasetV2 = hint(
  'OptimizeDatasetV2',
  { optimizations_enabled: 'string', optimizations_disabled: 'string', optimizations_default: 'string' },
  configs,
);
export const FinalizeDataset = hint('FinalizeDataset', {}, { has_captured_ref: flag(false), ...elementAttrs });
export const RewriteDataset = hint('RewriteDataset', { rewrite_name: 'string' }, elementAttrs);
export const MaxIntraOpParallelismDataset = hint(
  'MaxIntraOpParallelismDataset',
  { max_intra_op_parallelism: 'int64' },
  elementAttrs,
);
export const ExperimentalMaxIntraOpParallelismDataset = hint(
  'ExperimentalMaxIntraOpParallelismDataset',
  { max_intra_op_parallelism: 'int64' },
  elementAttrs,
);
export const PrivateThreadPoolDataset = hint('PrivateThreadPoolDataset', { num_threads: 'int64' }, elementAttrs);
export const ExperimentalPrivateThreadPoolDataset = hint(
  'ExperimentalPrivateThreadPoolDataset',
  { num_threads: 'int64' },
  elementAttrs,
);
export const NonSerializableDataset = hint('NonSerializableDataset', {}, elementAttrs);
export const ExperimentalNonSerializableDataset = hint('ExperimentalNonSerializableDataset', {}, elementAttrs);
export const LatencyStatsDataset = hint('LatencyStatsDataset', { tag: 'string' }, elementAttrs);
export const BytesProducedStatsDataset = hint('BytesProducedStatsDataset', { tag: 'string' }, elementAttrs);
export const AssertNextDataset = hint('AssertNextDataset', { transformations: 'string' }, elementAttrs);
export const ExperimentalAssertNextDataset = hint(
  'ExperimentalAssertNextDataset',
  { transformations: 'string' },
  elementAttrs,
);
export const AssertPrevDataset = hint('AssertPrevDataset', { transformations: 'string' }, elementAttrs);

const wrapper = (name: string) =>
  defineOp({
    name,
    inputs: { input_handle: 'variant' },
    outputs: { output_handle: 'variant' },
    attrs: {},
    shape: () => ({ output_handle: [] }),
    grad: notDifferentiable,
    lower: (_, { input_handle }) => ({ output_handle: input_handle }),
    cases: () => [],
  });
export const WrapDatasetVariant = wrapper('WrapDatasetVariant');
export const UnwrapDatasetVariant = wrapper('UnwrapDatasetVariant');

/** Passes over elements that fail. */
class IgnoringIterator extends Following {
  constructor(
    input: ElementIterator,
    private readonly scope: Iteration,
  ) {
    super(input);
  }
  async next(): Promise<Element | undefined> {
    for (;;) {
      this.scope.check();
      try {
        return await this.input.next();
      } catch (error) {
        if (!(error instanceof OpError)) throw error;
      }
    }
  }
}

const ignoreOp = (name: string) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant' },
    attrs: { ...elementAttrs, log_warning: flag(false) },
    make({ input_dataset }) {
      const input = datasetIn(input_dataset);
      const iterate = (scope: Iteration) => new IgnoringIterator(input.iterate(scope), scope);
      return someOf('IgnoreErrors', input, () => (input.cardinality === infinite ? infinite : unknown), iterate);
    },
  });
export const IgnoreErrorsDataset = ignoreOp('IgnoreErrorsDataset');
export const ExperimentalIgnoreErrorsDataset = ignoreOp('ExperimentalIgnoreErrorsDataset');

const words = (n: number) => (n === infinite ? 'an infinite number of elements' : `${n} element${n === 1 ? '' : 's'}`);

/** Fails when there are more or fewer elements than were promised. */
class CountingIterator extends Following {
  private count = 0;
  constructor(
    input: ElementIterator,
    private readonly expected: number,
  ) {
    super(input);
  }
  next(): Pulled {
    return soon(this.input.next(), (element) => {
      if (element) this.count++;
      else if (this.expected === infinite || this.count < this.expected)
        throw new FailedPreconditionError(
          `Input dataset was expected to contain ${words(this.expected)} but contained only ${words(this.count)}.`,
        );
      if (this.expected !== infinite && this.count > this.expected)
        throw new FailedPreconditionError(
          `Input dataset was expected to contain ${words(this.expected)} but contained at least ${words(this.count)}.`,
        );
      return element;
    });
  }
  protected override state(): Saved {
    return this.count;
  }
  protected override setState(saved: Saved): void {
    this.count = savedNumber(saved);
  }
}

export const AssertCardinalityDataset = datasetOp({
  name: 'AssertCardinalityDataset',
  inputs: { input_dataset: 'variant', cardinality: 'int64' },
  attrs: elementAttrs,
  batches: 'ofInput',
  make(arrays) {
    const input = datasetIn(arrays.input_dataset);
    const expected = scalarOf(arrays.cardinality, 'cardinality');
    const iterate = (scope: Iteration) => new CountingIterator(input.iterate(scope), expected);
    return someOf('AssertCardinality', input, () => expected, iterate);
  },
});

/** Waits before each element. */
class SleepingIterator extends Following {
  constructor(
    input: ElementIterator,
    private readonly scope: Iteration,
    private readonly milliseconds: number,
  ) {
    super(input);
  }
  async next(): Promise<Element | undefined> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, this.milliseconds);
      const forget = this.scope.onStop(done);
      function done() {
        clearTimeout(timer);
        forget();
        resolve();
      }
    });
    this.scope.check();
    return await this.input.next();
  }
}

const sleepOp = (name: string) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant', sleep_microseconds: 'int64' },
    attrs: elementAttrs,
    make({ input_dataset, sleep_microseconds }) {
      const input = datasetIn(input_dataset);
      const time = scalarOf(sleep_microseconds, 'sleep_microseconds') / 1000;
      const iterate = (scope: Iteration) => new SleepingIterator(input.iterate(scope), scope, time);
      return someOf('Sleep', input, () => input.cardinality, iterate);
    },
  });
export const SleepDataset = sleepOp('SleepDataset');
export const ExperimentalSleepDataset = sleepOp('ExperimentalSleepDataset');
