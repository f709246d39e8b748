/** @file Changing some elements or parts of a variable, found by index vectors: ScatterNdAdd and its kin. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { anyType, attr, numbers } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Combine, Failure } from '../../program/instructions.ts';
import type { Value, VariableState } from '../../program/value.ts';
import { changed, type Form, forms, variableOf, variablePort, variableShapeOf } from './forms.ts';
import { before, combines, contentOf, ints, Tindices, updatesGiven } from './scatterKit.ts';

/** 4 combined with 7, in the ways that there are ops for. */
const elementResults: Readonly<Record<string, number>> = { Add: 11, Sub: -3, Min: 4, Max: 7, Update: 7 };

/** What happens to index vectors that lead outside. */
const policies: Readonly<Record<string, 'error' | 'drop'>> = {
  '': 'error',
  DEFAULT: 'error',
  ERROR: 'error',
  IGNORE: 'drop',
};

/** The last axis of indices addresses the leading axes of the variable; the rest of the shapes must agree. */
function checkElements(params: Dims, indices: Dims, updates: Dims): void {
  const depth = indices?.at(-1);
  if (params === null || indices === null || updates === null || depth == null) return;
  if (depth > params.length)
    throw new InvalidArgumentError(
      `indices address ${depth} axes in their last dimension (${showShape(indices)}), but the variable has shape ${showShape(params)}`,
    );
  const outer = indices.length - 1;
  const agree = (a: Dims, b: Dims) =>
    a!.length === b!.length && a!.every((d, i) => d === null || b![i] === null || d === b![i]);
  if (!agree(indices.slice(0, -1), updates.slice(0, outer)))
    throw new InvalidArgumentError(
      `Dimensions [0,${outer}) of indices[shape=${showRuntime(indices)}] must match dimensions [0,${outer}) of updates[shape=${showRuntime(updates)}]`,
    );
  if (!agree(params.slice(depth), updates.slice(outer)))
    throw new InvalidArgumentError(
      `Dimensions [${depth},${params.length}) of input[shape=${showRuntime(params)}] must match dimensions [${outer},${updates.length}) of updates[shape=${showRuntime(updates)}]`,
    );
}

/** Says which index vector leads outside. */
function explainElement(indices: Value, shape: Shape) {
  const depth = indices.shape.at(-1)!;
  return ({ position, value }: Failure) => {
    const row = Math.floor(position / depth);
    const known = indices.known?.numbers().slice(row * depth, (row + 1) * depth);
    const vector = known ?? Array.from({ length: depth }, (_, i) => (i === position % depth ? value : '?'));
    return new InvalidArgumentError(
      `indices[${row}] = [${vector.join(', ')}] does not index into shape ${showRuntime(shape)}`,
    );
  };
}

function scatterElements(
  p: ProgramBuilder,
  combine: Combine,
  ref: Value,
  indices: Value,
  updates: Value,
  bounds: 'error' | 'drop',
): VariableState {
  const variable = variableOf(p, ref);
  const { target, keep } = contentOf(p, ref, variable);
  checkElements(target.shape, indices.shape, updates.shape);
  const depth = indices.shape.at(-1)!;
  const count = sizeOf(indices.shape.slice(0, -1));
  const inner = sizeOf(target.shape.slice(depth));
  p.scatter(
    combine,
    p.reshape(target, [...target.shape.slice(0, depth), inner]),
    p.reshape(indices, [count, depth]),
    p.reshape(updates, [count, inner]),
    { bounds, explain: explainElement(indices, target.shape) },
  );
  keep();
  return variable;
}

function defineScatterNd(name: string, form: Form): void {
  const { combine, rows } = combines[name]!;
  const isResource = form === 'resource';
  defineOp({
    name: `${isResource ? 'Resource' : ''}ScatterNd${name}`,
    inputs: { ref: variablePort(form, 'T'), indices: 'Tindices', updates: 'T' },
    outputs: isResource ? {} : { output_ref: 'Ref(T)' },
    attrs: {
      T: isResource || combine === 'update' ? anyType : numbers,
      Tindices,
      use_locking: attr('bool', { default: isResource || combine === 'update' }),
      bad_indices_policy: attr('string', { default: '' }),
    },
    stateful: isResource,
    hostInputs: isResource ? ['ref'] : [],
    shape: ({ indices, updates }, _, { op }) => {
      const params = variableShapeOf(op.inputs[0]!);
      checkElements(params, indices, updates);
      return isResource ? {} : { output_ref: params };
    },
    grad: notDifferentiable,
    lower: (p, { ref, indices, updates }, { bad_indices_policy }) => {
      const variable = scatterElements(p, combine, ref, indices, updates, policies[bad_indices_policy] ?? 'error');
      return changed(p, form, 'output_ref', variable);
    },
    cases: () => [
      { shape: isResource ? '[], [2, 1], ? ->' : '[4, 3], [2, 1], ? -> [4, 3]' },
      ...(isResource ? [] : [{ shape: '[4, 3], [2, 1], [2, 4]', rejects: /must match dimensions/ }]),
      {
        given: { ref: before, indices: ints([[2], [0], [2]]), updates: updatesGiven },
        after: { ref: [rows[0], before[1]!, rows[1]] },
      },
      {
        given: { ref: before, indices: ints([[1, 1]]), updates: [7] },
        after: {
          ref: [
            [1, 2],
            [3, elementResults[name]!],
            [5, 6],
          ],
        },
      },
      {
        given: { ref: before, indices: ints([[9]]), updates: [[1, 1]] },
        fails: /indices\[0\] = \[9\] does not index into shape \[3,2\]/,
      },
      {
        given: { ref: before, indices: ints([[9]]), updates: [[1, 1]] },
        attrs: { bad_indices_policy: 'IGNORE' },
        after: { ref: before },
      },
      // The difference of booleans is their exclusive or.
      ...(isResource && combine === 'sub'
        ? [
            {
              given: { ref: [true, false, true], indices: ints([[0], [1]]), updates: [true, true] },
              after: { ref: [false, true, true] },
            },
          ]
        : []),
    ],
  });
}

for (const form of forms) for (const name of Object.keys(elementResults)) defineScatterNd(name, form);
