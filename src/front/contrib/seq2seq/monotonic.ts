/** @file Monotonic attention (Raffel et al., 2017): a look at the memory that only moves forward. */
import { float32, float64, int32 } from '../../../core/dtypes.ts';
import { onlyOptions } from '../../../graph/options.ts';
import { nameScope } from '../../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { concat, oneHot, ones, shape, stack, transpose } from '../../../ops/array/index.ts';
import {
  type CumulativeOptions,
  cast,
  clipByValue,
  cumprod,
  cumsum,
  exp,
  log,
  sigmoid,
} from '../../../ops/math/index.ts';
import { randomNormal } from '../../../ops/random/index.ts';
import { scan } from '../../controlFlow/mapFn.ts';
import { constantInitializer } from '../../initializers.ts';
import { getVariable } from '../../variableScope.ts';
import { BahdanauAttention, type BahdanauOptions, LuongAttention, type LuongOptions } from './attention.ts';

export type MonotonicMode = 'recursive' | 'parallel' | 'hard';

/**
 * Cumulative products of numbers between 0 and 1, taken by way of their logarithms: many small factors cannot underflow on the
 * way. Takes the axis and options of `tf.cumsum`. Adds nodes under `SafeCumprod/`.
 *
 * @example tf.contrib.seq2seq.safeCumprod([0.5, 0.25, 1]) // runs to [0.5   0.125 0.125]
 */
export function safeCumprod(x: TensorLike, axis: number | Tensor = 0, options: CumulativeOptions = {}): Tensor {
  const { name, exclusive, reverse } = onlyOptions(
    'tf.contrib.seq2seq.safeCumprod',
    options,
    'name',
    'exclusive',
    'reverse',
  );
  return nameScope(name ?? 'SafeCumprod', () => {
    const given = convertToTensor(x, { name: 'x', hint: float32 });
    const tiny = given.dtype === float64 ? 2.2250738585072014e-308 : 1.1754943508222875e-38;
    return exp(cumsum(log(clipByValue(given, tiny, 1)), axis, { exclusive, reverse }));
  });
}

/**
 * The weights of monotonic attention, [batch, time], from the probability of stopping at each step of the memory and the
 * weights of before. `'recursive'` computes what the definition says, `'parallel'` the same without a loop (and less exactly),
 * `'hard'` takes the first step that stops.
 *
 * @example tf.contrib.seq2seq.monotonicAttention([[0.5, 1, 1]], [[1.0, 0, 0]], 'recursive') // runs to [[0.5 0.5 0. ]]
 */
export function monotonicAttention(pChooseI: TensorLike, previousAttention: TensorLike, mode: MonotonicMode): Tensor {
  const p = convertToTensor(pChooseI, { hint: float32 });
  const before = convertToTensor(previousAttention, { hint: float32 });
  const passes = p.neg().add(1);
  if (mode === 'recursive') {
    const rows = shape(p).slice('0');
    const shifted = concat([ones(stack([rows, 1]), { dtype: p.dtype }), passes.slice(':, :-1')], 1);
    // How likely the look comes to each step: from the step before, or by having stopped here last time.
    const reached = scan(
      (arrived: Tensor, now: { passes: Tensor; before: Tensor }) => now.passes.mul(arrived).add(now.before),
      { passes: transpose(shifted), before: transpose(before) },
      { initializer: before.slice(':, 0').mul(0) },
    );
    const result = p.mul(transpose(reached));
    result.setShape(p.shape);
    return result;
  }
  if (mode === 'parallel') {
    const product = safeCumprod(passes, 1, { exclusive: true });
    return p.mul(product).mul(cumsum(before.div(clipByValue(product, 1e-10, 1)), 1));
  }
  if (mode === 'hard') {
    const onward = p.mul(cumsum(before, 1));
    return onward.mul(cumprod(onward.neg().add(1), 1, { exclusive: true }));
  }
  throw userError(`mode must be 'recursive', 'parallel', or 'hard', but it is '${mode}'.`);
}

export interface MonotonicOptions {
  /** Noise added to the scores before the choice, so that it learns to be sure; 0 unless given. */
  readonly sigmoidNoise?: number | undefined;
  readonly sigmoidNoiseSeed?: number | undefined;
  /** Where the trained number begins that is added to the scores; 0 unless given. */
  readonly scoreBiasInit?: number | undefined;
  /** `'parallel'` unless given. */
  readonly mode?: MonotonicMode | undefined;
}
const monotonicNames = ['sigmoidNoise', 'sigmoidNoiseSeed', 'scoreBiasInit', 'mode'] as const;
const sharedNames = ['memorySequenceLength', 'scoreMaskValue', 'dtype', 'name'] as const;

function stopping({ sigmoidNoise = 0, sigmoidNoiseSeed, mode = 'parallel' }: MonotonicOptions) {
  return (score: Tensor, previous: Tensor): Tensor => {
    const noisy =
      sigmoidNoise > 0
        ? score.add(randomNormal(shape(score), { dtype: score.dtype, seed: sigmoidNoiseSeed }).mul(sigmoidNoise))
        : score;
    const p = mode === 'hard' ? cast(noisy.greater(0), score.dtype) : sigmoid(noisy);
    return monotonicAttention(p, previous, mode);
  };
}

/** All weight on the memory's first step: where a look that only moves forward begins. */
function atTheBeginning(zeroAlignments: Tensor): Tensor {
  const steps = zeroAlignments.shape?.at(-1) ?? shape(zeroAlignments).slice('1');
  const first = oneHot(cast(zeroAlignments.slice(':, 0'), int32), steps, { dtype: zeroAlignments.dtype });
  first.setShape(zeroAlignments.shape);
  return first;
}

function biased(score: Tensor, init = 0): Tensor {
  return score.add(
    getVariable('attention_score_bias', [], { dtype: score.dtype, initializer: constantInitializer(init) }),
  );
}

/**
 * Additive attention that only moves forward.
 *
 * @example new tf.contrib.seq2seq.BahdanauMonotonicAttention(128, encoderOutputs, { memorySequenceLength: lengths })
 */
export class BahdanauMonotonicAttention extends BahdanauAttention {
  protected override readonly scopeName = 'bahdanau_monotonic_attention';
  private readonly biasInit: number | undefined;

  constructor(
    numUnits: number,
    memory: TensorLike,
    options: Omit<BahdanauOptions, 'probabilityFn' | 'customKeyValueFn'> & MonotonicOptions = {},
  ) {
    const names = [...sharedNames, ...monotonicNames, 'normalize'] as const;
    onlyOptions('tf.contrib.seq2seq.BahdanauMonotonicAttention', options, ...names);
    const { sigmoidNoise, sigmoidNoiseSeed, scoreBiasInit, mode, ...rest } = options;
    const probabilityFn = stopping({ sigmoidNoise, sigmoidNoiseSeed, mode });
    super(numUnits, memory, { name: 'BahdanauMonotonicAttention', ...rest, probabilityFn });
    this.biasInit = scoreBiasInit;
  }

  protected override shifted(score: Tensor): Tensor {
    return biased(score, this.biasInit);
  }
  override initialAlignments(...args: Parameters<BahdanauAttention['initialAlignments']>): Tensor {
    return atTheBeginning(super.initialAlignments(...args));
  }
}

/**
 * Multiplicative attention that only moves forward.
 *
 * @example new tf.contrib.seq2seq.LuongMonotonicAttention(128, encoderOutputs)
 */
export class LuongMonotonicAttention extends LuongAttention {
  protected override readonly scopeName = 'luong_monotonic_attention';
  private readonly biasInit: number | undefined;

  constructor(
    numUnits: number,
    memory: TensorLike,
    options: Omit<LuongOptions, 'probabilityFn' | 'customKeyValueFn'> & MonotonicOptions = {},
  ) {
    const names = [...sharedNames, ...monotonicNames, 'scale'] as const;
    onlyOptions('tf.contrib.seq2seq.LuongMonotonicAttention', options, ...names);
    const { sigmoidNoise, sigmoidNoiseSeed, scoreBiasInit, mode, ...rest } = options;
    const probabilityFn = stopping({ sigmoidNoise, sigmoidNoiseSeed, mode });
    super(numUnits, memory, { name: 'LuongMonotonicAttention', ...rest, probabilityFn });
    this.biasInit = scoreBiasInit;
  }

  protected override shifted(score: Tensor): Tensor {
    return biased(score, this.biasInit);
  }
  override initialAlignments(...args: Parameters<LuongAttention['initialAlignments']>): Tensor {
    return atTheBeginning(super.initialAlignments(...args));
  }
}
