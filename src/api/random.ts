/** @file `tf.random`. */
export {
  allCandidateSampler,
  fixedUnigramCandidateSampler,
  learnedUnigramCandidateSampler,
  logUniformCandidateSampler,
  uniformCandidateSampler,
} from '../ops/nn/candidateSampling.ts';
export {
  getSeed,
  multinomial,
  randomGamma as gamma,
  randomNormal as normal,
  randomPoisson as poisson,
  randomShuffle as shuffle,
  randomUniform as uniform,
  setRandomSeed,
  truncatedNormal,
} from '../ops/random/index.ts';
export { categorical } from '../ops/random/multinomial.ts';
export {
  statelessCategorical,
  statelessMultinomial,
  statelessNormal,
  statelessTruncatedNormal,
  statelessUniform,
} from '../ops/random/stateless.ts';
