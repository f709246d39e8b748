/** @file The gradient of ops that run one of some functions: the same choice again, between the functions' derivatives. */
import { int32, int64, resource } from '../../core/dtypes.ts';
import { InternalError } from '../../core/errors.ts';
import type { Dims } from '../../core/shape.ts';
import { FuncGraph, gradientName, rewrittenName } from '../../graph/funcGraph.ts';
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
import { OptionalNone, optionalOf, valuesLike } from './optional.ts';
import { inputBehind } from './resourceInput.ts';

/** The derivative of a function. It takes what it needs of the forward function as arguments, which the forward op gives out. */
class BodyGradGraph extends FuncGraph {
  /** Tensors inside the forward function that are needed and are not results of it yet. */
  readonly intermediates: Tensor[] = [];
  private readonly known = new Map<Tensor, Tensor>();

  constructor(
    name: string,
    private readonly forward: FuncGraph,
    /** Other functions may run instead: what is handed over comes in optionals, which all of them can give. */
    private readonly isChosen: boolean,
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
    let found = this.known.get(tensor);
    if (!found) this.known.set(tensor, (found = this.intermediate(tensor)));
    return found;
  }

  private intermediate(tensor: Tensor): Tensor {
    const { forward } = this;
    if (tensor.op.type === 'Const') return copyConstant(tensor);
    if (tensor.dtype === resource) return super.capture(inputBehind(tensor, forward));
    if (!this.isChosen) {
      this.intermediates.push(tensor);
      return super.capture(tensor);
    }
    const given = forward.outputs.find(({ op }) => op.type === 'OptionalFromValue' && op.inputs[0] === tensor);
    const optional = given ?? forward.asDefault(() => optionalOf([tensor]));
    if (!given) this.intermediates.push(optional);
    return valuesLike(this.captureDirectly(optional, tensor.op.name), [tensor])[0]!;
  }
}

/** The same constant in the current graph. */
export function copyConstant({ op }: Tensor): Tensor {
  const { dtype, value } = op.attrs;
  return getDefaultGraph().createOp({ type: 'Const', inputs: [], attrs: { dtype: dtype!, value: value! } }).outputs[0]!;
}

/** What differs between the ops that have such a gradient. */
export interface Called {
  /** The functions, one of which runs. */
  readonly bodies: readonly FuncGraph[];
  /** How many inputs come before those that the functions take. */
  readonly before: number;
  /** Lets the op call the functions as they are now, which give more results, of these shapes. */
  extend(shapes: readonly Dims[]): void;
  /** Makes the same choice between derivatives, each to be called with tensors of its own. */
  call(backward: readonly FuncGraph[], inputs: readonly (readonly Tensor[])[]): readonly Tensor[];
}

/** Gradients of the inputs that the functions take. */
export function bodyGradient(
  op: Operation,
  dy: readonly Gradient[],
  tools: GradientTools,
  { bodies, before, extend, call }: Called,
): (Gradient | null)[] {
  const results: (Gradient | null)[][] = [];
  const backward = bodies.map((body, k) => {
    const graph = new BodyGradGraph(gradientName(body.name), body, bodies.length > 1);
    graph.asDefault(() => {
      results[k] = differentiateBody(body, dy, tools).map((g) => (g === null ? null : returned(g)));
    });
    return graph;
  });
  const answer: (Gradient | null)[] = op.inputs.slice(before).map(() => null);
  const slots = [...answer.keys()].filter((i) => results.some((list) => list[i] !== null));
  if (slots.length === 0) return answer;
  for (const i of slots) matchGradients(i, bodies, backward, results, tools);
  for (const [k, graph] of backward.entries()) graph.finish(slots.flatMap((i) => parts(results[k]![i]!)));
  const shapes = giveOutIntermediates(op, bodies, backward);
  if (shapes) extend(shapes);
  const inputs = backward.map((graph, k) => graph.externalCaptures.map((t) => resolve(t, op, bodies[k]!, before)));
  const outputs = call(backward, inputs);
  let next = 0;
  for (const i of slots) {
    const model = results[0]![i]!;
    const count = parts(model).length;
    answer[i] = packed(model, outputs.slice(next, (next += count)));
  }
  return answer;
}

function differentiateBody(branch: FuncGraph, dy: readonly Gradient[], tools: GradientTools): (Gradient | null)[] {
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

/** Makes what the derivatives need results of the functions; gives the shapes of all results when the op must be extended. */
function giveOutIntermediates(
  op: Operation,
  forward: readonly FuncGraph[],
  backward: readonly BodyGradGraph[],
): Dims[] | undefined {
  const wanted = backward.map((graph) => graph.intermediates);
  // Another call of the same function may have made it give more already.
  const isBehind = forward[0]!.outputs.length > op.outputs.length;
  const isStale = forward.some((graph) => graph.rewrites !== graph.registeredRewrites);
  const isEnough = wanted.every((list) => list.length === 0) && !isStale;
  if (isEnough && !isBehind) return undefined;
  const count = Math.max(...wanted.map((list) => list.length));
  for (const [k, graph] of forward.entries()) {
    graph.outputs.push(...wanted[k]!);
    // What only another function gives is nothing here.
    graph.asDefault(() => {
      for (let i = wanted[k]!.length; i < count; i++) graph.outputs.push(OptionalNone.build({}).optional);
    });
  }
  if (!isEnough) for (const graph of forward) graph.name = rewrittenName(graph);
  return forward[0]!.outputs.map((t, i) => op.outputs[i]?.shape ?? t.shape);
}

/** What the forward op takes or gives for a tensor inside one of its functions. */
function resolve(tensor: Tensor, op: Operation, branch: FuncGraph, before: number): Tensor {
  if (tensor.graph !== branch) return tensor;
  const output = branch.outputs.indexOf(tensor);
  if (output >= 0) return op.outputs[output]!;
  const input = branch.inputs.indexOf(tensor);
  if (input >= 0) return op.inputs[input + before]!;
  throw new InternalError(`${tensor} is neither an argument nor a result of '${branch.name}'`);
}
