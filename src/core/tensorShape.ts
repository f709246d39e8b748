/** @file TensorShape: static shapes as an object, for programs that compute with them. */
import { compatible, type Dims, isFullyDefined, mergeShapes, showTuple, sizeOf } from './shape.ts';

/**
 * A static shape with the questions TensorFlow's class of that name answers. Functions take and give plain lists; wrap
 * one to ask.
 *
 * @example new tf.TensorShape([null, 3]).mergeWith([2, null]).asList() // [2, 3]
 */
export class TensorShape {
  readonly dims: Dims;
  constructor(dims: Dims | TensorShape) {
    this.dims = dims instanceof TensorShape ? dims.dims : dims;
  }

  /** The number of axes; `null` when it is not known. */
  get ndims(): number | null {
    return this.dims?.length ?? null;
  }
  get rank(): number | null {
    return this.ndims;
  }
  isFullyDefined(): boolean {
    return isFullyDefined(this.dims);
  }
  /** How many elements there are; `null` when a size is not known. */
  numElements(): number | null {
    return isFullyDefined(this.dims) ? sizeOf(this.dims) : null;
  }
  isCompatibleWith(other: Dims | TensorShape): boolean {
    return compatible(this.dims, new TensorShape(other).dims);
  }
  /** What the two say together; throws when they contradict each other. */
  mergeWith(other: Dims | TensorShape): TensorShape {
    return new TensorShape(mergeShapes(this.dims, new TensorShape(other).dims));
  }
  /** This shape's axes followed by the other's. */
  concatenate(other: Dims | TensorShape): TensorShape {
    const { dims } = new TensorShape(other);
    return new TensorShape(this.dims === null || dims === null ? null : [...this.dims, ...dims]);
  }
  /** The sizes as a list, `null` where unknown; throws when even the rank is unknown. */
  asList(): (number | null)[] {
    if (this.dims === null) throw new RangeError('asList() is not defined on an unknown TensorShape.');
    return [...this.dims];
  }
  toString(): string {
    return showTuple(this.dims);
  }
}
