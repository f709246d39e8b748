/** @file `tf.io`: files of records. */
export { type RecordCompression, type RecordOptions, TFRecordWriter, tfRecordIterator } from '../io/records.ts';
