/** @file Frames: which loop each node of a graph belongs to, and which nodes are always alive or dead together. */
import { InternalError, InvalidArgumentError } from '../core/errors.ts';
import type { Port, RunNode } from './runGraph.ts';

/** A loop as the graph has it; the root stands for what is in no loop. */
export interface StaticFrame {
  readonly name: string;
  readonly parent: StaticFrame | undefined;
  readonly enters: RunNode[];
  /** How many iterations may be under way at once. */
  readonly parallelIterations: number;
}

/** The nodes of a run and what is known of them before it. */
export interface FrameAnalysis {
  readonly root: StaticFrame;
  frameOf(node: RunNode): StaticFrame;
  /**
   * A text that two nodes share only if, in every iteration of their frame, both run, both are dead, or neither gets there.
   */
  keyOf(node: RunNode): string;
}

/**
 * Whether nodes must be run by frames, not as one program: some of them can make values dead, live in loops, or may wait for
 * each other.
 */
export function hasFrames(nodes: readonly RunNode[]): boolean {
  let waiting = 0;
  for (const { def, mayWait } of nodes) {
    if (def.controlFlow !== undefined && def.controlFlow !== 'controlTrigger') return true;
    if (mayWait && ++waiting > 1) return true;
  }
  return false;
}

export const isBackEdge = (node: RunNode, { node: from }: Port): boolean =>
  node.def.controlFlow === 'merge' && from.def.controlFlow === 'nextIteration';

/** Analyses nodes in an order that can be run; `isFed` tells of ports whose value the caller gives. */
export function analyzeFrames(nodes: readonly RunNode[], isFed: (port: Port) => boolean): FrameAnalysis {
  const frames = new FrameFinder(nodes, isFed);
  const irregular = new Set<StaticFrame>();
  for (;;) {
    const liveness = new Liveness(nodes, frames, isFed, irregular);
    const broken = liveness.brokenFrames();
    if (broken.length === 0)
      return { root: frames.root, frameOf: (n) => frames.frameOf(n), keyOf: (n) => liveness.keyOf(n) };
    for (const frame of broken) irregular.add(frame);
  }
}

/** Finds the frame of every node: that of its inputs, one further in for an entrance, one further out behind an exit. */
class FrameFinder {
  readonly root: StaticFrame = { name: '', parent: undefined, enters: [], parallelIterations: 1 };
  private readonly frames = new Map<string, StaticFrame>();
  private readonly found = new Map<RunNode, StaticFrame>();
  private readonly present: ReadonlySet<RunNode>;

  constructor(
    nodes: readonly RunNode[],
    private readonly isFed: (port: Port) => boolean,
  ) {
    this.present = new Set(nodes);
    for (const node of nodes) {
      const around = this.frameAround(node);
      this.found.set(node, node.def.controlFlow === 'enter' ? this.entered(node, around) : around);
    }
  }

  frameOf(node: RunNode): StaticFrame {
    return this.found.get(node)!;
  }

  /** The frame in which a node's outputs are. */
  private outside(node: RunNode): StaticFrame {
    const frame = this.found.get(node);
    if (!frame) throw new InternalError(`'${node.name}' comes after a node that needs it`);
    return node.def.controlFlow === 'exit' ? (frame.parent ?? frame) : frame;
  }

  private frameAround(node: RunNode): StaticFrame {
    let frame: StaticFrame | undefined;
    let because: RunNode | undefined;
    const see = (from: RunNode, its: StaticFrame) => {
      frame ??= its;
      because ??= from;
      if (its !== frame)
        throw new InvalidArgumentError(
          `{{node ${node.name}}} has inputs from different frames. The input {{node ${from.name}}} is in frame '${its.name}'. The input {{node ${because.name}}} is in frame '${frame.name}'.`,
          { node: node.name },
        );
    };
    for (const port of node.inputs) {
      if (isBackEdge(node, port)) continue;
      see(port.node, this.isFed(port) ? this.root : this.outside(port.node));
    }
    for (const before of node.control) if (this.present.has(before)) see(before, this.outside(before));
    return frame ?? this.root;
  }

  private entered(node: RunNode, parent: StaticFrame): StaticFrame {
    const { frame_name: name, parallel_iterations: parallelIterations } = node.attrs as {
      frame_name: string;
      parallel_iterations: number;
    }; // as entrances declare them
    if (name === '')
      throw new InvalidArgumentError(`The Enter {{node ${node.name}}} must have a frame name.`, { node: node.name });
    let frame = this.frames.get(name);
    if (!frame) this.frames.set(name, (frame = { name, parent, enters: [], parallelIterations }));
    if (frame.parent !== parent)
      throw new InternalError(
        `Invalid loop structure: Mismatched parent frames for "${name}": "${parent.name}" vs "${frame.parent?.name}". The node giving this error: {{node ${node.name}}}`,
        { node: node.name },
      );
    frame.enters.push(node);
    return frame;
  }
}

/**
 * What must be so for a node to be alive, as a set of conditions all of which must hold: a node is dead when any of its
 * inputs is. Equal sets mean that nodes live and die together.
 *
 * Conditions are texts: `p5of2:1` (predicate number 5 chose output 1 of 2), `enter:f` (something entered the loop f alive), `turn:f` (its
 * loop variables are alive in this iteration), and one of its own for every node of which nothing better is known. That
 * all loop variables of a frame live and die together is assumed at first; it holds by induction over the iterations if it
 * follows from itself, which `brokenFrames` looks at.
 */
class Liveness {
  private readonly conditions = new Map<RunNode, ReadonlySet<string>>();
  private readonly keys = new Map<RunNode, string>();
  /** What the outputs of switches need. */
  private readonly chosen = new Map<RunNode, ReadonlySet<string>[]>();
  private readonly predicates = new Map<string, number>();
  private readonly ends = new Map<StaticFrame, { next: RunNode[]; exit: RunNode[] }>();
  private readonly present: ReadonlySet<RunNode>;

  constructor(
    nodes: readonly RunNode[],
    private readonly frames: FrameFinder,
    private readonly isFed: (port: Port) => boolean,
    private readonly irregular: ReadonlySet<StaticFrame>,
  ) {
    this.present = new Set(nodes);
    for (const node of nodes) {
      const conditions = this.conditionsOf(node);
      this.conditions.set(node, conditions);
      this.note(node);
    }
  }

  keyOf(node: RunNode): string {
    let key = this.keys.get(node);
    if (key === undefined) {
      const frame = this.frames.frameOf(node);
      key = `${frame.name}|${[...this.conditions.get(node)!].sort().join()}`;
      this.keys.set(node, key);
    }
    return key;
  }

  private note(node: RunNode): void {
    const frame = this.frames.frameOf(node);
    const ends = this.ends.get(frame) ?? { next: [], exit: [] };
    this.ends.set(frame, ends);
    if (node.def.controlFlow === 'nextIteration') ends.next.push(node);
    if (node.def.controlFlow === 'exit') ends.exit.push(node);
  }

  /** Frames of which the assumption does not follow from itself. */
  brokenFrames(): StaticFrame[] {
    return [...this.ends.keys()].filter(
      (frame) => frame.parent && !this.irregular.has(frame) && !this.isRegular(frame),
    );
  }

  private isRegular(frame: StaticFrame): boolean {
    const { next, exit } = this.ends.get(frame)!;
    const entered = this.enteringVariables(frame);
    if (!entered) return false;
    // All loop variables enter together, and what is the same in every iteration is there if they are.
    for (const node of frame.enters)
      if (!follows(this.ofInputs(node), entered, !node.attrs['is_constant'])) return false;
    const again = new Set(next.map((node) => this.textOf(this.conditions.get(node)!)));
    const left = new Set(exit.map((node) => this.textOf(this.ofInputs(node))));
    if (again.size !== 1 || left.size > 1) return false;
    const turn = turnOf(frame);
    const goesOn = new RegExp(`^(p\\d+of2):1,${escaped(turn)}$`).exec([...again][0]!);
    const [out] = left;
    return goesOn !== null && (out === undefined || out === `${goesOn[1]}:0,${turn}`);
  }

  /** What a loop variable needs outside of the loop. */
  private enteringVariables(frame: StaticFrame): ReadonlySet<string> | undefined {
    const variable = frame.enters.find(({ attrs }) => !attrs['is_constant']);
    return variable && this.ofInputs(variable);
  }

  private textOf(conditions: ReadonlySet<string>): string {
    return [...conditions].sort().join();
  }

  private conditionsOf(node: RunNode): ReadonlySet<string> {
    const frame = this.frames.frameOf(node);
    const isRegular = !this.irregular.has(frame);
    switch (node.def.controlFlow) {
      case 'enter':
        return new Set(isRegular ? [enterOf(frame, this.textOf(this.ofInputs(node)))] : [ownOf(node)]);
      case 'exit':
        // A loop that is entered alive is left alive, whenever that is.
        return (isRegular && this.enteringVariables(frame)) || new Set([ownOf(node)]);
      case 'merge':
        return this.ofMerge(node, isRegular ? frame : undefined);
      case 'controlTrigger':
        return this.ofTrigger(node);
      default:
        return this.ofInputs(node);
    }
  }

  /** A trigger is never dead. It may only come to nothing, where something that it waits for does not come at all. */
  private ofTrigger(node: RunNode): ReadonlySet<string> {
    const mayNotCome = [...this.ofInputs(node)].some((c) => c.startsWith('node:') || c.startsWith('first:'));
    return mayNotCome ? new Set([ownOf(node)]) : always;
  }

  /** All that the inputs need. */
  private ofInputs(node: RunNode): ReadonlySet<string> {
    const parts = new Set<ReadonlySet<string>>();
    for (const port of node.inputs) if (!this.isFed(port)) parts.add(this.ofPort(port, node));
    for (const before of node.control) if (this.present.has(before)) parts.add(this.conditions.get(before)!);
    // Most nodes need what their only neighbours need; one set for all of them keeps large graphs small.
    const [first = always, ...others] = parts;
    return others.length === 0 ? first : implied(new Set([...parts].flatMap((part) => [...part])));
  }

  private ofPort({ node, index }: Port, consumer: RunNode): ReadonlySet<string> {
    const own = this.conditions.get(node)!;
    const { controlFlow } = node.def;
    if (controlFlow === 'switch') {
      const chosen = this.chosen.get(node) ?? [];
      this.chosen.set(node, chosen);
      chosen[index] ??= new Set([...own, this.choiceOf(node, index)]);
      return chosen[index];
    }
    // An entrance that is not the same in every iteration is there in the first one only.
    if (controlFlow === 'enter' && !node.attrs['is_constant'] && consumer.def.controlFlow !== 'merge')
      return new Set([...own, `first:${this.frames.frameOf(node).name}`]);
    return own;
  }

  /** A merge lives if any of its inputs does. */
  private ofMerge(node: RunNode, regular: StaticFrame | undefined): ReadonlySet<string> {
    const isLoop = node.inputs.some((port) => isBackEdge(node, port));
    if (isLoop) {
      const others = node.inputs.filter((port) => !isBackEdge(node, port));
      const enters = others.every((p) => p.node.def.controlFlow === 'enter' && !p.node.attrs['is_constant']);
      return new Set([regular && enters && others.length > 0 ? turnOf(regular) : ownOf(node)]);
    }
    const ways = node.inputs.map((port) =>
      this.isFed(port) ? new Set<string>() : implied(new Set(this.ofPort(port, node))),
    );
    return allWays(ways) ?? new Set([ownOf(node)]);
  }

  /** The condition that a switch sends its value to this output. */
  private choiceOf(node: RunNode, index: number): string {
    const { node: from, index: at } = this.sourceOf(node.inputs[1]!);
    const name = `${from.name}:${at}`;
    let id = this.predicates.get(name);
    if (id === undefined) this.predicates.set(name, (id = this.predicates.size));
    return `p${id}of${node.outputs.length}:${index}`;
  }

  /** Where a value that is only handed on comes from. */
  private sourceOf(port: Port): Port {
    let at = port;
    while (!this.isFed(at) && (at.node.def.isIdentity || at.node.def.controlFlow === 'loopCond')) {
      const [from] = at.node.inputs;
      if (from!.node.outputs[from!.index]!.isRef) break;
      at = from!;
    }
    return at;
  }
}

const always: ReadonlySet<string> = new Set();
const enterOf = (frame: StaticFrame, needed: string) => `enter:${frame.name}\0${needed}`;
const turnOf = (frame: StaticFrame) => `turn:${frame.name}`;
/** The loop that a condition of entering it is about. */
const loopOf = (condition: string) => /^enter:([^\0]*)\0/.exec(condition)?.[1];
const ownOf = (node: RunNode) => `node:${node.name}`;
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Without what follows from the rest: where loop variables are alive, so is all that entered the loop. */
function implied(conditions: Set<string>): ReadonlySet<string> {
  for (const condition of conditions) if (conditions.has(`turn:${loopOf(condition)}`)) conditions.delete(condition);
  return conditions;
}

/** Whether what is `needed` is there whenever `given` is; `exactly` if the converse must hold as well. */
function follows(needed: ReadonlySet<string>, given: ReadonlySet<string>, exactly: boolean): boolean {
  for (const condition of needed) if (!given.has(condition) && !given.has(`turn:${loopOf(condition)}`)) return false;
  return !exactly || needed.size === given.size;
}

/** What is left when one of several ways always holds: the ways must differ in one choice, and make all of its options. */
function allWays(ways: readonly ReadonlySet<string>[]): ReadonlySet<string> | undefined {
  const [first] = ways;
  if (!first) return undefined;
  const common = new Set([...first].filter((c) => ways.every((way) => way.has(c))));
  const rests = ways.map((way) => [...way].filter((c) => !common.has(c)));
  if (rests.some((rest) => rest.length === 0)) return common;
  const choices = rests.map((rest) => (rest.length === 1 ? /^p\d+of(\d+):/.exec(rest[0]!) : null));
  const [choice] = choices;
  // The same choice among the same number of options has the same beginning.
  if (!choice || choices.some((other) => other?.[0] !== choice[0])) return undefined;
  return new Set(rests.map((rest) => rest[0])).size === Number(choice[1]) ? common : undefined;
}
