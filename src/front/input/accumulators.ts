/** @file Conditional accumulators: gradients of several workers, added up until there are enough. */
import { type DType, int64 } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { cast } from '../../ops/math/cast.ts';
import {
  AccumulatorNumAccumulated,
  AccumulatorSetGlobalStep,
  ResourceAccumulatorApplyGradient,
  ResourceAccumulatorNumAccumulated,
  ResourceAccumulatorSetGlobalStep,
  ResourceAccumulatorTakeGradient,
  ResourceConditionalAccumulator,
  SparseAccumulatorApplyGradient,
  SparseAccumulatorTakeGradient,
  SparseConditionalAccumulatorOp,
} from '../../ops/queue/accumulatorOps.ts';

interface Named {
  readonly name?: string | undefined;
}

export interface AccumulatorOptions extends Named {
  /** The shape of gradients, as far as it is known. */
  readonly shape?: Dims | undefined;
  readonly sharedName?: string | undefined;
  /** Whether `takeGrad` gives the mean of the gradients, as it does unless told otherwise, or their sum. */
  readonly reductionType?: 'MEAN' | 'SUM' | undefined;
}

export interface ApplyGradOptions extends Named {
  /** The step in which the gradient was computed: one before the accumulator's step is dropped. 0 unless given. */
  readonly localStep?: TensorLike | undefined;
}

const optionNames = ['shape', 'sharedName', 'reductionType', 'name'] as const;

/** A step of any integer type as the int64 that the ops take. */
const stepOf = (step: TensorLike) => cast(convertToTensor(step), int64);

const attrsOf = (dtype: DType, { shape, sharedName, reductionType }: AccumulatorOptions) => ({
  dtype,
  shape: shape ?? null,
  shared_name: sharedName ?? '',
  reduction_type: reductionType ?? 'MEAN',
});

/** What dense and sparse accumulators share. */
export abstract class ConditionalAccumulatorBase {
  constructor(
    readonly dtype: DType,
    protected readonly shape: Dims,
    /** The handle. */
    readonly accumulatorRef: Tensor,
  ) {}

  get name(): string {
    const { name } = this.accumulatorRef.op;
    return name.slice(name.lastIndexOf('/') + 1);
  }

  /** How many gradients were added. */
  abstract numAccumulated(options?: Named): Tensor;
  /** Goes to a step: gradients of earlier steps are dropped from now on. */
  abstract setGlobalStep(newGlobalStep: TensorLike, options?: Named): Operation;
}

/** Adds up dense gradients. Adds one `ResourceConditionalAccumulator` node. */
export class ConditionalAccumulator extends ConditionalAccumulatorBase {
  constructor(dtype: DType, options: AccumulatorOptions = {}) {
    onlyOptions('tf.ConditionalAccumulator', options, ...optionNames);
    const name = options.name ?? 'conditional_accumulator';
    const { handle } = ResourceConditionalAccumulator.build({}, { name, attrs: attrsOf(dtype, options) });
    super(dtype, options.shape ?? null, handle);
  }

  /** Adds a gradient, unless it is of an earlier step. Adds one `ResourceAccumulatorApplyGradient` node. */
  applyGrad(grad: TensorLike, options: ApplyGradOptions = {}): Operation {
    const { localStep = 0, name } = onlyOptions('applyGrad', options, 'localStep', 'name');
    const gradient = convertToTensor(grad, { dtype: this.dtype });
    gradient.setShape(this.shape);
    return ResourceAccumulatorApplyGradient.node(
      { handle: this.accumulatorRef, local_step: stepOf(localStep), gradient },
      { name },
    );
  }

  /** Waits for so many gradients; gives their mean or sum, and begins the next step. */
  takeGrad(numRequired: TensorLike, options: Named = {}): Tensor {
    const { name } = onlyOptions('takeGrad', options, 'name');
    const inputs = { handle: this.accumulatorRef, num_required: numRequired };
    const { average } = ResourceAccumulatorTakeGradient.build(inputs, { name, attrs: { dtype: this.dtype } });
    average.setShape(this.shape);
    return average;
  }

  numAccumulated(options: Named = {}): Tensor {
    const { name = `${this.name}_NumAccumulated` } = onlyOptions('numAccumulated', options, 'name');
    return ResourceAccumulatorNumAccumulated.build({ handle: this.accumulatorRef }, { name }).num_accumulated;
  }

  setGlobalStep(newGlobalStep: TensorLike, options: Named = {}): Operation {
    const { name } = onlyOptions('setGlobalStep', options, 'name');
    const inputs = { handle: this.accumulatorRef, new_global_step: stepOf(newGlobalStep) };
    return ResourceAccumulatorSetGlobalStep.node(inputs, { name });
  }
}

export interface ApplySparseGradOptions extends ApplyGradOptions {
  /** The shape of the whole gradient, if it is to be checked. */
  readonly gradShape?: TensorLike | undefined;
}

/** Adds up gradients of which only some rows are given. Adds one `SparseConditionalAccumulator` node. */
export class SparseConditionalAccumulator extends ConditionalAccumulatorBase {
  constructor(dtype: DType, options: AccumulatorOptions = {}) {
    onlyOptions('tf.SparseConditionalAccumulator', options, ...optionNames);
    const name = options.name ?? 'sparse_conditional_accumulator';
    const { handle } = SparseConditionalAccumulatorOp.build({}, { name, attrs: attrsOf(dtype, options) });
    super(dtype, options.shape ?? null, handle);
  }

  /** As `applyGrad`, of indexed slices. */
  applyIndexedSlicesGrad(grad: IndexedSlices, options: ApplyGradOptions = {}): Operation {
    return this.applyGrad(grad.indices, grad.values, { ...options, gradShape: grad.denseShape ?? undefined });
  }

  /** Adds rows of a gradient, unless it is of an earlier step. Adds one `SparseAccumulatorApplyGradient` node. */
  applyGrad(gradIndices: TensorLike, gradValues: TensorLike, options: ApplySparseGradOptions = {}): Operation {
    const { localStep = 0, gradShape, name } = onlyOptions('applyGrad', options, 'localStep', 'gradShape', 'name');
    return SparseAccumulatorApplyGradient.node(
      {
        handle: this.accumulatorRef,
        local_step: stepOf(localStep),
        gradient_indices: cast(gradIndices, int64),
        gradient_values: convertToTensor(gradValues, { dtype: this.dtype }),
        gradient_shape: cast(gradShape ?? [], int64),
      },
      { name, attrs: { has_known_shape: gradShape !== undefined } },
    );
  }

  /** Waits for so many gradients; gives the mean or sum of each row as indices, values and shape. */
  takeGrad(numRequired: TensorLike, options: Named = {}): { indices: Tensor; values: Tensor; shape: Tensor } {
    const { name } = onlyOptions('takeGrad', options, 'name');
    const inputs = { handle: this.accumulatorRef, num_required: numRequired };
    return SparseAccumulatorTakeGradient.build(inputs, { name, attrs: { dtype: this.dtype } });
  }

  /** As `takeGrad`, as indexed slices. */
  takeIndexedSlicesGrad(numRequired: TensorLike, options: Named = {}): IndexedSlices {
    const { indices, values, shape } = this.takeGrad(numRequired, options);
    return new IndexedSlices(values, indices, shape);
  }

  numAccumulated(options: Named = {}): Tensor {
    const { name = `${this.name}_NumAccumulated` } = onlyOptions('numAccumulated', options, 'name');
    return AccumulatorNumAccumulated.build({ handle: this.accumulatorRef }, { name }).num_accumulated;
  }

  setGlobalStep(newGlobalStep: TensorLike, options: Named = {}): Operation {
    const { name } = onlyOptions('setGlobalStep', options, 'name');
    const inputs = { handle: this.accumulatorRef, new_global_step: stepOf(newGlobalStep) };
    return AccumulatorSetGlobalStep.node(inputs, { name });
  }
}
