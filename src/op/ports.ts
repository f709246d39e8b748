/** @file Ports: the named inputs and outputs of ops, and the way between records by port and flat lists. */
import { allDtypes, type DType } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import type { AttrSpecs } from './attrs.ts';
import type { PortSpec } from './registry.ts';

/**
 * Port types as in a TensorFlow op registration: the name of a `type` attribute (`'T'`), a dtype (`'int32'`), a list
 * (`'N * T'`), the name of a `list(type)` attribute (`'Tin'`), or `'Ref(T)'`.
 */
export type PortTypes = Readonly<Record<string, string>>;

export type IsList<P extends string, A extends AttrSpecs> = P extends `${string}*${string}`
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

/** Attribute values as they were decoded, by name. */
export type Decoded = Readonly<Record<string, unknown>>;

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

/** The ports that a record of texts declares, in order. */
export function parsePorts(ports: PortTypes, attrs: AttrSpecs): readonly PortSpec[] {
  return Object.entries(ports).map(([name, text]) => parsePort(name, text, attrs));
}

export function isListPort(port: PortSpec): boolean {
  return port.numberAttr !== undefined || port.typeListAttr !== undefined;
}

/** A node with more inputs or outputs is a mistake, and making them would take all memory. */
const mostTensors = 2 ** 24;

/** How many tensors a port takes under these attributes; -1 for a single one (which is not a list). */
function listLength(port: PortSpec, attrs: Decoded): number {
  if (port.numberAttr !== undefined) {
    const count = attrs[port.numberAttr] as number; // N attributes are ints
    if (count > mostTensors)
      throw new InvalidArgumentError(`${port.numberAttr} = ${count} is more tensors than '${port.name}' can have`);
    return count;
  }
  if (port.typeListAttr !== undefined) return (attrs[port.typeListAttr] as readonly DType[]).length;
  return -1;
}

export function portCount(port: PortSpec, attrs: Decoded): number {
  const n = listLength(port, attrs);
  return n < 0 ? 1 : n;
}

/** The type of the `k`th tensor of a port. */
export function portType(port: PortSpec, attrs: Decoded, k: number): DType {
  if (port.type) return port.type;
  // Type attributes hold dtypes.
  return port.typeAttr === undefined ? (attrs[port.typeListAttr!] as DType[])[k]! : (attrs[port.typeAttr] as DType);
}

/** Splits a flat list into a record by port. */
export function byPort<X>(ports: readonly PortSpec[], attrs: Decoded, flat: readonly X[]): Record<string, X | X[]> {
  const record: Record<string, X | X[]> = {};
  let next = 0;
  for (const port of ports) {
    const n = listLength(port, attrs);
    record[port.name] = n < 0 ? flat[next++]! : flat.slice(next, (next += n));
  }
  return record;
}

/** The opposite of `byPort`; a missing single entry is `fallback`. */
export function flatten<X>(
  ports: readonly PortSpec[],
  attrs: Decoded,
  record: Readonly<Record<string, X | readonly X[] | undefined>>,
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
