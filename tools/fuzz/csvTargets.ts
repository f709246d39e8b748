/** @file Damaged comma-separated values, for TypeScript and for the native library. */
import * as d from '../../src/core/dtypes.ts';
import { InvalidArgumentError } from '../../src/core/errors.ts';
import { zeros } from '../../src/core/ndarray.ts';
import { CsvCutter, csvInteger, csvNumber, latin1 } from '../../src/io/csv.ts';
import { csvBeside } from '../../src/io/nativeCsv.ts';
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
];
