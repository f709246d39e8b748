/** @file `tf.metrics`: values that accumulate over batches in local variables. */
export { meanIou, meanPerClassAccuracy } from './classes.ts';
export type { Metric, MetricOptions } from './common.ts';
export { falseNegatives, falsePositives, precision, recall, trueNegatives, truePositives } from './counts.ts';
export {
  accuracy,
  mean,
  meanAbsoluteError,
  meanCosineDistance,
  meanRelativeError,
  meanSquaredError,
  meanTensor,
  percentageBelow,
  rootMeanSquaredError,
} from './mean.ts';
export {
  type AucOptions,
  auc,
  type CurveOptions,
  falseNegativesAtThresholds,
  falsePositivesAtThresholds,
  precisionAtThresholds,
  recallAtThresholds,
  sensitivityAtSpecificity,
  specificityAtSensitivity,
  trueNegativesAtThresholds,
  truePositivesAtThresholds,
} from './thresholds.ts';
export {
  averagePrecisionAtK,
  precisionAtK,
  precisionAtTopK,
  recallAtK,
  recallAtTopK,
  sparseAveragePrecisionAtK,
  sparsePrecisionAtK,
  type TopKOptions,
} from './topK.ts';
