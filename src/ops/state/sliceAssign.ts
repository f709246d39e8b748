/** @file Assigning to a numpy-like slice of a variable. */
import { int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { denseSlice } from '../array/sliceSpec.ts';
import { changed, forms, missing, variableOf, variablePort, variableShapeOf } from './forms.ts';

/** Whether a value of one shape fills another by broadcasting. */
function fills(from: Shape, to: Shape): boolean {
  const lead = to.length - from.length;
  return lead >= 0 && from.every((d, i) => d === 1 || d === to[i + lead]);
}

const matrix = [
  [1, 2, 3],
  [4, 5, 6],
];
const slice = (begin: number[], end: number[], strides = begin.map(() => 1)) => ({
  begin: { dtype: 'int32' as const, value: begin },
  end: { dtype: 'int32' as const, value: end },
  strides: { dtype: 'int32' as const, value: strides },
});

for (const form of forms)
  defineOp({
    name: form === 'resource' ? 'ResourceStridedSliceAssign' : 'StridedSliceAssign',
    inputs: { ref: variablePort(form, 'T'), begin: 'Index', end: 'Index', strides: 'Index', value: 'T' },
    outputs: form === 'resource' ? {} : { output_ref: 'Ref(T)' },
    attrs: {
      T: anyType,
      Index: attr('type', { allowed: [int32, int64] }),
      begin_mask: attr('int', { default: 0 }),
      end_mask: attr('int', { default: 0 }),
      ellipsis_mask: attr('int', { default: 0 }),
      new_axis_mask: attr('int', { default: 0 }),
      shrink_axis_mask: attr('int', { default: 0 }),
    },
    stateful: form === 'resource',
    hostInputs: form === 'resource' ? ['ref', 'begin', 'end', 'strides'] : ['begin', 'end', 'strides'],
    shape: (_, __, { op }) => (form === 'resource' ? {} : { output_ref: variableShapeOf(op.inputs[0]!) }),
    grad: notDifferentiable,
    lower: (p, { ref, begin, end, strides, value }, masks) => {
      const variable = variableOf(p, ref);
      const at = { begin: p.demandInts(begin), end: p.demandInts(end), strides: p.demandInts(strides) };
      const slice = denseSlice(p.read(variable, missing(ref, variable)).shape, at, masks);
      if (!fills(value.shape, slice.shape))
        throw new InvalidArgumentError(
          `Cannot broadcast input shape ${showRuntime(value.shape)} into final shape ${showRuntime(slice.shape)}`,
        );
      const target = p.update(variable, missing(ref, variable));
      const block = p.reshape(p.broadcast(value, slice.shape), slice.size);
      if (sizeOf(slice.size) > 0) p.copyInto(block, p.slice(target, slice.begin, slice.size, slice.step));
      return changed(p, form, 'output_ref', variable);
    },
    cases: () => [
      { shape: form === 'resource' ? '[], [2], [2], [2], ? ->' : '[2, 3], [2], [2], [2], ? -> [2, 3]' },
      {
        given: {
          ref: matrix,
          ...slice([0, 1], [2, 3]),
          value: [
            [7, 8],
            [9, 10],
          ],
        },
        after: {
          ref: [
            [1, 7, 8],
            [4, 9, 10],
          ],
        },
      },
      {
        given: { ref: matrix, ...slice([1, 0], [0, 0], [1, -2]), value: [8, 9] },
        attrs: { shrink_axis_mask: 1, begin_mask: 2, end_mask: 2 },
        after: {
          ref: [
            [1, 2, 3],
            [9, 5, 8],
          ],
        },
      },
      {
        given: { ref: matrix, ...slice([0, 0], [2, 1]), value: 0.5 },
        after: {
          ref: [
            [0.5, 2, 3],
            [0.5, 5, 6],
          ],
        },
      },
      {
        given: { ref: matrix, ...slice([0, 0], [2, 2]), value: [1, 2, 3] },
        fails: /Cannot broadcast input shape \[3\] into final shape \[2,2\]/,
      },
    ],
  });
