/** @file `tf.savedModel.utils`. */
export { buildTensorInfo, getElementFromTensorInfo, getTensorFromTensorInfo } from '../front/savedModel/signatures.ts';
