/** @file Changing some rows or elements of a variable: Scatter* by row, ScatterNd* by full or partial index. */
import { int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { type AttrSpec, anyType, attr, numbers, numberTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { explainIndex, type ProgramBuilder } from '../../program/builder.ts';
import type { Combine, Failure } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import { changed, type Form, forms, missing, variableOf, variablePort, variableShapeOf } from './forms.ts';

/** The ways of combining, by the name they have in ops. */
const combines: Readonly<Record<string, Combine>> = {
  Add: 'add',
  Sub: 'sub',
  Mul: 'mul',
  Div: 'div',
  Min: 'min',
  Max: 'max',
  Update: 'update',
};

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

function scatterRows(p: ProgramBuilder, combine: Combine, port: Value, indices: Value, updates: Value) {
  const variable = variableOf(p, port);
  const target = p.update(variable, missing(port, variable));
  checkRows(target.shape, indices.shape, updates.shape);
  const count = sizeOf(indices.shape);
  const rows = target.shape[0]!;
  const inner = sizeOf(target.shape.slice(1));
  const all = p.broadcast(updates, [...indices.shape, ...target.shape.slice(1)]);
  p.scatter(combine, p.reshape(target, [rows, inner]), p.reshape(indices, [count, 1]), p.reshape(all, [count, inner]), {
    explain: explainIndex(indices.shape, rows),
  });
  return variable;
}

function defineScatter(name: string, combine: Combine, form: Form): void {
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
    cases: () => [],
  });
}

// ── by index vectors ─────────────────────────────────────────────────────────────────────────────

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

function defineScatterNd(name: string, combine: Combine, form: Form): void {
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
      const target = p.update(variable, missing(ref, variable));
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
      return changed(p, form, 'output_ref', variable);
    },
    cases: () => [],
  });
}

for (const form of forms)
  for (const [name, combine] of Object.entries(combines)) {
    defineScatter(name, combine, form);
    if (combine !== 'mul' && combine !== 'div') defineScatterNd(name, combine, form);
  }
