/** @file What each kind of reader finds in a file. */
import { open } from 'node:fs/promises';
import { DataLossError } from '../../core/errors.ts';
import { openFile } from '../../io/byteStream.ts';
import { fileError } from '../../io/fileErrors.ts';
import { localPath } from '../../io/paths.ts';
import { type RecordCompression, tfRecordIterator } from '../../io/records.ts';
import { wholeFile } from '../../io/wholeFile.ts';
import type { Entry, ReaderKind } from './reader.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** How much of a file is read at a time. */
const chunkBytes = 1 << 18;

/** The bytes of a file, a piece at a time. */
async function* chunks(path: string): AsyncGenerator<Uint8Array> {
  let file: Awaited<ReturnType<typeof open>> | undefined;
  try {
    file = await open(localPath(path));
    for (;;) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(chunkBytes), 0, chunkBytes);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    throw fileError(error, path);
  } finally {
    await file?.close();
  }
}

/** The bytes of a file that was compressed. */
async function* inflated(path: string, encoding: 'GZIP' | 'ZLIB'): AsyncGenerator<Uint8Array> {
  const stream = openFile(path, encoding, chunkBytes);
  try {
    yield* stream;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw code.startsWith('Z_') ? new DataLossError(`${path}: ${String(error)}`) : fileError(error, path);
  } finally {
    stream.destroy();
  }
}

export const identityReader: ReaderKind = {
  name: 'IdentityReader',
  givesOneRecord: true,
  async *read(work) {
    yield { key: work, value: work };
  },
};

export const wholeFileReader: ReaderKind = {
  name: 'WholeFileReader',
  givesOneRecord: true,
  async *read(work) {
    const value = await wholeFile(decode(work));
    yield { key: work, value: new Uint8Array(value.buffer, value.byteOffset, value.length) };
  },
};

const newline = 10;
const carriageReturn = 13;

/** Lines without their ends, after so many that are skipped. A carriage return is no part of a line wherever it stands. */
export const textLineReader = (skipped: number): ReaderKind => ({
  name: 'TextLineReader',
  givesOneRecord: false,
  async *read(work) {
    const path = decode(work);
    let number = 0;
    const entry = (line: Uint8Array): Entry => ({
      key: encode(`${path}:${number}`),
      value: line.includes(carriageReturn) ? line.filter((byte) => byte !== carriageReturn) : line.slice(),
    });
    let rest: Uint8Array = new Uint8Array(0);
    for await (const chunk of chunks(path)) {
      const held = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let start = 0;
      for (let end = held.indexOf(newline); end >= 0; end = held.indexOf(newline, start)) {
        const line = held.subarray(start, end);
        start = end + 1;
        if (++number > skipped) yield entry(line);
      }
      rest = held.subarray(start);
    }
    if (rest.length > 0 && ++number > skipped) yield entry(rest);
  },
});

export interface FixedLength {
  readonly header: number;
  readonly record: number;
  readonly footer: number;
  /** From the beginning of one record to that of the next. */
  readonly hop: number;
  readonly encoding: RecordCompression;
}

/** Records of one length between a header and a footer; what is left over is passed by. */
export const fixedLengthReader = ({ header, record, footer, hop, encoding }: FixedLength): ReaderKind => ({
  name: 'FixedLengthRecordReader',
  givesOneRecord: false,
  async *read(work) {
    const path = decode(work);
    let number = 0;
    let held: Uint8Array = new Uint8Array(0);
    let skip = header;
    for await (const chunk of encoding === '' ? chunks(path) : inflated(path, encoding)) {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      for (;;) {
        const skipped = Math.min(skip, held.length);
        held = held.subarray(skipped);
        skip -= skipped;
        // The last bytes may be the footer, so a record is one only when as many follow it.
        if (skip > 0 || held.length < record + footer) break;
        yield { key: encode(`${path}:${number++}`), value: held.slice(0, record) };
        skip = hop;
      }
    }
  },
});

const recordFrame = 16; // bytes of length and checksums around each record

export const tfRecordReader = (compression: RecordCompression): ReaderKind => ({
  name: 'TFRecordReader',
  givesOneRecord: false,
  async *read(work) {
    const path = decode(work);
    let offset = 0;
    for await (const value of tfRecordIterator(path, { compression })) {
      yield { key: encode(`${path}:${offset}`), value };
      offset += value.length + recordFrame;
    }
  },
});
