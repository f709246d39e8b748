/** @file `tf.savedModel.signatureDefUtils`. */
export {
  buildSignatureDef,
  classificationSignatureDef,
  isValidSignature,
  opSignatureDef,
  predictSignatureDef,
  regressionSignatureDef,
} from '../front/savedModel/signatures.ts';
