/** @file The gradient of a loop: another loop, which runs the derivative of the step as often as the step was run, backwards. */
import { int32, resource } from '../../core/dtypes.ts';
import { InternalError, InvalidArgumentError } from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import { withContext } from '../../graph/context.ts';
import { FuncGraph, gradientName, rewrittenName } from '../../graph/funcGraph.ts';
import { registerFunction } from '../../graph/functionDef.ts';
import type { CreateOp, Graph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import type { Gradient, GradientTools } from '../../op/registry.ts';
import { AttrList, AttrValue } from '../../proto/attr.ts';
import { shapeToProto } from '../../proto/tensorProto.ts';
import { identity } from '../array/identity.ts';
import { less } from '../math/compare.ts';
import { plus } from '../math/operators.ts';
import { copyConstant } from './bodyGradient.ts';
import { buildLoop, loopBody } from './loops.ts';
import { inputBehind } from './resourceInput.ts';
import { elementShape, emptyList, popBack, pushBack } from './tensorList/functions.ts';

/** Ops that make little of much: they are run in the forward loop, so that only their results are kept. */
const summarizing = new Set(['Shape', 'Size', 'Rank', 'TensorListElementShape', 'TensorListLength']);

/** Such nodes that gradients have added to forward steps; a further gradient, under the same names, uses them again. */
const moved = new WeakMap<FuncGraph, Map<string, Operation>>();

/**
 * The derivative of a loop's step. What it needs of the forward step is pushed to a list there, at each iteration, and
 * popped from it here; what never changes in the loop is passed in as it is.
 */
class StepGradGraph extends FuncGraph {
  /** The lists that the forward loop begins with, to be added to its variables. */
  readonly accumulators: Tensor[] = [];
  /** What each captured argument is in the next iteration. */
  private readonly next = new Map<Tensor, Tensor>();
  private readonly known = new Map<Tensor, Tensor>();

  constructor(
    name: string,
    private readonly op: Operation,
    private readonly cond: FuncGraph,
    private readonly forward: FuncGraph,
  ) {
    super(name, { ordersEffects: true, isStep: true });
  }

  override maySee(graph: Graph): boolean {
    return graph === this.forward || super.maySee(graph);
  }

  override capture(tensor: Tensor): Tensor {
    if (tensor.graph === this) return tensor;
    const known = this.known.get(tensor);
    if (known) return known;
    const found =
      tensor.graph === this.forward ? this.fromForward(tensor, tensor.op.name) : this.asItIs(tensor, tensor);
    this.known.set(tensor, found);
    return found;
  }

  /** A captured tensor that is the same in every iteration. */
  private asItIs(tensor: Tensor, outside: Tensor): Tensor {
    const argument = super.capture(outside);
    this.next.set(argument, argument);
    this.known.set(tensor, argument);
    return argument;
  }

  private fromForward(tensor: Tensor, name: string): Tensor {
    const { forward, op } = this;
    if (tensor.op.type === 'Identity') {
      const before = tensor.op.inputs[0]!;
      const found = this.known.get(before) ?? this.fromForward(before, name);
      this.known.set(before, found);
      return found;
    }
    const position = forward.inputs.indexOf(tensor);
    if (position >= 0 && forward.outputs[position] === tensor) return this.asItIs(tensor, tensor);
    if (tensor.op.type === 'Const') return copyConstant(tensor);
    if (tensor.dtype === resource) {
      const at = forward.inputs.indexOf(inputBehind(tensor, forward));
      const after = forward.inputs.indexOf(inputBehind(forward.outputs[at]!, forward));
      if (after !== at)
        throw new InvalidArgumentError(
          `the loop '${op.name}' changes which resource ${tensor} is, so no gradient can pass`,
        );
      return this.asItIs(tensor, op.inputs[at]!);
    }
    return this.popped(tensor, name);
  }

  /** The value that a tensor of the forward step had in the iteration that is now being differentiated. */
  private popped(tensor: Tensor, name: string): Tensor {
    const argument = this.captureDirectly(this.accumulator(tensor), name);
    const { list, tensor: value } = popBack(argument, tensor.dtype, -1);
    value.setShape(tensor.shape);
    value.standsFor = tensor;
    this.next.set(argument, list);
    return value;
  }

  /** The list in the forward step that the tensor is pushed to; it is made when there is none yet. */
  private accumulator(tensor: Tensor): Tensor {
    const { forward, cond, op } = this;
    const found = accumulatorOf(tensor, forward);
    if (found) return found;
    const name = `${tensor.name.replace(':', '_')}/accumulator`;
    // What the gradient is made to wait for may itself wait for the loop, which begins with this list.
    const make = () => emptyList(tensor.dtype, elementShape(tensor.shape), op.inputs[1]!, { name });
    const list = op.graph.asDefault(() => withContext({ control: [] }, make));
    this.accumulators.push(list);
    const pushed = forward.asDefault(() => pushBack(list, tensor));
    forward.outputs.push(pushed);
    cond.capture(list);
    return pushed;
  }

  override createOp(spec: CreateOp): Operation {
    const { forward } = this;
    const isForward = (t: Tensor) => t.graph === forward && !accumulatorOf(t, forward);
    if (!summarizing.has(spec.type) || !spec.inputs.every(isForward)) return super.createOp(spec);
    const given = spec.name ?? spec.type;
    const name = given.endsWith('/') ? given.slice(0, -1) : this.uniqueName(given);
    const attrs = Object.entries(spec.attrs ?? {}).map(attrKey);
    const key = [name, spec.type, ...spec.inputs.map((t) => t.name), ...attrs].join();
    let known = moved.get(forward);
    if (!known) moved.set(forward, (known = new Map()));
    let op = known.get(key);
    if (!op) known.set(key, (op = forward.asDefault(() => forward.createOp({ ...spec, name }))));
    return op;
  }

  /** The results for the captured arguments, in their order. */
  nextCaptures(): Tensor[] {
    return this.internalCaptures.map((argument) => {
      const after = this.next.get(argument);
      if (!after) throw new InternalError(`${argument} of '${this.name}' has no value for the next iteration`);
      return after;
    });
  }
}

const attrKey = ([name, value]: readonly [string, AttrValue]) => `${name}=${AttrValue.encode(value).join('.')}`;

/** The list, after the push, that a tensor of a loop's step is pushed to at each iteration. */
function accumulatorOf(tensor: Tensor, step: FuncGraph): Tensor | undefined {
  for (const consumer of tensor.consumers()) {
    if (consumer.type !== 'TensorListPushBack' || consumer.inputs[1] !== tensor) continue;
    const position = step.inputs.indexOf(consumer.inputs[0]!);
    if (position >= 0 && step.outputs[position] === consumer.outputs[0]) return consumer.outputs[0];
  }
  return undefined;
}

export function whileGradient(
  op: Operation,
  dy: readonly (Gradient | null)[],
  tools: GradientTools,
): (Gradient | null)[] {
  const cond = loopBody(op, 'cond');
  const body = loopBody(op, 'body');
  checkCounter(op);
  const parameters = body.outputs.length;
  const wanted = op.outputs
    .map((_, i) => i)
    .filter((i) => i < parameters && dy[i] != null && tools.isTrainable(body.outputs[i]!));
  if (wanted.length === 0) return op.inputs.map(() => null);
  const counter = constantNode(scalar(int32, 0), 'grad_counter');
  const args = [counter, op.inputs[1]!, op.outputs[0]!, ...wanted.map((i) => convertToTensor(dy[i]!))];
  const graph = new StepGradGraph(gradientName(body.name), op, cond, body);
  for (const { dtype, shape, standsFor } of args) graph.addArgument({ dtype, shape, standsFor });
  const own = [...graph.inputs];
  graph.asDefault(() => {
    const found = tools.differentiate(
      wanted.map((i) => body.outputs[i]!),
      wanted.map((i) => body.inputs[i]!),
      { gradYs: own.slice(3), unconnected: 'zero' },
    );
    const dense = found.map((g) => convertToTensor(g!)); // unconnected ones are zeros
    const results = [plus(own[0]!, 1), own[1]!, own[2]!, ...dense];
    graph.finish(results.map((t) => identity(t)));
  });
  graph.outputs.push(...graph.nextCaptures());
  extendForward(op, cond, body, graph.accumulators, parameters);
  const loopVars = [...args, ...graph.externalCaptures.map((t) => resolve(t, op, body))];
  const again = new FuncGraph(gradientName(op.attrs['cond']!.func!.name), { ordersEffects: true });
  for (const { dtype, shape } of loopVars) again.addArgument({ dtype, shape });
  again.asDefault(() => again.finish([identity(less(again.inputs[0]!, again.inputs[2]!))]));
  const loop = buildLoop(loopVars, again, graph, {
    shapes: graph.outputs.map((t) => t.shape),
    parallelIterations: Number(op.attrs['parallel_iterations']?.i ?? 10n),
    name: `${op.name}_grad`,
  });
  const outputs = loop.outputs.map((t) => identity(t));
  const answer: (Gradient | null)[] = op.inputs.map(() => null);
  for (const [k, i] of wanted.entries()) answer[i] = outputs[k + 3]!;
  return answer;
}

/** The backward loop counts up to the number of iterations, which loops of other makers do not tell. */
function checkCounter(op: Operation): void {
  const [counter, limit] = op.inputs;
  if (counter?.dtype !== int32 || limit?.dtype !== int32)
    throw new InvalidArgumentError(
      `The loop '${op.name}' cannot be differentiated: it does not begin with a counter and a limit, as loops of tf.whileLoop do.`,
      { node: op.name, op: op.type },
    );
}

/** Adds the accumulators to the forward loop. */
function extendForward(
  op: Operation,
  cond: FuncGraph,
  body: FuncGraph,
  inputs: readonly Tensor[],
  before: number,
): void {
  const isStale = [cond, body].some((graph) => graph.rewrites !== graph.registeredRewrites);
  if (inputs.length === 0 && !isStale) return;
  if (body.outputs.length !== before + inputs.length)
    throw new InternalError(
      `the loop '${op.name}' has ${before} variables and ${inputs.length} new ones, but gives ${body.outputs.length}`,
    );
  cond.name = rewrittenName(cond);
  body.name = rewrittenName(body);
  op.graph.extendOp(op, {
    inputs,
    attrs: {
      cond: { func: registerFunction(cond) },
      body: { func: registerFunction(body) },
      T: { list: AttrList.create({ type: body.outputs.map((t) => t.dtype.number) }) },
      output_shapes: { list: AttrList.create({ shape: body.outputs.map((t) => shapeToProto(t.shape)) }) },
      _num_original_outputs: { i: BigInt(body.outputs.length) },
    },
  });
}

/** What the forward loop gives for a tensor inside its step: the final list, or what never changes. */
function resolve(tensor: Tensor, op: Operation, body: FuncGraph): Tensor {
  if (tensor.graph !== body) return tensor;
  const output = body.outputs.indexOf(tensor);
  if (output < 0) throw new InternalError(`${tensor} is no result of '${body.name}'`);
  return op.outputs[output]!;
}
