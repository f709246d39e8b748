/** @file defineOp: an op's whole meaning in one record, with types that flow from its ports and attributes. */
import { allDtypes, type DType, float32, int32 } from '../core/dtypes.ts';
import { InternalError, InvalidArgumentError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Dims } from '../core/shape.ts';
import { currentContext } from '../graph/context.ts';
import { type ControlFlow, graphFor, nameScope, type PortType } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import { onlyOptions } from '../graph/options.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import type { ProgramBuilder } from '../program/builder.ts';
import { isPointwise, type Pointwise } from '../program/map.ts';
import type { Value } from '../program/value.ts';
import { AttrList, type AttrValue } from '../proto/attr.ts';
import {
  type AttrSpec,
  type AttrSpecs,
  type AttrValues,
  attrMistake,
  checkAttr,
  decodeAttr,
  encodeAttr,
} from './attrs.ts';
import type { Case } from './cases.ts';
import { knownThrough, knownValue, partialValueOf } from './constantValue.ts';
import { convertToTensor, isSymbolic } from './convert.ts';
import {
  type Gradient,
  type GradientTools,
  type LoweredNode,
  type OpDefinition,
  type PortSpec,
  type Rewrite,
  type RewriteNode,
  register,
} from './registry.ts';

/**
 * Port types as in a TensorFlow op registration: the name of a `type` attribute (`'T'`), a dtype (`'int32'`), a list
 * (`'N * T'`), the name of a `list(type)` attribute (`'Tin'`), or `'Ref(T)'`.
 */
export type PortTypes = Readonly<Record<string, string>>;

type IsList<P extends string, A extends AttrSpecs> = P extends `${string}*${string}`
  ? true
  : P extends keyof A
    ? A[P]['kind'] extends 'list(type)'
      ? true
      : false
    : false;
/** A record with one `X` per port, or an array of them for list ports. */
export type Ports<P extends PortTypes, A extends AttrSpecs, X> = {
  readonly [K in keyof P]: IsList<P[K], A> extends true ? readonly X[] : X;
};

/** What a shape rule may ask about the inputs' values. */
export interface ShapeContext<I extends PortTypes> {
  readonly op: Operation;
  /** The value of an input, when it is a constant or can be worked out from constants and static shapes. */
  value(port: keyof I & string): NDArray | undefined;
  /** What is known of an integer vector or scalar: known entries as numbers, unknown ones `null`. */
  partial(port: keyof I & string): readonly (number | null)[] | undefined;
}

/** What a gradient function sees of its operation. */
export interface GradContext<I extends PortTypes, O extends PortTypes, A extends AttrSpecs> {
  readonly op: Operation;
  readonly inputs: Ports<I, A, Tensor>;
  readonly outputs: Ports<O, A, Tensor>;
  readonly attrs: AttrValues<A>;
}

/** The op has no derivative: integers, shapes, comparisons. Gradients stop here silently, as in TensorFlow. */
export const notDifferentiable = 'none' as const;
/** The derivative exists but is not written; asking for it is an error that says why. */
export const gradientPending = (why: string) => ({ pending: why });

type GradFunction<I extends PortTypes, O extends PortTypes, A extends AttrSpecs> = (
  context: GradContext<I, O, A>,
  dy: Ports<O, A, Gradient>,
  tools: GradientTools,
) => { readonly [K in keyof I]?: IsList<I[K], A> extends true ? readonly (Gradient | null)[] : Gradient | null };

export interface OpSpec<I extends PortTypes, O extends PortTypes, A extends AttrSpecs> {
  readonly name: string;
  readonly inputs: I;
  readonly outputs: O;
  readonly attrs: A;
  /** Keeps state or has effects: never folded, merged or dropped as a duplicate. */
  readonly stateful?: boolean;
  /** For a stateful op whose effects need no order: it only reads resources, or draws random numbers. */
  readonly effects?: 'reads' | 'draws';
  readonly commutative?: boolean;
  readonly aggregate?: boolean;
  readonly allowsUninitializedInput?: boolean;
  /** Gives its only input unchanged. */
  readonly isIdentity?: boolean;
  /** It can take tensor lists whose elements are known while tracing (`Value.list`). */
  readonly takesLists?: boolean;
  /** First GraphDef producer version that may no longer use it. */
  readonly deprecatedSince?: number;
  /** What the op does in control flow by frames; such nodes are not lowered. */
  readonly controlFlow?: ControlFlow;
  /** Inputs whose values decide shapes or control: the tracer brings them to the host. */
  readonly hostInputs?: readonly (keyof I & string)[];
  shape(inputs: Ports<I, A, Dims>, attrs: AttrValues<A>, context: ShapeContext<I>): Ports<O, A, Dims>;
  readonly grad: GradFunction<I, O, A> | typeof notDifferentiable | { readonly pending: string };
  readonly lower:
    | Pointwise<AttrValues<A>>
    | ((p: ProgramBuilder, inputs: Ports<I, A, Value>, attrs: AttrValues<A>, node: LoweredNode) => Ports<O, A, Value>);
  /** For ops that compute shapes: what is known of an output (by its position) while building. */
  partialValue?(
    context: GradContext<I, O, A>,
    known: (t: Tensor) => readonly (number | null)[] | undefined,
    output: number,
  ): readonly (number | null)[] | undefined;
  /** A cheaper equivalent of a node of this op, and the name of the rule for the report. */
  simplify?(node: RewriteNode): { readonly rule: string; readonly to: Rewrite } | undefined;
  cases(): readonly Case<keyof I & string, keyof O & string>[];
}

export interface BuildOptions<A extends AttrSpecs> {
  readonly name?: string | undefined;
  readonly attrs?: Partial<AttrValues<A>>;
  readonly controlInputs?: readonly Operation[];
}

/** A defined op: `build` adds a node and gives its outputs by port, `node` gives the operation itself. */
export interface Op<I extends PortTypes, O extends PortTypes, A extends AttrSpecs> extends OpDefinition {
  build(inputs: Ports<I, A, TensorLike>, options?: BuildOptions<A>): Ports<O, A, Tensor>;
  node(inputs: Ports<I, A, TensorLike>, options?: BuildOptions<A>): Operation;
}

const dtypeNames = new Map<string, DType>(allDtypes.map((d) => [d.name, d]));

function parsePort(name: string, text: string, attrs: AttrSpecs): PortSpec {
  const ref = /^Ref\((.*)\)$/.exec(text);
  const body = ref ? ref[1]! : text;
  const isRef = ref !== null;
  const [count, element] = body.includes('*') ? body.split('*').map((s) => s.trim()) : [undefined, body];
  const numberAttr = count === undefined ? {} : { numberAttr: count };
  const type = dtypeNames.get(element!);
  if (type) return { name, type, ...numberAttr, isRef };
  if (!(element! in attrs))
    throw new Error(`port '${name}' has the type '${element}', which is neither a dtype nor an attribute`);
  return attrs[element!]!.kind === 'list(type)'
    ? { name, typeListAttr: element!, isRef }
    : { name, typeAttr: element!, ...numberAttr, isRef };
}

function isListPort(port: PortSpec): boolean {
  return port.numberAttr !== undefined || port.typeListAttr !== undefined;
}

/** How many tensors a port takes under these attributes; -1 for a single one (which is not a list). */
function listLength(port: PortSpec, attrs: Record<string, unknown>): number {
  if (port.numberAttr !== undefined) return attrs[port.numberAttr] as number; // N attributes are ints
  if (port.typeListAttr !== undefined) return (attrs[port.typeListAttr] as readonly DType[]).length;
  return -1;
}

function portCount(port: PortSpec, attrs: Record<string, unknown>): number {
  const n = listLength(port, attrs);
  return n < 0 ? 1 : n;
}

/** The type of the `k`th tensor of a port. */
function portType(port: PortSpec, attrs: Record<string, unknown>, k: number): DType {
  if (port.type) return port.type;
  // Type attributes hold dtypes.
  return port.typeAttr === undefined ? (attrs[port.typeListAttr!] as DType[])[k]! : (attrs[port.typeAttr] as DType);
}

/** A number for the types of a node's inputs; nodes with more inputs than its bits can hold apart have none. */
function keyOfTypes(inputs: readonly PortType[]): number | undefined {
  if (inputs.length > 6) return undefined;
  let key = 1;
  for (const { dtype, isRef } of inputs) key = key * 256 + dtype.number * 2 + Number(isRef);
  return key;
}

/** Splits a flat list into a record by port. */
function byPort<X>(
  ports: readonly PortSpec[],
  attrs: Record<string, unknown>,
  flat: readonly X[],
): Record<string, X | X[]> {
  const record: Record<string, X | X[]> = {};
  let next = 0;
  for (const port of ports) {
    const n = listLength(port, attrs);
    record[port.name] = n < 0 ? flat[next++]! : flat.slice(next, (next += n));
  }
  return record;
}

/** The opposite of `byPort`; a missing single entry is `fallback`. */
function flatten<X>(
  ports: readonly PortSpec[],
  attrs: Record<string, unknown>,
  record: Record<string, X | readonly X[] | undefined>,
  fallback: X,
): X[] {
  const flat: X[] = [];
  for (const port of ports) {
    const value = record[port.name];
    const n = listLength(port, attrs);
    // A shape is itself an array, so only the port can tell a list of results from a single one.
    if (n < 0) flat.push(value === undefined ? fallback : (value as X));
    else if (value === undefined) flat.push(...new Array<X>(n).fill(fallback));
    else flat.push(...(value as readonly X[]));
  }
  return flat;
}

const noTools: GradientTools = {
  differentiate: () => outsideAutodiff(),
  isTrainable: () => outsideAutodiff(),
  zeros: () => outsideAutodiff(),
};
function outsideAutodiff(): never {
  throw new InternalError('the gradient of an op with a body was asked for outside tf.gradients');
}

/** Decoded attributes are kept with the encoded ones; a WeakMap of every node ever made would slow garbage collection. */
const decodedKey = Symbol('decoded');

/** Defines an op and registers it. */
export function defineOp<const I extends PortTypes, const O extends PortTypes, const A extends AttrSpecs>(
  spec: OpSpec<I, O, A>,
): Op<I, O, A> {
  const inputPorts = Object.entries(spec.inputs).map(([name, text]) => parsePort(name, text, spec.attrs));
  const outputPorts = Object.entries(spec.outputs).map(([name, text]) => parsePort(name, text, spec.attrs));

  function decodeAttrs(op: { attrs: Record<string, AttrValue> }): Record<string, unknown> {
    const holder: Record<string, AttrValue> & { [decodedKey]?: Record<string, unknown> } = op.attrs;
    const known = holder[decodedKey];
    if (known) return known;
    const values: Record<string, unknown> = {};
    for (const [name, attrSpec] of Object.entries(spec.attrs)) {
      const value = holder[name];
      if (value === undefined) throw new InvalidArgumentError(`NodeDef missing attr '${name}' from Op ${spec.name}`);
      values[name] = decodeAttr(name, attrSpec, value);
    }
    // Not enumerable, so that copies of the attributes, which may be changed, do not take it along.
    if (Object.isExtensible(holder)) Object.defineProperty(holder, decodedKey, { value: values });
    return values;
  }

  /** Attributes that the inputs determine: types and counts. */
  function inferAttrs(attrs: Record<string, AttrValue>, inputs: readonly PortType[]): Record<string, AttrValue> {
    const result = { ...attrs };
    let next = 0;
    const remaining = () => inputs.length - next;
    for (const [i, port] of inputPorts.entries()) {
      let group: readonly PortType[];
      if (port.numberAttr !== undefined) {
        const given = result[port.numberAttr];
        const sharing = inputPorts.slice(i).filter((p) => p.numberAttr === port.numberAttr).length;
        const others = inputPorts.length - i - sharing;
        const n = given ? Number(given.i) : Math.floor((remaining() - others) / sharing);
        group = inputs.slice(next, next + n);
        result[port.numberAttr] ??= { i: BigInt(n) };
      } else if (port.typeListAttr !== undefined) {
        const given = result[port.typeListAttr]?.list;
        const n = given ? given.type.length : remaining() - (inputPorts.length - i - 1);
        group = inputs.slice(next, next + n);
        result[port.typeListAttr] ??= { list: AttrList.create({ type: group.map((t) => t.dtype.number) }) };
      } else group = inputs.slice(next, next + 1);
      next += group.length;
      if (port.typeAttr !== undefined && group[0] && result[port.typeAttr] === undefined)
        result[port.typeAttr] = { type: group[0].dtype.number };
    }
    if (next !== inputs.length)
      throw new InvalidArgumentError(
        `NodeDef expected ${next} inputs but ${inputs.length} were given for Op ${spec.name}`,
      );
    return result;
  }

  /** Which inputs take references, where no attribute decides how many inputs there are. */
  const singleRefs = inputPorts.some(isListPort) ? undefined : inputPorts.map((port) => port.isRef);

  /** Attributes of nodes that are given none themselves, as most are, by the types of their inputs: such nodes share them. */
  const attrsByTypes = new Map<number, Readonly<Record<string, AttrValue>>>();

  function completeAttrs(given: Record<string, AttrValue>, inputs: readonly PortType[]): Record<string, AttrValue> {
    const all = inferAttrs(given, inputs);
    for (const [name, attrSpec] of Object.entries(spec.attrs)) {
      if (all[name] === undefined) {
        if (attrSpec.default === undefined)
          throw new InvalidArgumentError(
            `attribute '${name}' of ${spec.name} was not given and has no default${attrSpec.kind === 'type' ? '. Give a dtype, such as tf.float32.' : ''}`,
          );
        all[name] = encodeAttr(attrSpec, attrSpec.default);
      }
    }
    const values = decodeAttrs({ attrs: all });
    for (const [name, attrSpec] of Object.entries(spec.attrs)) checkAttr(name, attrSpec, values[name]);
    checkInputs(values, inputs);
    return all;
  }

  function checkInputs(values: Record<string, unknown>, inputs: readonly PortType[]): void {
    let next = 0;
    for (const port of inputPorts) {
      const n = portCount(port, values);
      for (let k = 0; k < n; k++) {
        const input = inputs[next++];
        if (!input) throw new InvalidArgumentError(`input '${port.name}' of Op ${spec.name} is missing`);
        const wanted = portType(port, values, k);
        if (input.dtype !== wanted) throw typeMismatch(port, input, wanted, inputs);
        if (port.isRef && !input.isRef)
          throw new InvalidArgumentError(
            `input '${port.name}' must be a variable (a reference), but ${input} is a value`,
          );
      }
    }
  }

  function typeMismatch(
    port: PortSpec,
    input: PortType,
    wanted: DType,
    inputs: readonly PortType[],
  ): InvalidArgumentError {
    const other = inputPorts.find((p) => p.typeAttr !== undefined && p.typeAttr === port.typeAttr && p !== port);
    const first = other && inputs[inputPorts.indexOf(other)];
    return new InvalidArgumentError(
      first && first.dtype === wanted
        ? `${other.name} is ${first.dtype} but ${port.name} is ${input.dtype}. Types are never converted for you; wrap one in tf.cast(${port.name}, tf.${wanted}).`
        : `Input '${port.name}' of '${spec.name}' Op has type ${input.dtype} that does not match expected type of ${wanted}. Wrap it in tf.cast(${port.name}, tf.${wanted}).`,
    );
  }

  const definition: Op<I, O, A> = {
    name: spec.name,
    inputPorts,
    outputPorts,
    attrSpecs: spec.attrs,
    isStateful: spec.stateful ?? false,
    effects: spec.effects,
    isCommutative: spec.commutative ?? false,
    isAggregate: spec.aggregate ?? false,
    allowsUninitializedInput: spec.allowsUninitializedInput ?? false,
    isIdentity: spec.isIdentity ?? false,
    takesLists: spec.takesLists ?? false,
    deprecatedSince: spec.deprecatedSince,
    controlFlow: spec.controlFlow,
    decodeAttrs,
    cases: () => spec.cases(),

    complete(attrs, inputs) {
      const key = keyOfTypes(inputs);
      const shared = key === undefined ? undefined : attrsByTypes.get(key);
      const isPlain = Object.keys(attrs).length === 0;
      // The runtime asks again about what was completed while building.
      if (shared && (isPlain || attrs === shared)) return shared;
      const all = completeAttrs(attrs, inputs);
      if (key !== undefined && isPlain) attrsByTypes.set(key, Object.freeze(all));
      return all;
    },

    outputs(attrs) {
      const values = decodeAttrs({ attrs });
      const types: PortType[] = [];
      for (const port of outputPorts)
        for (let k = 0, n = portCount(port, values); k < n; k++)
          types.push({ dtype: portType(port, values, k), isRef: port.isRef });
      return types;
    },

    outputNames(attrs) {
      const values = decodeAttrs({ attrs });
      return outputPorts.flatMap((port) =>
        Array.from({ length: portCount(port, values) }, (_, k) => `${port.name}:${k}`),
      );
    },

    inferShapes(op) {
      const values = decodeAttrs(op);
      const single = (port: string) => byPort(inputPorts, values, op.inputs)[port] as Tensor; // rules ask about single ports
      const context: ShapeContext<I> = {
        op,
        value: (port) => knownValue(single(port)),
        partial: (port) => partialValueOf(single(port)),
      };
      // The records are built from the same port tables that the types come from.
      const dims = byPort(
        inputPorts,
        values,
        op.inputs.map((t) => t.shape),
      ) as Ports<I, A, Dims>;
      const result = spec.shape(dims, values as AttrValues<A>, context);
      return flatten<Dims>(outputPorts, values, result as Record<string, Dims>, null);
    },

    refInputs(attrs) {
      return singleRefs ?? inputPorts.flatMap((port) => new Array<boolean>(portCount(port, attrs)).fill(port.isRef));
    },

    hostInputs({ attrs, inputCount }) {
      if (!spec.hostInputs) return [];
      const positions = byPort(
        inputPorts,
        attrs,
        Array.from({ length: inputCount }, (_, i) => i),
      );
      return spec.hostInputs.flatMap((port) => positions[port]!);
    },

    gradient:
      typeof spec.grad === 'function'
        ? (op, dy, tools) => {
            const context = gradContext(op);
            // As above: records from the port tables.
            const result = (spec.grad as GradFunction<I, O, A>)(
              context,
              byPort(outputPorts, decodeAttrs(op), dy) as Ports<O, A, Gradient>,
              tools ?? noTools,
            );
            return flatten<Gradient | null>(inputPorts, decodeAttrs(op), result as Record<string, Gradient>, null);
          }
        : spec.grad,

    lower(p, inputs, attrs, node) {
      if (isPointwise(spec.lower)) return [p.map(inputs, spec.lower.bind(attrs as AttrValues<A>))];
      // As above: records from the port tables.
      const result = spec.lower(
        p,
        byPort(inputPorts, attrs, inputs) as Ports<I, A, Value>,
        attrs as AttrValues<A>,
        node,
      );
      return outputPorts.flatMap((port) => (result as Record<string, Value | Value[]>)[port.name]!);
    },

    node: addNode,

    build(inputs, options) {
      const op = addNode(inputs, options);
      return byPort(outputPorts, decodeAttrs(op), op.outputs) as Ports<O, A, Tensor>;
    },
  };
  if (spec.partialValue) {
    const rule = spec.partialValue.bind(spec);
    const known = knownThrough(spec.name);
    definition.partialValue = (op, output) => rule(gradContext(op), known, output);
  }
  if (spec.simplify) definition.simplify = spec.simplify.bind(spec);

  function gradContext(op: Operation): GradContext<I, O, A> {
    const attrs = decodeAttrs(op);
    return {
      op,
      // As above: records from the port tables.
      inputs: byPort(inputPorts, attrs, op.inputs) as Ports<I, A, Tensor>,
      outputs: byPort(outputPorts, attrs, op.outputs) as Ports<O, A, Tensor>,
      attrs: attrs as AttrValues<A>,
    };
  }

  /** Converts the inputs inside the op's own name scope (so literals are named `Add/y`), then adds the node. */
  function addNode(inputs: Ports<I, A, TensorLike>, options: BuildOptions<A> = {}): Operation {
    onlyOptions(spec.name, options, 'name', 'attrs', 'controlInputs');
    const attrs: Record<string, AttrValue> = {};
    if (options.attrs)
      for (const [name, value] of Object.entries(options.attrs))
        if (value !== undefined) {
          const mistake = attrMistake(spec.name, name, spec.attrs[name]!, value);
          if (mistake !== undefined) throw userError(mistake);
          attrs[name] = encodeAttr(spec.attrs[name]!, value);
        }
    const name = options.name ?? spec.name;
    const control = options.controlInputs === undefined ? {} : { controlInputs: options.controlInputs };
    const values = inputPorts.map((port) => inputs[port.name]!);
    const tensors: Tensor[] = [];
    let isConverted = true;
    for (let i = 0; i < values.length; i++) {
      const port = inputPorts[i]!;
      const list = isListPort(port) ? (values[i] as readonly TensorLike[]) : [values[i] as TensorLike]; // as the port says
      // Lists say their own length; the flattened inputs could not when two lists share one count.
      if (port.numberAttr !== undefined) attrs[port.numberAttr] ??= { i: BigInt(list.length) };
      for (const value of list)
        if (value instanceof Tensor) tensors.push(value);
        else isConverted = false;
    }
    const owner = graphFor(tensors);
    // Nothing to convert: the common case inside models, kept free of scope changes.
    if (tensors.length > 0 && isConverted)
      return owner.createOp({ type: spec.name, inputs: tensors, attrs, name, ...control });
    const build = () =>
      nameScope(name, (scope) =>
        currentContext().graph.createOp({
          type: spec.name,
          inputs: convertInputs(values, options.attrs ?? {}),
          attrs,
          name: scope,
          ...control,
        }),
      );
    return owner !== currentContext().graph ? owner.asDefault(build) : build();
  }

  function convertInputs(
    values: readonly (TensorLike | readonly TensorLike[])[],
    given: Readonly<Record<string, unknown>>,
  ): Tensor[] {
    const types: Record<string, DType> = {};
    for (const [name, value] of Object.entries(given))
      if (spec.attrs[name]?.kind === 'type') types[name] = value as DType;
    // A literal takes the type of a tensor beside it, whichever of the two comes first.
    for (const [i, { typeAttr }] of inputPorts.entries()) {
      const value = values[i];
      if (typeAttr !== undefined && isSymbolic(value)) types[typeAttr] ??= value.dtype;
    }
    const inputs: Tensor[] = [];
    for (const [i, port] of inputPorts.entries()) {
      const known = port.type ?? (port.typeAttr === undefined ? undefined : types[port.typeAttr]);
      const hint = port.typeAttr === undefined ? undefined : literalHint(spec.attrs[port.typeAttr]!);
      const asRef = port.isRef;
      if (isListPort(port)) {
        const list = values[i] as readonly TensorLike[]; // list ports take lists
        const symbolic = list.find(isSymbolic);
        const listTypes =
          port.typeListAttr === undefined ? undefined : (given[port.typeListAttr] as readonly DType[] | undefined);
        let dtype = known ?? (port.typeListAttr === undefined ? symbolic?.dtype : undefined);
        for (const [k, value] of list.entries()) {
          const tensor = convertToTensor(value, {
            dtype: listTypes?.[k] ?? softly(value, dtype),
            hint: dtype ?? hint,
            name: `${port.name}_${k}`,
            asRef,
          });
          if (port.typeListAttr === undefined) dtype ??= tensor.dtype;
          inputs.push(tensor);
        }
        if (port.typeAttr !== undefined && dtype) types[port.typeAttr] ??= dtype;
      } else {
        const value = values[i] as TensorLike; // single ports take one value
        // Python tries an empty list as float32 first, and leaves that node behind.
        const refused = port.typeAttr !== undefined && spec.attrs[port.typeAttr]!.allowed?.includes(float32) === false;
        if (Array.isArray(value) && value.length === 0 && !known && hint && refused)
          convertToTensor(value, { name: port.name });
        const tensor = convertToTensor(value, { dtype: softly(value, known), hint, name: port.name, asRef });
        if (port.typeAttr !== undefined) types[port.typeAttr] ??= tensor.dtype;
        inputs.push(tensor);
      }
    }
    return inputs;
  }

  register(definition);
  return definition;
}

/**
 * The type of a literal that nothing else decides. TypeScript's 1.0 and 1 are the same number, so where int32 is not allowed
 * but float32 is, whole numbers are floats.
 */
function literalHint({ default: usual, allowed }: AttrSpec): DType | undefined {
  if (usual !== undefined) {
    const dtype = usual as DType; // the default of a type attribute is a dtype
    // As in Python, a default counts only where the type that the literal has by itself is not allowed.
    return dtype.isInteger && allowed?.includes(int32) ? int32 : dtype;
  }
  return allowed?.includes(float32) && !allowed.includes(int32) ? float32 : undefined;
}

/** Tensors keep their own type, so that a mismatch is reported with both ports' names; literals take the wanted one. */
function softly(value: TensorLike, dtype: DType | undefined): DType | undefined {
  return isSymbolic(value) ? undefined : dtype;
}
