/** @file IndexedSlices: the rows of a larger tensor that a sparse gradient touches. */
import type { DType } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import { type Dims, showTuple } from '../core/shape.ts';
import { type Composite, composite, type Decomposed } from './composite.ts';
import type { Graph } from './graph.ts';
import type { Operation } from './operation.ts';
import type { ConvertibleToTensor, Tensor } from './tensor.ts';

let densify: (slices: IndexedSlices, options: { name?: string | undefined }) => Tensor = () => {
  throw new InvalidArgumentError('IndexedSlices cannot become a tensor before the array ops are loaded');
};
let staticShape: (denseShape: Tensor) => Dims = () => null;
/** Gives what needs ops: the conversion to a dense tensor, and what is known of a shape's value. */
export function setDensify(convert: typeof densify, shapeOf: typeof staticShape): void {
  densify = convert;
  staticShape = shapeOf;
}

/** `values[i]` belongs to row `indices[i]` of a tensor of shape `denseShape`; repeated rows add up. */
export class IndexedSlices implements ConvertibleToTensor, Composite {
  constructor(
    readonly values: Tensor,
    readonly indices: Tensor,
    readonly denseShape?: Tensor | undefined,
  ) {}
  get dtype(): DType {
    return this.values.dtype;
  }
  get op(): Operation {
    return this.values.op;
  }
  get graph(): Graph {
    return this.values.graph;
  }
  get name(): string {
    return this.values.name;
  }
  get device(): string {
    return this.values.device;
  }
  /** The shape of the whole tensor, so far as it is known. */
  get shape(): Dims {
    const whole = this.denseShape && staticShape(this.denseShape);
    if (whole) return whole;
    const rest = this.values.shape?.slice(1);
    return rest ? [null, ...rest] : null;
  }
  toTensor(options: { name?: string | undefined } = {}): Tensor {
    return densify(this, options);
  }
  [composite](): Decomposed {
    const { values, indices, denseShape } = this;
    return {
      kind: denseShape ? 'IndexedSlices' : 'IndexedSlices without denseShape',
      parts: denseShape ? [values, indices, denseShape] : [values, indices],
      from: ([v, i, shape]) => new IndexedSlices(v!, i!, shape),
      shapesFor: (dims) => [dims && [null, ...dims.slice(1)], [null], ...(denseShape ? [[dims?.length ?? null]] : [])],
    };
  }
  toString(): string {
    return `IndexedSlices(indices=${this.indices.name}, values=${this.values.name} ${showTuple(this.values.shape)})`;
  }
}
