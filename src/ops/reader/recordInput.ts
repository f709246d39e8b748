/** @file RecordInput: records of TFRecord files in random order, epoch after epoch. */
import { string } from '../../core/dtypes.ts';
import { InvalidArgumentError, NotFoundError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { matchingPaths } from '../../io/glob.ts';
import { type RecordCompression, tfRecordIterator } from '../../io/records.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { Philox } from '../../program/philox.ts';
import { philoxState } from '../../program/philoxState.ts';

interface YielderOptions {
  readonly pattern: string;
  readonly seed: number;
  /** By which part of the files' number their order is turned from epoch to epoch. */
  readonly shift: number;
  /** How many records there are to choose from. */
  readonly buffer: number;
  /** How many files are open at once. */
  readonly parallelism: number;
  readonly compression: RecordCompression;
}

/** Gives every record once in each epoch. */
class RecordYielder implements Disposable {
  private readonly random: Philox;
  private epoch = 0;
  private files: string[] = [];
  private open: AsyncIterableIterator<Uint8Array>[] = [];
  private next = 0;
  private readonly records: Uint8Array[] = [];
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: YielderOptions) {
    this.random = new Philox(new DataView(philoxState(options.seed, 0).buffer), 0);
  }

  /** So many records; calls are served one after the other. */
  take(count: number): Promise<Uint8Array[]> {
    const mine = this.turn.then(async () => {
      const taken: Uint8Array[] = [];
      while (taken.length < count) taken.push(await this.one());
      return taken;
    });
    this.turn = mine.catch(() => {});
    return mine;
  }

  private async one(): Promise<Uint8Array> {
    if (this.records.length === 0 && this.files.length === 0 && this.open.length === 0) this.beginEpoch();
    while (this.records.length < this.options.buffer && (await this.readOne()));
    const { records } = this;
    if (records.length === 0) throw new NotFoundError(`There are no records in ${this.options.pattern}`);
    const at = this.random.next() % records.length;
    const record = records[at]!;
    records[at] = records.at(-1)!;
    records.pop();
    return record;
  }

  private beginEpoch(): void {
    const { pattern, shift } = this.options;
    const found = matchingPaths(pattern);
    if (found.length === 0) throw new NotFoundError(`Found no files at ${pattern}`);
    for (let i = found.length - 1; i > 0; i--) {
      const k = this.random.next() % (i + 1);
      [found[i], found[k]] = [found[k]!, found[i]!];
    }
    const start = Math.floor(shift * found.length * this.epoch++) % found.length;
    this.files = [...found.slice(start), ...found.slice(0, start)];
  }

  /** Reads a record of one of the open files, in turn; false at the end of the epoch. */
  private async readOne(): Promise<boolean> {
    const { parallelism, compression } = this.options;
    for (;;) {
      while (this.open.length < parallelism && this.files.length > 0)
        this.open.push(tfRecordIterator(this.files.shift()!, { compression }));
      if (this.open.length === 0) return false;
      const at = this.next++ % this.open.length;
      const { done, value } = await this.open[at]!.next();
      if (!done) {
        this.records.push(value);
        return true;
      }
      this.open.splice(at, 1);
    }
  }

  [Symbol.dispose](): void {
    for (const file of this.open.splice(0)) void file.return?.();
  }
}

const compressions: readonly string[] = ['', 'GZIP', 'ZLIB'];

export const RecordInput = defineOp({
  name: 'RecordInput',
  inputs: {},
  outputs: { records: 'string' },
  attrs: {
    file_pattern: attr('string'),
    file_random_seed: attr('int', { default: 301 }),
    file_shuffle_shift_ratio: attr('float', { default: 0 }),
    file_buffer_size: attr('int', { default: 10000 }),
    file_parallelism: attr('int', { default: 16 }),
    batch_size: attr('int', { default: 32 }),
    compression_type: attr('string', { default: '' }),
  },
  stateful: true,
  shape: () => ({ records: null }),
  grad: notDifferentiable,
  lower(p, _, attrs) {
    const { file_buffer_size, file_parallelism, batch_size, file_shuffle_shift_ratio, compression_type } = attrs;
    for (const [name, value] of Object.entries({ file_buffer_size, file_parallelism, batch_size }))
      if (value <= 0) throw new InvalidArgumentError(`${name} should be a positive number, but is ${value}`);
    if (file_shuffle_shift_ratio < 0 || file_shuffle_shift_ratio > 1)
      throw new InvalidArgumentError(
        `file_shuffle_shift_ratio should be between 0 and 1, but is ${file_shuffle_shift_ratio}`,
      );
    if (!compressions.includes(compression_type))
      throw new InvalidArgumentError(`Unsupported compression_type: ${compression_type}. Use '', 'GZIP' or 'ZLIB'.`);
    const options: YielderOptions = {
      pattern: attrs.file_pattern,
      seed: attrs.file_random_seed,
      shift: file_shuffle_shift_ratio,
      buffer: file_buffer_size,
      parallelism: file_parallelism,
      compression: compression_type as RecordCompression, // one of them
    };
    const handle = p.unshared('', () => new RecordYielder(options)).known!; // p.unshared gives it
    const [records] = p.host([], [{ dtype: string, shape: [batch_size] }], async () => [
      new NDArray(string, [batch_size], await sharedObject(handle, RecordYielder).take(batch_size)),
    ]);
    return { records: records! };
  },
  cases: () => [{ shape: '-> ?', attrs: { file_pattern: 'none' } }],
});
