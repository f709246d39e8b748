/** @file Feeds a target with damaged inputs and counts how they end. */
import { OpError } from '../../src/core/errors.ts';
import { chance, mutate } from './mutate.ts';
import type { Target } from './target.ts';

export interface Outcome {
  /** How many inputs were read to the end, and how many ended with each class of error. */
  readonly counts: Readonly<Record<string, number>>;
  /** The longest that one input took, in milliseconds. */
  readonly slowest: number;
}

/** Reads `rounds` damaged inputs. An error without a code is thrown, with the input that led to it. */
export async function fuzz(target: Target, rounds: number, seed = 1): Promise<Outcome> {
  const random = chance(seed);
  const counts: Record<string, number> = {};
  let slowest = 0;
  for (let round = 0; round < rounds; round++) {
    const damaged = mutate(target.seeds[round % target.seeds.length]!, random);
    const input = target.repair && random(3) > 0 ? target.repair(damaged) : damaged;
    const start = performance.now();
    let end = 'read';
    try {
      await target.read(input);
    } catch (error) {
      if (!(error instanceof OpError)) {
        const hex = Buffer.from(input.subarray(0, 4096)).toString('hex');
        throw new Error(`${target.name}, round ${round}: ${String(error)}\ninput: ${hex}`, { cause: error });
      }
      end = error.name;
    }
    counts[end] = (counts[end] ?? 0) + 1;
    slowest = Math.max(slowest, performance.now() - start);
  }
  return { counts, slowest };
}
