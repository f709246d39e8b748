/** @file NonMaxSuppression: the boxes with the best scores, without those that overlap a better one too much. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns, yieldIfLong } from '../../core/eventLoop.ts';
import { fromElements, intVector, type NDArray, scalar } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { mergeDim, ofRank } from '../array/common.ts';

export const none = gradientPending('TensorFlow has none');
const halfOrFloat = attr('type', { allowed: [d.float16, d.float32], default: d.float32 });

/** How much two boxes, given by two opposite corners each, have in common: common area by the area of both. */
export function overlapOfBoxes(boxes: ArrayLike<number>, i: number, j: number): number {
  const f = Math.fround;
  const top1 = Math.min(boxes[i]!, boxes[i + 2]!);
  const left1 = Math.min(boxes[i + 1]!, boxes[i + 3]!);
  const bottom1 = Math.max(boxes[i]!, boxes[i + 2]!);
  const right1 = Math.max(boxes[i + 1]!, boxes[i + 3]!);
  const top2 = Math.min(boxes[j]!, boxes[j + 2]!);
  const left2 = Math.min(boxes[j + 1]!, boxes[j + 3]!);
  const bottom2 = Math.max(boxes[j]!, boxes[j + 2]!);
  const right2 = Math.max(boxes[j + 1]!, boxes[j + 3]!);
  const area1 = f(f(bottom1 - top1) * f(right1 - left1));
  const area2 = f(f(bottom2 - top2) * f(right2 - left2));
  if (area1 <= 0 || area2 <= 0) return 0;
  const height = Math.max(f(Math.min(bottom1, bottom2) - Math.max(top1, top2)), 0);
  const width = Math.max(f(Math.min(right1, right2) - Math.max(left1, left2)), 0);
  const common = f(height * width);
  return f(common / f(f(area1 + area2) - common));
}

interface Rules {
  readonly most: number;
  readonly threshold: number;
  readonly scoreThreshold: number;
  /** Above zero, boxes that overlap lose score instead of being left out. */
  readonly sigma: number;
  /** Rounds to the type of the scores. */
  round(x: number): number;
}

interface Candidate {
  readonly index: number;
  score: number;
  /** Selected boxes before this one have been compared already. */
  compared: number;
}

/** A heap whose first element is the best candidate: the highest score, and the lower index where scores are equal. */
class Candidates {
  private readonly heap: Candidate[] = [];

  private isBefore(a: Candidate, b: Candidate): boolean {
    return a.score > b.score || (a.score === b.score && a.index < b.index);
  }

  push(candidate: Candidate): void {
    const { heap } = this;
    let i = heap.push(candidate) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!this.isBefore(heap[i]!, heap[parent]!)) break;
      [heap[i], heap[parent]] = [heap[parent]!, heap[i]!];
      i = parent;
    }
  }

  pop(): Candidate | undefined {
    const { heap } = this;
    const best = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || !last) return best;
    heap[0] = last;
    for (let i = 0; ; ) {
      let first = i;
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < heap.length && this.isBefore(heap[child]!, heap[first]!)) first = child;
      }
      if (first === i) return best;
      [heap[i], heap[first]] = [heap[first]!, heap[i]!];
      i = first;
    }
  }
}

/** Indices and scores of the selected boxes, best first. */
export async function select(
  scores: ArrayLike<number>,
  rules: Rules,
  similarity: (i: number, j: number) => number,
): Promise<{ indices: number[]; scores: number[] }> {
  const { round, threshold, scoreThreshold } = rules;
  const candidates = new Candidates();
  await eachInTurns(scores.length, (i) => {
    if (scores[i]! > scoreThreshold) candidates.push({ index: i, score: scores[i]!, compared: 0 });
  });
  const isSoft = rules.sigma > 0;
  const scale = isSoft ? round(-0.5 / rules.sigma) : 0;
  const indices: number[] = [];
  const selected: number[] = [];
  while (indices.length < rules.most) {
    const next = candidates.pop();
    if (!next) break;
    const pause = yieldIfLong();
    if (pause) await pause;
    const original = next.score;
    let isLeftOut = false;
    for (let j = indices.length - 1; j >= next.compared; j--) {
      const alike = round(similarity(next.index, indices[j]!));
      if (isSoft || alike <= threshold)
        next.score = round(next.score * round(Math.exp(round(round(scale * alike) * alike))));
      else next.score = 0;
      if (!isSoft && alike > threshold) {
        isLeftOut = true;
        break;
      }
      if (next.score <= scoreThreshold) break;
    }
    next.compared = indices.length;
    if (isLeftOut) continue;
    if (next.score === original) {
      indices.push(next.index);
      selected.push(next.score);
    } else if (next.score > scoreThreshold) candidates.push(next);
  }
  return { indices, scores: selected };
}

function checkBoxes(boxes: Shape, scores: Shape): void {
  const rank = (shape: Shape, n: number, what: string) => {
    if (shape.length !== n) {
      const but = `(Shape must be rank ${n} but is rank ${shape.length})`;
      throw new InvalidArgumentError(`${what} must be ${n}-D${showRuntime(shape)} ${but}`);
    }
  };
  rank(boxes, 2, 'boxes');
  if (boxes[1] !== 4) {
    throw new InvalidArgumentError(`boxes must have 4 columns (Dimension must be 4 but is ${boxes[1]})`);
  }
  rank(scores, 1, 'scores');
  if (scores[0] !== boxes[0]) {
    throw new InvalidArgumentError(
      `scores has incompatible shape (Dimensions must be equal, but are ${boxes[0]} and ${scores[0]})`,
    );
  }
}

function checkThresholds(iou: number, most: number): void {
  if (!(iou >= 0 && iou <= 1)) throw new InvalidArgumentError('iou_threshold must be in [0, 1]');
  if (most < 0) throw new InvalidArgumentError('output size must be non-negative');
}

/** The static shape of what is selected from boxes with scores. */
function boxShapes(boxes: Dims, scores: Dims, ...scalars: readonly (readonly [string, Dims])[]): void {
  const [count, corners] = ofRank(boxes, 2, 'boxes');
  const [scored] = ofRank(scores, 1, 'scores');
  for (const [port, dims] of scalars) ofRank(dims, 0, port);
  mergeDim(count!, scored!, 'boxes and scores');
  if (corners !== null && corners !== 4) {
    throw new InvalidArgumentError(`boxes have ${corners} numbers each: Dimension must be 4 but is ${corners}`);
  }
}

interface Inputs {
  readonly boxes: Value;
  readonly scores: Value;
  readonly most: Value;
  readonly iou: Value | number;
  readonly score?: Value;
  readonly sigma?: Value;
}

/** Runs the selection on the host; gives indices, scores and how many there are, padded to the most if asked for. */
function lowerSelection(p: ProgramBuilder, inputs: Inputs, pad: boolean, shape: Shape | undefined) {
  const { boxes, scores, most, iou, score, sigma } = inputs;
  checkBoxes(boxes.shape, scores.shape);
  for (const [
    what,
    value,
  ] of [['max_output_size', most], ['iou_threshold', iou], ['score_threshold', score], ['soft_nms_sigma', sigma]] as const) // biome-ignore format: pairs
    if (typeof value === 'object' && value.shape.length > 0) {
      throw new InvalidArgumentError(
        `${what} must be 0-D, got shape ${showRuntime(value.shape)} (Shape must be rank 0 but is rank ${value.shape.length})`,
      );
    }
  const given = [boxes, scores, most, ...[iou, score, sigma].filter((value) => typeof value === 'object')];
  const known = shape && { shape };
  const results = [
    { dtype: d.int32, ...known },
    { dtype: scores.dtype, ...known },
    { dtype: d.int32, shape: [] },
  ];
  const round = scores.dtype === d.float16 ? (x: number) => toHalf(x) : Math.fround;
  return p.host(given, results, async (arrays) => {
    const [corners, points, count, ...rest] = arrays as [NDArray, NDArray, NDArray, ...NDArray[]]; // one for each of `given`
    const next = (value: Value | number | undefined, fallback: number) =>
      typeof value === 'object' ? rest.shift()!.numberAt(0) : (value ?? fallback);
    const threshold = next(iou, 0.5);
    const rules: Rules = {
      most: count.numberAt(0),
      threshold,
      scoreThreshold: next(score, -Infinity),
      sigma: next(sigma, 0),
      round,
    };
    checkThresholds(threshold, rules.most);
    const flat = corners.numbers();
    const found = await select(points.numbers(), rules, (i, j) => overlapOfBoxes(flat, 4 * i, 4 * j));
    const valid = found.indices.length;
    if (pad) {
      while (found.indices.length < rules.most) {
        found.indices.push(0);
        found.scores.push(0);
      }
    }
    const size = found.indices.length;
    return [intVector(found.indices), fromElements(scores.dtype, [size], found.scores), scalar(d.int32, valid)];
  });
}

/** A number as float16 holds it. */
function toHalf(x: number): number {
  return fromElements(d.float16, [], [x]).numberAt(0);
}

const three = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]; // biome-ignore format: rows
const scored = [0.9, 0.75, 0.6, 0.95, 0.5, 0.3];
const boxesAndScores = { boxes: three, scores: scored, max_output_size: int32s(3) };

export const NonMaxSuppression = defineOp({
  name: 'NonMaxSuppression',
  inputs: { boxes: 'float32', scores: 'float32', max_output_size: 'int32' },
  outputs: { selected_indices: 'int32' },
  attrs: { iou_threshold: attr('float', { default: 0.5 }) },
  shape({ boxes, scores, max_output_size }) {
    boxShapes(boxes, scores, ['max_output_size', max_output_size]);
    return { selected_indices: [null] };
  },
  grad: none,
  lower(p, { boxes, scores, max_output_size }, { iou_threshold }) {
    const inputs = { boxes, scores, most: max_output_size, iou: iou_threshold };
    return { selected_indices: lowerSelection(p, inputs, false, undefined)[0]! };
  },
  cases: () => [
    { shape: '[?, 4], [6], [] -> [?]' },
    { shape: '[6, 4], [5], []', rejects: /boxes and scores/ },
    { shape: '[6, 3], [6], []', rejects: /must be 4 but is 3/ },
    { given: boxesAndScores, expect: { selected_indices: int32s([3, 0, 5]) } },
    { given: boxesAndScores, attrs: { iou_threshold: 0.9 }, expect: { selected_indices: int32s([3, 0, 1]) } },
    { given: boxesAndScores, attrs: { iou_threshold: 1.5 }, fails: /iou_threshold must be in \[0, 1\]/ },
    { given: { ...boxesAndScores, max_output_size: int32s(-1) }, fails: /output size must be non-negative/ },
  ],
});

export const NonMaxSuppressionV2 = defineOp({
  name: 'NonMaxSuppressionV2',
  inputs: { boxes: 'T', scores: 'T', max_output_size: 'int32', iou_threshold: 'T_threshold' },
  outputs: { selected_indices: 'int32' },
  attrs: { T: halfOrFloat, T_threshold: halfOrFloat },
  shape({ boxes, scores, max_output_size, iou_threshold }) {
    boxShapes(boxes, scores, ['max_output_size', max_output_size], ['iou_threshold', iou_threshold]);
    return { selected_indices: [null] };
  },
  grad: none,
  lower(p, { boxes, scores, max_output_size, iou_threshold }) {
    const inputs = { boxes, scores, most: max_output_size, iou: iou_threshold };
    return { selected_indices: lowerSelection(p, inputs, false, undefined)[0]! };
  },
  cases: () => [
    { shape: '[?, 4], [6], [], [] -> [?]' },
    { given: { ...boxesAndScores, iou_threshold: 0.5 }, expect: { selected_indices: int32s([3, 0, 5]) } },
    { given: { ...boxesAndScores, iou_threshold: 0 }, expect: { selected_indices: int32s([3, 0, 5]) } },
  ],
});

export const NonMaxSuppressionV3 = defineOp({
  name: 'NonMaxSuppressionV3',
  inputs: {
    boxes: 'T',
    scores: 'T',
    max_output_size: 'int32',
    iou_threshold: 'T_threshold',
    score_threshold: 'T_threshold',
  },
  outputs: { selected_indices: 'int32' },
  attrs: { T: halfOrFloat, T_threshold: halfOrFloat },
  shape({ boxes, scores, max_output_size, iou_threshold, score_threshold }) {
    const scalars = [['max_output_size', max_output_size], ['iou_threshold', iou_threshold], ['score_threshold', score_threshold]] as const; // biome-ignore format: pairs
    boxShapes(boxes, scores, ...scalars);
    return { selected_indices: [null] };
  },
  grad: none,
  lower(p, { boxes, scores, max_output_size, iou_threshold, score_threshold }) {
    const inputs = { boxes, scores, most: max_output_size, iou: iou_threshold, score: score_threshold };
    return { selected_indices: lowerSelection(p, inputs, false, undefined)[0]! };
  },
  cases: () => [
    { shape: '[?, 4], [6], [], [], [] -> [?]' },
    {
      given: { ...boxesAndScores, iou_threshold: 0.5, score_threshold: 0.4 },
      expect: { selected_indices: int32s([3, 0]) },
    },
  ],
});

export const NonMaxSuppressionV4 = defineOp({
  name: 'NonMaxSuppressionV4',
  inputs: {
    boxes: 'T',
    scores: 'T',
    max_output_size: 'int32',
    iou_threshold: 'T_threshold',
    score_threshold: 'T_threshold',
  },
  outputs: { selected_indices: 'int32', valid_outputs: 'int32' },
  attrs: { T: halfOrFloat, T_threshold: halfOrFloat, pad_to_max_output_size: attr('bool', { default: false }) },
  hostInputs: ['max_output_size'],
  shape({ boxes, scores, max_output_size, iou_threshold, score_threshold }, { pad_to_max_output_size }, context) {
    const scalars = [['max_output_size', max_output_size], ['iou_threshold', iou_threshold], ['score_threshold', score_threshold]] as const; // biome-ignore format: pairs
    boxShapes(boxes, scores, ...scalars);
    const most = pad_to_max_output_size ? (context.partial('max_output_size')?.[0] ?? null) : null;
    return { selected_indices: [most], valid_outputs: [] };
  },
  grad: none,
  lower(p, { boxes, scores, max_output_size, iou_threshold, score_threshold }, { pad_to_max_output_size: pad }) {
    const inputs = { boxes, scores, most: max_output_size, iou: iou_threshold, score: score_threshold };
    const [selected_indices, , valid_outputs] = lowerSelection(p, inputs, pad, undefined);
    return { selected_indices: selected_indices!, valid_outputs: valid_outputs! };
  },
  cases: () => [
    { shape: '[?, 4], [6], [], [], [] -> [?], []' },
    {
      shape: '[?, 4], [6], [], [], [] -> [3], []',
      attrs: { pad_to_max_output_size: true },
      given: { max_output_size: int32s(3) },
    },
    {
      given: { ...boxesAndScores, iou_threshold: 0.5, score_threshold: 0.4 },
      attrs: { pad_to_max_output_size: true },
      expect: { selected_indices: int32s([3, 0, 0]), valid_outputs: int32s(2) },
    },
  ],
});

export const NonMaxSuppressionV5 = defineOp({
  name: 'NonMaxSuppressionV5',
  inputs: {
    boxes: 'T',
    scores: 'T',
    max_output_size: 'int32',
    iou_threshold: 'T',
    score_threshold: 'T',
    soft_nms_sigma: 'T',
  },
  outputs: { selected_indices: 'int32', selected_scores: 'T', valid_outputs: 'int32' },
  attrs: { T: halfOrFloat, pad_to_max_output_size: attr('bool', { default: false }) },
  shape(
    { boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma },
    { pad_to_max_output_size },
    context,
  ) {
    const thresholds = [['iou_threshold', iou_threshold], ['score_threshold', score_threshold], ['soft_nms_sigma', soft_nms_sigma]] as const; // biome-ignore format: pairs
    boxShapes(boxes, scores, ['max_output_size', max_output_size], ...thresholds);
    const most = pad_to_max_output_size ? (context.partial('max_output_size')?.[0] ?? null) : null;
    return { selected_indices: [most], selected_scores: [most], valid_outputs: [] };
  },
  grad: none,
  lower(
    p,
    { boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma },
    { pad_to_max_output_size: pad },
  ) {
    const thresholds = { iou: iou_threshold, score: score_threshold, sigma: soft_nms_sigma };
    const found = lowerSelection(p, { boxes, scores, most: max_output_size, ...thresholds }, pad, undefined);
    return { selected_indices: found[0]!, selected_scores: found[1]!, valid_outputs: found[2]! };
  },
  cases: () => [
    { shape: '[?, 4], [6], [], [], [], [] -> [?], [?], []' },
    {
      given: {
        ...boxesAndScores,
        max_output_size: int32s(6),
        iou_threshold: 0.5,
        score_threshold: 0,
        soft_nms_sigma: 0.5,
      },
      expect: {
        selected_indices: int32s([3, 0, 1, 5, 4, 2]),
        selected_scores: [0.95, 0.9, 0.384, 0.3, 0.256, 0.197],
        valid_outputs: int32s(6),
      },
      tolerance: 3e-3, // the expected scores are those of TensorFlow's own test, which has three digits
    },
    {
      given: { ...boxesAndScores, iou_threshold: 0.5, score_threshold: 0, soft_nms_sigma: 0 },
      expect: { selected_indices: int32s([3, 0, 5]), selected_scores: [0.95, 0.9, 0.3], valid_outputs: int32s(3) },
    },
  ],
});

export const NonMaxSuppressionWithOverlaps = defineOp({
  name: 'NonMaxSuppressionWithOverlaps',
  inputs: {
    overlaps: 'float32',
    scores: 'float32',
    max_output_size: 'int32',
    overlap_threshold: 'float32',
    score_threshold: 'float32',
  },
  outputs: { selected_indices: 'int32' },
  attrs: {},
  shape({ overlaps, scores, max_output_size, overlap_threshold, score_threshold }) {
    const [rows, columns] = ofRank(overlaps, 2, 'overlaps');
    const [count] = ofRank(scores, 1, 'scores');
    for (const [port, dims] of Object.entries({ max_output_size, overlap_threshold, score_threshold }))
      ofRank(dims, 0, port);
    mergeDim(mergeDim(rows!, count!, 'overlaps and scores'), columns!, 'rows and columns of overlaps');
    return { selected_indices: [null] };
  },
  grad: none,
  lower(p, { overlaps, scores, max_output_size, overlap_threshold, score_threshold }) {
    const { shape } = overlaps;
    if (shape.length !== 2) throw new InvalidArgumentError(`overlaps must be 2-D${showRuntime(shape)}`);
    if (shape[0] !== shape[1]) throw new InvalidArgumentError(`overlaps must be square${showRuntime(shape)}`);
    checkBoxes([shape[0]!, 4], scores.shape);
    const given = [overlaps, scores, max_output_size, overlap_threshold, score_threshold];
    const [selected_indices] = p.host(given, [{ dtype: d.int32 }], async (arrays) => {
      const [matrix, points, count, overlap, score] = arrays as [NDArray, NDArray, NDArray, NDArray, NDArray]; // one for each of `given`
      const most = count.numberAt(0);
      if (most < 0) throw new InvalidArgumentError('output size must be non-negative');
      const thresholds = { threshold: overlap.numberAt(0), scoreThreshold: score.numberAt(0) };
      const rules = { most, ...thresholds, sigma: 0, round: Math.fround };
      const width = shape[1]!;
      const found = await select(points.numbers(), rules, (i, j) => matrix.numberAt(i * width + j));
      return [intVector(found.indices)];
    });
    return { selected_indices: selected_indices! };
  },
  cases: () => [
    { shape: '[?, 3], [3], [], [], [] -> [?]' },
    { shape: '[2, 3], [?], [], [], []', rejects: /overlaps/ },
    {
      given: {
        overlaps: [[1, 0.6, 0.1], [0.6, 1, 0.7], [0.1, 0.7, 1]], // biome-ignore format: a matrix
        scores: [0.7, 0.9, 0.8],
        max_output_size: int32s(3),
        overlap_threshold: 0.65,
        score_threshold: 0,
      },
      expect: { selected_indices: int32s([1, 0]) },
    },
  ],
});
