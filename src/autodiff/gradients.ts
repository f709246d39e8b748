/** @file gradients(): walks the graph backwards from ys to xs and adds the nodes that compute the derivatives. */

import { type DType, resource, variant } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import { compatible, type Dims, isFullyDefined, showShape } from '../core/shape.ts';
import { withContext } from '../graph/context.ts';
import { FuncGraph } from '../graph/funcGraph.ts';
import { fromOnePlace, getDefaultGraph } from '../graph/graph.ts';
import { IndexedSlices } from '../graph/indexedSlices.ts';
import type { Operation } from '../graph/operation.ts';
import { onlyOptions } from '../graph/options.ts';
import { colocateWith, nameScope } from '../graph/scopes.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import type { Gradient, GradientTools } from '../op/registry.ts';
import { constant, identity, ones, shape, zeros } from '../ops/array/index.ts';
import { tuple } from '../ops/flow/index.ts';
import { zerosLike } from '../ops/math/index.ts';
import { handleInfo } from '../ops/state/forms.ts';
import { VariableShape } from '../ops/state/variable.ts';
import { AggregationMethod, aggregate, checkAggregationMethod } from './aggregate.ts';
import { Between, isTrainable, Paths } from './between.ts';
import { gradientOf } from './registry.ts';

/** What is returned for an x that no y depends on. */
export const UnconnectedGradients = { NONE: 'none', ZERO: 'zero' } as const;
export type UnconnectedGradients = (typeof UnconnectedGradients)[keyof typeof UnconnectedGradients];

/** Something to differentiate with respect to: a tensor, or a variable, which stands for its handle. */
export type GradientSource = Tensor | { readonly handle: Tensor } | { toTensor(options?: { asRef?: boolean }): Tensor };

export interface GradientsOptions {
  /** Gradients received by each y; ones where left out or `null`. */
  readonly gradYs?: TensorLike | IndexedSlices | readonly (TensorLike | IndexedSlices | null)[] | undefined;
  readonly name?: string | undefined;
  /** Place the nodes of a gradient with the operation it belongs to. */
  readonly colocateGradientsWithOps?: boolean | undefined;
  /** Release the gradients of an operation only when all of them are computed. */
  readonly gateGradients?: boolean | undefined;
  readonly aggregationMethod?: AggregationMethod | undefined;
  /** Tensors to be taken as constant. */
  readonly stopGradients?: Tensor | readonly Tensor[] | undefined;
  readonly unconnectedGradients?: UnconnectedGradients | undefined;
}

const asList = <T>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value as T]); // not an array

/**
 * The derivatives of the sum of `ys` with respect to each of `xs`, `null` where nothing connects them. Adds nodes under
 * `gradients/`.
 *
 * @example tf.gradients(tf.square(x), [x])[0] // 2 * x
 */
export function gradients(
  ys: TensorLike | null | undefined | readonly (TensorLike | null | undefined)[],
  xs: GradientSource | readonly GradientSource[],
  options: GradientsOptions = {},
): (Gradient | null)[] {
  onlyOptions(
    'tf.gradients',
    options,
    'gradYs',
    'name',
    'colocateGradientsWithOps',
    'gateGradients',
    'aggregationMethod',
    'stopGradients',
    'unconnectedGradients',
  );
  const stopped = options.stopGradients === undefined ? [] : asList(options.stopGradients);
  const unconnected = options.unconnectedGradients ?? UnconnectedGradients.NONE;
  if (unconnected !== 'none' && unconnected !== 'zero')
    throw userError(`Unknown value for unconnectedGradients: '${unconnected}'. Write 'none' or 'zero'.`);
  const method = checkAggregationMethod(options.aggregationMethod ?? AggregationMethod.DEFAULT);
  const colocate = options.colocateGradientsWithOps ?? false;
  const given = asList(ys).map((y, i) => {
    if (y != null) return y;
    throw userError(
      `ys[${i}] is null: there is nothing to differentiate. tf.gradients gives null where no path leads from ys to xs.`,
    );
  });
  return fromOnePlace(() => {
    const grads = new GradientTable();
    const sources = nameScope(options.name ?? 'gradients', () => {
      getDefaultGraph().uniqueName('uid');
      const targets = given.map((y, i) => convertToTensor(y, { name: `y_${i}` }));
      const sources = asList(xs).map(sourceTensor);
      const first = initialGradients(targets, options.gradYs, colocate);
      for (const [i, target] of targets.entries()) grads.add(target, first[i]!);
      walkBack(targets, sources, grads, { stopped, method, colocate, gated: options.gateGradients ?? false });
      return sources;
    });
    return sources.map((x) => grads.of(x) ?? (unconnected === 'zero' ? unconnectedZeros(x) : null));
  });
}

interface Walk {
  readonly stopped: readonly Tensor[];
  readonly method: AggregationMethod;
  readonly colocate: boolean;
  readonly gated: boolean;
}

/** Visits the operations between targets and sources, each when all gradients of its outputs have arrived. */
function walkBack(targets: readonly Tensor[], sources: readonly Tensor[], grads: GradientTable, how: Walk): void {
  const targetOps = targets.map((t) => t.op);
  const sourceOps = sources.map((t) => t.op);
  const paths = new Paths(targets[0]?.graph, sources);
  const between = new Between(targetOps, sourceOps, paths);
  const isReady = (op: Operation) => between.pendingOf(op) === 0 && between.reachableTargets.has(op);
  const queue = [...new Set(targetOps)].filter(isReady);
  const stops = between.stops(
    sourceOps,
    how.stopped.map((t) => t.op),
  );
  for (let next = 0; next < queue.length; next++) {
    const op = queue[next]!;
    maybeColocate(op, how.colocate, () => {
      const dy = grads.settle(op, how.method);
      const backward = dy.some((g) => g !== null) && !stops.has(op) ? gradientOf(op) : null;
      if (!backward) return;
      const filled = dy.map((g, i) => g ?? zerosFor(op.outputs[i]!));
      const dx = nameScope(`${op.name}_grad`, () => {
        const result = backward(op, filled, tools);
        checkCount(op, result);
        return how.gated && result.filter((g) => g !== null).length > 1 ? gate(result) : result;
      });
      const inputs = paths.inputsOf(op);
      for (const [i, g] of dx.entries()) if (g !== null) grads.add(inputs[i]!, checkShape(op, i, g));
    });
    for (const input of paths.inputsOf(op)) if (between.arrive(input.op)) queue.push(input.op);
  }
}

/** The gradients that have arrived at each output of each operation: a list, then its sum. */
class GradientTable {
  private readonly arrived = new Map<Operation, Gradient[][]>();
  private readonly settled = new Map<Operation, readonly (Gradient | null)[]>();

  add(tensor: Tensor, gradient: Gradient): void {
    const { op } = tensor;
    let lists = this.arrived.get(op);
    if (!lists) this.arrived.set(op, (lists = op.outputs.map(() => [])));
    lists[tensor.index]!.push(gradient);
  }

  /** Sums what has arrived for each output of the operation. */
  settle(op: Operation, method: AggregationMethod): readonly (Gradient | null)[] {
    const sums = (this.arrived.get(op) ?? op.outputs.map(() => [])).map((terms) => aggregate(terms, op, method));
    this.settled.set(op, sums);
    return sums;
  }

  of(tensor: Tensor): Gradient | null {
    return this.settled.get(tensor.op)?.[tensor.index] ?? null;
  }
}

function sourceTensor(x: GradientSource, i: number): Tensor {
  if (x instanceof Tensor) return x;
  if (typeof x === 'object' && x !== null) {
    if ('handle' in x && x.handle instanceof Tensor) return x.handle;
    if ('toTensor' in x) return x.toTensor({ asRef: true });
  }
  const given: unknown = x; // types do not hold callers that do not check them
  throw userError(
    typeof given === 'string'
      ? `xs[${i}] is '${given}', but must be a tensor or a variable. The tensor of that name is graph.getTensorByName('${given.includes(':') ? given : `${given}:0`}').`
      : `xs[${i}] is ${given}, but must be a tensor or a variable.`,
  );
}

function maybeColocate<T>(op: Operation, colocate: boolean, body: () => T): T {
  return colocate ? colocateWith(op, body) : body();
}

/** Gradients of the ys: what the user gave, otherwise ones. */
function initialGradients(ys: readonly Tensor[], gradYs: GradientsOptions['gradYs'], colocate: boolean): Gradient[] {
  const list = gradYs === undefined ? ys.map(() => null) : listOfGradYs(gradYs, ys);
  if (list.length !== ys.length) throw userError(`Length mismatch. Passed ${list.length} gradYs for ${ys.length} ys`);
  const converted = list.map((g, i) =>
    g === null || g instanceof IndexedSlices ? g : convertToTensor(g, { hint: ys[i]!.dtype, name: `grad_y_${i}` }),
  );
  return ys.map((y, i) => maybeColocate(y.op, colocate, () => initialGradient(y, converted[i] ?? null, i)));
}

/** A single y takes its gradient without a list around it, unless it is a list of exactly one tensor. */
function listOfGradYs(
  gradYs: NonNullable<GradientsOptions['gradYs']>,
  ys: readonly Tensor[],
): readonly (TensorLike | IndexedSlices | null)[] {
  if (!Array.isArray(gradYs)) return [gradYs as TensorLike | IndexedSlices]; // the list form is excluded
  const isPlainValue = ys.length === 1 && ys[0]!.rank !== null && depth(gradYs) === ys[0]!.rank && ys[0]!.rank > 0;
  return isPlainValue ? [gradYs as TensorLike] : gradYs; // nested exactly as deep as the one y
}

function depth(value: unknown): number {
  return Array.isArray(value) ? 1 + depth(value[0]) : value instanceof Tensor ? (value.rank ?? 0) : 0;
}

function initialGradient(y: Tensor, gradY: Gradient | null, i: number): Gradient {
  const name = `grad_ys_${i}`;
  if (gradY === null) {
    if (y.dtype.isComplex)
      throw userError(
        `Gradients of complex tensors (${y}) must set gradYs (y.dtype = ${y.dtype}). Give gradYs, or differentiate tf.real or tf.abs of it.`,
      );
    return ones(shape(y), { dtype: y.dtype, name });
  }
  checkGradYType(y, gradY);
  if (gradY instanceof Tensor) return identity(gradY, { name });
  return new IndexedSlices(
    identity(gradY.values, { name: `${name}_values` }),
    identity(gradY.indices, { name: `${name}_indices` }),
    gradY.denseShape && identity(gradY.denseShape, { name: `${name}_shape` }),
  );
}

const isReal = (dtype: DType) => dtype.isFloating || dtype.isInteger;

function checkGradYType(y: Tensor, { dtype }: Gradient): void {
  const refuse = (must: string) =>
    userError(`Gradient type ${dtype} generated for tensor ${y} with type ${y.dtype} must be ${must}`);
  if (isReal(y.dtype)) {
    if (!isReal(dtype)) throw refuse('real or integer');
  } else if (y.dtype.isComplex) {
    if (!dtype.isComplex) throw refuse('complex');
  } else if (y.dtype === variant) {
    if (dtype !== variant) throw refuse('variant');
  } else if (y.dtype === resource) {
    if (dtype === resource) throw refuse('a value, not a resource');
  } else throw userError(`Tensor ${y} with type ${y.dtype} must be numeric to obtain a default gradient`);
}

/** The gradient of an output nothing depends on, where its type can have one. */
function zerosFor(output: Tensor): Gradient | null {
  if (!isTrainable(output)) return null;
  if (output.dtype === resource) return handleInfo(output) ? zerosOfHandle(output) : null;
  // In the step of a loop the value would be kept for every iteration; its shape is less.
  if (output.graph instanceof FuncGraph && output.graph.isStep && output.dtype !== variant)
    return isFullyDefined(output.shape)
      ? constant(0, { dtype: output.dtype, shape: output.shape })
      : zeros(shape(output, { optimize: false }), { dtype: output.dtype });
  return zerosLike(output, { optimize: false });
}

const tools: GradientTools = {
  differentiate: (ys, xs, { gradYs, unconnected }) => gradients(ys, xs, { gradYs, unconnectedGradients: unconnected }),
  isTrainable,
  zeros: staticZeros,
};

/** A handle that says which shape it holds needs no node to ask for it. */
function staticZeros(x: Tensor): Tensor {
  const info = x.dtype === resource ? handleInfo(x) : undefined;
  return info && isFullyDefined(info.shape) ? zeros(info.shape, { dtype: info.dtype }) : unconnectedZeros(x);
}

function unconnectedZeros(x: Tensor): Tensor {
  return x.dtype === resource ? zerosOfHandle(x) : zerosLike(x);
}

function zerosOfHandle(handle: Tensor): Tensor {
  const info = handleInfo(handle);
  if (!info) throw userError(`${handle} is a resource that does not say what it holds, so its gradient has no type`);
  return zeros(VariableShape.build({ input: handle }).output, { dtype: info.dtype });
}

function checkCount(op: Operation, dx: readonly (Gradient | null)[]): void {
  if (dx.length !== op.inputs.length)
    throw new InvalidArgumentError(
      `Num gradients ${dx.length} generated for op '${op.name}' (${op.type}) do not match num inputs ${op.inputs.length}`,
      { node: op.name, op: op.type },
    );
}

function gate(dx: readonly (Gradient | null)[]): readonly (Gradient | null)[] {
  return withContext({ devices: [], colocation: [] }, () => tuple(dx));
}

/** A dense gradient has the shape of its input; says so where that is news, and refuses a contradiction. */
function checkShape(op: Operation, i: number, gradient: Gradient): Gradient {
  const input = op.inputs[i]!;
  if (!(gradient instanceof Tensor) || input.dtype === resource) return gradient;
  const dims: Dims = input.shape;
  if (!compatible(gradient.shape, dims))
    throw new InvalidArgumentError(
      `Incompatible shapes between op input and calculated input gradient. Forward operation: ${op.name}. Input index: ${i}. Original input shape: ${showShape(dims)}. Calculated input gradient shape: ${showShape(gradient.shape)}`,
      { node: op.name, op: op.type },
    );
  gradient.setShape(dims);
  return gradient;
}
