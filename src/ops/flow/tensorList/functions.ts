/** @file The list ops as functions. */
import { type DType, int32 } from '../../../core/dtypes.ts';
import { fromElements, type NDArray, scalar } from '../../../core/ndarray.ts';
import type { Dims } from '../../../core/shape.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { constantNode } from '../../../op/convert.ts';
import type { Gradient } from '../../../op/registry.ts';
import { denseGradient } from '../../array/indexedSlices.ts';
import { shape } from '../../array/shape.ts';
import { slice } from '../../array/slice.ts';
import { TensorListPopBack, TensorListPushBack, TensorListResize, TensorListSetItem } from './change.ts';
import {
  EmptyTensorList,
  TensorListFromTensor,
  TensorListReserve,
  TensorListScatterIntoExistingList,
  TensorListSplit,
} from './make.ts';
import {
  TensorListConcatV2,
  TensorListElementShape,
  TensorListGather,
  TensorListGetItem,
  TensorListLength,
  TensorListStack,
} from './read.ts';

interface Named {
  readonly name?: string | undefined;
}

/** A shape as the list ops take it: -1 is an unknown size, the scalar -1 an unknown rank. */
export function shapeInput(dims: Dims): NDArray {
  if (dims === null) return scalar(int32, -1);
  return fromElements(
    int32,
    [dims.length],
    dims.map((d) => d ?? -1),
  );
}

/** As Python gives a static shape to the list ops: for scalars, a constant of its own. */
export function elementShape(dims: Dims): TensorLike {
  return dims?.length === 0 ? constantNode(shapeInput(dims)) : shapeInput(dims);
}

export function emptyList(dtype: DType, elementShape: TensorLike, limit: TensorLike = -1, options: Named = {}): Tensor {
  return EmptyTensorList.build(
    { element_shape: elementShape, max_num_elements: limit },
    { ...options, attrs: { element_dtype: dtype } },
  ).handle;
}

export function reserveList(dtype: DType, elementShape: TensorLike, count: TensorLike, options: Named = {}): Tensor {
  return TensorListReserve.build(
    { element_shape: elementShape, num_elements: count },
    { ...options, attrs: { element_dtype: dtype } },
  ).handle;
}

export function listFromTensor(tensor: Gradient, elementShape: TensorLike, options: Named = {}): Tensor {
  return TensorListFromTensor.build({ tensor: denseGradient(tensor), element_shape: elementShape }, options)
    .output_handle;
}

export function listLength(list: Tensor, options: Named = {}): Tensor {
  return TensorListLength.build({ input_handle: list }, options).length;
}

export function listElementShape(list: Tensor): Tensor {
  return TensorListElementShape.build({ input_handle: list }, { attrs: { shape_type: int32 } }).element_shape;
}

/** A list without elements that can take the elements of another one. */
export function emptyLike(list: Tensor, dtype: DType): Tensor {
  return emptyList(dtype, listElementShape(list));
}

/** A list of the same length whose elements are not set. */
export function reservedLike(list: Tensor, dtype: DType, length?: Tensor): Tensor {
  const shapeOfElements = listElementShape(list);
  return reserveList(dtype, shapeOfElements, length ?? listLength(list));
}

export function pushBack(list: Gradient, tensor: Gradient, options: Named = {}): Tensor {
  return TensorListPushBack.build({ input_handle: denseGradient(list), tensor: denseGradient(tensor) }, options)
    .output_handle;
}

export function popBack(
  list: Gradient,
  dtype: DType,
  elementShape: TensorLike,
  options: Named = {},
): { readonly list: Tensor; readonly tensor: Tensor } {
  const { output_handle, tensor } = TensorListPopBack.build(
    { input_handle: denseGradient(list), element_shape: elementShape },
    { ...options, attrs: { element_dtype: dtype } },
  );
  return { list: output_handle, tensor };
}

export function getItem(
  list: Gradient,
  index: TensorLike,
  dtype: DType,
  elementShape: TensorLike,
  options: Named = {},
): Tensor {
  return TensorListGetItem.build(
    { input_handle: denseGradient(list), index, element_shape: elementShape },
    { ...options, attrs: { element_dtype: dtype } },
  ).item;
}

export function setItem(
  list: Gradient,
  index: TensorLike,
  item: Gradient,
  options: Named & { readonly grows?: boolean } = {},
): Tensor {
  return TensorListSetItem.build(
    { input_handle: denseGradient(list), index, item: denseGradient(item) },
    { name: options.name, attrs: { resize_if_index_out_of_bounds: options.grows ?? false } },
  ).output_handle;
}

export function resizeList(list: Gradient, size: TensorLike, options: Named = {}): Tensor {
  return TensorListResize.build({ input_handle: denseGradient(list), size }, options).output_handle;
}

export function stackList(
  list: Gradient,
  dtype: DType,
  elementShape: TensorLike,
  options: Named & { readonly count?: number | null | undefined } = {},
): Tensor {
  return TensorListStack.build(
    { input_handle: denseGradient(list), element_shape: elementShape },
    { name: options.name, attrs: { element_dtype: dtype, num_elements: options.count ?? -1 } },
  ).tensor;
}

export function gatherList(
  list: Gradient,
  indices: TensorLike,
  dtype: DType,
  elementShape: TensorLike,
  options: Named = {},
): Tensor {
  return TensorListGather.build(
    { input_handle: denseGradient(list), indices, element_shape: elementShape },
    { ...options, attrs: { element_dtype: dtype } },
  ).values;
}

/** The gradient of scattered rows: the same rows of the gradient's list. */
export function gatherLike(dlist: Gradient, indices: Tensor, tensor: Tensor): Tensor {
  return gatherList(dlist, indices, tensor.dtype, slice(shape(tensor), [1], [-1]));
}

export function scatterInto(list: Gradient, tensor: Gradient, indices: TensorLike, options: Named = {}): Tensor {
  return TensorListScatterIntoExistingList.build(
    { input_handle: denseGradient(list), tensor: denseGradient(tensor), indices },
    options,
  ).output_handle;
}

export function splitList(
  tensor: Gradient,
  elementShape: TensorLike,
  lengths: TensorLike,
  options: Named = {},
): Tensor {
  return TensorListSplit.build({ tensor: denseGradient(tensor), element_shape: elementShape, lengths }, options)
    .output_handle;
}

export function concatList(
  list: Gradient,
  dtype: DType,
  elementShape: TensorLike,
  leadingDims: TensorLike,
  options: Named = {},
): Tensor {
  return TensorListConcatV2.build(
    { input_handle: denseGradient(list), element_shape: elementShape, leading_dims: leadingDims },
    { ...options, attrs: { element_dtype: dtype } },
  ).tensor;
}
