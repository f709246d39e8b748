/** @file Which argument of a function a resource inside it came in by. */
import { InvalidArgumentError } from '../../core/errors.ts';
import type { FuncGraph } from '../../graph/funcGraph.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { handedOn } from '../../op/handles.ts';
import { branchesOf, isIf } from './branches.ts';

/** The argument of `graph` that a resource inside it is, handed on through loops and branches. */
export function inputBehind(handle: Tensor, graph: FuncGraph): Tensor {
  let at = handle;
  while (!graph.inputs.includes(at)) {
    const { op, index } = at;
    const taken = handedOn(at);
    if (taken) at = taken;
    else if (isIf(op)) {
      const inner = branchesOf(op).map((branch) => branch.inputs.indexOf(inputBehind(branch.outputs[index]!, branch)));
      if (new Set(inner).size > 1)
        throw new InvalidArgumentError(
          `the branches of '${op.name}' give different resources, so no gradient can pass`,
        );
      at = op.inputs[inner[0]! + 1]!;
    } else
      throw new InvalidArgumentError(
        `the gradient of a function that makes a resource inside (${op.type} '${op.name}') is not supported; make it outside`,
      );
  }
  return at;
}
