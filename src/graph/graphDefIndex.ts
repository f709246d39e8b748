/** @file The nodes of a GraphDef by name, checked as text, and the order in which they can be made. */
import { InvalidArgumentError } from '../core/errors.ts';
import type { NodeDef } from '../proto/graph.ts';
import { isNodeName } from './names.ts';
import type { ControlFlow } from './opSchema.ts';

/** `x:1` is output 1 of `x`, `x` its output 0, `^x` the wait for it. Anything else is a name that no node has. */
export function parseTensorName(text: string): { name: string; index: number; isControl: boolean } {
  if (text.startsWith('^')) return { name: text.slice(1), index: -1, isControl: true };
  const colon = text.lastIndexOf(':');
  const digits = text.slice(colon + 1);
  if (colon < 0 || !/^\d+$/.test(digits)) return { name: text, index: 0, isControl: false };
  return { name: text.slice(0, colon), index: Number(digits), isControl: false };
}

/** What can be said of a GraphDef without knowing its ops. */
export class GraphDefIndex {
  private readonly byName = new Map<string, number>();
  private readonly scopes = new Set<string>();

  /** `isMapped` tells of an input (`x:0` or `^x`) that it does not come from the GraphDef. */
  constructor(
    private readonly nodes: readonly NodeDef[],
    private readonly isMapped: (key: string) => boolean,
  ) {
    for (const [i, node] of nodes.entries()) {
      this.check(node);
      this.byName.set(node.name, i);
      for (let slash = node.name.lastIndexOf('/'); slash > 0; slash = node.name.lastIndexOf('/', slash - 1))
        this.scopes.add(node.name.slice(0, slash));
    }
    for (const node of nodes) this.checkColocation(node);
  }

  private check({ name, op, input }: NodeDef): void {
    if (!isNodeName(name)) throw new InvalidArgumentError(`Node '${name}': Node name contains invalid characters`);
    if (this.byName.has(name)) throw new InvalidArgumentError(`Node '${name}' is not unique`, { node: name });
    if (op === '') throw new InvalidArgumentError(`Node '${name}' does not specify an operation`, { node: name });
    let inControl = false;
    for (const text of input) {
      if (inControl && !text.startsWith('^'))
        throw new InvalidArgumentError(`Node '${name}': Control dependencies must come after regular dependencies`, {
          node: name,
        });
      inControl = text.startsWith('^');
    }
  }

  private checkColocation({ name, attr }: NodeDef): void {
    for (const bytes of attr['_class']?.list?.s ?? []) {
      const group = new TextDecoder().decode(bytes);
      if (group.startsWith('loc:@') && !this.byName.has(group.slice('loc:@'.length)))
        throw new InvalidArgumentError(
          `Node '${name}' expects to be colocated with unknown node '${group.slice('loc:@'.length)}'`,
          { node: name },
        );
    }
  }

  node(name: string): NodeDef | undefined {
    return this.nodes[this.byName.get(name) ?? -1];
  }

  /** Whether a node or scope of the GraphDef has that name. */
  uses(name: string): boolean {
    return this.byName.has(name) || this.scopes.has(name);
  }

  /**
   * The nodes so that inputs come first; among those that are ready, the one that stands first in the message. The only edge
   * that may point backwards is the one that closes a loop: `partOf` tells what op types do in loops.
   */
  inOrder(partOf: (type: string) => ControlFlow | undefined): NodeDef[] {
    const closesLoop = (from: NodeDef, to: NodeDef) => partOf(to.op) === 'merge' && partOf(from.op) === 'nextIteration';
    const consumers: number[][] = this.nodes.map(() => []);
    const pending = this.nodes.map((node, i) => this.register(node, i, consumers, closesLoop));
    const ready = new Heap();
    for (const [i, count] of pending.entries()) if (count === 0) ready.push(i);
    const result: NodeDef[] = [];
    for (let i = ready.pop(); i !== undefined; i = ready.pop()) {
      result.push(this.nodes[i]!);
      for (const consumer of consumers[i]!) if (--pending[consumer]! === 0) ready.push(consumer);
    }
    if (result.length < this.nodes.length) {
      const stuck = this.nodes[pending.findIndex((count) => count > 0)]!.name;
      throw new InvalidArgumentError(
        `${this.nodes.length - result.length} nodes in a cycle, or behind one: the first is '${stuck}'`,
        { node: stuck },
      );
    }
    return result;
  }

  /** Notes a node with its producers; gives how many of them must be made before it. */
  private register(
    node: NodeDef,
    position: number,
    consumers: number[][],
    closesLoop: (from: NodeDef, to: NodeDef) => boolean,
  ): number {
    let count = 0;
    for (const text of node.input) {
      const { name, index, isControl } = parseTensorName(text);
      if (this.isMapped(isControl ? `^${name}` : `${name}:${index}`)) continue;
      const from = this.byName.get(name);
      if (from === undefined)
        throw new InvalidArgumentError(`Node '${node.name}': Unknown input node '${text}'`, { node: node.name });
      if (!isControl && closesLoop(this.nodes[from]!, node)) continue;
      consumers[from]!.push(position);
      count++;
    }
    return count;
  }
}

/** The smallest number first. */
class Heap {
  private readonly items: number[] = [];

  push(item: number): void {
    const { items } = this;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (items[parent]! <= item) break;
      items[at] = items[parent]!;
      at = parent;
    }
    items[at] = item;
  }

  pop(): number | undefined {
    const { items } = this;
    const first = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return first;
    let at = 0;
    for (let child = 1; child < items.length; child = 2 * at + 1) {
      if (child + 1 < items.length && items[child + 1]! < items[child]!) child++;
      if (items[child]! >= last) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = last;
    return first;
  }
}
