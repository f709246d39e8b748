/** @file Remembers where in the user's program an operation was made, cheaply: the text is worked out when asked for. */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Frames from this folder (src or dist/src) are ours, not the user's. */
const ownFolder = dirname(dirname(fileURLToPath(import.meta.url)));
/** A layer in a model in a scope makes its variables some 70 calls below the user's line. */
const depth = 200;

/** A stack captured now and read later. */
export class CallSite {
  private readonly holder: { stack?: string } = {};
  constructor() {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = depth;
    Error.captureStackTrace(this.holder, CallSite);
    Error.stackTraceLimit = limit;
  }

  /** The user's `file:line:column`, or undefined when every frame is the library's. */
  get location(): string | undefined {
    for (const line of this.holder.stack?.split('\n').slice(1) ?? []) {
      const match = /\(?((?:file:\/\/)?[^()\s]+:\d+:\d+)\)?$/.exec(line.trim());
      if (!match) continue;
      const place = match[1]!.replace(/^file:\/\//, '');
      if (!place.startsWith(ownFolder) && !place.startsWith('node:') && !place.includes('/node_modules/')) return place;
    }
    return undefined;
  }
}
