/** @file FetchPlans: what a session prepared for fetches that it has seen, found again by what is in them. */
import { Operation } from '../graph/operation.ts';
import { Tensor } from '../graph/tensor.ts';
import type { FetchPlan } from './fetches.ts';

/** The parts of a fetch that decide its plan: keys of a record, and elements that cannot change. */
interface Parts {
  readonly keys: readonly string[] | undefined;
  readonly elements: readonly unknown[];
}

interface Entry<T> extends Parts {
  readonly plan: T;
}

/** How many fetches are remembered; a loop uses a handful. */
const most = 64;

/** Plans of single elements, and of lists and records of them: these are made anew for most runs, but hold the same. */
export class FetchPlans<T extends { readonly plan: FetchPlan }> {
  private readonly byFirst = new Map<unknown, Entry<T>[]>();
  private size = 0;

  find(fetch: unknown): T | undefined {
    const parts = partsOf(fetch);
    return parts && this.byFirst.get(parts.elements[0])?.find((entry) => isSame(entry, parts))?.plan;
  }

  remember(fetch: unknown, plan: T): void {
    const parts = partsOf(fetch);
    if (!parts) return;
    if (this.size >= most) this.clear();
    const entries = this.byFirst.get(parts.elements[0]) ?? [];
    this.byFirst.set(parts.elements[0], entries);
    entries.push({ keys: parts.keys, elements: [...parts.elements], plan });
    this.size++;
  }

  values(): T[] {
    return [...this.byFirst.values()].flatMap((entries) => entries.map(({ plan }) => plan));
  }

  clear(): void {
    this.byFirst.clear();
    this.size = 0;
  }
}

/** A list of one element is told from the element itself by its keys, which are those of lists. */
const listKeys: readonly string[] = [];

function partsOf(fetch: unknown): Parts | undefined {
  if (isFixed(fetch)) return { keys: undefined, elements: [fetch] };
  if (typeof fetch !== 'object' || fetch === null) return undefined;
  const elements: readonly unknown[] = Array.isArray(fetch) ? fetch : Object.values(fetch);
  if (elements.length === 0 || !elements.every(isFixed)) return undefined;
  return { keys: Array.isArray(fetch) ? listKeys : Object.keys(fetch), elements };
}

/** Names, and tensors, operations and variables, which belong to one graph for ever. */
function isFixed(x: unknown): boolean {
  if (typeof x === 'string' || x instanceof Tensor || x instanceof Operation) return true;
  return typeof x === 'object' && x !== null && 'graph' in x && 'asGraphElement' in x;
}

function isSame(a: Parts, b: Parts): boolean {
  return isSameList(a.elements, b.elements) && (a.keys === b.keys || isSameRecord(a.keys, b.keys));
}

function isSameRecord(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  const areRecords = a !== undefined && b !== undefined && a !== listKeys && b !== listKeys;
  return areRecords && isSameList(a, b);
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
