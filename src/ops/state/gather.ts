/** @file Reading some rows or elements of a variable without reading all of it. */
import { int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { constantNode } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { outputOf } from '../../op/node.ts';
import { explainIndex } from '../../program/explain.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { getItem } from '../array/getItem.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { reshape } from '../array/reshape.ts';
import { size } from '../array/shape.ts';
import { squeeze } from '../array/squeeze.ts';
import { checkHandleType, handleInfo, missing, variableOf } from './forms.ts';
import { VariableShape } from './variable.ts';

const Tindices = attr('type', { allowed: [int32, int64] });

/** The variable's shape as a vector: a constant when it is known. */
function shapeOfHandle(handle: Tensor): Tensor {
  const shape = handleInfo(handle)?.shape ?? null;
  return isFullyDefined(shape) ? constantNode(intVector(shape)) : VariableShape.build({ input: handle }).output;
}

function gatheredShape(params: Dims, indices: Dims, batch: number): Dims {
  if (params === null || indices === null) return null;
  if (params.length === 0)
    throw new InvalidArgumentError('Shape must be at least rank 1 but is rank 0: a scalar variable has no rows.');
  if (batch > indices.length || batch >= params.length)
    throw new InvalidArgumentError(
      `batch_dims is ${batch}, but the variable has shape ${showShape(params)} and indices ${showShape(indices)}`,
    );
  return [...indices, ...params.slice(batch + 1)];
}

export const ResourceGather = defineOp({
  name: 'ResourceGather',
  inputs: { resource: 'resource', indices: 'Tindices' },
  outputs: { output: 'dtype' },
  attrs: {
    batch_dims: attr('int', { default: 0 }),
    validate_indices: attr('bool', { default: true }),
    dtype: anyType,
    Tindices,
  },
  stateful: true,
  effects: 'reads',
  hostInputs: ['resource'],
  shape: ({ indices }, { batch_dims, dtype }, { op }) => {
    checkHandleType(op.inputs[0]!, dtype, 'read');
    return { output: gatheredShape(handleInfo(op.inputs[0]!)?.shape ?? null, indices, batch_dims) };
  },
  grad: ({ inputs: { resource, indices } }, { output: dy }) => {
    const whole = shapeOfHandle(resource);
    const count = expandDims(size(indices), 0);
    const rowShape = concat([count, getItem(whole, '1:')], 0);
    const values = reshape(dy, rowShape);
    return { resource: new IndexedSlices(values, reshape(indices, count), whole) };
  },
  lower: (p, { resource, indices }, { batch_dims }) => {
    const variable = variableOf(p, resource);
    const params = p.read(variable, missing(resource, variable));
    const shape = gatheredShape(params.shape, indices.shape, batch_dims) as number[]; // both are concrete
    const batch = sizeOf(params.shape.slice(0, batch_dims));
    const rows = params.shape[batch_dims]!;
    const inner = sizeOf(params.shape.slice(batch_dims + 1));
    const count = sizeOf(indices.shape.slice(batch_dims));
    const rowsPicked = p.gather(p.reshape(params, [batch, 1, rows, inner]), p.reshape(indices, [batch, count, 1]), {
      explain: explainIndex(indices.shape, rows),
    });
    return { output: p.reshape(rowsPicked, shape) };
  },
  cases: () => [
    { shape: '[], [2, ?] -> ?', attrs: { dtype: 'float32' } },
    {
      given: {
        resource: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        indices: { dtype: 'int32', value: [[2], [0]] },
      },
      expect: { output: [[[5, 6]], [[1, 2]]] },
    },
    {
      given: {
        resource: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        indices: {
          dtype: 'int64',
          value: [
            [2, 0],
            [1, 1],
          ],
        },
      },
      attrs: { batch_dims: 1 },
      expect: {
        output: [
          [3, 1],
          [5, 5],
        ],
      },
      // TensorFlow's gradient takes no notice of batch_dims.
      differentiable: false,
    },
    {
      given: { resource: [1, 2], indices: { dtype: 'int32', value: [0, 2] } },
      fails: /indices\[1\] = 2 is not in \[0, 2\)/,
    },
  ],
});

export const ResourceGatherNd = defineOp({
  name: 'ResourceGatherNd',
  inputs: { resource: 'resource', indices: 'Tindices' },
  outputs: { output: 'dtype' },
  attrs: { dtype: anyType, Tindices },
  stateful: true,
  effects: 'reads',
  hostInputs: ['resource'],
  shape: ({ indices }, { dtype }, { op }) => {
    checkHandleType(op.inputs[0]!, dtype, 'read');
    const params = handleInfo(op.inputs[0]!)?.shape ?? null;
    const depth = indices?.at(-1);
    if (!params || !indices || depth == null) return { output: null };
    if (depth > params.length)
      throw new InvalidArgumentError(
        `indices.shape[-1] must be <= params.rank, but saw indices shape: ${showRuntime(indices)} and params shape: ${showRuntime(params)}`,
      );
    return { output: [...indices.slice(0, -1), ...params.slice(depth)] };
  },
  grad: ({ inputs: { resource, indices } }, { output: dy }) => {
    const whole = VariableShape.build({ input: resource }, { attrs: { out_type: indices.dtype } }).output;
    const depth = indices.shape?.at(-1);
    if (indices.rank === 2 && depth === 1)
      return { resource: new IndexedSlices(denseGradient(dy), squeeze(indices, { axis: [-1] }), whole) };
    return { resource: outputOf('ScatterNd', { indices, updates: denseGradient(dy), shape: whole }) };
  },
  lower: (p, { resource, indices }, _, node) => {
    const variable = variableOf(p, resource);
    const params = p.read(variable, missing(resource, variable));
    const depth = indices.shape.at(-1)!;
    const count = sizeOf(indices.shape.slice(0, -1));
    const inner = params.shape.slice(depth);
    const picked = p.gather(
      p.reshape(params, [1, 1, ...params.shape.slice(0, depth), sizeOf(inner)]),
      p.reshape(indices, [1, count, depth]),
      {
        explain: ({ position, value }) => {
          const vector = Array.from({ length: depth }, (_, i) => (i === position % depth ? value : '?'));
          return new InvalidArgumentError(
            `indices[${Math.floor(position / depth)}] = [${vector.join(', ')}] does not index into param shape ${showRuntime(params.shape)}, node name: ${node.name}`,
          );
        },
      },
    );
    return { output: p.reshape(picked, [...indices.shape.slice(0, -1), ...inner]) };
  },
  cases: () => [
    { shape: '[], [2, ?] -> ?', attrs: { dtype: 'float32' } },
    {
      given: {
        resource: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        indices: { dtype: 'int32', value: [[2], [0]] },
      },
      expect: {
        output: [
          [5, 6],
          [1, 2],
        ],
      },
    },
    {
      given: {
        resource: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        indices: {
          dtype: 'int64',
          value: [
            [2, 1],
            [0, 1],
            [2, 1],
          ],
        },
      },
      expect: { output: [6, 2, 6] },
    },
    {
      given: { resource: [1, 2], indices: { dtype: 'int32', value: [[3]] } },
      fails: /indices\[0\] = \[3\] does not index into param shape \[2\]/,
    },
  ],
});
