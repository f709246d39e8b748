/** @file cond: one of two pieces of graph, chosen when the graph runs. */

import { isTrue } from '../../core/truth.ts';
import { FuncGraph, functionName } from '../../graph/funcGraph.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { identity } from '../../ops/array/identity.ts';
import { squeeze } from '../../ops/array/squeeze.ts';
import { setAssertGuard } from '../../ops/flow/assert.ts';
import { buildBranches } from '../../ops/flow/branches.ts';
import { noOp } from '../../ops/flow/noOp.ts';
import { firstDifference, type Like, show, type Tensors } from '../nest.ts';
import { tensorsOf, trace, withTensors } from './trace.ts';

export interface CondOptions {
  readonly name?: string | undefined;
}

/**
 * What `trueFn` gives when `pred` is true, else what `falseFn` gives; both are called once, while building, and only the
 * operations that one of them made are run. Both return the same structure of tensors. Adds one `If` node (`StatelessIf`
 * when neither branch has effects) and an `Identity` per result.
 *
 * @example tf.cond(tf.less(2, 5), () => tf.multiply(2, 17), () => tf.add(5, 23)) // runs to 34
 */
export function cond<const T>(
  pred: TensorLike,
  trueFn: () => T,
  falseFn: () => NoInfer<Like<T>>,
  options: CondOptions = {},
): Tensors<T> {
  const { name } = onlyOptions('tf.cond', options, 'name');
  if (typeof pred === 'boolean')
    throw userError(
      `pred must not be a plain boolean: the graph would never choose. Use an if statement, or tf.smartCond. (${pred} was given)`,
    );
  return branch('cond', name ?? 'cond', pred, ['true', 'false'], [trueFn, falseFn]) as Tensors<T>; // as trueFn returns it
}

/**
 * Like `cond`, but where `pred` is known while building, only that branch is built and its result is given as it is.
 *
 * @example tf.smartCond(true, () => tf.constant(1), () => tf.constant(2)) // the constant 1 itself
 */
export function smartCond<const T>(
  pred: TensorLike,
  trueFn: () => T,
  falseFn: () => NoInfer<Like<T>>,
  options: CondOptions = {},
): Tensors<T> {
  if (typeof trueFn !== 'function' || typeof falseFn !== 'function')
    throw userError('trueFn and falseFn of tf.smartCond must be functions');
  const known = smartConstantValue(pred);
  if (known === undefined) return cond(pred, trueFn, falseFn, options);
  return (known ? trueFn() : falseFn()) as Tensors<T>; // either has the structure of T
}

function smartConstantValue(pred: TensorLike): boolean | undefined {
  if (typeof pred === 'boolean' || pred === 0 || pred === 1) return Boolean(pred);
  if (typeof pred === 'number' || typeof pred === 'string')
    throw userError(`pred must be a tensor, or a boolean, or 1 or 0, but it is ${pred}`);
  const tensor = convertToTensor(pred);
  const value = constantValue(tensor);
  return value && isTrue(value);
}

type Kind = 'cond' | 'switchCase';

/** Builds the branches as functions, and the node that chooses between them. */
export function branch(
  kind: Kind,
  name: string,
  selector: TensorLike,
  labels: readonly string[],
  functions: readonly (() => unknown)[],
): unknown {
  for (const [i, f] of functions.entries())
    if (typeof f !== 'function') throw userError(`${branchName(kind, i)} of tf.${kind} must be a function`);
  return nameScope(name, (scope) => {
    const names = labels.map((label) => functionName(scope, label));
    const choice = kind === 'cond' ? scalar(selector) : convertToTensor(selector, { name: 'branch_index' });
    const structures: unknown[] = [];
    const graphs = functions.map((f, i) => {
      const graph = new FuncGraph(names[i]!);
      const hints = i === 0 ? undefined : tensorsOf(structures[0]).map((t) => t.dtype);
      structures[i] = trace(graph, f, { operationValue: choice, hints, what: `${branchName(kind, i)} of tf.${kind}` });
      return graph;
    });
    checkSameResults(kind, graphs, structures);
    const op = buildBranches(
      kind === 'cond' ? 'If' : 'Case',
      choice,
      graphs,
      graphs.map((graph) => graph.externalCaptures),
      scope,
    );
    return withTensors(
      structures[0],
      op.outputs.map((t) => identity(t)),
    );
  });
}

/** A condition of one element serves as a scalar. */
function scalar(pred: TensorLike): Tensor {
  const tensor = convertToTensor(pred);
  return tensor.shape?.length === 0 ? tensor : squeeze(tensor);
}

const branchName = (kind: Kind, i: number) => (kind === 'cond' ? ['trueFn', 'falseFn'][i]! : `branch ${i}`);

function checkSameResults(kind: Kind, graphs: readonly FuncGraph[], structures: readonly unknown[]): void {
  for (let i = 1; i < graphs.length; i++) {
    let difference = firstDifference(structures[0], structures[i], '', { expandComposites: true });
    const [first, other] = [graphs[0]!.outputs, graphs[i]!.outputs];
    for (const [k, t] of first.entries())
      if (difference === undefined && t.dtype !== other[k]!.dtype)
        difference = `${t} and ${other[k]} have different types`;
    if (difference !== undefined)
      throw userError(
        `${branchName(kind, 0)} and ${branchName(kind, i)} arguments to tf.${kind} must have the same number, type, and overall structure of return values.\n\n${branchName(kind, 0)} output: ${show(structures[0])}\n${branchName(kind, i)} output: ${show(structures[i])}\n\nError details:\n${difference}`,
      );
  }
  if (tensorsOf(structures[0]).length === 0 && !graphs[0]!.ordersEffects)
    throw userError(`${branchName(kind, 0)} of tf.${kind} must return at least one tensor or operation`);
}

setAssertGuard((condition, body) => cond(condition, () => noOp(), body, { name: 'AssertGuard' }).op); // an Identity
