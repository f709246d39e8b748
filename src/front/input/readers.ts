/** @file Readers: give the records of files whose names come out of a queue. */
import { resource, string } from '../../core/dtypes.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { type RecordCompression, type RecordOptionsLike, recordOptions } from '../../io/records.ts';
import { convertToTensor } from '../../op/convert.ts';
import { FakeQueue } from '../../ops/queue/queueCreate.ts';
import {
  FixedLengthRecordReaderV2,
  IdentityReaderV2,
  ReaderNumRecordsProduced,
  ReaderNumRecordsProducedV2,
  ReaderNumWorkUnitsCompleted,
  ReaderNumWorkUnitsCompletedV2,
  ReaderRead,
  ReaderReadUpTo,
  ReaderReadUpToV2,
  ReaderReadV2,
  ReaderReset,
  ReaderResetV2,
  ReaderRestoreState,
  ReaderRestoreStateV2,
  ReaderSerializeState,
  ReaderSerializeStateV2,
  TextLineReaderV2,
  TFRecordReaderV2,
  WholeFileReaderV2,
} from '../../ops/reader/readerOps.ts';
import type { QueueBase } from './queueBase.ts';

interface Named {
  readonly name?: string | undefined;
}

/** A queue of names, or its handle. */
export type WorkQueue = QueueBase<unknown> | Tensor;

/** Turns work, such as names of files, into records: pairs of a key and a value, both strings. */
export class ReaderBase {
  constructor(
    /** The handle. */
    readonly readerRef: Tensor,
    /** Whether the state can be saved and restored. */
    readonly supportsSerialize = false,
  ) {}

  private get isResource(): boolean {
    return this.readerRef.dtype === resource;
  }

  private handles(queue: WorkQueue): { reader_handle: Tensor; queue_handle: Tensor } {
    const handle = queue instanceof Tensor ? queue : queue.queueRef;
    // An older reader takes the older kind of handle, which a newer queue gives when asked.
    const queueHandle =
      !this.isResource && handle.dtype === resource ? FakeQueue.build({ resource: handle }).handle : handle;
    return { reader_handle: this.readerRef, queue_handle: queueHandle };
  }

  /** The next record; takes new work out of the queue when the last is done. Adds one `ReaderReadV2` node. */
  read(queue: WorkQueue, options: Named = {}): [key: Tensor, value: Tensor] {
    onlyOptions('read', options, 'name');
    const { key, value } = (this.isResource ? ReaderReadV2 : ReaderRead).build(this.handles(queue), options);
    return [key, value];
  }

  /** Up to so many records, all of one piece of work. Adds one `ReaderReadUpToV2` node. */
  readUpTo(queue: WorkQueue, numRecords: TensorLike, options: Named = {}): [keys: Tensor, values: Tensor] {
    onlyOptions('readUpTo', options, 'name');
    const inputs = { ...this.handles(queue), num_records: numRecords };
    const { keys, values } = (this.isResource ? ReaderReadUpToV2 : ReaderReadUpTo).build(inputs, options);
    return [keys, values];
  }

  /** How many records were read. Adds one `ReaderNumRecordsProducedV2` node. */
  numRecordsProduced(options: Named = {}): Tensor {
    onlyOptions('numRecordsProduced', options, 'name');
    const Op = this.isResource ? ReaderNumRecordsProducedV2 : ReaderNumRecordsProduced;
    return Op.node({ reader_handle: this.readerRef }, options).outputs[0]!;
  }

  /** How many pieces of work were finished. Adds one `ReaderNumWorkUnitsCompletedV2` node. */
  numWorkUnitsCompleted(options: Named = {}): Tensor {
    onlyOptions('numWorkUnitsCompleted', options, 'name');
    const Op = this.isResource ? ReaderNumWorkUnitsCompletedV2 : ReaderNumWorkUnitsCompleted;
    return Op.node({ reader_handle: this.readerRef }, options).outputs[0]!;
  }

  /** The state as a string, where the reader can give it. Adds one `ReaderSerializeStateV2` node. */
  serializeState(options: Named = {}): Tensor {
    onlyOptions('serializeState', options, 'name');
    const Op = this.isResource ? ReaderSerializeStateV2 : ReaderSerializeState;
    return Op.build({ reader_handle: this.readerRef }, options).state;
  }

  /** Goes back to a state that `serializeState` gave. Adds one `ReaderRestoreStateV2` node. */
  restoreState(state: TensorLike, options: Named = {}): Operation {
    onlyOptions('restoreState', options, 'name');
    const Op = this.isResource ? ReaderRestoreStateV2 : ReaderRestoreState;
    const inputs = { reader_handle: this.readerRef, state: convertToTensor(state, { dtype: string, name: 'state' }) };
    return Op.node(inputs, options);
  }

  /** Makes the reader as new. Adds one `ReaderResetV2` node. */
  reset(options: Named = {}): Operation {
    onlyOptions('reset', options, 'name');
    return (this.isResource ? ReaderResetV2 : ReaderReset).node({ reader_handle: this.readerRef }, options);
  }
}

/** Gives the whole content of each file, under its name. Adds one `WholeFileReaderV2` node. */
export class WholeFileReader extends ReaderBase {
  constructor(options: Named = {}) {
    onlyOptions('tf.WholeFileReader', options, 'name');
    super(WholeFileReaderV2.build({}, options).reader_handle, true);
  }
}

/** Gives the work itself, as key and as value. Adds one `IdentityReaderV2` node. */
export class IdentityReader extends ReaderBase {
  constructor(options: Named = {}) {
    onlyOptions('tf.IdentityReader', options, 'name');
    super(IdentityReaderV2.build({}, options).reader_handle, true);
  }
}

/** Gives lines, without their ends, under the file's name and their number. Adds one `TextLineReaderV2` node. */
export class TextLineReader extends ReaderBase {
  constructor(options: Named & { readonly skipHeaderLines?: number | undefined } = {}) {
    const { skipHeaderLines, name } = onlyOptions('tf.TextLineReader', options, 'skipHeaderLines', 'name');
    super(TextLineReaderV2.build({}, { name, attrs: { skip_header_lines: skipHeaderLines ?? 0 } }).reader_handle);
  }
}

export interface FixedLengthRecordReaderOptions extends Named {
  /** Bytes to skip at the beginning of a file. */
  readonly headerBytes?: number | undefined;
  /** Bytes to leave at the end of a file. */
  readonly footerBytes?: number | undefined;
  /** From the beginning of one record to that of the next; the length of a record unless given. */
  readonly hopBytes?: number | undefined;
  /** How files are compressed. */
  readonly encoding?: '' | 'GZIP' | 'ZLIB' | undefined;
}

/** Gives records of one length. Adds one `FixedLengthRecordReaderV2` node. */
export class FixedLengthRecordReader extends ReaderBase {
  constructor(recordBytes: number, options: FixedLengthRecordReaderOptions = {}) {
    onlyOptions('tf.FixedLengthRecordReader', options, 'headerBytes', 'footerBytes', 'hopBytes', 'encoding', 'name');
    const attrs = {
      record_bytes: recordBytes,
      header_bytes: options.headerBytes ?? 0,
      footer_bytes: options.footerBytes ?? 0,
      hop_bytes: options.hopBytes ?? 0,
      encoding: options.encoding ?? '',
    };
    super(FixedLengthRecordReaderV2.build({}, { name: options.name, attrs }).reader_handle);
  }
}

export interface TFRecordReaderOptions extends Named {
  /** How the files are compressed: a `tf.io.TFRecordOptions`, or `compression` alone. */
  readonly options?: RecordOptionsLike | undefined;
  readonly compression?: RecordCompression | undefined;
}

/** Gives the records of TFRecord files. Adds one `TFRecordReaderV2` node. */
export class TFRecordReader extends ReaderBase {
  constructor(options: TFRecordReaderOptions = {}) {
    const given = onlyOptions('tf.TFRecordReader', options, 'options', 'compression', 'name');
    const { compression } = recordOptions(given.options ?? given.compression ?? '');
    super(TFRecordReaderV2.build({}, { name: given.name, attrs: { compression_type: compression } }).reader_handle);
  }
}
