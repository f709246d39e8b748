/** @file `tf.io`: files of records. */
export { type RecordCompression, type RecordOptions, tfRecordIterator } from '../io/records.ts';
export { TFRecordWriter } from '../io/recordWriter.ts';
export {
  decodeBase64,
  decodeCompressed,
  decodeCsv,
  decodeJsonExample,
  decodeRaw,
  deserializeManySparse,
  encodeBase64,
  FixedLenFeature,
  FixedLenSequenceFeature,
  parseExample,
  parseSingleExample,
  parseSingleSequenceExample,
  parseTensor,
  SparseFeature,
  serializeManySparse,
  serializeSparse,
  serializeTensor,
  VarLenFeature,
} from '../ops/parsing/index.ts';
export { parseSequenceExample } from '../ops/parsing/parseExample.ts';
