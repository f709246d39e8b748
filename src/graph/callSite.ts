/** @file Remembers where in the user's program operations were made: one record per place, its text worked out when asked for. */
import { fileURLToPath } from 'node:url';

/** Frames from this folder (src or dist/src) are ours, not the user's; V8 names files by path or by URL. */
const ownFolder = new URL('..', import.meta.url);
const ownPrefixes = ['node:', ownFolder.href, fileURLToPath(ownFolder)];
/** Frames to look through for the user's when fewer did not suffice; a layer in a model in a scope needs some 80. */
const manyFrames = 200;

/** A place in the user's program. */
export class CallSite {
  /** `trace` is the stack of a call from that place, ending with the user's frame. */
  constructor(private readonly trace: { stack?: string }) {}

  /** The user's `file:line:column`, or undefined when every frame was the library's. */
  get location(): string | undefined {
    const frame = this.trace.stack?.split('\n').at(-1);
    const place = frame && (/ \((.*)\)$/.exec(frame) ?? /^\s*at (?:async )?(.*)$/.exec(frame))?.[1];
    return place?.replace(/^file:\/\//, '');
  }
}

const unknownSite = new CallSite({});

/** The user's frame on a stack: how far up it is, and where its record is kept. */
interface UserFrame {
  readonly depth: number;
  readonly places: Map<number, CallSite>;
  readonly key: number;
}

/**
 * The places a graph is built from. Operations made at one place share a record: a stack for each of them would take more
 * time and memory than the operation. To know the place again we ask V8 for file and position only, which is quick.
 */
export class CallSites {
  /** Places by file, then by line and column; `null` for files that are not the user's. */
  private readonly files = new Map<string, Map<number, CallSite> | null>();
  /** How far up the user's frame is expected. Every frame costs: it is as far as last time, or a little less far. */
  private expectedDepth = 8;

  /** The user's line that is running now. */
  here(): CallSite {
    const { prepareStackTrace, stackTraceLimit } = Error;
    // Restored come what may: the stack may overflow just here.
    try {
      Error.prepareStackTrace = this.findUser;
      let user = stackAbove<UserFrame | undefined>(this.here, Math.ceil(this.expectedDepth)).stack;
      user ??= stackAbove<UserFrame | undefined>(this.here, manyFrames).stack;
      if (!user) return unknownSite;
      this.expectedDepth = Math.max(user.depth, this.expectedDepth - (this.expectedDepth - user.depth) / 16);
      let site = user.places.get(user.key);
      if (!site) user.places.set(user.key, (site = new CallSite(stackAbove(this.here, user.depth))));
      return site;
    } finally {
      Error.prepareStackTrace = prepareStackTrace;
      Error.stackTraceLimit = stackTraceLimit;
    }
  }

  private readonly findUser = (_: Error, frames: readonly NodeJS.CallSite[]): UserFrame | undefined => {
    for (let i = 0; i < frames.length; i++) {
      const frame = frames[i]!;
      const places = this.placesIn(frame.getFileName());
      // Columns stay far below 2^26, and the key within what a number holds exactly.
      if (places) return { depth: i + 1, places, key: frame.getLineNumber()! * 2 ** 26 + frame.getColumnNumber()! };
    }
    return undefined;
  };

  /** The places seen in a file; `null` when it is not the user's. Built-in functions have no file. */
  private placesIn(file: string | null | undefined): Map<number, CallSite> | null {
    if (!file) return null;
    let places = this.files.get(file);
    if (places === undefined) this.files.set(file, (places = isUsers(file) ? new Map() : null));
    return places;
  }
}

function isUsers(file: string): boolean {
  return !ownPrefixes.some((prefix) => file.startsWith(prefix)) && !file.includes('/node_modules/');
}

/** The stack above `caller`, at most `depth` frames of it; V8 works it out when `stack` is read. Sets the limit for stacks. */
function stackAbove<T>(caller: () => unknown, depth: number): { stack?: T } {
  const trace = {};
  Error.stackTraceLimit = depth;
  Error.captureStackTrace(trace, caller);
  return trace;
}
