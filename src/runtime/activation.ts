/** @file The levels of a trace: bodies that are being lowered and loops that are being unrolled, each inside the one before. */
import type { Value } from '../program/value.ts';
import type { Body } from './functions.ts';
import type { RunNode } from './runGraph.ts';

/** So many nodes of one loop are lowered in place, if its condition is known while tracing. */
const maxUnrolled = 20_000;

/** A body that is being lowered: the graph itself, or a function called from it. */
export class Activation {
  position = 0;
  /** Results of host calls and of functions for the node at `position`, made before it could be lowered. */
  hostResults: (readonly Value[])[] = [];
  callResults: (readonly Value[])[] = [];
  constructor(
    readonly body: Body,
    readonly callPath: string,
    readonly values: Map<RunNode, readonly Value[]>,
  ) {}

  copy(): Activation {
    const copy = new Activation(this.body, this.callPath, new Map(this.values));
    copy.position = this.position;
    copy.hostResults = this.hostResults;
    copy.callResults = this.callResults;
    return copy;
  }

  /** What is still needed has to pass through `change`. */
  replaceLive(change: (value: Value, node?: RunNode) => Value): void {
    for (const [node, values] of this.values) {
      if ((this.body.lastUse.get(node) ?? -1) < this.position) continue;
      const changed = values.map((v) => change(v, node));
      if (changed.some((v, i) => v !== values[i])) this.values.set(node, changed);
    }
    this.hostResults = this.hostResults.map((values) => values.map((v) => change(v)));
    this.callResults = this.callResults.map((values) => values.map((v) => change(v)));
  }
}

/** A loop that is being unrolled. Above it on the stack is the call of its condition or of its body. */
export class Unrolling {
  trips = 0;
  isTesting = false;
  /** What the test gave, until it is looked at. */
  condition: Value | undefined;
  constructor(
    readonly cond: Body,
    readonly body: Body,
    readonly callPath: string,
    public values: readonly Value[],
  ) {}

  copy(): Unrolling {
    const copy = new Unrolling(this.cond, this.body, this.callPath, this.values);
    copy.trips = this.trips;
    copy.isTesting = this.isTesting;
    copy.condition = this.condition;
    return copy;
  }

  replaceLive(change: (value: Value) => Value): void {
    this.values = this.values.map((v) => change(v));
  }

  /** A whole number that the loop only passes on and that alone keeps the condition from being known, such as a length. */
  unknownBound(): Value | undefined {
    const asked = this.values.filter((v, i) => !v.known && this.cond.lastUse.has(this.cond.args[i]!.node));
    const [bound, ...others] = asked;
    if (!bound || others.length > 0 || !bound.dtype.isInteger || bound.shape.length > 0) return undefined;
    const i = this.values.indexOf(bound);
    return this.body.results[i]!.node === this.body.args[i]!.node ? bound : undefined;
  }

  /** Whether unrolling has cost so much that running the rest is better. */
  get isLong(): boolean {
    return this.trips * (this.cond.nodes.length + this.body.nodes.length) > maxUnrolled;
  }
}
