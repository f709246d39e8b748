/** @file Barrier: tuples that are completed under a key before anyone can take them. */
import type { DType } from '../../core/dtypes.ts';
import { type Dims, sizeOf } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { knownValue } from '../../op/constantValue.ts';
import {
  BarrierClose,
  BarrierIncompleteSize,
  BarrierInsertMany,
  BarrierOp,
  BarrierReadySize,
  BarrierTakeMany,
} from '../../ops/queue/barrier.ts';
import { asShapes, asTypes, type ShapeList, type TypeList } from './queueBase.ts';

interface Named {
  readonly name?: string | undefined;
}

export interface BarrierOptions extends Named {
  readonly shapes?: ShapeList | undefined;
  readonly sharedName?: string | undefined;
}

/**
 * Joins components that come at different times under the same key; complete tuples are given in the order in which their
 * keys were first seen. Adds one `Barrier` node.
 */
export class Barrier {
  readonly barrierRef: Tensor;
  private readonly types: readonly DType[];
  private readonly shapes: readonly Dims[];
  private readonly localName: string;

  constructor(types: TypeList, options: BarrierOptions = {}) {
    onlyOptions('tf.Barrier', options, 'shapes', 'sharedName', 'name');
    this.types = asTypes(types);
    const shapes = asShapes(options.shapes);
    const empty = shapes?.findIndex((shape) => sizeOf(shape as number[]) === 0) ?? -1; // asShapes admits known ones only
    if (empty >= 0)
      throw userError(`Empty tensors are not supported, but the shape at index ${empty} has no elements.`);
    this.shapes = shapes ?? this.types.map(() => null);
    const attrs = { component_types: this.types, shapes: this.shapes, shared_name: options.sharedName ?? '' };
    this.barrierRef = BarrierOp.build({}, { name: options.name ?? 'barrier', attrs }).handle;
    this.localName = this.name.slice(this.name.lastIndexOf('/') + 1);
  }

  get name(): string {
    return this.barrierRef.op.name;
  }

  /** Gives a component of the tuples of some keys, a row per key. Adds one `BarrierInsertMany` node. */
  insertMany(componentIndex: number, keys: TensorLike, values: TensorLike, options: Named = {}): Operation {
    const { name = `${this.localName}_BarrierInsertMany` } = onlyOptions('insertMany', options, 'name');
    const dtype = this.types[componentIndex]; // an index that is out of range is refused when the node runs
    const attrs = { component_index: componentIndex, ...(dtype && { T: dtype }) };
    return BarrierInsertMany.node({ handle: this.barrierRef, keys, values }, { name, attrs });
  }

  /** Takes complete tuples out; waits until there are so many. Adds one `BarrierTakeMany` node. */
  takeMany(
    numElements: TensorLike,
    options: Named & { readonly allowSmallBatch?: boolean | undefined } = {},
  ): { indices: Tensor; keys: Tensor; values: Tensor[] } {
    const { name = `${this.localName}_BarrierTakeMany`, allowSmallBatch = false } = onlyOptions(
      'takeMany',
      options,
      'allowSmallBatch',
      'name',
    );
    const attrs = { component_types: this.types, allow_small_batch: allowSmallBatch };
    const node = BarrierTakeMany.node({ handle: this.barrierRef, num_elements: numElements }, { name, attrs });
    const [indices, keys, ...values] = node.outputs as [Tensor, Tensor, ...Tensor[]]; // the ports of the op
    const count = allowSmallBatch ? null : (knownValue(node.inputs[1]!)?.numberAt(0) ?? null);
    indices.setShape([count]);
    keys.setShape([count]);
    for (const [i, tensor] of values.entries()) {
      const shape = this.shapes[i]!;
      tensor.setShape(shape && [count, ...shape]);
    }
    return { indices, keys, values };
  }

  /** Lets no new keys in; with `cancelPendingEnqueues` nothing at all. Adds one `BarrierClose` node. */
  close(options: Named & { readonly cancelPendingEnqueues?: boolean | undefined } = {}): Operation {
    const { name = `${this.localName}_BarrierClose`, cancelPendingEnqueues = false } = onlyOptions(
      'close',
      options,
      'cancelPendingEnqueues',
      'name',
    );
    const attrs = { cancel_pending_enqueues: cancelPendingEnqueues };
    return BarrierClose.node({ handle: this.barrierRef }, { name, attrs });
  }

  /** How many tuples are complete. */
  readySize(options: Named = {}): Tensor {
    const { name = `${this.localName}_BarrierReadySize` } = onlyOptions('readySize', options, 'name');
    return BarrierReadySize.build({ handle: this.barrierRef }, { name }).size;
  }

  /** How many tuples lack components. */
  incompleteSize(options: Named = {}): Tensor {
    const { name = `${this.localName}_BarrierIncompleteSize` } = onlyOptions('incompleteSize', options, 'name');
    return BarrierIncompleteSize.build({ handle: this.barrierRef }, { name }).size;
  }
}
