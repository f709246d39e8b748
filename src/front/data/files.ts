/** @file Datasets of what is in files: lines, records, stretches of equal length, names. */
import { string } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { reshape } from '../../ops/array/reshape.ts';
import {
  FixedLengthRecordDatasetV2,
  TFRecordDataset as Records,
  TextLineDataset as TextLines,
} from '../../ops/data/files.ts';
import { LegacyParallelInterleaveDatasetV2 } from '../../ops/data/flatMap.ts';
import { TensorSliceDataset } from '../../ops/data/sources.ts';
import { type DatasetOptions, metadataOf, number, text } from './arguments.ts';
import { Dataset } from './dataset.ts';
import { flatMap, traceToDataset } from './elementwise.ts';
import { elementAttrs, TensorComponent } from './spec.ts';

const oneString = new TensorComponent(string, []);

/** The names of files as a dataset. */
function fileNames(filenames: TensorLike | Dataset<Tensor>, name: string | undefined): Dataset<Tensor> {
  if (filenames instanceof Dataset) return filenames;
  const given = convertToTensor(filenames, { dtype: string });
  const flat = reshape(given, [-1], { name: 'flat_filenames' });
  const attrs = { output_shapes: [[]], is_files: true, metadata: metadataOf('fromTensorSlices', { name }) };
  return new Dataset<Tensor>(TensorSliceDataset.build({ components: [flat] }, { attrs }).handle, oneString);
}

/** Each file's dataset, one after the other, or several in turns. */
function ofEach(
  files: Dataset<Tensor>,
  readOneFile: (filename: Tensor) => Dataset,
  numParallelReads: TensorLike | undefined,
): Tensor {
  const read_one_file = { read_one_file: readOneFile }.read_one_file;
  if (numParallelReads === undefined) return flatMap(files, read_one_file, {}).variant;
  const traced = traceToDataset(
    [files.elementSpec],
    readOneFile,
    'tf_data_experimental_parallel_interleave',
    'read_one_file',
  );
  const inputs = {
    input_dataset: files.variant,
    other_arguments: traced.captured,
    cycle_length: number(numParallelReads, 'cycle_length'),
    block_length: number(1, 'block_length'),
    buffer_output_elements: number(-1, 'buffer_output_elements'),
    prefetch_input_elements: number(-1, 'prefetch_input_elements'),
  };
  const attrs = { f: traced.f, deterministic: 'true', ...elementAttrs(traced.element) };
  return LegacyParallelInterleaveDatasetV2.build(inputs, { attrs }).handle;
}

export interface FilesOptions extends DatasetOptions {
  /** `''`, `'ZLIB'` or `'GZIP'`. */
  readonly compressionType?: TensorLike | undefined;
  /** Bytes to read at a time. */
  readonly bufferSize?: TensorLike | undefined;
  /** How many files are read in turns, rather than one after the other. */
  readonly numParallelReads?: TensorLike | undefined;
}

const filesOptions = ['compressionType', 'bufferSize', 'numParallelReads', 'name'] as const;
const defaultBuffer = 256 * 1024;

/**
 * The lines of text files, without their ends. Adds `TextLineDataset` in the function of a `FlatMapDataset`.
 *
 * @example new tf.data.TextLineDataset(['a.csv', 'b.csv']).skip(1)
 */
export class TextLineDataset extends Dataset<Tensor> {
  constructor(filenames: TensorLike | Dataset<Tensor>, options: FilesOptions = {}) {
    const {
      compressionType = '',
      bufferSize = defaultBuffer,
      numParallelReads,
      name,
    } = onlyOptions('tf.data.TextLineDataset', options, ...filesOptions);
    const read = (filename: Tensor) => {
      const inputs = {
        filenames: filename,
        compression_type: text(compressionType, 'compression_type'),
        buffer_size: number(bufferSize, 'buffer_size'),
      };
      const attrs = { metadata: metadataOf('TextLineDataset', { name }) };
      return new Dataset(TextLines.build(inputs, { attrs }).handle, oneString);
    };
    super(ofEach(fileNames(filenames, name), read, numParallelReads), oneString);
  }
}

/**
 * The records of TFRecord files. Adds `TFRecordDataset` in the function of a `FlatMapDataset`.
 *
 * @example new tf.data.TFRecordDataset(['train.tfrecords']).map((r) => tf.parseSingleExample(r, features))
 */
export class TFRecordDataset extends Dataset<Tensor> {
  constructor(filenames: TensorLike | Dataset<Tensor>, options: FilesOptions = {}) {
    const {
      compressionType = '',
      bufferSize = defaultBuffer,
      numParallelReads,
      name,
    } = onlyOptions('tf.data.TFRecordDataset', options, ...filesOptions);
    const read = (filename: Tensor) => {
      const inputs = {
        filenames: filename,
        compression_type: text(compressionType, 'compression_type'),
        buffer_size: number(bufferSize, 'buffer_size'),
      };
      const attrs = { metadata: metadataOf('TFRecordDataset', { name }) };
      return new Dataset(Records.build(inputs, { attrs }).handle, oneString);
    };
    super(ofEach(fileNames(filenames, name), read, numParallelReads), oneString);
  }
}

export interface FixedLengthOptions extends FilesOptions {
  /** Bytes to leave out at the beginning and the end of each file. */
  readonly headerBytes?: TensorLike | undefined;
  readonly footerBytes?: TensorLike | undefined;
}

/**
 * Stretches of equal length of files. Adds `FixedLengthRecordDatasetV2` in the function of a `FlatMapDataset`.
 *
 * @example new tf.data.FixedLengthRecordDataset(['data_batch_1.bin'], 3073)
 */
export class FixedLengthRecordDataset extends Dataset<Tensor> {
  constructor(filenames: TensorLike | Dataset<Tensor>, recordBytes: TensorLike, options: FixedLengthOptions = {}) {
    const { headerBytes = 0, footerBytes = 0, ...rest } = options;
    const {
      compressionType = '',
      bufferSize = defaultBuffer,
      numParallelReads,
      name,
    } = onlyOptions('tf.data.FixedLengthRecordDataset', rest, ...filesOptions);
    const read = (filename: Tensor) => {
      const inputs = {
        filenames: filename,
        record_bytes: number(recordBytes, 'record_bytes'),
        header_bytes: number(headerBytes, 'header_bytes'),
        footer_bytes: number(footerBytes, 'footer_bytes'),
        buffer_size: number(bufferSize, 'buffer_size'),
        compression_type: text(compressionType, 'compression_type'),
      };
      const attrs = { metadata: metadataOf('FixedLengthRecordDataset', { name }) };
      return new Dataset(FixedLengthRecordDatasetV2.build(inputs, { attrs }).handle, oneString);
    };
    super(ofEach(fileNames(filenames, name), read, numParallelReads), oneString);
  }
}
