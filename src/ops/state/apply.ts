/** @file The optimizer ops: every rule as a dense and a sparse op, for handles and for references. */
import { int32, int64 } from '../../core/dtypes.ts';
import { InternalError, InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, sameShape, showRuntime, showShape, sizeOf, withRank } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { type AttrSpecs, attr, numbers } from '../../op/attrs.ts';
import type { ShapeCase } from '../../op/cases.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Expr } from '../../program/map.ts';
import type { Value, VariableState } from '../../program/value.ts';
import { applyCases } from './applyCases.ts';
import { changed, type Form, forms, mergeWith, missing, variableOf, variablePort, variableShapeOf } from './forms.ts';
import { type Flags, type UpdateRule, updateRules } from './formulas.ts';

const locking = { use_locking: attr('bool', { default: false }) };
const isGradient = (port: string) => port === 'grad' || port === 'delta';

/** Port types of a rule's op: the variable and its slots, then what the rule lists. */
function portsOf(rule: UpdateRule, form: Form, others: readonly string[]): Record<string, string> {
  const type = (port: string) => (port === 'indices' ? 'Tindices' : port === 'global_step' ? 'int64' : 'T');
  return {
    ...Object.fromEntries(['var', ...rule.slots].map((port) => [port, variablePort(form, 'T')])),
    ...Object.fromEntries(others.map((port) => [port, type(port)])),
  };
}

/** What the variable, its slots and, for a dense op, the gradient agree on; hyperparameters must be scalars. */
function inferShape(rule: UpdateRule, op: Operation, others: readonly string[], dims: Record<string, Dims>): Dims {
  let shape = variableShapeOf(op.inputs[0]!);
  for (const [i, slot] of rule.slots.entries())
    shape = mergeWith('var', shape, slot, variableShapeOf(op.inputs[i + 1]!));
  const sparse = others.includes('indices');
  for (const port of others) {
    const given = dims[port]!;
    if (isGradient(port)) {
      if (!sparse) shape = mergeWith('var', shape, port, given);
      else if (given) {
        const [count] = withRank(dims['indices']!, 1);
        mergeWith('indices', [count!], `the first axis of ${port}`, given.slice(0, 1));
        shape = mergeWith('var', shape, `${port} (but for its first axis)`, [null, ...given.slice(1)]);
      }
    } else if (port !== 'indices' && given !== null && given.length !== 0)
      throw new InvalidArgumentError(
        `Shape must be rank 0 but is rank ${given.length}: ${port} is ${showShape(given)}, but it must be a scalar.`,
      );
  }
  return shape;
}

interface Step {
  readonly rule: UpdateRule;
  readonly flags: Flags;
  readonly variables: readonly VariableState[];
  readonly inputs: Readonly<Record<string, Value>>;
  readonly others: readonly string[];
}

/** Reads the variables and checks the other inputs as TensorFlow's kernels do. */
function prepare(p: ProgramBuilder, step: Step): Value[] {
  const { rule, inputs, others, variables } = step;
  const ports = ['var', ...rule.slots];
  const contents = ports.map((port, i) => p.read(variables[i]!, absent(inputs[port]!, variables[i]!)));
  const { shape } = contents[0]!;
  for (const [i, slot] of rule.slots.entries())
    if (!sameShape(contents[i + 1]!.shape, shape))
      throw new InvalidArgumentError(
        `var and ${slot} do not have the same shape${showRuntime(shape)} ${showRuntime(contents[i + 1]!.shape)}`,
      );
  for (const port of others)
    if (!isGradient(port) && port !== 'indices' && inputs[port]!.shape.length !== 0)
      throw new InvalidArgumentError(`${port} is not a scalar: ${showRuntime(inputs[port]!.shape)}`);
  return contents;
}

/** A handle without a variable behind it is reported by the training kernels in their own words. */
function absent(port: Value, variable: VariableState) {
  return port.variable ? missing(port, variable) : () => new InternalError('Invalid variable reference.');
}

/** One `map` over everything, writing the variable and its slots in place. */
function applyDense(p: ProgramBuilder, step: Step): void {
  const { rule, flags, variables, inputs, others } = step;
  const contents = prepare(p, step);
  const { shape } = contents[0]!;
  for (const port of others)
    if (isGradient(port) && !sameShape(inputs[port]!.shape, shape))
      throw new InvalidArgumentError(
        `var and ${port} do not have the same shape${showRuntime(shape)} ${showRuntime(inputs[port]!.shape)}`,
      );
  const ports = ['var', ...rule.slots];
  const targets = ports.map((port, i) => p.update(variables[i]!, absent(inputs[port]!, variables[i]!)));
  p.mapInto([...contents, ...others.map((port) => inputs[port]!)], bodyOf(rule, flags, others), shape, targets);
}

/** The rule over positional elements; gives the new variable and slots. */
function bodyOf(rule: UpdateRule, flags: Flags, others: readonly string[]) {
  const variables = ['var', ...rule.slots];
  const ports = [...variables, ...others];
  return (...elements: Expr[]): Expr[] => {
    const after = rule.update(Object.fromEntries(ports.map((port, i) => [port, elements[i]!])), flags);
    return variables.map((port) => after[port]!);
  };
}

/**
 * Rows are gathered, updated and scattered back. A row that is named twice must be updated twice, one after the other, so
 * the indices are sorted into rounds on the host; almost always there is one round, for gradients come deduplicated.
 */
function applySparse(p: ProgramBuilder, step: Step): void {
  const { rule, flags, variables, inputs, others } = step;
  const indices = inputs['indices']!;
  const ports = ['var', ...rule.slots];
  const { shape } = p.read(variables[0]!, absent(inputs['var']!, variables[0]!));
  const grad = inputs['grad']!;
  checkRows(shape, indices.shape, grad.shape);
  const count = indices.shape[0]!;
  const [rounds] = p.host([indices], [{ dtype: int32 }], ([array]) => [intoRounds(array!, shape[0]!)]);
  const inner = sizeOf(shape.slice(1));
  const rowsOf = (v: Value) => p.reshape(v, [shape[0]!, inner]);
  const scalarsAndGrad = others.filter((port) => port !== 'indices');
  const values = scalarsAndGrad.map((port) => (port === 'grad' ? p.reshape(grad, [count, inner]) : inputs[port]!));
  const body = bodyOf(rule, flags, scalarsAndGrad);
  for (let round = 0; round < rounds!.shape[0]!; round++) {
    const contents = prepare(p, step);
    const at = p.reshape(p.slice(rounds!, [round, 0], [1, count]), [1, count, 1]);
    const rows = contents.map((v) =>
      p.reshape(p.gather(p.reshape(v, [1, 1, shape[0]!, inner]), at, { bounds: 'zero' }), [count, inner]),
    );
    const fresh = p.mapAll([...rows, ...values], body, [count, inner]);
    for (const [i, port] of ports.entries()) {
      const target = p.update(variables[i]!, absent(inputs[port]!, variables[i]!));
      p.scatter('update', rowsOf(target), p.reshape(at, [count, 1]), fresh[i]!, { bounds: 'dropNegative' });
    }
  }
}

function checkRows(shape: Shape, indices: Shape, grad: Shape): void {
  if (shape.length === 0) throw new InvalidArgumentError('var must be at least 1 dimensional');
  if (indices.length !== 1) throw new InvalidArgumentError('indices must be one-dimensional');
  for (let axis = 1; axis < shape.length; axis++)
    if (shape[axis] !== grad[axis]) throw new InvalidArgumentError(`var and grad must match in dimension ${axis}`);
  if (grad[0] !== indices[0])
    throw new InvalidArgumentError('grad must be the same size as indices in the first dimension.');
}

/** A row per occurrence of the most frequent index: round r keeps the r-th occurrence of each and has -1 elsewhere. */
function intoRounds(indices: NDArray, rows: number): NDArray {
  const seen = new Map<number, number>();
  const rounds: number[][] = [];
  for (let k = 0; k < indices.size; k++) {
    const index = indices.numberAt(k);
    if (index < 0 || index >= rows)
      throw new InvalidArgumentError(`Index ${index} at offset ${k} in indices is out of range`);
    const round = seen.get(index) ?? 0;
    seen.set(index, round + 1);
    rounds[round] ??= new Array<number>(indices.size).fill(-1);
    rounds[round][k] = index;
  }
  return fromElements(int32, [rounds.length, indices.size], rounds.flat());
}

function defineUpdate(rule: UpdateRule, form: Form, listed: string): void {
  const others = listed.split(' ');
  const sparse = others.includes('indices');
  const attrs: AttrSpecs = {
    T: numbers,
    ...(sparse ? { Tindices: attr('type', { allowed: [int32, int64] }) } : {}),
    ...locking,
    ...rule.attrs,
  };
  const ports = ['var', ...rule.slots];
  const inputs = portsOf(rule, form, others);
  defineOp({
    name: `${form === 'resource' ? 'Resource' : ''}${sparse ? 'Sparse' : ''}Apply${rule.name}`,
    inputs,
    outputs: form === 'resource' ? {} : { out: 'Ref(T)' },
    attrs,
    stateful: form === 'resource',
    hostInputs: form === 'resource' ? ports : [],
    shape: (dims, _, { op }) => {
      const shape = inferShape(rule, op, others, dims as Record<string, Dims>); // no list ports
      return form === 'resource' ? {} : { out: shape };
    },
    grad: notDifferentiable,
    lower: (p, given, flags) => {
      const values = given as Record<string, Value>; // no list ports
      const variables = ports.map((port) => variableOf(p, values[port]!));
      (sparse ? applySparse : applyDense)(p, { rule, flags, variables, inputs: values, others });
      return changed(p, form, 'out', variables[0]!);
    },
    cases: () => [shapeCase(rule, form, others), ...(applyCases[rule.name]?.[sparse ? 'sparse' : 'dense'] ?? [])],
  });
}

/** Variables of shape [4, ?], a gradient that says the rest, and scalars. */
function shapeCase(rule: UpdateRule, form: Form, others: readonly string[]): ShapeCase {
  const variable = form === 'resource' ? '[]' : '[4, ?]';
  const rows = others.includes('indices') ? '[2, 3]' : '[4, 3]';
  const inputs = [
    ...['var', ...rule.slots].map(() => variable),
    ...others.map((port) => (isGradient(port) ? rows : port === 'indices' ? '[2]' : '[]')),
  ];
  return { shape: `${inputs.join(', ')} ->${form === 'resource' ? '' : ' [4, 3]'}` };
}

for (const rule of updateRules)
  for (const form of forms) {
    if (form === 'reference' && rule.reference === false) continue;
    if (rule.dense !== undefined) defineUpdate(rule, form, rule.dense);
    if (rule.sparse !== undefined) defineUpdate(rule, form, rule.sparse);
  }
