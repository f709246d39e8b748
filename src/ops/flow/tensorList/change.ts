/** @file Ops that give a tensor list with something changed. */
import { type DType, variant } from '../../../core/dtypes.ts';
import { InvalidArgumentError } from '../../../core/errors.ts';
import { NDArray } from '../../../core/ndarray.ts';
import { rowsOf } from '../../../core/rows.ts';
import { compatible, type Shape, sameShape, showRuntime } from '../../../core/shape.ts';
import { TensorList } from '../../../core/tensorList.ts';
import { anyType, attr } from '../../../op/attrs.ts';
import { defineOp, gradientPending } from '../../../op/defineOp.ts';
import { shape } from '../../array/shape.ts';
import { zerosLike } from '../../math/zerosLike.ts';
import { emptyLike, getItem, listLength, popBack, pushBack, resizeList, setItem } from './functions.ts';
import { dimsOf, listIn, onLists, only } from './kit.ts';
import { elementResult, staticDims } from './read.ts';
import { checkType, elementOr } from './rules.ts';

const outputHandle = () => ({ output_handle: [] });

function pushed<E>(list: TensorList<E>, element: E, shapeOfElement: Shape, where = ''): TensorList<E> {
  if (!compatible(list.elementShape, shapeOfElement))
    throw new InvalidArgumentError(
      `Tried to append a tensor with incompatible shape to a list${where}. Op element shape: ${showRuntime(shapeOfElement)} list shape: ${showRuntime(list.elementShape)}`,
    );
  if (list.limit >= 0 && list.length >= list.limit)
    throw new InvalidArgumentError(
      `Tried to push item into a full list list size: ${list.length} max_num_elements: ${list.limit}`,
    );
  return list.push(element);
}

export const TensorListPushBack = defineOp({
  name: 'TensorListPushBack',
  inputs: { input_handle: 'variant', tensor: 'element_dtype' },
  outputs: { output_handle: 'variant' },
  attrs: { element_dtype: anyType },
  takesLists: true,
  shape: outputHandle,
  grad: ({ inputs: { tensor } }, { output_handle }) => {
    const popped = popBack(output_handle, tensor.dtype, shape(tensor));
    return { input_handle: popped.list, tensor: popped.tensor };
  },
  lower: (p, { input_handle, tensor }, { element_dtype }) => ({
    output_handle: only(
      onLists(p, { lists: [input_handle], tensors: [tensor] }, ['list'], (kit, { lists: [list], tensors: [x] }) => {
        checkType(list!, element_dtype);
        return [pushed(list!, x!, kit.shapeOf(x!))];
      }),
    ),
  }),
  cases: () => [],
});

export const TensorListPushBackBatch = defineOp({
  name: 'TensorListPushBackBatch',
  inputs: { input_handles: 'variant', tensor: 'element_dtype' },
  outputs: { output_handles: 'variant' },
  attrs: { element_dtype: anyType },
  shape: ({ input_handles }) => ({ output_handles: input_handles }),
  grad: gradientPending('TensorFlow has no gradient for TensorListPushBackBatch'),
  lower(p, { input_handles, tensor }, { element_dtype }) {
    if (tensor.shape[0] !== input_handles.shape[0])
      throw new InvalidArgumentError(
        `Shape of tensor: ${showRuntime(tensor.shape)} does not match the batch of lists ${showRuntime(input_handles.shape)}`,
      );
    const { shape: batch } = input_handles;
    const [output_handles] = p.host([input_handles, tensor], [{ dtype: variant, shape: batch }], ([lists, rows]) => {
      const results = lists!.objects.map((list, i) => {
        const row = rowsOf(rows!, i, rows!.shape.slice(1));
        const before = listIn(new NDArray(variant, [], [list]));
        checkType(before, element_dtype);
        return pushed(before, row, row.shape, ` at index ${i}`);
      });
      return [new NDArray(variant, batch, results)];
    });
    return { output_handles: output_handles! };
  },
  cases: () => [],
});

export const TensorListPopBack = defineOp({
  name: 'TensorListPopBack',
  inputs: { input_handle: 'variant', element_shape: 'int32' },
  outputs: { output_handle: 'variant', tensor: 'element_dtype' },
  attrs: { element_dtype: anyType },
  takesLists: true,
  shape: (_, __, context) => ({ output_handle: [], tensor: staticDims(context) }),
  grad: ({ outputs }, { output_handle, tensor }) => ({
    input_handle: pushBack(
      output_handle ?? emptyLike(outputs.output_handle, tensor.dtype),
      tensor ?? zerosLike(outputs.tensor),
    ),
  }),
  lower(p, { input_handle, element_shape }, { element_dtype }) {
    const [output_handle, tensor] = onLists(
      p,
      { lists: [input_handle], ints: [element_shape] },
      ['list', elementResult(element_dtype, element_shape)],
      (kit, { lists: [list], ints: [given] }) => {
        checkType(list!, element_dtype);
        if (list!.length === 0) throw new InvalidArgumentError('Trying to pop from an empty list.');
        return [list!.pop(), elementOr(kit, list!, list!.length - 1, dimsOf(given!))];
      },
    );
    return { output_handle: output_handle!, tensor: tensor! };
  },
  cases: () => [],
});

export const TensorListSetItem = defineOp({
  name: 'TensorListSetItem',
  inputs: { input_handle: 'variant', index: 'int32', item: 'element_dtype' },
  outputs: { output_handle: 'variant' },
  attrs: { element_dtype: anyType, resize_if_index_out_of_bounds: attr('bool', { default: false }) },
  takesLists: true,
  shape: outputHandle,
  grad: ({ inputs: { input_handle, index, item }, attrs }, { output_handle: dlist }) => {
    const list = setItem(dlist, index, zerosLike(item));
    const element = getItem(dlist, index, item.dtype, shape(item));
    if (!attrs.resize_if_index_out_of_bounds) return { input_handle: list, item: element };
    return { input_handle: resizeList(list, listLength(input_handle)), item: element };
  },
  lower: (p, { input_handle, index, item }, { element_dtype, resize_if_index_out_of_bounds: grows }) => ({
    output_handle: only(
      onLists(
        p,
        { lists: [input_handle], tensors: [item], ints: [index] },
        ['list'],
        (kit, { lists: [list], tensors: [x], ints: [at] }) => {
          checkType(list!, element_dtype);
          const i = at!.numberAt(0);
          if (i < 0 || (i >= list!.length && !grows))
            throw new InvalidArgumentError(`Trying to modify element ${i} in a list with ${list!.length} elements.`);
          if (!compatible(list!.elementShape, kit.shapeOf(x!)))
            throw new InvalidArgumentError(
              `Tried to set a tensor with incompatible shape at a list index. Item element shape: ${showRuntime(kit.shapeOf(x!))} list shape: ${showRuntime(list!.elementShape)}`,
            );
          return [(i < list!.length ? list! : list!.resized(i + 1)).with(i, x!)];
        },
      ),
    ),
  }),
  cases: () => [],
});

export const TensorListResize = defineOp({
  name: 'TensorListResize',
  inputs: { input_handle: 'variant', size: 'int32' },
  outputs: { output_handle: 'variant' },
  attrs: {},
  takesLists: true,
  shape: outputHandle,
  grad: ({ inputs: { input_handle } }, { output_handle }) => ({
    input_handle: resizeList(output_handle, listLength(input_handle)),
  }),
  lower: (p, { input_handle, size }) => ({
    output_handle: only(
      onLists(p, { lists: [input_handle], ints: [size] }, ['list'], (_, { lists: [list], ints: [count] }) => {
        const length = count!.numberAt(0);
        if (length < 0)
          throw new InvalidArgumentError(`TensorListSlice expects size to be non-negative. Got: ${length}`);
        return [list!.resized(length)];
      }),
    ),
  }),
  cases: () => [],
});

export const TensorListConcatLists = defineOp({
  name: 'TensorListConcatLists',
  inputs: { input_a: 'variant', input_b: 'variant' },
  outputs: { output: 'variant' },
  attrs: { element_dtype: anyType },
  takesLists: true,
  shape: ({ input_a }) => ({ output: input_a }),
  grad: gradientPending('TensorFlow has no gradient for TensorListConcatLists'),
  lower(p, { input_a, input_b }, { element_dtype }) {
    const { shape } = input_a;
    if (!sameShape(shape, input_b.shape))
      throw new InvalidArgumentError(
        `Incompatible input TensorList tensor shapes: ${showRuntime(shape)} vs. ${showRuntime(input_b.shape)}`,
      );
    if (shape.length === 0)
      return {
        output: only(
          onLists(p, { lists: [input_a, input_b] }, ['list'], (_, { lists: [a, b] }) => [
            joinedLists(a!, b!, element_dtype),
          ]),
        ),
      };
    const [output] = p.host([input_a, input_b], [{ dtype: variant, shape }], ([first, second]) => {
      const list = (array: NDArray, i: number) => listIn(new NDArray(variant, [], [array.objects[i]!]));
      const joined = first!.objects.map((_, i) =>
        joinedLists(list(first!, i), list(second!, i), element_dtype, ` at index ${i}`),
      );
      return [new NDArray(variant, shape, joined)];
    });
    return { output: output! };
  },
  cases: () => [],
});

/** One list after the other. */
function joinedLists<E>(a: TensorList<E>, b: TensorList<E>, dtype: DType, where = ''): TensorList<E> {
  checkType(a, dtype);
  checkType(b, dtype);
  if (!compatible(a.elementShape, b.elementShape))
    throw new InvalidArgumentError(`input_a and input_b TensorList element shapes are not identical${where}`);
  return TensorList.of(dtype, a.elementShape, [...a.elements, ...b.elements], a.limit);
}
