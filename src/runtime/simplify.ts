/** @file The simplifier: folds constants, merges equal nodes and applies the ops' own rules, on a private copy of the graph. */

import type { Work } from '../core/eventLoop.ts';
import type { NDArray } from '../core/ndarray.ts';
import { graphDefVersion } from '../graph/graph.ts';
import { encodeAttr } from '../op/attrs.ts';
import { constantAttrs } from '../op/convert.ts';
import {
  findOp,
  type OpDefinition,
  opForLiterals,
  type Rewrite,
  type RewriteInput,
  type RewriteNode,
} from '../op/registry.ts';
import type { AttrValue } from '../proto/attr.ts';
import { GraphDef } from '../proto/graph.ts';
import { foldNode } from './fold.ts';
import { type Port, pruning, type RunNode } from './runGraph.ts';

/** A piece of a graph to run: nodes in order, what is fed, what is wanted. */
export interface Piece {
  readonly nodes: readonly RunNode[];
  readonly feeds: readonly Port[];
  readonly fetches: readonly Port[];
  /** Nodes that must run although nothing is fetched from them. */
  readonly targets: readonly RunNode[];
}

/** The nodes that run instead of those of the graph, and one line per change made. */
export interface Changed {
  readonly nodes: readonly RunNode[];
  readonly report: readonly string[];
}

/** A piece after its changes. */
export class Simplified implements Changed {
  constructor(
    readonly nodes: readonly RunNode[],
    readonly fetches: readonly Port[],
    readonly report: readonly string[],
    readonly targets: readonly RunNode[],
  ) {}
}

/** Nodes as a message, to show what runs. */
export function toGraphDef(nodes: readonly RunNode[]): GraphDef {
  return GraphDef.create({
    node: nodes.map(nodeDefOf),
    versions: { producer: graphDefVersion, min_consumer: 0, bad_consumers: [] },
  });
}

function nodeDefOf({ name, def, inputs, control, device, rawAttrs }: RunNode) {
  const data = inputs.map((p) => (p.index === 0 ? p.node.name : `${p.node.name}:${p.index}`));
  return { name, op: def.name, input: [...data, ...control.map((c) => `^${c.name}`)], device, attr: rawAttrs };
}

/** Simplifies a piece; with `enabled` false it is only copied. */
export function* simplify(piece: Piece, enabled: boolean): Work<Simplified> {
  if (!enabled) return new Simplified(piece.nodes, piece.fetches, [], piece.targets);
  return yield* new Simplifier(piece).run();
}

/** A rule may make a node that a rule applies to again; this many rounds end any chain a graph really has. */
const maxRounds = 16;

class Simplifier {
  private readonly report: string[] = [];
  private readonly made: RunNode[] = [];
  /** What stands for each original node's outputs now. */
  private readonly replaced = new Map<RunNode, readonly Port[]>();
  private readonly equal = new Map<string, RunNode>();
  private readonly uses = new Map<RunNode, number>();
  private readonly fed: ReadonlySet<string>;
  private readonly targets: ReadonlySet<RunNode>;
  private readonly ids = new Map<RunNode, number>();
  private readonly constants = new Map<RunNode, NDArray>();

  constructor(private readonly piece: Piece) {
    this.fed = new Set(piece.feeds.map(keyOf));
    this.targets = new Set(piece.targets);
    for (const node of piece.nodes) for (const { node: from } of node.inputs) this.countUse(from);
    for (const { node } of piece.fetches) this.countUse(node);
  }

  *run(): Work<Simplified> {
    for (const node of this.piece.nodes) {
      this.visit(node);
      yield;
    }
    const fetches = this.piece.fetches.map((p) => this.now(p));
    const targets = this.piece.targets.map((node) => this.nodeFor(node));
    const isFed = (p: Port) => this.fed.has(keyOf(p));
    const nodes = yield* pruning([...fetches.filter((p) => !isFed(p)).map((p) => p.node), ...targets], isFed);
    return new Simplified(nodes, fetches, this.report, targets);
  }

  private countUse(node: RunNode): void {
    this.uses.set(node, (this.uses.get(node) ?? 0) + 1);
  }

  /** Where a tensor of the original graph is found now. Fed tensors stay what they are. */
  private now(port: Port): Port {
    return this.fed.has(keyOf(port)) ? port : (this.replaced.get(port.node)?.[port.index] ?? port);
  }
  private nodeFor(node: RunNode): RunNode {
    return this.replaced.get(node)?.[0]?.node ?? this.bare.get(node) ?? node;
  }
  /** Copies of nodes without outputs, which no port can lead to. */
  private readonly bare = new Map<RunNode, RunNode>();

  private visit(original: RunNode): void {
    const copy: RunNode = {
      ...original,
      inputs: original.inputs.map((p) => this.now(p)),
      control: [...new Set(original.control.map((n) => this.nodeFor(n)))],
      order: this.made.length,
    };
    this.uses.set(copy, this.uses.get(original) ?? 0);
    const isTarget = this.targets.has(original);
    const ports = isPure(copy) && !isTarget ? this.improve(copy) : this.keep(copy);
    if (ports.length === 0) this.bare.set(original, copy);
    this.replaced.set(original, ports);
  }

  private keep(node: RunNode): readonly Port[] {
    this.made.push(node);
    return node.outputs.map((_, index) => ({ node, index }));
  }

  /** Applies folding, the op's rules and merging until nothing changes. */
  private improve(first: RunNode): readonly Port[] {
    let node = first;
    for (let round = 0; round < maxRounds; round++) {
      const folded = this.fold(node);
      if (folded) return folded;
      const found = node.def.simplify?.(this.view(node));
      if (!found) break;
      this.report.push(`${found.rule}: '${node.name}' (${node.def.name})`);
      const result = this.build(found.to, node, 0);
      if ('port' in result) return [result.port];
      node = result.node;
    }
    return this.merge(node);
  }

  private fold(node: RunNode): readonly Port[] | undefined {
    if (node.inputs.length === 0) return undefined;
    let arrays: readonly NDArray[] | undefined;
    try {
      arrays = foldNode(
        node,
        node.inputs.map((p) => this.constantOf(p)),
      );
    } catch {
      return undefined; // the run will say what is wrong, in its own words
    }
    if (!arrays) return undefined;
    this.report.push(`constant folded: '${node.name}' (${node.def.name})`);
    return arrays.map((array, i) => {
      const constant = this.constantNode(array, i === 0 ? node.name : `${node.name}/folded_${i}`, node);
      return this.merge(constant)[0]!;
    });
  }

  /** One node for all nodes that must give the same result. */
  private merge(node: RunNode): readonly Port[] {
    const key = this.mergeKey(node);
    const twin = key === undefined ? undefined : this.equal.get(key);
    if (twin) {
      this.report.push(`merged: '${node.name}' with '${twin.name}' (${node.def.name})`);
      this.uses.set(twin, (this.uses.get(twin) ?? 0) + (this.uses.get(node) ?? 0));
      return twin.outputs.map((_, index) => ({ node: twin, index }));
    }
    if (key !== undefined) this.equal.set(key, node);
    return this.keep(node);
  }

  private mergeKey(node: RunNode): string | undefined {
    // Large constants are not compared: hashing them would cost more than it saves. Other sources (placeholders) differ.
    if (node.inputs.length === 0 && (this.constantOf({ node, index: 0 })?.size ?? Number.POSITIVE_INFINITY) > 64)
      return undefined;
    const inputs = node.inputs.map((p) => `${this.idOf(p.node)}:${p.index}`);
    if (node.def.isCommutative) inputs.sort();
    return `${node.def.name}|${inputs.join()}|${node.device}|${attrKey(node)}`;
  }

  private idOf(node: RunNode): number {
    let id = this.ids.get(node);
    if (id === undefined) this.ids.set(node, (id = this.ids.size));
    return id;
  }

  private constantOf({ node, index }: Port): NDArray | undefined {
    // A constant with control inputs stands for waiting as well as for its value.
    if (node.def.literals !== 'value' || node.control.length > 0 || this.fed.has(keyOf({ node, index })))
      return undefined;
    let value = this.constants.get(node);
    if (!value) this.constants.set(node, (value = node.attrs['value'] as NDArray)); // a tensor attribute
    // One that is not of the type it says is left for its lowering, which refuses it.
    return value.dtype === node.outputs[0]!.dtype ? value : undefined;
  }

  private constantNode(array: NDArray, name: string, like: RunNode): RunNode {
    const node = this.newNode(opForLiterals('value'), name, [], constantAttrs(array), like);
    return { ...node, attrs: { dtype: array.dtype, value: array } };
  }

  private newNode(
    def: OpDefinition,
    name: string,
    inputs: readonly Port[],
    attrs: Record<string, AttrValue>,
    like: RunNode,
  ): RunNode {
    const rawAttrs = def.complete(
      attrs,
      inputs.map((p) => p.node.outputs[p.index]!),
    );
    const decoded = def.decodeAttrs({ attrs: rawAttrs });
    return {
      name,
      def,
      attrs: decoded,
      rawAttrs,
      inputs,
      control: [],
      device: like.device,
      outputs: def.outputs(rawAttrs),
      refInputs: def.refInputs(decoded),
      mayWait: def.mayWait,
      order: this.made.length,
    };
  }

  /** Makes what a rule proposes. The outermost new node is given back to be improved further; inner ones are added. */
  private build(to: Rewrite, like: RunNode, depth: number): { port: Port } | { node: RunNode } {
    if ('node' in to) return { port: this.ports.get(to)! };
    if ('value' in to)
      return { port: this.merge(this.constantNode(to.value, `${like.name}/simplified_${this.made.length}`, like))[0]! };
    const inputs = to.inputs.map((x) => {
      const inner = this.build(x, like, depth + 1);
      return 'port' in inner ? inner.port : this.merge(inner.node)[0]!;
    });
    const def = findOp(to.op);
    const attrs = Object.fromEntries(
      Object.entries(to.attrs ?? {}).map(([k, v]) => [k, encodeAttr(def.attrSpecs[k]!, v)]),
    );
    const name = depth === 0 ? like.name : `${like.name}/simplified_${this.made.length}`;
    const node = this.newNode(def, name, inputs, attrs, like);
    this.uses.set(node, depth === 0 ? (this.uses.get(like) ?? 1) : 1);
    return { node };
  }

  /** The ports behind the views handed to rules. */
  private readonly ports = new Map<RewriteInput, Port>();
  /** One view per node, so that rules can compare nodes. */
  private readonly views = new Map<RunNode, RewriteNode>();

  private view(node: RunNode): RewriteNode {
    const known = this.views.get(node);
    if (known) return known;
    const { uses, inputView } = this;
    let inputs: readonly RewriteInput[] | undefined;
    const view: RewriteNode = {
      name: node.name,
      op: node.def.name,
      attrs: node.attrs,
      get uses() {
        return uses.get(node) ?? 0;
      },
      // Looked at only as deep as the rule goes.
      get inputs() {
        inputs ??= node.inputs.map(inputView);
        return inputs;
      },
    };
    this.views.set(node, view);
    return view;
  }

  /** Nodes that rules must not look behind: fed tensors, state, references. */
  private readonly opaque = new Map<RunNode, RewriteNode>();

  private readonly inputView = (port: Port): RewriteInput => {
    const closed = this.fed.has(keyOf(port)) || !isPure(port.node);
    let node = closed ? this.opaque.get(port.node) : this.view(port.node);
    if (!node) {
      node = { name: port.node.name, op: '', attrs: {}, uses: Number.POSITIVE_INFINITY, inputs: [] };
      this.opaque.set(port.node, node);
    }
    const view = { node, index: port.index, constant: this.constantOf(port) };
    this.ports.set(view, port);
    return view;
  };
}

const keyOf = ({ node, index }: Port) => `${node.name}:${index}`;

/** Nodes that may be replaced: no state, no control edges of their own, no references. */
export function isPure(node: RunNode): boolean {
  return (
    !node.def.isStateful &&
    node.control.length === 0 &&
    node.outputs.length > 0 &&
    !node.outputs.some((o) => o.isRef) &&
    !node.inputs.some((p) => p.node.outputs[p.index]!.isRef)
  );
}

/** A text of a node's attributes. Most are types and flags, which need no general printing. */
function attrKey(node: RunNode): string {
  let key = '';
  for (const [name, value] of Object.entries(node.rawAttrs)) {
    if (value.type !== undefined) key += `${name}:${value.type};`;
    else if (value.b !== undefined) key += `${name}:${value.b};`;
    else if (value.i !== undefined) key += `${name}:${value.i};`;
    else key += `${name}:${JSON.stringify(value, printable)};`;
  }
  return key;
}

function printable(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
}
