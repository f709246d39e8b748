/** @file customGradient(): a function whose derivative the user writes. */

import { resource } from '../core/dtypes.ts';
import { getDefaultGraph } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { originOf } from '../op/handles.ts';
import type { Gradient } from '../op/registry.ts';
import { IdentityN } from '../ops/array/identity.ts';
import { identity } from '../ops/array/index.ts';
import { handleInfo } from '../ops/state/forms.ts';
import { ReadVariableOp } from '../ops/state/variable.ts';
import { type GradientResult, registerGradient } from './registry.ts';

type Results = Tensor | readonly Tensor[];

/** A value and its backward pass: from the gradients of the outputs to those of the arguments. */
export interface WithGradient<V extends Results> {
  readonly value: V;
  grad(...dy: Tensor[]): GradientResult;
  /** Needed when the function reads variables: their gradients, in the order of the handles it is given. */
  variableGrads?(variables: readonly Tensor[], ...dy: Tensor[]): readonly (Gradient | null)[];
}

/** A value and the gradients of arguments and variables, made together. */
export interface WithBackward<V extends Results> {
  readonly value: V;
  backward(
    dy: readonly Tensor[],
    variables: readonly Tensor[],
  ): { readonly args: readonly (Gradient | null)[]; readonly variables: readonly (Gradient | null)[] };
}

/**
 * Wraps a function so that `gradients` uses the `grad` it returns. Adds the nodes of the function, one `Identity` per
 * result, and one `IdentityN` that carries the name of the gradient.
 *
 * @example const clipped = tf.customGradient((x) => ({ value: tf.identity(x), grad: (dy) => tf.clipByValue(dy, -1, 1) }));
 */
export function customGradient<V extends Results>(
  f: (...args: Tensor[]) => WithGradient<V>,
): (...args: TensorLike[]) => V {
  return withBackward((...args) => {
    const { value, grad, variableGrads } = f(...args);
    if (value === undefined || typeof grad !== 'function')
      throw userError(
        'the function given to customGradient must return { value, grad }: its result, and a function from the gradient of that to those of the arguments.',
      );
    return {
      value,
      backward(dy, variables) {
        if (variables.length > 0 && !variableGrads)
          throw userError(
            `the function given to customGradient reads variables (${variables.map((v) => v.op.name).join(', ')}), so it must also return 'variableGrads', a function of their handles and of the gradients of the results. Pass values as arguments if no gradient is to reach the variables.`,
          );
        const back = grad(...dy);
        const list = Array.isArray(back) ? (back as readonly (Gradient | null)[]) : [back as Gradient | null]; // told apart here
        return { args: list, variables: variableGrads?.(variables, ...dy) ?? [] };
      },
    };
  });
}

let made = 0;

/** What `customGradient` is made of. */
export function withBackward<V extends Results>(
  f: (...args: Tensor[]) => WithBackward<V>,
): (...args: TensorLike[]) => V {
  return (...values) => {
    const name = `CustomGradient-${made++}`;
    const args = values.map((x) => convertToTensor(x));
    const graph = getDefaultGraph();
    const before = graph.operations.length;
    const { value, backward } = f(...args);
    const variables = variablesReadBy(graph.operations.slice(before), args);
    const isSingle = !Array.isArray(value);
    const results: readonly Tensor[] = isSingle ? [value as Tensor] : (value as readonly Tensor[]); // told apart above
    for (const result of results) identity(result);
    registerGradient(name, (_op, ...dy) => {
      const found = backward(dy.slice(0, results.length), variables);
      checkCount(found.args, args.length, 'arguments');
      checkCount(found.variables, variables.length, 'variables');
      return [...results.map(() => null), ...found.args, ...found.variables];
    });
    const inputs = [...results, ...args, ...variables.map(read)];
    const all = graph.gradientOverrideMap({ [IdentityN.name]: name }, () => IdentityN.build({ input: inputs }).output);
    const outputs = all.slice(0, results.length);
    return (isSingle ? outputs[0]! : outputs) as V; // the same structure as `value`
  };
}

function checkCount(found: readonly unknown[], wanted: number, what: string): void {
  if (found.length !== wanted)
    throw userError(
      `the gradient of a customGradient function gave ${found.length} gradients for ${wanted} ${what}; give one for each`,
    );
}

/** Handles of the variables that operations use, other than those given as arguments. */
function variablesReadBy(operations: readonly Operation[], args: readonly Tensor[]): Tensor[] {
  const found = new Set<Tensor>();
  for (const op of operations)
    for (const input of op.inputs)
      if (input.dtype === resource && !args.includes(input) && handleInfo(input)) found.add(originOf(input));
  return [...found].filter((handle) => !operations.includes(handle.op)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function read(handle: Tensor): Tensor {
  return ReadVariableOp.build({ resource: handle }, { attrs: { dtype: handleInfo(handle)!.dtype } }).value;
}
