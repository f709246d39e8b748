/** @file Signature: an op's ports and attributes, and everything that follows from them for a node. */
import type { DType } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import type { PortType } from '../graph/opSchema.ts';
import { AttrList, type AttrValue } from '../proto/attr.ts';
import { type AttrSpecs, checkAttr, decodeAttr, encodeAttr } from './attrs.ts';
import { isListPort, type PortTypes, parsePorts, portCount, portType } from './ports.ts';
import type { PortSpec } from './registry.ts';

type Attrs = Record<string, AttrValue>;

/** Decoded attributes are kept with the encoded ones; a WeakMap of every node ever made would slow garbage collection. */
const decodedKey = Symbol('decoded');

/** A number for the types of a node's inputs; nodes with more inputs than its bits can hold apart have none. */
function keyOfTypes(inputs: readonly PortType[]): number | undefined {
  if (inputs.length > 6) return undefined;
  let key = 1;
  for (const { dtype, isRef } of inputs) key = key * 256 + dtype.number * 2 + Number(isRef);
  return key;
}

export class Signature {
  readonly inputPorts: readonly PortSpec[];
  readonly outputPorts: readonly PortSpec[];
  /** Which inputs take references, where no attribute decides how many inputs there are. */
  private readonly singleRefs: readonly boolean[] | undefined;
  /** Attributes of nodes that are given none themselves, as most are, by the types of their inputs: such nodes share them. */
  private readonly attrsByTypes = new Map<number, Readonly<Attrs>>();

  constructor(
    readonly name: string,
    inputs: PortTypes,
    outputs: PortTypes,
    readonly attrSpecs: AttrSpecs,
  ) {
    this.inputPorts = parsePorts(inputs, attrSpecs);
    this.outputPorts = parsePorts(outputs, attrSpecs);
    this.singleRefs = this.inputPorts.some(isListPort) ? undefined : this.inputPorts.map((port) => port.isRef);
  }

  /** The values of a node's attributes. */
  decode(attrs: Attrs): Record<string, unknown> {
    const holder: Attrs & { [decodedKey]?: Record<string, unknown> } = attrs;
    const known = holder[decodedKey];
    if (known) return known;
    const values: Record<string, unknown> = {};
    for (const [name, spec] of Object.entries(this.attrSpecs)) {
      const value = holder[name];
      if (value === undefined) throw new InvalidArgumentError(`NodeDef missing attr '${name}' from Op ${this.name}`);
      values[name] = decodeAttr(name, spec, value);
    }
    // Not enumerable, so that copies of the attributes, which may be changed, do not take it along.
    if (Object.isExtensible(holder)) Object.defineProperty(holder, decodedKey, { value: values });
    return values;
  }

  /** All attributes of a node: those given, those that its inputs determine, and defaults; throws what is wrong. */
  complete(given: Attrs, inputs: readonly PortType[]): Attrs {
    const key = keyOfTypes(inputs);
    const shared = key === undefined ? undefined : this.attrsByTypes.get(key);
    const isPlain = Object.keys(given).length === 0;
    // The runtime asks again about what was completed while building.
    if (shared && (isPlain || given === shared)) return shared;
    const all = this.infer(given, inputs);
    for (const [name, spec] of Object.entries(this.attrSpecs)) {
      if (all[name] !== undefined) continue;
      if (spec.default === undefined) throw this.missing(name);
      all[name] = encodeAttr(spec, spec.default);
    }
    const values = this.decode(all);
    const portOf = (attr: string) => this.inputPorts.find((p) => p.typeAttr === attr || p.typeListAttr === attr)?.name;
    for (const [name, spec] of Object.entries(this.attrSpecs)) checkAttr(name, spec, values[name], portOf);
    this.checkInputs(values, inputs);
    if (key !== undefined && isPlain) this.attrsByTypes.set(key, Object.freeze(all));
    return all;
  }

  /** The types of a node's outputs. */
  outputTypes(attrs: Attrs): PortType[] {
    const values = this.decode(attrs);
    const types: PortType[] = [];
    for (const port of this.outputPorts)
      for (let k = 0, n = portCount(port, values); k < n; k++)
        types.push({ dtype: portType(port, values, k), isRef: port.isRef });
    return types;
  }

  /** How function bodies call each output: `port:index`, the index counting within a list. */
  outputNames(attrs: Attrs): string[] {
    const values = this.decode(attrs);
    return this.outputPorts.flatMap((port) =>
      Array.from({ length: portCount(port, values) }, (_, k) => `${port.name}:${k}`),
    );
  }

  /** Whether each input, list ports expanded, takes a reference. */
  refInputs(values: Readonly<Record<string, unknown>>): readonly boolean[] {
    return (
      this.singleRefs ?? this.inputPorts.flatMap((port) => new Array<boolean>(portCount(port, values)).fill(port.isRef))
    );
  }

  /** Attributes that the inputs determine: types and counts. */
  private infer(given: Attrs, inputs: readonly PortType[]): Attrs {
    const { inputPorts } = this;
    const result = { ...given };
    let next = 0;
    for (const [i, port] of inputPorts.entries()) {
      const group = inputs.slice(next, next + this.countOf(i, result, inputs.length - next));
      if (port.numberAttr !== undefined) result[port.numberAttr] ??= { i: BigInt(group.length) };
      if (port.typeListAttr !== undefined)
        result[port.typeListAttr] ??= { list: AttrList.create({ type: group.map((t) => t.dtype.number) }) };
      if (port.typeAttr !== undefined && group[0]) result[port.typeAttr] ??= { type: group[0].dtype.number };
      next += group.length;
    }
    if (next !== inputs.length)
      throw new InvalidArgumentError(
        `NodeDef expected ${next} inputs but ${inputs.length} were given for Op ${this.name}`,
      );
    return result;
  }

  /** How many of the `left` inputs belong to the port at position `i`; ports that share a count share them evenly. */
  private countOf(i: number, attrs: Attrs, left: number): number {
    const { inputPorts } = this;
    const { numberAttr, typeListAttr } = inputPorts[i]!;
    if (numberAttr !== undefined) {
      const given = attrs[numberAttr];
      if (given) return Number(given.i);
      const sharing = inputPorts.slice(i).filter((p) => p.numberAttr === numberAttr).length;
      return Math.floor((left - (inputPorts.length - i - sharing)) / sharing);
    }
    if (typeListAttr !== undefined) return attrs[typeListAttr]?.list?.type.length ?? left - (inputPorts.length - i - 1);
    return 1;
  }

  private checkInputs(values: Record<string, unknown>, inputs: readonly PortType[]): void {
    let next = 0;
    for (const port of this.inputPorts) {
      const n = portCount(port, values);
      for (let k = 0; k < n; k++) {
        const input = inputs[next++];
        if (!input) throw new InvalidArgumentError(`input '${port.name}' of Op ${this.name} is missing`);
        const wanted = portType(port, values, k);
        if (input.dtype !== wanted) throw this.typeMismatch(port, input, wanted, inputs);
        if (port.isRef && !input.isRef)
          throw new InvalidArgumentError(
            `input '${port.name}' must be a variable (a reference), but ${input} is a value`,
          );
      }
    }
  }

  private missing(attr: string): InvalidArgumentError {
    const remedy = this.attrSpecs[attr]!.kind === 'type' ? '. Give a dtype, such as tf.float32.' : '';
    return new InvalidArgumentError(`attribute '${attr}' of ${this.name} was not given and has no default${remedy}`);
  }

  private typeMismatch(
    port: PortSpec,
    input: PortType,
    wanted: DType,
    inputs: readonly PortType[],
  ): InvalidArgumentError {
    const { inputPorts } = this;
    const other = inputPorts.find((p) => p.typeAttr !== undefined && p.typeAttr === port.typeAttr && p !== port);
    const first = other && inputs[inputPorts.indexOf(other)];
    return new InvalidArgumentError(
      first && first.dtype === wanted
        ? `${other.name} is ${first.dtype} but ${port.name} is ${input.dtype}. Types are never converted for you; wrap one in tf.cast(${port.name}, tf.${wanted}).`
        : `Input '${port.name}' of '${this.name}' Op has type ${input.dtype} that does not match expected type of ${wanted}. Wrap it in tf.cast(${port.name}, tf.${wanted}).`,
    );
  }
}
