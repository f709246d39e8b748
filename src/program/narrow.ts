/**
 * @file Products of which only some columns are looked at, such as the gradient of [input, state] · weights in a recurrent
 * net, whose input needs none: only those columns are computed.
 */
import type { Work } from '../core/eventLoop.ts';
import { readsOf, writesOf } from './access.ts';
import type { Buffer, DeviceInstruction, DotInstruction, View } from './instructions.ts';
import { isContiguous } from './value.ts';

/** Columns are left out in bundles of so many, as wide as vectors and tiles are. */
const bundle = 16;

/** Columns from `first` up to `end`. */
interface Columns {
  readonly first: number;
  readonly end: number;
}

/** Leaves out the columns of products that nobody reads. `keep` are buffers needed after the segment. */
export function* narrowProducts(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): Work<DeviceInstruction[]> {
  const reads = new Map<Buffer, View[]>();
  const writes = new Map<Buffer, number>();
  for (const i of instructions) {
    yield;
    for (const v of writesOf(i)) writes.set(v.buffer, (writes.get(v.buffer) ?? 0) + 1);
    for (const v of readsOf(i)) {
      const views = reads.get(v.buffer);
      if (views) views.push(v);
      else reads.set(v.buffer, [v]);
    }
  }
  return instructions.map((i) => {
    if (i.kind !== 'dot' || !isPlain(i)) return i;
    const { buffer } = i.output;
    if (buffer.kind !== 'temp' || keep.has(buffer) || writes.get(buffer) !== 1) return i;
    const columns = columnsIn(reads.get(buffer) ?? [], i.output);
    if (!columns) return i;
    return { ...i, b: narrowed(i.b, columns), output: narrowed(i.output, columns) };
  });
}

const isPlain = (i: DotInstruction) =>
  !i.more && !i.plus && !i.after && i.output.offset === 0 && isContiguous(i.output);

/** The columns of a product that some views of it show, or undefined when they are all or cannot be told. */
function columnsIn(views: readonly View[], product: View): Columns | undefined {
  const width = product.shape.at(-1)!;
  let first = width;
  let end = 0;
  for (const { offset, shape, strides, dtype } of views) {
    if (dtype.size !== product.dtype.size || shape.includes(0)) return undefined;
    const column = offset % width;
    let last = column;
    for (const [axis, stride] of strides.entries())
      if (stride % width !== 0) last += stride < 0 ? width : (shape[axis]! - 1) * stride;
    if (last >= width) return undefined;
    first = Math.min(first, column);
    end = Math.max(end, last + 1);
  }
  first -= first % bundle;
  end = Math.min(width, Math.ceil(end / bundle) * bundle);
  return first < end && end - first < width ? { first, end } : undefined;
}

function narrowed(view: View, { first, end }: Columns): View {
  return {
    ...view,
    shape: [...view.shape.slice(0, -1), end - first],
    offset: view.offset + first * view.strides.at(-1)!,
  };
}
