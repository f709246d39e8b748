/** @file The `window` instruction: pooling and its gradients. */
import { sizeOf, stridesOf } from '../../core/shape.ts';
import type { View, WindowInstruction } from '../../program/instructions.ts';
import { type Cursor, cursorOn, type Memory } from './memory.ts';
import { type Arithmetic, arithmeticOf } from './scalars.ts';
import type { Value } from './values.ts';

/** How close two numbers are to count as the same in `nearGradient`. */
const near = 1e-5;

/** One window: the pooled point it belongs to, and the points of the image in it, row-major. */
interface Window {
  readonly at: readonly number[];
  readonly points: readonly (readonly number[])[];
}

type Visit = (at: readonly number[], points: readonly (readonly number[])[]) => void;

export function compileWindow(instruction: WindowInstruction, memory: Memory): () => void {
  const { op, inputs, spans, output } = instruction;
  const isGradient = op.endsWith('Gradient');
  // The last operand always has the other one of the two sizes.
  const other = inputs.at(-1)!;
  const [image, pooled] = op === 'pick' ? [inputs[0]!, output] : isGradient ? [output, other] : [inputs[0]!, output];
  const [batch, channels] = [image.shape[0]!, image.shape.at(-1)!];
  const windows = windowReader(spans, image.shape.slice(1, -1), pooled.shape.slice(1, -1), memory);
  const visit = visitor(instruction, memory);
  const clear = isGradient ? clearer(output, memory) : () => {};
  return () => {
    clear();
    const all = windows();
    for (let n = 0; n < batch; n++)
      for (let c = 0; c < channels; c++)
        for (const { at, points } of all)
          visit(
            [n, ...at, c],
            points.map((point) => [n, ...point, c]),
          );
  };
}

/** Reads the spans and lists the windows in row-major order. */
function windowReader(
  spans: readonly View[],
  image: readonly number[],
  pooled: readonly number[],
  memory: Memory,
): () => Window[] {
  const cursors = spans.map((view) => cursorOn(view, memory));
  const bound = (axis: number, i: number, end: number) => {
    const { place, start } = cursors[axis]!;
    const value = Number(place.data.getBigInt64(start + (2 * i + end) * 8, true));
    return Math.min(Math.max(value, 0), image[axis]!);
  };
  return () =>
    indicesOf(pooled).map((at) => {
      const begins = at.map((i, axis) => bound(axis, i, 0));
      const sizes = at.map((i, axis) => Math.max(bound(axis, i, 1) - begins[axis]!, 0));
      return { at, points: indicesOf(sizes).map((point) => point.map((i, axis) => begins[axis]! + i)) };
    });
}

/** Every point of a shape, row-major. */
function indicesOf(shape: readonly number[]): number[][] {
  const strides = stridesOf(shape);
  return Array.from({ length: sizeOf(shape) }, (_, flat) =>
    shape.map((size, axis) => Math.floor(flat / strides[axis]!) % size),
  );
}

/** Single elements of a view, by their coordinates. */
class Elements {
  readonly arithmetic: Arithmetic<Value>;
  readonly #cursor: Cursor;
  constructor(view: View, memory: Memory) {
    this.arithmetic = arithmeticOf(view.dtype);
    this.#cursor = cursorOn(view, memory);
  }
  #place(at: readonly number[]): number {
    const { start, steps } = this.#cursor;
    return at.reduce((place, i, axis) => place + i * steps[axis]!, start);
  }
  get(at: readonly number[]): Value {
    return this.arithmetic.load(this.#cursor.place.data, this.#place(at));
  }
  set(at: readonly number[], x: Value): void {
    this.arithmetic.store(this.#cursor.place.data, this.#place(at), this.arithmetic.round(x));
  }
  add(at: readonly number[], x: Value): void {
    this.set(at, this.arithmetic.binary.add!(this.get(at), x));
  }
}

function clearer(output: View, memory: Memory): () => void {
  const target = new Elements(output, memory);
  const points = indicesOf(output.shape);
  return () => {
    for (const at of points) target.set(at, target.arithmetic.zero);
  };
}

/** What is done with one window, whose points and pooled point now have batch and channel. */
function visitor({ op, inputs, output }: WindowInstruction, memory: Memory): Visit {
  const [first, second, third] = inputs.map((view) => new Elements(view, memory));
  const x = first!;
  const to = new Elements(output, memory);
  const { compare, binary } = x.arithmetic;
  /** The position of the first maximum among the points. */
  const firstMaximum = (points: readonly (readonly number[])[]): number => {
    let best = 0;
    for (let i = 1; i < points.length; i++) if (compare.gt!(x.get(points[i]!), x.get(points[best]!))) best = i;
    return best;
  };
  switch (op) {
    case 'max': {
      const { dtype } = output;
      const lowest = dtype.isFloating ? dtype.min : to.arithmetic.lowest;
      return (at, points) => {
        let best: Value = lowest;
        for (const point of points) if (compare.gt!(x.get(point), best)) best = x.get(point);
        to.set(at, best);
      };
    }
    case 'argmax': {
      const strides = stridesOf(inputs[0]!.shape.slice(1, -1));
      return (at, points) => {
        const best = points[firstMaximum(points)]?.slice(1, -1);
        to.set(at, best ? BigInt(best.reduce((flat, i, axis) => flat + i * strides[axis]!, 0)) : -1n);
      };
    }
    case 'sum':
    case 'mean': {
      const { kind, round, zero } = x.arithmetic;
      // Integers wrap at every step; floats are rounded once, when stored.
      const wrap = kind === 'float' ? (v: Value) => v : round;
      return (at, points) => {
        const total = points.reduce<Value>((sum, point) => wrap(binary.add!(sum, x.get(point))), zero);
        const count = kind === 'big' ? BigInt(points.length) : points.length;
        to.set(at, op === 'sum' || points.length === 0 ? total : binary.div!(total, count));
      };
    }
    case 'pick':
      return (at, points) => {
        const hit = points.find((point) => compare.eq!(x.get(point), second!.get(at)));
        to.set(at, hit ? third!.get(hit) : to.arithmetic.zero);
      };
    case 'maxGradient':
    case 'positiveMaxGradient':
      return (at, points) => {
        const point = points[firstMaximum(points)];
        if (!point) return;
        const dy = second!.get(at);
        const passes = op === 'maxGradient' || compare.gt!(x.get(point), x.arithmetic.zero);
        to.add(point, passes ? dy : (dy as number) * 0); // floats only
      };
    case 'nearGradient':
      return (at, points) => {
        const y = second!.get(at) as number; // floats only
        for (const point of points) if (Math.abs((x.get(point) as number) - y) < near) to.add(point, third!.get(at));
      };
    case 'meanGradient':
      return (at, points) => {
        for (const point of points) to.add(point, (x.get(at) as number) / points.length); // floats only
      };
  }
}
