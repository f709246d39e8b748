/** @file CombinedNonMaxSuppression: the best boxes of every class, then the best of all classes, for a batch of images. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, intVector, type NDArray } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import { demandInt, mergeDim, ofRank } from '../array/common.ts';
import { none, overlapOfBoxes, select } from './suppression.ts';

interface Found {
  readonly score: number;
  readonly kind: number;
  readonly box: readonly number[];
}

interface Rules {
  readonly perClass: number;
  readonly iou: number;
  readonly score: number;
}

/** The boxes of one image that are selected, best first. `q` is 1 where all classes share the boxes. */
async function detect(
  boxes: readonly number[],
  scores: readonly number[],
  count: number,
  q: number,
  classes: number,
  rules: Rules,
) {
  const found: Found[] = [];
  for (let kind = 0; kind < classes; kind++) {
    const at = (box: number) => (box * q + (q > 1 ? kind : 0)) * 4;
    const own = Array.from({ length: count }, (_, i) => scores[i * classes + kind]!);
    const selection = {
      most: rules.perClass,
      threshold: rules.iou,
      scoreThreshold: rules.score,
      sigma: 0,
      round: Math.fround,
    };
    const { indices } = await select(own, selection, (i, j) => overlapOfBoxes(boxes, at(i), at(j)));
    for (const i of indices) found.push({ score: own[i]!, kind, box: boxes.slice(at(i), at(i) + 4) });
  }
  return found.sort((a, b) => b.score - a.score);
}

const boxes = [[[[0, 0, 1, 1]], [[0, 0.1, 1, 1.1]], [[0, 0.5, 1, 0.6]]]]; // biome-ignore format: one image, three boxes
const scores = [[[0.9, 0.1], [0.8, 0.7], [0.2, 0.6]]]; // biome-ignore format: a row for each box
const numbers = {
  max_output_size_per_class: int32s(2),
  max_total_size: int32s(3),
  iou_threshold: 0.5,
  score_threshold: 0.3,
};

export const CombinedNonMaxSuppression = defineOp({
  name: 'CombinedNonMaxSuppression',
  inputs: {
    boxes: 'float32',
    scores: 'float32',
    max_output_size_per_class: 'int32',
    max_total_size: 'int32',
    iou_threshold: 'float32',
    score_threshold: 'float32',
  },
  outputs: { nmsed_boxes: 'float32', nmsed_scores: 'float32', nmsed_classes: 'float32', valid_detections: 'int32' },
  attrs: { pad_per_class: attr('bool', { default: false }), clip_boxes: attr('bool', { default: true }) },
  hostInputs: ['max_output_size_per_class', 'max_total_size'],
  shape(inputs, { pad_per_class }, context) {
    const [batch, count, q, corners] = ofRank(inputs.boxes, 4, 'boxes');
    const [images, scored, classes] = ofRank(inputs.scores, 3, 'scores');
    const { max_output_size_per_class, max_total_size, iou_threshold, score_threshold } = inputs;
    const scalars = { max_output_size_per_class, max_total_size, iou_threshold, score_threshold };
    for (const [port, dims] of Object.entries(scalars)) ofRank(dims, 0, port);
    mergeDim(count!, scored!, 'boxes and scores');
    if (corners !== null && corners !== 4)
      throw new InvalidArgumentError(`boxes have ${corners} numbers each; they need 4.`);
    if (q != null && classes != null && q !== 1 && q !== classes) {
      throw new InvalidArgumentError(
        'third dimension of boxes must be either 1 or equal to the third dimension of scores',
      );
    }
    const [total] = context.partial('max_total_size') ?? [null];
    const [perClass] = context.partial('max_output_size_per_class') ?? [null];
    if (total !== null && total! <= 0) throw new InvalidArgumentError('max_total_size should be > 0 ');
    const known = total != null && (!pad_per_class || (perClass != null && classes != null));
    const size = !known ? null : pad_per_class ? Math.min(total!, perClass! * classes!) : total!;
    const rows = mergeDim(batch!, images!, 'boxes and scores');
    return {
      nmsed_boxes: [rows, size, 4],
      nmsed_scores: [rows, size],
      nmsed_classes: [rows, size],
      valid_detections: [rows],
    };
  },
  grad: none,
  lower(p, inputs, { pad_per_class, clip_boxes }) {
    const { boxes, scores } = inputs;
    if (boxes.shape.length !== 4) throw new InvalidArgumentError(`boxes must be 4-D${showRuntime(boxes.shape)}`);
    if (scores.shape.length !== 3) throw new InvalidArgumentError(`scores must be 3-D${showRuntime(scores.shape)}`);
    const [batch, count, q, corners] = boxes.shape as readonly [number, number, number, number]; // of rank 4
    const classes = scores.shape[2]!;
    if (q !== 1 && q !== classes)
      throw new InvalidArgumentError('third dimension of boxes must be either 1 or num classes');
    if (corners !== 4) throw new InvalidArgumentError('boxes must have 4 columns');
    if (scores.shape[1] !== count) throw new InvalidArgumentError('scores has incompatible shape');
    const perClass = demandInt(p, inputs.max_output_size_per_class);
    const total = demandInt(p, inputs.max_total_size);
    if (perClass <= 0) throw new InvalidArgumentError('max_size_per_class must be positive');
    if (total <= 0) throw new InvalidArgumentError('max_total_size must be > 0');
    const most = Math.min(perClass, count);
    if (most * classes > 0x7fffffff) throw new InvalidArgumentError('size_per_class * num_classes causes overflow');
    const size = pad_per_class ? Math.min(total, perClass * classes) : total;
    const float = (...shape: number[]) => ({ dtype: d.float32, shape });
    const results = [float(batch, size, 4), float(batch, size), float(batch, size), { dtype: d.int32, shape: [batch] }];
    const given = [boxes, scores, inputs.iou_threshold, inputs.score_threshold];
    const outputs = p.host(given, results, async (arrays) => {
      const [corners, points, iou, score] = arrays as [NDArray, NDArray, NDArray, NDArray]; // one for each of `given`
      const threshold = iou.numberAt(0);
      if (!(threshold >= 0 && threshold <= 1)) throw new InvalidArgumentError('iou_threshold must be in [0, 1]');
      const flat = corners.numbers();
      const values = points.numbers();
      const [allBoxes, allScores, allKinds, valid] = [[], [], [], []] as [number[], number[], number[], number[]]; // filled below
      for (let b = 0; b < batch; b++) {
        const own = flat.slice(b * count * q * 4, (b + 1) * count * q * 4);
        const ownScores = values.slice(b * count * classes, (b + 1) * count * classes);
        const rules = { perClass: most, iou: threshold, score: score.numberAt(0) };
        const best = (await detect(own, ownScores, count, q, classes, rules)).slice(0, size);
        valid.push(best.length);
        for (let i = 0; i < size; i++) {
          const found = best[i];
          const edges = found?.box ?? [0, 0, 0, 0];
          allBoxes.push(...(clip_boxes ? edges.map((x) => Math.max(Math.min(x, 1), 0)) : edges));
          allScores.push(found?.score ?? 0);
          allKinds.push(found?.kind ?? 0);
        }
      }
      return [
        fromElements(d.float32, [batch, size, 4], allBoxes),
        fromElements(d.float32, [batch, size], allScores),
        fromElements(d.float32, [batch, size], allKinds),
        intVector(valid),
      ];
    });
    return {
      nmsed_boxes: outputs[0]!,
      nmsed_scores: outputs[1]!,
      nmsed_classes: outputs[2]!,
      valid_detections: outputs[3]!,
    };
  },
  cases: () => [
    { shape: '[1, 3, 1, 4], [1, 3, 2], [], [], [], [] -> [1, ?, 4], [1, ?], [1, ?], [1]' },
    { shape: '[1, 3, 3, 4], [1, 3, 2], [], [], [], []', rejects: /third dimension of boxes/ },
    {
      given: { boxes, scores, ...numbers },
      expect: {
        nmsed_boxes: [[[0, 0, 1, 1], [0, 0.1, 1, 1], [0, 0.5, 1, 0.6]]], // biome-ignore format: a row for each box
        nmsed_scores: [[0.9, 0.7, 0.6]],
        nmsed_classes: [[0, 1, 1]],
        valid_detections: int32s([3]),
      },
    },
    {
      given: { boxes, scores, ...numbers, max_total_size: int32s(9) },
      attrs: { pad_per_class: true, clip_boxes: false },
      expect: {
        nmsed_boxes: [[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 0.5, 1, 0.6], [0, 0, 0, 0]]], // biome-ignore format: as above
        nmsed_scores: [[0.9, 0.7, 0.6, 0]],
        nmsed_classes: [[0, 1, 1, 0]],
        valid_detections: int32s([3]),
      },
    },
  ],
});
