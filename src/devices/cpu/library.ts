/** @file The native library: where it is, what it exports, and the numbers it gives to names. */
import { join } from 'node:path';
import type { KoffiFunc } from 'koffi';
import { InternalError } from '../../core/errors.ts';
import { nativeLibraryPath, openNativeLibrary, packageRoot } from '../../core/nativeLibrary.ts';

/** Families of names that have numbers in encoded programs. */
export type Family =
  | 'dtype'
  | 'op'
  | 'instruction'
  | 'reduce'
  | 'conv'
  | 'combine'
  | 'bounds'
  | 'scan'
  | 'window'
  | 'random'
  | 'lasts'
  | 'failure';

/** Addresses cross as numbers, which costs less than pointers; they have at most 48 bits. */
type RunFunction = (
  program: number,
  table: number,
  result: number,
  times: number,
  threads: number,
  first: number,
  nanoseconds: number,
) => number;

export interface NativeLibrary {
  readonly variant: string;
  /** The number of a name; throws for a name that the library does not know. */
  code(family: Family, name: string): number;
  /** A program's handle; throws with the library's words when the program makes no sense. */
  create(words: Int32Array): number;
  /** The same, beside the event loop. */
  createAside(words: Int32Array): Promise<number>;
  readonly run: KoffiFunc<RunFunction>;
  free(program: number): void;
  /** How many processors this process may use. */
  readonly processors: number;
  /** Nanoseconds of a multiplication and an addition in a product of float32 matrices on one thread, with vectors. */
  readonly multiplyTime: number;
  address(memory: ArrayBufferLike | ArrayBufferView): bigint;
  /** Makes a fresh block cheaper to fill. */
  preferLargePages(address: bigint, bytes: number): void;
  /** The address of a large block outside JavaScript's memory, or 0 when there is none to be had. */
  allocate(bytes: number): number;
  release(address: number, bytes: number): void;
  /** An array buffer over such a block. It must be gone before the block is released. */
  over(address: number, bytes: number): ArrayBuffer;
}

let found: NativeLibrary | { readonly problem: string } | undefined;

/** The library, or what keeps it from being used. */
export function nativeLibrary(): NativeLibrary | { readonly problem: string } {
  found ??= find();
  return found;
}

function find(): NativeLibrary | { readonly problem: string } {
  try {
    return load();
  } catch (error) {
    const path = nativeLibraryPath();
    const why = error instanceof Error ? error.message : String(error);
    const builder = join(packageRoot() ?? '', 'tools', 'buildNative.mjs');
    return { problem: `${path} cannot be used: ${why}. Build it with a C++ compiler: node ${builder}` };
  }
}

function load(): NativeLibrary {
  const { koffi, library, variant } = openNativeLibrary();
  const codeOf = library.func('int64_t tl_code(const char* family, const char* name)');
  const createProgram = library.func(
    'int64_t tl_program_create(void* words, int64_t count, void* error, int64_t room)',
  );
  const freeProgram = library.func('void tl_program_free(int64_t program)');
  const preferLargePages = library.func('void tl_prefer_large_pages(int64_t memory, int64_t bytes)');
  const allocate = library.func('int64_t tl_allocate(int64_t bytes)');
  const release = library.func('void tl_release(int64_t block, int64_t bytes)');
  const codes = new Map<string, number>();
  return {
    variant,
    code(family, name) {
      const key = `${family} ${name}`;
      let code = codes.get(key);
      if (code === undefined) {
        code = Number(codeOf(family, name));
        if (code < 0) throw new InternalError(`the native library knows no ${family} '${name}'`);
        codes.set(key, code);
      }
      return code;
    },
    create(words) {
      const error = new Uint8Array(256);
      return handleOf(createProgram(words, words.length / 2, error, error.length), error);
    },
    async createAside(words) {
      const error = new Uint8Array(256);
      const count = words.length / 2;
      const handle = await new Promise((resolve, reject) => {
        // The words are named in the callback, which keeps their memory until the call is over.
        createProgram.async(words, count, error, error.length, (problem: unknown, made: unknown) =>
          problem && words.length > 0 ? reject(problem) : resolve(made),
        );
      });
      return handleOf(handle, error);
    },
    // The declaration above is the type of this very function.
    run: library.func(
      'int64_t tl_program_run(int64_t program, int64_t table, int64_t result, int64_t times, int32_t threads, int64_t first, double nanoseconds)',
    ) as KoffiFunc<RunFunction>,
    free: (program) => freeProgram(program),
    processors: library.func('int32_t tl_processors()')(),
    multiplyTime: library.func('double tl_multiply_time()')(),
    address: (memory) => koffi.address(memory),
    preferLargePages: (address, bytes) => preferLargePages(address, bytes),
    allocate: (bytes) => Number(allocate(bytes)),
    release: (address, bytes) => release(address, bytes),
    over: (address, bytes) => koffi.view(BigInt(address), bytes),
  };
}

/** The handle of a new program, or what the library said instead of making it. */
function handleOf(made: unknown, error: Uint8Array): number {
  const handle = Number(made);
  if (handle !== 0) return handle;
  const message = new TextDecoder().decode(error.subarray(0, error.indexOf(0)));
  throw new InternalError(`the native library refused a program: ${message}`);
}
