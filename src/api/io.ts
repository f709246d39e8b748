/** @file `tf.io`: files of records, Examples and pictures, and what is in them. */
export { PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue } from '../front/input/index.ts';
export { matchFilenamesOnce } from '../front/matchFilenamesOnce.ts';
export { writeGraph } from '../front/saving/writeGraph.ts';
export {
  type RecordCompression,
  type RecordOptions,
  type RecordOptionsLike,
  TFRecordCompressionType,
  TFRecordOptions,
  tfRecordIterator,
  type ZlibChoices,
} from '../io/records.ts';
export { TFRecordWriter } from '../io/recordWriter.ts';
export { matchingFiles, readFile, writeFile } from '../ops/files/index.ts';
export {
  decodeAndCropJpeg,
  decodeBmp,
  decodeGif,
  decodeImage,
  decodeJpeg,
  decodePng,
  encodeJpeg,
  encodePng,
  extractJpegShape,
  isJpeg,
} from '../ops/image/index.ts';
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
  RaggedFeature,
  SparseFeature,
  serializeManySparse,
  serializeSparse,
  serializeTensor,
  VarLenFeature,
} from '../ops/parsing/index.ts';
export { parseSequenceExample } from '../ops/parsing/parseExample.ts';
export * as gfile from './ioGfile.ts';
