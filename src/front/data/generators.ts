/** @file Datasets of what a generator of the user's program yields. */
import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError, OutOfRangeError } from '../../core/errors.ts';
import { fromNested, NDArray, type Nested, scalar } from '../../core/ndarray.ts';
import { compatible, showTuple } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { GeneratorDataset } from '../../ops/data/generator.ts';
import { jsFunc } from '../../ops/flow/jsFunc.ts';
import { flatten, isNested } from '../nest.ts';
import { type DatasetOptions, metadataOf, typesOf } from './arguments.ts';
import { Dataset } from './dataset.ts';
import { flatMap } from './elementwise.ts';
import { traceFunction } from './functions.ts';
import {
  type Component,
  componentsOf,
  type ElementSpec,
  elementAttrs,
  fromTensors,
  specOf,
  TensorComponent,
} from './spec.ts';

/** Values that come one after the other: what a generator function gives, or anything that can be iterated. */
export type Values = Iterable<unknown> | AsyncIterable<unknown>;

export interface GeneratorOptions extends DatasetOptions {
  /** Shapes in the structure of the types; unknown where they are left out. */
  readonly outputShapes?: unknown;
  /** Tensors whose values the generator is called with. */
  readonly args?: readonly TensorLike[] | undefined;
}

/** The iterations of a generator that are under way. */
class Iterations {
  private readonly running = new Map<number, AsyncIterator<unknown> | globalThis.Iterator<unknown>>();
  private begun = 0;
  constructor(private readonly generator: (...args: NDArray[]) => Values) {}

  begin(...args: NDArray[]): NDArray {
    const values = this.generator(...args);
    const iterator = Symbol.asyncIterator in values ? values[Symbol.asyncIterator]() : values[Symbol.iterator]();
    this.running.set(this.begun, iterator);
    return scalar(int64, this.begun++);
  }

  async next(id: NDArray): Promise<unknown> {
    const { done, value } = await this.running.get(id.numberAt(0))!.next();
    if (done) throw new OutOfRangeError('the generator has no more values');
    return value;
  }

  async end(id: NDArray): Promise<NDArray> {
    const iterator = this.running.get(id.numberAt(0));
    this.running.delete(id.numberAt(0));
    await iterator?.return?.();
    return scalar(int64, 0);
  }
}

/** A yielded value as the arrays of an element. */
function arraysOf(value: unknown, spec: ElementSpec): NDArray[] {
  const components = componentsOf(spec);
  return partsOf(value, spec).map((part, i) => arrayOf(part, components[i]!));
}

function partsOf(value: unknown, spec: ElementSpec): unknown[] {
  if (!isNested(spec)) return [value];
  const wrong = () =>
    new InvalidArgumentError(
      `\`generator\` yielded an element that did not match the expected structure. The expected structure was ${String(flatten(spec))}, but the yielded element was ${String(value)}.`,
    );
  if (Array.isArray(spec)) {
    if (!Array.isArray(value) || value.length !== spec.length) throw wrong();
    return spec.flatMap((part: ElementSpec, i) => partsOf(value[i], part));
  }
  if (typeof value !== 'object' || value === null) throw wrong();
  const parts = spec as Readonly<Record<string, ElementSpec>>; // the third kind of structure
  const given = value as Readonly<Record<string, unknown>>;
  return Object.keys(parts)
    .sort()
    .flatMap((key) => partsOf(given[key], parts[key]!));
}

function arrayOf(value: unknown, { dtype, shape }: Component): NDArray {
  let array: NDArray;
  try {
    array = value instanceof NDArray ? value : fromNested(value as Nested, dtype); // refused there otherwise
  } catch (error) {
    throw new InvalidArgumentError(
      `\`generator\` yielded an element that could not be converted to the expected type. The expected type was ${dtype}, but the yielded element was ${String(value)}.`,
      { cause: error },
    );
  }
  if (array.dtype !== dtype)
    throw new InvalidArgumentError(
      `\`generator\` yielded an element of type ${array.dtype} where an element of type ${dtype} was expected.`,
    );
  if (!compatible(shape, array.shape))
    throw new InvalidArgumentError(
      `\`generator\` yielded an element of shape ${showTuple(array.shape)} where an element of shape ${showTuple(shape)} was expected.`,
    );
  return array;
}

/** What `Dataset.fromGenerator` makes: a `GeneratorDataset` in the function of a `FlatMapDataset`, with `PyFunc` nodes inside. */
export function fromGenerator(
  generator: (...args: NDArray[]) => Values,
  outputTypes: unknown,
  options: GeneratorOptions,
): Dataset {
  const {
    outputShapes,
    args = [],
    name,
  } = onlyOptions('Dataset.fromGenerator', options, 'outputShapes', 'args', 'name');
  const spec = specOf(outputTypes, outputShapes);
  const types = componentsOf(spec).map((c) => c.dtype);
  const given = args.map((x) => convertToTensor(x, { name: 'args' }));
  const iterations = new Iterations(generator);
  const transformation = 'Dataset_from_generator';
  const id = new TensorComponent(int64, null);
  const flat_map_fn = (dummy: Tensor) => {
    const first = new TensorComponent(dummy.dtype, dummy.shape);
    const init = traceFunction(() => jsFunc((...values) => iterations.begin(...values), given, int64), {
      transformation,
      args: [first],
      name: 'get_iterator_id_fn',
    });
    const next = traceFunction(
      (iterator: Tensor) => {
        const flat = jsFunc(async (i: NDArray) => arraysOf(await iterations.next(i), spec), [iterator], types);
        return fromTensors(spec, flat as readonly Tensor[]); // a list for a list of types
      },
      { transformation, args: [id], name: 'generator_next_fn' },
    );
    const finalize = traceFunction((iterator: Tensor) => jsFunc((i: NDArray) => iterations.end(i), [iterator], int64), {
      transformation,
      args: [id],
      name: 'finalize_fn',
    });
    const inputs = {
      init_func_other_args: [dummy, ...init.captured],
      next_func_other_args: next.captured,
      finalize_func_other_args: finalize.captured,
    };
    const attrs = {
      init_func: init.f,
      next_func: next.f,
      finalize_func: finalize.f,
      Tinit_func_args: typesOf(inputs.init_func_other_args),
      Tnext_func_args: typesOf(inputs.next_func_other_args),
      Tfinalize_func_args: typesOf(inputs.finalize_func_other_args),
      ...elementAttrs(spec),
      metadata: metadataOf('fromGenerator', { name }),
    };
    return new Dataset(GeneratorDataset.build(inputs, { attrs }).handle, spec);
  };
  return flatMap(Dataset.fromTensors(0), flat_map_fn, {});
}
