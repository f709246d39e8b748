/** @file Turns the cases beside an op's definition into graphs: the part that all case tests and the differential tool share. */
import { complex128, type DType, dtypeFromName, float32, float64, resource, string } from '../../src/core/dtypes.ts';
import { flatten, fromElements, inferDtype, NDArray, type Nested } from '../../src/core/ndarray.ts';
import type { Dims } from '../../src/core/shape.ts';
import { Graph } from '../../src/graph/graph.ts';
import type { Operation } from '../../src/graph/operation.ts';
import type { Tensor } from '../../src/graph/tensor.ts';
import { type AttrSpec, encodeAttr } from '../../src/op/attrs.ts';
import type { AnyCase, CaseArray, ShapeCase, ValueCase } from '../../src/op/cases.ts';
import type { OpDefinition, PortSpec } from '../../src/op/registry.ts';
import type { AttrValue } from '../../src/proto/attr.ts';
import { constantToProto, shapeToProto } from '../../src/proto/tensorProto.ts';

/** One given or expected value. */
export type CaseValue = Nested | CaseArray;

export const isShapeCase = (c: AnyCase): c is ShapeCase => 'shape' in c;

function isCaseArray(value: unknown): value is CaseArray {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'dtype' in value && 'value' in value;
}

export const isListPort = (port: PortSpec): boolean => port.numberAttr !== undefined || port.typeListAttr !== undefined;

/** A resource or reference port: what is given for it is the content of a variable. */
export const isVariablePort = (port: PortSpec): boolean => port.isRef || port.type === resource;

/** The host array of a case value; `dtype` is for values that do not say theirs. */
export function caseArray(value: CaseValue, dtype?: DType): NDArray {
  const said = isCaseArray(value);
  const { shape, elements } = flatten(said ? value.value : (value as Nested)); // the other form of CaseValue
  const type = said ? dtypeFromName(value.dtype)! : (dtype ?? plainType(value as Nested)); // as above
  return fromElements(type, said && value.shape ? value.shape : shape, elements);
}

/** Plain numbers are float32; booleans and text speak for themselves. */
function plainType(value: Nested): DType {
  const own = inferDtype(flatten(value).elements);
  return own.isBool || own === string ? own : float32;
}

/** Attributes as a case writes them: types may be given by name. */
function attrValue(spec: AttrSpec, value: unknown): unknown {
  const named = (v: unknown) => (typeof v === 'string' ? dtypeFromName(v) : v);
  if (spec.kind === 'type') return named(value);
  if (spec.kind === 'list(type)') return (value as readonly unknown[]).map(named); // the kind says it is a list
  if (spec.kind === 'tensor' && !(value instanceof NDArray)) return caseArray(value as CaseValue); // cases write plain values
  return value;
}

type Given = Readonly<Record<string, unknown>>;

/** The type of a port's tensors when the case does not say: fixed, an attribute's value, or (undefined) float32. */
function portType(op: OpDefinition, port: PortSpec, types: Readonly<Record<string, DType>>): DType | undefined {
  if (port.type !== undefined) return port.type;
  if (port.typeAttr === undefined) return undefined;
  const { default: fallback, allowed } = op.attrSpecs[port.typeAttr]!;
  const usual = allowed && !allowed.includes(float32) ? ((fallback as DType | undefined) ?? allowed[0]) : undefined; // a type's default is a dtype
  return types[port.typeAttr] ?? usual;
}

/** Types that the case fixes: by an attribute, or by an input that says its dtype. */
function fixedTypes(op: OpDefinition, attrs: Given, given: Given): Record<string, DType> {
  const types: Record<string, DType> = {};
  for (const [name, value] of Object.entries(attrs))
    if (op.attrSpecs[name]?.kind === 'type') types[name] = attrValue(op.attrSpecs[name], value) as DType; // by its kind
  for (const port of op.inputPorts) {
    const value = given[port.name];
    if (value === undefined || port.typeAttr === undefined) continue;
    const values = isListPort(port) ? (value as readonly CaseValue[]) : [value as CaseValue]; // as ports take them
    for (const v of values) {
      const plain = isCaseArray(v) ? undefined : plainType(v);
      if (isCaseArray(v)) types[port.typeAttr] ??= dtypeFromName(v.dtype)!;
      else if (plain !== float32) types[port.typeAttr] ??= plain!;
    }
  }
  return types;
}

/** One tensor that a case gives: its port and value. */
export interface CaseInput {
  readonly port: PortSpec;
  readonly array: NDArray;
}

/** Every input tensor of a value case, list ports expanded. */
export function caseInputs(op: OpDefinition, c: ValueCase): CaseInput[] {
  const types = fixedTypes(op, c.attrs ?? {}, c.given);
  return op.inputPorts.flatMap((port) => {
    const value = (c.given as Given)[port.name];
    if (value === undefined) throw new Error(`the case of ${op.name} gives nothing for '${port.name}'`);
    const held = port.type === resource ? types['dtype'] : portType(op, port, types);
    const listTypes = port.typeListAttr === undefined ? undefined : c.attrs?.[port.typeListAttr];
    const values = isListPort(port) ? (value as readonly CaseValue[]) : [value as CaseValue]; // as ports take them
    return values.map((v, k) => {
      const listed = listTypes === undefined ? undefined : (listTypes as readonly unknown[])[k]; // a list(type) attribute
      const dtype = typeof listed === 'string' ? dtypeFromName(listed) : (listed as DType | undefined); // named or a dtype
      return { port, array: caseArray(v, dtype ?? held) };
    });
  });
}

/** Attributes for `createOp`: what the case says, and the lengths and types of lists. */
function caseAttrs(
  op: OpDefinition,
  attrs: Given,
  inputs: readonly { port: PortSpec; dtype: DType }[],
): Record<string, AttrValue> {
  const result: Record<string, AttrValue> = {};
  for (const [name, value] of Object.entries(attrs)) {
    const spec = op.attrSpecs[name];
    if (!spec) throw new Error(`the case of ${op.name} sets '${name}', which it does not have`);
    result[name] = encodeAttr(spec, attrValue(spec, value));
  }
  for (const port of op.inputPorts) {
    const own = inputs.filter((i) => i.port === port);
    if (port.numberAttr !== undefined) result[port.numberAttr] ??= { i: BigInt(own.length) };
    if (port.typeListAttr !== undefined && result[port.typeListAttr] === undefined)
      result[port.typeListAttr] = encodeAttr(
        op.attrSpecs[port.typeListAttr]!,
        own.map((i) => i.dtype),
      );
  }
  return result;
}

function placeholder(graph: Graph, dtype: DType, shape: Dims, name: string): Tensor {
  const attrs = { dtype: { type: dtype.number }, shape: { shape: shapeToProto(shape) } };
  return graph.createOp({ type: 'Placeholder', inputs: [], attrs, name }).outputs[0]!;
}

function constant(graph: Graph, array: NDArray, name: string): Tensor {
  const attrs = { dtype: { type: array.dtype.number }, value: { tensor: constantToProto(array) } };
  return graph.createOp({ type: 'Const', inputs: [], attrs, name }).outputs[0]!;
}

/** A variable that a case gives to an op: how to fill it and how to look at it. */
export interface CaseVariable {
  readonly port: PortSpec;
  readonly handle: Tensor;
  readonly initialize: Operation;
  read(): Tensor;
}

function variable(graph: Graph, port: PortSpec, array: NDArray): CaseVariable {
  const { dtype } = array;
  const type = { type: dtype.number };
  const shape = { shape: shapeToProto(array.shape) };
  const value = constant(graph, array, `${port.name}_initial`);
  if (port.isRef) {
    const handle = graph.createOp({ type: 'VariableV2', inputs: [], attrs: { dtype: type, shape }, name: port.name })
      .outputs[0]!;
    const initialize = graph.createOp({ type: 'Assign', inputs: [handle, value], name: `${port.name}_assign` });
    return {
      port,
      handle,
      initialize,
      read: () => graph.createOp({ type: 'Identity', inputs: [handle], name: 'after' }).outputs[0]!,
    };
  }
  const attrs = { dtype: type, shape, shared_name: { s: new TextEncoder().encode(port.name) } };
  const handle = graph.createOp({ type: 'VarHandleOp', inputs: [], attrs, name: port.name }).outputs[0]!;
  const initialize = graph.createOp({
    type: 'AssignVariableOp',
    inputs: [handle, value],
    attrs: { dtype: type },
    name: `${port.name}_assign`,
  });
  const read = () =>
    graph.createOp({ type: 'ReadVariableOp', inputs: [handle], attrs: { dtype: type }, name: 'after' }).outputs[0]!;
  return { port, handle, initialize, read };
}

/** The graph of a value case. */
export interface BuiltCase {
  readonly graph: Graph;
  readonly op: Operation;
  /** Placeholders and what to feed them. */
  readonly feeds: readonly (readonly [Tensor, NDArray])[];
  readonly variables: readonly CaseVariable[];
}

export interface BuildCaseOptions {
  /** Feed also the inputs whose values decide shapes, which are constants otherwise. */
  readonly feedHostInputs?: boolean;
  /** Placeholders of unknown rank. */
  readonly unknownShapes?: boolean;
}

/** Positions of the inputs whose values decide shapes. */
function hostPositions(op: OpDefinition, inputs: readonly CaseInput[]): readonly number[] {
  const lengths: Record<string, unknown> = {};
  for (const port of op.inputPorts) {
    const own = inputs.filter((i) => i.port === port);
    if (port.numberAttr !== undefined) lengths[port.numberAttr] = own.length;
    if (port.typeListAttr !== undefined) lengths[port.typeListAttr] = own.map((i) => i.array.dtype);
  }
  return op.hostInputs({ attrs: lengths, inputCount: inputs.length });
}

/** The inputs of a case as tensors of a new graph, and the op's attributes. */
export interface CaseGraph extends Omit<BuiltCase, 'op'> {
  readonly tensors: readonly Tensor[];
  readonly attrs: Record<string, AttrValue>;
}

export function buildInputs(
  op: OpDefinition,
  inputs: readonly CaseInput[],
  attrs: Given,
  options: BuildCaseOptions = {},
): CaseGraph {
  const graph = new Graph();
  return graph.asDefault(() => {
    const feeds: (readonly [Tensor, NDArray])[] = [];
    const variables: CaseVariable[] = [];
    const host = new Set(hostPositions(op, inputs));
    const tensors = inputs.map(({ port, array }, i) => {
      if (isVariablePort(port)) {
        const made = variable(graph, port, array);
        variables.push(made);
        return made.handle;
      }
      const name = `${port.name}_${i}`;
      if (host.has(i) && !options.feedHostInputs) return constant(graph, array, name);
      const fed = placeholder(graph, array.dtype, options.unknownShapes ? null : array.shape, name);
      feeds.push([fed, array]);
      return fed;
    });
    const types = inputs.map(({ port }, i) => ({ port, dtype: tensors[i]!.dtype }));
    const content = inputs.find((i) => isVariablePort(i.port))?.array.dtype;
    const held = content && op.attrSpecs['dtype'] ? { dtype: content } : {};
    return { graph, feeds, variables, tensors, attrs: caseAttrs(op, { ...held, ...attrs }, types) };
  });
}

/** Builds one op with the given inputs. Throws what building throws. */
export function buildOp(
  op: OpDefinition,
  inputs: readonly CaseInput[],
  attrs: Given,
  options: BuildCaseOptions = {},
): BuiltCase {
  const made = buildInputs(op, inputs, attrs, options);
  return { ...made, op: addOp(op, made) };
}

/** Adds the op of a case to the graph of its inputs. */
export function addOp(op: OpDefinition, { graph, tensors, attrs }: CaseGraph): Operation {
  return graph.asDefault(() => graph.createOp({ type: op.name, inputs: tensors, attrs, name: op.name }));
}

/** The inputs with every tensor whose type is the attribute `name` cast to `dtype`, and with them variables of that type. */
export function retype(inputs: readonly CaseInput[], name: string, dtype: DType): CaseInput[] {
  const own = inputs.find(({ port }) => port.typeAttr === name)?.array.dtype;
  // A resource does not name the attribute, but what it holds has the type of the values written to or read from it.
  const follows = ({ port, array }: CaseInput) =>
    port.typeAttr === name || (port.type === resource && (array.dtype === own || name === 'dtype'));
  return inputs.map((input) => (follows(input) ? { port: input.port, array: castArray(input.array, dtype) } : input));
}

/** The elements in another type: as C casts, so far as TypeScript's stores do it. */
export function castArray(array: NDArray, dtype: DType): NDArray {
  if (array.dtype === dtype) return array;
  const elements = Array.from({ length: array.size }, (_, i) => {
    const x = array.at(i);
    return array.dtype.isComplex && dtype.isComplex ? x : dtype.isBool ? array.numberAt(i) !== 0 : array.numberAt(i);
  });
  return fromElements(dtype, array.shape, dtype.isInteger ? elements.map(whole) : elements);
}

function whole(x: unknown): number {
  const n = Math.trunc(Number(x));
  return Number.isFinite(n) ? n : 0;
}

/** The expected outputs of a value case, in the order of the op's outputs; `undefined` where the case does not say. */
export function expectedOutputs(op: OpDefinition, c: ValueCase, node: Operation): (NDArray | undefined)[] {
  const attrs = op.decodeAttrs(node);
  let next = 0;
  return op.outputPorts.flatMap((port) => {
    const count =
      port.numberAttr !== undefined
        ? (attrs[port.numberAttr] as number) // N attributes are ints
        : port.typeListAttr !== undefined
          ? (attrs[port.typeListAttr] as readonly DType[]).length // and these are lists of types
          : 1;
    const value = c.expect?.[port.name];
    const values = isListPort(port) ? (value as readonly CaseValue[] | undefined) : [value as CaseValue | undefined]; // as ports give them
    return Array.from({ length: count }, (_, k) => {
      const { dtype } = node.outputs[next++]!;
      const v = values?.[k];
      return v === undefined ? undefined : caseArray(v, dtype);
    });
  });
}

/** One side of a shape case: `'[2, ?], ?'`. */
function parseShapes(text: string): Dims[] {
  const tokens = text.match(/\[[^\]]*\]|\?/g) ?? [];
  return tokens.map((token) => {
    if (token === '?') return null;
    const inner = token.slice(1, -1).trim();
    return inner === '' ? [] : inner.split(',').map((d) => (d.trim() === '?' ? null : Number(d)));
  });
}

/** How a shape case's tensors are spread over the ports. */
function portsOf(op: OpDefinition, c: ShapeCase, count: number): PortSpec[] {
  const lists = op.inputPorts.filter(isListPort);
  const singles = op.inputPorts.length - lists.length;
  const byNumber = (port: PortSpec) =>
    port.numberAttr === undefined
      ? (c.attrs?.[port.typeListAttr!] as unknown[] | undefined)?.length
      : c.attrs?.[port.numberAttr];
  const share = lists.length > 0 ? (count - singles) / lists.length : 0;
  return op.inputPorts.flatMap(
    (port) =>
      isListPort(port) ? new Array<PortSpec>((byNumber(port) as number | undefined) ?? share).fill(port) : [port], // N attributes are ints
  );
}

/** The type a variable of the op holds when the case does not say. */
function heldType(op: OpDefinition): DType {
  const allowed = (op.attrSpecs['dtype'] ?? op.attrSpecs['T'])?.allowed;
  return allowed && !allowed.includes(float32) ? allowed[0]! : float32;
}

/** A shape case as a graph, and the shapes it promises (`undefined` when it only has to be accepted). */
export function buildShapeCase(op: OpDefinition, c: ShapeCase): { node: Operation; promised: Dims[] | undefined } {
  const [left, right] = c.shape.split('->') as [string, string | undefined]; // split gives at least one part
  const dims = parseShapes(left);
  const ports = portsOf(op, c, dims.length);
  const types = fixedTypes(op, c.attrs ?? {}, c.given ?? {});
  const graph = new Graph();
  return graph.asDefault(() => {
    const tensors = ports.map((port, i) => {
      const name = `${port.name}_${i}`;
      const first = ports.indexOf(port);
      const listed =
        port.typeListAttr === undefined
          ? undefined
          : (c.attrs?.[port.typeListAttr] as unknown[] | undefined)?.[i - first];
      const dtype =
        (listed === undefined ? undefined : (attrValue({ kind: 'type' }, listed) as DType)) ??
        portType(op, port, types) ??
        float32; // a type
      const value = c.given?.[port.name];
      if (value !== undefined && !isVariablePort(port)) {
        const values = isListPort(port) ? (value as readonly CaseValue[]) : [value as CaseValue]; // as ports take them
        return constant(graph, caseArray(values[isListPort(port) ? i - first : 0]!, dtype), name);
      }
      if (port.isRef) {
        const attrs = { dtype: { type: dtype.number }, shape: { shape: shapeToProto(dims[i] ?? null) } };
        return graph.createOp({ type: 'VariableV2', inputs: [], attrs, name }).outputs[0]!;
      }
      // A handle says what it leads to, of a shape not known yet; TensorFlow refuses one that does not say.
      if (port.type === resource && dims[i]?.length === 0) {
        const held = types['dtype'] ?? types['T'] ?? heldType(op);
        const attrs = { dtype: { type: held.number }, shape: { shape: shapeToProto(null) } };
        return graph.createOp({ type: 'VarHandleOp', inputs: [], attrs, name }).outputs[0]!;
      }
      return placeholder(graph, dtype, dims[i]!, name);
    });
    const attrs = caseAttrs(
      op,
      c.attrs ?? {},
      tensors.map((t, i) => ({ port: ports[i]!, dtype: t.dtype })),
    );
    const node = graph.createOp({ type: op.name, inputs: tensors, attrs, name: op.name });
    return { node, promised: right === undefined ? undefined : parseShapes(right) };
  });
}

/** Largest relative difference that counts as equal, where the case does not say. */
export const tolerances: Partial<Record<DType['storage'], number>> = {
  f16: 2e-3,
  bf16: 1.6e-2,
  f32: 1e-5,
  f64: 1e-10,
  c64: 1e-5,
  c128: 1e-10,
};

/** The largest relative difference between two arrays of one type and shape; infinite where one is NaN and the other not. */
export function worstDifference(actual: NDArray, expected: NDArray): number {
  if (actual.dtype.isObject) return actual.equals(expected) ? 0 : Number.POSITIVE_INFINITY;
  let worst = 0;
  for (let i = 0; i < actual.size; i++) {
    const [a, b] = [actual.at(i), expected.at(i)];
    const parts =
      typeof a === 'object' && typeof b === 'object' && 're' in a && 're' in b
        ? [[a.re, b.re] as const, [(a as { im: number }).im, (b as { im: number }).im] as const] // complex
        : [[Number(a), Number(b)] as const];
    for (const [x, y] of parts) {
      if (Object.is(x, y) || x === y) continue;
      const distance = Math.abs(x - y) / Math.max(1, Math.abs(y));
      worst = Math.max(worst, Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance);
    }
  }
  return worst;
}

/** True for inputs that the gradient check moves. */
export const isContinuous = (dtype: DType): boolean => dtype.isFloating || dtype.isComplex;

const doubles: Readonly<Record<string, DType>> = { float32: float64, complex64: complex128 };

/** The inputs and attributes of a case in float64 and complex128, where the op admits them; `undefined` where it does not. */
export function inDoublePrecision(
  op: OpDefinition,
  inputs: readonly CaseInput[],
  attrs: Given,
): { inputs: CaseInput[]; attrs: Given } | undefined {
  let wide = [...inputs];
  const wideAttrs: Record<string, unknown> = { ...attrs };
  const admits = (name: string, dtype: DType) => op.attrSpecs[name]!.allowed?.includes(dtype) ?? true;
  for (const { port, array } of inputs) {
    const wanted = isContinuous(array.dtype) ? (array.dtype.isComplex ? complex128 : float64) : array.dtype;
    if (array.dtype === wanted || isVariablePort(port)) continue;
    const name = port.typeAttr ?? port.typeListAttr;
    if (name === undefined || !admits(name, wanted)) return undefined;
    delete wideAttrs[name];
    wide = wide.map((x) =>
      x.port === port && isContinuous(x.array.dtype) ? { port, array: castArray(x.array, wanted) } : x,
    );
  }
  // Output types that no input decides follow: a `Tout` of complex64 becomes complex128.
  for (const [name, spec] of Object.entries(op.attrSpecs)) {
    if (spec.kind !== 'type' || inputs.some((i) => i.port.typeAttr === name)) continue;
    const own = (name in attrs ? attrValue(spec, attrs[name]) : spec.default) as DType | undefined; // a type attribute
    const wanted = own && doubles[own.name];
    if (wanted && admits(name, wanted)) wideAttrs[name] = wanted;
  }
  return { inputs: wide, attrs: wideAttrs };
}
