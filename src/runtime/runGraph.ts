/** @file The runtime's own copy of a graph: nodes from NodeDefs, checked, linked and in an order that can be run. */
import { InvalidArgumentError, NotFoundError } from '../core/errors.ts';
import { finish, type Work } from '../core/eventLoop.ts';
import type { PortType } from '../graph/opSchema.ts';
import { findOp, type OpDefinition } from '../op/registry.ts';
import type { AttrValue } from '../proto/attr.ts';
import type { NodeDef } from '../proto/graph.ts';

/** One output of a node. */
export interface Port {
  readonly node: RunNode;
  readonly index: number;
}

/** A node ready to run. */
export interface RunNode {
  readonly name: string;
  readonly def: OpDefinition;
  readonly attrs: Record<string, unknown>;
  readonly rawAttrs: Record<string, AttrValue>;
  readonly inputs: readonly Port[];
  readonly control: readonly RunNode[];
  readonly device: string;
  readonly outputs: readonly PortType[];
  /** Whether each input takes a reference rather than a value. */
  readonly refInputs: readonly boolean[];
  /** Whether it may wait for what another node does, or end such a wait; a node that calls a function does what is in it. */
  readonly mayWait: boolean;
  /** Grows along every edge: sorting by it gives an order that can be run. */
  order: number;
}

/** The names of the functions that a node calls. */
export function* functionsIn(attrs: Readonly<Record<string, AttrValue>>): Generator<string> {
  for (const { func, list } of Object.values(attrs)) {
    if (func) yield func.name;
    for (const each of list?.func ?? []) yield each.name;
  }
}

/** A mutable node while a batch of NodeDefs is being linked. */
type Draft = { -readonly [K in keyof RunNode]: RunNode[K] };

/** All nodes of a session's graph; grows by `extend`, never changes otherwise. */
export class RunGraph {
  private readonly nodes = new Map<string, RunNode>();
  private nextOrder = 0;

  constructor(
    /** Finds the meaning of op types. */
    private readonly lookup: (type: string) => OpDefinition = findOp,
    /** Whether a node of a function may wait. */
    private readonly functionMayWait: (name: string) => boolean = () => false,
  ) {}

  get size(): number {
    return this.nodes.size;
  }

  /** Adds nodes; on any error none of them is added. */
  extend(defs: readonly NodeDef[]): void {
    finish(this.extending(defs));
  }

  /** `extend`, for graphs so large that it must be interrupted. */
  *extending(defs: readonly NodeDef[]): Work {
    const batch = new Map<string, NodeDef>();
    for (const def of defs) {
      if (this.nodes.has(def.name))
        throw new InvalidArgumentError(
          `GraphDef argument to Extend includes node '${def.name}', which was created by a previous call to Create or Extend in this session.`,
        );
      if (batch.has(def.name)) throw new InvalidArgumentError(`Node '${def.name}' is not unique`);
      batch.set(def.name, def);
    }
    const made = new Map<string, RunNode>();
    const find = (name: string) => made.get(name) ?? this.nodes.get(name);
    let order = this.nextOrder;
    for (const def of yield* this.sorted(batch)) {
      const node = this.link(def, find, batch);
      node.order = order++;
      made.set(node.name, node);
      yield;
    }
    for (const node of made.values()) if (node.def.controlFlow === 'merge') closeLoop(node, find);
    for (const [name, node] of made) this.nodes.set(name, node);
    this.nextOrder = order;
  }

  private link(def: NodeDef, find: (name: string) => RunNode | undefined, batch: ReadonlyMap<string, NodeDef>): Draft {
    const op = this.lookup(def.op);
    const inputs: Port[] = [];
    const control: RunNode[] = [];
    for (const text of def.input) {
      const { name, index, isControl } = parseInput(text);
      const node = find(name) ?? (isControl ? undefined : this.standIn(def, batch.get(name)));
      if (!node) throw new InvalidArgumentError(`Node '${def.name}': Unknown input node '${text}'`, { node: def.name });
      if (isControl) control.push(node);
      else {
        if (index >= node.outputs.length)
          throw new InvalidArgumentError(
            `Node '${def.name}': Connecting to invalid output ${index} of source node ${node.name} which has ${node.outputs.length} outputs.${outputsAdvice(node)}`,
            { node: def.name },
          );
        inputs.push({ node, index });
      }
    }
    try {
      const types = inputs.map(({ node, index }) => node.outputs[index]!);
      const rawAttrs = op.complete(def.attr, types);
      const attrs = op.decodeAttrs({ attrs: rawAttrs });
      return {
        name: def.name,
        def: op,
        attrs,
        rawAttrs,
        inputs,
        control,
        device: def.device,
        outputs: op.outputs(rawAttrs),
        refInputs: op.refInputs(attrs),
        mayWait: op.mayWait || [op.name, ...functionsIn(rawAttrs)].some(this.functionMayWait),
        order: 0,
      };
    } catch (error) {
      if (error instanceof InvalidArgumentError)
        throw new InvalidArgumentError(`${error.message}\n\t [[{{node ${def.name}}}]]`, {
          node: def.name,
          op: def.op,
          cause: error,
        });
      throw error;
    }
  }

  /** The end of a loop as its beginning sees it, before it can be linked itself. */
  private standIn(consumer: NodeDef, def: NodeDef | undefined): RunNode | undefined {
    if (!def || !this.closesLoop(consumer, def)) return undefined;
    const op = this.lookup(def.op);
    return {
      name: def.name,
      def: op,
      attrs: {},
      rawAttrs: def.attr,
      inputs: [],
      control: [],
      device: def.device,
      outputs: op.outputs(def.attr),
      refInputs: [],
      mayWait: false,
      order: 0,
    };
  }

  private closesLoop(consumer: NodeDef, producer: NodeDef): boolean {
    return this.lookup(producer.op).controlFlow === 'nextIteration' && this.lookup(consumer.op).controlFlow === 'merge';
  }

  /** NodeDefs in an order where inputs come first, but for the ends of loops; TensorFlow's files may list them in any order. */
  private *sorted(batch: ReadonlyMap<string, NodeDef>): Work<NodeDef[]> {
    const result: NodeDef[] = [];
    const state = new Map<string, 'open' | 'done'>();
    for (const root of batch.values()) {
      yield;
      const stack = [root];
      while (stack.length > 0) {
        const def = stack.at(-1)!;
        if (state.get(def.name) === 'done') {
          stack.pop();
          continue;
        }
        state.set(def.name, 'open');
        let ready = true;
        for (const text of def.input) {
          const { name, isControl } = parseInput(text);
          const before = batch.get(name);
          if (!before || state.get(before.name) === 'done') continue;
          if (!isControl && this.closesLoop(def, before)) continue;
          if (state.get(before.name) === 'open')
            throw new InvalidArgumentError(`The graph has a cycle through node '${def.name}' and its input '${text}'`);
          stack.push(before);
          ready = false;
        }
        if (ready) {
          state.set(def.name, 'done');
          result.push(def);
          stack.pop();
        }
      }
    }
    return result;
  }

  find(name: string): RunNode | undefined {
    return this.nodes.get(name);
  }

  /** The port of a tensor name such as `y:0`. */
  port(text: string, what: 'FetchOutputs' | 'FeedInputs'): Port {
    const { name, index } = parseInput(text);
    const node = this.nodes.get(name);
    if (!node)
      throw what === 'FetchOutputs'
        ? new NotFoundError(`FetchOutputs node ${text}: not found`)
        : new InvalidArgumentError(`FeedInputs: unable to find feed output ${text}`);
    if (index >= node.outputs.length)
      throw new InvalidArgumentError(`${what} ${text}: output index too large, must be < ${node.outputs.length}`);
    return { node, index };
  }

  target(name: string): RunNode {
    const node = this.nodes.get(name);
    if (!node) throw new NotFoundError(`PruneForTargets: Some target nodes not found: ${name}`);
    return node;
  }
}

function parseInput(text: string): { name: string; index: number; isControl: boolean } {
  if (text.startsWith('^')) return { name: text.slice(1), index: -1, isControl: true };
  const colon = text.lastIndexOf(':');
  const index = colon < 0 ? 0 : Number(text.slice(colon + 1));
  if (colon < 0 || !Number.isInteger(index)) return { name: text, index: 0, isControl: false };
  return { name: text.slice(0, colon), index, isControl: false };
}

/** A client that built a gradient after a run may want outputs of a branch or loop that it did not send then. */
function outputsAdvice({ def }: RunNode): string {
  const hasBodies = Object.values(def.attrSpecs).some(({ kind }) => kind === 'func' || kind === 'list(func)');
  return hasBodies ? ' Try using tf.compat.v1.experimental.output_all_intermediates(True).' : '';
}

/** Puts the real end of a loop where its stand-in was. */
function closeLoop(node: Draft, find: (name: string) => RunNode | undefined): void {
  node.inputs = node.inputs.map((port) => ({ node: find(port.node.name)!, index: port.index }));
}

/** Nothing is left to wait for when a node that computes nothing itself, such as a placeholder, is fed. */
function isOnlyFed(node: RunNode, fed: (port: Port) => boolean): boolean {
  const computes = node.inputs.length > 0 || node.control.length > 0 || node.def.isStateful;
  return !computes && node.outputs.length > 0 && node.outputs.every((_, index) => fed({ node, index }));
}

/** The nodes needed for some ports and targets, in an order that can be run; what is fed is not looked behind. */
export function prune(roots: readonly RunNode[], fed: (port: Port) => boolean): RunNode[] {
  return finish(pruning(roots, fed));
}

/** `prune`, for graphs so large that it must be interrupted. */
export function* pruning(roots: readonly RunNode[], fed: (port: Port) => boolean): Work<RunNode[]> {
  const wanted = new Set<RunNode>(roots);
  const stack = [...wanted];
  for (let node = stack.pop(); node; node = stack.pop()) {
    yield;
    for (const port of node.inputs)
      if (!fed(port) && !wanted.has(port.node)) {
        wanted.add(port.node);
        stack.push(port.node);
      }
    for (const before of node.control)
      if (!wanted.has(before) && !isOnlyFed(before, fed)) {
        wanted.add(before);
        stack.push(before);
      }
  }
  return dataSizedLast([...wanted].sort((a, b) => a.order - b.order));
}

/**
 * Puts off what needs results whose size depends on data. A program ends where such a size is looked at, and goes on with
 * another one for every size: the more comes before, the less is compiled again, and the more is computed in one go.
 */
function dataSizedLast(nodes: RunNode[]): RunNode[] {
  const late = new Set<RunNode>();
  for (const node of nodes)
    if (
      node.def.isSizedByData ||
      node.inputs.some((port) => late.has(port.node)) ||
      node.control.some((n) => late.has(n))
    )
      late.add(node);
  return late.size === 0 ? nodes : [...nodes.filter((node) => !late.has(node)), ...late];
}
