/** @file makeTemplate: a function that makes its variables at the first call and shares them at every later one. */
import { onlyOptions } from '../graph/options.ts';
import { userError } from '../graph/userError.ts';
import { type VariableScope, variableScope } from './variableScope.ts';
import type { CustomGetter } from './variableStore.ts';
import { trainableVariables } from './variables.ts';

export interface TemplateOptions {
  /** Opens the variable scope at once instead of at the first call. */
  readonly createScopeNow?: boolean | undefined;
  /** A name that must not be made unique. */
  readonly uniqueName?: string | undefined;
  readonly customGetter?: CustomGetter | undefined;
}

/**
 * `body` with variables of its own: made at the first call, shared afterwards.
 *
 * @example
 * const layer = tf.makeTemplate('layer', (x: tf.Tensor) => tf.matmul(x, tf.getVariable('w', [2, 2])));
 * layer(a); layer(b); // one variable, 'layer/w'
 */
export function makeTemplate<A extends unknown[], R>(
  name: string,
  body: (...args: A) => R,
  options: TemplateOptions = {},
): (...args: A) => R {
  onlyOptions('tf.makeTemplate', options, 'createScopeNow', 'uniqueName', 'customGetter');
  const { createScopeNow = false, uniqueName = null, customGetter } = options;
  const opening = { defaultName: name, customGetter };
  let scope: VariableScope | undefined = createScopeNow
    ? variableScope(uniqueName, { ...opening, auxiliaryNameScope: false }, (made) => made)
    : undefined;
  let called = false;
  return (...args) => {
    if (!scope)
      return variableScope(uniqueName, opening, (made) => {
        scope = made;
        called = true;
        return body(...args);
      });
    if (!called) {
      called = true;
      return variableScope(scope, () => body(...args));
    }
    return variableScope(scope, { reuse: true }, () => {
      const before = trainableVariables().length;
      const result = body(...args);
      const made = trainableVariables().slice(before);
      if (made.length > 0)
        throw userError(
          `New trainable variables created when calling a template after the first time, perhaps you used tf.Variable when you meant tf.getVariable: ${made.map(String)}`,
        );
      return result;
    });
  };
}
