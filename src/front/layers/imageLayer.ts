/** @file What convolution layers of all kinds share: kernels moved over images, a bias per filter. */
import type { Dims } from '../../core/shape.ts';
import { byName, type Placed } from '../../graph/options.ts';
import { userError } from '../../graph/userError.ts';
import {
  BiasedLayer,
  type BiasOptions,
  biasOptionNames,
  type KernelOptions,
  kernelOptionNames,
} from './biasedLayer.ts';
import { checkPadding, ImageFormat, perSpatialAxis, windowsAlong } from './imageFormat.ts';

export interface ImageOptions extends BiasOptions {
  /** A number, or one per spatial axis; 1 unless given. */
  readonly strides?: number | readonly number[] | undefined;
  readonly padding?: 'valid' | 'same' | 'VALID' | 'SAME' | undefined;
  readonly dataFormat?: 'channels_last' | 'channels_first' | undefined;
}
const ownNames = ['strides', 'padding', 'dataFormat'] as const;
export const imageOptionNames = [...biasOptionNames, ...ownNames] as const;

export interface DilationOption {
  /** How far apart the kernel's elements are. */
  readonly dilationRate?: number | readonly number[] | undefined;
}

/** What convolution layers with one kernel can be told. */
export interface ConvLayerOptions extends ImageOptions, KernelOptions, DilationOption {}
export const convOptionNames = [...kernelOptionNames, ...ownNames] as const;

/** A layer that moves kernels over images; `rank` counts the axes of an image. */
export abstract class ImageLayer<O extends ImageOptions> extends BiasedLayer<O> {
  readonly kernelSize: readonly number[];
  protected readonly strides: readonly number[];
  protected readonly format: ImageFormat;
  protected readonly padding: 'SAME' | 'VALID';

  constructor(
    protected readonly rank: number,
    readonly filters: number,
    kernelSize: number | readonly number[],
    options: O,
  ) {
    super(options);
    if (!Number.isInteger(filters) || filters <= 0)
      throw userError(
        `Received an invalid value for \`filters\`, expected a positive integer, got ${JSON.stringify(filters)}.`,
      );
    this.kernelSize = perSpatialAxis(kernelSize, rank, 'kernelSize');
    this.strides = perSpatialAxis(options.strides ?? 1, rank, 'strides');
    this.format = new ImageFormat(rank, options.dataFormat);
    this.padding = checkPadding(options.padding);
    this.inputSpec = { rank: rank + 2 };
  }

  /** How far apart the kernel's elements are along an axis. */
  protected dilationAlong(_axis: number): number {
    return 1;
  }

  override computeOutputShape(inputShape: Dims): Dims {
    const along = (size: number | null, axis: number) =>
      windowsAlong(size, this.kernelSize[axis]!, this.strides[axis]!, this.padding, this.dilationAlong(axis));
    return this.format.changed(inputShape, along, this.filters);
  }

  /** Makes the kernels for images with so many channels. */
  protected abstract addKernels(channels: number): void;

  override build(inputShape: Dims): void {
    const channels = this.format.channelsOf({ shape: inputShape });
    this.addKernels(channels);
    this.addBias(this.filters);
    this.inputSpec = { rank: this.rank + 2, axes: { [this.format.channelAxis]: channels } };
    super.build(inputShape);
  }
}

/** What the layers' functions take, in their places or by name. */
type KernelArguments<O> = O & {
  readonly filters: number;
  readonly kernelSize: number | readonly number[];
};
export type PlacedKernel<O> = Placed<KernelArguments<O>, ['filters', 'kernelSize']>;

export function kernelArguments<O>(fn: string, given: readonly unknown[]): KernelArguments<O> {
  return byName<KernelArguments<O>>(`tf.layers.${fn}`, given, 'filters', 'kernelSize');
}
