/** @file Instructions that have nothing to do with each other are put side by side, so that threads can share them out. */
import type { Work } from '../core/eventLoop.ts';
import { readsOf, writesOf } from './access.ts';
import { Hazards, mayFail } from './hazards.ts';
import { type DeviceInstruction, type Origin, storageOf, type View } from './instructions.ts';

/** How many places an instruction may rise: what is computed early is kept long. */
const reach = 4;
const maxSteps = 32;

/** A set of instructions without order. */
class Wave {
  readonly steps: (DeviceInstruction & Origin)[] = [];
  readonly #read = new Set<object>();
  readonly #written = new Set<object>();

  constructor(
    readonly position: number,
    /** Whether others may join the first. */
    readonly isOpen: boolean,
  ) {}

  add(i: DeviceInstruction): void {
    this.steps.push(i);
    for (const v of readsOf(i)) this.#read.add(storageOf(v.buffer));
    for (const v of writesOf(i)) this.#written.add(storageOf(v.buffer));
  }

  /** Whether an instruction neither needs nor disturbs those that are here. */
  isFree(i: DeviceInstruction): boolean {
    const among = (views: readonly View[], set: ReadonlySet<object>) => views.some((v) => set.has(storageOf(v.buffer)));
    const writes = writesOf(i);
    return !among(readsOf(i), this.#written) && !among(writes, this.#written) && !among(writes, this.#read);
  }
}

/** Puts independent instructions side by side, at most so many. */
export function* sideBySide(instructions: readonly DeviceInstruction[], most = maxSteps): Work<DeviceInstruction[]> {
  const waves: Wave[] = [];
  const hazards = new Hazards();
  /** The earliest of the last waves that an instruction which can share can be part of. */
  function waveFor(i: DeviceInstruction): Wave | undefined {
    let found: Wave | undefined;
    for (const wave of waves.slice(-reach).reverse()) {
      if (!hazards.mayMove(i, wave.position)) break;
      const fits = wave.steps.length < Math.min(most, maxSteps) && wave.isOpen && wave.isFree(i);
      if (fits) found = wave;
    }
    return found;
  }
  for (const i of instructions) {
    yield;
    // What may fail stays by itself, so that its failure names its own node.
    const canShare = !mayFail(i);
    let wave = canShare ? waveFor(i) : undefined;
    if (!wave) waves.push((wave = new Wave(waves.length, canShare)));
    wave.add(i);
    hazards.note(i, wave.position);
  }
  return waves.map(({ steps }) => {
    const [first] = steps;
    if (steps.length === 1) return first!;
    return { kind: 'together', steps, ...(first!.node === undefined ? {} : { node: first!.node }) };
  });
}
