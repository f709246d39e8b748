/** @file Random steps over the rows of one array, and the same steps one by one, none of which a loop can be generated for. */
import * as d from '../../../src/core/dtypes.ts';
import { NDArray } from '../../../src/core/ndarray.ts';
import { sizeOf } from '../../../src/core/shape.ts';
import * as e from '../../../src/program/expr.ts';
import { Buffer, type MapInstruction, type ReduceInstruction, type View } from '../../../src/program/instructions.ts';
import { broadcast, restride, SegmentBuilder, viewOf } from '../build.ts';
import type { Chance } from './chance.ts';

type Step = MapInstruction | ReduceInstruction;

/**
 * What values a program computes with. Sums of `exact` ones, which are small whole numbers, are the same in any order. `wild` ones go
 * through all functions and are anything, NaN included, but are never added up.
 */
export type Numbers = 'exact' | 'wild';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
const awkward = [0, -0, 1, -1, 0.1, -3.7, 1e-30, 1e30, inf, -inf, nan, 2 ** -126, 3e38, 88, -87.5, 0.62, -0.63];
const awkwardIntegers = [0, 1, -1, 2 ** 24, 2 ** 24 + 1, -(2 ** 24) - 1, 2 ** 31 - 1, 2 ** 31 - 2, -(2 ** 31)];
const widths = [2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 79, 80, 100, 129, 300, 1000];

/** Expressions over inputs of given types that loops can be generated for. */
class LoopExpressions {
  readonly #floats: e.Expr[] = [];
  readonly #truths: e.Expr[] = [];
  readonly #integers: e.Expr[] = [];

  constructor(
    private readonly chance: Chance,
    private readonly numbers: Numbers,
    inputs: readonly d.DType[],
  ) {
    for (const [i, dtype] of inputs.entries()) this.#listOf(dtype).push(e.input(i, dtype));
    if (this.#floats.length === 0) this.#floats.push(e.constant(2, d.float32));
    for (let left = chance.integer(0, chance.happens(0.2) ? 50 : 9); left > 0; left--) this.#grow();
  }

  /** One of the values; NaN and infinities, and large numbers, do not stay in an exact one. */
  float(): e.Expr {
    const value = this.#late(this.#floats);
    return this.numbers === 'exact' ? e.max(e.min(value, 8), -8) : value;
  }
  of(dtype: d.DType): e.Expr {
    if (dtype !== d.float32) return this.#late(this.#listOf(dtype));
    return this.chance.happens(0.2) ? this.#everything() : this.float();
  }
  /** What needs all values at once. */
  #everything(): e.Expr {
    return this.#floats.reduceRight((x, y) => e.max(e.min(y, 8), x));
  }
  has(dtype: d.DType): boolean {
    return this.#listOf(dtype).length > 0;
  }

  #listOf(dtype: d.DType): e.Expr[] {
    return dtype === d.bool ? this.#truths : dtype === d.int32 ? this.#integers : this.#floats;
  }
  #late(list: readonly e.Expr[]): e.Expr {
    return this.chance.pick(this.chance.happens(0.7) ? list.slice(-8) : list);
  }

  #grow(): void {
    const { chance } = this;
    const argument = () => (chance.happens(0.15) ? this.#constant() : this.float());
    const [x, y] = [argument(), argument()];
    switch (chance.integer(0, 11)) {
      case 0:
      case 1:
        this.#truths.push(chance.pick([e.eq, e.ne, e.lt, e.le, e.gt, e.ge])(x, y));
        return;
      case 2:
        if (this.#truths.length > 0) this.#floats.push(e.select(this.#late(this.#truths), x, y));
        return;
      case 3:
        this.#growTruths();
        return;
      case 4:
        if (this.#integers.length > 0) this.#growIntegers();
        return;
      case 5:
      case 6:
        this.#floats.push(this.#function(x));
        return;
      default:
        this.#floats.push(chance.pick([e.add, e.sub, e.mul, e.max, e.min])(x, y));
    }
  }
  #constant(): e.Expr {
    const { chance } = this;
    return e.constant(this.numbers === 'exact' ? chance.integer(-3, 3) : chance.pick(awkward), d.float32);
  }
  #function(x: e.Expr): e.Expr {
    const { chance } = this;
    if (this.numbers === 'exact') return chance.pick([e.neg, e.abs, e.square, e.floor, e.ceil, e.rint])(x);
    if (chance.happens(0.2)) return e.div(x, chance.happens(0.5) ? chance.pick([2, -0.25, 3]) : this.float());
    return chance.pick([e.exp, e.tanh, e.sigmoid, e.sqrt, e.rsqrt, e.reciprocal, e.floor, e.neg, e.abs, e.square])(x);
  }
  #growTruths(): void {
    const { chance } = this;
    if (this.#truths.length === 0) {
      this.#truths.push(chance.pick([e.isnan, e.isfinite, (x: e.Expr) => e.cast(x, d.bool)])(this.float()));
      return;
    }
    const [x, y] = [this.#late(this.#truths), this.#late(this.#truths)];
    if (chance.happens(0.3)) this.#floats.push(e.cast(x, d.float32));
    else this.#truths.push(chance.happens(0.2) ? e.not(x) : chance.pick([e.and, e.or, e.xor])(x, y));
  }
  #growIntegers(): void {
    const { chance } = this;
    const [x, y] = [this.#late(this.#integers), this.#late(this.#integers)];
    const other = chance.happens(0.3) ? e.constant(chance.pick(awkwardIntegers), d.int32) : y;
    if (chance.happens(0.6)) this.#truths.push(chance.pick([e.eq, e.ne, e.lt, e.le, e.gt, e.ge])(x, other));
    else if (chance.happens(0.4) && this.numbers === 'wild') this.#floats.push(e.cast(x, d.float32));
    else if (this.#truths.length > 0) this.#integers.push(e.select(this.#late(this.#truths), x, other));
  }
}

/** Something that steps read or write: its place in memory, and where the same steps one by one have it. */
interface Readable {
  readonly view: View;
  apart: View;
}

/** A random program over the rows of one array: steps that loops are generated for, and the same steps apart. */
export class RowPrograms {
  readonly joined = new SegmentBuilder();
  readonly apart = new SegmentBuilder();
  /** What both versions leave. */
  readonly results: Readable[] = [];
  readonly #rows: number;
  readonly #columns: number;
  readonly #inside: number;
  readonly #steps: Step[] = [];
  readonly #locals = new Set<Buffer>();
  /** Of the whole shape, and one element for each row. */
  readonly #whole: Readable[] = [];
  readonly #single: Readable[] = [];

  /** Of the whole shape and float32, with memory that is not only the steps'. */
  get #overwritable(): Readable[] {
    return this.#whole.filter(
      ({ view }) => view.buffer.kind === 'bound' && view.dtype === d.float32 && view.strides.every((s) => s !== 0),
    );
  }

  constructor(
    private readonly chance: Chance,
    private readonly numbers: Numbers,
  ) {
    this.#columns = chance.pick(widths);
    this.#rows = chance.integer(1, this.#columns > 200 ? 9 : 40);
    this.#inside = chance.happens(0.8) ? 1 : chance.integer(2, 3);
    const shape = this.#shape;
    for (const dtype of [d.float32, d.float32, d.int32, d.bool]) this.#whole.push(this.#given(dtype, shape));
    for (const dtype of [d.float32, d.int32]) {
      const across = this.#given(dtype, [this.#columns]);
      this.#whole.push({ view: broadcast(across.view, shape), apart: broadcast(across.apart, shape) });
      const scalar = this.#given(dtype, []);
      this.#whole.push({ view: broadcast(scalar.view, shape), apart: broadcast(scalar.apart, shape) });
      this.#addSingle(this.#given(dtype, this.#leading));
    }
    for (let left = chance.integer(1, 9); left > 0; left--) this.#addStep();
    this.joined.add({ kind: 'blocks', rows: this.#rows, steps: this.#steps, locals: this.#locals });
  }

  /** The axes of which there is one row each, and all axes. */
  get #leading(): number[] {
    return this.#inside === 1 ? [this.#rows] : [this.#rows, this.#inside];
  }
  get #shape(): number[] {
    return [...this.#leading, this.#columns];
  }

  #element(dtype: d.DType): number {
    const { chance } = this;
    if (dtype === d.bool) return Number(chance.happens(0.5));
    if (dtype === d.int32) return chance.happens(0.4) ? chance.pick(awkwardIntegers) : chance.integer(-2, 2);
    if (this.numbers === 'exact') return chance.integer(-3, 3);
    return chance.happens(0.2) ? chance.pick(awkward) : chance.integer(-4000, 4000) / 1000;
  }

  /** An input, the same for both versions, perhaps backwards, or with some room behind each of its rows and in front of all. */
  #given(dtype: d.DType, shape: readonly number[]): Readable {
    const { chance } = this;
    const last = shape.at(-1) ?? 1;
    const [gap, front] =
      shape.length > 1 && chance.happens(0.3) ? [chance.integer(0, 5), chance.integer(0, 3)] : [0, 0];
    const rows = sizeOf(shape) / last;
    const elements = Array.from({ length: front + rows * (last + gap) }, () => this.#element(dtype));
    const own = dtype === d.float32 ? Float32Array : dtype === d.int32 ? Int32Array : Uint8Array;
    const array = new NDArray(dtype, [elements.length], own.from(elements));
    let step = 1;
    const strides = shape.map(() => 0);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      strides[axis] = step;
      step *= axis === shape.length - 1 ? shape[axis]! + gap : shape[axis]!;
    }
    const isBackwards = shape.length > 1 && chance.happens(0.15);
    const first = isBackwards ? front + (shape[0]! - 1) * strides[0]! : front;
    if (isBackwards) strides[0] = -strides[0]!;
    return {
      view: restride(this.joined.bind(array), shape, strides, first),
      apart: restride(this.apart.bind(array), shape, strides, first),
    };
  }

  /** One element for each row, also as steps over all columns see it. */
  #addSingle(one: Readable): void {
    const spread = (v: View) => restride(v, this.#shape, [...v.strides, 0]);
    this.#single.push(one);
    this.#whole.push({ view: spread(one.view), apart: spread(one.apart) });
  }

  /** A place with room between its elements, so that no loop is generated for what is computed there. */
  #spaced(dtype: d.DType, shape: readonly number[]): View {
    const apart = this.apart.output(dtype, [...shape, 2]);
    return restride(apart, shape, apart.strides.slice(0, -1));
  }

  /** A place for a result. */
  #result(dtype: d.DType, shape: readonly number[]): Readable {
    const apart = this.#spaced(dtype, shape);
    if (this.chance.happens(0.4)) {
      const result = { view: this.joined.output(dtype, shape), apart };
      this.results.push(result);
      return result;
    }
    const buffer = new Buffer('temp', sizeOf(shape) * dtype.size);
    this.#locals.add(buffer);
    return { view: viewOf(buffer, dtype, shape), apart };
  }

  #addStep(): void {
    const { chance } = this;
    const kind = chance.integer(0, 9);
    if (kind < 4) this.#addMap(this.#shape, this.#whole);
    else if (kind < 5) this.#addMap(this.#leading, this.#single);
    else if (kind < 8) this.#addFold(true);
    else if (kind < 9) this.#addFold(false);
    else this.#addInPlace();
  }

  #chosen(from: readonly Readable[]): Readable[] {
    const { chance } = this;
    return Array.from({ length: chance.integer(1, 5) }, () => chance.pick(chance.happens(0.6) ? from.slice(-9) : from));
  }

  #valuesOf(inputs: readonly Readable[]): LoopExpressions {
    return new LoopExpressions(
      this.chance,
      this.numbers,
      inputs.map((r) => r.view.dtype),
    );
  }

  #addMap(shape: readonly number[], from: Readable[]): void {
    const { chance } = this;
    const inputs = this.#chosen(from);
    const values = this.#valuesOf(inputs);
    const dtypes = [d.float32, d.float32, d.float32, d.int32, d.bool].filter((dtype) => values.has(dtype));
    const results = Array.from({ length: chance.integer(1, 3) }, () => values.of(chance.pick(dtypes)));
    const outputs = results.map((result) => this.#result(result.dtype, shape));
    this.#push((at) => ({ kind: 'map', shape, inputs: inputs.map(at), outputs: outputs.map(at), results }));
    for (const output of outputs) {
      if (from === this.#single) this.#addSingle(output);
      else this.#whole.push(output);
    }
  }

  /** A map whose result takes the place of an input. */
  #addInPlace(): void {
    const over = this.chance.pick(this.#overwritable);
    const inputs = [over, ...this.#chosen(this.#whole).slice(1)];
    const [shape, results] = [this.#shape, [this.#valuesOf(inputs).float()]];
    const after = { view: over.view, apart: this.#spaced(d.float32, shape) };
    this.#push((at) => ({ kind: 'map', shape, inputs: inputs.map(at), outputs: [at(after)], results }));
    over.apart = after.apart;
    if (!this.results.includes(over)) this.results.push(over);
  }

  #addFold(along: boolean): void {
    const { chance } = this;
    const inputs = this.#chosen(this.#whole);
    const values = this.#valuesOf(inputs);
    const shape = this.#shape;
    const axes = shape.flatMap((_, axis) => ((axis === shape.length - 1) === along ? [axis] : []));
    const op = chance.pick(
      this.numbers === 'exact' ? (['sum', 'sum', 'max', 'min', 'prod'] as const) : (['max', 'min'] as const),
    );
    const value = values.float();
    // Products of many numbers are exact only of the simplest, and zeros have no sign that would depend on an order.
    const result = op === 'prod' ? e.select(e.gt(value, 0), 1, -1) : e.add(value, 0);
    const kept = along ? this.#leading : [this.#columns];
    const output = along
      ? this.#result(d.float32, kept)
      : { view: this.joined.output(d.float32, kept), apart: this.apart.output(d.float32, kept) };
    this.#push((at) => ({ kind: 'reduce', op, shape, axes, inputs: inputs.map(at), result, output: at(output) }));
    if (along) this.#addSingle(output);
    else this.results.push(output);
  }

  /** A step for both versions. */
  #push(stepAt: (place: (of: Readable) => View) => Step): void {
    this.#steps.push(stepAt((of) => of.view));
    this.apart.add(stepAt((of) => of.apart));
  }
}
