/**
 * @file Sums of matrix products, such as the gradients that a loop adds up: each product is added to the sum as it is computed,
 * and small products that follow each other become one instruction.
 */

import type { Work } from '../core/eventLoop.ts';
import { sameShape, sizeOf } from '../core/shape.ts';
import { isFast } from './epilogue.ts';
import { add, type Expr, input } from './expr.ts';
import {
  Buffer,
  type DeviceInstruction,
  type DotInstruction,
  type Factors,
  type MapInstruction,
  type Origin,
  storageOf,
  type View,
} from './instructions.ts';
import { Rewriting } from './rewriting.ts';
import { dense, isContiguous, reshapeView } from './value.ts';

/** Gives products what they are to be added to, in place of maps that add. `keep` are buffers needed after the segment. */
export function* accumulateProducts(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): Work<DeviceInstruction[]> {
  const list = new Rewriting(instructions, keep);
  /** Where products stand that only one view of one instruction looks at. */
  const products = new Map<Buffer, number>();

  /** Replaces a sum of two by the product that is one of them, added to the other. */
  function absorb(map: MapInstruction & Origin): boolean {
    const addends = addendsOf(map);
    if (addends.length !== 2) return false;
    for (const [one, other] of [addends, addends.toReversed()] as [View, View][]) {
      // The sum takes the place of what is added; were that wanted again, a copy would cost more than is gained.
      const at = list.isReadOnce(other.buffer) ? products.get(one.buffer) : undefined;
      const dot = list.at(at);
      const added = dot?.kind === 'dot' ? withAddend(dot, one, other, map.outputs[0]!) : undefined;
      if (!added || !list.join(at!, map, added)) continue;
      products.delete(one.buffer);
      return true;
    }
    return false;
  }

  function push(i: DeviceInstruction): void {
    const position = list.push(i);
    if (i.kind !== 'dot' || i.plus || !isFast(i.output.dtype)) return;
    if (list.isReadOnce(i.output.buffer)) products.set(i.output.buffer, position);
  }

  /** A sum of several products as sums of two each. */
  function inPairs(map: MapInstruction & Origin): readonly (MapInstruction & Origin)[] {
    const addends = addendsOf(map);
    if (addends.length < 3 || addends.filter(({ buffer }) => products.has(buffer)).length < 2) return [map];
    let sum = addends[0]!;
    return addends.slice(1).map((addend, k) => {
      const { dtype, shape } = addend;
      const isLast = k === addends.length - 2;
      const next = isLast ? map.outputs[0]! : dense(new Buffer('temp', sizeOf(shape) * dtype.size), dtype, shape);
      if (!isLast) list.addReader(next.buffer);
      const pair = { ...map, inputs: [sum, addend], outputs: [next], results: [add(input(0, dtype), input(1, dtype))] };
      sum = next;
      return pair;
    });
  }

  for (const i of instructions) {
    yield;
    for (const part of i.kind === 'map' ? inPairs(i) : [i]) if (part.kind !== 'map' || !absorb(part)) push(part);
  }
  return list.instructions;
}

/** Products with more terms than this gain nothing from being joined. */
const maxTerms = 256;
/** Terms of a joined sum. What it reads stays in memory until it is computed. */
const maxJoinedTerms = 4096;

/** Joins products that are added to each other. `keep` are buffers needed after the segment. */
export function* joinSums(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): Work<DeviceInstruction[]> {
  const list = new Rewriting(instructions, keep);
  const products = new Map<Buffer, number>();

  /** The product with those of the sum that it is added to, if that sum can be computed later. */
  function joined(dot: DotInstruction & Origin): DotInstruction & Origin {
    const sum = dot.plus?.buffer;
    const at = sum && list.isReadOnce(sum) ? products.get(sum) : undefined;
    const before = list.at(at);
    if (at === undefined || before?.kind !== 'dot' || before.output.buffer.bytes !== dot.output.buffer.bytes)
      return dot;
    const more = [{ a: before.a, b: before.b }, ...(before.more ?? []), { a: dot.a, b: dot.b }];
    const isAlike = ({ a, b }: Factors) => isLike(a, dot.a) && isLike(b, dot.b);
    const terms = dot.a.shape.at(-1)!;
    if (terms > maxTerms || terms * more.length > maxJoinedTerms || !more.every(isAlike)) return dot;
    if (!list.mayFall(at)) return dot;
    const target = storageOf(dot.output.buffer);
    if (more.some(({ a, b }) => storageOf(a.buffer) === target || storageOf(b.buffer) === target)) return dot;
    list.remove(at);
    const { plus: _, ...rest } = dot;
    return { ...rest, ...more[0]!, more: more.slice(1), ...(before.plus ? { plus: before.plus } : {}) };
  }

  for (const i of instructions) {
    yield;
    const now = i.kind === 'dot' && i.plus && isFast(i.output.dtype) ? joined(i) : i;
    const position = list.push(now);
    if (now.kind === 'dot' && isFast(now.output.dtype) && isWholeBuffer(now.output))
      products.set(now.output.buffer, position);
  }
  return list.instructions;
}

const isWholeBuffer = (v: View): boolean =>
  v.offset === 0 && isContiguous(v) && v.buffer.bytes === sizeOf(v.shape) * v.dtype.size;
const isLike = (v: View, w: View): boolean =>
  v.dtype === w.dtype && sameShape(v.shape, w.shape) && sameShape(v.strides, w.strides);

/** The inputs of a map that does nothing but add them up, each once, in the order in which it does; otherwise none. */
function addendsOf({ inputs, results }: MapInstruction): readonly View[] {
  if (results.length !== 1) return [];
  const addends: View[] = [];
  const stack: Expr[] = [results[0]!];
  for (let x = stack.pop(); x; x = stack.pop()) {
    if (x.op === 'add') stack.push(...x.args.toReversed());
    else if (x.op !== 'input' || addends.push(inputs[x.index]!) > inputs.length) return [];
  }
  return addends.length === inputs.length && new Set(addends).size === addends.length ? addends : [];
}

/** The product added to something, in place of its own output; undefined when their elements do not correspond. */
function withAddend(
  dot: DotInstruction & Origin,
  product: View,
  addend: View,
  sum: View,
): DeviceInstruction | undefined {
  const { output } = dot;
  const isWhole = (v: View) => v.offset === 0 && isContiguous(v) && v.buffer.bytes === output.buffer.bytes;
  if (![output, product, addend, sum].every(isWhole)) return undefined;
  if ([dot.a, dot.b].some((v) => storageOf(v.buffer) === storageOf(sum.buffer))) return undefined;
  return { ...dot, plus: reshapeView(addend, output.shape)!, output: reshapeView(sum, output.shape)! };
}
