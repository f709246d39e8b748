/** @file What happens to recorded instructions before a device sees them: dead code out, reads of variables protected. */
import type { Work } from '../core/eventLoop.ts';
import { readsOf, withReads, writesOf } from './access.ts';
import { input } from './expr.ts';
import type { Recorded } from './instructionBuilder.ts';
import { Buffer, type DeviceInstruction, storageOf, type View } from './instructions.ts';
import { dense } from './value.ts';

/** Drops instructions whose results nobody wants. `keep` are buffers needed after the segment. */
export function* removeDead(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): Work<DeviceInstruction[]> {
  const wanted = new Set(keep);
  const kept: DeviceInstruction[] = [];
  for (let k = instructions.length - 1; k >= 0; k--) {
    yield;
    const i = instructions[k]!;
    const effect = i.kind === 'check' || writesOf(i).some((v) => v.buffer.kind === 'bound' || wanted.has(v.buffer));
    if (!effect) continue;
    for (const v of readsOf(i)) wanted.add(v.buffer);
    kept.push(i);
  }
  return kept.reverse();
}

/**
 * A value read from a variable stays what it was although the variable is written later: where an old version is read
 * after a write to the same memory, it is copied first. Most programs read before they write and need no copy.
 */
export function protectReads(instructions: readonly DeviceInstruction[]): Work<DeviceInstruction[]>;
export function protectReads(instructions: readonly Recorded[]): Work<Recorded[]>;
export function* protectReads(instructions: readonly Recorded[]): Work<Recorded[]> {
  const lastRead = new Map<Buffer, number>();
  const firstWrite = new Map<Buffer, number>();
  let isOwned = false;
  for (const [k, i] of instructions.entries()) {
    yield;
    for (const v of readsOf(i)) lastRead.set(v.buffer, k);
    for (const { buffer } of writesOf(i)) {
      isOwned ||= buffer.owner !== undefined;
      if (!firstWrite.has(buffer)) firstWrite.set(buffer, k);
    }
  }
  if (!isOwned) return [...instructions];
  const versions = new Map<object, Buffer[]>();
  for (const buffer of lastRead.keys())
    if (buffer.owner) versions.set(buffer.owner, [...(versions.get(buffer.owner) ?? []), buffer]);

  const saved = new Map<Buffer, Buffer>();
  const result: Recorded[] = [];
  for (const [k, original] of instructions.entries()) {
    yield;
    const i = withReads(original, (b) => saved.get(b) ?? b);
    for (const written of writesOf(i)) {
      if (!written.buffer.owner) continue;
      for (const old of versions.get(storageOf(written.buffer)) ?? []) {
        if (old === written.buffer || saved.has(old)) continue;
        // A version that a later instruction makes is not there yet.
        if ((firstWrite.get(old) ?? -1) >= k) continue;
        const last = lastRead.get(old)!;
        // Content of another size gets other memory, which becomes the variable's only when the segment has run.
        if (last > k || (last === k && old.bytes === written.buffer.bytes && overlapsOddly(i, old, written))) {
          const copy = new Buffer('temp', old.bytes);
          saved.set(old, copy);
          result.push(copyOf(old, copy, written, i.node));
        }
      }
    }
    result.push(withReads(i, (b) => saved.get(b) ?? b));
  }
  return result;
}

/** Whether the writing instruction itself reads the old content other than element by element in place. */
function overlapsOddly(i: Recorded, old: Buffer, written: View): boolean {
  if (i.kind !== 'map') return i.kind !== 'scatter' || i.updates.buffer === old || i.indices.buffer === old;
  return i.inputs.some(
    (v) =>
      v.buffer === old &&
      (v.offset !== written.offset || v.strides.some((s, a) => s !== written.strides[a] && v.shape[a] !== 1)),
  );
}

function copyOf(from: Buffer, to: Buffer, like: View, node: string | undefined): DeviceInstruction {
  const count = from.bytes / like.dtype.size;
  return {
    kind: 'map',
    shape: [count],
    inputs: [dense(from, like.dtype, [count])],
    outputs: [dense(to, like.dtype, [count])],
    results: [input(0, like.dtype)],
    ...(node === undefined ? {} : { node }),
  };
}
