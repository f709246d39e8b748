/** @file `tf.savedModel.loader`. */
export { load, maybeSavedModelDirectory } from '../front/savedModel/loader.ts';
