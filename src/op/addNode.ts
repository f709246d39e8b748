/** @file addNode: a node from whatever the user passes as inputs; literals become constants of the types that fit. */
import { type DType, float32, int32 } from '../core/dtypes.ts';
import { currentContext } from '../graph/context.ts';
import { graphFor } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import { onlyOptions } from '../graph/options.ts';
import { nameScope } from '../graph/scopes.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import type { AttrValue } from '../proto/attr.ts';
import { type AttrSpec, type AttrSpecs, attrMistake, encodeAttr } from './attrs.ts';
import { checkGiven, convertToTensor, isSymbolic } from './convert.ts';
import { isListPort } from './ports.ts';
import type { PortSpec } from './registry.ts';
import type { Signature } from './signature.ts';

type Input = TensorLike | readonly TensorLike[];

export interface NodeOptions {
  readonly name?: string | undefined;
  readonly attrs?: Readonly<Record<string, unknown>> | undefined;
  readonly controlInputs?: readonly Operation[];
}

/** Converts the inputs inside the op's own name scope (so literals are named `Add/y`), then adds the node. */
export function addNode(
  signature: Signature,
  inputs: Readonly<Record<string, Input>>,
  options: NodeOptions = {},
): Operation {
  const { name: type, inputPorts, attrSpecs } = signature;
  onlyOptions(type, options, 'name', 'attrs', 'controlInputs');
  const attrs = encodeAttrs(type, attrSpecs, options.attrs);
  const name = options.name ?? type;
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
  if (tensors.length > 0 && isConverted) return owner.createOp({ type, inputs: tensors, attrs, name, ...control });
  const build = () =>
    nameScope(name, (scope) => {
      const converted = new Conversion(signature, options.attrs ?? {}).all(values);
      return currentContext().graph.createOp({ type, inputs: converted, attrs, name: scope, ...control });
    });
  return owner !== currentContext().graph ? owner.asDefault(build) : build();
}

function encodeAttrs(op: string, specs: AttrSpecs, given: NodeOptions['attrs']): Record<string, AttrValue> {
  const attrs: Record<string, AttrValue> = {};
  if (given)
    for (const [name, value] of Object.entries(given))
      if (value !== undefined) {
        const mistake = attrMistake(op, name, specs[name]!, value);
        if (mistake !== undefined) throw userError(mistake);
        attrs[name] = encodeAttr(specs[name]!, value);
      }
  return attrs;
}

/** The inputs of one node on their way to tensors: each that is converted may decide the type of those after it. */
class Conversion {
  /** The types of type attributes, so far as they are known. */
  private readonly types: Record<string, DType> = {};

  constructor(
    private readonly signature: Signature,
    private readonly given: Readonly<Record<string, unknown>>,
  ) {
    for (const [name, value] of Object.entries(given))
      if (signature.attrSpecs[name]?.kind === 'type') this.types[name] = value as DType;
  }

  /** The tensors, list ports expanded. */
  all(values: readonly Input[]): Tensor[] {
    const { inputPorts } = this.signature;
    // A literal takes the type of a tensor beside it, whichever of the two comes first.
    for (const [i, { typeAttr }] of inputPorts.entries()) {
      const value = values[i];
      if (typeAttr !== undefined && isSymbolic(value)) this.types[typeAttr] ??= value.dtype;
    }
    return inputPorts.flatMap((port, i) =>
      // List ports take lists, single ports one value.
      isListPort(port)
        ? this.list(port, values[i] as readonly TensorLike[])
        : this.single(port, values[i] as TensorLike),
    );
  }

  private single(port: PortSpec, value: TensorLike): Tensor {
    checkGiven(`${this.signature.name}: ${port.name}`, value);
    const known = this.knownType(port);
    const spec = this.typeSpec(port);
    const hint = spec && literalHint(spec);
    // Python tries an empty list as float32 first, and leaves that node behind.
    const refused = spec?.allowed?.includes(float32) === false;
    if (Array.isArray(value) && value.length === 0 && !known && hint && refused)
      convertToTensor(value, { name: port.name });
    const tensor = convertToTensor(value, { dtype: softly(value, known), hint, name: port.name, asRef: port.isRef });
    if (port.typeAttr !== undefined) this.types[port.typeAttr] ??= tensor.dtype;
    return tensor;
  }

  private list(port: PortSpec, values: readonly TensorLike[]): Tensor[] {
    const { typeListAttr, typeAttr, isRef: asRef } = port;
    const spec = this.typeSpec(port);
    const hint = spec && literalHint(spec);
    // The attribute of a mixed list holds one dtype per member.
    const each = typeListAttr === undefined ? undefined : (this.given[typeListAttr] as readonly DType[] | undefined);
    let dtype = this.knownType(port) ?? (typeListAttr === undefined ? values.find(isSymbolic)?.dtype : undefined);
    const tensors = values.map((value, k) => {
      const wanted = each?.[k] ?? softly(value, dtype);
      const name = `${port.name}_${k}`;
      checkGiven(`${this.signature.name}: ${port.name}[${k}]`, value);
      const tensor = convertToTensor(value, { dtype: wanted, hint: dtype ?? hint, name, asRef });
      if (typeListAttr === undefined) dtype ??= tensor.dtype;
      return tensor;
    });
    if (typeAttr !== undefined && dtype) this.types[typeAttr] ??= dtype;
    return tensors;
  }

  private knownType({ type, typeAttr }: PortSpec): DType | undefined {
    return type ?? (typeAttr === undefined ? undefined : this.types[typeAttr]);
  }

  private typeSpec({ typeAttr }: PortSpec): AttrSpec | undefined {
    return typeAttr === undefined ? undefined : this.signature.attrSpecs[typeAttr];
  }
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
