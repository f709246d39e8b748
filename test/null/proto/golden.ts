/** @file Reads the golden files that real TensorFlow wrote, and checks their shape on the way. */
import { readFileSync } from 'node:fs';

/** One of test/golden/proto/*.json; `T` is what tools/golden/proto.py puts there. */
export function golden<T>(name: string): T {
  const path = new URL(`../../golden/proto/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')) as T; // the script and the test agree on the type
}

export function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}
