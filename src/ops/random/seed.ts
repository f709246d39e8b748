/** @file Seeds: how the graph's seed and an op's seed become the two attributes of a random op. */
import { getDefaultGraph } from '../../graph/graph.ts';
import { philoxState } from '../../program/philoxState.ts';

/** What stands in for a graph seed when only the op has one; TensorFlow's number. */
const defaultGraphSeed = 87654321;
/** Seeds are taken modulo the largest int32. */
const modulus = 2 ** 31 - 1;

const truncate = (seed: number) => ((seed % modulus) + modulus) % modulus;

/** The attributes of a random op. (0, 0) stands for "no seed". */
export interface Seeds {
  readonly seed: number;
  readonly seed2: number;
}

/**
 * The seeds of an op made now, from the graph's seed and the op's own. With a graph seed alone, every op gets the next
 * number of a counter, so that ops differ and programs repeat.
 */
export function getSeed(opSeed?: number | null): Seeds {
  const graph = getDefaultGraph();
  let seeds: Seeds;
  if (graph.seed !== undefined) seeds = { seed: truncate(graph.seed), seed2: truncate(opSeed ?? graph.seedsDrawn++) };
  else if (opSeed != null) seeds = { seed: defaultGraphSeed, seed2: truncate(opSeed) };
  else return { seed: 0, seed2: 0 };
  return seeds.seed === 0 && seeds.seed2 === 0 ? { seed: 0, seed2: modulus } : seeds;
}

/**
 * Sets the seed of the default graph, which makes every random op made afterwards repeatable.
 *
 * @example tf.setRandomSeed(1234)
 */
export function setRandomSeed(seed: number): void {
  getDefaultGraph().seed = seed;
}

/** The state in which a generator with these seeds begins; without seeds, a different one each time. */
export function initialState({ seed, seed2 }: Seeds): Uint8Array {
  if (seed !== 0 || seed2 !== 0) return philoxState(seed, seed2);
  const words = crypto.getRandomValues(new BigUint64Array(2));
  return philoxState(words[0]!, words[1]!);
}
