/** @file recomputeGrad: a function that is run again for its gradient, instead of keeping what it computed. */
import { withBackward } from '../../autodiff/customGradient.ts';
import { gradients } from '../../autodiff/gradients.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { identity } from '../../ops/array/identity.ts';
import { getVariableScope, variableScope } from '../variableScope.ts';
import { AUTO_REUSE } from '../variableStore.ts';

/**
 * Wraps a function so that its inner values are not kept for the backward pass: the function is built a second time there,
 * and waits for the gradients of its results. Saves memory, costs time. Variables that it makes must come from `getVariable`.
 *
 * @example const block = tf.recomputeGrad((x) => tf.tanh(tf.matmul(x, weights)));
 */
export function recomputeGrad<V extends Tensor | readonly Tensor[]>(
  f: (...args: Tensor[]) => V,
): (...args: TensorLike[]) => V {
  return (...values) => {
    const scope = getVariableScope();
    const wrapped = withBackward<V>((...args) => ({
      value: f(...args),
      backward(dy, variables) {
        const found = controlDependencies(dy, () => {
          const again = args.map((x) => identity(x));
          const results = variableScope(scope, { reuse: AUTO_REUSE }, () => f(...again));
          return gradients(results, [...again, ...variables], { gradYs: dy });
        });
        return { args: found.slice(0, args.length), variables: found.slice(args.length) };
      },
    }));
    return wrapped(...values);
  };
}
