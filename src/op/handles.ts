/** @file Where a handle comes from: through identities, function arguments and loops to the operation that made it. */
import { schemaOf } from '../graph/opSchema.ts';
import type { Tensor } from '../graph/tensor.ts';

/** The input that an operation gives again as this output; undefined when it makes the handle itself. */
export function handedOn({ op, index }: Tensor): Tensor | undefined {
  return schemaOf(op.type, op.graph.functions).handsOn ? op.inputs[index] : undefined;
}

/** The tensor that a resource or variant was before it was handed on, outside of functions where it came from there. */
export function originOf(handle: Tensor): Tensor {
  let at = handle;
  for (;;) {
    const before = handedOn(at) ?? at.standsFor;
    if (!before) return at;
    at = before;
  }
}
