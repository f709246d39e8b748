/** @file TensorArray: a list of tensors that grows element by element, inside loops above all. */
import { type DType, int32, int64, variant } from '../../core/dtypes.ts';
import { fromElements } from '../../core/ndarray.ts';
import { compatible, type Dims, mergeShapes, showTuple } from '../../core/shape.ts';
import { type Composite, composite, type Decomposed } from '../../graph/composite.ts';
import type { Operation } from '../../graph/operation.ts';
import { checkOptions, type OptionNames } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { knownValue } from '../../op/constantValue.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { identity } from '../../ops/array/identity.ts';
import { noOp } from '../../ops/flow/noOp.ts';
import {
  concatList,
  elementShape,
  gatherList,
  getItem,
  listFromTensor,
  listLength,
  reserveList,
  scatterInto,
  setItem,
  splitList,
  stackList,
} from '../../ops/flow/tensorList/functions.ts';
import { cast } from '../../ops/math/cast.ts';

export interface TensorArrayOptions {
  /** How many elements it has; needed unless `flow` is given. */
  readonly size?: TensorLike | undefined;
  /** Writing behind the end makes it longer. */
  readonly dynamicSize?: boolean | undefined;
  /** Accepted as TensorFlow has it: elements can be read again here. */
  readonly clearAfterRead?: boolean | undefined;
  /** Accepted as TensorFlow has it: arrays have no names while they run. */
  readonly tensorArrayName?: string | undefined;
  /** The list to use, from another array. */
  readonly flow?: Tensor | undefined;
  /** False allows elements of different shapes. */
  readonly inferShape?: boolean | undefined;
  /** What is known of the shape of every element. */
  readonly elementShape?: Dims | undefined;
  /** Accepted as TensorFlow has it. */
  readonly colocateWithFirstWriteCall?: boolean | undefined;
  readonly name?: string | undefined;
}

const optionNames: OptionNames<TensorArrayOptions> = {
  size: true,
  dynamicSize: true,
  clearAfterRead: true,
  tensorArrayName: true,
  flow: true,
  inferShape: true,
  elementShape: true,
  colocateWithFirstWriteCall: true,
  name: true,
};

interface Named {
  readonly name?: string | undefined;
}

/** What all states of one array share; writes teach it the shape of the elements. */
interface Kind {
  readonly dtype: DType;
  readonly size: TensorLike | undefined;
  readonly dynamicSize: boolean;
  readonly infersShape: boolean;
  elementShape: Dims;
}

/**
 * A list of tensors of one type. Nothing changes an array: `write` gives a new one, which is to be used from then on. Adds
 * one `TensorListReserve` node.
 *
 * @example
 * let squares = new tf.TensorArray(tf.int32, { size: 3 });
 * for (const i of [0, 1, 2]) squares = squares.write(i, i * i);
 * squares.stack(); // runs to [0 1 4]
 */
export class TensorArray implements Composite {
  /** The list in its present state. */
  readonly flow: Tensor;
  private readonly kind: Kind;

  constructor(
    dtype: DType,
    options: TensorArrayOptions = {},
    /** The array of which this is another state, with the list given as `flow`. */
    before?: TensorArray,
  ) {
    checkOptions('tf.TensorArray', options, optionNames);
    const { size, flow } = options;
    if (flow !== undefined && flow.dtype !== variant)
      throw userError(`Expected \`flow\` to be a variant tensor, but received \`${flow.dtype}\` instead.`);
    if (flow === undefined && size === undefined)
      throw userError('Argument `size` must be provided if argument `flow` is not provided.');
    if (flow !== undefined && size !== undefined)
      throw userError('Cannot provide both `flow` and `size` arguments at the same time.');
    this.kind = before?.kind ?? {
      dtype,
      size,
      dynamicSize: options.dynamicSize ?? false,
      infersShape: options.inferShape ?? true,
      elementShape: options.elementShape ?? null,
    };
    this.flow =
      flow ??
      nameScope(options.name ?? 'TensorArrayV2', (name) =>
        reserveList(dtype, elementShape(this.elementShape), size!, { name }),
      );
  }

  get dtype(): DType {
    return this.kind.dtype;
  }
  /** What is known of the shape of every element. */
  get elementShape(): Dims {
    return this.kind.elementShape;
  }
  get dynamicSize(): boolean {
    return this.kind.dynamicSize;
  }
  /** Only arrays of the older control flow have one. */
  get handle(): null {
    return null;
  }

  [composite](): Decomposed {
    return {
      kind: `TensorArray of ${this.dtype}`,
      parts: [this.flow],
      from: ([flow]) => this.withFlow(flow!),
    };
  }

  private withFlow(flow: Tensor): TensorArray {
    return new TensorArray(this.dtype, { flow }, this);
  }

  /** The same array as another node, which waits for what the scope waits for. */
  identity(): TensorArray {
    return this.withFlow(identity(this.flow));
  }

  /** Arrays over lists need no second array for their gradients: these flow through the list itself. */
  grad(_source: string, _options: Named & { readonly flow?: Tensor | undefined } = {}): never {
    throw userError('TensorArray.grad is not supported: tf.gradients passes through arrays by itself.');
  }

  /** The element at a position. Adds one `TensorListGetItem` node. */
  read(index: TensorLike, { name }: Named = {}): Tensor {
    return nameScope(name ?? 'TensorArrayV2Read', () =>
      getItem(this.flow, index, this.dtype, elementShape(this.elementShape), { name }),
    );
  }

  /** The array with another element at a position. Adds one `TensorListSetItem` node. */
  write(index: TensorLike, value: TensorLike, { name }: Named = {}): TensorArray {
    return nameScope(name ?? 'TensorArrayV2Write', () => {
      const item = this.converted(value);
      this.learn(item.shape);
      return this.withFlow(setItem(this.flow, index, item, { name, grows: this.dynamicSize }));
    });
  }

  /** All elements as one tensor. Adds one `TensorListStack` node. */
  stack({ name }: Named = {}): Tensor {
    return nameScope(name ?? 'TensorArrayV2Stack', () =>
      stackList(this.flow, this.dtype, elementShape(this.elementShape), { count: this.staticSize }),
    );
  }

  private get staticSize(): number | undefined {
    const { size, dynamicSize } = this.kind;
    if (dynamicSize || size === undefined) return undefined;
    if (typeof size === 'number') return size;
    return knownValue(convertToTensor(size))?.numberAt(0);
  }

  /** Some elements as one tensor. Adds one `TensorListGather` node. */
  gather(indices: TensorLike, { name }: Named = {}): Tensor {
    return gatherList(this.flow, indices, this.dtype, elementShape(this.elementShape), { name });
  }

  /** All elements behind each other along their first axis, in which they may differ. Adds one `TensorListConcatV2` node. */
  concat({ name }: Named = {}): Tensor {
    const dims = this.elementShape;
    const shape = elementShape(dims && dims.length > 0 ? [null, ...dims.slice(1)] : null);
    return concatList(this.flow, this.dtype, shape, constantNode(fromElements(int64, [0], [])), { name });
  }

  /** An array of the rows of a tensor. Adds one `TensorListFromTensor` node. */
  unstack(value: TensorLike, { name }: Named = {}): TensorArray {
    return nameScope(name ?? 'TensorArrayUnstack', () => {
      const tensor = this.converted(value);
      const row = tensor.shape?.slice(1) ?? null;
      this.learn(row);
      return this.withFlow(listFromTensor(tensor, elementShape(row)));
    });
  }

  /** The array with the rows of a tensor at some positions. Adds one `TensorListScatterIntoExistingList` node. */
  scatter(indices: TensorLike, value: TensorLike, { name }: Named = {}): TensorArray {
    return nameScope(name ?? 'TensorArrayScatter', () => {
      const tensor = this.converted(value);
      this.learn(tensor.shape?.slice(1) ?? null);
      return this.withFlow(scatterInto(this.flow, tensor, indices));
    });
  }

  /** An array of pieces of a tensor, of the given lengths along its first axis. Adds one `TensorListSplit` node. */
  split(value: TensorLike, lengths: TensorLike, { name }: Named = {}): TensorArray {
    return nameScope(name ?? 'TensorArraySplit', () => {
      const tensor = this.converted(value);
      const sizes = cast(lengths, int64);
      const known = knownValue(sizes)?.numbers();
      if (tensor.shape && known && known.length > 0 && new Set(known).size === 1)
        this.learn([known[0]!, ...tensor.shape.slice(1)]);
      return this.withFlow(splitList(tensor, elementShape(this.elementShape), sizes, { name }));
    });
  }

  /** How many elements there are. Adds a `TensorListLength` node where the size can change. */
  size({ name }: Named = {}): Tensor {
    const { size, dynamicSize } = this.kind;
    return dynamicSize || size === undefined
      ? listLength(this.flow, { name })
      : convertToTensor(size, { dtype: int32 });
  }

  /** Does nothing: the list is freed when nobody uses it. Adds one `NoOp` node. */
  close({ name }: { readonly name?: string } = {}): Operation {
    return noOp(name === undefined ? {} : { name });
  }

  private converted(value: TensorLike): Tensor {
    const tensor = convertToTensor(value, { hint: this.dtype, name: 'value' });
    if (tensor.dtype !== this.dtype)
      throw userError(
        `Input value ${tensor} has dtype ${tensor.dtype}, but the TensorArray holds ${this.dtype}. Wrap it in tf.cast(…, tf.${this.dtype}), or make the array of ${tensor.dtype}.`,
      );
    return tensor;
  }

  /** Elements have one shape, unless the array was told otherwise. */
  private learn(shape: Dims): void {
    const { kind } = this;
    if (!compatible(shape, kind.elementShape))
      throw userError(`Inconsistent shapes: saw ${showTuple(shape)} but expected ${showTuple(kind.elementShape)}`);
    if (kind.infersShape) kind.elementShape = mergeShapes(kind.elementShape, shape);
  }

  toString(): string {
    return `<tf.TensorArray of ${this.dtype}, elements ${showTuple(this.elementShape)}>`;
  }
}
