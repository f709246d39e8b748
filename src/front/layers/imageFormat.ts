/** @file Images as layers are told about them: where the channels are, sizes per axis, padding. */
import { type Dims, showTuple } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';

/** One number per spatial axis. */
export function perSpatialAxis(value: number | readonly number[], rank: number, what: string): readonly number[] {
  const list = typeof value === 'number' ? new Array<number>(rank).fill(value) : value;
  if (!Array.isArray(list) || list.length !== rank || !list.every((n) => Number.isInteger(n) && n > 0))
    throw userError(
      `The \`${what}\` argument must be a positive integer or ${rank} of them. Received: ${JSON.stringify(value) ?? 'nothing'}`,
    );
  return list;
}

/** Where things are in images of so many spatial axes. */
export class ImageFormat {
  readonly channelsFirst: boolean;
  constructor(
    readonly rank: number,
    dataFormat: string = 'channels_last',
  ) {
    if (dataFormat !== 'channels_last' && dataFormat !== 'channels_first')
      throw userError(
        `The \`dataFormat\` argument must be one of "channels_first", "channels_last". Received: ${dataFormat}`,
      );
    this.channelsFirst = dataFormat === 'channels_first';
  }

  /** TensorFlow's letters, such as NHWC. */
  get letters(): string {
    const spatial = 'DHW'.slice(3 - this.rank);
    return this.channelsFirst ? `NC${spatial}` : `N${spatial}C`;
  }
  get channelAxis(): number {
    return this.channelsFirst ? 1 : this.rank + 1;
  }
  get spatialAxes(): readonly number[] {
    return Array.from({ length: this.rank }, (_, i) => i + (this.channelsFirst ? 2 : 1));
  }

  /** A list with an entry for every axis of the images. */
  everyAxis(spatial: readonly number[]): number[] {
    return this.channelsFirst ? [1, 1, ...spatial] : [1, ...spatial, 1];
  }

  /** The shape that images of a shape get when their spatial sizes, and perhaps their channels, change. */
  changed(inputShape: Dims, along: (size: number | null, axis: number) => number | null, channels?: number): Dims {
    if (inputShape === null) return null;
    if (inputShape.length !== this.rank + 2)
      throw userError(`Images have ${this.rank + 2} axes here, but the shape is ${showTuple(inputShape)}.`);
    return inputShape.map((size, i) => {
      if (i === this.channelAxis) return channels ?? size;
      const axis = this.spatialAxes.indexOf(i);
      return axis < 0 ? size : along(size, axis);
    });
  }

  channelsOf(inputs: { readonly shape: Tensor['shape'] }): number {
    const channels = inputs.shape?.[this.channelAxis] ?? null;
    if (channels === null)
      throw userError(
        'The channel dimension of the inputs should be defined. Found `None`. Give the placeholder a size there, or use setShape.',
      );
    return channels;
  }
}

export function checkPadding(padding: string = 'valid'): 'SAME' | 'VALID' {
  const upper = padding.toUpperCase();
  if (upper !== 'SAME' && upper !== 'VALID')
    throw userError(`The \`padding\` argument must be one of "valid", "same". Received: ${padding}`);
  return upper;
}

/** How many places a window has along an axis of some size; null where the size is unknown. */
export function windowsAlong(
  size: number | null,
  taps: number,
  step: number,
  padding: 'SAME' | 'VALID',
  dilation = 1,
): number | null {
  if (size === null) return null;
  const reach = (taps - 1) * dilation + 1;
  return Math.floor((padding === 'SAME' ? size + step - 1 : size - reach + step) / step);
}
