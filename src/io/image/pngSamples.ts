/** @file From the samples of a PNG file to pixels with the channels and the depth that are asked for. */
import type { Pixels } from './pixels.ts';

/** What a PNG file says about its pixels. */
export interface PngHeader {
  readonly width: number;
  readonly height: number;
  /** Bits per sample: 1, 2, 4, 8 or 16. */
  readonly depth: number;
  /** 0 grey, 2 colours, 3 palette, 4 grey and opacity, 6 colours and opacity. */
  readonly colour: number;
  readonly interlaced: boolean;
}

export interface PngTables {
  /** Red, green and blue of each colour of a palette. */
  readonly palette: Uint8Array | undefined;
  /** Opacities of a palette's colours, or the one sample or colour that is transparent, as 16-bit numbers. */
  readonly transparency: Uint8Array | undefined;
}

/** How many samples a pixel has in a file, by colour kind. */
export const samplesPerPixel: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** The number of channels of a file's pixels when nothing else is asked for: a palette counts as its colours. */
export function naturalChannels(header: PngHeader, tables: PngTables): number {
  if (header.colour === 3) return tables.transparency ? 4 : 3;
  return samplesPerPixel[header.colour]!;
}

/** What libpng multiplies red, green and blue by, in 1/32768, for the weights that TensorFlow asks it for. */
const greyWeights = [9797, 19234, 3737] as const;

/** The grey of a colour as libpng has it: rounded for 16 bits, cut off for 8. */
function greyOf(red: number, green: number, blue: number, rounding: number): number {
  if (red === green && red === blue) return red;
  return (greyWeights[0] * red + greyWeights[1] * green + greyWeights[2] * blue + rounding) >>> 15;
}

/**
 * Pixels with `channels` channels of `bits` bits. `samples` holds one number per sample, unscaled: a grey of a 1-bit file is
 * 0 or 1, a pixel of a palette its index.
 */
export function convertSamples(
  header: PngHeader,
  tables: PngTables,
  samples: Uint8Array | Uint16Array,
  channels: number,
  bits: 8 | 16,
): Pixels {
  const { width, height, depth, colour } = header;
  const count = width * height;
  const data = bits === 16 ? new Uint16Array(count * channels) : new Uint8Array(count * channels);
  const store = storing(data, depth, bits);
  const pixels = { width, height, channels, data };
  const perPixel = samplesPerPixel[colour]!;
  if (colour !== 3 && perPixel === channels && depth >= 8 && !(channels % 2 === 0 && tables.transparency)) {
    for (let i = 0; i < data.length; i++) store(i, samples[i]!);
    return pixels;
  }
  const wantGrey = channels < 3;
  const wantAlpha = channels % 2 === 0;
  // libpng fills missing opacities with the largest number of the file's depth, also when grey is stretched to 8 bits.
  const opaque = 2 ** depth - 1;
  const full = depth === 16 ? 65535 : 255;
  const stretch = depth < 8 && colour === 0 ? 255 / opaque : 1;
  const rounding = depth === 16 ? 16384 : 0;
  const key = transparentSample(header, tables);
  let to = 0;
  for (let i = 0; i < count; i++) {
    let red: number;
    let green: number;
    let blue: number;
    let alpha = opaque;
    const from = i * perPixel;
    if (colour === 3) {
      const index = samples[from]!;
      const [palette, transparency] = [tables.palette!, tables.transparency];
      [red, green, blue] = [palette[index * 3] ?? 0, palette[index * 3 + 1] ?? 0, palette[index * 3 + 2] ?? 0];
      if (transparency) alpha = transparency[index] ?? 255;
    } else if (perPixel < 3) {
      const grey = samples[from]!;
      red = green = blue = grey * stretch;
      if (perPixel === 2) alpha = samples[from + 1]!;
      else if (key) alpha = grey === key[0] ? 0 : full;
    } else {
      red = samples[from]!;
      green = samples[from + 1]!;
      blue = samples[from + 2]!;
      if (perPixel === 4) alpha = samples[from + 3]!;
      else if (key) alpha = red === key[0] && green === key[1] && blue === key[2] ? 0 : full;
    }
    if (wantGrey) store(to++, greyOf(red, green, blue, rounding));
    else {
      store(to++, red);
      store(to++, green);
      store(to++, blue);
    }
    if (wantAlpha) store(to++, alpha);
  }
  return pixels;
}

/** The one sample or colour of a file without opacities that is transparent. */
function transparentSample({ colour, depth }: PngHeader, { transparency }: PngTables): readonly number[] | undefined {
  if (!transparency || colour === 3) return undefined;
  const count = samplesPerPixel[colour]!;
  const mask = 2 ** depth - 1;
  return Array.from({ length: count }, (_, i) => ((transparency[2 * i]! << 8) | transparency[2 * i + 1]!) & mask);
}

/** Writes a sample at the wanted depth: 16 bits lose their lower half, 8 bits are doubled. */
function storing(data: Uint8Array | Uint16Array, depth: number, bits: 8 | 16): (at: number, sample: number) => void {
  if (depth === 16 && bits === 8) {
    return (at, sample) => {
      data[at] = sample >> 8;
    };
  }
  const factor = depth < 16 && bits === 16 ? 257 : 1;
  return (at, sample) => {
    data[at] = sample * factor;
  };
}
