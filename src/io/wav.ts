/** @file WAV files of 16-bit samples. */
import { InvalidArgumentError } from '../core/errors.ts';

const headerSize = 44;
const bytesPerSample = 2;

/** Samples between -1 and 1, frame by frame with their channels side by side, as a WAV file. */
export function encodeWav(samples: Float32Array, sampleRate: number, channels: number, frames: number): Uint8Array {
  if (frames > 0 && samples.length === 0) throw new InvalidArgumentError('audio is null');
  if (sampleRate <= 0 || sampleRate > 0xffffffff)
    throw new InvalidArgumentError(`sample_rate must be in (0, 2^32), got: ${sampleRate}`);
  if (channels <= 0 || channels > 0xffff)
    throw new InvalidArgumentError(`num_channels must be in (0, 2^16), got: ${channels}`);
  const dataSize = frames * channels * bytesPerSample;
  if (headerSize + dataSize > 0xffffffff)
    throw new InvalidArgumentError('Provided channels and frames cannot be encoded as a WAV.');
  const file = new Uint8Array(headerSize + dataSize);
  const view = new DataView(file.buffer);
  const text = (at: number, letters: string) => file.set(new TextEncoder().encode(letters), at);
  text(0, 'RIFF');
  view.setUint32(4, headerSize + dataSize - 8, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true); // the size of what describes the format
  view.setUint16(20, 1, true); // plain samples, not compressed
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * bytesPerSample * channels, true);
  view.setUint16(32, bytesPerSample * channels, true);
  view.setUint16(34, 8 * bytesPerSample, true);
  text(36, 'data');
  view.setUint32(40, dataSize, true);
  for (let i = 0; i < frames * channels; i++) view.setInt16(headerSize + 2 * i, sampleOf(samples[i]!), true);
  return file;
}

/** A sample as a whole number, halves rounded away from zero; what is too loud is cut off. */
function sampleOf(value: number): number {
  const scaled = value * 32768;
  const rounded = Math.sign(scaled) * Math.round(Math.abs(scaled));
  return Math.min(Math.max(rounded, -32768), 32767);
}
