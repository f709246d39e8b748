/** @file Changing some rows of a variable: ScatterAdd and its kin. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showRuntime, sizeOf } from '../../core/shape.ts';
import { type AttrSpec, anyType, attr, numbers, numberTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { explainIndex } from '../../program/explain.ts';
import type { Combine } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import { changed, type Form, forms, variableOf, variablePort, variableShapeOf } from './forms.ts';
import { before, combines, contentOf, ints, Tindices, updatesGiven } from './scatterKit.ts';

/** 2 combined with 2. */
const scalarResults: Readonly<Record<string, number>> = { Add: 4, Sub: 0, Mul: 4, Div: 1, Min: 2, Max: 2, Update: 2 };

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
      checkRows(params, dims['indices']!, dims['updates']!);
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

for (const form of forms) for (const name of Object.keys(combines)) defineScatter(name, form);
