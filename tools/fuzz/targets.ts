/** @file Everything that reads bytes from outside and is fed damaged ones. A new reader is one more entry in one of the lists. */
import { csvTargets } from './csvTargets.ts';
import { exampleTargets } from './exampleTargets.ts';
import { fileTargets } from './fileTargets.ts';
import { imageTargets } from './imageTargets.ts';
import type { Target } from './target.ts';

/** All targets; some need a moment to be made. */
export async function targets(): Promise<Target[]> {
  return [...exampleTargets, ...csvTargets, ...(await fileTargets()), ...imageTargets()];
}
