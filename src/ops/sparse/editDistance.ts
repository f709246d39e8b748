/** @file EditDistance: how many insertions, deletions and substitutions lie between sequences. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, ResourceExhaustedError } from '../../core/errors.ts';
import { eachInTurns, inTurns, type Work } from '../../core/eventLoop.ts';
import { type Element, NDArray } from '../../core/ndarray.ts';
import { showRuntime, sizeOf, stridesOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { Value } from '../../program/value.ts';
import { placesIn, sizesIn } from './parts.ts';

/** After comparing so many elements it is asked whether the event loop has waited long enough. */
const comparedPerTurn = 16384;

/** Levenshtein's distance of two sequences. */
function* distance(a: readonly unknown[], b: readonly unknown[]): Work<number> {
  const row = new Int32Array(b.length + 1);
  for (let k = 0; k <= b.length; k++) row[k] = k;
  let compared = 0;
  for (let i = 0; i < a.length; i++) {
    let corner = row[0]!;
    row[0] = i + 1;
    for (let k = 0; k < b.length; k++) {
      const [above, before] = [row[k + 1]!, row[k]!];
      row[k + 1] = Math.min(corner + (a[i] === b[k] ? 0 : 1), above + 1, before + 1);
      corner = above;
    }
    compared += b.length;
    if (compared < comparedPerTurn) continue;
    compared = 0;
    yield;
  }
  return row[b.length]!;
}

/** What makes two elements the same. */
const keyOf = (element: Element): unknown =>
  element instanceof Uint8Array
    ? Buffer.from(element).toString('latin1')
    : typeof element === 'object'
      ? JSON.stringify(element)
      : element;

/** The sequences along the last axis of a sparse tensor, by where they begin. */
async function sequences(indices: NDArray, values: NDArray, shape: NDArray, groups: readonly number[]) {
  const places = await placesIn(indices, sizesIn(shape), { strides: [...stridesOf(groups), 0] });
  const found = new Map<number, unknown[]>();
  await eachInTurns(places.length, (i) => {
    const at = places[i]!;
    const sequence = found.get(at);
    const key = keyOf(values.at(i));
    if (sequence) sequence.push(key);
    else found.set(at, [key]);
  });
  return found;
}

function checkSide(indices: Value, values: Value, shape: Value, side: string): void {
  const [i, v, s] = [indices.shape, values.shape, shape.shape];
  for (const [part, dims, rank] of [['indices', i, 2], ['values', v, 1], ['shape', s, 1]] as const) // biome-ignore format: three parts
    if (dims.length !== rank)
      throw new InvalidArgumentError(
        `${side}_${part} should be a ${rank === 2 ? 'matrix' : 'vector'}, but got shape: ${showRuntime(dims)}`,
      );
  if (s[0] !== i[1])
    throw new InvalidArgumentError(
      `Expected ${side}_shape.NumElements == #cols(${side}_indices), their shapes are: ${showRuntime(s)} and ${showRuntime(i)}`,
    );
  if (v[0] !== i[0])
    throw new InvalidArgumentError(
      `Expected ${side}_values.NumElements == #rows(${side}_indices), their shapes are: ${showRuntime(v)} and ${showRuntime(i)}`,
    );
}

const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });
const some = {
  hypothesis_indices: ints([[0, 0], [0, 1], [1, 0]]), // biome-ignore format: positions read better in rows
  hypothesis_values: ints([1, 2, 3]),
  hypothesis_shape: ints([2, 2]),
  truth_indices: ints([[0, 0], [1, 0], [1, 1]]), // biome-ignore format: positions read better in rows
  truth_values: ints([1, 5, 3]),
  truth_shape: ints([2, 2]),
};

export const EditDistance = defineOp({
  name: 'EditDistance',
  inputs: {
    hypothesis_indices: 'int64',
    hypothesis_values: 'T',
    hypothesis_shape: 'int64',
    truth_indices: 'int64',
    truth_values: 'T',
    truth_shape: 'int64',
  },
  outputs: { output: 'float32' },
  attrs: { normalize: attr('bool', { default: true }), T: anyType },
  shape(_, __, context) {
    const [hypothesis, truth] = [context.value('hypothesis_shape'), context.value('truth_shape')];
    if (!hypothesis || !truth) return { output: null };
    if (hypothesis.size !== truth.size)
      throw new InvalidArgumentError(
        `Num elements of hypothesis_shape does not match truth_shape: ${hypothesis.size} vs. ${truth.size}`,
      );
    return { output: hypothesis.numbers().slice(0, -1).map((size, axis) => Math.max(size, truth.numberAt(axis))) }; // biome-ignore format: one step after the other
  },
  grad: notDifferentiable,
  lower(p, i, { normalize }) {
    checkSide(i.hypothesis_indices, i.hypothesis_values, i.hypothesis_shape, 'hypothesis');
    checkSide(i.truth_indices, i.truth_values, i.truth_shape, 'truth');
    const [ours, theirs] = [i.hypothesis_shape.shape[0]!, i.truth_shape.shape[0]!];
    if (theirs < 2)
      throw new InvalidArgumentError(
        `Input SparseTensors must have rank at least 2, but truth_shape rank is: ${theirs}`,
      );
    if (ours !== theirs)
      throw new InvalidArgumentError(
        `Expected truth and hypothesis to have matching ranks, but their shapes are: ${showRuntime(i.truth_shape.shape)} and ${showRuntime(i.hypothesis_shape.shape)}`,
      );
    const [output] = p.host(Object.values(i), [{ dtype: d.float32 }], async (arrays) => {
      const [hi, hv, hs, ti, tv, ts] = arrays as [NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]; // as many as inputs
      const groups = sizesIn(ts).slice(0, -1).map((size, axis) => Math.max(size, hs.numberAt(axis))); // biome-ignore format: one step after the other
      const hypotheses = await sequences(hi, hv, hs, groups);
      const truths = await sequences(ti, tv, ts, groups);
      if (sizeOf(groups) > 2 ** 27)
        throw new ResourceExhaustedError(`OOM when allocating a tensor of shape ${showRuntime(groups)}`);
      const distances = new Float32Array(sizeOf(groups));
      // Where neither has a sequence, the distance is 0.
      const places = [...new Set([...hypotheses.keys(), ...truths.keys()])];
      const measure = function* (): Work {
        for (const [i, at] of places.entries()) {
          const [hypothesis, truth] = [hypotheses.get(at) ?? [], truths.get(at) ?? []];
          const steps = yield* distance(truth, hypothesis);
          distances[at] = normalize && steps > 0 ? steps / truth.length : steps;
          if (i % 64 === 63) yield;
        }
      };
      await inTurns(measure());
      return [new NDArray(d.float32, groups, distances)];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 2], [?], [2], [?, 2], [?], [2] -> ?' },
    { given: some, expect: { output: [1, 0.5] } },
    { given: some, attrs: { normalize: false }, expect: { output: [1, 1] } },
    // Sequences that only one of the two has.
    {
      given: { ...some, hypothesis_shape: ints([3, 2]), truth_indices: ints([[0, 0]]), truth_values: ints([1]) },
      expect: { output: [1, Number.POSITIVE_INFINITY, 0] },
    },
    {
      given: { ...some, hypothesis_values: ['a', 'b', 'c'], truth_values: ['a', 'c', 'd'] },
      expect: { output: [1, 0.5] },
    },
    { given: { ...some, truth_shape: ints([2]) }, fails: /#cols\(truth_indices\)|does not match/ },
    { given: { ...some, truth_values: ints([2]) }, fails: /#rows\(truth_indices\)/ },
  ],
});

/**
 * How many elements must be put in, taken out or replaced to make each hypothesis the truth, by default per element of the
 * truth. Adds one `EditDistance` node.
 *
 * @example tf.editDistance(decoded, labels) // the label error rate of each example
 */
export function editDistance(
  hypothesis: SparseTensor,
  truth: SparseTensor,
  options: { readonly normalize?: boolean | undefined; readonly name?: string | undefined } = {},
): Tensor {
  const { normalize, name } = onlyOptions('tf.editDistance', options, 'normalize', 'name');
  if (!(hypothesis instanceof SparseTensor)) throw userError('Hypothesis must be a SparseTensor.');
  if (!(truth instanceof SparseTensor)) throw userError('Truth must be a SparseTensor.');
  return EditDistance.build(
    {
      hypothesis_indices: hypothesis.indices,
      hypothesis_values: hypothesis.values,
      hypothesis_shape: hypothesis.denseShape,
      truth_indices: truth.indices,
      truth_values: truth.values,
      truth_shape: truth.denseShape,
    },
    { attrs: { normalize: normalize ?? true }, name: name ?? 'edit_distance' },
  ).output;
}
