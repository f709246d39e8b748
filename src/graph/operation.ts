/** @file Operation: a node of the graph, kept in the form of TensorFlow's NodeDef. */
import { type DType, dtypeFromNumber } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Dims } from '../core/shape.ts';
import type { AttrValue, NameAttrList } from '../proto/attr.ts';
import type { NodeDef } from '../proto/graph.ts';
import { shapeFromProto, tensorFromProto } from '../proto/tensorProto.ts';
import type { CallSite } from './callSite.ts';
import type { Graph } from './graph.ts';
import type { Tensor } from './tensor.ts';

/** What an attribute can hold. */
export type AttrContent = number | bigint | string | boolean | DType | Dims | NDArray | NameAttrList;

function attrContent({ list, s, i, f, b, type, shape, tensor, func }: AttrValue): AttrContent | readonly AttrContent[] {
  if (s !== undefined) return new TextDecoder().decode(s);
  if (i !== undefined) return Number.isSafeInteger(Number(i)) ? Number(i) : i;
  if (type !== undefined) return dtypeFromNumber(type) ?? type;
  if (shape !== undefined) return shapeFromProto(shape);
  if (tensor !== undefined) return tensorFromProto(tensor);
  if (list === undefined) return f ?? b ?? func ?? null;
  // At most one kind of list has members.
  const members: AttrValue[] = [
    ...list.s.map((s) => ({ s })),
    ...list.i.map((i) => ({ i })),
    ...list.type.map((type) => ({ type })),
    ...list.shape.map((shape) => ({ shape })),
    ...list.tensor.map((tensor) => ({ tensor })),
    ...list.f.map((f) => ({ f })),
    ...list.b.map((b) => ({ b })),
    ...list.func.map((func) => ({ func })),
  ];
  return members.map((member) => attrContent(member) as AttrContent); // lists do not nest
}

const nothingCarried = Object.freeze({});

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
    private opType: string,
    private dataInputs: readonly Tensor[],
    public controlInputs: readonly Operation[],
    private attributes: Readonly<Record<string, AttrValue>>,
    public device: string,
    readonly site?: CallSite,
  ) {}

  get type(): string {
    return this.opType;
  }
  get inputs(): readonly Tensor[] {
    return this.dataInputs;
  }
  get attrs(): Readonly<Record<string, AttrValue>> {
    return this.attributes;
  }
  /** Operations with the same attributes may share their record, so a change makes a new one. */
  setAttr(name: string, value: AttrValue): void {
    this.attributes = { ...this.attributes, [name]: value };
  }

  /** For `Graph.extendOp` only, which keeps the rest of the graph in step. */
  rewrite(type: string, inputs: readonly Tensor[], attrs: Record<string, AttrValue>): void {
    this.opType = type;
    this.dataInputs = inputs;
    this.attributes = attrs;
  }

  /** Parts of an imported node that mean nothing here and are handed on as they came. */
  carried: Pick<NodeDef, 'experimental_debug_info' | 'experimental_type'> = nothingCarried;

  /** The node as TensorFlow stores it; control inputs come last, sorted. */
  get nodeDef(): NodeDef {
    const data = this.inputs.map((t) => (t.index === 0 ? t.op.name : t.name));
    const control = this.controlInputs.map((op) => `^${op.name}`).sort();
    const input = control.length === 0 ? data : [...data, ...control];
    return { name: this.name, op: this.type, input, device: this.device, attr: this.attrs, ...this.carried };
  }

  /** The value of an attribute: a number, text, a dtype, a shape, an array, or a list of these. */
  getAttr(name: string): AttrContent | readonly AttrContent[] {
    const value = this.attrs[name];
    if (value === undefined)
      throw new InvalidArgumentError(
        `Operation '${this.name}' has no attr named '${name}'. It has: ${Object.keys(this.attrs).join(', ') || 'none'}.`,
        { node: this.name, op: this.type, createdAt: this.createdAt },
      );
    return attrContent(value);
  }

  /** The outputs, under Python's name. */
  values(): readonly Tensor[] {
    return this.outputs;
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
