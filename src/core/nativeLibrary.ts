/** @file Where the native library is. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
