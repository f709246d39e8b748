/**
 * @file Instructions that walk over the same rows run together, block by block: softmax, layer norms and their gradients
 * are several passes over an array, and this way all but the first find it in the cache.
 */
import { sizeOf } from '../core/shape.ts';
import { readsOf, writesOf } from './access.ts';
import { Hazards } from './hazards.ts';
import { canFail } from './inspect.ts';
import { type Buffer, type DeviceInstruction, type Origin, storageOf, type View } from './instructions.ts';
import { mergeMaps } from './merge.ts';
import { asRows, foldsRows, rowCounts, staysInRow } from './rows.ts';

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

/** Instructions that may become one. */
class Group {
  /** Where it stands among the other instructions. */
  position = -1;
  readonly steps: (DeviceInstruction & Origin)[] = [];
  /** The numbers of rows that all steps can be seen as, largest first. */
  rows: readonly number[] = [];
  /** The steps that touch a piece of memory. */
  readonly #touching = new Map<object, { step: DeviceInstruction; writes: boolean }[]>();

  add(step: DeviceInstruction, rows: readonly number[]): void {
    this.steps.push(step);
    this.rows = rows;
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
    return this.rows.filter((n) => rows.includes(n) && this.#stays(i, n));
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
  if (foldsRows(step) && writesOf(step).some(isThere)) return false;
  return [...readsOf(step), ...writesOf(step)].every((v) => !isThere(v) || staysInRow(v, rows));
}

/** Joins instructions over the same rows. `keep` are buffers needed after the segment. */
export function groupRows(instructions: readonly DeviceInstruction[], keep: ReadonlySet<Buffer>): DeviceInstruction[] {
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
  return result.flatMap((group) => (group ? emit(group, uses, keep) : []));
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
    default:
      return false;
  }
}

/** The group with its maps joined, as one instruction where that is worth it. */
function emit(group: Group, uses: ReadonlyMap<Buffer, number>, keep: ReadonlySet<Buffer>): DeviceInstruction[] {
  const [rows] = group.rows;
  if (group.steps.length < 2 || rows === undefined) return group.steps;
  const inside = countUses(group.steps);
  const isOwn = ({ buffer }: View) =>
    buffer.kind === 'temp' && !keep.has(buffer) && inside.get(buffer) === uses.get(buffer);
  const seen = group.steps.map((step) => asRows(step, rows)!);
  const merged = mergeMaps(seen, (v) => !isOwn(v));
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

const pointsOf = (i: DeviceInstruction): number =>
  i.kind === 'map' || i.kind === 'reduce' ? sizeOf(i.shape) : i.kind === 'dot' ? sizeOf(i.output.shape) : 0;
