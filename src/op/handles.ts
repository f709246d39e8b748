/** @file Where a handle comes from: through identities, function arguments and loops to the operation that made it. */
import type { Tensor } from '../graph/tensor.ts';

/** Ops that hand on what they are given, each output from the input at its position. */
const passing = new Set(['Identity', 'IdentityN', 'While', 'StatelessWhile']);

/** The tensor that a resource or variant was before it was handed on, outside of functions where it came from there. */
export function originOf(handle: Tensor): Tensor {
  let at = handle;
  for (;;) {
    const before = passing.has(at.op.type) ? at.op.inputs[at.index] : at.standsFor;
    if (!before) return at;
    at = before;
  }
}
