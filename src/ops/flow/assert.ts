/** @file Assert: fails the run when a condition does not hold, showing some values. */
import { int32, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { summarizeFlat } from './summarize.ts';

export const Assert = defineOp({
  name: 'Assert',
  inputs: { condition: 'bool', data: 'T' },
  outputs: {},
  attrs: { T: attr('list(type)', { minimum: 1 }), summarize: attr('int', { default: 3 }) },
  stateful: 'repeatable',
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

/** Runs `body` only when the condition does not hold; the branches that it takes are built elsewhere. */
type Guard = (condition: Tensor, body: () => Operation) => Operation;
let guard: Guard | undefined;
export function setAssertGuard(given: Guard): void {
  guard = given;
}

/** What is on the host anyway need not be brought there only when it is to be shown. */
const isOnHost = ({ dtype }: Tensor) => dtype === string || dtype === int32;

/**
 * Fails with InvalidArgumentError when `condition` is false, showing `data`. Adds an `Assert` node, in a branch of its own
 * unless the data are strings and int32; make others wait for what is returned with `tf.controlDependencies`.
 *
 * @example tf.Assert(tf.greater(x, 0), ['x must be positive:', x])
 */
export function assert(condition: TensorLike, data: readonly TensorLike[], options: AssertOptions = {}): Operation {
  onlyOptions('tf.Assert', options, 'summarize', 'name');
  return nameScope(options.name ?? 'Assert', () => {
    // Python converts the data twice, once to look at the types; the nodes of the first time stay in the graph.
    const looked = data.map((x) => convertToTensor(x));
    const attrs = options.summarize === undefined ? {} : { summarize: options.summarize };
    if (looked.every(isOnHost) || !guard) return Assert.node({ condition, data }, { name: 'Assert', attrs });
    const holds = convertToTensor(condition, { name: 'Condition' });
    return guard(holds, () => Assert.node({ condition: holds, data }, { name: 'Assert', attrs }));
  });
}
