/** @file tf.nest: structures of values. */
export {
  assertSameStructure,
  flatten,
  isNested,
  mapStructure,
  type NestOptions,
  packSequenceAs,
} from '../front/nest.ts';
