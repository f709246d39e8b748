/** @file What begin, end, strides and five bit masks mean: the slice of each axis, and the shape that results. */
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Dims, Shape } from '../../core/shape.ts';

/** The masks of `StridedSlice`; bit i is about entry i of begin, end and strides. */
export interface SliceMasks {
  readonly begin_mask: number;
  readonly end_mask: number;
  readonly ellipsis_mask: number;
  readonly new_axis_mask: number;
  readonly shrink_axis_mask: number;
}

/** One entry per axis of the input, after the ellipsis is spread out. */
interface AxisSpec {
  begin: number;
  end: number;
  stride: number;
  beginMasked: boolean;
  endMasked: boolean;
  shrink: boolean;
}
/** What an axis of the result is: an axis of the input, a new one, or (dropped) an indexed one. */
type Target = number | 'new' | 'dropped';

const bit = (mask: number, i: number) => ((mask >> i) & 1) === 1;

/** Spreads the ellipsis over the axes that are not named. */
function spread(
  rank: number,
  entries: number,
  at: { begin: readonly number[]; end: readonly number[]; strides: readonly number[] },
  masks: SliceMasks,
): { axes: AxisSpec[]; targets: Target[] } {
  let newAfterEllipsis = 0;
  let seen = false;
  for (let i = 0; i < entries; i++) {
    if (seen && bit(masks.new_axis_mask, i)) newAfterEllipsis++;
    if (bit(masks.ellipsis_mask, i)) {
      if (seen) throw new InvalidArgumentError('Multiple ellipses in slice spec not allowed');
      seen = true;
    }
  }
  const axes: AxisSpec[] = [];
  const targets: Target[] = [];
  const count = seen ? entries : entries + 1;
  for (let i = 0; i < count; i++) {
    if (i === entries || bit(masks.ellipsis_mask, i)) {
      const next = Math.min(rank - (count - i) + 1 + newAfterEllipsis, rank);
      while (axes.length < next) {
        targets.push(axes.length);
        axes.push({ begin: 0, end: 0, stride: 1, beginMasked: true, endMasked: true, shrink: false });
      }
    } else if (bit(masks.new_axis_mask, i)) targets.push('new');
    else {
      if (axes.length === rank)
        throw new InvalidArgumentError(`Index out of range using input dim ${rank}; input has only ${rank} dims`);
      const shrink = bit(masks.shrink_axis_mask, i);
      targets.push(shrink ? 'dropped' : axes.length);
      axes.push({
        begin: at.begin[i] ?? 0,
        end: at.end[i] ?? 0,
        stride: at.strides[i]!,
        beginMasked: bit(masks.begin_mask, i),
        endMasked: bit(masks.end_mask, i),
        shrink,
      });
    }
  }
  return { axes, targets };
}

/** The slice of one axis: where it begins and how many elements it takes; a size of `null` is unknown. */
function sliceAxis(
  axis: AxisSpec,
  i: number,
  dim: number | null,
  known: boolean,
): { begin: number; size: number | null } {
  const { stride, shrink, beginMasked, endMasked } = axis;
  if (stride === 0) throw new InvalidArgumentError(`strides[${i}] must be non-zero`);
  if (dim === null) return { begin: 0, size: shrink ? 1 : null };
  if (shrink && stride <= 0) throw new InvalidArgumentError('only stride 1 allowed on non-range indexing.');
  const least = stride > 0 ? 0 : -1;
  const most = stride > 0 ? dim : dim - 1;
  const clamp = (x: number) => Math.min(Math.max(x < 0 ? dim + x : x, least), most);
  if (!known) {
    if (shrink) return { begin: 0, size: 1 };
    return { begin: 0, size: beginMasked && endMasked ? Math.ceil(dim / Math.abs(stride)) : null };
  }
  if (shrink) {
    const at = axis.begin < 0 ? dim + axis.begin : axis.begin;
    if (at < 0 || at >= dim)
      throw new InvalidArgumentError(`slice index ${axis.begin} of dimension ${i} out of bounds.`);
    return { begin: at, size: 1 };
  }
  const begin = beginMasked ? (stride > 0 ? least : most) : clamp(axis.begin);
  const end = endMasked ? (stride > 0 ? most : least) : clamp(axis.end);
  return { begin, size: Math.max(0, Math.ceil((end - begin) / stride)) };
}

export interface StaticSlice {
  readonly begin?: readonly number[] | undefined;
  readonly end?: readonly number[] | undefined;
  readonly strides: readonly number[];
}

/** A slice with everything known. */
export interface DenseSlice {
  readonly begin: readonly number[];
  readonly size: Shape;
  readonly step: readonly number[];
  /** The shape of the result, with new axes added and indexed ones dropped. */
  readonly shape: Shape;
}

/** The static shape of a slice; begin and end may be unknown. */
export function slicedDims(input: readonly (number | null)[], at: StaticSlice, masks: SliceMasks): Dims {
  const known = at.begin !== undefined && at.end !== undefined;
  const given = { begin: at.begin ?? [], end: at.end ?? [], strides: at.strides };
  const { axes, targets } = spread(input.length, at.strides.length, given, masks);
  const sizes = axes.map((axis, i) => sliceAxis(axis, i, input[i]!, known).size);
  return targets.filter((t) => t !== 'dropped').map((t) => (t === 'new' ? 1 : sizes[t]!));
}

/** The slice of a tensor whose shape is known. */
export function denseSlice(
  input: Shape,
  at: { begin: readonly number[]; end: readonly number[]; strides: readonly number[] },
  masks: SliceMasks,
): DenseSlice {
  const { axes, targets } = spread(input.length, at.strides.length, at, masks);
  const slices = axes.map((axis, i) => sliceAxis(axis, i, input[i]!, true));
  const size = slices.map((s) => s.size!);
  return {
    begin: slices.map((s) => s.begin),
    size,
    step: axes.map((a) => (a.shrink ? 1 : a.stride)),
    shape: targets.filter((t) => t !== 'dropped').map((t) => (t === 'new' ? 1 : size[t]!)),
  };
}
