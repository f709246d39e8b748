/** @file The public `tf.savedModel` namespace: only re-exports. */
export {
  type AddMetaGraphOptions,
  SavedModelBuilder as Builder,
  simpleSave,
} from '../front/savedModel/builder.ts';
export * from '../front/savedModel/constants.ts';
export * as constants from '../front/savedModel/constants.ts';
export { containsSavedModel, type LoadOptions, load, maybeSavedModelDirectory } from '../front/savedModel/loader.ts';
export * as mainOp from '../front/savedModel/mainOp.ts';
export { mainOpWithRestore } from '../front/savedModel/mainOp.ts';
export * from '../front/savedModel/signatureConstants.ts';
export * as signatureConstants from '../front/savedModel/signatureConstants.ts';
export {
  buildSignatureDef,
  buildTensorInfo,
  classificationSignatureDef,
  getTensorFromTensorInfo,
  isValidSignature,
  predictSignatureDef,
  regressionSignatureDef,
} from '../front/savedModel/signatures.ts';
export * as tagConstants from '../front/savedModel/tagConstants.ts';
export { GPU, SERVING, TPU, TRAINING } from '../front/savedModel/tagConstants.ts';
export * as builder from './savedModelBuilder.ts';
export * as loader from './savedModelLoader.ts';
export * as signatureDefUtils from './savedModelSignatures.ts';
export * as utils from './savedModelUtils.ts';
