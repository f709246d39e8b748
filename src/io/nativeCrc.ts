/** @file CRC-32C by the native library, which uses the processor's own instruction. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { nativeLibraryPath } from '../core/nativeLibrary.ts';

export type Crc = (bytes: Uint8Array, length: number, before: number) => number;

let found: Crc | null | undefined;

/** The function, or null where there is no library, or no such instruction. */
export function nativeCrc(): Crc | null {
  if (found === undefined) found = load();
  return found;
}

function load(): Crc | null {
  const path = nativeLibraryPath();
  if (path === undefined || !existsSync(path)) return null;
  try {
    // koffi is required, not imported: where its binary is missing, the import would fail the whole package.
    const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi');
    const library = koffi.load(path);
    const has: () => number = library.func('int32_t tl_has_crc32c()');
    return has() ? library.func('uint32_t tl_crc32c(const uint8_t *bytes, int64_t length, uint32_t crc)') : null;
  } catch {
    return null; // no koffi for this platform, or a library that is older than this function
  }
}
