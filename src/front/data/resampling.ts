/** @file rejectionResample: leaves out elements so that the classes come in given proportions. */
import { float32, int64 } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { knownValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { expandDims } from '../../ops/array/expandDims.ts';
import { fill } from '../../ops/array/fill.ts';
import { gather } from '../../ops/array/gather.ts';
import { oneHot } from '../../ops/array/oneHot.ts';
import { shape } from '../../ops/array/shape.ts';
import { stack } from '../../ops/array/stack.ts';
import { stridedSlice } from '../../ops/array/stridedSlice.ts';
import { tile } from '../../ops/array/tile.ts';
import { printIdentity } from '../../ops/flow/print.ts';
import { add } from '../../ops/math/add.ts';
import { cast } from '../../ops/math/cast.ts';
import { less } from '../../ops/math/compare.ts';
import { truediv } from '../../ops/math/divide.ts';
import { minus, over, plus, times } from '../../ops/math/operators.ts';
import { reduceMax, reduceMin, reduceSum } from '../../ops/math/reductions.ts';
import { randomUniform } from '../../ops/random/distributions.ts';
import { cond } from '../controlFlow/cond.ts';
import { Dataset } from './dataset.ts';
import * as elementwise from './elementwise.ts';
import { type OfArguments, sampleByWeights, type Transformation } from './experimental.ts';

/** So many elements are counted at a time to estimate how often each class comes. */
const estimationBatch = 32;
/** So many elements of each class are taken to have been seen at the beginning. */
const smoothing = 10;
/** The smallest normal float32, which keeps a division from being by zero. */
const tiny = 2 ** -126;

type ClassFunction = (...args: never[]) => TensorLike;

/**
 * How likely an element of each class is to be kept, where the others are rejected, and how likely an element is taken as it
 * comes instead. The latter is the smallest ratio of the wanted to the present proportion of a class, so that as few elements
 * as possible are rejected.
 */
function acceptance(initial: Tensor, target: Tensor): [accept: Tensor, original: Tensor] {
  const ratio = over(target, plus(initial, tiny));
  const most = reduceMax(ratio);
  const least = reduceMin(ratio);
  return [over(minus(ratio, least), minus(most, least)), least];
}

/** The proportions of the classes, estimated from the elements so far. */
function estimatedProportions(target: Tensor, classes: Dataset): Dataset {
  const count = target.shape?.[0] ?? stridedSlice(shape(target), [0], [1], [1], { shrinkAxisMask: 1 });
  const begin = fill([count] as TensorLike, convertToTensor(smoothing, { dtype: int64 }));
  const update = (seen: Tensor, batch: Tensor) => {
    const known = seen.shape?.[0] ?? 0;
    const now = add(seen, reduceSum(oneHot(batch, known, { dtype: int64 }), 0));
    const proportions = cast(truediv(now, reduceSum(now)), float32);
    return [now, tile(expandDims(proportions, 0), [estimationBatch, 1])] as const;
  };
  return classes
    .batch(estimationBatch)
    .apply((batches) => elementwise.scan(batches, begin, update, {}))
    .unbatch();
}

interface Filtering {
  readonly dataset: Dataset;
  readonly accept: Dataset;
  readonly initial: Dataset;
  readonly classFunc: ClassFunction;
  readonly seed: number | undefined;
}

/** Elements beside their classes, without those that are rejected. */
function filtered({ dataset, accept, initial, classFunc, seed }: Filtering): Dataset {
  const warnOfManyRejected = (kept: Tensor, present: Tensor) => {
    const rejected = reduceSum(times(minus(1, kept), present));
    return cond(
      less(rejected, 0.5),
      () => kept,
      () =>
        printIdentity(kept, [rejected, present, kept], {
          message: 'Proportion of examples rejected by sampler is high: ',
          summarize: 100,
          firstN: 10,
        }),
    );
  };
  const kept = elementwise.map(Dataset.zip([accept, initial]), warnOfManyRejected, {});
  const withClass = (probabilities: Tensor, data: unknown) => {
    const its = convertToTensor(classFunc(...((Array.isArray(data) ? data : [data]) as never[]))); // what elements are
    return [its, gather(probabilities, its), data];
  };
  const reject = (_: Tensor, p: Tensor) =>
    less(randomUniform([], { dtype: p.dtype, ...(seed !== undefined && { seed }) }), p);
  const judged = elementwise.map(Dataset.zip([kept, dataset]), withClass, {});
  const left = elementwise.filter(judged, reject, {});
  return elementwise.map(left, (its: Tensor, _: Tensor, data: unknown) => [its, data], {});
}

/** The probability of taking elements as they come, if that is known while building. */
function knownOriginal(initial: Tensor, target: Tensor): number | undefined {
  const [p, t] = [knownValue(initial), knownValue(target)] as [NDArray | undefined, NDArray | undefined];
  return p && t ? Math.min(...t.numbers().map((x, i) => x / p.numberAt(i))) : undefined;
}

export interface ResampleOptions {
  /** The proportions of the classes in the dataset; estimated from the elements that came so far unless said. */
  readonly initialDist?: TensorLike | undefined;
  readonly seed?: number | undefined;
}

/**
 * Leaves out elements so that classes come in the proportions of `targetDist`; gives each element beside its class. Adds
 * `FilterDataset`, `DirectedInterleaveDataset` and others.
 *
 * @example dataset.apply(tf.data.experimental.rejectionResample((x) => x.mod(2).cast(tf.int32), [0.5, 0.5], { seed: 1 }))
 */
export function rejectionResample<A extends readonly unknown[]>(
  classFunc: (...args: A) => TensorLike,
  targetDist: TensorLike,
  options: ResampleOptions = {},
): Transformation<OfArguments<A>, [Tensor, OfArguments<A>]> {
  const { initialDist, seed } = onlyOptions('rejectionResample', options, 'initialDist', 'seed');
  const classOf: ClassFunction = (...args) => classFunc(...(args as never)); // whatever the elements are
  return (dataset) => {
    const target = asFloats(targetDist, 'target_dist');
    const given = initialDist === undefined ? undefined : asFloats(initialDist, 'initial_dist');
    const always = (value: Tensor): Dataset => Dataset.fromTensors(value).repeat();
    let [initial, accept, original]: Dataset[] = [];
    if (given) {
      const [likely, asItComes] = acceptance(given, target);
      [initial, accept, original] = [always(given), always(likely), always(asItComes)];
    } else {
      initial = estimatedProportions(target, elementwise.map(dataset, classOf, {}));
      const both = elementwise.map(initial, (present: Tensor) => acceptance(present, target), {});
      accept = elementwise.map(both, (likely: Tensor) => likely, {});
      original = elementwise.map(both, (_: Tensor, asItComes: Tensor) => asItComes, {});
    }
    const left = filtered({ dataset, accept: accept!, initial: initial!, classFunc: classOf, seed }).prefetch(3);
    const withClass = (...data: never[]) => [classOf(...data), data.length === 1 ? data[0] : data];
    const known = given && knownOriginal(given, target);
    const made = () => elementwise.map(dataset, withClass, {});
    type Resampled = Dataset<[Tensor, OfArguments<A>]>;
    if (known === 1) return made() as Resampled; // a class beside each element
    if (known === 0) return left as Resampled; // likewise
    const weights = elementwise.map(original!, (p: Tensor) => expandDims(stack([p, minus(1, p)]), 0), {});
    return sampleByWeights([made(), left], weights, { seed }, true) as Resampled; // likewise
  };
}

const asFloats = (value: TensorLike, name: string): Tensor => {
  const tensor = convertToTensor(value, { name });
  return tensor.dtype === float32 ? tensor : cast(tensor, float32);
};
