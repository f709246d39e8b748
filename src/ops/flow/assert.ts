/** @file Assert: fails the run when a condition does not hold, showing some values. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { nameScope } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { summarizeFlat } from './summarize.ts';

export const Assert = defineOp({
  name: 'Assert',
  inputs: { condition: 'bool', data: 'T' },
  outputs: {},
  attrs: { T: attr('list(type)', { minimum: 1 }), summarize: attr('int', { default: 3 }) },
  stateful: true,
  shape({ condition }) {
    if (condition !== null && condition.length !== 0)
      throw new InvalidArgumentError(`Shape must be rank 0 but is rank ${condition.length}`);
    return {};
  },
  grad: notDifferentiable,
  lower(p, { condition, data }, { summarize }) {
    p.host([condition, ...data], [], ([holds, ...values]) => {
      if (holds!.numberAt(0) === 0)
        throw new InvalidArgumentError(
          `assertion failed: ${values.map((v) => `[${summarizeFlat(v, summarize)}]`).join(' ')}`,
        );
      return [];
    });
    return {};
  },
  cases: () => [
    { shape: '[], [2] -> ' },
    { shape: '[2], [2]', rejects: /rank 0/ },
    { given: { condition: true, data: [[1, 2]] }, expect: {} },
    {
      given: {
        condition: false,
        data: [
          [
            [1, 2],
            [3, 4],
          ],
          { dtype: 'int32', value: 5 },
          'text',
        ],
      },
      fails: /assertion failed: \[\[1 2\]\[3\.\.\.\]\.\.\.\] \[5\] \[text\]/,
    },
  ],
});

export interface AssertOptions {
  /** How many entries of each tensor to show; 3 by default, all when negative. */
  readonly summarize?: number | undefined;
  readonly name?: string | undefined;
}

/**
 * Fails with InvalidArgumentError when `condition` is false, showing `data`. Adds an `Assert` node; make others wait for it with
 * `tf.controlDependencies`.
 *
 * @example tf.Assert(tf.greater(x, 0), ['x must be positive:', x])
 */
export function assert(condition: TensorLike, data: readonly TensorLike[], options: AssertOptions = {}): Operation {
  onlyOptions('tf.Assert', options, 'summarize', 'name');
  return nameScope(options.name ?? 'Assert', () => {
    // Python converts the data twice, once to look at the types; the nodes of the first time stay in the graph.
    for (const x of data) if (!isSymbolic(x)) convertToTensor(x);
    return Assert.node(
      { condition, data },
      { name: 'Assert', attrs: options.summarize === undefined ? {} : { summarize: options.summarize } },
    );
  });
}
