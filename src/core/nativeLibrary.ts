/** @file Where the native library is, and opening it. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Koffi from 'koffi';
import { InternalError, NotFoundError } from './errors.ts';

/** Must equal `tl_version()`; a library built from other sources is not used. */
const version = 13;

/** The directory of the package: the nearest one above this file whose package.json is tensorloom's. */
export function packageRoot(): string | undefined {
  for (let here = dirname(fileURLToPath(import.meta.url)); ; here = dirname(here)) {
    const manifest = join(here, 'package.json');
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === 'tensorloom') return here;
    if (here === dirname(here)) return undefined;
  }
}

/** The native library that is or would be built; another one where `TENSORLOOM_LIBRARY` names it. */
export function nativeLibraryPath(): string | undefined {
  const named = process.env['TENSORLOOM_LIBRARY'];
  if (named) return named;
  const root = packageRoot();
  const extension = process.platform === 'darwin' ? 'dylib' : process.platform === 'win32' ? 'dll' : 'so';
  return root && join(root, 'build', 'native', `libtensorloom.${extension}`);
}

/** The library, its kind of code, and what calls it. Throws where there is none, none for this platform, or one built from other sources. */
export function openNativeLibrary(): {
  readonly koffi: typeof Koffi;
  readonly library: Koffi.LibraryHandle;
  readonly variant: string;
} {
  const path = nativeLibraryPath();
  if (!path || !existsSync(path)) throw new NotFoundError('it has not been built');
  // koffi is required, not imported: where its binary is missing, the import would fail the whole package.
  const koffi: typeof Koffi = createRequire(import.meta.url)('koffi');
  const library = koffi.load(path);
  const built = Number(library.func('int64_t tl_version()')());
  if (built !== version) throw new InternalError(`it has version ${built}, but version ${version} is needed`);
  const variant: string = library.func('const char* tl_variant()')();
  if (!variant) throw new InternalError('it was built for a processor with instructions that this one lacks');
  return { koffi, library, variant };
}
