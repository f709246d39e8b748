/** @file Beams as tensors: examples repeated for every beam, and whole beams put together from what each step chose. */
import { int32 } from '../../../core/dtypes.ts';
import { onlyOptions } from '../../../graph/options.ts';
import { nameScope } from '../../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { constantValue } from '../../../op/constantValue.ts';
import { convertToTensor } from '../../../op/convert.ts';
import {
  concat,
  constant,
  expandDims,
  fill,
  gather,
  range,
  reshape,
  sequenceMask,
  shape,
  stack,
  tile,
  transpose,
} from '../../../ops/array/index.ts';
import { cast, equal, logicalOr, reduceMax, where } from '../../../ops/math/index.ts';
import { scan } from '../../controlFlow/mapFn.ts';
import { mapStructure } from '../../nest.ts';

/** The first axis with every entry repeated: [a, b] becomes [a, a, b, b]. */
function repeated(t: Tensor, multiplier: TensorLike): Tensor {
  if (t.shape === null || t.shape.length === 0) throw userError('tileBatch needs tensors with a batch axis');
  const rank = t.shape.length;
  const times = convertToTensor(multiplier, { dtype: int32 });
  const ones = (n: number) => constant(new Array<number>(n).fill(1), { dtype: int32 });
  const wide = tile(expandDims(t, 1), concat([ones(1), reshape(times, [1]), ones(rank - 1)], 0));
  const result = reshape(wide, concat([[-1], shape(t).slice('1:')], 0));
  const known = constantValue(times)?.numberAt(0);
  const rows = t.shape[0] ?? null;
  result.setShape([known === undefined || rows === null ? null : rows * known, ...t.shape.slice(1)]);
  return result;
}

/**
 * Every entry of a batch so many times, as beam search wants its encoder's results: [a, b] becomes [a, a, b, b].
 *
 * @example tf.contrib.seq2seq.tileBatch(tf.constant([1, 2]), 2) // runs to [1 1 2 2]
 */
export function tileBatch<T>(t: T, multiplier: TensorLike, options: { readonly name?: string | undefined } = {}): T {
  onlyOptions('tf.contrib.seq2seq.tileBatch', options, 'name');
  return nameScope(
    options.name ?? 'tile_batch',
    () => mapStructure((x: Tensor) => repeated(convertToTensor(x), multiplier), t) as T, // the structure that was given
  );
}

/**
 * Whole beams from what each step chose: `stepIds` and `parentIds` are [time, batch, beam], `maxSequenceLengths` [batch]. What
 * lies beyond a sequence's end, and after its first end token, is the end token.
 *
 * @example const beams = tf.contrib.seq2seq.gatherTree(stepIds, parentIds, lengths, END);
 */
export function gatherTree(
  stepIds: TensorLike,
  parentIds: TensorLike,
  maxSequenceLengths: TensorLike,
  endToken: TensorLike,
): Tensor {
  return nameScope('GatherTree', () => {
    const ids = convertToTensor(stepIds, { dtype: int32 });
    const parents = convertToTensor(parentIds, { dtype: int32 });
    const lengths = convertToTensor(maxSequenceLengths, { dtype: int32 });
    const end = convertToTensor(endToken, { dtype: int32 });
    const sizes = shape(ids);
    const steps = sizes.slice('0');
    const beams = range(sizes.slice('2'));
    const own = tile(expandDims(beams, 0), stack([sizes.slice('1'), 1]));
    const blank = fill(sizes.slice('1:'), end);
    // From the last step to the first: which beam's symbol belongs here, and that of the step before.
    const walk = scan(
      (after: { at: Tensor; id: Tensor }, now: { ids: Tensor; parents: Tensor; time: Tensor }) => {
        const inside = tile(expandDims(now.time.less(lengths), 1), stack([1, sizes.slice('2')]));
        return {
          at: where(inside, gather(now.parents, after.at, { batchDims: 1 }), after.at),
          id: where(inside, gather(now.ids, after.at, { batchDims: 1 }), blank),
        };
      },
      { ids, parents, time: range(steps) },
      { initializer: { at: own, id: blank }, reverse: true },
    ) as { at: Tensor; id: Tensor }; // the initializer's structure
    // After a beam's first end token come only end tokens.
    const marks = equal(walk.id, end);
    const ended = scan((before: Tensor, now: Tensor) => logicalOr(before, now), marks, {
      initializer: fill(sizes.slice('1:'), false),
    }) as Tensor; // one tensor in, one out
    const result = where(ended, walk.id.mul(0).add(end), walk.id);
    result.setShape(ids.shape);
    return result;
  });
}

/**
 * What was written in each step, [time, batch, beam, …] or [time, batch * beam, …], put in the order of the beams that have
 * come out: row by row what led to the beam of that place. `parentIds` is [time, batch, beam], `sequenceLength` [batch, beam].
 *
 * @example const history = tf.contrib.seq2seq.gatherTreeFromArray(alignments.stack(), parentIds, state.lengths);
 */
export function gatherTreeFromArray(t: TensorLike, parentIds: TensorLike, sequenceLength: TensorLike): Tensor {
  const given = convertToTensor(t);
  const parents = convertToTensor(parentIds, { dtype: int32 });
  const lengths = convertToTensor(sequenceLength);
  const [steps, rows, width] = [0, 1, 2].map((i) => parents.shape?.[i] ?? shape(parents).slice(`${i}`)) as [
    number | Tensor,
    number | Tensor,
    number | Tensor,
  ]; // three axes
  const own = tile(reshape(range(width), [1, 1, -1]), stack([steps, rows, 1]));
  const longest = cast(reduceMax(lengths, [1]), int32);
  // No beam has this number, so no step counts as the end of anything.
  const noBeam = typeof width === 'number' ? width + 1 : width.add(1);
  const sorted = gatherTree(own, parents, longest, noBeam);
  const inside = transpose(sequenceMask(lengths, { maxlen: steps }), [2, 0, 1]);
  const origin = where(inside, sorted, own);
  const apart = reshape(given, stack([steps, rows, width, -1]));
  const ordered = reshape(gather(apart, origin, { batchDims: 2 }), shape(given));
  ordered.setShape(given.shape);
  return ordered;
}
