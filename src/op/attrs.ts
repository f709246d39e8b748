/** @file Attribute kinds of ops: how each is declared, checked, and carried in a NodeDef. */
import * as d from '../core/dtypes.ts';
import { DType, dtypeFromName, dtypeFromNumber } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import type { Dims } from '../core/shape.ts';
import { nearest } from '../graph/options.ts';
import { AttrList, type AttrValue, type NameAttrList } from '../proto/attr.ts';
import { constantToProto, shapeFromProto, shapeToProto, tensorFromProto } from '../proto/tensorProto.ts';

/** TypeScript values of each attribute kind. */
interface Values {
  type: DType;
  int: number;
  float: number;
  bool: boolean;
  string: string;
  shape: Dims;
  tensor: NDArray;
  func: NameAttrList;
}
type Base = keyof Values;
export type AttrKind = Base | `list(${Base})`;
export type ValueOfKind<K extends AttrKind> = K extends `list(${infer B extends Base})`
  ? readonly Values[B][]
  : K extends Base
    ? Values[K]
    : never;

/** A declared attribute. */
export interface AttrSpec<K extends AttrKind = AttrKind> {
  readonly kind: K;
  readonly default?: ValueOfKind<K>;
  /** Types a `type` or `list(type)` attribute admits. */
  readonly allowed?: readonly DType[];
  /** Values a `string` attribute admits. */
  readonly choices?: readonly string[];
  /** Least value of an `int`, least length of a list. */
  readonly minimum?: number;
}
export type AttrSpecs = Readonly<Record<string, AttrSpec>>;
export type AttrValues<A extends AttrSpecs> = { readonly [K in keyof A]: ValueOfKind<A[K]['kind']> };

/** Makes a spec that remembers its kind in its type. */
export function attr<K extends AttrKind>(kind: K, rest: Omit<AttrSpec<K>, 'kind'> = {}): AttrSpec<K> {
  return { kind, ...rest };
}

const types = (...allowed: DType[]) => attr('type', { allowed });

/** The common sets of allowed types, as TensorFlow's op registrations name them. */
export const anyType = attr('type');
export const floats = types(d.float16, d.bfloat16, d.float32, d.float64);
export const indexTypes = attr('type', { allowed: [d.int32, d.int64], default: d.int32 });
/** TensorFlow's `numbertype`. */
export const numberTypes: readonly DType[] = [
  d.float32,
  d.float64,
  d.int32,
  d.uint8,
  d.int16,
  d.int8,
  d.complex64,
  d.int64,
  d.qint8,
  d.quint8,
  d.qint32,
  d.bfloat16,
  d.qint16,
  d.quint16,
  d.uint16,
  d.complex128,
  d.float16,
  d.uint32,
  d.uint64,
];
/** TensorFlow's `realnumbertype`. */
export const realNumberTypes: readonly DType[] = [
  d.float32,
  d.float64,
  d.int32,
  d.uint8,
  d.int16,
  d.int8,
  d.int64,
  d.bfloat16,
  d.uint16,
  d.float16,
  d.uint32,
  d.uint64,
];
export const numbers = attr('type', { allowed: numberTypes });
export const realNumbers = attr('type', { allowed: realNumberTypes });

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function wholeNumber(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError(`the attribute value ${value} is beyond 2^53`);
  return number;
}

function decodeType(value: number): DType {
  const dtype = dtypeFromNumber(value);
  if (!dtype) throw new InvalidArgumentError(`${value} is not a data type`);
  return dtype;
}

/** How each base kind is written to and read from an AttrValue, alone and in a list. */
const codecs: {
  readonly [B in Base]: {
    write(value: Values[B]): AttrValue;
    read(value: AttrValue): Values[B] | undefined;
    writeList(values: readonly Values[B][]): AttrValue;
    readList(value: AttrValue): readonly Values[B][] | undefined;
  };
} = {
  type: {
    write: (value) => ({ type: value.number }),
    read: (v) => (v.type === undefined ? undefined : decodeType(v.type)),
    writeList: (values) => ({ list: AttrList.create({ type: values.map((t) => t.number) }) }),
    readList: (v) => v.list?.type.map(decodeType),
  },
  int: {
    write: (value) => ({ i: BigInt(value) }),
    read: (v) => (v.i === undefined ? undefined : wholeNumber(v.i)),
    writeList: (values) => ({ list: AttrList.create({ i: values.map(BigInt) }) }),
    readList: (v) => v.list?.i.map(wholeNumber),
  },
  float: {
    write: (value) => ({ f: value }),
    read: (v) => v.f,
    writeList: (values) => ({ list: AttrList.create({ f: [...values] }) }),
    readList: (v) => v.list?.f,
  },
  bool: {
    write: (value) => ({ b: value }),
    read: (v) => v.b,
    writeList: (values) => ({ list: AttrList.create({ b: [...values] }) }),
    readList: (v) => v.list?.b,
  },
  string: {
    write: (value) => ({ s: encoder.encode(value) }),
    read: (v) => v.s && decoder.decode(v.s),
    writeList: (values) => ({ list: AttrList.create({ s: values.map((s) => encoder.encode(s)) }) }),
    readList: (v) => v.list?.s.map((s) => decoder.decode(s)),
  },
  shape: {
    write: (value) => ({ shape: shapeToProto(value) }),
    read: (v) => v.shape && shapeFromProto(v.shape),
    writeList: (values) => ({ list: AttrList.create({ shape: values.map(shapeToProto) }) }),
    readList: (v) => v.list?.shape.map(shapeFromProto),
  },
  tensor: {
    write: (value) => ({ tensor: constantToProto(value) }),
    read: (v) => v.tensor && tensorFromProto(v.tensor),
    writeList: (values) => ({ list: AttrList.create({ tensor: values.map((t) => constantToProto(t)) }) }),
    readList: (v) => v.list?.tensor.map((t) => tensorFromProto(t)),
  },
  func: {
    write: (value) => ({ func: value }),
    read: (v) => v.func,
    writeList: (values) => ({ list: AttrList.create({ func: [...values] }) }),
    readList: (v) => v.list?.func,
  },
};

const listOf = /^list\((.*)\)$/;

/** What may be given for each kind: in words for the user, and as a test. */
const wanted: { readonly [B in Base]: { readonly words: string; is(value: unknown): boolean } } = {
  type: { words: 'a dtype, such as tf.float32', is: (v) => v instanceof DType },
  int: { words: 'a whole number', is: (v) => Number.isSafeInteger(v) || typeof v === 'bigint' },
  float: { words: 'a number', is: (v) => typeof v === 'number' },
  bool: { words: 'true or false', is: (v) => typeof v === 'boolean' },
  string: { words: 'a text', is: (v) => typeof v === 'string' },
  shape: {
    words: 'a list of sizes, null for unknown ones, as in [null, 784], or null',
    is: (v) =>
      v === null || (Array.isArray(v) && v.every((d) => d === null || (Number.isSafeInteger(d) && Number(d) >= 0))),
  },
  tensor: { words: 'an array', is: (v) => v instanceof NDArray },
  func: { words: 'the name of a function', is: (v) => typeof v === 'object' && v !== null && 'name' in v },
};

/** What is wrong with a value that was given for an attribute, and what to write instead; undefined when nothing is. */
export function attrMistake(op: string, name: string, spec: AttrSpec, value: unknown): string | undefined {
  const list = listOf.exec(spec.kind);
  const { words, is } = wanted[(list ? list[1] : spec.kind) as Base]; // the pattern admits base kinds only
  if (list ? Array.isArray(value) && value.every(is) : is(value)) return undefined;
  const isText = typeof value === 'string';
  const shown = isText ? `'${value}'` : showGiven(value);
  const near =
    isText && spec.kind === 'type' ? (dtypeFromName(value)?.name ?? nearest(value, Object.keys(d))) : undefined;
  const hint = near !== undefined ? ` Write tf.${near}.` : isText && spec.kind === 'shape' ? nameHint(value) : '';
  return `${op}: ${name} is ${shown}, but must be ${list ? 'a list, each ' : ''}${words}.${hint}`;
}

const nameHint = (text: string) => ` If it is a name, it goes into the options: { name: '${text}' }.`;

function showGiven(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(showGiven).join(', ')}]`;
  return value instanceof Object && value.constructor === Object ? JSON.stringify(value) : String(value);
}

/** The NodeDef form of an attribute value. */
export function encodeAttr(spec: AttrSpec, value: unknown): AttrValue {
  const list = listOf.exec(spec.kind);
  // The value's type was checked where the attribute was set; the table pairs kinds with their own types.
  const codec = codecs[(list ? list[1] : spec.kind) as Base] as {
    write(v: unknown): AttrValue;
    writeList(v: unknown): AttrValue;
  };
  return list ? codec.writeList(value) : codec.write(value);
}

/** The TypeScript value of a NodeDef attribute; throws when it is of another kind. */
export function decodeAttr(name: string, spec: AttrSpec, value: AttrValue): unknown {
  const list = listOf.exec(spec.kind);
  const codec = codecs[(list ? list[1] : spec.kind) as Base]; // the pattern admits base kinds only
  const result = list ? codec.readList(value) : codec.read(value);
  if (result === undefined)
    throw new InvalidArgumentError(
      `AttrValue had value with type '${Object.keys(value)[0] ?? 'none'}' when '${spec.kind}' expected for attr '${name}'`,
    );
  return result;
}

/** How to get another type. `port` is the input that decides it, if there is one. */
function typeHint(given: DType, allowed: readonly DType[], port: string | undefined): string {
  // JavaScript does not tell 2.0 from 2, so a literal of whole numbers is int32 where Python would see floats.
  if (given === d.int32 && allowed.includes(d.float32))
    return '. Whole numbers make int32; for floats say so, as in tf.constant([3, 4], tf.float32).';
  return port === undefined ? '' : `. It is the type of ${port}; tf.cast makes another of it.`;
}

function spellingHint(value: unknown, choices: readonly string[]): string {
  const meant = choices.find((choice) => choice.toLowerCase() === String(value).toLowerCase());
  return meant === undefined ? '' : `. Write '${meant}'.`;
}

/** Checks a value against what its spec admits; `portOf` finds the input whose type an attribute is. */
export function checkAttr(
  name: string,
  spec: AttrSpec,
  value: unknown,
  portOf: (attr: string) => string | undefined = () => undefined,
): void {
  if (spec.kind === 'type' || spec.kind === 'list(type)') {
    for (const dtype of (Array.isArray(value) ? value : [value]) as DType[]) // a type kind holds dtypes
      if (spec.allowed && !spec.allowed.includes(dtype))
        throw new InvalidArgumentError(
          `Value for attr '${name}' of ${dtype.runtimeName} is not in the list of allowed values: ${spec.allowed.map((t) => t.runtimeName).join(', ')}${typeHint(dtype, spec.allowed, portOf(name))}`,
        );
  }
  if (spec.choices && !spec.choices.includes(value as string))
    // choices belong to string attributes
    throw new InvalidArgumentError(
      `Value for attr '${name}' of "${value}" is not in the list of allowed values: ${spec.choices.map((c) => `"${c}"`).join(', ')}${spellingHint(value, spec.choices)}`,
    );
  const count = Array.isArray(value) ? value.length : value;
  if (spec.minimum !== undefined && typeof count === 'number' && count < spec.minimum)
    throw new InvalidArgumentError(
      Array.isArray(value)
        ? `Length for attr '${name}' of ${count} must be at least minimum ${spec.minimum}`
        : `Value for attr '${name}' of ${count} must be at least minimum ${spec.minimum}`,
    );
}
