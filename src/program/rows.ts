/** @file Instructions seen row by row: with their leading axes made one, which is then cut into blocks. */
import { type Shape, sizeOf } from '../core/shape.ts';
import { axesUsed } from './inspect.ts';
import type { DeviceInstruction, MapInstruction, RowStep, View } from './instructions.ts';
import { isContiguous, isGapless, reshapeView } from './value.ts';

/** The numbers of rows, from `least` on, that an instruction can be seen as; each is the size of some leading axes. */
export function rowCounts(i: DeviceInstruction, least: number): number[] {
  const shape = leadingShape(i);
  const counts = shape.map((_, axis) => sizeOf(shape.slice(0, axis + 1)));
  return [...new Set(counts)].filter((rows) => rows >= least && asRows(i, rows) !== undefined);
}

/** The axes that rows can be made of. */
function leadingShape(i: DeviceInstruction): Shape {
  switch (i.kind) {
    case 'map':
    case 'reduce':
      return i.shape;
    case 'dot':
      return i.output.shape.slice(0, -2);
    case 'conv':
    case 'window':
      return i.output.shape.slice(0, 1);
    default:
      return [];
  }
}

/** The instruction with a first axis of `rows`; undefined when its views do not allow that. */
export function asRows(i: DeviceInstruction, rows: number): RowStep | undefined {
  switch (i.kind) {
    case 'map': {
      const leading = leadingAxes(i.shape, rows);
      const inputs = withLeading(i.inputs, leading);
      const outputs = withLeading(i.outputs, leading);
      if (!leading || !inputs || !outputs || !knowsNoRow(axesUsed(i.results), leading)) return undefined;
      return { ...i, shape: leading.seen(i.shape), inputs, outputs };
    }
    case 'reduce': {
      const leading = leadingAxes(i.shape, rows);
      const inputs = withLeading(i.inputs, leading);
      if (!leading || !inputs || !knowsNoRow(axesUsed([i.result]), leading)) return undefined;
      const shape = leading.seen(i.shape);
      const within = i.axes.filter((axis) => axis >= leading.count).map((axis) => axis - i.shape.length + shape.length);
      const across = i.axes.length - within.length;
      if (across === 0) {
        const output = withLeading([i.output], leading)?.[0];
        return output && { ...i, shape, inputs, axes: within, output };
      }
      const joins = i.op !== 'argmax' && i.op !== 'argmin';
      return across === leading.count && joins && isContiguous(i.output)
        ? { ...i, shape, inputs, axes: leading.inside === 1 ? [0, ...within] : [0, 1, ...within] }
        : undefined;
    }
    case 'dot': {
      if (i.more) return undefined;
      const leading = leadingAxes(i.output.shape.slice(0, -2), rows);
      const views = withLeading([i.a, i.b, i.output, ...(i.plus ? [i.plus] : [])], leading);
      if (!views) return undefined;
      const [a, b, output, plus] = views as [View, View, View, View | undefined]; // as many out as in
      const product = { ...i, a, b, output, ...(plus ? { plus } : {}) };
      if (!i.after) return product;
      const after = asRows(i.after, rows);
      return after?.kind === 'map' ? { ...product, after } : undefined;
    }
    case 'conv':
      return i.output.shape[0] === rows && (i.result !== 'filter' || isGapless(i.filter)) ? i : undefined;
    case 'window':
      return i.output.shape[0] === rows ? i : undefined;
    default:
      return undefined;
  }
}

/** Leading axes that are made rows. */
class Leading {
  constructor(
    readonly rows: number,
    /** How many axes there are, and how many points of the last one each row has. */
    readonly count: number,
    readonly inside: number,
  ) {}

  /** A shape with rows as its first axis. */
  seen(shape: Shape): Shape {
    const inside = this.inside === 1 ? [] : [this.inside];
    return [this.rows, ...inside, ...shape.slice(this.count)];
  }
}

/** The leading axes with `rows` points together, or with as many in each of `rows` rows. */
function leadingAxes(shape: Shape, rows: number): Leading | undefined {
  let points = 1;
  for (const [axis, size] of shape.entries()) {
    if (rows % points !== 0) return undefined;
    const left = rows / points;
    points *= size;
    if (points >= rows) return size % left === 0 ? new Leading(rows, axis + 1, size / left) : undefined;
  }
  return undefined;
}

function withLeading(views: readonly View[], leading: Leading | undefined): View[] | undefined {
  if (!leading) return undefined;
  const seen = views.map((v) => reshapeView(v, leading.seen(v.shape)));
  return seen.includes(undefined) ? undefined : (seen as View[]); // just searched for gaps
}

/** Whether positions are used only along axes that stay what they are. */
const knowsNoRow = (axes: ReadonlySet<number>, { count, inside }: Leading): boolean =>
  axes.size === 0 || (count === 1 && inside === 1 && !axes.has(0));

/** Whether a step with rows as its first axis folds across them. */
export function foldsRows(step: RowStep): boolean {
  return (step.kind === 'reduce' && step.axes[0] === 0) || (step.kind === 'conv' && step.result === 'filter');
}

/** What a step reads that belongs to all rows. */
export function sharedViews(step: RowStep): readonly View[] {
  if (step.kind === 'window') return step.spans;
  return step.kind === 'conv' && step.result !== 'filter' ? [step.filter] : [];
}

/** How many points a step is at, all rows together. */
export function pointsOf(step: RowStep): number {
  switch (step.kind) {
    case 'map':
    case 'reduce':
      return sizeOf(step.shape);
    case 'dot':
      return sizeOf(step.output.shape);
    case 'conv':
      return Math.max(sizeOf(step.input.shape), sizeOf(step.output.shape));
    case 'window':
      return Math.max(...[...step.inputs, step.output].map((v) => sizeOf(v.shape)));
  }
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
    case 'conv':
      return { ...step, input: cut(step.input), output: cut(step.output) };
    case 'window':
      return { ...step, inputs: step.inputs.map(cut), output: cut(step.output) };
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
