/** @file Public functions that parse bytes and text; importing it loads their ops. */
export { decodeBase64, encodeBase64 } from './base64.ts';
export { decodeCompressed } from './decodeCompressed.ts';
export { type DecodeCsvOptions, decodeCsv } from './decodeCsv.ts';
export { decodeJsonExample } from './decodeJsonExample.ts';
export { type DecodeRawOptions, decodeRaw } from './decodeRaw.ts';
export { parseTensor, serializeTensor } from './parseTensor.ts';
export {
  type DeserializeSparseOptions,
  deserializeManySparse,
  type SerializeSparseOptions,
  serializeManySparse,
  serializeSparse,
} from './serializeSparse.ts';

import './parseExampleOps.ts';
import './parseSequenceOps.ts';
