/** @file Examples in memory, handed out in shuffled batches. */
import { InvalidArgumentError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';

/** Images (or other inputs) with their labels. */
export class ExampleSet<Images extends NDArray = NDArray, Labels extends NDArray = NDArray> {
  epochsCompleted = 0;
  private readonly order: Uint32Array;
  private next = 0;
  constructor(
    /** One example in each row. */
    readonly images: Images,
    readonly labels: Labels,
    private seed: number,
  ) {
    this.order = Uint32Array.from({ length: this.numExamples }, (_, i) => i);
    this.shuffle();
  }

  get numExamples(): number {
    return this.images.shape[0]!;
  }

  /** The next images and labels; reshuffles after each pass over all of them. */
  nextBatch(batchSize: number): [images: Images, labels: Labels] {
    if (batchSize < 1 || batchSize > this.numExamples)
      throw new InvalidArgumentError(`a batch of ${batchSize} cannot be taken from ${this.numExamples} examples`);
    if (this.next + batchSize > this.numExamples) {
      this.epochsCompleted++;
      this.shuffle();
      this.next = 0;
    }
    const rows = this.order.subarray(this.next, (this.next += batchSize));
    return [pick(this.images, rows), pick(this.labels, rows)];
  }

  private shuffle(): void {
    for (let i = this.order.length - 1; i > 0; i--) {
      const j = this.random() % (i + 1);
      [this.order[i], this.order[j]] = [this.order[j]!, this.order[i]!];
    }
  }

  /** mulberry32: small, well mixed, and the same everywhere. */
  private random(): number {
    this.seed = (this.seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  }
}

function pick<A extends NDArray>(array: A, rows: Uint32Array): A {
  const { data, dtype, shape } = array;
  const width = data.length / shape[0]!;
  const out = dtype.allocate(rows.length * width);
  // The two arrays have one dtype, so `set` never mixes numbers and bigints.
  for (const [i, row] of rows.entries())
    (out as Float32Array).set(data.subarray(row * width, (row + 1) * width) as Float32Array, i * width);
  return new NDArray(dtype, [rows.length, ...shape.slice(1)], out) as A; // same dtype, fewer rows
}
