/**
 * @file Instructions that walk over the same rows run together, block by block: softmax, layer norms and their gradients
 * are several passes over an array, and this way all but the first find it in the cache.
 */
import type { Work } from '../core/eventLoop.ts';
import { sizeOf } from '../core/shape.ts';
import { readsOf, withReads, writesOf } from './access.ts';
import { isFast } from './epilogue.ts';
import { Hazards } from './hazards.ts';
import { canFail } from './inspect.ts';
import {
  type Buffer,
  type ConvInstruction,
  type DeviceInstruction,
  type Origin,
  type RowStep,
  storageOf,
  type View,
  type WindowInstruction,
} from './instructions.ts';
import { mergeMaps } from './merge.ts';
import { asRows, foldsRows, pointsOf, rowCounts, sharedViews, staysInRow } from './rows.ts';

/** Below so many elements an array is in the cache anyway, and a step of a block would have hardly anything to do. */
const minElements = 16384;
/** Rows are divided among threads, and a row must fit a cache. */
const minRows = 8;
const maxRowElements = 32768;
/** Bytes from which reading the same memory is a reason to run together. */
const minShared = 4096;
const maxSteps = 32;
/** Beyond so many multiply-adds per row a product gains nothing from finding its factors in the cache. */
const maxProduct = 2 ** 20;
/** Images are whole blocks, so there must be enough of them for many threads. */
const minImages = 32;
/** Every block adds what it gives to the gradient of a filter, so that must be small. */
const maxFilter = 4096;

/** Instructions that may become one. */
class Group {
  /** Where it stands among the other instructions. */
  position = -1;
  readonly steps: (DeviceInstruction & Origin)[] = [];
  /** The numbers of rows that all steps can be seen as, largest first. */
  rows: readonly number[] = [];
  /** Whether a step goes image by image. Then others do so too, even if they do not know where images end. */
  #hasImages = false;
  /** The steps that touch a piece of memory. */
  readonly #touching = new Map<object, { step: DeviceInstruction; writes: boolean }[]>();

  add(step: DeviceInstruction, rows: readonly number[]): void {
    this.steps.push(step);
    this.rows = rows;
    this.#hasImages ||= isOfImages(step);
    for (const [views, writes] of [
      [readsOf(step), false],
      [writesOf(step), true],
    ] as const)
      for (const { buffer } of views) {
        const known = this.#touching.get(storageOf(buffer));
        if (known) known.push({ step, writes });
        else this.#touching.set(storageOf(buffer), [{ step, writes }]);
      }
  }

  /** The numbers of rows with which the group could take in an instruction. */
  common(i: DeviceInstruction, rows: readonly number[]): number[] {
    if (this.steps.length === maxSteps) return [];
    const canBe = (n: number) => rows.includes(n) || (this.#hasImages && rows.length > 0 && asRows(i, n) !== undefined);
    return this.rows.filter((n) => canBe(n) && this.#stays(i, n));
  }

  /** Whether the memory that an instruction shares with the group, and one of them writes, is touched row by row by all. */
  #stays(i: DeviceInstruction, rows: number): boolean {
    const written = new Set(writesOf(i).map((v) => storageOf(v.buffer)));
    for (const storage of new Set([...readsOf(i), ...writesOf(i)].map((v) => storageOf(v.buffer)))) {
      const others = this.#touching.get(storage);
      if (!others || !(written.has(storage) || others.some((o) => o.writes))) continue;
      if (![i, ...others.map((o) => o.step)].every((step) => touchesByRow(step, rows, storage))) return false;
    }
    return true;
  }
}

function touchesByRow(i: DeviceInstruction, rows: number, storage: object): boolean {
  const step = asRows(i, rows)!;
  const isThere = (v: View) => storageOf(v.buffer) === storage;
  if ((foldsRows(step) ? writesOf(step) : sharedViews(step)).some(isThere)) return false;
  return [...readsOf(step), ...writesOf(step)].every((v) => !isThere(v) || staysInRow(v, rows));
}

/** Joins instructions over the same rows. `keep` are buffers needed after the segment. */
export function* groupRows(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): Work<DeviceInstruction[]> {
  const uses = countUses(instructions);
  const result: (Group | undefined)[] = [];
  const hazards = new Hazards();
  /** The last group that touched a buffer, if that is a reason to join it. */
  const groups = new Map<Buffer, Group>();

  /** The group that an instruction can join, among those that made or read what it reads. */
  function groupFor(i: DeviceInstruction, rows: readonly number[]): Group | undefined {
    const near = new Set(readsOf(i).flatMap((v) => groups.get(v.buffer) ?? []));
    for (const group of [...near].sort((p, q) => q.position - p.position)) {
      const common = group.common(i, rows);
      if (common.length === 0) continue;
      const rises = hazards.mayMove(i, group.position);
      if (!rises && !group.steps.every((step) => hazards.mayMove(step, group.position))) continue;
      if (!rises) {
        result[group.position] = undefined;
        group.position = result.length;
        for (const step of group.steps) hazards.note(step, group.position);
      }
      group.add(i, common);
      return group;
    }
    return undefined;
  }

  for (const i of instructions) {
    yield;
    const rows = isCandidate(i) ? rowCounts(i, 2).sort((p, q) => q - p) : [];
    let group = groupFor(i, rows);
    if (!group) {
      group = new Group();
      group.add(i, rows);
      group.position = result.length;
    }
    result[group.position] = group;
    hazards.note(i, group.position);
    if (rows.length === 0) continue;
    for (const { buffer } of readsOf(i)) if (buffer.bytes >= minShared) groups.set(buffer, group);
    for (const { buffer } of writesOf(i)) groups.set(buffer, group);
  }
  const joined: DeviceInstruction[] = [];
  for (const group of result) {
    yield;
    if (group) joined.push(...emit(group, uses, keep));
  }
  return joined;
}

const touched = (i: DeviceInstruction): Set<Buffer> => new Set([...readsOf(i), ...writesOf(i)].map((v) => v.buffer));

/** How many instructions touch each buffer. */
function countUses(instructions: readonly DeviceInstruction[]): Map<Buffer, number> {
  const uses = new Map<Buffer, number>();
  for (const i of instructions) for (const buffer of touched(i)) uses.set(buffer, (uses.get(buffer) ?? 0) + 1);
  return uses;
}

/** What can fail stays by itself, so that its failure names its own node. */
function isCandidate(i: DeviceInstruction): boolean {
  switch (i.kind) {
    case 'map':
      return !i.results.some((r) => canFail(r));
    case 'reduce':
      return !canFail(i.result);
    case 'dot': {
      const [m, n] = i.output.shape.slice(-2) as [number, number]; // matrices
      return m * n * i.a.shape.at(-1)! <= maxProduct;
    }
    case 'conv': {
      const [rows] = i.output.shape as [number]; // images
      const products = (sizeOf(i.output.shape) / rows) * sizeOf(i.filter.shape.slice(2));
      const isSmall = i.result !== 'filter' || sizeOf(i.filter.shape) <= maxFilter;
      return isFast(i.output.dtype) && products <= maxProduct && isSmall && hasRows(i);
    }
    case 'window':
      return hasRows(i);
    default:
      return false;
  }
}

/**
 * The steps with maps in place: what a convolution or a window leaves for one map only lies where the map's result will, if that
 * has the same elements. So a block takes less of the cache, and what becomes a result is written to its place in memory at once.
 */
function inPlace(steps: readonly RowStep[], isOwn: (v: View) => boolean): RowStep[] {
  const uses = countUses(steps);
  const placed = [...steps];
  /** Where memory is first touched. */
  const first = new Map<object, number>();
  for (const [k, step] of steps.entries())
    for (const v of [...readsOf(step), ...writesOf(step)])
      if (!first.has(storageOf(v.buffer))) first.set(storageOf(v.buffer), k);
  for (const [k, map] of steps.entries()) {
    if (map.kind !== 'map') continue;
    for (const output of map.outputs) {
      const isNew = first.get(storageOf(output.buffer)) === k;
      if (!isNew || map.inputs.some((v) => storageOf(v.buffer) === storageOf(output.buffer))) continue;
      const from = map.inputs.find((v) => isOwn(v) && uses.get(v.buffer) === 2 && sameElements(v, output));
      const writer = steps.findIndex((s) => isOfImages(s) && from && writesOf(s)[0]!.buffer === from.buffer);
      if (!from || writer < 0) continue;
      placed[writer] = withResultIn(placed[writer]!, output.buffer);
      placed[k] = withReads(placed[k]!, (b) => (b === from.buffer ? output.buffer : b));
      break;
    }
  }
  return placed;
}

const isOfImages = (i: DeviceInstruction): i is ConvInstruction | WindowInstruction =>
  i.kind === 'conv' || i.kind === 'window';

/** A convolution or window that leaves its result in another buffer. */
function withResultIn(step: RowStep, buffer: Buffer): RowStep {
  if (step.kind === 'conv') return { ...step, [step.result]: { ...step[step.result], buffer } };
  return step.kind === 'window' ? { ...step, output: { ...step.output, buffer } } : step;
}

/** Whether two views of whole buffers show elements of the same size in the same order. */
const sameElements = (a: View, b: View): boolean =>
  a.buffer.bytes === b.buffer.bytes &&
  a.dtype.size === b.dtype.size &&
  a.offset === b.offset &&
  a.strides.every((s, axis) => s === b.strides[axis] || a.shape[axis] === 1);

/** Whether images can be rows: there are enough, and none is too large. */
function hasRows(i: ConvInstruction | WindowInstruction): boolean {
  const [rows] = i.output.shape as [number]; // images
  return rows >= minImages && pointsOf(i) / rows <= maxRowElements;
}

/** The group with its maps joined, as one instruction where that is worth it. */
function emit(group: Group, uses: ReadonlyMap<Buffer, number>, keep: ReadonlySet<Buffer>): DeviceInstruction[] {
  const [rows] = group.rows;
  if (group.steps.length < 2 || rows === undefined) return group.steps;
  const inside = countUses(group.steps);
  const isOwn = ({ buffer }: View) =>
    buffer.kind === 'temp' && !keep.has(buffer) && inside.get(buffer) === uses.get(buffer);
  const seen = group.steps.map((step) => asRows(step, rows)!);
  const merged = inPlace(
    mergeMaps(seen, (v) => !isOwn(v)),
    isOwn,
  );
  // In a block every product has its memory, which is small.
  const steps = merged.map((step) => (step.kind === 'dot' && step.passing ? { ...step, passing: false } : step));
  const points = Math.max(...steps.map(pointsOf));
  if (steps.length < 2 || rows < minRows || points < minElements || points / rows > maxRowElements) return merged;
  const locals = steps.flatMap((step) =>
    foldsRows(step) ? [] : writesOf(step).filter((v) => isOwn(v) && staysInRow(v, rows)),
  );
  const { node } = group.steps.at(-1)!;
  const origin = node === undefined ? {} : { node };
  return [{ kind: 'blocks', rows, steps, locals: new Set(locals.map((v) => v.buffer)), ...origin }];
}
