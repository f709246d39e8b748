/** @file Public functions of the random ops; importing it loads their definitions. */
export {
  type NormalOptions,
  type RandomOptions,
  randomNormal,
  randomUniform,
  truncatedNormal,
  type UniformOptions,
} from './distributions.ts';
export { type GammaOptions, randomGamma } from './gamma.ts';
export { type MultinomialOptions, multinomial } from './multinomial.ts';
export { randomPoisson } from './poisson.ts';
export { getSeed, setRandomSeed } from './seed.ts';
export { randomCrop, randomShuffle } from './shuffle.ts';

import './indexShuffle.ts';
import './stateless.ts';
import './statelessFullInt.ts';
