/** @file The functions that select boxes: `tf.image.nonMaxSuppression` and its kin. */
import * as d from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { CombinedNonMaxSuppression } from './combinedSuppression.ts';
import {
  NonMaxSuppressionV3,
  NonMaxSuppressionV4,
  NonMaxSuppressionV5,
  NonMaxSuppressionWithOverlaps,
} from './suppression.ts';

export interface SuppressionOptions {
  /** Boxes that have more in common with a better one are left out; 0.5 unless given. */
  readonly iouThreshold?: TensorLike | undefined;
  /** Boxes with a lower score are left out. */
  readonly scoreThreshold?: TensorLike | undefined;
  readonly name?: string | undefined;
}

function thresholds(options: SuppressionOptions) {
  const iou = convertToTensor(options.iouThreshold ?? 0.5, { name: 'iou_threshold' });
  const score = convertToTensor(options.scoreThreshold ?? -Infinity, { name: 'score_threshold' });
  return { iou_threshold: iou, score_threshold: score };
}

/**
 * The places of the best boxes, best first, without those that overlap a better one too much. Adds a `NonMaxSuppressionV3`
 * node under `non_max_suppression/`.
 *
 * @example tf.image.nonMaxSuppression([[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]], [0.8, 0.9, 0.1], 3) // runs to [1 2]
 */
export function nonMaxSuppression(
  boxes: TensorLike,
  scores: TensorLike,
  maxOutputSize: TensorLike,
  options: SuppressionOptions = {},
): Tensor {
  onlyOptions('tf.image.nonMaxSuppression', options, 'iouThreshold', 'scoreThreshold', 'name');
  return nameScope(options.name ?? 'non_max_suppression', () => {
    const inputs = { boxes, scores, max_output_size: maxOutputSize, ...thresholds(options) };
    return NonMaxSuppressionV3.build(inputs).selected_indices;
  });
}

/** As `nonMaxSuppression`, with the scores; above zero, `softNmsSigma` lowers the scores of boxes that overlap instead. */
export function nonMaxSuppressionWithScores(
  boxes: TensorLike,
  scores: TensorLike,
  maxOutputSize: TensorLike,
  options: SuppressionOptions & { readonly softNmsSigma?: TensorLike | undefined } = {},
): [selectedIndices: Tensor, selectedScores: Tensor] {
  onlyOptions(
    'tf.image.nonMaxSuppressionWithScores',
    options,
    'iouThreshold',
    'scoreThreshold',
    'softNmsSigma',
    'name',
  );
  return nameScope(options.name ?? 'non_max_suppression_with_scores', () => {
    const inputs = { boxes, scores, max_output_size: maxOutputSize, ...thresholds(options) };
    const sigma = convertToTensor(options.softNmsSigma ?? 0.0, { name: 'soft_nms_sigma', dtype: d.float32 });
    const found = NonMaxSuppressionV5.build({ ...inputs, soft_nms_sigma: sigma });
    return [found.selected_indices, found.selected_scores];
  });
}

/** As `nonMaxSuppression`, padded with zeros if asked for; the second result is how many places are no padding. */
export function nonMaxSuppressionPadded(
  boxes: TensorLike,
  scores: TensorLike,
  maxOutputSize: TensorLike,
  options: SuppressionOptions & { readonly padToMaxOutputSize?: boolean | undefined } = {},
): [selectedIndices: Tensor, validOutputs: Tensor] {
  onlyOptions(
    'tf.image.nonMaxSuppressionPadded',
    options,
    'iouThreshold',
    'scoreThreshold',
    'padToMaxOutputSize',
    'name',
  );
  return nameScope(options.name ?? 'non_max_suppression_padded', () => {
    const inputs = { boxes, scores, max_output_size: maxOutputSize, ...thresholds(options) };
    const attrs = { pad_to_max_output_size: options.padToMaxOutputSize ?? false };
    const found = NonMaxSuppressionV4.build(inputs, { attrs });
    return [found.selected_indices, found.valid_outputs];
  });
}

/** As `nonMaxSuppression`, with overlaps of boxes given as a matrix. Adds a `NonMaxSuppressionWithOverlaps` node. */
export function nonMaxSuppressionOverlaps(
  overlaps: TensorLike,
  scores: TensorLike,
  maxOutputSize: TensorLike,
  options: {
    readonly overlapThreshold?: TensorLike | undefined;
    readonly scoreThreshold?: TensorLike | undefined;
    readonly name?: string | undefined;
  } = {},
): Tensor {
  onlyOptions('tf.image.nonMaxSuppressionOverlaps', options, 'overlapThreshold', 'scoreThreshold', 'name');
  return nameScope(options.name ?? 'non_max_suppression_overlaps', () => {
    const overlap = convertToTensor(options.overlapThreshold ?? 0.5, { name: 'overlap_threshold' });
    const inputs = { overlaps, scores, max_output_size: maxOutputSize, overlap_threshold: overlap };
    const score = options.scoreThreshold ?? -Infinity;
    return NonMaxSuppressionWithOverlaps.build({ ...inputs, score_threshold: score }).selected_indices;
  });
}

/** What `combinedNonMaxSuppression` gives for every image of a batch. */
export interface Detections {
  readonly nmsedBoxes: Tensor;
  readonly nmsedScores: Tensor;
  readonly nmsedClasses: Tensor;
  readonly validDetections: Tensor;
}

/** The best boxes of all classes for every image of a batch. Adds a `CombinedNonMaxSuppression` node. */
export function combinedNonMaxSuppression(
  boxes: TensorLike,
  scores: TensorLike,
  maxOutputSizePerClass: TensorLike,
  maxTotalSize: TensorLike,
  options: SuppressionOptions & {
    readonly padPerClass?: boolean | undefined;
    readonly clipBoxes?: boolean | undefined;
  } = {},
): Detections {
  const names = ['iouThreshold', 'scoreThreshold', 'padPerClass', 'clipBoxes', 'name'] as const;
  onlyOptions('tf.image.combinedNonMaxSuppression', options, ...names);
  return nameScope(options.name ?? 'combined_non_max_suppression', () => {
    const iou = convertToTensor(options.iouThreshold ?? 0.5, { name: 'iou_threshold', dtype: d.float32 });
    const score = convertToTensor(options.scoreThreshold ?? -Infinity, { name: 'score_threshold', dtype: d.float32 });
    const total = convertToTensor(maxTotalSize);
    const inputs = { boxes, scores, max_output_size_per_class: maxOutputSizePerClass, max_total_size: total };
    const attrs = { pad_per_class: options.padPerClass ?? false, clip_boxes: options.clipBoxes ?? true };
    const found = CombinedNonMaxSuppression.build({ ...inputs, iou_threshold: iou, score_threshold: score }, { attrs });
    return {
      nmsedBoxes: found.nmsed_boxes,
      nmsedScores: found.nmsed_scores,
      nmsedClasses: found.nmsed_classes,
      validDetections: found.valid_detections,
    };
  });
}
