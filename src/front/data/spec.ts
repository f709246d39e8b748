/** @file What elements look like: structures of component specifications, and the way between values and flat tensors. */
import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, showTuple } from '../../core/shape.ts';
import { TensorShape } from '../../core/tensorShape.ts';
import type { Composite } from '../../graph/composite.ts';
import { hasOnly, isOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { type ConvertibleToTensor, type Literal, Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { flatten, isNested, packSequenceAs } from '../nest.ts';

/** What elements of these types are, where TypeScript knows the types: tensors in their structure. */
export type ElementOfTypes<T> = T extends DType
  ? Tensor
  : T extends readonly unknown[]
    ? { -readonly [K in keyof T]: ElementOfTypes<T[K]> }
    : T extends Readonly<Record<string, unknown>>
      ? { -readonly [K in keyof T]: ElementOfTypes<T[K]> }
      : unknown;
/** The types of elements, in their structure; of values that are no tensors nothing is known. */
export type TypesOf<E> =
  E extends Tensor<infer D>
    ? D
    : E extends Composite
      ? unknown
      : E extends readonly unknown[]
        ? { -readonly [K in keyof E]: TypesOf<E[K]> }
        : E extends Readonly<Record<string, unknown>>
          ? { -readonly [K in keyof E]: TypesOf<E[K]> }
          : unknown;

/** Elements as the user says they are, or as their types tell. */
export type Declared<E, T> = [E] extends [never] ? ElementOfTypes<T> : E;

/** Options of which `key`, something in the structure of the elements, may stand before them: a record where elements are. */
export function withStructure<O extends object, K extends keyof O & string>(
  key: K,
  elements: unknown,
  given: unknown,
  options: O,
  ...names: readonly (keyof O & string)[]
): O {
  if (given === undefined) return options;
  const isStructure = isOptions(elements) ? isLike(elements, given) || !hasOnly<O>(given, ...names) : !isOptions(given);
  return isStructure ? { ...options, [key]: given } : (given as O); // options, if they are right ones
}

/** Whether shapes have the keys of elements; under one that is called `name`, a text is an option. */
function isLike(elements: object, shapes: unknown): boolean {
  const keys = Object.keys(elements);
  return (
    isOptions(shapes) &&
    Object.keys(shapes).length === keys.length &&
    keys.every((key) => key in shapes && typeof (shapes as Record<string, unknown>)[key] !== 'string')
  );
}

/** How one component of an element travels: as one tensor of a type and a shape. */
export interface Component {
  readonly dtype: DType;
  readonly shape: Dims;
  /** What users know it as: its class, type and shape in `outputClasses`, `outputTypes` and `outputShapes`. */
  readonly known: { readonly kind: unknown; readonly dtype: DType; readonly shape: Dims };
  /** The value that a tensor of it stands for. */
  fromTensor(tensor: Tensor): unknown;
  /** What a value of a run stands for. */
  fromArray(array: NDArray): unknown;
  /** For values whose tensor cannot be taken apart by rows: one that can. */
  toRows?(value: unknown): Tensor;
  /** The component of a batch of elements, and of one element of a batch. */
  batched(size: number | null): Component;
  unbatched(): Component;
  /** A component that fits this one and another; undefined where there is none. */
  merged(other: Component): Component | undefined;
  toString(): string;
}

/** An ordinary tensor. */
export class TensorComponent implements Component {
  readonly known: Component['known'];
  constructor(
    readonly dtype: DType,
    readonly shape: Dims,
  ) {
    this.known = { kind: Tensor, dtype, shape };
  }
  fromTensor(tensor: Tensor): Tensor {
    tensor.setShape(this.shape);
    return tensor;
  }
  fromArray(array: NDArray): NDArray {
    return array;
  }
  batched(size: number | null): Component {
    return new TensorComponent(this.dtype, this.shape === null ? null : [size, ...this.shape]);
  }
  unbatched(): Component {
    if (this.shape?.length === 0) throw userError('Cannot unbatch an element with scalar components.');
    return new TensorComponent(this.dtype, this.shape === null ? null : this.shape.slice(1));
  }
  merged(other: Component): Component | undefined {
    if (!(other instanceof TensorComponent) || other.dtype !== this.dtype) return undefined;
    return new TensorComponent(this.dtype, commonShape(this.shape, other.shape));
  }
  toString(): string {
    return `TensorSpec(shape=${showTuple(this.shape)}, dtype=tf.${this.dtype})`;
  }
}

/** The most that is true of both shapes. */
export function commonShape(a: Dims, b: Dims): Dims {
  if (a === null || b === null || a.length !== b.length) return null;
  return a.map((d, i) => (d === b[i] ? d : null));
}

/** A structure of components: a single one, or arrays and records of them. */
export type ElementSpec = Component | readonly ElementSpec[] | { readonly [key: string]: ElementSpec };

export const componentsOf = (spec: ElementSpec): Component[] => flatten(spec) as Component[]; // its only leaves

/** The spec with other components in it. */
export function mapSpec(spec: ElementSpec, change: (component: Component) => Component): ElementSpec {
  return packSequenceAs(spec, componentsOf(spec).map(change)) as ElementSpec; // same structure
}

/** The attributes by which ops know what elements are like. */
export function elementAttrs(spec: ElementSpec): { output_types: DType[]; output_shapes: Dims[] } {
  const components = componentsOf(spec);
  return { output_types: components.map((c) => c.dtype), output_shapes: components.map((c) => c.shape) };
}

/** The values of an element whose flat tensors are these. */
export function fromTensors(spec: ElementSpec, tensors: readonly Tensor[]): unknown {
  return packSequenceAs(
    spec,
    componentsOf(spec).map((c, i) => c.fromTensor(tensors[i]!)),
  );
}

/** The structure of types, shapes or classes that users see. */
export function legacy(spec: ElementSpec, what: 'kind' | 'dtype' | 'shape'): unknown {
  return packSequenceAs(
    spec,
    componentsOf(spec).map(({ known }) => (what === 'shape' ? new TensorShape(known.shape) : known[what])),
  );
}

/** Types or shapes as Python shows them. */
export function shownSpec(spec: ElementSpec, what: 'dtype' | 'shape'): string {
  if (!isNested(spec)) {
    const { known } = spec as Component; // no structure
    return what === 'shape' ? showTuple(known.shape) : `tf.${known.dtype}`;
  }
  if (Array.isArray(spec)) return `(${spec.map((part) => shownSpec(part, what)).join(', ')})`;
  return `{${Object.entries(spec)
    .map(([key, part]) => `${key}: ${shownSpec(part, what)}`)
    .join(', ')}}`;
}

/** Elements made of a structure of values: what a function sees of them. */
export type ElementOf<T> = T extends Composite
  ? T
  : T extends Tensor | ConvertibleToTensor | NDArray | ArrayBufferView | Literal
    ? Tensor
    : T extends IsDataset
      ? T
      : T extends object
        ? { -readonly [K in keyof T]: ElementOf<T[K]> }
        : Tensor;
/** What marks datasets in the types of elements. */
export interface IsDataset {
  readonly isDataset: true;
}

/** An element as a run gives it: arrays in place of tensors. */
export type ValueOf<E> =
  E extends Tensor<infer D>
    ? NDArray<D>
    : E extends Composite | IsDataset
      ? unknown
      : E extends object
        ? { -readonly [K in keyof E]: ValueOf<E[K]> }
        : NDArray;

/** How a function is given an element: the parts of a tuple one by one, anything else as it is. */
export type Arguments<E> = E extends readonly unknown[] ? E : [element: E];

/** Values that are not tensors but can be components. */
export interface Convertible {
  readonly isComponent: (value: unknown) => boolean;
  toTensor(value: never, stacked: boolean): Part;
  /** A component of the values of a class, if the class is of this kind. */
  ofClass?(kind: unknown, dtype: DType, shape: Dims): Component | undefined;
}
interface Part {
  readonly tensor: Tensor;
  readonly component: Component;
}
const others: Convertible[] = [];
/** Makes another kind of value known as a component of elements. */
export function addComponentKind(kind: Convertible): void {
  others.push(kind);
}

/** Whether a value is one component rather than a structure of them. A literal array is one tensor. */
function isSingle(value: unknown): boolean {
  if (!isNested(value)) return true;
  return Array.isArray(value) && isLiteral(value);
}

/** Arrays of plain values, as deep as they may be. Tensors among them make a tuple. */
function isLiteral(value: readonly unknown[]): boolean {
  return flatten(value).every((x) => typeof x !== 'object' || x === null || x instanceof Uint8Array);
}

/** The structure of single components of a value. */
function singles(value: unknown): unknown {
  if (isSingle(value)) return new Single(value);
  if (Array.isArray(value)) return value.map(singles);
  return Object.fromEntries(Object.entries(value as object).map(([key, x]) => [key, singles(x)]));
}
class Single {
  constructor(readonly value: unknown) {}
}

export interface Element {
  readonly tensors: readonly Tensor[];
  readonly spec: ElementSpec;
}

/**
 * A structure of values as flat tensors and the spec that leads back. Literals become `Const` nodes, named as `name` says.
 * `stacked` says that the values are rows of many elements.
 */
export function toElement(value: unknown, name: (i: number) => string | undefined, stacked = false): Element {
  return elementOf(converted(value, name), stacked);
}

interface Converted {
  readonly structure: unknown;
  /** What became of each single value; other kinds than tensors are still to be converted. */
  readonly parts: readonly (Part | ((stacked: boolean) => Part))[];
}

function converted(value: unknown, name: (i: number) => string | undefined): Converted {
  const structure = singles(value);
  const parts = (flatten(structure) as Single[]).map(({ value: x }, i) => {
    // its only leaves
    const kind = others.find((k) => k.isComponent(x));
    if (kind) return (stacked: boolean) => kind.toTensor(x as never, stacked); // it says that it knows the value
    if (x == null) throw userError('An element cannot have a component that is null or undefined.');
    const tensor = componentTensor(x, name(i));
    return { tensor, component: new TensorComponent(tensor.dtype, tensor.shape) };
  });
  return { structure, parts };
}

/** A value as a tensor; an array of literals that cannot be one was often meant to be a tuple. */
function componentTensor(value: unknown, name: string | undefined): Tensor {
  try {
    return convertToTensor(value as TensorLike, { name }); // anything else is refused there
  } catch (error) {
    if (!(error instanceof InvalidArgumentError) || !Array.isArray(value) || !value.some(Array.isArray)) throw error;
    const said = error.message.split('\n  at ')[0]!;
    throw userError(
      `${said} An array of literals is one tensor. For several components side by side, make each of them a tensor, [tf.constant(xs), tf.constant(ys)], or give them names, { x: xs, y: ys }.`,
    );
  }
}

function elementOf({ structure, parts: given }: Converted, stacked: boolean): Element {
  const parts = given.map((part) => (typeof part === 'function' ? part(stacked) : part));
  const components = parts.map((p) => p.component);
  const spec = isNested(structure) ? (packSequenceAs(structure, components) as ElementSpec) : components[0]!; // same structure
  return { tensors: parts.map((p) => p.tensor), spec };
}

/** As `toElement`, under the names that Python gives to what is put into a dataset. */
export function normalizeElement(value: unknown, stacked = false): Element {
  const parts = nameScope('normalize_element', () => converted(value, (i) => `component_${i}`));
  return elementOf(parts, stacked);
}

/** A structure of types, and such of shapes and classes that may be left out or be less deep, as a spec. */
export function specOf(types: unknown, shapes: unknown, classes?: unknown): ElementSpec {
  const flatTypes = flatten(types) as DType[]; // what users give there
  const flatShapes = shapes === undefined ? flatTypes.map(() => null) : shapesLike(types, shapes);
  const kinds = classes === undefined ? [] : flatten(classes);
  const components = flatTypes.map((dtype, i) => {
    const shape = flatShapes[i] ?? null;
    const other = others.map((k) => k.ofClass?.(kinds[i], dtype, shape)).find((component) => component);
    return other ?? new TensorComponent(dtype, shape);
  });
  return isNested(types) ? (packSequenceAs(types, components) as ElementSpec) : components[0]!; // same structure
}

function shapesLike(types: unknown, shapes: unknown): Dims[] {
  if (!isNested(types)) return [dimsOf(shapes)];
  if (Array.isArray(types)) {
    if (!Array.isArray(shapes) || shapes.length !== types.length)
      throw userError('The shapes of a dataset must have the structure of its types.');
    return types.flatMap((t, i) => shapesLike(t, shapes[i]));
  }
  const record = types as Readonly<Record<string, unknown>>; // the third kind of structure
  const given = shapes as Readonly<Record<string, unknown>>;
  return Object.keys(record)
    .sort()
    .flatMap((key) => shapesLike(record[key], given[key]));
}

function dimsOf(shape: unknown): Dims {
  if (shape instanceof TensorShape) return shape.dims;
  if (shape instanceof NDArray) return shape.numbers();
  return shape as Dims; // as users write shapes
}
