/** @file Rows about TFRecord files. */
import { join } from 'node:path';
import { type RecordCompression, tfRecordIterator } from '../../src/io/records.ts';
import { TFRecordWriter } from '../../src/io/recordWriter.ts';
import { noise, type Row } from './row.ts';

async function write(path: string, size: number, count: number, compression: RecordCompression = ''): Promise<void> {
  const writer = new TFRecordWriter(path, { compression });
  const record = noise(size);
  for (let i = 0; i < count; i++) await writer.write(record);
  await writer.close();
}

function reading(name: string, size: number, count: number, compression: RecordCompression = ''): Row {
  return {
    name,
    unit: 'MB',
    amount: (size * count) / 1e6,
    async prepare(folder) {
      const path = join(folder, `${name}.tfrecords`);
      await write(path, size, count, compression);
      return {
        async run() {
          let bytes = 0;
          for await (const record of tfRecordIterator(path, { compression })) bytes += record.length;
          if (bytes !== size * count) throw new Error(`${name}: ${bytes} bytes were read`);
        },
      };
    },
  };
}

const writing: Row = {
  name: 'records_written',
  unit: 'MB',
  amount: 50,
  prepare: async (folder) => ({ run: () => write(join(folder, 'ours.tfrecords'), 1000, 50_000) }),
};

export const recordRows: readonly Row[] = [
  reading('records_of_1_KB', 1000, 100_000),
  reading('records_of_100_KB', 100_000, 1000),
  reading('records_gzip', 1000, 20_000, 'GZIP'),
  writing,
];
