/** @file The native library: where it is, what it exports, and the numbers it gives to names. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KoffiFunc } from 'koffi';
import { InternalError } from '../../core/errors.ts';

/** Must equal `tl_version()`; a library built from other sources is not used. */
const version = 2;

/** Families of names that have numbers in encoded programs. */
export type Family = 'dtype' | 'op' | 'instruction' | 'reduce' | 'combine' | 'bounds' | 'scan' | 'random' | 'failure';

/** Addresses cross as numbers, which costs less than pointers; they have at most 48 bits. */
type RunFunction = (program: number, table: number, result: number, times: number) => number;

export interface NativeLibrary {
  readonly variant: string;
  /** The number of a name; throws for a name that the library does not know. */
  code(family: Family, name: string): number;
  /** A program's handle; throws with the library's words when the program makes no sense. */
  create(words: Int32Array): number;
  readonly run: KoffiFunc<RunFunction>;
  free(program: number): void;
  setThreads(count: number): void;
  threads(): number;
  address(memory: ArrayBufferLike | ArrayBufferView): bigint;
  /** Makes a fresh block cheaper to fill. */
  preferLargePages(address: bigint, bytes: number): void;
}

/** The directory of the package: the nearest one above this file whose package.json is tensorloom's. */
function packageRoot(): string | undefined {
  for (let here = dirname(fileURLToPath(import.meta.url)); ; here = dirname(here)) {
    const manifest = join(here, 'package.json');
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === 'tensorloom') return here;
    if (here === dirname(here)) return undefined;
  }
}

function libraryPath(): string | undefined {
  const named = process.env['TENSORLOOM_LIBRARY'];
  if (named) return named;
  const root = packageRoot();
  const extension = process.platform === 'darwin' ? 'dylib' : process.platform === 'win32' ? 'dll' : 'so';
  return root && join(root, 'build', 'native', `libtensorloom.${extension}`);
}

let loaded: NativeLibrary | undefined;
let tried = false;

/** The library, or undefined when it was not built or does not load here. */
export function nativeLibrary(): NativeLibrary | undefined {
  if (!tried) {
    tried = true;
    try {
      const path = libraryPath();
      if (path && existsSync(path)) loaded = load(path);
    } catch {
      loaded = undefined; // no koffi for this platform, or a library of another platform: the same as none
    }
  }
  return loaded;
}

function load(path: string): NativeLibrary | undefined {
  // koffi is required, not imported: where its binary is missing, the import would fail the whole package.
  const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi');
  const library = koffi.load(path);
  if (Number(library.func('int64_t tl_version()')()) !== version) return undefined;
  const codeOf = library.func('int64_t tl_code(const char* family, const char* name)');
  const createProgram = library.func(
    'int64_t tl_program_create(void* words, int64_t count, void* error, int64_t room)',
  );
  const freeProgram = library.func('void tl_program_free(int64_t program)');
  const setThreads = library.func('void tl_set_threads(int32_t count)');
  const threads = library.func('int32_t tl_threads()');
  const preferLargePages = library.func('void tl_prefer_large_pages(int64_t memory, int64_t bytes)');
  const codes = new Map<string, number>();
  return {
    variant: library.func('const char* tl_variant()')(),
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
      const handle = Number(createProgram(words, words.length / 2, error, error.length));
      if (handle === 0) {
        const message = new TextDecoder().decode(error.subarray(0, error.indexOf(0)));
        throw new InternalError(`the native library refused a program: ${message}`);
      }
      return handle;
    },
    // The declaration above is the type of this very function.
    run: library.func(
      'int32_t tl_program_run(int64_t program, int64_t table, int64_t result, int64_t times)',
    ) as KoffiFunc<RunFunction>,
    free: (program) => freeProgram(program),
    setThreads: (count) => setThreads(count),
    threads: () => threads(),
    address: (memory) => koffi.address(memory),
    preferLargePages: (address, bytes) => preferLargePages(address, bytes),
  };
}
