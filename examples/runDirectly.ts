/** @file Runs an example when its file is the program that was started, and not when a test imports it. */
import { pathToFileURL } from 'node:url';

/** Calls `main` if `module` (an `import.meta.url`) is what Node was started with. */
export async function runDirectly(module: string, main: () => Promise<unknown>): Promise<void> {
  const started = process.argv[1];
  if (started !== undefined && pathToFileURL(started).href === module) await main();
}
