/** @file Functions of the native library for files and formats, called at once or on libuv's threads beside the event loop. */
import { openNativeLibrary } from '../core/nativeLibrary.ts';

/** Numbers, texts, and memory, which is given by its address: its parameter is an `int64_t`. */
export type NativeArgument = number | bigint | string | ArrayBufferView;

export interface NativeFunctions {
  /** A function that runs beside the event loop. The memory that it is given is kept until it is over. */
  later(prototype: string): (...args: NativeArgument[]) => Promise<number>;
  /** A function that runs at once. */
  now(prototype: string): (...args: NativeArgument[]) => number;
  /** Where some memory is, as long as somebody holds it. */
  address(memory: ArrayBufferView): number;
}

let found: NativeFunctions | null | undefined;

/** The functions, or undefined where there is no library: everything can be done without it, on the event loop. */
export function nativeFunctions(): NativeFunctions | undefined {
  if (found === undefined) found = load();
  return found ?? undefined;
}

/** What libuv's callback gives: an error, or the function's result. */
type Callback = (error: Error | null, result: number | bigint) => void;
type PlainArgument = number | bigint | string;
interface KoffiFunction {
  (...args: PlainArgument[]): number | bigint;
  async(...args: [...PlainArgument[], Callback]): void;
}

/** So many calls may be under way beside the event loop: koffi refuses more than 256, and threads are far fewer. */
const mostAtOnce = 64;
let underWay = 0;
const waiting: (() => void)[] = [];

/** Begins a call when not too many are under way; the call says when it is over. */
function inTurn(begin: (leave: () => void) => void): void {
  if (underWay === mostAtOnce) {
    waiting.push(() => inTurn(begin));
    return;
  }
  underWay++;
  begin(() => {
    underWay--;
    waiting.shift()?.();
  });
}

function load(): NativeFunctions | null {
  try {
    const { koffi, library } = openNativeLibrary();
    const plain = (arg: NativeArgument): PlainArgument => (ArrayBuffer.isView(arg) ? koffi.address(arg) : arg);
    return {
      later(prototype) {
        const called: KoffiFunction = library.func(prototype);
        return (...args) =>
          new Promise<number>((resolve, reject) => {
            inTurn((leave) => {
              // The arguments are named in the callback, which keeps their memory until the call is over.
              called.async(...args.map(plain), (error, result) => {
                leave();
                if (error && args.length > 0) reject(error);
                else resolve(Number(result));
              });
            });
          });
      },
      now(prototype) {
        const called: KoffiFunction = library.func(prototype);
        return (...args) => Number(called(...args.map(plain)));
      },
      address: (memory) => Number(koffi.address(memory)),
    };
  } catch {
    return null; // the device says what is wrong with the library
  }
}

/** Memory of which the library was given the address only is there until it is named here, behind the call. */
export function keep(..._memory: unknown[]): void {}

/** Functions that are looked for once; undefined where the library, or one of them, is not there. */
export function nativeFamily<T>(make: (functions: NativeFunctions) => T | null): () => T | undefined {
  let family: T | null | undefined;
  return () => {
    if (family === undefined) {
      const functions = nativeFunctions();
      try {
        family = functions ? make(functions) : null;
      } catch {
        family = null; // a library that is older than these functions
      }
    }
    return family ?? undefined;
  };
}
