/** @file Operation: a node of the graph, kept in the form of TensorFlow's NodeDef. */
import type { AttrValue } from '../proto/attr.ts';
import type { NodeDef } from '../proto/graph.ts';
import type { CallSite } from './callSite.ts';
import type { Graph } from './graph.ts';
import type { Tensor } from './tensor.ts';

/** A node: its type, inputs, attributes and outputs. Made by `Graph.createOp` only. */
export class Operation {
  readonly outputs: Tensor[] = [];
  /** Where the user made it, `file:line:column`. */
  get createdAt(): string | undefined {
    return this.site?.location;
  }
  constructor(
    readonly graph: Graph,
    /** Position in `graph.operations`. */
    readonly id: number,
    readonly name: string,
    readonly type: string,
    readonly inputs: readonly Tensor[],
    public controlInputs: readonly Operation[],
    readonly attrs: Record<string, AttrValue>,
    public device: string,
    private readonly site?: CallSite,
  ) {}

  /** Parts of an imported node that mean nothing here and are handed on as they came. */
  carried: Pick<NodeDef, 'experimental_debug_info' | 'experimental_type'> = {};

  /** The node as TensorFlow stores it; control inputs come last, sorted. */
  get nodeDef(): NodeDef {
    const data = this.inputs.map((t) => (t.index === 0 ? t.op.name : t.name));
    const control = this.controlInputs.map((op) => `^${op.name}`).sort();
    const input = control.length === 0 ? data : [...data, ...control];
    return { name: this.name, op: this.type, input, device: this.device, attr: this.attrs, ...this.carried };
  }

  /** Groups whose members run on one device: `loc:@name`. */
  get colocationGroups(): string[] {
    const list = this.attrs['_class']?.list?.s ?? [];
    const groups = list.map((bytes) => new TextDecoder().decode(bytes)).filter((s) => s.startsWith('loc:@'));
    return groups.length > 0 ? groups : [`loc:@${this.name}`];
  }

  toString(): string {
    return `<tf.Operation '${this.name}' type=${this.type}>`;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}
