/** @file The operations between ys and xs, and how many gradients each of them has to wait for. */
import type { DType } from '../core/dtypes.ts';
import * as d from '../core/dtypes.ts';
import { FuncGraph } from '../graph/funcGraph.ts';
import type { Graph } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import type { Tensor } from '../graph/tensor.ts';
import { elementsOf } from '../ops/flow/tensorList/info.ts';

const trainable = new Set<DType>([
  d.float16,
  d.float32,
  d.float64,
  d.bfloat16,
  d.complex64,
  d.complex128,
  d.resource,
  d.variant,
]);

/** Whether a tensor admits infinitesimal changes (resources and variants stand for what they hold). */
export function isTrainable(tensor: Tensor): boolean {
  const dtype = tensor.dtype === d.variant ? (elementsOf(tensor)?.dtype ?? d.variant) : tensor.dtype;
  return trainable.has(dtype);
}

/** The ways between tensors: the edges of a graph and, inside functions, from a tensor outside to the argument it became. */
export class Paths {
  /** The function that is differentiated and those around it. */
  private readonly functions: FuncGraph[] = [];
  private readonly ends: ReadonlySet<Tensor>;

  constructor(graph: Graph | undefined, sources: readonly Tensor[]) {
    for (let at = graph; at instanceof FuncGraph; at = at.outer) this.functions.push(at);
    this.ends = new Set(sources);
  }

  /** The inputs of an operation; instead of an argument the tensor it was captured from, unless it is itself a source. */
  inputsOf(op: Operation): readonly Tensor[] {
    if (this.functions.length === 0) return op.inputs;
    return op.inputs.map((input) => this.outside(input));
  }

  private outside(tensor: Tensor): Tensor {
    let at = tensor;
    while (at.graph instanceof FuncGraph && !this.ends.has(at)) {
      const before = at.graph.capturedFrom(at);
      if (!before) break;
      at = before;
    }
    return at;
  }

  consumersOf(tensor: Tensor): readonly Operation[] {
    const all = tensor.consumers();
    for (const graph of this.functions) {
      const argument = graph.argumentFor(tensor);
      if (argument && !this.ends.has(argument)) all.push(...this.consumersOf(argument));
    }
    return all;
  }
}

/** Everything that a small change of the operations' outputs can reach. */
function reachedFrom(sources: readonly Operation[], paths: Paths): Set<Operation> {
  const reached = new Set<Operation>();
  const queue = [...sources];
  for (let op = queue.pop(); op; op = queue.pop()) {
    if (reached.has(op)) continue;
    reached.add(op);
    for (const output of op.outputs)
      if (isTrainable(output)) for (const next of paths.consumersOf(output)) queue.push(next);
  }
  return reached;
}

/** The part of a graph that a reverse walk covers. */
export class Between {
  /** Targets that any source can reach. */
  readonly reachableTargets: ReadonlySet<Operation>;
  private readonly pending = new Map<Operation, number>();

  constructor(
    targets: readonly Operation[],
    sources: readonly Operation[],
    private readonly paths: Paths,
  ) {
    const reached = reachedFrom(sources, paths);
    this.reachableTargets = new Set(targets.filter((op) => reached.has(op)));
    const between = new Set<Operation>();
    const queue = [...targets];
    for (let next = 0; next < queue.length; next++) {
      const op = queue[next]!;
      if (!reached.has(op) || between.has(op)) continue;
      between.add(op);
      for (const input of paths.inputsOf(op)) queue.push(input.op);
    }
    for (const op of between)
      for (const input of paths.inputsOf(op))
        if (between.has(input.op)) this.pending.set(input.op, this.pendingOf(input.op) + 1);
  }

  /** How many gradients the operation still waits for. */
  pendingOf(op: Operation): number {
    return this.pending.get(op) ?? 0;
  }

  /** Counts one gradient as arrived (or known not to come); true when it was the last one. */
  arrive(op: Operation): boolean {
    const left = this.pendingOf(op) - 1;
    this.pending.set(op, left);
    return left === 0;
  }

  /** Operations not to be differentiated: sources with no other source behind them, and what the user stopped. */
  stops(sources: readonly Operation[], stopped: readonly Operation[]): Set<Operation> {
    const frontier = sources.filter((op) => !this.paths.inputsOf(op).some((input) => this.pendingOf(input.op) > 0));
    return new Set([...frontier, ...stopped]);
  }
}
