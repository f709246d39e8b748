/** @file The native library under observation: which functions are called, and how; or no library at all. For `vi.mock`. */
import type * as native from '../../src/io/native.ts';

export interface WatchedLibrary {
  /** Whether the library is taken away. */
  isOff: boolean;
  /** Names of functions that were called, beside the event loop and on it. */
  later: string[];
  now: string[];
  /** What each of them was called with the last time. */
  given: Record<string, readonly native.NativeArgument[]>;
}

export const nothingCalled = (): WatchedLibrary => ({ isOff: false, later: [], now: [], given: {} });

/** The module that hands out the library's functions, with what is called noted in `library`. */
export function watching(original: typeof native, library: WatchedLibrary): typeof native {
  const nameOf = (prototype: string) => /tl_\w+/.exec(prototype)![0];
  return {
    ...original,
    nativeFamily<T>(make: (functions: native.NativeFunctions) => T | null) {
      const family = original.nativeFamily((functions) =>
        make({
          ...functions,
          later(prototype) {
            const call = functions.later(prototype);
            return (...args) => {
              library.later.push(nameOf(prototype));
              library.given[nameOf(prototype)] = args;
              return call(...args);
            };
          },
          now(prototype) {
            const call = functions.now(prototype);
            return (...args) => {
              library.now.push(nameOf(prototype));
              library.given[nameOf(prototype)] = args;
              return call(...args);
            };
          },
        }),
      );
      return () => (library.isOff ? undefined : family());
    },
  };
}
