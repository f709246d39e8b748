/** @file PNG's row filters: each byte as its difference from bytes to the left and above. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';

/** The neighbour that Paeth's predictor picks: whichever of left, above and above-left is nearest to left + above - corner. */
function paeth(left: number, above: number, corner: number): number {
  const toLeft = Math.abs(above - corner);
  const toAbove = Math.abs(left - corner);
  const toCorner = Math.abs(left + above - 2 * corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

/**
 * Undoes the filters of `height` rows in place. Each row is a filter byte and `rowBytes` bytes; `step` is the distance to the
 * same sample of the pixel on the left. Returns the position after the last row.
 */
export function unfilter(raw: Uint8Array, begin: number, height: number, rowBytes: number, step: number): number {
  let at = begin;
  for (let y = 0; y < height; y++) {
    const filter = raw[at]!;
    const row = at + 1;
    const end = row + rowBytes;
    const first = y === 0;
    const up = rowBytes + 1; // distance to the byte above
    if (filter > 4)
      throw new InvalidArgumentError(`Invalid PNG data: row ${y} has the filter ${filter}; there are 0 to 4.`);
    if (filter === 1 || (filter === 4 && first)) {
      for (let i = row + step; i < end; i++) raw[i] = raw[i]! + raw[i - step]!;
    } else if (filter === 2) {
      if (!first) for (let i = row; i < end; i++) raw[i] = raw[i]! + raw[i - up]!;
    } else if (filter === 3) {
      for (let i = row; i < end; i++) {
        const left = i - row < step ? 0 : raw[i - step]!;
        raw[i] = raw[i]! + ((left + (first ? 0 : raw[i - up]!)) >> 1);
      }
    } else if (filter === 4) {
      for (let i = row; i < row + step && i < end; i++) raw[i] = raw[i]! + raw[i - up]!;
      for (let i = row + step; i < end; i++)
        raw[i] = raw[i]! + paeth(raw[i - step]!, raw[i - up]!, raw[i - up - step]!);
    }
    at = end;
  }
  return at;
}

/** Writes one row with a filter to `out`, filter byte first, and returns the sum of the differences' sizes. */
function filterRow(
  filter: number,
  rows: Uint8Array,
  row: number,
  rowBytes: number,
  step: number,
  out: Uint8Array,
  at: number,
): number {
  const hasAbove = row >= rowBytes;
  let sum = 0;
  out[at] = filter;
  for (let i = 0; i < rowBytes; i++) {
    const here = row + i;
    const left = i < step ? 0 : rows[here - step]!;
    const above = hasAbove ? rows[here - rowBytes]! : 0;
    let guess = 0;
    if (filter === 1) guess = left;
    else if (filter === 2) guess = above;
    else if (filter === 3) guess = (left + above) >> 1;
    else if (filter === 4) guess = paeth(left, above, hasAbove && i >= step ? rows[here - rowBytes - step]! : 0);
    const difference = (rows[here]! - guess) & 255;
    out[at + 1 + i] = difference;
    sum += difference < 128 ? difference : 256 - difference;
  }
  return sum;
}

/** Rows with the filter that makes each row's bytes smallest, which is what deflate likes. */
export async function filterRows(
  rows: Uint8Array,
  height: number,
  rowBytes: number,
  step: number,
): Promise<Uint8Array> {
  const out = new Uint8Array(height * (rowBytes + 1));
  const trial = new Uint8Array(rowBytes + 1);
  const filterBest = (y: number) => {
    const at = y * (rowBytes + 1);
    let best = filterRow(0, rows, y * rowBytes, rowBytes, step, out, at);
    for (let filter = 1; filter <= 4; filter++) {
      const sum = filterRow(filter, rows, y * rowBytes, rowBytes, step, trial, 0);
      if (sum >= best) continue;
      best = sum;
      out.set(trial, at);
    }
  };
  await eachInTurns(height, filterBest, Math.max(1, Math.floor(8192 / rowBytes)));
  return out;
}
