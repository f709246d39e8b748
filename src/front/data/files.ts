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
  return inTurns(files, read_one_file, numParallelReads, false).variant;
}

/** The datasets that a function makes of the names of files, so many at a time. */
export function inTurns<E>(
  files: Dataset<Tensor>,
  fn: (filename: Tensor) => Dataset<E>,
  numParallelReads: TensorLike,
  sloppy: boolean,
): Dataset<E> {
  const { f, captured, element } = traceToDataset([files.elementSpec], fn, 'tf_data_experimental_parallel_interleave');
  const inputs = {
    input_dataset: files.variant,
    other_arguments: captured,
    cycle_length: number(numParallelReads, 'cycle_length'),
    block_length: number(1, 'block_length'),
    buffer_output_elements: number(-1, 'buffer_output_elements'),
    prefetch_input_elements: number(-1, 'prefetch_input_elements'),
  };
  const attrs = { f, deterministic: String(!sloppy), ...elementAttrs(element) };
  return new Dataset<E>(LegacyParallelInterleaveDatasetV2.build(inputs, { attrs }).handle, element);
}

export interface FilesOptions extends DatasetOptions {
  /** `''`, `'ZLIB'` or `'GZIP'`. */
  readonly compressionType?: TensorLike | undefined;
  /** Bytes to read at a time. */
  readonly bufferSize?: TensorLike | undefined;
  /** How many files are read in turns, rather than one after the other. */
  readonly numParallelReads?: TensorLike | undefined;
}

const defaultBuffer = 256 * 1024;

/** What a source of files is: its options, and how it reads one file. */
interface FileSource {
  readonly name: string;
  readonly filenames: TensorLike | Dataset<Tensor>;
  readonly options: FilesOptions;
  /** The op's output for one file. */
  read(file: OneFile, attrs: { readonly metadata: string }): Tensor;
}

interface OneFile {
  readonly filenames: Tensor;
  readonly compression_type: Tensor;
  readonly buffer_size: Tensor;
}

/** The elements of files, one file after the other or several in turns. */
function fromFiles({ name: source, filenames, options, read }: FileSource): Tensor {
  const {
    compressionType = '',
    bufferSize = defaultBuffer,
    numParallelReads,
    name,
  } = onlyOptions(`tf.data.${source}`, options, 'compressionType', 'bufferSize', 'numParallelReads', 'name');
  const readOneFile = (filename: Tensor) => {
    const inputs = {
      filenames: filename,
      // Made in the order in which Python makes them: when they are asked for.
      get compression_type() {
        return text(compressionType, 'compression_type');
      },
      get buffer_size() {
        return number(bufferSize, 'buffer_size');
      },
    };
    return new Dataset(read(inputs, { metadata: metadataOf(source, { name }) }), oneString);
  };
  return ofEach(fileNames(filenames, name), readOneFile, numParallelReads);
}

/**
 * The lines of text files, without their ends. Adds `TextLineDataset` in the function of a `FlatMapDataset`.
 *
 * @example new tf.data.TextLineDataset(['a.csv', 'b.csv']).skip(1)
 */
export class TextLineDataset extends Dataset<Tensor> {
  constructor(filenames: TensorLike | Dataset<Tensor>, options: FilesOptions = {}) {
    const read = (file: OneFile, attrs: { readonly metadata: string }) =>
      TextLines.build({ ...file }, { attrs }).handle;
    super(fromFiles({ name: 'TextLineDataset', filenames, options, read }), oneString);
  }
}

/**
 * The records of TFRecord files. Adds `TFRecordDataset` in the function of a `FlatMapDataset`.
 *
 * @example new tf.data.TFRecordDataset(['train.tfrecords']).map((r) => tf.parseSingleExample(r, features))
 */
export class TFRecordDataset extends Dataset<Tensor> {
  constructor(filenames: TensorLike | Dataset<Tensor>, options: FilesOptions = {}) {
    const read = (file: OneFile, attrs: { readonly metadata: string }) => Records.build({ ...file }, { attrs }).handle;
    super(fromFiles({ name: 'TFRecordDataset', filenames, options, read }), oneString);
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
    const read = (file: OneFile, attrs: { readonly metadata: string }) => {
      const inputs = {
        filenames: file.filenames,
        record_bytes: number(recordBytes, 'record_bytes'),
        header_bytes: number(headerBytes, 'header_bytes'),
        footer_bytes: number(footerBytes, 'footer_bytes'),
        buffer_size: file.buffer_size,
        compression_type: file.compression_type,
      };
      return FixedLengthRecordDatasetV2.build(inputs, { attrs }).handle;
    };
    super(fromFiles({ name: 'FixedLengthRecordDataset', filenames, options: rest, read }), oneString);
  }
}
