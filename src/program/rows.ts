/** @file Instructions seen row by row: with their leading axes made one, which is then cut into blocks. */
import { type Shape, sizeOf } from '../core/shape.ts';
import { axesUsed } from './inspect.ts';
import type { DeviceInstruction, MapInstruction, RowStep, View } from './instructions.ts';
import { isContiguous, reshapeView } from './value.ts';

/** The numbers of rows, from `least` on, that an instruction can be seen as; each is the size of some leading axes. */
export function rowCounts(i: DeviceInstruction, least: number): number[] {
  const shape = i.kind === 'dot' ? i.output.shape.slice(0, -2) : i.kind === 'map' || i.kind === 'reduce' ? i.shape : [];
  const counts = shape.map((_, axis) => sizeOf(shape.slice(0, axis + 1)));
  return [...new Set(counts)].filter((rows) => rows >= least && asRows(i, rows) !== undefined);
}

/** The instruction with a first axis of `rows`; undefined when its views do not allow that. */
export function asRows(i: DeviceInstruction, rows: number): RowStep | undefined {
  switch (i.kind) {
    case 'map': {
      const leading = leadingAxes(i.shape, rows);
      const inputs = withLeading(i.inputs, rows, leading);
      const outputs = withLeading(i.outputs, rows, leading);
      if (!inputs || !outputs || !knowsNoRow(axesUsed(i.results), leading)) return undefined;
      return { ...i, shape: [rows, ...i.shape.slice(leading)], inputs, outputs };
    }
    case 'reduce': {
      const leading = leadingAxes(i.shape, rows);
      const inputs = withLeading(i.inputs, rows, leading);
      if (!inputs || !knowsNoRow(axesUsed([i.result]), leading)) return undefined;
      const shape = [rows, ...i.shape.slice(leading)];
      const within = i.axes.filter((axis) => axis >= leading).map((axis) => axis - leading + 1);
      const across = i.axes.length - within.length;
      if (across === 0) {
        const output = withLeading([i.output], rows, leading)?.[0];
        return output && { ...i, shape, inputs, axes: within, output };
      }
      const joins = i.op !== 'argmax' && i.op !== 'argmin';
      return across === leading && joins && isContiguous(i.output)
        ? { ...i, shape, inputs, axes: [0, ...within] }
        : undefined;
    }
    case 'dot': {
      if (i.more) return undefined;
      const leading = leadingAxes(i.output.shape.slice(0, -2), rows);
      const views = withLeading([i.a, i.b, i.output, ...(i.plus ? [i.plus] : [])], rows, leading);
      if (!views) return undefined;
      const [a, b, output, plus] = views as [View, View, View, View | undefined]; // as many out as in
      const product = { ...i, a, b, output, ...(plus ? { plus } : {}) };
      if (!i.after) return product;
      const after = asRows(i.after, rows);
      return after?.kind === 'map' ? { ...product, after } : undefined;
    }
    default:
      return undefined;
  }
}

/** How many leading axes have `rows` points together; 0 when none do. */
function leadingAxes(shape: Shape, rows: number): number {
  let points = 1;
  for (const [axis, size] of shape.entries()) {
    points *= size;
    if (points === rows) return axis + 1;
  }
  return 0;
}

function withLeading(views: readonly View[], rows: number, leading: number): View[] | undefined {
  if (leading === 0) return undefined;
  const seen = views.map((v) => reshapeView(v, [rows, ...v.shape.slice(leading)]));
  return seen.includes(undefined) ? undefined : (seen as View[]); // just searched for gaps
}

/** Whether positions are used only along axes that stay what they are. */
const knowsNoRow = (axes: ReadonlySet<number>, leading: number): boolean =>
  axes.size === 0 || (leading === 1 && !axes.has(0));

/** Whether a step with rows as its first axis folds across them. */
export function foldsRows(step: RowStep): boolean {
  return step.kind === 'reduce' && step.axes[0] === 0;
}

/** A step with rows as its first axis, for its first `count` rows only. */
export function firstRows(step: RowStep, count: number): RowStep {
  const cut = (v: View): View => ({ ...v, shape: [count, ...v.shape.slice(1)] });
  switch (step.kind) {
    case 'map':
      return {
        ...step,
        shape: [count, ...step.shape.slice(1)],
        inputs: step.inputs.map(cut),
        outputs: step.outputs.map(cut),
      };
    case 'reduce': {
      const output = foldsRows(step) ? step.output : cut(step.output);
      return { ...step, shape: [count, ...step.shape.slice(1)], inputs: step.inputs.map(cut), output };
    }
    case 'dot': {
      const plus = step.plus ? { plus: cut(step.plus) } : {};
      const product = { ...step, a: cut(step.a), b: cut(step.b), output: cut(step.output), ...plus };
      if (!step.after) return product;
      const after = firstRows(step.after, count) as MapInstruction; // a map stays a map
      return { ...product, after };
    }
  }
}

/**
 * Whether a view of an instruction with `rows` as its first axis touches, at each row, only that row of its buffer, which
 * holds row after row.
 */
export function staysInRow(v: View, rows: number): boolean {
  const width = v.buffer.bytes / v.dtype.size / rows;
  if (v.shape[0] !== rows || v.strides[0] !== width) return false;
  let [low, high] = [v.offset, v.offset];
  for (let axis = 1; axis < v.shape.length; axis++) {
    const reach = (v.shape[axis]! - 1) * v.strides[axis]!;
    if (reach < 0) low += reach;
    else high += reach;
  }
  return low >= 0 && high < width;
}
