/** @file AudioSummary and AudioSummaryV2: sounds as WAV files. */
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { encodeWav } from '../../io/wav.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { Value } from '../../program/value.ts';
import type { SummaryValue } from '../../proto/event.ts';
import type { Init } from '../../proto/message.ts';
import { numberedTag, summaryArray, summaryResult, textOf, wantScalar } from './encode.ts';

const maxOutputs = attr('int', { default: 3, minimum: 1 });

/** TensorFlow's summary of the three samples in the cases below. */
const wavSummary =
  '0a530a07732f617564696f32480d0000fa45100118032232524946462a00000057415645666d74201000000001000100401f0000803e0000' +
  '0200100064617461060000000000004000802a09617564696f2f776176';

function checkAudio(tag: Value, tensor: Value): void {
  wantScalar(tag, 'Tag must be a scalar');
  const rank = tensor.shape.length;
  if (rank < 2 || rank > 3)
    throw new InvalidArgumentError(`Tensor must be 3-D or 2-D, got: ${showRuntime(tensor.shape)}`);
}

/** A whole number next to `x`; of two as near, the even one, as the C library rounds. */
function roundToEven(x: number): number {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}

/** One summary value for each of the first sounds of a batch. */
export function audioValues(tag: string, batch: NDArray, sampleRate: number, max: number): Init<SummaryValue>[] {
  if (!(sampleRate > 0)) throw new InvalidArgumentError('sample_rate must be > 0');
  const [size = 0, frames = 0, channels = 1] = batch.shape;
  const samples = batch.data as Float32Array; // the op takes float32 only
  return Array.from({ length: Math.min(max, size) }, (_, i) => ({
    tag: numberedTag(tag, 'audio', i, max),
    audio: {
      sample_rate: sampleRate,
      num_channels: channels,
      length_frames: frames,
      encoded_audio_string: encodeWav(
        samples.subarray(i * frames * channels, (i + 1) * frames * channels),
        Math.max(1, roundToEven(sampleRate)),
        channels,
        frames,
      ),
      content_type: 'audio/wav',
    },
  }));
}

export const AudioSummaryV2 = defineOp({
  name: 'AudioSummaryV2',
  inputs: { tag: 'string', tensor: 'float32', sample_rate: 'float32' },
  outputs: { summary: 'string' },
  attrs: { max_outputs: maxOutputs },
  shape: () => ({ summary: [] }),
  grad: notDifferentiable,
  lower(p, { tag, tensor, sample_rate }, { max_outputs }) {
    checkAudio(tag, tensor);
    const [summary] = p.host([tag, tensor, sample_rate], summaryResult, ([text, batch, rate]) => {
      if (rate!.size !== 1) throw new InvalidArgumentError('sample_rate must be rank-0 or contain a single value');
      return [summaryArray(audioValues(textOf(text!), batch!, rate!.numberAt(0), max_outputs))];
    });
    return { summary: summary! };
  },
  cases: () => [
    { shape: '[], [?, 10], [] -> []' },
    { shape: '[], [1, 10, ?], ? -> []' },
    {
      given: { tag: 's', tensor: [[0, 0.5, -1.5]], sample_rate: 8000 },
      attrs: { max_outputs: 1 },
      expect: { summary: Buffer.from(wavSummary, 'hex') },
    },
    { given: { tag: ['s'], tensor: [[0, 0]], sample_rate: 8000 }, fails: /Tag must be a scalar/ },
    { given: { tag: 's', tensor: [0, 0], sample_rate: 8000 }, fails: /Tensor must be 3-D or 2-D, got: \[2\]/ },
    { given: { tag: 's', tensor: [[0, 0]], sample_rate: 0 }, fails: /sample_rate must be > 0/ },
    {
      given: { tag: 's', tensor: [[0, 0]], sample_rate: [1, 2] },
      fails: /sample_rate must be rank-0 or contain a single value/,
    },
    {
      given: { tag: 's', tensor: { dtype: 'float32', value: [], shape: [1, 3, 0] }, sample_rate: 8000 },
      fails: /audio is null/,
    },
  ],
});

export const AudioSummary = defineOp({
  name: 'AudioSummary',
  inputs: { tag: 'string', tensor: 'float32' },
  outputs: { summary: 'string' },
  attrs: { sample_rate: attr('float'), max_outputs: maxOutputs },
  deprecatedSince: 15,
  shape: () => ({ summary: [] }),
  grad: notDifferentiable,
  lower(p, { tag, tensor }, { sample_rate, max_outputs }) {
    checkAudio(tag, tensor);
    const [summary] = p.host([tag, tensor], summaryResult, ([text, batch]) => [
      summaryArray(audioValues(textOf(text!), batch!, sample_rate, max_outputs)),
    ]);
    return { summary: summary! };
  },
  cases: () => [
    { shape: '[], [?, 10] -> []', attrs: { sample_rate: 8000 } },
    {
      given: { tag: 's', tensor: [[0, 0.5, -1.5]] },
      attrs: { sample_rate: 8000, max_outputs: 1 },
      expect: { summary: Buffer.from(wavSummary, 'hex') },
    },
  ],
});
