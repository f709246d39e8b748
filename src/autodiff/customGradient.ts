/** @file customGradient(): a function whose derivative the user writes. */

import { getDefaultGraph } from '../graph/graph.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { findOp, type Gradient } from '../op/registry.ts';
import { identity } from '../ops/array/index.ts';
import { type GradientResult, registerGradient } from './registry.ts';

/** A value and its backward pass: from the gradients of the outputs to those of the arguments. */
export interface WithGradient<V extends Tensor | readonly Tensor[]> {
  readonly value: V;
  grad(...dy: Tensor[]): GradientResult;
}

let made = 0;

/**
 * Wraps a function so that `gradients` uses the `grad` it returns. Adds the nodes of the function, one `Identity` per
 * result, and one `IdentityN` that carries the name of the gradient.
 *
 * @example const clipped = tf.customGradient((x) => ({ value: tf.identity(x), grad: (dy) => tf.clipByValue(dy, -1, 1) }));
 */
export function customGradient<V extends Tensor | readonly Tensor[]>(
  f: (...args: Tensor[]) => WithGradient<V>,
): (...args: TensorLike[]) => V {
  return (...values) => {
    const name = `CustomGradient-${made++}`;
    const args = values.map((x) => convertToTensor(x));
    const { value, grad } = f(...args);
    const isSingle = !Array.isArray(value);
    const results: readonly Tensor[] = isSingle ? [value as Tensor] : (value as readonly Tensor[]); // told apart above
    for (const result of results) identity(result);
    registerGradient(name, (_op, ...dy) => {
      const back = grad(...dy.slice(0, results.length));
      const list = Array.isArray(back) ? (back as readonly (Gradient | null)[]) : [back as Gradient | null]; // told apart here
      if (list.length !== args.length)
        throw userError(
          `the gradient of a customGradient function gave ${list.length} gradients for ${args.length} arguments; give one for each`,
        );
      return [...results.map(() => null), ...list];
    });
    const graph = getDefaultGraph();
    const inputs = [...results, ...args];
    const attrs = findOp('IdentityN').complete({}, inputs);
    const op = graph.gradientOverrideMap({ IdentityN: name }, () =>
      graph.createOp({ type: 'IdentityN', inputs, attrs }),
    );
    const outputs = op.outputs.slice(0, results.length);
    return (isSingle ? outputs[0]! : outputs) as V; // the same structure as `value`
  };
}
