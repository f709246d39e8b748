/** @file Public functions that parse bytes and text; importing it loads their ops. */
export { decodeBase64, encodeBase64 } from './base64.ts';
export { decodeCompressed } from './decodeCompressed.ts';
export { type DecodeCsvOptions, decodeCsv } from './decodeCsv.ts';
export { decodeJsonExample } from './decodeJsonExample.ts';
export { type DecodeRawOptions, decodeRaw } from './decodeRaw.ts';
export {
  type AnyFeature,
  type FeatureMap,
  FixedLenFeature,
  FixedLenSequenceFeature,
  fixedLenFeature,
  fixedLenSequenceFeature,
  SparseFeature,
  sparseFeature,
  VarLenFeature,
  varLenFeature,
} from './features.ts';
export {
  type Parsed,
  type ParseExampleOptions,
  type ParseSequenceExampleOptions,
  parseExample,
  parseSingleExample,
  parseSingleSequenceExample,
} from './parseExample.ts';
export { parseTensor, serializeTensor } from './parseTensor.ts';
export { RaggedFeature, type RaggedPartition } from './raggedFeature.ts';
export {
  type DeserializeSparseOptions,
  deserializeManySparse,
  type SerializeSparseOptions,
  serializeManySparse,
  serializeSparse,
} from './serializeSparse.ts';
