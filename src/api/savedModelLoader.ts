/** @file `tf.savedModel.loader`. */
export { load, maybeSavedModelDirectory, parseSavedModel } from '../front/savedModel/loader.ts';
