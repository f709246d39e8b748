/** @file RNNCell: one step of a recurrent network, from an input and a state to an output and the next state. */
import type { DType } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat, expandDims, zeros } from '../../ops/array/index.ts';
import { subtract } from '../../ops/math/index.ts';
import { Layer, type LayerOptions } from '../layers/layer.ts';
import { mapStructure } from '../nest.ts';

/** Numbers in the structure of a state: how wide each part of it is. */
export type Sizes<S> = S extends Tensor ? number : S extends object ? { readonly [K in keyof S]: Sizes<S[K]> } : never;

/** What a step gives: the output and the state for the next step. */
export type CellStep<S> = readonly [output: Tensor, state: S];

export type CellOptions = Pick<LayerOptions, 'name' | 'dtype' | 'reuse' | 'trainable'>;

/**
 * What all cells share. `S` is the state: a tensor, or arrays and records of tensors. A cell of your own says in `call` what a
 * step computes; variables it makes there with `tf.getVariable` are shared by all steps.
 *
 * @example
 * class Adder extends tf.nn.rnnCell.RNNCell {
 *   stateSize = 3;
 *   outputSize = 3;
 *   call(inputs, state) { const sum = inputs.add(state); return [sum, sum]; }
 * }
 */
export abstract class RNNCell<S = Tensor> extends Layer<S, CellStep<S>> {
  abstract readonly stateSize: Sizes<S>;
  abstract readonly outputSize: number;

  abstract override call(inputs: Tensor, state: S): CellStep<S>;

  /** One step. */
  override apply(inputs: TensorLike, state: S): CellStep<S> {
    return super.apply(inputs, state as Partial<S>); // a state is always whole
  }

  /** A state of zeros for so many examples. */
  zeroState(batchSize: number | Tensor, dtype: DType): S {
    return nameScope(`${this.constructor.name}ZeroState`, () => zeroStates<S>(this.stateSize, batchSize, dtype));
  }

  /** The width of the inputs, which a cell must know to make its variables. */
  protected depthOf(inputShape: Dims): number {
    const depth = inputShape?.at(-1) ?? null;
    if (depth === null)
      throw userError(
        `Expected inputs.shape[-1] to be known, saw shape: ${inputShape === null ? '<unknown>' : `(${inputShape.join(', ')})`}. Give the placeholder a size there, or use setShape.`,
      );
    return depth;
  }
}

/** Zeros in the structure of a state. */
function zeroStates<S>(sizes: Sizes<S>, batchSize: number | Tensor, dtype: DType): S {
  return mapStructure((size: number) => zeroRows(batchSize, size, dtype), sizes) as S; // `Sizes` mirrors the state
}

function zeroRows(batchSize: number | Tensor, size: number, dtype: DType): Tensor {
  const rows = typeof batchSize === 'number' ? convertToTensor([batchSize]) : expandDims(batchSize, 0);
  const result = zeros(concat([rows, [size]], 0), { dtype });
  const known = typeof batchSize === 'number' ? batchSize : (constantValue(batchSize)?.numberAt(0) ?? null);
  result.setShape([known, size]);
  return result;
}

/** `1 - x`, with the nodes that Python's operator makes. */
export function oneMinus(x: Tensor): Tensor {
  return nameScope('sub', (scope) => subtract(convertToTensor(1, { dtype: x.dtype, name: 'x' }), x, { name: scope }));
}
