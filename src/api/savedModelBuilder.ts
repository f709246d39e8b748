/** @file `tf.savedModel.builder`. */
export { SavedModelBuilder } from '../front/savedModel/builder.ts';
