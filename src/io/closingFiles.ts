/** @file Files that a writer is still closing: whoever reads one of them here waits for that, so `close()` need not be awaited. */
import { resolve } from 'node:path';
import { localPath } from './paths.ts';

const closing = new Map<string, Promise<void>>();

/** Lets readers of a file wait until its writer is done, however that ends: the writer's caller hears of failures. */
export function closeBeforeReading(path: string, closed: Promise<void>): void {
  const file = resolve(localPath(path));
  const done = closed
    .catch(() => {})
    .then(() => {
      if (closing.get(file) === done) closing.delete(file);
    });
  closing.set(file, done);
}

/** Waits for the writer of a file, where one is closing it. */
export async function whenClosed(path: string): Promise<void> {
  if (closing.size > 0) await closing.get(resolve(localPath(path)));
}
