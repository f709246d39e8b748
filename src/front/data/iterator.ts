/** @file tf.data.Iterator: takes elements of a dataset, one per run. */
import { string } from '../../core/dtypes.ts';
import { compatible, showShape } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import {
  IteratorFromStringHandleV2,
  IteratorGetNext,
  IteratorGetNextAsOptional,
  IteratorToStringHandle,
  IteratorV2,
  MakeIterator,
} from '../../ops/data/iteratorOps.ts';
import { addToCollection } from '../collections.ts';
import type { Dataset } from './dataset.ts';
import { Optional } from './optional.ts';
import {
  componentsOf,
  type Declared,
  type ElementSpec,
  elementAttrs,
  fromTensors,
  legacy,
  specOf,
  type TypesOf,
  withStructure,
} from './spec.ts';

export interface StructureOptions {
  /** Shapes in the structure of the types; unknown where they are left out. */
  readonly outputShapes?: unknown;
  /** The classes of components in the structure of the types, where some are no tensors. */
  readonly outputClasses?: unknown;
  /** A name under which several sessions of a server share the iterator. */
  readonly sharedName?: string | undefined;
}

export interface NameOptions {
  readonly name?: string | undefined;
}

/** So many `getNext` calls are suspicious: they belong before the loop that runs them. */
const manyCalls = 32;

/** The state of going through a dataset. */
export class Iterator<E = unknown> {
  private calls = 0;
  private readonly handleText: Tensor;
  constructor(
    /** The resource that stands for the position in the dataset. */
    readonly resource: Tensor,
    private readonly initializerOp: Operation | undefined,
    readonly elementSpec: ElementSpec,
  ) {
    this.handleText = IteratorToStringHandle.build({ resource_handle: resource }).string_handle;
    addToCollection('iterators', resource);
  }

  /**
   * An iterator for all datasets whose elements have these types and shapes; `makeInitializer` makes it begin one. Adds
   * `IteratorV2` and `IteratorToStringHandle`.
   *
   * @example tf.data.Iterator.fromStructure(train.outputTypes, train.outputShapes)
   */
  static fromStructure<E = never, const T = unknown>(
    outputTypes: T,
    outputShapes?: unknown,
    options: StructureOptions = {},
  ): Iterator<Declared<E, T>> {
    const names = ['outputShapes', 'outputClasses', 'sharedName'] as const;
    const given = onlyOptions(
      'tf.data.Iterator.fromStructure',
      withStructure('outputShapes', outputTypes, outputShapes, options, ...names),
      ...names,
    );
    const spec = specOf(outputTypes, given.outputShapes, given.outputClasses);
    const attrs = { ...elementAttrs(spec), container: '', shared_name: given.sharedName ?? '' };
    return new Iterator(IteratorV2.build({}, { attrs }).handle, undefined, spec);
  }

  /**
   * Whatever iterator a string stands for that another one's `stringHandle()` gave: feed it to choose one in each run. Adds
   * `IteratorFromStringHandleV2` and `IteratorToStringHandle`.
   *
   * @example tf.data.Iterator.fromStringHandle(handle, train.outputTypes, train.outputShapes)
   */
  static fromStringHandle<E = never, const T = unknown>(
    stringHandle: TensorLike,
    outputTypes: T,
    outputShapes?: unknown,
    options: Omit<StructureOptions, 'sharedName'> = {},
  ): Iterator<Declared<E, T>> {
    const names = ['outputShapes', 'outputClasses'] as const;
    const given = onlyOptions(
      'tf.data.Iterator.fromStringHandle',
      withStructure('outputShapes', outputTypes, outputShapes, options, ...names),
      ...names,
    );
    const spec = specOf(outputTypes, given.outputShapes, given.outputClasses);
    const string_handle = convertToTensor(stringHandle, { dtype: string });
    const made = IteratorFromStringHandleV2.build({ string_handle }, { attrs: elementAttrs(spec) });
    return new Iterator(made.resource_handle, undefined, spec);
  }

  /** The operation that makes it begin its dataset; run it first, and again to begin anew. */
  get initializer(): Operation {
    if (this.initializerOp) return this.initializerOp;
    throw userError(
      'The iterator does not have an initializer. This means it was likely created using dataset.makeOneShotIterator(). For an initializable iterator, use dataset.makeInitializableIterator() instead.',
    );
  }

  /** An operation that makes it begin this dataset. Adds `MakeIterator`, named `make_initializer`. */
  makeInitializer(dataset: Dataset<E>, options: NameOptions = {}): Operation {
    const { name } = onlyOptions('makeInitializer', options, 'name');
    const given = componentsOf(dataset.elementSpec);
    const mine = componentsOf(this.elementSpec);
    if (given.length !== mine.length)
      throw userError(`The iterator gives ${mine.length} tensors per element, but the dataset has ${given.length}.`);
    for (const [i, { dtype, shape }] of mine.entries()) {
      if (given[i]!.dtype !== dtype)
        throw userError(
          `Expected output types ${String(dtype)} for component ${i}, but the dataset has ${String(given[i]!.dtype)}.`,
        );
      if (!compatible(shape, given[i]!.shape))
        throw userError(
          `Expected output shapes compatible with ${showShape(shape)} for component ${i}, but the dataset has ${showShape(given[i]!.shape)}.`,
        );
    }
    return colocateWith(this.resource, () =>
      MakeIterator.node({ dataset: dataset.variant, iterator: this.resource }, { name: name ?? 'make_initializer' }),
    );
  }

  /**
   * The next element. Call it once, outside of the loop that runs it. Adds `IteratorGetNext`; running it at the end throws
   * `tf.errors.OutOfRangeError`.
   */
  getNext(options: NameOptions = {}): E {
    const { name } = onlyOptions('getNext', options, 'name');
    if (++this.calls === manyCalls)
      process.emitWarning(
        'An unusually high number of iterator.getNext() calls was detected. Call it once outside of the training loop: each call adds nodes to the graph.',
      );
    const { components } = colocateWith(this.resource, () =>
      IteratorGetNext.build({ iterator: this.resource }, { name, attrs: elementAttrs(this.elementSpec) }),
    );
    return fromTensors(this.elementSpec, components) as E; // what the spec describes
  }

  /** The next element, or nothing at the end, as an `Optional`. Adds `IteratorGetNextAsOptional`. */
  getNextAsOptional(options: NameOptions = {}): Optional<E> {
    const { name } = onlyOptions('getNextAsOptional', options, 'name');
    const { optional } = colocateWith(this.resource, () =>
      IteratorGetNextAsOptional.build({ iterator: this.resource }, { name, attrs: elementAttrs(this.elementSpec) }),
    );
    return new Optional<E>(optional, this.elementSpec);
  }

  /** A string tensor that stands for this iterator. With a name, adds another `IteratorToStringHandle`. */
  stringHandle(options: NameOptions = {}): Tensor {
    const { name } = onlyOptions('stringHandle', options, 'name');
    if (name === undefined) return this.handleText;
    return IteratorToStringHandle.build({ resource_handle: this.resource }, { name }).string_handle;
  }

  get outputTypes(): TypesOf<E> {
    return legacy(this.elementSpec, 'dtype') as TypesOf<E>; // the spec describes the elements
  }
  get outputShapes(): unknown {
    return legacy(this.elementSpec, 'shape');
  }
  get outputClasses(): unknown {
    return legacy(this.elementSpec, 'kind');
  }
}
