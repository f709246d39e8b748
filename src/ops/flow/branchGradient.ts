/** @file The gradient of If and Case: the same choice again, between the derivatives of the branches. */
import { float32, int32, int64, resource, variant } from '../../core/dtypes.ts';
import { InternalError } from '../../core/errors.ts';
import type { Dims } from '../../core/shape.ts';
import { FuncGraph, gradientName } from '../../graph/funcGraph.ts';
import { type Graph, getDefaultGraph } from '../../graph/graph.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Operation } from '../../graph/operation.ts';
import { Tensor } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import type { Gradient, GradientTools } from '../../op/registry.ts';
import { identity } from '../array/identity.ts';
import { range } from '../array/range.ts';
import { shape } from '../array/shape.ts';
import { cast } from '../math/cast.ts';
import { branchAttrs, branchesOf, buildBranches, isIf } from './branches.ts';
import { FakeParam } from './fakeParam.ts';
import { inputBehind } from './resourceInput.ts';
import { emptyList } from './tensorList/functions.ts';
import { elementsOf } from './tensorList/info.ts';

/** The derivative of a branch. It takes what it needs of the forward branch as arguments, which the forward op gives out. */
class BranchGradGraph extends FuncGraph {
  /** Tensors inside the forward branch that are needed and are not results of it yet. */
  readonly intermediates: Tensor[] = [];
  private readonly copies = new Map<Tensor, Tensor>();

  constructor(
    name: string,
    private readonly forward: FuncGraph,
  ) {
    super(name, { ordersEffects: true });
  }

  override maySee(graph: Graph): boolean {
    return graph === this.forward || super.maySee(graph);
  }

  override capture(tensor: Tensor): Tensor {
    const { forward } = this;
    if (tensor.graph !== forward || forward.inputs.includes(tensor) || forward.outputs.includes(tensor))
      return super.capture(tensor);
    if (tensor.op.type === 'Const') return this.copyOf(tensor);
    if (tensor.dtype === resource) return super.capture(inputBehind(tensor, forward));
    if (!this.intermediates.includes(tensor)) this.intermediates.push(tensor);
    return super.capture(tensor);
  }

  /** Constants are not handed over but made again. */
  private copyOf(constant: Tensor): Tensor {
    let copy = this.copies.get(constant);
    if (!copy) this.copies.set(constant, (copy = copyConstant(constant)));
    return copy;
  }
}

/** The same constant in the current graph. */
export function copyConstant({ op }: Tensor): Tensor {
  const { dtype, value } = op.attrs;
  return getDefaultGraph().createOp({ type: 'Const', inputs: [], attrs: { dtype: dtype!, value: value! } }).outputs[0]!;
}

/** Gradients of the inputs after the first, which only chooses. */
export function branchGradient(op: Operation, dy: readonly Gradient[], tools: GradientTools): (Gradient | null)[] {
  const forward = branchesOf(op);
  const results: (Gradient | null)[][] = [];
  const backward = forward.map((branch, k) => {
    const graph = new BranchGradGraph(gradientName(branch.name), branch);
    graph.asDefault(() => {
      results[k] = differentiateBranch(branch, dy, tools).map((g) => (g === null ? null : returned(g)));
    });
    return graph;
  });
  const slots = op.inputs
    .slice(1)
    .map((_, i) => i)
    .filter((i) => results.some((list) => list[i] !== null));
  for (const i of slots) matchGradients(i, forward, backward, results, tools);
  for (const [k, graph] of backward.entries()) graph.finish(slots.flatMap((i) => parts(results[k]![i]!)));
  giveOutIntermediates(op, forward, backward);
  const inputs = backward.map((graph, k) =>
    graph.inputs.map((_, i) => resolve(graph.externalCaptures[i]!, op, forward[k]!)),
  );
  const call = buildBranches(
    isIf(op) ? 'If' : 'Case',
    op.inputs[0]!,
    backward,
    inputs,
    isIf(op) ? undefined : 'gradient',
  );
  const outputs = call.outputs.map((t) => identity(t));
  const answer: (Gradient | null)[] = op.inputs.slice(1).map(() => null);
  let next = 0;
  for (const i of slots) {
    const model = results[0]![i]!;
    const count = parts(model).length;
    answer[i] = packed(model, outputs.slice(next, (next += count)));
  }
  return answer;
}

function differentiateBranch(branch: FuncGraph, dy: readonly Gradient[], tools: GradientTools): (Gradient | null)[] {
  const wanted = branch.outputs.map((_, i) => i).filter((i) => tools.isTrainable(branch.outputs[i]!) && dy[i] != null);
  if (wanted.length === 0) return branch.inputs.map(() => null);
  const ys = wanted.map((i) => branch.outputs[i]!);
  return tools.differentiate(ys, branch.inputs, { gradYs: wanted.map((i) => dy[i]!) });
}

/** Results of a function are nodes of their own, so that they can wait for its effects. */
function returned(gradient: Gradient): Gradient {
  if (gradient instanceof Tensor) return identity(gradient);
  return new IndexedSlices(identity(gradient.values), identity(gradient.indices), gradient.denseShape);
}

const parts = (g: Gradient): Tensor[] =>
  g instanceof Tensor ? [g] : [g.values, g.indices, ...(g.denseShape ? [g.denseShape] : [])];

function packed(model: Gradient, tensors: readonly Tensor[]): Gradient {
  return model instanceof Tensor ? tensors[0]! : new IndexedSlices(tensors[0]!, tensors[1]!, tensors[2]);
}

/** Makes all branches give the gradient of one input in the same form: zeros where one has none, slices where any has them. */
function matchGradients(
  i: number,
  forward: readonly FuncGraph[],
  backward: readonly FuncGraph[],
  results: (Gradient | null)[][],
  tools: GradientTools,
): void {
  const within = (k: number, make: () => Gradient) => {
    results[k]![i] = backward[k]!.asDefault(make);
  };
  for (const [k, branch] of forward.entries())
    if (results[k]![i] === null) within(k, () => tools.zeros(branch.inputs[i]!));
  const all = () => results.map((list) => list[i]!);
  const slices = all().filter((g) => g instanceof IndexedSlices);
  if (slices.length === 0) return;
  if (!slices.every((s) => s.denseShape)) {
    for (const [k, g] of all().entries()) if (g instanceof IndexedSlices) within(k, () => convertToTensor(g));
    return;
  }
  for (const [k, g] of all().entries()) if (g instanceof Tensor) within(k, () => asSlices(g));
  const types = new Set(all().map((g) => (g as IndexedSlices).indices.dtype)); // made so above
  if (types.size > 1)
    for (const [k, g] of all().entries()) {
      const { values, indices, denseShape } = g as IndexedSlices; // as above
      if (indices.dtype === int32) within(k, () => new IndexedSlices(values, cast(indices, int64), denseShape));
    }
}

/** A whole tensor as the slices that are all its rows. */
function asSlices(tensor: Tensor): IndexedSlices {
  const whole = shape(tensor);
  return new IndexedSlices(tensor, range(0, whole.slice('0')), whole);
}

/** Extends the forward op so that it also gives what the derivative of the branch that was taken needs. */
function giveOutIntermediates(
  op: Operation,
  forward: readonly FuncGraph[],
  backward: readonly BranchGradGraph[],
): void {
  const wanted = backward.map((graph) => graph.intermediates);
  const isStale = forward.some((graph) => graph.rewrites !== graph.registeredRewrites);
  if (wanted.every((list) => list.length === 0) && !isStale) return;
  const shapes: Dims[] = op.outputs.map((t) => t.shape);
  for (const [k, graph] of forward.entries())
    graph.outputs.push(
      ...wanted.flatMap((list, j) => (j === k ? list : graph.asDefault(() => list.map((t) => standIn(t))))),
    );
  // A stand-in is empty, so nothing is known of the shape before the branch is.
  for (const list of wanted) shapes.push(...list.map((t): Dims => (t.dtype === variant ? t.shape : null)));
  for (const graph of forward) graph.name += '_rewritten';
  op.graph.extendOp(op, { attrs: branchAttrs(op, forward, shapes) });
}

function standIn(tensor: Tensor): Tensor {
  // An empty list, unlike a fake one, can be added to and has zeros like it.
  if (tensor.dtype === variant) return emptyList(elementsOf(tensor)?.dtype ?? float32, -1);
  return FakeParam.build({}, { attrs: { dtype: tensor.dtype, shape: [0] } }).output;
}

/** What the forward op takes or gives for a tensor inside one of its branches. */
function resolve(tensor: Tensor, op: Operation, branch: FuncGraph): Tensor {
  if (tensor.graph !== branch) return tensor;
  const output = branch.outputs.indexOf(tensor);
  if (output >= 0) return op.outputs[output]!;
  const input = branch.inputs.indexOf(tensor);
  if (input >= 0) return op.inputs[input + 1]!;
  throw new InternalError(`${tensor} is neither an argument nor a result of '${branch.name}'`);
}
