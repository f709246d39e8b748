/** @file case and switchCase: one of several pieces of graph, chosen by the first true condition or by number. */
import { bool, int32 } from '../../core/dtypes.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constant } from '../../ops/array/constant.ts';
import { stack } from '../../ops/array/stack.ts';
import { assert } from '../../ops/flow/assert.ts';
import { cast } from '../../ops/math/cast.ts';
import { lessEqual } from '../../ops/math/compare.ts';
import { reduceSum } from '../../ops/math/reductions.ts';
import type { Like, Tensors } from '../nest.ts';
import { branch } from './cond.ts';

export interface CaseOptions<T> {
  /** What is built when no condition is true; without it, that is an error of the run. */
  readonly default?: (() => Like<T>) | undefined;
  /** True makes it an error of the run when more than one condition is true. */
  readonly exclusive?: boolean | undefined;
  readonly name?: string | undefined;
}

type Pair<T> = readonly [condition: Tensor, build: () => T];

/**
 * What the function of the first true condition gives. Adds nested `If` nodes.
 *
 * @example tf.case([[tf.less(1, 2), () => tf.constant(17)]], { default: () => tf.constant(23) }) // runs to 17
 */
function case_<const T>(
  predFnPairs: readonly Pair<T>[] | ReadonlyMap<Tensor, () => T>,
  options: CaseOptions<T> = {},
): Tensors<T> {
  const { exclusive = false, name } = onlyOptions('tf.case', options, 'default', 'exclusive', 'name');
  const pairs = checkedPairs(predFnPairs);
  return nameScope(name ?? 'case', () => {
    const conditions = pairs.map(([condition]) => condition);
    const last = options.default ?? lastOf(pairs);
    const tested = options.default ? pairs : pairs.slice(0, -1);
    // Conditions are looked at in their order, so the innermost choice is the last.
    const chain = tested.reduceRight<() => unknown>(
      (otherwise, [condition, build]) =>
        () =>
          branch('cond', 'cond', condition, ['true', 'false'], [build, otherwise]),
      last,
    );
    if (!exclusive) return chain() as Tensors<T>; // all functions give the structure of T
    const check = atMost(1, conditions, 'Input error: exclusive=True');
    return controlDependencies([check], () => chain() as Tensors<T>); // as above
  });
}

export { case_ as case };

function checkedPairs<T>(given: readonly Pair<T>[] | ReadonlyMap<Tensor, () => T>): readonly Pair<T>[] {
  const pairs = given instanceof Map ? [...given] : given;
  if (!Array.isArray(pairs) || pairs.length === 0)
    throw userError('tf.case needs pairs of a condition and a function, or a Map from conditions to functions');
  for (const [i, pair] of pairs.entries()) {
    if (!Array.isArray(pair) || pair.length !== 2)
      throw userError(`Each entry of tf.case must be a pair [condition, function], but entry ${i} is ${String(pair)}`);
    const [condition, build]: readonly unknown[] = pair;
    if (!(condition instanceof Tensor)) throw userError(`pred must be a Tensor, got: ${String(condition)}`);
    if (condition.dtype !== bool) throw userError(`pred must be Tensor of type bool: ${condition.name}`);
    if (typeof build !== 'function') throw userError(`fn for pred ${condition.name} must be a function`);
  }
  return pairs;
}

/** The last function in place of a default: its condition must then be true, and no other. */
function lastOf<T>(pairs: readonly Pair<T>[]): () => T {
  const [condition, build] = pairs.at(-1)!;
  const others = pairs.slice(0, -1).map(([c]) => c);
  return () => {
    const all = stack(
      pairs.map(([c]) => c),
      { name: 'preds_c' },
    );
    const message = `Implementation error: selected default action #${pairs.length - 1} was called, but some of other predicates are True: `;
    const checks = [
      atMost(0, others, message),
      assert(condition, ['Input error: None of conditions evaluated as True:', all]),
    ];
    return controlDependencies(checks, build);
  };
}

function atMost(n: number, conditions: readonly Tensor[], message: string): Operation {
  const all = stack(conditions, { name: 'preds_c' });
  const count = reduceSum(cast(all, int32), { name: 'num_true_conds' });
  const holds = lessEqual(count, constant(n, { name: 'n_true_conds' }));
  const names = conditions.map((t) => t.name).join(', ');
  const text = `${message}: more than ${n} conditions (${names}) evaluated as True:`;
  return assert(holds, [text, all], { summarize: conditions.length });
}

type Branches<T> =
  | readonly (() => T)[]
  | readonly (readonly [key: number, build: () => T])[]
  | Readonly<Record<number, () => T>>;

/**
 * What the function of that number gives; for a number without one what `default` gives, or else the last. Adds one `Case`
 * node (`StatelessCase` when no branch has effects).
 *
 * @example tf.switchCase(tf.constant(1), [() => tf.constant(17), () => tf.constant(31)]) // runs to 31
 */
export function switchCase<const T>(
  branchIndex: Tensor,
  branchFns: Branches<T>,
  options: { readonly default?: (() => Like<T>) | undefined; readonly name?: string | undefined } = {},
): Tensors<T> {
  onlyOptions('tf.switchCase', options, 'default', 'name');
  if (!(branchIndex instanceof Tensor)) throw userError(`'branchIndex' must be a Tensor, got ${String(branchIndex)}`);
  if (!branchIndex.dtype.isInteger)
    throw userError(`'branchIndex' must be an integer Tensor, got ${branchIndex.dtype}`);
  const functions: (() => unknown)[] = inOrder(branchFns);
  if (options.default) functions.push(options.default);
  const labels = functions.map((_, i) => `branch${i}`);
  return nameScope(options.name ?? 'switch_case', () =>
    branch('switchCase', 'indexed_case', branchIndex, labels, functions),
  ) as Tensors<T>; // all functions give the structure of T
}

function inOrder<T>(given: Branches<T>): (() => T)[] {
  if (Array.isArray(given) && given.every((x): x is () => T => typeof x === 'function') && given.length > 0)
    return given;
  const pairs: (readonly [number, () => T])[] = Array.isArray(given)
    ? (given as (readonly [number, () => T])[]) // the other kind of list
    : Object.entries(given).map(([key, build]) => [Number(key), build as () => T] as const);
  if (pairs.length === 0) throw userError("Must provide at least one item in 'branchFns'");
  for (const [key, build] of pairs)
    if (typeof build !== 'function') throw userError(`fn for key ${key} must be a function`);
  const keys = pairs.map(([key]) => key).sort((a, b) => a - b);
  if (keys.some((key, i) => key !== i))
    throw userError(
      `branch indices (keys) must form contiguous range of [0 to ${keys.length}) but found {${keys.join(',')}}`,
    );
  return [...pairs].sort(([a], [b]) => a - b).map(([, build]) => build);
}
