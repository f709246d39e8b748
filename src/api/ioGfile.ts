/** @file `tf.io.gfile`: files and folders under their later names. */
export {
  copy,
  deleteRecursively as rmtree,
  exists,
  glob,
  isDirectory as isdir,
  listDirectory as listdir,
  makeDirs as makedirs,
  mkDir as mkdir,
  remove,
  rename,
  stat,
  walk,
} from '../io/gfile.ts';
export { GFile } from '../io/gfileHandle.ts';
export { joinPath as join } from '../io/paths.ts';
