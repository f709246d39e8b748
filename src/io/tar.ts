/** @file Files out of a tar archive, compressed by gzip or not. */
import { DataLossError } from '../core/errors.ts';
import { openFile } from './byteStream.ts';
import { fileError } from './fileErrors.ts';

const blockSize = 512;

/** The files in an archive whose names `wanted` accepts, by name without folders. */
export async function filesInTar(path: string, wanted: (name: string) => boolean): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  let left: Buffer = Buffer.alloc(0);
  let current: { name: string; data: Buffer; filled: number; keep: boolean } | undefined;
  let padding = 0;
  const take = (part: Uint8Array) => {
    left = left.length === 0 ? Buffer.from(part.buffer, part.byteOffset, part.length) : Buffer.concat([left, part]);
    for (;;) {
      if (current) {
        const count = Math.min(left.length, current.data.length - current.filled);
        left.copy(current.data, current.filled, 0, count);
        current.filled += count;
        left = left.subarray(count);
        if (current.filled < current.data.length) return;
        if (current.keep) files.set(current.name, current.data);
        current = undefined;
      }
      if (left.length < padding + blockSize) return;
      const header = left.subarray(padding, padding + blockSize);
      left = left.subarray(padding + blockSize);
      padding = 0;
      if (header.every((byte) => byte === 0)) continue;
      const text = (from: number, length: number) =>
        header.toString('latin1', from, from + length).replace(/\0.*$/s, '');
      const size = Number.parseInt(text(124, 12).trim() || '0', 8);
      const sum = header.reduce((total, byte, i) => total + (i >= 148 && i < 156 ? 32 : byte), 0);
      if (Number.isNaN(size) || sum !== Number.parseInt(text(148, 8).trim(), 8)) {
        throw new DataLossError(`${path} is not a tar archive, or is damaged.`);
      }
      const name = text(0, 100).split('/').at(-1)!;
      const isFile = header[156] === 0 || header[156] === 48;
      padding = (blockSize - (size % blockSize)) % blockSize;
      current = { name, data: Buffer.alloc(size), filled: 0, keep: isFile && wanted(name) };
    }
  };
  try {
    for await (const part of openFile(path, /\.t?gz$/.test(path) ? 'GZIP' : '', 1 << 20)) take(part);
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')) {
      throw new DataLossError(`${path} cannot be decompressed: ${error.message}`, { cause: error });
    }
    throw fileError(error, path);
  }
  if (current) throw new DataLossError(`${path} ends inside ${current.name}.`);
  return files;
}
