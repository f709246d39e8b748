/** @file The histogram of TensorFlow's summaries: buckets that grow by a tenth, on both sides of zero. */
import { type DType, float32, float64, int32 } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { nativeFamily } from '../../io/native.ts';
import type { HistogramProto } from '../../proto/event.ts';
import type { Init } from '../../proto/message.ts';

/** Upper ends of the buckets; a bucket holds what is below its end and not below the end before. */
const limits: Float64Array = (() => {
  const positive: number[] = [];
  // The same multiplications in the same order as TensorFlow's, so that every limit has the same bits.
  for (let limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push(limit);
  positive.push(Number.MAX_VALUE);
  return Float64Array.of(...positive.map((limit) => -limit).reverse(), 0, ...positive);
})();

const count = nativeFamily(({ later }) =>
  later(
    'int32_t tl_histogram(int32_t kind, int64_t values, int64_t size, int64_t limits, int64_t count, int64_t cells, int64_t counts, int64_t statistics)',
  ),
);
/** The types that the native library counts. */
const kinds = [float32, float64, int32] as readonly DType[];
/** Fewer numbers are counted sooner than they are handed over. */
const worthwhile = 2 ** 14;
const problems = [undefined, Number.NaN, Number.POSITIVE_INFINITY] as const;

/** Counts numbers by their size, and remembers the extremes and the sums. */
export class Histogram {
  private readonly counts = new Float64Array(limits.length);
  private min = Number.MAX_VALUE;
  private max = -Number.MAX_VALUE;
  private count = 0;
  private sum = 0;
  private sumOfSquares = 0;

  /**
   * Counts all numbers of an array beside the event loop; gives the first that is not finite, if there is one. Does nothing and
   * gives false where that cannot be done, or is not worth while.
   */
  async addBeside({ dtype, data, size }: NDArray): Promise<number | undefined | false> {
    const native = size < worthwhile || !kinds.includes(dtype) ? undefined : count();
    if (!native) return false;
    cells ??= cellTable();
    const statistics = Float64Array.of(this.min, this.max, this.count, this.sum, this.sumOfSquares);
    const values = data as Float64Array; // the types that are counted hold plain numbers
    const kind = kinds.indexOf(dtype);
    const problem = await native(kind, values, size, limits, limits.length, cells, this.counts, statistics);
    this.min = statistics[0]!;
    this.max = statistics[1]!;
    this.count = statistics[2]!;
    this.sum = statistics[3]!;
    this.sumOfSquares = statistics[4]!;
    return problems[problem];
  }

  /** Counts a finite number. */
  add(value: number): void {
    this.counts[bucketOf(value)]! += 1;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    this.count++;
    this.sum += value;
    this.sumOfSquares += value * value;
  }

  /** As a message; each run of empty buckets is one bucket. */
  toProto(): Init<HistogramProto> {
    const bucket_limit: number[] = [];
    const bucket: number[] = [];
    for (let i = 0; i < limits.length; i++) {
      if (this.counts[i] === 0) while (i + 1 < limits.length && this.counts[i + 1] === 0) i++;
      bucket_limit.push(limits[i]!);
      bucket.push(this.counts[i]!);
    }
    const { min, max, count, sum, sumOfSquares } = this;
    return { min, max, num: count, sum, sum_squares: sumOfSquares, bucket_limit, bucket };
  }
}

/** The first bucket whose end is above the value, by halving. */
function search(value: number): number {
  let low = 0;
  let high = limits.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (limits[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** How many of a number's lowest bits do not choose its cell: sign, exponent and four bits of the fraction do. */
const cellShift = 16;
const number = new Float64Array(1);
const halves = new Uint32Array(number.buffer);
const highHalf = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0;
let cells: Uint16Array | undefined;

/**
 * For each cell of numbers, the bucket of its least one. Within a cell numbers grow by less than a tenth, so that a number's
 * bucket is this one or the next: far quicker than halving, whose every step the processor guesses wrong half of the time.
 */
function cellTable(): Uint16Array {
  const table = new Uint16Array(2 ** 16);
  for (let cell = 0; cell < table.length; cell++) {
    const isNegative = cell >= 2 ** 15;
    // The least negative number of a cell is the one with the most bits set.
    halves[highHalf] = cell * 2 ** cellShift + (isNegative ? 2 ** cellShift - 1 : 0);
    halves[1 - highHalf] = isNegative ? 0xffffffff : 0;
    table[cell] = search(number[0]!);
  }
  return table;
}

/** The first bucket whose end is above the value; a value that is not below the last end is in the last bucket. */
function bucketOf(value: number): number {
  cells ??= cellTable();
  number[0] = value;
  let bucket = cells[halves[highHalf]! >>> cellShift]!;
  while (bucket < limits.length - 1 && limits[bucket]! <= value) bucket++;
  return bucket;
}
