/** @file Runs graphs with control flow by frames, as TensorFlow's executor does: values, alive or dead, wake what waits for them. */
import type { CancelSignal } from '../core/cancelSignal.ts';
import { int32 } from '../core/dtypes.ts';
import { FailedPreconditionError, InternalError, InvalidArgumentError, OpError } from '../core/errors.ts';
import { yieldIfLong } from '../core/eventLoop.ts';
import { NDArray, scalar } from '../core/ndarray.ts';
import { showRuntime } from '../core/shape.ts';
import type { Device } from '../devices/device.ts';
import { Reference } from './resources.ts';
import { Run } from './run.ts';
import type { Port, RunNode } from './runGraph.ts';
import type { Changed, Piece } from './simplify.ts';
import {
  type Cluster,
  type Consumer,
  clusterOf,
  divide,
  type FrameLayout,
  type Unit,
  type UnitGraph,
} from './units.ts';

/** A value, or nothing where the node that gives it is dead. References travel as `Reference` says. */
type Token = NDArray | null;

/** Runs an ordinary piece of graph. */
export interface PieceRunner {
  run(feeds: readonly NDArray[], options: { readonly run: Run }): Promise<NDArray[]>;
}

/** One iteration of a loop, or the whole run outside of loops. */
class Iteration {
  readonly pending: number[];
  readonly deadInputs: number[];
  readonly inputs: (Token | undefined)[];
  /** Units that are ready and have not been done. */
  ready = 0;
  /** Loops inside it that are under way. */
  loops = 0;
  constructor(
    layout: FrameLayout,
    readonly index: number,
  ) {
    this.pending = layout.pending.slice();
    this.deadInputs = new Array<number>(layout.units.length).fill(0);
    this.inputs = new Array<Token | undefined>(layout.inputCount);
  }
}

/** A loop under way, or the root. */
class Frame {
  /** Iterations that are not over, by their number. */
  readonly iterations = new Map<number, Iteration>();
  /** The number of the newest iteration. */
  newest = 0;
  /** Entrances that nothing has come through yet. */
  openEntrances: number;
  /** What is the same in every iteration. */
  readonly invariants: { readonly unit: Unit; readonly token: Token }[] = [];
  /** Loop variables of the next iteration, while as many iterations as allowed are under way. */
  deferred: { readonly unit: Unit; readonly token: Token }[] = [];
  /** Exits that were dead in the newest iteration: if it is the last one, they are dead for good. */
  deadExits: Unit[] = [];
  constructor(
    readonly layout: FrameLayout,
    readonly parent: { readonly frame: Frame; readonly iteration: Iteration } | undefined,
  ) {
    this.openEntrances = layout.entrances;
    this.iterations.set(0, new Iteration(layout, 0));
  }

  isOver(iteration: Iteration): boolean {
    if (iteration.ready > 0 || iteration.loops > 0) return false;
    return iteration.index === 0 ? this.openEntrances === 0 : !this.iterations.has(iteration.index - 1);
  }
}

/** A unit that has all it waits for. */
interface Ready {
  readonly unit: Unit;
  readonly frame: Frame;
  readonly iteration: Iteration;
  readonly isDead: boolean;
}

/** A piece of graph with control flow by frames, ready to be run any number of times. */
export class Dataflow {
  readonly source: readonly RunNode[];
  readonly graph: UnitGraph;
  private readonly clusters = new Map<Unit, Cluster & { readonly runner: PieceRunner }>();
  private readonly wanted: ReadonlySet<RunNode>;

  constructor(
    readonly piece: Piece,
    readonly device: Device,
    /** Prepares clusters. References that they give are handed on as such. */
    private readonly prepare: (piece: Piece) => PieceRunner,
    joins = true,
  ) {
    this.source = piece.nodes;
    this.graph = divide(piece, joins);
    this.wanted = new Set([...piece.targets, ...piece.nodes.flatMap((node) => node.control)]);
  }

  /** Runs a cluster. Branches that are never taken are never prepared. */
  async runCluster(unit: Unit, inputs: readonly NDArray[], run: Run): Promise<NDArray[]> {
    let cluster = this.clusters.get(unit);
    if (!cluster) {
      const made = clusterOf(unit, (node) => this.wanted.has(node));
      this.clusters.set(unit, (cluster = { ...made, runner: this.prepare(made.piece) }));
    }
    const fetched = await cluster.runner.run(inputs, { run });
    return cluster.results.map((from) => ('fetch' in from ? fetched[from.fetch]! : inputs[from.input]!));
  }

  /** Runs with these feeds, in the order of the piece's; gives its fetches in order. */
  async run(
    feeds: readonly NDArray[],
    options: { signal?: CancelSignal | undefined; timeout?: number | undefined; run?: Run | undefined } = {},
  ): Promise<NDArray[]> {
    const run = options.run ?? new Run();
    const end = run.stop.listen(options.signal, options.timeout);
    try {
      return await new DataflowRun(this, run).run(feeds);
    } finally {
      end();
    }
  }

  get ran(): Changed {
    return { nodes: this.source, report: [] };
  }
}

class DataflowRun {
  private readonly queue: Ready[] = [];
  private head = 0;
  private readonly fetched: (NDArray | undefined)[] = [];
  /** Units that have begun and may have to wait for others. */
  private readonly waiting = new Set<Promise<void>>();
  /** Loops under way, by the iteration that they are in and their layout. */
  private readonly frames = new Map<Iteration, Map<FrameLayout, Frame>>();

  constructor(
    private readonly dataflow: Dataflow,
    private readonly scope: Run,
  ) {}

  async run(feeds: readonly NDArray[]): Promise<NDArray[]> {
    const { graph, piece } = this.dataflow;
    const frame = new Frame(graph.root, undefined);
    const iteration = frame.iterations.get(0)!;
    for (const unit of graph.root.units)
      if (unit.inputs.length === 0 && unit.waits === 0) this.wake(unit, frame, iteration, false);
    for (const [i, consumers] of graph.feedConsumers.entries())
      for (const consumer of consumers) this.deliver(consumer, feeds[i]!, frame, iteration, false);
    try {
      await this.runAll();
    } catch (error) {
      // What waits for others would wait for ever.
      if (this.waiting.size > 0)
        this.scope.stop.stop(error instanceof OpError ? error : new InternalError(String(error), { cause: error }));
      throw error;
    }
    return piece.fetches.map((port, i) => {
      const feed = piece.feeds.findIndex((fed) => fed.node === port.node && fed.index === port.index);
      const value = feed >= 0 ? feeds[feed]!.copy() : this.fetched[i];
      if (!value) throw new InvalidArgumentError(`Retval[${this.place(port)}] does not have value`);
      return value;
    });
  }

  private async runAll(): Promise<void> {
    for (;;) {
      while (this.head < this.queue.length) {
        const pause = yieldIfLong();
        if (pause) await pause;
        this.scope.stop.throwIfStopped();
        const ready = this.next();
        const pending = this.runUnit(ready);
        if (!pending) continue;
        if (ready.unit.mayWait) this.leaveWaiting(pending);
        else await pending;
      }
      if (this.waiting.size === 0) return;
      await Promise.race(this.waiting);
    }
  }

  /** Goes on while a unit waits for something that another may have to do. */
  private leaveWaiting(pending: Promise<void>): void {
    const ended = pending.finally(() => this.waiting.delete(ended));
    ended.catch(() => {}); // the first failure ends the run; others come of its end
    this.waiting.add(ended);
  }

  /** The number under which TensorFlow knows a fetch: its place among the names in order. */
  private place(port: Port): number {
    const name = ({ node, index }: Port) => `${node.name}:${index}`;
    const names = this.dataflow.piece.fetches.map(name);
    return names.sort((a, b) => (a < b ? -1 : 1)).indexOf(name(port));
  }

  private next(): Ready {
    const ready = this.queue[this.head++]!;
    if (this.head > 1024) {
      this.queue.splice(0, this.head);
      this.head = 0;
    }
    return ready;
  }

  private wake(unit: Unit, frame: Frame, iteration: Iteration, isDead: boolean): void {
    iteration.ready++;
    this.queue.push({ unit, frame, iteration, isDead: isDead && unit.kind !== 'controlTrigger' });
  }

  // Units.
  /** Runs a unit; control flow, of which there is much, is done at once. */
  private runUnit(ready: Ready): void | Promise<void> {
    const { unit, iteration } = ready;
    const first = unit.firstInput;
    const inputs = iteration.inputs.slice(first, first + unit.inputs.length);
    iteration.inputs.fill(undefined, first, first + unit.inputs.length);
    if (ready.isDead) return this.finish(ready, new Array<Token>(unit.outputs.length).fill(null));
    if (unit.kind !== 'cluster') return this.direct(ready, inputs);
    // A unit that is alive has all its inputs; a merge has at least one.
    return this.dataflow
      .runCluster(unit, inputs as NDArray[], this.scope)
      .then((outputs) => this.finish(ready, outputs));
  }

  /** Plays the part of a node of control flow. */
  private direct(ready: Ready, inputs: readonly (Token | undefined)[]): void | Promise<void> {
    const { unit } = ready;
    switch (unit.kind) {
      case 'switch': {
        const choice = this.input(unit, inputs, 1);
        const data = this.input(unit, inputs, 0);
        if (!Reference.in(choice)) return this.finish(ready, this.switched(unit, data, choice));
        return this.valueOf(choice).then((value) => this.finish(ready, this.switched(unit, data, value)));
      }
      case 'merge': {
        const taken = inputs.findIndex((token) => token);
        return this.finish(ready, [this.input(unit, inputs, taken), scalar(int32, taken)]);
      }
      case 'controlTrigger':
        return this.finish(ready, []);
      default:
        return this.finish(ready, [this.input(unit, inputs, 0)]);
    }
  }

  private switched({ nodes: [node], outputs }: Unit, data: NDArray, choice: NDArray): Token[] {
    if (choice.rank > 0)
      throw new InvalidArgumentError(
        `The second input must be a scalar, but it has shape ${showRuntime(choice.shape)}`,
        { node: node!.name },
      );
    const last = outputs.length - 1;
    const at = choice.numberAt(0);
    const chosen = at < 0 || at > last ? last : at;
    return outputs.map((_, i) => (i === chosen ? data : null));
  }

  /** An input of a control flow node. It may stay a reference, but where a value is meant there must be one. */
  private input({ nodes: [node] }: Unit, inputs: readonly (Token | undefined)[], slot: number): NDArray {
    const token = inputs[slot];
    if (!token) throw new InternalError(`'${node!.name}' ran without its input ${slot}`);
    const variable = Reference.in(token)?.variable;
    if (variable && !variable.shape && !node!.refInputs[slot]) throw uninitialized(variable.name, node!.name);
    return token;
  }

  /** The content of a variable, where a token is a reference. */
  private async valueOf(token: NDArray, reader?: string): Promise<NDArray> {
    const variable = Reference.in(token)?.variable;
    if (!variable) return token;
    if (!variable.shape) throw uninitialized(variable.name, reader);
    if (variable.objects) return variable.objects.copy();
    const given = this.dataflow.device.toHost(variable.storage!.buffer, variable.dtype, variable.shape);
    // Memory that is shared is copied before anyone else has a turn.
    return given instanceof NDArray ? given.copy() : await given;
  }

  /** A unit has done its work: what it gives goes on. */
  private finish(ready: Ready, outputs: readonly Token[]): void | Promise<void> {
    if (ready.unit.outputs.some(({ fetches }, k) => fetches.length > 0 && outputs[k]))
      return this.fetch(ready.unit, outputs).then(() => this.propagate(ready, outputs));
    this.propagate(ready, outputs);
  }

  private async fetch(unit: Unit, outputs: readonly Token[]): Promise<void> {
    for (const [k, { port, fetches }] of unit.outputs.entries()) {
      const token = outputs[k];
      if (!token) continue;
      for (const i of fetches) {
        if (this.fetched[i])
          throw new InternalError(`Retval[${this.place(port)}] has already been set.`, { node: port.node.name });
        const value = await this.valueOf(token, port.node.name);
        this.fetched[i] = value === token ? value.copy() : value;
      }
    }
  }

  // What happens when a unit is done.
  private propagate({ unit, frame, iteration, isDead }: Ready, outputs: readonly Token[]): void {
    switch (unit.kind) {
      case 'enter':
        this.enter(unit, outputs[0]!, frame, iteration);
        break;
      case 'exit':
        if (!isDead) this.activate(unit, outputs, frame.parent!.frame, frame.parent!.iteration, false);
        else if (iteration.index === frame.newest) frame.deadExits.push(unit);
        break;
      case 'nextIteration':
        // Nothing dead goes into another iteration: so loops end.
        if (!isDead) this.continueLoop(unit, outputs[0]!, frame, iteration);
        break;
      default:
        this.activate(unit, outputs, frame, iteration, isDead);
    }
    iteration.ready--;
    this.settle(frame, iteration);
  }

  private enter(unit: Unit, token: Token, outer: Frame, iteration: Iteration): void {
    const frame = this.innerFrame(this.dataflow.graph.layoutBehind(unit), outer, iteration);
    frame.openEntrances--;
    const first = frame.iterations.get(0)!;
    if (unit.nodes[0]!.attrs['is_constant']) {
      frame.invariants.push({ unit, token });
      for (const each of frame.iterations.values()) this.activate(unit, [token], frame, each, token === null);
    } else this.activate(unit, [token], frame, first, token === null);
    // Nothing may come of the last entrance.
    if (first.ready === 0) this.settle(frame, first);
  }

  private innerFrame(layout: FrameLayout, outer: Frame, iteration: Iteration): Frame {
    let inner = this.frames.get(iteration);
    if (!inner) this.frames.set(iteration, (inner = new Map()));
    let frame = inner.get(layout);
    if (!frame) {
      inner.set(layout, (frame = new Frame(layout, { frame: outer, iteration })));
      iteration.loops++;
    }
    return frame;
  }

  private continueLoop(unit: Unit, token: Token, frame: Frame, iteration: Iteration): void {
    if (iteration.index < frame.newest) {
      const next = frame.iterations.get(iteration.index + 1)!;
      this.activate(unit, [token], frame, next, false);
    } else if (frame.iterations.size >= frame.layout.frame.parallelIterations) frame.deferred.push({ unit, token });
    else this.activate(unit, [token], frame, this.newIteration(frame), false);
  }

  private newIteration(frame: Frame): Iteration {
    const iteration = new Iteration(frame.layout, ++frame.newest);
    frame.iterations.set(frame.newest, iteration);
    frame.deadExits = [];
    const { deferred } = frame;
    frame.deferred = [];
    for (const { unit, token } of [...deferred, ...frame.invariants])
      this.activate(unit, [token], frame, iteration, token === null);
    return iteration;
  }

  /** Hands a unit's outputs to those who wait for them, in one iteration. */
  private activate(unit: Unit, outputs: readonly Token[], frame: Frame, iteration: Iteration, isDead: boolean): void {
    const isEntrance = unit.kind === 'enter';
    for (let k = 0; k < unit.outputs.length; k++)
      for (const consumer of unit.outputs[k]!.consumers)
        this.deliver(consumer, outputs[k]!, frame, iteration, isEntrance);
    for (const follower of unit.followers) {
      const at = follower.position;
      if (follower.kind === 'merge') {
        const left = (iteration.pending[at]! -= 2);
        const dead = iteration.deadInputs[at] === follower.inputs.length;
        if (left === 0 || (left === 1 && dead)) this.wake(follower, frame, iteration, left === 1);
      } else {
        if (isDead) iteration.deadInputs[at]!++;
        if (--iteration.pending[at]! === 0) this.wake(follower, frame, iteration, iteration.deadInputs[at]! > 0);
      }
    }
  }

  private deliver(
    { unit, slot }: Consumer,
    token: Token,
    frame: Frame,
    iteration: Iteration,
    isEntrance: boolean,
  ): void {
    const at = unit.position;
    const { pending, deadInputs } = iteration;
    if (unit.kind !== 'merge') {
      iteration.inputs[unit.firstInput + slot] = token;
      if (token === null) deadInputs[at]!++;
      if (--pending[at]! === 0) this.wake(unit, frame, iteration, deadInputs[at]! > 0);
    } else if (token === null) {
      const dead = ++deadInputs[at]!;
      // A loop in a branch that is not taken is dead although nothing will ever come back to its beginning.
      if (pending[at] === 1 && (dead === unit.inputs.length || isEntrance)) {
        pending[at] = 0;
        this.wake(unit, frame, iteration, true);
      }
    } else if (pending[at]! & 1) {
      // The first live input counts.
      iteration.inputs[unit.firstInput + slot] = token;
      pending[at]!--;
      if (pending[at] === 0) this.wake(unit, frame, iteration, false);
    }
  }

  // Endings.
  /** With the last unit of an iteration the iteration may be over, and the loop, and what is around it. */
  private settle(first: Frame, last: Iteration): void {
    let [frame, iteration] = [first, last];
    while (this.endIterations(frame, iteration) && frame.parent) {
      const { frame: outer, iteration: around } = frame.parent;
      for (const exit of frame.deadExits) this.activate(exit, [null], outer, around, true);
      const inner = this.frames.get(around)!;
      inner.delete(frame.layout);
      if (inner.size === 0) this.frames.delete(around);
      around.loops--;
      [frame, iteration] = [outer, around];
    }
  }

  /** Forgets iterations that are over, beginning with this one; tells whether the frame is over. */
  private endIterations(frame: Frame, first: Iteration): boolean {
    let iteration: Iteration | undefined = first;
    while (iteration && frame.isOver(iteration)) {
      frame.iterations.delete(iteration.index);
      if (frame.deferred.length > 0) this.newIteration(frame);
      iteration = frame.iterations.get(iteration.index + 1);
    }
    return frame.openEntrances === 0 && frame.iterations.size === 0;
  }
}

function uninitialized(variable: string, node: string | undefined): FailedPreconditionError {
  return new FailedPreconditionError(`Attempting to use uninitialized value ${variable}`, { node });
}
