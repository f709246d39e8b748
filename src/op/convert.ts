/** @file Turns whatever a user passes as an input into a tensor: literals become `Const` nodes. */
import {
  bool,
  type DType,
  dtypeFromName,
  float32,
  float64,
  int32,
  int64,
  string,
  type TypedArray,
} from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import {
  dtypeOfTypedArray,
  type Element,
  flatten,
  fromElements,
  inferDtype,
  NDArray,
  type Nested,
} from '../core/ndarray.ts';
import { castNumbers, packNested } from '../core/packNested.ts';
import { currentContext } from '../graph/context.ts';
import { type Graph, graphFor } from '../graph/graph.ts';
import { IndexedSlices } from '../graph/indexedSlices.ts';
import { nameScope } from '../graph/scopes.ts';
import { type ConvertibleToTensor, Tensor, type TensorLike } from '../graph/tensor.ts';
import { namingCaller, userError } from '../graph/userError.ts';
import type { AttrValue } from '../proto/attr.ts';
import { constantToProto } from '../proto/tensorProto.ts';
import { type LiteralRole, opForLiterals } from './registry.ts';

export interface ConvertOptions {
  /** The type it must have; another type is an error. */
  readonly dtype?: DType | undefined;
  /** The type a literal takes if it can. */
  readonly hint?: DType | undefined;
  readonly name?: string | undefined;
  /** Keep the reference when the value is a reference variable. */
  readonly asRef?: boolean;
}

export function isConvertible(value: unknown): value is ConvertibleToTensor {
  return typeof value === 'object' && value !== null && 'toTensor' in value && typeof value.toTensor === 'function';
}

/** Something that already stands for a symbolic value (so that it fixes the type of the literals beside it). */
export function isSymbolic(value: unknown): value is Tensor | ConvertibleToTensor {
  return value instanceof Tensor || isConvertible(value);
}

/** A tensor for `value`; adds a `Const` node for literals and arrays. */
export function convertToTensor(value: TensorLike, options: ConvertOptions = {}): Tensor {
  const { dtype, name } = options;
  if (value instanceof Tensor) return checkDtype(value, dtype);
  if (isConvertible(value))
    return checkDtype(value.toTensor({ dtype, name, ...(options.asRef ? { asRef: true } : {}) }), dtype);
  if (Array.isArray(value) && containsSymbolic(value)) return packed(value as readonly TensorLike[], options);
  checkGiven(name ?? 'the value', value);
  return constantNode(
    namingCaller(() => toArray(value as Literalish, dtype, options.hint)),
    name,
  );
}

/** Refuses nothing where there must be something: types do not hold callers that do not check them. */
export function checkGiven(what: string, value: unknown): void {
  if (value === undefined || value === null)
    throw userError(`${what} is ${value}, but must be a tensor or a value that can become one.`);
}

/** Whether something is a symbolic value: a tensor, a variable, indexed slices. */
export function isTensor(value: unknown): boolean {
  return isSymbolic(value);
}

/** Indexed slices as they are, anything else as a tensor. */
export function convertToTensorOrIndexedSlices(
  value: TensorLike | IndexedSlices,
  options: ConvertOptions = {},
): Tensor | IndexedSlices {
  if (!(value instanceof IndexedSlices)) return convertToTensor(value, options);
  if (options.dtype !== undefined && options.dtype !== value.dtype)
    throw userError(
      `Tensor conversion requested dtype ${options.dtype} for IndexedSlices with dtype ${value.dtype}: ${value}.`,
    );
  return value;
}

function checkDtype(tensor: Tensor, dtype: DType | undefined): Tensor {
  if (dtype !== undefined && tensor.dtype !== dtype)
    throw userError(
      `Tensor conversion requested dtype ${dtype} for Tensor with dtype ${tensor.dtype}: ${tensor}. Types are never converted for you; wrap it in tf.cast(…, tf.${dtype}).`,
    );
  return tensor;
}

type Literalish = NDArray | TypedArray | Nested;

function containsSymbolic(list: readonly unknown[]): boolean {
  return list.some((x) => isSymbolic(x) || (Array.isArray(x) && containsSymbolic(x)));
}

/** A list with tensors in it becomes a `Pack`, as in Python: rows that hold tensors first, then the literals. */
function packed(list: readonly TensorLike[], { dtype, hint, name }: ConvertOptions): Tensor {
  const own = findSymbolic(list)?.dtype;
  const type = dtype ?? own ?? hint;
  if (type !== undefined && own !== undefined && own !== type) list = castTensors(list, type);
  return nameScope(name ?? 'packed', (scope) => {
    const rows = list.map((x, i) => {
      if (!Array.isArray(x)) return x;
      if (containsSymbolic(x)) return packed(x as readonly TensorLike[], { dtype: type, name: String(i) }); // arrays of TensorLike
      nameScope(String(i), () => {}); // Python looks into every row in a scope of its own, which takes the name
      return x;
    });
    const values = rows.map((x, i) => convertToTensor(x, { dtype: type, name: String(i) }));
    return nodeFor('list', values, {}, scope);
  });
}

/** Only here does Python convert types by itself: tensors in a list take the type that the list must have. */
function castTensors(list: readonly TensorLike[], dtype: DType): readonly TensorLike[] {
  return list.map((x) => {
    if (Array.isArray(x)) return castTensors(x as readonly TensorLike[], dtype); // arrays of TensorLike
    if (!isSymbolic(x) || x.dtype === dtype) return x;
    return nodeFor('cast', [convertToTensor(x)], { DstT: { type: dtype.number } });
  });
}

/** A node of the op that has this role. */
function nodeFor(role: LiteralRole, inputs: Tensor[], given: Record<string, AttrValue>, name?: string): Tensor {
  const op = opForLiterals(role);
  const attrs = op.complete(given, inputs);
  return graphFor(inputs).createOp({ type: op.name, inputs, attrs, name }).outputs[0]!;
}

function findSymbolic(list: readonly unknown[]): Tensor | ConvertibleToTensor | undefined {
  for (const x of list) {
    const found = isSymbolic(x) ? x : Array.isArray(x) ? findSymbolic(x) : undefined;
    if (found) return found;
  }
  return undefined;
}

/** The array of a literal, in the type asked for, or in the hinted type when the values fit it. */
export function toArray(value: Literalish, dtype?: DType, hint?: DType): NDArray {
  if (value instanceof NDArray) {
    if (dtype !== undefined && value.dtype !== dtype) return castExactly(value, dtype);
    return value;
  }
  if (ArrayBuffer.isView(value) && !isBytes(value, dtype)) {
    const data = value as TypedArray; // DataViews are not TensorLike
    const type = dtypeFromName(dtypeOfTypedArray(data))!;
    const array = new NDArray(type, [data.length], data);
    return dtype !== undefined && dtype !== type ? castExactly(array, dtype) : array;
  }
  const nested = value as Nested; // neither an array object nor a typed array
  const packed =
    (dtype === undefined ? packInferred(nested, hint) : packNested(nested, dtype)) ?? packRows(nested, dtype);
  if (packed) return packed;
  const { shape, elements } = flatten(nested);
  if (dtype !== undefined) return fromElements(dtype, shape, checkElements(elements, dtype));
  const own = inferDtype(elements);
  if (hint !== undefined && fits(elements, own, hint)) return fromElements(hint, shape, elements);
  if (own === int32 && elements.some((x) => Number(x) > 2147483647 || Number(x) < -2147483648))
    return fromElements(int64, shape, elements);
  return fromElements(own, shape, elements);
}

/** A list with arrays among its members, such as the rows that runs have given, put together; undefined for any other. */
function packRows(value: Nested, dtype: DType | undefined): NDArray | undefined {
  const isRow = (x: unknown): x is NDArray | TypedArray =>
    x instanceof NDArray || (ArrayBuffer.isView(x) && !isBytes(x, dtype));
  const firstRow = (x: unknown): NDArray | TypedArray | undefined => {
    if (isRow(x)) return x;
    if (!Array.isArray(x)) return undefined;
    for (const member of x) {
      const row = typeof member === 'object' ? firstRow(member) : undefined;
      if (row) return row;
    }
    return undefined;
  };
  const first = firstRow(value);
  if (!first) return undefined;
  const type = dtype ?? toArray(first).dtype;
  const plain = (x: unknown): unknown => {
    if (Array.isArray(x)) return x.map(plain);
    return isRow(x) ? toArray(x, type).toArray() : x;
  };
  return toArray(plain(value) as Nested, type); // what is no plain value is refused there
}

/** Bytes are text unless numbers are asked for. */
function isBytes(value: unknown, dtype: DType | undefined): boolean {
  return value instanceof Uint8Array && (dtype === undefined || dtype.isObject);
}

/** A long list of one usual kind; undefined for what is to be looked at element by element. */
function packInferred(value: Nested, hint: DType | undefined): NDArray | undefined {
  let first: unknown = value;
  while (Array.isArray(first)) first = first[0];
  if (typeof first === 'string') return packNested(value, string);
  if (typeof first === 'boolean') return packNested(value, bool);
  if (typeof first !== 'number' || (hint !== undefined && !hint.isFloating)) return undefined;
  const numbers = packNested(value, float64);
  if (!numbers) return undefined;
  const data = numbers.data as Float64Array; // of its dtype
  const own = data.every(Number.isInteger) ? (data.every(isInt32) ? int32 : int64) : float32;
  return castNumbers(numbers, hint ?? own);
}

const isInt32 = (x: number) => x >= int32.min && x <= int32.max;

/** TypeScript has one number type, so a whole number may stand for a float; a fraction never stands for an integer. */
function fits(elements: readonly Element[], own: DType, wanted: DType): boolean {
  if (own === wanted || elements.length === 0) return true;
  if (wanted.isFloating || wanted.isComplex) return own === int32 || own === float32;
  return wanted.isInteger && own === int32 && elements.every((x) => Number(x) >= wanted.min && Number(x) <= wanted.max);
}

function checkElements(elements: readonly Element[], dtype: DType): readonly Element[] {
  if (dtype.isInteger)
    for (const x of elements) {
      if (typeof x === 'number' && !Number.isInteger(x))
        throw new InvalidArgumentError(
          `Expected ${dtype}, but got ${x} of type 'float'. Round it, or ask for a float type.`,
        );
      if (typeof x === 'boolean') throw new InvalidArgumentError(`Expected ${dtype}, but got ${x} of type 'bool'.`);
    }
  if (dtype.isBool)
    for (const x of elements)
      if (typeof x !== 'boolean')
        throw new InvalidArgumentError(`Expected bool, but got ${String(x)}. Write true or false.`);
  return elements;
}

function castExactly(array: NDArray, dtype: DType): NDArray {
  const cast = castNumbers(array, dtype);
  if (cast) return cast;
  const widening = array.dtype.isObject || dtype.isObject ? false : array.dtype !== dtype;
  if (!widening)
    throw new InvalidArgumentError(`an array of type ${array.dtype} was given where ${dtype} is expected.`);
  const elements = Array.from({ length: array.size }, (_, i) => array.at(i));
  return fromElements(dtype, array.shape, dtype.isBool ? elements : checkElements(elements, dtype));
}

/** The attributes of a node that holds an array, in a shape that its last value may have to fill. */
export function constantAttrs(array: NDArray, shape = array.shape): Record<string, AttrValue> {
  return { dtype: { type: array.dtype.number }, value: { tensor: constantToProto(array, shape) } };
}

/** A `Const` operation holding an array; its last value fills a larger `shape`. */
export function constantNode(array: NDArray, name?: string, shape = array.shape): Tensor {
  const graph: Graph = currentContext().graph;
  return graph.createOp({ type: opForLiterals('value').name, inputs: [], attrs: constantAttrs(array, shape), name })
    .outputs[0]!;
}
