/** @file `tf.pythonIo`: the first name of what is in `tf.io` about files of records. */
export { TFRecordCompressionType, TFRecordOptions, tfRecordIterator } from '../io/records.ts';
export { TFRecordWriter } from '../io/recordWriter.ts';
