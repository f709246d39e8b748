/** @file What benchmarks print becomes the tables of docs/performance.md. */
import { describe, expect, it } from 'vitest';
import { type Run, rowsOf } from '../../../bench/page/results.ts';
import { conv, data, gemm, memory, random, spine, training } from '../../../bench/page/tables.ts';

const runOf = <Row>(rows: readonly Row[]): Run<Row> => ({ command: 'npm run it', load: [0.04, 1.26], rows });

describe('rows of a benchmark', () => {
  it('come one per line, or all in one object', () => {
    const rows = [{ name: 'a' }, { name: 'b' }];
    expect(rowsOf(`${rows.map((row) => JSON.stringify(row)).join('\n')}\n`)).toEqual(rows);
    expect(rowsOf(`${JSON.stringify({ load: 1, rows }, null, 1)}\n`)).toEqual(rows);
  });
});

describe('tables', () => {
  it('say how many ratios reach the aim, beside all numbers of threads', () => {
    const row = (threads: number, name: string, tensorloom: number, copy: number) => ({
      ...{ threads, name, tensorloom, copy, ratio: tensorloom / copy },
    });
    const rows = [row(1, 'add', 8, 10), row(1, 'sum', 5, 10), row(2, 'add', 18, 20)];
    expect(memory(runOf(rows)).split('\n')).toEqual([
      '`npm run it`, load 0.0 before and 1.3 after; 2 of 3 are at 0.8 or more, the median is 0.80, the least 0.50.',
      '',
      '| what, GB/s | one thread | copy | ratio | 2 threads | copy | ratio |',
      '|---|---|---|---|---|---|---|',
      '| add | 8.0 | 10.0 | 0.80 | 18.0 | 20.0 | 0.90 |',
      '| sum | 5.0 | 10.0 | 0.50 | – | – | – |',
    ]);
  });

  it('have steps by their times, with what their multiplications take, and products by their speed', () => {
    const times = { tensorloom: { best: 50, median: 60.4 }, pytorch: { best: 100, median: 120 } };
    const rows = [
      { step: 'mlp', threads: 1, ratio: 2, rounds: [1.5, 2.25] as const, floor: 40.4, times },
      { step: 'product256x256x256', threads: 1, ratio: 2, rounds: null, floor: 30, times },
    ];
    const lines = training(runOf(rows)).split('\n');
    expect(lines[0]).toContain('of the steps 1 of 1 are at 1.5 or more');
    expect(lines).toContain('| MLP 784-512-512-10, batch 128, SGD | 50 (60) | 100 (120) | 2.00 (1.50–2.25) | 40 |');
    expect(lines).toContain('| product 256 x 256 x 256 | 671 (556) | 336 (280) | 2.00 |');
  });

  it('have the transposes of a product in one cell', () => {
    const row = (name: string, ratio: number | null) => ({ threads: 1, case: name, tensorloom: 100, ratio });
    const rows = [row('f32 8x8x8 nn', 1.5), row('f32 8x8x8 tt', 0.85), row('f64 8x8x8 nn', null)];
    expect(gemm(runOf(rows)).split('\n').slice(-2)).toEqual([
      '| f32 8x8x8 | 1.50, –, –, 0.85 |',
      '| f64 8x8x8 | –, –, –, – |',
    ]);
    expect(gemm(runOf(rows))).toContain('1 of 2 are at 0.9 or more');
  });

  it('say that there was no peer', () => {
    const rows = [{ threads: 1, case: 'small', tensorloom: 12.34, ratio: null }];
    expect(conv(runOf(rows))).toContain('no peer is installed');
    expect(conv(runOf(rows))).toContain('| small | 12.3 | – | – |');
  });

  it('say how many times as fast as TensorFlow', () => {
    const numbers = [{ threads: 1, name: 'uniform', tensorloom: 50, tensorflow: 125 }];
    expect(random(runOf(numbers))).toContain('| uniform | 50 | 125 | 2.50 |');
    const rows = [{ row: 'read_records', unit: 'MB/s', tensorloom: 1234.5, tensorflow: 617.25, ratio: 2 }];
    expect(data(runOf(rows))).toContain('| read records | 1,235 | 617 | 2.00 | MB/s |');
    const calls = [{ name: 'run', tensorloom: { median: 2, min: 1, max: 4 }, tensorflow: { median: 30 } }];
    expect(spine(runOf(calls))).toContain('| run | 2.0 (1.0–4.0) | 30.0 | 15.0 |');
  });
});
