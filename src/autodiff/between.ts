/** @file The operations between ys and xs, and how many gradients each of them has to wait for. */
import type { DType } from '../core/dtypes.ts';
import * as d from '../core/dtypes.ts';
import type { Operation } from '../graph/operation.ts';

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

/** Whether a type admits infinitesimal changes (resources and variants stand for what they hold). */
export function isTrainable(dtype: DType): boolean {
  return trainable.has(dtype);
}

/** Everything that a small change of the operations' outputs can reach. */
function reachedFrom(sources: readonly Operation[]): Set<Operation> {
  const reached = new Set<Operation>();
  const queue = [...sources];
  for (let op = queue.pop(); op; op = queue.pop()) {
    if (reached.has(op)) continue;
    reached.add(op);
    for (const output of op.outputs)
      if (isTrainable(output.dtype)) for (const next of output.consumers()) queue.push(next);
  }
  return reached;
}

/** The part of a graph that a reverse walk covers. */
export class Between {
  /** Targets that any source can reach. */
  readonly reachableTargets: ReadonlySet<Operation>;
  private readonly pending = new Map<Operation, number>();

  constructor(targets: readonly Operation[], sources: readonly Operation[]) {
    const reached = reachedFrom(sources);
    this.reachableTargets = new Set(targets.filter((op) => reached.has(op)));
    const between = new Set<Operation>();
    const queue = [...targets];
    for (let next = 0; next < queue.length; next++) {
      const op = queue[next]!;
      if (!reached.has(op) || between.has(op)) continue;
      between.add(op);
      for (const input of op.inputs) queue.push(input.op);
    }
    for (const op of between)
      for (const input of op.inputs)
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
    const frontier = sources.filter((op) => !op.inputs.some((input) => this.pendingOf(input.op) > 0));
    return new Set([...frontier, ...stopped]);
  }
}
