/** @file Ops that read tensor lists. */
import { int32, int64 } from '../../../core/dtypes.ts';
import { InvalidArgumentError } from '../../../core/errors.ts';
import { intVector, type NDArray, scalar } from '../../../core/ndarray.ts';
import { compatible, type Dims, isFullyDefined, mergeAtRunTime, mergeShapes, type Shape } from '../../../core/shape.ts';
import type { TensorList } from '../../../core/tensorList.ts';
import { anyType, attr } from '../../../op/attrs.ts';
import { defineOp, notDifferentiable, type ShapeContext } from '../../../op/defineOp.ts';
import type { ProgramBuilder } from '../../../program/builder.ts';
import type { HostResult } from '../../../program/tracing.ts';
import type { Value } from '../../../program/value.ts';
import { denseGradient } from '../../array/indexedSlices.ts';
import {
  listElementShape,
  listFromTensor,
  listLength,
  reservedLike,
  scatterInto,
  setItem,
  elementShape as shapeGiven,
  splitList,
} from './functions.ts';
import { elementsOf } from './info.ts';
import { dimsOf, type Kit, listIn, onLists, only, shapeType } from './kit.ts';
import { checkType, definedShape, elementOr, elementShape, stacked } from './rules.ts';

/** What is known of an element while building: from an `element_shape` input, and from how the list was made. */
export function staticDims<I extends { element_shape: string }>(context: ShapeContext<I>): Dims {
  const value = context.value('element_shape');
  const entries = value?.shape.length === 0 ? undefined : context.partial('element_shape');
  const given: Dims = entries?.map((d) => (d !== null && d < 0 ? null : d)) ?? null;
  const made = elementsOf(context.op.inputs[0]!)?.shape ?? null;
  return compatible(given, made) ? mergeShapes(given, made) : given;
}

/** An element as a host call gives it: of known shape where the op says so. */
export function elementResult(dtype: HostResult['dtype'], elementShape: Value): HostResult {
  const dims = elementShape.known ? dimsOf(elementShape.known) : null;
  return isFullyDefined(dims) ? { dtype, shape: dims } : { dtype };
}

export const TensorListLength = defineOp({
  name: 'TensorListLength',
  inputs: { input_handle: 'variant' },
  outputs: { length: 'int32' },
  attrs: {},
  takesLists: true,
  shape: () => ({ length: [] }),
  grad: notDifferentiable,
  lower: (p, { input_handle }) => ({ length: askList(p, input_handle, [], (list) => scalar(int32, list.length)) }),
  cases: () => [],
});

export const TensorListElementShape = defineOp({
  name: 'TensorListElementShape',
  inputs: { input_handle: 'variant' },
  outputs: { element_shape: 'shape_type' },
  attrs: { shape_type: shapeType },
  takesLists: true,
  shape: () => ({ element_shape: null }),
  grad: notDifferentiable,
  lower: (p, { input_handle }, { shape_type }) => ({
    element_shape: askList(p, input_handle, undefined, ({ elementShape: dims }) =>
      dims === null
        ? scalar(shape_type, shape_type === int64 ? -1n : -1)
        : intVector(
            dims.map((d) => d ?? -1),
            shape_type,
          ),
    ),
  }),
  cases: () => [],
});

/** What a list is like, without its elements. */
function askList(
  p: ProgramBuilder,
  handle: Value,
  shape: Shape | undefined,
  ask: (list: { readonly length: number; readonly elementShape: Dims }) => NDArray,
): Value {
  if (handle.list) return p.constant(ask(handle.list));
  const dtype = ask({ length: 0, elementShape: null }).dtype;
  return only(p.host([handle], [shape ? { dtype, shape } : { dtype }], ([array]) => [ask(listIn(array!))]));
}

export const TensorListGetItem = defineOp({
  name: 'TensorListGetItem',
  inputs: { input_handle: 'variant', index: 'int32', element_shape: 'Tshape' },
  outputs: { item: 'element_dtype' },
  attrs: { element_dtype: anyType, Tshape: attr('type', { allowed: [int32, int64], default: int32 }) },
  takesLists: true,
  shape: (_, __, context) => ({ item: staticDims(context) }),
  grad: ({ inputs: { input_handle, index } }, { item }) => {
    const length = listLength(input_handle);
    return { input_handle: setItem(reservedLike(input_handle, item.dtype, length), index, item) };
  },
  lower: (p, { input_handle, index, element_shape }, { element_dtype }) => ({
    item: only(
      onLists(
        p,
        { lists: [input_handle], ints: [index, element_shape] },
        [elementResult(element_dtype, element_shape)],
        (kit, { lists: [list], ints: [at, shape] }) => {
          checkType(list!, element_dtype);
          const i = at!.numberAt(0);
          if (i < 0 || i >= list!.length)
            throw new InvalidArgumentError(`Trying to access element ${i} in a list with ${list!.length} elements.`);
          return [elementOr(kit, list!, i, dimsOf(shape!))];
        },
      ),
    ),
  }),
  cases: () => [],
});

export const TensorListStack = defineOp({
  name: 'TensorListStack',
  inputs: { input_handle: 'variant', element_shape: 'int32' },
  outputs: { tensor: 'element_dtype' },
  attrs: { element_dtype: anyType, num_elements: attr('int', { default: -1 }) },
  takesLists: true,
  shape: (_, { num_elements }, context) => {
    const dims = staticDims(context);
    return { tensor: dims && [num_elements < 0 ? null : num_elements, ...dims] };
  },
  grad: (_, { tensor }) => ({
    input_handle: listFromTensor(tensor, shapeGiven(denseGradient(tensor).shape?.slice(1) ?? null)),
  }),
  lower: (p, { input_handle, element_shape }, { element_dtype, num_elements }) => ({
    tensor: only(
      onLists(
        p,
        { lists: [input_handle], ints: [element_shape] },
        [{ dtype: element_dtype }],
        (kit, { lists: [list], ints: [given] }) => {
          checkType(list!, element_dtype);
          if (num_elements >= 0 && list!.length !== num_elements)
            throw new InvalidArgumentError(
              `Operation expected a list with ${num_elements} elements but got a list with ${list!.length} elements.`,
            );
          const what =
            list!.length === 0
              ? 'Tried to stack elements of an empty list with non-fully-defined element_shape: '
              : 'Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape: ';
          const shape = definedShape(elementShape(kit, list!, dimsOf(given!)), what);
          return [stacked(kit, list!, [...new Array<number>(list!.length).keys()], shape)];
        },
      ),
    ),
  }),
  cases: () => [],
});

export const TensorListGather = defineOp({
  name: 'TensorListGather',
  inputs: { input_handle: 'variant', indices: 'int32', element_shape: 'int32' },
  outputs: { values: 'element_dtype' },
  attrs: { element_dtype: anyType },
  takesLists: true,
  shape: ({ indices }, _, context) => {
    const dims = staticDims(context);
    return { values: dims && [indices?.[0] ?? null, ...dims] };
  },
  grad: ({ inputs: { input_handle, indices } }, { values }) => ({
    input_handle: scatterInto(reservedLike(input_handle, values.dtype), values, indices),
  }),
  lower: (p, { input_handle, indices, element_shape }, { element_dtype }) => ({
    values: only(
      onLists(
        p,
        { lists: [input_handle], ints: [indices, element_shape] },
        [{ dtype: element_dtype }],
        (kit, { lists: [list], ints: [positions, given] }) => {
          checkType(list!, element_dtype);
          const at = positions!.numbers();
          for (const i of at)
            if (i < 0 || i >= list!.length)
              throw new InvalidArgumentError(`Trying to gather element ${i} in a list with ${list!.length} elements.`);
          const what =
            at.length === 0
              ? 'Tried to gather 0-elements from a list with non-fully-defined shape: '
              : 'Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: ';
          const asked = at.map((i) => list!.at(i));
          const shape = definedShape(elementShape(kit, list!, dimsOf(given!), asked), what);
          return [stacked(kit, list!, at, shape)];
        },
      ),
    ),
  }),
  cases: () => [],
});

/** Elements of any length one after the other, and their lengths. */
function concatenated(
  p: ProgramBuilder,
  list: Value,
  element_dtype: HostResult['dtype'],
  given: (ints: readonly NDArray[]) => { readonly shape: Dims; readonly lengths: readonly number[] },
  ints: readonly Value[],
): { tensor: Value; lengths: Value } {
  const [tensor, lengths] = onLists(
    p,
    { lists: [list], ints },
    [{ dtype: element_dtype }, { dtype: int64 }],
    (kit, { lists: [elements], ints: arrays }) => {
      const from = elements!;
      checkType(from, element_dtype);
      const { shape, lengths: sizes } = given(arrays);
      const { rest, first } = concatShape(kit, from, mergeAtRunTime(shape, from.elementShape));
      // Elements that were never set are holes, which `map` would pass over.
      const pieces = Array.from(
        from.elements,
        (x, i) => x ?? kit.zeros(element_dtype, [lengthOf(i, sizes, first), ...rest]),
      );
      const counts = pieces.map((x) => kit.shapeOf(x)[0]!);
      const total = counts.reduce((a, b) => a + b, 0);
      const measured = intVector(counts, int64);
      return [kit.concat(pieces, element_dtype, [total, ...rest]), kit.constant(measured)];
    },
  );
  return { tensor: tensor!, lengths: lengths! };
}

/** What elements that are put one after the other have in common: all but the length, and the length if it is the same. */
function concatShape<E>(kit: Kit<E>, list: TensorList<E>, given: Dims): { rest: Shape; first: number | undefined } {
  if (given?.length === 0)
    throw new InvalidArgumentError('Concat requires elements to be at least vectors, found scalars instead.');
  let rest: Dims = given?.slice(1) ?? null;
  const lengths = new Set<number>();
  if (list.length === 0)
    definedShape(
      rest,
      'All except the first dimension must be fully defined when concating an empty tensor list. element_shape: ',
    );
  for (const [i, x] of list.elements.entries()) {
    if (x === undefined) continue;
    const [length, ...own] = kit.shapeOf(x);
    if (length === undefined)
      throw new InvalidArgumentError(`Concat saw a scalar shape at index ${i} but requires at least vectors.`);
    rest = mergeAtRunTime(rest, own);
    const wanted = given?.[0] ?? length;
    if (wanted !== length)
      throw new InvalidArgumentError(
        `First entry of element_shape input does not match the first dim of list element at index: ${i} Expected: ${wanted} Actual: ${length}`,
      );
    lengths.add(length);
  }
  const known = definedShape(
    rest,
    'Trying to concat list with only uninitialized tensors but element_shape_except_first_dim is not fully defined: ',
  );
  return { rest: known, first: given?.[0] ?? (lengths.size === 1 ? [...lengths][0] : undefined) };
}

/** How long an element is that was never set. */
function lengthOf(index: number, sizes: readonly number[], first: number | undefined): number {
  const length = sizes[index] ?? first;
  if (length === undefined)
    throw new InvalidArgumentError(
      `List contains uninitialized tensor at index ${index} but leading_dims has only ${sizes.length} elements.`,
    );
  return length;
}

const lengthsShape = { lengths: [null] };

export const TensorListConcat = defineOp({
  name: 'TensorListConcat',
  inputs: { input_handle: 'variant' },
  outputs: { tensor: 'element_dtype', lengths: 'int64' },
  attrs: { element_dtype: anyType, element_shape: attr('shape', { default: null }) },
  takesLists: true,
  shape: (_, { element_shape }) => ({ tensor: element_shape && [null, ...element_shape.slice(1)], ...lengthsShape }),
  grad: ({ inputs, outputs }, { tensor }) => ({
    input_handle: splitList(tensor, listElementShape(inputs.input_handle), outputs.lengths),
  }),
  lower(p, { input_handle }, { element_dtype, element_shape }) {
    if (element_shape?.length === 0) throw new InvalidArgumentError('element_shape must not be empty');
    return concatenated(p, input_handle, element_dtype, () => ({ shape: element_shape, lengths: [] }), []);
  },
  cases: () => [],
});

export const TensorListConcatV2 = defineOp({
  name: 'TensorListConcatV2',
  inputs: { input_handle: 'variant', element_shape: 'shape_type', leading_dims: 'int64' },
  outputs: { tensor: 'element_dtype', lengths: 'int64' },
  attrs: { element_dtype: anyType, shape_type: shapeType },
  takesLists: true,
  shape: (_, __, context) => {
    const dims = staticDims(context);
    return { tensor: dims && [null, ...dims.slice(1)], ...lengthsShape };
  },
  grad: ({ inputs, outputs }, { tensor }) => ({
    input_handle: splitList(tensor, listElementShape(inputs.input_handle), outputs.lengths),
  }),
  lower: (p, { input_handle, element_shape, leading_dims }, { element_dtype }) =>
    concatenated(
      p,
      input_handle,
      element_dtype,
      ([shape, dims]) => ({ shape: dimsOf(shape!), lengths: dims!.numbers() }),
      [element_shape, leading_dims],
    ),
  cases: () => [],
});
