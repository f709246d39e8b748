/** @file Changing some rows or elements of a variable: Scatter* by row, ScatterNd* by full or partial index. */
import { int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Nested } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { type AttrSpec, anyType, attr, numbers, numberTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { explainIndex } from '../../program/explain.ts';
import type { Combine, Failure } from '../../program/instructions.ts';
import type { Value, VariableState } from '../../program/value.ts';
import { changed, type Form, forms, missing, variableOf, variablePort, variableShapeOf } from './forms.ts';

/** The ways of combining, by the name they have in ops, with what becomes of rows 0 and 2 in the examples below. */
const combines: Readonly<Record<string, { combine: Combine; rows: readonly [number[], number[]] }>> = {
  Add: {
    combine: 'add',
    rows: [
      [4, 4],
      [11, 12],
    ],
  },
  Sub: {
    combine: 'sub',
    rows: [
      [-2, 0],
      [-1, 0],
    ],
  },
  Mul: {
    combine: 'mul',
    rows: [
      [3, 4],
      [40, 30],
    ],
  },
  Div: {
    combine: 'div',
    rows: [
      [1 / 3, 1],
      [0.625, 1.2],
    ],
  },
  Min: {
    combine: 'min',
    rows: [
      [1, 2],
      [2, 1],
    ],
  },
  Max: {
    combine: 'max',
    rows: [
      [3, 2],
      [5, 6],
    ],
  },
  Update: {
    combine: 'update',
    rows: [
      [3, 2],
      [4, 5],
    ],
  },
};

const before = [
  [1, 2],
  [3, 4],
  [5, 6],
];
const updatesGiven = [
  [2, 1],
  [3, 2],
  [4, 5],
];
/** 2 combined with 2, and 4 with 7. */
const scalarResults: Readonly<Record<string, number>> = { Add: 4, Sub: 0, Mul: 4, Div: 1, Min: 2, Max: 2, Update: 2 };
const elementResults: Readonly<Record<string, number>> = { Add: 11, Sub: -3, Min: 4, Max: 7, Update: 7 };
const ints = (value: Nested) => ({ dtype: 'int32' as const, value });

const Tindices = attr('type', { allowed: [int32, int64] });
const halfToInt64 = ['float16', 'bfloat16', 'float32', 'float64', 'int32', 'int64'];
const ordered = attr('type', { allowed: numberTypes.filter((t) => halfToInt64.includes(t.name)) });

/** Updates must be one row per index, or a single value for all of them. */
function checkRows(params: Dims, indices: Dims, updates: Dims): void {
  if (params === null || indices === null || updates === null || updates.length === 0) return;
  const wanted = [...indices, ...params.slice(1)];
  if (wanted.length !== updates.length || wanted.some((d, i) => d !== null && updates[i] !== null && d !== updates[i]))
    throw new InvalidArgumentError(
      `Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape ${showRuntime(updates)}, indices.shape ${showRuntime(indices)}, params.shape ${showRuntime(params)}`,
    );
}

/** The content of a variable to scatter into, and what makes the change last: strings are not in the variable's memory. */
function contentOf(p: ProgramBuilder, port: Value, variable: VariableState): { target: Value; keep: () => void } {
  if (!variable.dtype.isObject) return { target: p.update(variable, missing(port, variable)), keep: () => {} };
  const target = p.copy(p.read(variable, missing(port, variable)));
  return { target, keep: () => p.assign(variable, target) };
}

function scatterRows(p: ProgramBuilder, combine: Combine, port: Value, indices: Value, updates: Value) {
  const variable = variableOf(p, port);
  const { target, keep } = contentOf(p, port, variable);
  checkRows(target.shape, indices.shape, updates.shape);
  const count = sizeOf(indices.shape);
  const rows = target.shape[0]!;
  const inner = sizeOf(target.shape.slice(1));
  const all = p.broadcast(updates, [...indices.shape, ...target.shape.slice(1)]);
  p.scatter(combine, p.reshape(target, [rows, inner]), p.reshape(indices, [count, 1]), p.reshape(all, [count, inner]), {
    explain: explainIndex(indices.shape, rows),
  });
  keep();
  return variable;
}

function defineScatter(name: string, form: Form): void {
  const { combine, rows } = combines[name]!;
  const isResource = form === 'resource';
  const type = isResource ? 'dtype' : 'T';
  const port = isResource ? 'resource' : 'ref';
  const anyElement = combine === 'update';
  const elements = anyElement ? anyType : !isResource && (name === 'Min' || name === 'Max') ? ordered : numbers;
  const attrs: Record<string, AttrSpec> = { [type]: elements, Tindices };
  if (!isResource) attrs['use_locking'] = attr('bool', { default: anyElement });
  defineOp({
    name: `${isResource ? 'Resource' : ''}Scatter${name}`,
    inputs: { [port]: variablePort(form, type), indices: 'Tindices', updates: type },
    outputs: isResource ? {} : { output_ref: 'Ref(T)' },
    attrs,
    stateful: isResource,
    hostInputs: isResource ? [port] : [],
    shape: (dims, _, { op }) => {
      const params = variableShapeOf(op.inputs[0]!);
      checkRows(params, dims['indices'] as Dims, dims['updates'] as Dims); // single ports
      return isResource ? {} : { output_ref: params };
    },
    grad: notDifferentiable,
    lower: (p, given) => {
      const inputs = given as Record<string, Value>; // single ports
      const variable = scatterRows(p, combine, inputs[port]!, inputs['indices']!, inputs['updates']!);
      return changed(p, form, 'output_ref', variable);
    },
    cases: () => [
      { shape: isResource ? '[], [2, ?], ? ->' : '[4, 3], [2, ?], ? -> [4, 3]' },
      ...(isResource ? [] : [{ shape: '[4, 3], [2], [2, 4]', rejects: /Must have updates.shape = indices.shape/ }]),
      {
        given: { [port]: before, indices: ints([2, 0, 2]), updates: updatesGiven },
        after: { [port]: [rows[0], before[1]!, rows[1]] },
      },
      ...(anyElement
        ? [{ given: { [port]: ['a', 'b'], indices: ints([1]), updates: ['c'] }, after: { [port]: ['a', 'c'] } }]
        : []),
      {
        given: { [port]: [1, 2, 3], indices: ints([[1]]), updates: 2 },
        after: { [port]: [1, scalarResults[name]!, 3] },
      },
      {
        given: {
          [port]: before,
          indices: ints([0, 7]),
          updates: [
            [1, 1],
            [1, 1],
          ],
        },
        fails: /indices\[1\] = 7 is not in \[0, 3\)/,
      },
    ],
  });
}

// By index vectors.
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
        { bounds: policies[bad_indices_policy] ?? 'error', explain: explainElement(indices, target.shape) },
      );
      keep();
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

for (const form of forms)
  for (const name of Object.keys(combines)) {
    defineScatter(name, form);
    if (name !== 'Mul' && name !== 'Div') defineScatterNd(name, form);
  }
