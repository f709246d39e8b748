/** @file The initializers of `tf.contrib.layers`: Xavier's, and variance scaling by its factor. */
import { type DType, float32 } from '../../core/dtypes.ts';
import type { Shape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { userError } from '../../graph/userError.ts';
import { randomUniform, truncatedNormal } from '../../ops/random/index.ts';
import type { InitializerFunction } from '../initializers.ts';

export interface VarianceScalingOptions {
  /** How large the variance is, times the number of connections; 2 unless given. */
  readonly factor?: number | undefined;
  /** Which connections are counted: inputs, outputs, or the mean of both. */
  readonly mode?: 'FAN_IN' | 'FAN_OUT' | 'FAN_AVG' | undefined;
  /** A uniform distribution instead of a truncated normal one. */
  readonly uniform?: boolean | undefined;
  readonly seed?: number | undefined;
  readonly dtype?: DType | undefined;
}

function connections(shape: Shape, mode: string): number {
  const receptive = shape.slice(0, -2).reduce((n, d) => n * d, 1);
  const last = shape.at(-1) ?? 1;
  const fanIn = (shape.length > 1 ? shape.at(-2)! : last) * receptive;
  const fanOut = last * receptive;
  return mode === 'FAN_IN' ? fanIn : mode === 'FAN_OUT' ? fanOut : (fanIn + fanOut) / 2;
}

/**
 * Random values whose variance is `factor / connections`, so that layers keep the scale of what passes through them.
 *
 * @example tf.getVariable('w', [784, 10], { initializer: tf.contrib.layers.varianceScalingInitializer() })
 */
export function varianceScalingInitializer(options: VarianceScalingOptions = {}): InitializerFunction {
  onlyOptions('tf.contrib.layers.varianceScalingInitializer', options, 'factor', 'mode', 'uniform', 'seed', 'dtype');
  const { factor = 2, mode = 'FAN_IN', uniform = false, seed, dtype: ownType = float32 } = options;
  if (!ownType.isFloating) throw userError(`Cannot create initializer for non-floating point type ${ownType}.`);
  if (!['FAN_IN', 'FAN_OUT', 'FAN_AVG'].includes(mode))
    throw userError(`Unknown mode ${mode} [FAN_IN, FAN_OUT, FAN_AVG].`);
  return (shape, call = {}) => {
    const dtype = call.dtype ?? ownType;
    const n = connections(shape, mode);
    if (uniform) {
      const limit = Math.sqrt((3 * factor) / n);
      return randomUniform(shape, { minval: -limit, maxval: limit, dtype, seed });
    }
    // Cutting a normal distribution off at two standard deviations makes it narrower; 1.3 makes up for that.
    return truncatedNormal(shape, { mean: 0, stddev: Math.sqrt((1.3 * factor) / n), dtype, seed });
  };
}

export interface XavierOptions {
  readonly uniform?: boolean | undefined;
  readonly seed?: number | undefined;
  readonly dtype?: DType | undefined;
}

/**
 * Glorot and Bengio's: the variance is 1 over the mean number of inputs and outputs.
 *
 * @example tf.getVariable('w', [784, 10], { initializer: tf.contrib.layers.xavierInitializer() })
 */
export function xavierInitializer(options: XavierOptions = {}): InitializerFunction {
  onlyOptions('tf.contrib.layers.xavierInitializer', options, 'uniform', 'seed', 'dtype');
  return varianceScalingInitializer({ ...options, factor: 1, mode: 'FAN_AVG', uniform: options.uniform ?? true });
}
/** The same as `xavierInitializer`. */
export const xavierInitializerConv2d = xavierInitializer;
