/** @file Ops that make tensor lists. */
import type { DType } from '../../../core/dtypes.ts';
import { InvalidArgumentError } from '../../../core/errors.ts';
import { compatible, type Dims, showRuntime } from '../../../core/shape.ts';
import { TensorList } from '../../../core/tensorList.ts';
import { anyType } from '../../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../../op/defineOp.ts';
import { concat } from '../../array/concat.ts';
import { shape as shapeOf } from '../../array/shape.ts';
import { slice } from '../../array/slice.ts';
import { zerosLike } from '../../math/zerosLike.ts';
import { concatList, emptyLike, gatherLike, scatterInto, stackList } from './functions.ts';
import { dimsOf, type ListCode, onLists, only, shapeType } from './kit.ts';
import { unstacked } from './rules.ts';

const handle = () => ({ handle: [] });
const outputHandle = () => ({ output_handle: [] });

export const EmptyTensorList = defineOp({
  name: 'EmptyTensorList',
  inputs: { element_shape: 'shape_type', max_num_elements: 'int32' },
  outputs: { handle: 'variant' },
  attrs: { element_dtype: anyType, shape_type: shapeType },
  shape: handle,
  grad: notDifferentiable,
  lower: (p, { element_shape, max_num_elements }, { element_dtype }) => ({
    handle: only(
      onLists(p, { ints: [element_shape, max_num_elements] }, ['list'], (_, { ints: [shape, limit] }) => {
        if (limit!.shape.length > 0)
          throw new InvalidArgumentError(
            `max_num_elements expected to be a scalar but got shape: ${showRuntime(limit!.shape)}`,
          );
        return [TensorList.of<never>(element_dtype, dimsOf(shape!), [], limit!.numberAt(0))];
      }),
    ),
  }),
  cases: () => [],
});

export const TensorListReserve = defineOp({
  name: 'TensorListReserve',
  inputs: { element_shape: 'shape_type', num_elements: 'int32' },
  outputs: { handle: 'variant' },
  attrs: { element_dtype: anyType, shape_type: shapeType },
  shape: handle,
  grad: notDifferentiable,
  lower: (p, { element_shape, num_elements }, { element_dtype }) => ({
    handle: only(
      onLists(p, { ints: [element_shape, num_elements] }, ['list'], (_, { ints: [shape, count] }) => {
        const length = count!.numberAt(0);
        if (length < 0)
          throw new InvalidArgumentError(
            `The num_elements to reserve must be a non negative number, but got ${length}`,
          );
        return [TensorList.of<never>(element_dtype, dimsOf(shape!), []).resized(length)];
      }),
    ),
  }),
  cases: () => [],
});

export const TensorListFromTensor = defineOp({
  name: 'TensorListFromTensor',
  inputs: { tensor: 'element_dtype', element_shape: 'shape_type' },
  outputs: { output_handle: 'variant' },
  attrs: { element_dtype: anyType, shape_type: shapeType },
  shape: outputHandle,
  grad: ({ inputs: { tensor }, outputs }, { output_handle: dlist }) => ({
    tensor: stackList(
      dlist ?? emptyLike(outputs.output_handle, tensor.dtype),
      tensor.dtype,
      slice(shapeOf(tensor), [1], [-1]),
      { count: tensor.shape?.[0] },
    ),
  }),
  lower: (p, { tensor, element_shape }, { element_dtype }) => ({
    output_handle: only(
      onLists(p, { tensors: [tensor], ints: [element_shape] }, ['list'], (kit, { tensors: [x], ints: [given] }) => {
        const shape = kit.shapeOf(x!);
        const wanted = dimsOf(given!);
        if (shape.length === 0)
          throw new InvalidArgumentError(`Tensor must be at least a vector, but saw shape: ${showRuntime(shape)}`);
        if (!compatible(wanted, shape.slice(1)))
          throw new InvalidArgumentError(
            `Specified a list with shape ${showRuntime(wanted)} from a tensor with shape ${showRuntime(shape.slice(1))}`,
          );
        return [TensorList.of(element_dtype, wanted, unstacked(kit, x!))];
      }),
    ),
  }),
  cases: () => [],
});

/** Elements at some positions of a list that is as long as the largest of them, or as `count`. */
const scattered =
  (dtype: DType): ListCode =>
  (kit, { tensors: [x], ints: [indices, given, count] }) => {
    const at = indices!.numbers();
    const rows = unstacked(kit, x!);
    checkRows(rows.length, at);
    if (count && count.shape.length > 0)
      throw new InvalidArgumentError(`num_elements must be a scalar, not of shape ${showRuntime(count.shape)}`);
    const limit = count?.numberAt(0) ?? -1;
    if (limit < -1) throw new InvalidArgumentError(`TensorListScatter expects num_elements >= -1, found: ${limit}`);
    const over = limit < 0 ? undefined : at.find((i) => i >= limit);
    if (over !== undefined)
      throw new InvalidArgumentError(
        `TensorListScatter: Trying to scatter at index ${over} in list with size ${limit}`,
      );
    const length = at.reduce((most, i) => Math.max(most, i + 1), Math.max(limit, 0));
    const elements = new Array<(typeof rows)[number] | undefined>(length).fill(undefined);
    for (const [k, i] of at.entries()) elements[i] = rows[k];
    return [TensorList.of(dtype, dimsOf(given!), elements)];
  };

function checkRows(rows: number, indices: readonly number[]): void {
  if (rows !== indices.length)
    throw new InvalidArgumentError(
      `Invalid number of rows in input tensor. Expected: ${indices.length} Actual: ${rows}`,
    );
  for (const i of indices)
    if (i < 0)
      throw new InvalidArgumentError(
        `Indices in TensorListScatter must all be non-negative. Found negative index: ${i}`,
      );
}

export const TensorListScatter = defineOp({
  name: 'TensorListScatter',
  inputs: { tensor: 'element_dtype', indices: 'int32', element_shape: 'shape_type' },
  outputs: { output_handle: 'variant' },
  attrs: { element_dtype: anyType, shape_type: shapeType },
  shape: outputHandle,
  grad: ({ inputs: { tensor, indices } }, { output_handle }) => ({
    tensor: gatherLike(output_handle, indices, tensor),
  }),
  lower: (p, { tensor, indices, element_shape }, { element_dtype }) => ({
    output_handle: only(
      onLists(p, { tensors: [tensor], ints: [indices, element_shape] }, ['list'], scattered(element_dtype)),
    ),
  }),
  cases: () => [],
});

export const TensorListScatterV2 = defineOp({
  name: 'TensorListScatterV2',
  inputs: { tensor: 'element_dtype', indices: 'int32', element_shape: 'shape_type', num_elements: 'int32' },
  outputs: { output_handle: 'variant' },
  attrs: { element_dtype: anyType, shape_type: shapeType },
  shape: outputHandle,
  grad: ({ inputs: { tensor, indices } }, { output_handle }) => ({
    tensor: gatherLike(output_handle, indices, tensor),
  }),
  lower: (p, { tensor, indices, element_shape, num_elements }, { element_dtype }) => ({
    output_handle: only(
      onLists(
        p,
        { tensors: [tensor], ints: [indices, element_shape, num_elements] },
        ['list'],
        scattered(element_dtype),
      ),
    ),
  }),
  cases: () => [],
});

export const TensorListScatterIntoExistingList = defineOp({
  name: 'TensorListScatterIntoExistingList',
  inputs: { input_handle: 'variant', tensor: 'element_dtype', indices: 'int32' },
  outputs: { output_handle: 'variant' },
  attrs: { element_dtype: anyType },
  takesLists: true,
  shape: outputHandle,
  grad: ({ inputs: { tensor, indices } }, { output_handle: dlist }) => ({
    tensor: gatherLike(dlist, indices, tensor),
    input_handle: scatterInto(dlist, zerosLike(tensor), indices),
  }),
  lower: (p, { input_handle, tensor, indices }) => ({
    output_handle: only(
      onLists(
        p,
        { lists: [input_handle], tensors: [tensor], ints: [indices] },
        ['list'],
        (kit, { lists: [list], tensors: [x], ints: [positions] }) => {
          const at = positions!.numbers();
          const rows = unstacked(kit, x!);
          checkRows(rows.length, at);
          let result = list!.resized(at.reduce((most, i) => Math.max(most, i + 1), list!.length));
          for (const [k, i] of at.entries()) result = result.with(i, rows[k]!);
          return [result];
        },
      ),
    ),
  }),
  cases: () => [],
});

export const TensorListSplit = defineOp({
  name: 'TensorListSplit',
  inputs: { tensor: 'element_dtype', element_shape: 'shape_type', lengths: 'int64' },
  outputs: { output_handle: 'variant' },
  attrs: { element_dtype: anyType, shape_type: shapeType },
  shape: outputHandle,
  grad: ({ inputs: { tensor, lengths } }, { output_handle: dlist }) => ({
    tensor: concatList(dlist, tensor.dtype, concat([[-1], slice(shapeOf(tensor), [1], [-1])], 0), lengths),
  }),
  lower: (p, { tensor, element_shape, lengths }, { element_dtype }) => ({
    output_handle: only(
      onLists(
        p,
        { tensors: [tensor], ints: [element_shape, lengths] },
        ['list'],
        (kit, { tensors: [x], ints: [given, counts] }) => {
          const sizes = counts!.numbers();
          const shape = kit.shapeOf(x!);
          if (counts!.shape.length !== 1)
            throw new InvalidArgumentError(
              `Expected lengths to be a vector, received shape: ${showRuntime(counts!.shape)}`,
            );
          if (shape.length === 0)
            throw new InvalidArgumentError(`Tensor must be at least a vector, but saw shape: ${showRuntime(shape)}`);
          const wanted = dimsOf(given!);
          if (wanted?.length === 0)
            throw new InvalidArgumentError(
              `TensorListSplit requires element_shape to be at least of rank 1, but saw: ${showRuntime(wanted)}`,
            );
          if (!compatible(pieceShape(wanted), shape))
            throw new InvalidArgumentError(
              `tensor shape ${showRuntime(shape)} is not compatible with element_shape ${showRuntime(wanted)}`,
            );
          let start = 0;
          const pieces = sizes.map((size) => {
            if (size < 0) throw new InvalidArgumentError(`Invalid value in lengths: ${size}`);
            if (start + size > shape[0]!)
              throw new InvalidArgumentError(
                `Attempting to slice [${start}, ${start + size}] from tensor with length ${shape[0]}`,
              );
            const piece = kit.rows(x!, start, size);
            start += size;
            return piece;
          });
          if (start !== shape[0])
            throw new InvalidArgumentError(
              `Unused values in tensor. Length of tensor: ${shape[0]} Values used: ${start}`,
            );
          return [TensorList.of(element_dtype, pieceShape(wanted), pieces)];
        },
      ),
    ),
  }),
  cases: () => [],
});

/** Pieces may differ in length, whatever was said of it. */
const pieceShape = (dims: Dims): Dims => dims && [null, ...dims.slice(1)];
