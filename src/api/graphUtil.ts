/** @file The public `tf.graphUtil` namespace: only re-exports. */
export { convertVariablesToConstants, type FreezeOptions } from '../front/saving/freeze.ts';
export {
  extractSubGraph,
  mustRunOnCpu,
  removeTrainingNodes,
  tensorShapeFromNodeDefName,
} from '../front/saving/graphUtil.ts';
export { importGraphDef } from '../op/importGraphDef.ts';
