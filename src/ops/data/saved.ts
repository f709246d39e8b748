/** @file What iterators remember so that others of the same dataset can go on from there. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Element, type ElementIterator, Failed, type Pulled, type Soon } from './dataset.ts';

/** What an iterator must remember to go on later: plain values and arrays. */
export type Saved = null | boolean | number | string | NDArray | readonly Saved[] | { readonly [key: string]: Saved };

/** Ends with the state of an iterator among other things to be saved. */
export async function savedAll(parts: Readonly<Record<string, Soon<Saved>>>): Promise<Saved> {
  const saved: Record<string, Saved> = {};
  for (const [key, part] of Object.entries(parts)) saved[key] = await part;
  return saved;
}

/** The parts of a state that was saved as a record. */
export function savedRecord(saved: Saved): Readonly<Record<string, Saved>> {
  if (typeof saved === 'object' && saved !== null && !Array.isArray(saved) && !(saved instanceof NDArray))
    return saved as Readonly<Record<string, Saved>>; // the only kind left
  throw new InvalidArgumentError('The state does not belong to an iterator of this dataset.');
}

export function savedNumber(saved: Saved | undefined): number {
  if (typeof saved === 'number') return saved;
  throw new InvalidArgumentError('The state does not belong to an iterator of this dataset.');
}

/** Elements that were saved. */
export function savedElements(saved: Saved | undefined): Element[] {
  if (!Array.isArray(saved))
    throw new InvalidArgumentError('The state does not belong to an iterator of this dataset.');
  return saved as Element[]; // written by `save` of the same iterator
}

/** Elements that wait to be given, if none of them is a failure: those cannot be saved. */
export function succeeded(waiting: readonly (Element | Failed)[]): Element[] {
  return waiting.map((element) => {
    if (element instanceof Failed) throw element.error;
    return element;
  });
}

/** An iterator over another one. What it must remember itself is its state; most have none. */
export abstract class Following implements ElementIterator {
  constructor(protected readonly input: ElementIterator) {}
  abstract next(): Pulled;
  protected state(): Saved {
    return null;
  }
  protected setState(_: Saved): void {}

  save(): Soon<Saved> {
    return savedAll({ input: this.input.save(), state: this.state() });
  }
  restore(saved: Saved): Soon<void> {
    const { input, state } = savedRecord(saved);
    this.setState(state!);
    return this.input.restore(input!);
  }
}
