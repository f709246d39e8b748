/** @file Connectionist temporal classification: the loss of label sequences without alignment, and decoding by beam search. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { yieldIfLong } from '../../core/eventLoop.ts';

const { NEGATIVE_INFINITY: logZero } = Number;

/** log(e^x + e^y). */
function logAdd(x: number, y: number): number {
  if (x === logZero) return y;
  if (y === logZero) return x;
  return x > y ? x + Math.log1p(Math.exp(y - x)) : y + Math.log1p(Math.exp(x - y));
}

export interface CtcForm {
  /** The class that stands for "no label". */
  readonly blank: number;
  readonly classes: number;
  /** Repeated labels are one before anything else happens. */
  readonly collapseRepeated: boolean;
  /** Repeated labels without a blank between them are one. */
  readonly mergeRepeated: boolean;
  /** Sequences with more labels than steps have loss 0 instead of being refused. */
  readonly ignoreLonger: boolean;
}

/** The labels of one example with blanks around each; refuses labels that make no sense. */
export function withBlanks(labels: readonly number[], steps: number, form: CtcForm, example: number): number[] {
  const { blank, classes, collapseRepeated, ignoreLonger } = form;
  if (labels.length === 0) throw new InvalidArgumentError(`Labels length is zero in batch ${example}`);
  // With the blank in front, every class after it is a label; with the blank last, what is not below it ends the sequence.
  const end = blank === 0 ? classes : classes - 1;
  const kept: number[] = [];
  let ended = false;
  for (const [i, label] of labels.entries()) {
    if (i > 0 && collapseRepeated && label === labels[i - 1]) continue;
    if (label >= end) ended = true;
    else if (ended)
      throw new InvalidArgumentError(
        `Saw a non-null label (index >= num_classes - 1) following a null label, batch: ${example} num_classes: ${classes} labels: ${labels} labels seen so far: ${kept}`,
      );
    else kept.push(label);
  }
  if (kept.some((label) => label < 0))
    throw new InvalidArgumentError(`All labels must be nonnegative integers, batch: ${example} labels: ${kept}`);
  if (!ignoreLonger && labels.length > steps)
    throw new InvalidArgumentError(
      `Not enough time for target transition sequence (required: ${labels.length}, available: ${steps})${example}You can turn this error into a warning by using the flag ignore_longer_outputs_than_inputs`,
    );
  return [...kept.flatMap((label) => [blank, label]), blank];
}

/** Probabilities of the classes at every step, [steps, classes], from the logits of one example. */
function softmax(logits: (step: number, c: number) => number, steps: number, classes: number): Float64Array {
  const y = new Float64Array(steps * classes);
  for (let t = 0; t < steps; t++) {
    let largest = logZero;
    for (let c = 0; c < classes; c++) largest = Math.max(largest, logits(t, c));
    let sum = 0;
    for (let c = 0; c < classes; c++) sum += y[t * classes + c] = Math.exp(logits(t, c) - largest);
    for (let c = 0; c < classes; c++) y[t * classes + c]! /= sum;
  }
  return y;
}

/** The first and the last-but-one position of `labels` that a path can be at after step `t` of `steps`. */
function reachable(t: number, steps: number, labels: number): [from: number, to: number] {
  return [Math.max(0, labels - 2 * (steps - t)), Math.min(labels, 2 * (t + 1))];
}

/** Log probabilities of all beginnings of paths that are at a label at a step (Graves' thesis, section 7.3). */
function forward(labels: readonly number[], logY: Float64Array, steps: number, form: CtcForm): Float64Array {
  const { blank, classes, mergeRepeated } = form;
  const n = labels.length;
  const alpha = new Float64Array(steps * n).fill(logZero);
  alpha[0] = logY[blank]!;
  if (n > 1) alpha[1] = logY[labels[1]!]!;
  for (let t = 1; t < steps; t++) {
    const [from, to] = reachable(t, steps, n);
    for (let u = from; u < to; u++) {
      const before = (t - 1) * n + u;
      const label = labels[u]!;
      let sum = mergeRepeated || label === blank ? alpha[before]! : logZero;
      if (u > 0) sum = logAdd(sum, alpha[before - 1]!);
      if (u > 1 && label !== blank && !(mergeRepeated && label === labels[u - 2]))
        sum = logAdd(sum, alpha[before - 2]!);
      alpha[t * n + u] = logY[t * classes + label]! + sum;
    }
  }
  return alpha;
}

/** Log probabilities of all ends of paths that were at a label at a step. */
function backward(labels: readonly number[], logY: Float64Array, steps: number, form: CtcForm): Float64Array {
  const { blank, classes, mergeRepeated } = form;
  const n = labels.length;
  const beta = new Float64Array(steps * n).fill(logZero);
  for (let u = Math.max(0, n - 2); u < n; u++) beta[(steps - 1) * n + u] = 0;
  for (let t = steps - 2; t >= 0; t--) {
    const [from, to] = reachable(t, steps, n);
    const step = (u: number) => beta[(t + 1) * n + u]! + logY[(t + 1) * classes + labels[u]!]!;
    for (let u = from; u < to; u++) {
      const label = labels[u]!;
      let sum = mergeRepeated || label === blank ? step(u) : logZero;
      if (u + 1 < n) sum = logAdd(sum, step(u + 1));
      if (u + 2 < n && label !== blank && !(mergeRepeated && label === labels[u + 2])) sum = logAdd(sum, step(u + 2));
      beta[t * n + u] = sum;
    }
  }
  return beta;
}

/** The loss of one example, and its gradient by the logits, [steps, classes]. */
export function ctcLossOf(
  labels: readonly number[],
  logits: (step: number, c: number) => number,
  steps: number,
  form: CtcForm,
): { loss: number; gradient: Float64Array } {
  const { classes } = form;
  const y = softmax(logits, steps, classes);
  const logY = y.map(Math.log);
  const [alpha, beta] = [forward(labels, logY, steps, form), backward(labels, logY, steps, form)];
  const n = labels.length;
  let total = logZero;
  for (let u = 0; u < n; u++) total = logAdd(total, alpha[u]! + beta[u]!);
  // Without any path there is nothing to take off.
  if (total === logZero) return { loss: -total, gradient: y };
  const sums = new Float64Array(classes);
  for (let t = 0; t < steps; t++) {
    sums.fill(logZero);
    for (let u = 0; u < n; u++) {
      const label = labels[u]!;
      sums[label] = logAdd(sums[label]!, alpha[t * n + u]! + beta[t * n + u]!);
    }
    for (let c = 0; c < classes; c++) y[t * classes + c]! -= Math.exp(sums[c]! - total);
  }
  return { loss: -total, gradient: y };
}

/** Log probabilities of a beam: of all its paths, of those that end in a blank, and of those that end in its last label. */
interface Probability {
  total: number;
  blank: number;
  label: number;
}
const never = (): Probability => ({ total: logZero, blank: logZero, label: logZero });
const inLabel = (total: number): Probability => ({ total, blank: logZero, label: total });

/** A sequence of labels: one more than its parent's. */
class Beam {
  before = never();
  now = never();
  readonly children = new Map<number, Beam>();
  constructor(
    readonly parent: Beam | undefined,
    readonly label: number,
  ) {}

  addChild(label: number): Beam {
    const child = new Beam(this, label);
    this.children.set(label, child);
    return child;
  }

  labels(mergeRepeated: boolean): number[] {
    const labels: number[] = [];
    let next = -1;
    for (let at: Beam = this; at.parent; at = at.parent) {
      if (!mergeRepeated || at.label !== next) labels.push(at.label);
      next = at.label;
    }
    return labels.reverse();
  }
}

/** The likeliest beams, at most `width`; the least likely is at the root of a heap. */
class Leaves {
  readonly #heap: Beam[] = [];
  constructor(private readonly width: number) {}

  get bottom(): Beam {
    return this.#heap[0]!;
  }
  get isFull(): boolean {
    return this.#heap.length >= this.width;
  }
  /** Whether a probability would find a place. */
  admits(total: number): boolean {
    return total > logZero && (!this.isFull || total > this.bottom.now.total);
  }

  push(beam: Beam): void {
    const heap = this.#heap;
    if (this.isFull) {
      if (beam.now.total <= this.bottom.now.total) return;
      heap[0] = beam;
      this.#sink();
      return;
    }
    let i = heap.push(beam) - 1;
    while (i > 0) {
      const up = (i - 1) >> 1;
      if (heap[up]!.now.total <= beam.now.total) break;
      heap[i] = heap[up]!;
      i = up;
    }
    heap[i] = beam;
  }

  #sink(): void {
    const heap = this.#heap;
    const beam = heap[0]!;
    let i = 0;
    for (;;) {
      let down = 2 * i + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && heap[down + 1]!.now.total < heap[down]!.now.total) down++;
      if (heap[down]!.now.total >= beam.now.total) break;
      heap[i] = heap[down]!;
      i = down;
    }
    heap[i] = beam;
  }

  /** Everything, the likeliest first. */
  sorted(): Beam[] {
    return [...this.#heap].sort((a, b) => b.now.total - a.now.total);
  }
}

/** The likeliest label sequences of one example, with their log probabilities. */
export async function beamSearch(
  logits: (step: number, c: number) => number,
  steps: number,
  form: { classes: number; width: number; paths: number; mergeRepeated: boolean },
): Promise<{ labels: number[]; logProbability: number }[]> {
  const { classes, width, paths, mergeRepeated } = form;
  const root = new Beam(undefined, -1);
  root.now = { total: 0, blank: 0, label: logZero };
  let leaves = new Leaves(width);
  leaves.push(root);
  const row = new Float64Array(classes);
  for (let t = 0; t < steps; t++) {
    for (let c = 0; c < classes; c++) row[c] = logits(t, c);
    leaves = step(leaves, normalized(row), width);
    const pause = yieldIfLong();
    if (pause) await pause;
  }
  if (paths > width) throw new InvalidArgumentError('requested more paths than the beam width.');
  const found = leaves.sorted();
  if (paths > found.length) throw new InvalidArgumentError('Less leaves in the beam search than requested.');
  return found.slice(0, paths).map((beam) => ({ labels: beam.labels(mergeRepeated), logProbability: beam.now.total }));
}

/** Logits as log probabilities. */
function normalized(row: Float64Array): Float64Array {
  const largest = row.reduce((a, x) => Math.max(a, x), logZero);
  const offset = largest + Math.log(row.reduce((sum, x) => sum + Math.exp(x - largest), 0));
  return row.map((x) => x - offset);
}

/** The beams after one more step, whose log probabilities are `y`. */
function step(old: Leaves, y: Float64Array, width: number): Leaves {
  const beams = old.sorted();
  const leaves = new Leaves(width);
  const blank = y.length - 1;
  for (const beam of beams) beam.before = { ...beam.now };
  for (const beam of beams) {
    const { parent, now, before, label } = beam;
    if (parent) {
      if (parent.now.total !== logZero) {
        // A label that repeats its parent's must be separated from it by a blank.
        const from = label === parent.label ? parent.before.blank : parent.before.total;
        now.label = logAdd(now.label, from);
      }
      now.label += y[label]!;
    }
    now.blank = before.total + y[blank]!;
    now.total = logAdd(now.blank, now.label);
    leaves.push(beam);
  }
  for (const beam of beams) {
    if (!leaves.admits(beam.before.total)) continue;
    for (let label = 0; label < blank; label++) {
      // Hardly any of the children find a place, so only those that do are made.
      const known = beam.children.get(label);
      if (known && known.now.total !== logZero) continue;
      const from = label === beam.label ? beam.before.blank : beam.before.total;
      const own = y[label]! + from;
      if (known) known.now = inLabel(own);
      if (leaves.admits(own)) {
        if (leaves.isFull) Object.assign(leaves.bottom.now, never());
        const child = known ?? beam.addChild(label);
        child.now = inLabel(own);
        leaves.push(child);
      } else if (known) {
        known.before = never();
        known.now = never();
      }
    }
  }
  return leaves;
}
