/** @file Decoded images: rows of pixels, each pixel its channels side by side. */
import { InvalidArgumentError } from '../../core/errors.ts';

/** An image in memory, row after row from the top; 16-bit samples are in the machine's byte order. */
export interface Pixels<Data extends Uint8Array | Uint16Array = Uint8Array | Uint16Array> {
  readonly width: number;
  readonly height: number;
  /** 1 grey, 2 grey and opacity, 3 colours, 4 colours and opacity. */
  readonly channels: number;
  readonly data: Data;
}

/** Images above this many samples are refused: their size alone would be more than TensorFlow's kernels count to. */
export const largestImage = 2 ** 29;

/** The number of samples of an image; throws for one that is too large or has no pixels. */
export function sampleCount(kind: string, width: number, height: number, channels: number): number {
  if (width < 1 || height < 1) throw new InvalidArgumentError(`${kind} has invalid size: ${width} by ${height}.`);
  const samples = width * height * channels;
  if (samples >= largestImage) {
    throw new InvalidArgumentError(
      `${kind} size too large: ${width} by ${height} with ${channels} channels is ${samples} samples; ` +
        `at most ${largestImage - 1} are decoded.`,
    );
  }
  return samples;
}

/** Memory of undefined content, for a decoder that fills all of it. */
export function unfilled(bytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
}
