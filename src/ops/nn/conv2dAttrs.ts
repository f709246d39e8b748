/** @file The attributes that Conv2D and its gradients share. */
import * as d from '../../core/dtypes.ts';
import { attr } from '../../op/attrs.ts';
import { type ConvAttrs, defaultDilations, explicitPaddings, imageFormat, paddingOrExplicit } from './convSizes.ts';

export const rank = 4;
const floatTypes = [d.float16, d.bfloat16, d.float32, d.float64];
export const floating = attr('type', { allowed: floatTypes });
export const floatOrInt = attr('type', { allowed: [...floatTypes, d.int32] });
export const attrs = {
  strides: attr('list(int)'),
  use_cudnn_on_gpu: attr('bool', { default: true }),
  padding: paddingOrExplicit,
  explicit_paddings: explicitPaddings,
  data_format: imageFormat,
  dilations: defaultDilations(rank),
} as const;

export interface Conv2DAttrs extends ConvAttrs {
  readonly explicit_paddings: readonly number[];
  readonly use_cudnn_on_gpu: boolean;
}

/** The attributes without the type, which the inputs decide. */
export function shared(given: Conv2DAttrs): Conv2DAttrs {
  const { strides, use_cudnn_on_gpu, padding, explicit_paddings, data_format, dilations } = given;
  return { strides, use_cudnn_on_gpu, padding, explicit_paddings, data_format, dilations };
}
