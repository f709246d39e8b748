/** @file `tf.random`. */
export {
  getSeed,
  multinomial,
  multinomial as categorical,
  randomGamma as gamma,
  randomNormal as normal,
  randomShuffle as shuffle,
  randomUniform as uniform,
  setRandomSeed,
  truncatedNormal,
} from '../ops/random/index.ts';
