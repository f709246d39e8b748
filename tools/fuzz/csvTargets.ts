/** @file Damaged comma-separated values, for TypeScript and for the native library. */
import * as d from '../../src/core/dtypes.ts';
import { InvalidArgumentError } from '../../src/core/errors.ts';
import { zeros } from '../../src/core/ndarray.ts';
import { CsvCutter, csvInteger, csvNumber, latin1 } from '../../src/io/csv.ts';
import { CsvRecordReader } from '../../src/io/csvRecords.ts';
import { csvBeside, NativeCsvRecords } from '../../src/io/nativeCsv.ts';
import { among, encode, type Target } from './target.ts';

const csv = { delimiter: 44, useQuotes: true, columns: [] };
const csvSeeds = [encode('1,2.5,"a ""b"", c",,-7e3\n'), encode('nan,inf,"x\ny",9223372036854775807,0x1f')];
const columns = [d.float32, d.float64, d.string, d.int64, d.float32].map((type) => zeros(type, [1]));

export const csvTargets: readonly Target[] = [
  {
    name: 'CSV',
    seeds: csvSeeds,
    read(bytes) {
      const cutter = new CsvCutter(csv);
      for (let i = cutter.cut(bytes) - 1; i >= 0; i--) {
        csvNumber(latin1(cutter.field(i)));
        csvInteger(latin1(cutter.field(i)), 64);
      }
    },
  },
  {
    name: 'batches of CSV',
    seeds: csvSeeds,
    async read(bytes) {
      const lines = among(bytes, encode('1,2.5,text,,-7e3'));
      const found = await csvBeside(lines, csv, encode('NA'), columns, [lines.length]);
      if (!found) throw new InvalidArgumentError('the library leaves it to TypeScript');
    },
  },
  {
    name: 'files of CSV',
    seeds: [...csvSeeds, encode('1,2.5,"a",9,-7e3\r\n,,,,\r2,nan,"b\n""c""",NA,0x1f\n\n3,4,d,5,6')],
    async read(bytes) {
      const options = { ...csv, excluded: [], defaults: columns, notAvailable: encode('NA') };
      const reader = new CsvRecordReader(options);
      const native = NativeCsvRecords.reader(options);
      let wrong: InvalidArgumentError | undefined;
      for (const isLast of [false, true])
        for (let at = 0; at < bytes.length; at = reader.end) {
          const found = await native?.read(bytes, at, isLast);
          const outcome = reader.read(bytes, at, isLast);
          // Whatever the library takes, TypeScript takes too, up to the same byte.
          if (found && found.count > 0 && (!Array.isArray(outcome) || reader.end - at !== found.ends[0]))
            throw new Error('the library and TypeScript disagree');
          if (!outcome) break;
          if (outcome instanceof InvalidArgumentError) wrong ??= outcome;
        }
      if (wrong) throw wrong;
    },
  },
];
