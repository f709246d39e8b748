/** @file Fusion: a `map` whose only reader is another `map` or a `reduce` of the same shape moves into its reader. */
import type { Work } from '../core/eventLoop.ts';
import { sameShape } from '../core/shape.ts';
import { readsOf, writesOf } from './access.ts';
import { type Expr, input } from './expr.ts';
import { canFail, countNodes, rebuild } from './inspect.ts';
import { type Buffer, type DeviceInstruction, type MapInstruction, storageOf, type View } from './instructions.ts';
import { isContiguous, sameView } from './value.ts';

/** Beyond this an expression no longer gains from being fused, and chains of any length stay linear to process. */
const maxNodes = 64;
const maxInputs = 16;

type Reader = Extract<DeviceInstruction, { kind: 'map' | 'reduce' }>;

/** Joins maps into the maps and reduces that consume them. */
export function* fuse(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): Work<DeviceInstruction[]> {
  const readers = new Map<Buffer, number>();
  const writers = new Map<Buffer, number>();
  for (const i of instructions) {
    yield;
    for (const buffer of new Set(readsOf(i).map((v) => v.buffer))) readers.set(buffer, (readers.get(buffer) ?? 0) + 1);
    for (const v of writesOf(i)) writers.set(v.buffer, (writers.get(v.buffer) ?? 0) + 1);
  }
  const sizes = new Map<object, number>();
  const failures = new Map<Expr, boolean>();
  const lastWrite = new Map<object, number>();
  const result: (DeviceInstruction | undefined)[] = [];
  /** Where the single writer of a buffer stands in `result`, while it may still be fused. */
  const producer = new Map<Buffer, number>();

  /** The instruction with every producer that can move into it moved. */
  function absorb(reader: Reader): Reader {
    let grown = reader;
    for (const view of reader.inputs) {
      const at = producer.get(view.buffer);
      const from = at === undefined ? undefined : result[at];
      // The reader may look at the output a second time in another way, such as transposed.
      if (from?.kind !== 'map' || !reader.inputs.every((v) => v.buffer !== view.buffer || fits(from, v, reader)))
        continue;
      // Reading later is safe only if nothing the producer reads was overwritten in between.
      if (from.inputs.some((v) => (lastWrite.get(storageOf(v.buffer)) ?? -1) > at!)) continue;
      const joined = join(from, grown, view.buffer, sizes);
      if (!joined) continue;
      grown = joined;
      result[at!] = undefined;
      producer.delete(view.buffer);
    }
    return grown;
  }

  for (const original of instructions) {
    yield;
    const current = original.kind === 'map' || original.kind === 'reduce' ? absorb(original) : original;
    const position = result.length;
    result.push(current);
    for (const v of writesOf(current)) lastWrite.set(storageOf(v.buffer), position);
    if (current.kind === 'map' && current.outputs.length === 1) {
      const { buffer } = current.outputs[0]!;
      const single = readers.get(buffer) === 1 && writers.get(buffer) === 1;
      // What can fail stays by itself, so that its failure names its own node.
      if (buffer.kind === 'temp' && single && !keep.has(buffer) && !canFail(current.results[0]!, failures))
        producer.set(buffer, position);
    }
  }
  return result.filter((i) => i !== undefined);
}

/** The reader must look at every element of the producer's output once, in the same order. */
function fits(from: MapInstruction, view: View, reader: { shape: readonly number[] }): boolean {
  return (
    sameShape(from.shape, reader.shape) &&
    view.dtype === from.outputs[0]!.dtype &&
    view.offset === 0 &&
    isContiguous(view) &&
    isContiguous(from.outputs[0]!)
  );
}

/** The reader with the producer's expression in place of the buffer between them; undefined when it would grow too large. */
function join(from: MapInstruction, reader: Reader, between: Buffer, sizes: Map<object, number>): Reader | undefined {
  const size = sizeOf(from, sizes) + sizeOf(reader, sizes);
  if (size > maxNodes) return undefined;
  // The producer's inputs come first and keep their places, so its expression can be used as it is.
  const inputs: View[] = [...from.inputs];
  const places = reader.inputs.map((v) => {
    if (v.buffer === between) return -1;
    const found = inputs.findIndex((o) => o === v || sameView(o, v));
    return found >= 0 ? found : inputs.push(v) - 1;
  });
  if (inputs.length > maxInputs) return undefined;
  const inner = from.results[0]!;
  const replace = (index: number, e: Expr): Expr => (places[index] === -1 ? inner : input(places[index]!, e.dtype));
  const shared = new Map<Expr, Expr>();
  const joined: Reader =
    reader.kind === 'map'
      ? { ...reader, inputs, results: reader.results.map((r) => rebuild(r, replace, shared)) }
      : { ...reader, inputs, result: rebuild(reader.result, replace, shared) };
  sizes.set(joined, size);
  return joined;
}

/** How many nodes an instruction's expressions have; an upper bound once instructions were joined. */
function sizeOf(i: Reader | MapInstruction, sizes: Map<object, number>): number {
  let size = sizes.get(i);
  if (size === undefined) sizes.set(i, (size = countNodes(i.kind === 'map' ? i.results : [i.result])));
  return size;
}
