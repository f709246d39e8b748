/** @file Gathers whose leading axes go together, built from plain gathers as Python builds them. */
import { int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { mergeShapes } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { type Named, scoped } from './common.ts';
import { concat } from './concat.ts';
import { ones, zeros } from './fill.ts';
import { gather } from './gather.ts';
import { GatherNd, type GatherNdOptions } from './gatherNd.ts';
import { getItem } from './getItem.ts';
import { meshgrid } from './meshgrid.ts';
import { add, castNode, mul, prod, sub } from './neighbours.ts';
import { Range } from './range.ts';
import { reshape } from './reshape.ts';
import { rank, shape } from './shape.ts';
import { stack, unstack } from './stack.ts';
import { tile } from './tile.ts';
import { transpose } from './transpose.ts';

/**
 * Picks along the last axis of `indices`, all axes before it being batch axes. Adds nodes under `BatchGather`.
 *
 * @example tf.batchGather([[1, 2], [3, 4]], [[1], [0]]) // runs to [[2] [3]]
 */
export function batchGather(params: TensorLike, indices: TensorLike, options: Named = {}): Tensor {
  const { name } = onlyOptions('tf.batchGather', options, 'name');
  return scoped(name ?? 'BatchGather', [params, indices], () => {
    const picks = convertToTensor(indices, { name: 'indices' });
    const x = convertToTensor(params, { name: 'params' });
    if (picks.rank === null)
      throw userError('batchGather does not allow indices with unknown rank. Use tf.ensureShape first.');
    const batch = picks.rank - 1;
    if (x.rank !== null && batch >= x.rank)
      throw userError(`params has rank ${x.rank}, too few for ${batch} batch axes of indices`);
    return gatherBatches(x, picks, picks.rank, batch);
  });
}

function gatherBatches(x: Tensor, picks: Tensor, axes: number, batch: number): Tensor {
  const { dtype } = picks;
  const picksShape = shape(picks);
  const whole = shape(x);
  let step: Tensor = ones([], { dtype });
  const sizes = castNode(whole, dtype);
  let flat = picks;
  for (let dim = batch; dim > 0; dim--) {
    const size = getItem(sizes, [dim - 1]);
    step = mul(step, getItem(sizes, [dim]));
    const start = zeros([], { dtype });
    const one = ones([], { dtype });
    const offsets = mul(Range.build({ start, limit: size, delta: one }).output, step);
    const before = new Array<number>(dim - 1).fill(1);
    const after = new Array<number>(axes - dim).fill(1);
    flat = add(flat, reshape(offsets, stack([...before, size, ...after])));
  }
  const flatPicks = reshape(flat, [-1]);
  const outer = getItem(whole, [[batch + 1]]);
  const rows = prod(getItem(whole, [[null, batch + 1]]), [0]);
  const flatParams = reshape(x, concat([[rows], outer], 0));
  const picked = gather(flatParams, flatPicks);
  const result = reshape(picked, concat([picksShape, outer], 0));
  const lead = mergeShapes(picks.shape!.slice(0, batch), x.shape?.slice(0, batch) ?? null)!;
  const rest = x.shape?.slice(batch + 1);
  if (rest) result.setShape([...lead, ...picks.shape!.slice(batch), ...rest]);
  return result;
}

/** `gatherNd` with batch axes: the batch coordinates are put in front of the index tuples. */
export function batchGatherNd(
  params: TensorLike,
  indices: TensorLike,
  batch: number,
  { name, badIndicesPolicy = '' }: GatherNdOptions,
): Tensor {
  return scoped(name ?? 'BatchGatherND', [params, indices], () => {
    const picks = convertToTensor(indices, { name: 'indices' });
    const x = convertToTensor(params, { name: 'params' });
    for (const [port, axes] of [
      ['indices', picks.rank],
      ['params', x.rank],
    ] as const)
      if (axes !== null && batch >= axes)
        throw new InvalidArgumentError(`batchDims = ${batch} must be less than rank(${port}) = ${axes}`);
    const whole = shape(x);
    const picksShape = shape(picks);
    const batchShape = getItem(whole, [[null, batch]]);
    const batchSize = prod(batchShape, [0]);
    const innerAxes = sub(sub(rank(picks), batch), 1);
    const innerShape = getItem(picksShape, [[batch, -1]]);
    const ranges = unstack(batchShape).map((n) =>
      castNode(Range.build({ start: 0, limit: castNode(n, int32), delta: 1 }).output, picks.dtype),
    );
    const grid = meshgrid(ranges, { indexing: 'ij' }).map((g) => reshape(g, [-1]));
    const table = transpose(stack(grid));
    const tableShape = shape(table);
    const head = getItem(tableShape, [[null, 1]]);
    const middle = ones(innerAxes, { dtype: tableShape.dtype });
    const spread = reshape(table, concat([head, middle, getItem(tableShape, [[1]])], 0));
    const repeated = tile(spread, concat([[1], innerShape, [1]], 0));
    const flat = reshape(picks, concat([[batchSize], getItem(picksShape, [[batch]])], 0));
    const tuples = concat([repeated, flat], -1);
    const attrs = { bad_indices_policy: badIndicesPolicy };
    const out = GatherNd.build({ params: x, indices: tuples }, { attrs }).output;
    const outShape = shape(out);
    return reshape(out, concat([batchShape, getItem(outShape, [[1]])], 0));
  });
}
