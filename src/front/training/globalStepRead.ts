/** @file The tensor through which hooks read the global step. */
import { getDefaultGraph } from '../../graph/graph.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { plus } from '../../ops/math/operators.ts';
import { BaseVariable } from '../baseVariable.ts';
import { addToCollection, getCollection } from '../collections.ts';
import { cond } from '../controlFlow/cond.ts';
import { getGlobalStep } from '../globalStep.ts';
import { isVariableInitialized } from '../variables.ts';

const collection = 'global_step_read_op_cache';

/**
 * The global step as a tensor of its own, made once for each graph: a copy, so that it is what it was when it was read, and the
 * initial value where the variable has none yet. `owner` is who complains when there is no global step.
 */
export function globalStepRead(owner: string): Tensor {
  const [known] = getCollection<Tensor>(collection);
  if (known) return known;
  const step = getGlobalStep(getDefaultGraph());
  if (!step) throw userError(`Global step should be created to use ${owner}.`);
  const read = nameScope(null, () =>
    nameScope(`${step.op.name}/`, () => {
      const value =
        step instanceof BaseVariable
          ? cond(
              isVariableInitialized(step),
              () => step.readValue(),
              () => step.initialValue,
            )
          : step;
      return plus(value, 0);
    }),
  );
  addToCollection(collection, read);
  return read;
}
