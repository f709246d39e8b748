/** @file `tf.sets`. */
export {
  type SetsLike,
  setDifference,
  setDifference as difference,
  setIntersection,
  setIntersection as intersection,
  setSize,
  setSize as size,
  setUnion,
  setUnion as union,
} from '../ops/sparse/sets.ts';
