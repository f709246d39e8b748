/** @file Units: the pieces of a graph with frames that run one after the other, and what passes between them. */
import type { ControlFlow } from '../graph/opSchema.ts';
import { analyzeFrames, type FrameAnalysis, isBackEdge, type StaticFrame } from './frames.ts';
import type { Port, RunNode } from './runGraph.ts';
import { isPure, type Piece } from './simplify.ts';

/** Where a value goes: an input of a unit. */
export interface Consumer {
  readonly unit: Unit;
  readonly slot: number;
}

/** An output that others take, and who takes it. */
export interface UnitOutput {
  readonly port: Port;
  readonly consumers: Consumer[];
  readonly fetches: number[];
}

/** A node of control flow, or a cluster of ordinary nodes that always run together. */
export interface Unit {
  readonly kind: ControlFlow | 'cluster';
  /** The frame in which it waits for its inputs. */
  readonly layout: FrameLayout;
  /** Its place among the units of the frame. */
  readonly position: number;
  readonly nodes: readonly RunNode[];
  readonly inputs: readonly Port[];
  /** Where its inputs begin among those of the frame. */
  readonly firstInput: number;
  readonly outputs: UnitOutput[];
  /** The units that wait for it. */
  readonly followers: Unit[];
  /** How many units it waits for. */
  waits: number;
  /** Whether it may take until another unit has done something. */
  readonly mayWait: boolean;
}

/** The units of one frame. */
export class FrameLayout {
  readonly units: Unit[] = [];
  inputCount = 0;
  /** What each unit waits for when an iteration begins. */
  pending: readonly number[] = [];
  constructor(
    readonly frame: StaticFrame,
    /** How many entrances lead in. */
    readonly entrances: number,
  ) {}

  add(kind: Unit['kind'], nodes: readonly RunNode[], inputs: readonly Port[]): Unit {
    const unit: Unit = {
      kind,
      layout: this,
      position: this.units.length,
      nodes,
      inputs,
      firstInput: this.inputCount,
      outputs: [],
      followers: [],
      waits: 0,
      mayWait: nodes.some((node) => node.mayWait),
    };
    this.units.push(unit);
    this.inputCount += inputs.length;
    return unit;
  }
}

/** A graph as units: what begins at once, and where feeds go. */
export interface UnitGraph {
  readonly root: FrameLayout;
  /** The frame that an entrance leads to. */
  layoutBehind(unit: Unit): FrameLayout;
  /** By position among the feeds. */
  readonly feedConsumers: readonly (readonly Consumer[])[];
  readonly units: readonly Unit[];
}

/** Divides a piece of graph into units. With `joins` false every node is a unit of its own, which is slower and the same. */
export function divide({ nodes, feeds, fetches }: Piece, joins = true): UnitGraph {
  const feedIndex = new Map(feeds.map((port, i) => [keyOf(port), i]));
  const isFed = (port: Port) => feedIndex.has(keyOf(port));
  const analysis = analyzeFrames(nodes, isFed);
  const divider = new Divider(nodes, analysis, isFed, joins);
  const feedConsumers = feeds.map((): Consumer[] => []);
  divider.connect((port) => {
    const feed = feedIndex.get(keyOf(port));
    return feed === undefined ? undefined : feedConsumers[feed]!;
  });
  for (const [i, port] of fetches.entries()) if (!isFed(port)) divider.outputFor(port).fetches.push(i);
  const { units } = divider;
  for (const layout of divider.layouts.values()) layout.pending = layout.units.map(initiallyPending);
  return {
    root: divider.layoutOf(analysis.root),
    layoutBehind: ({ nodes: [enter] }) => divider.layoutOf(analysis.frameOf(enter!)),
    feedConsumers,
    units,
  };
}

/** A merge begins with its first live input, so the lowest bit says that none has come; each wait counts two. */
function initiallyPending({ kind, inputs, waits }: Unit): number {
  return kind === 'merge' ? 1 + 2 * waits : inputs.length + waits;
}

const keyOf = ({ node, index }: Port) => `${node.name}:${index}`;

class Divider {
  readonly layouts = new Map<StaticFrame, FrameLayout>();
  readonly units: Unit[] = [];
  private readonly unitOf = new Map<RunNode, Unit>();
  private readonly outputs = new Map<string, UnitOutput>();
  private readonly present: ReadonlySet<RunNode>;

  constructor(
    nodes: readonly RunNode[],
    private readonly analysis: FrameAnalysis,
    private readonly isFed: (port: Port) => boolean,
    joins: boolean,
  ) {
    this.present = new Set(nodes);
    const clusters = joins ? this.clusters(nodes) : undefined;
    const members = new Map<string, RunNode[]>();
    for (const node of nodes) {
      const cluster = clusters?.get(node) ?? node.name;
      const list = members.get(cluster) ?? [];
      list.push(node);
      members.set(cluster, list);
    }
    for (const list of members.values()) this.add(list);
  }

  layoutOf(frame: StaticFrame): FrameLayout {
    let layout = this.layouts.get(frame);
    if (!layout) this.layouts.set(frame, (layout = new FrameLayout(frame, frame.enters.length)));
    return layout;
  }

  private add(nodes: readonly RunNode[]): void {
    const [first] = nodes;
    const { controlFlow } = first!.def;
    const frame = this.analysis.frameOf(first!);
    // An entrance waits outside the frame it leads into.
    const layout = this.layoutOf(controlFlow === 'enter' ? frame.parent! : frame);
    const unit = layout.add(controlFlow ?? 'cluster', nodes, controlFlow ? first!.inputs : this.outerInputs(nodes));
    for (const node of nodes) this.unitOf.set(node, unit);
    if (controlFlow)
      for (let index = 0; index < first!.outputs.length; index++)
        unit.outputs.push({ port: { node: first!, index }, consumers: [], fetches: [] });
    this.units.push(unit);
  }

  /** What nodes read from others than themselves, each once. */
  private outerInputs(nodes: readonly RunNode[]): Port[] {
    const own = new Set(nodes);
    const inputs = new Map<string, Port>();
    for (const { inputs: ports } of nodes)
      for (const port of ports) if (this.isFed(port) || !own.has(port.node)) inputs.set(keyOf(port), port);
    return [...inputs.values()];
  }

  /** Links units; `fed` gives the consumers of a port that the caller feeds. */
  connect(fed: (port: Port) => Consumer[] | undefined): void {
    for (const unit of this.units) {
      for (const [slot, port] of unit.inputs.entries())
        (fed(port) ?? this.outputFor(port).consumers).push({ unit, slot });
      const before = new Set(unit.nodes.flatMap(({ control }) => control.filter((n) => this.present.has(n))));
      for (const other of new Set([...before].map((n) => this.unitOf.get(n)!)))
        if (other !== unit) {
          other.followers.push(unit);
          unit.waits++;
        }
    }
  }

  /** The entry of a unit's output, made when it is first asked for. */
  outputFor(port: Port): UnitOutput {
    const { outputs, kind } = this.unitOf.get(port.node)!;
    if (kind !== 'cluster') return outputs[port.index]!;
    let found = this.outputs.get(keyOf(port));
    if (!found) {
      outputs.push((found = { port, consumers: [], fetches: [] }));
      this.outputs.set(keyOf(port), found);
    }
    return found;
  }

  /**
   * The cluster of every ordinary node. Nodes that live and die together may run together, unless one needs something from
   * the other that passes through other units. Steps count such detours: along every edge the step stays or grows, and it
   * grows when the edge leaves the nodes of the same liveness, so no circle of clusters can wait for itself. Nor may a node
   * have to wait for a queue only because another of its cluster does.
   */
  private clusters(nodes: readonly RunNode[]): Map<RunNode, string> {
    const keys = this.keysOf(nodes);
    let entered = new Map<StaticFrame, number>();
    let steps = new Map<RunNode, number>();
    // Loop variables that enter late should not make clusters of their own, so a loop begins with its last entrance.
    for (let round = 0; round < maxRounds; round++) {
      steps = this.stepsOf(nodes, keys, entered);
      const next = new Map<StaticFrame, number>();
      for (const frame of this.layoutsIn(nodes))
        next.set(frame, Math.max(0, ...frame.enters.map((node) => steps.get(node)!)));
      const isStable = [...next].every(([frame, step]) => entered.get(frame) === step);
      entered = next;
      if (isStable) break;
    }
    const clusters = new Map<RunNode, string>();
    for (const node of nodes) if (!node.def.controlFlow) clusters.set(node, `${keys.get(node)}\n${steps.get(node)}`);
    return clusters;
  }

  private layoutsIn(nodes: readonly RunNode[]): Set<StaticFrame> {
    return new Set(nodes.map((node) => this.analysis.frameOf(node)));
  }

  /** What nodes must have in common to run together: when they live, and for which ops that may wait they have to wait. */
  private keysOf(nodes: readonly RunNode[]): Map<RunNode, string> {
    const none: ReadonlySet<string> = new Set();
    const waits = new Map<RunNode, ReadonlySet<string>>();
    const keys = new Map<RunNode, string>();
    for (const node of nodes) {
      const before = new Set<ReadonlySet<string>>();
      for (const port of node.inputs)
        if (!this.isFed(port) && !isBackEdge(node, port)) before.add(waits.get(port.node)!);
      for (const other of node.control) if (this.present.has(other)) before.add(waits.get(other)!);
      if (node.mayWait) before.add(new Set([node.name]));
      const [first = none, ...others] = before;
      const own = others.length === 0 ? first : new Set([...before].flatMap((set) => [...set]));
      waits.set(node, own);
      const key = this.analysis.keyOf(node);
      keys.set(node, own.size === 0 ? key : `${key}|${[...own].sort().join()}`);
    }
    return keys;
  }

  private stepsOf(
    nodes: readonly RunNode[],
    keys: ReadonlyMap<RunNode, string>,
    entered: ReadonlyMap<StaticFrame, number>,
  ): Map<RunNode, number> {
    const steps = new Map<RunNode, number>();
    for (const node of nodes) {
      const isOrdinary = !node.def.controlFlow;
      let step = 0;
      const after = (from: RunNode) => {
        const stays = isOrdinary && !from.def.controlFlow && keys.get(from) === keys.get(node);
        const its = from.def.controlFlow === 'enter' ? (entered.get(this.analysis.frameOf(from)) ?? 0) : 0;
        step = Math.max(step, Math.max(steps.get(from)!, its) + (stays ? 0 : 1));
      };
      for (const port of node.inputs) if (!this.isFed(port) && !isBackEdge(node, port)) after(port.node);
      for (const before of node.control) if (this.present.has(before)) after(before);
      steps.set(node, step);
    }
    return steps;
  }
}

/** Loops inside loops settle one round each; what is not settled then is only less joined. */
const maxRounds = 8;

/** A cluster as a piece of graph of its own: what comes from other units is fed. */
export interface Cluster {
  readonly piece: Piece;
  /** For each output of the unit what gives it: a fetch of the piece, or an input of the unit that is only handed on. */
  readonly results: readonly ({ readonly fetch: number } | { readonly input: number })[];
}

/** `isWanted` tells of nodes that must run although nothing is taken from them. */
export function clusterOf({ nodes, inputs, outputs }: Unit, isWanted: (node: RunNode) => boolean): Cluster {
  const copies = new Map<RunNode, RunNode>();
  const slots = new Map(inputs.map((port, slot) => [keyOf(port), slot]));
  const inside = (port: Port): Port =>
    slots.has(keyOf(port)) ? port : { node: copies.get(port.node)!, index: port.index };
  // Nodes run in their order and those with effects always run, so nothing has to wait by an edge.
  for (const node of nodes) copies.set(node, { ...node, inputs: node.inputs.map(inside), control: [] });
  const targets = nodes.filter((node) => isWanted(node) || !isPure(copies.get(node)!));
  const fetches: Port[] = [];
  const results = outputs.map(({ port }) => {
    const from = handedOn(port, slots);
    const input = slots.get(keyOf(from));
    return input === undefined ? { fetch: fetches.push(inside(from)) - 1 } : { input };
  });
  const piece = {
    nodes: [...copies.values()],
    feeds: inputs,
    fetches,
    targets: targets.map((node) => copies.get(node)!),
  };
  return { piece, results };
}

/**
 * Where a value comes from that nodes only hand on. What is read from a reference variable this way is TensorFlow's name for
 * the variable's memory, which shows later assignments; it stays a reference until something computes with it.
 */
function handedOn(port: Port, slots: ReadonlyMap<string, number>): Port {
  let at = port;
  while (!slots.has(keyOf(at)) && at.node.def.isIdentity) at = at.node.inputs[0]!;
  const isReference = at.node.outputs[at.index]!.isRef;
  return isReference || slots.has(keyOf(at)) ? at : port;
}
