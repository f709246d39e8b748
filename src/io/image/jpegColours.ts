/** @file From the planes of a JPEG file's components to pixels: smaller planes are stretched, colours converted. */

/** The samples of a component, with its size in the output's scale. */
export interface Plane {
  readonly data: Uint8Array;
  /** Distance between rows. */
  readonly stride: number;
  /** Samples that belong to the image; those beyond are padding of the last blocks. */
  readonly width: number;
  readonly height: number;
  /** How many output samples there are for one of these, across and down. */
  readonly across: number;
  readonly down: number;
}

/** Writes row `y` of the output's scale to `row`. */
export type RowReader = (y: number, row: Uint8Array) => void;

/** How a plane is stretched; `fancy` interpolates factors of two, with libjpeg's rounding. */
export function rowReader(plane: Plane, width: number, fancy: boolean): RowReader {
  const { data, stride, across, down } = plane;
  if (across === 1 && down === 1) {
    return (y, row) => row.set(data.subarray(y * stride, y * stride + width));
  }
  if (fancy && across === 2 && down === 1 && plane.width > 2) return fancyAcross(plane);
  if (fancy && across === 2 && down === 2 && plane.width > 2) return fancyBoth(plane);
  if (fancy && across === 1 && down === 2) return fancyDown(plane, width);
  return (y, row) => {
    const from = Math.floor(y / down) * stride;
    for (let x = 0; x < width; x++) row[x] = data[from + Math.floor(x / across)]!;
  };
}

function fancyAcross({ data, stride, width }: Plane): RowReader {
  return (y, row) => {
    const from = y * stride;
    row[0] = data[from]!;
    row[1] = (data[from]! * 3 + data[from + 1]! + 2) >> 2;
    for (let x = 1; x < width - 1; x++) {
      const here = data[from + x]! * 3;
      row[2 * x] = (here + data[from + x - 1]! + 1) >> 2;
      row[2 * x + 1] = (here + data[from + x + 1]! + 2) >> 2;
    }
    const last = from + width - 1;
    row[2 * width - 2] = (data[last]! * 3 + data[last - 1]! + 1) >> 2;
    row[2 * width - 1] = data[last]!;
  };
}

/** The row that an output row lies in, and the nearer of its neighbours. */
function rowsFor(y: number, { stride, height }: Plane): readonly [number, number] {
  const here = y >> 1;
  const near = Math.min(Math.max(y & 1 ? here + 1 : here - 1, 0), height - 1);
  return [here * stride, near * stride];
}

function fancyBoth(plane: Plane): RowReader {
  const { data, width } = plane;
  return (y, row) => {
    const [here, near] = rowsFor(y, plane);
    let before: number;
    let sum = data[here]! * 3 + data[near]!;
    let next = data[here + 1]! * 3 + data[near + 1]!;
    row[0] = (sum * 4 + 8) >> 4;
    row[1] = (sum * 3 + next + 7) >> 4;
    for (let x = 1; x < width - 1; x++) {
      before = sum;
      sum = next;
      next = data[here + x + 1]! * 3 + data[near + x + 1]!;
      row[2 * x] = (sum * 3 + before + 8) >> 4;
      row[2 * x + 1] = (sum * 3 + next + 7) >> 4;
    }
    row[2 * width - 2] = (next * 3 + sum + 8) >> 4;
    row[2 * width - 1] = (next * 4 + 7) >> 4;
  };
}

function fancyDown(plane: Plane, width: number): RowReader {
  const { data } = plane;
  return (y, row) => {
    const [here, near] = rowsFor(y, plane);
    const bias = y & 1 ? 2 : 1;
    for (let x = 0; x < width; x++) row[x] = (data[here + x]! * 3 + data[near + x]! + bias) >> 2;
  };
}

/** How the components of a file are meant. */
export type ColourSpace = 'grey' | 'YCbCr' | 'RGB' | 'CMYK' | 'YCCK';

const clamp = (x: number) => (x < 0 ? 0 : x > 255 ? 255 : x);

/** Red, green and blue of luma and chroma, with 16-bit factors. */
const redOf = Int32Array.from({ length: 256 }, (_, i) => (91881 * (i - 128) + 32768) >> 16);
const blueOf = Int32Array.from({ length: 256 }, (_, i) => (116130 * (i - 128) + 32768) >> 16);
const greenOfCr = Int32Array.from({ length: 256 }, (_, i) => -46802 * (i - 128));
const greenOfCb = Int32Array.from({ length: 256 }, (_, i) => -22554 * (i - 128) + 32768);

/** Converts rows of components to a row of pixels with 1 or 3 channels. */
export function convertRow(
  space: ColourSpace,
  channels: number,
  inverted: boolean,
  rows: readonly Uint8Array[],
  out: Uint8Array,
  at: number,
  width: number,
): void {
  const [a, b, c, k] = rows;
  if (channels === 1) {
    if (space !== 'RGB') out.set(a!.subarray(0, width), at);
    else {
      for (let x = 0; x < width; x++) out[at + x] = (19595 * a![x]! + 38470 * b![x]! + 7471 * c![x]! + 32768) >> 16;
    }
    return;
  }
  for (let x = 0, to = at; x < width; x++, to += 3) {
    let red = a![x]!;
    let green = red;
    let blue = red;
    if (space === 'RGB' || space === 'CMYK') {
      green = b![x]!;
      blue = c![x]!;
    } else if (space !== 'grey') {
      const [cb, cr] = [b![x]!, c![x]!];
      const luma = red;
      red = clamp(luma + redOf[cr]!);
      green = clamp(luma + ((greenOfCb[cb]! + greenOfCr[cr]!) >> 16));
      blue = clamp(luma + blueOf[cb]!);
      if (space === 'YCCK') [red, green, blue] = [255 - red, 255 - green, 255 - blue];
    }
    if (k) {
      // What printers call black is stored inverted by Adobe's programs.
      const black = k[x]!;
      const ink = (value: number) => Math.trunc((inverted ? black * value : (255 - black) * (255 - value)) / 255);
      [red, green, blue] = [ink(red), ink(green), ink(blue)];
    }
    out[to] = red;
    out[to + 1] = green;
    out[to + 2] = blue;
  }
}
