/** @file Attention mechanisms: how well each step of a memory fits a query. */
import { type DType, float32 } from '../../../core/dtypes.ts';
import { nameScope } from '../../../graph/graph.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { expandDims, oneHot, sequenceMask, shape, squeeze, zeros } from '../../../ops/array/index.ts';
import { argmax, matmul, multiply, onesLike, reduceSum, rsqrt, square, tanh, where } from '../../../ops/math/index.ts';
import { softmax } from '../../../ops/nn/index.ts';
import { constantInitializer, onesInitializer, zerosInitializer } from '../../initializers.ts';
import { Dense } from '../../layers/dense.ts';
import { getVariable, variableScope } from '../../variableScope.ts';

export interface AttentionOptions {
  /** The length of each memory, [batch]; what lies beyond gets no attention. */
  readonly memorySequenceLength?: TensorLike | undefined;
  /** Turns scores, and the weights of the step before, into weights; softmax of the scores unless given. */
  readonly probabilityFn?: ((score: Tensor, previous: Tensor) => Tensor) | undefined;
  /** The score of what lies beyond a memory's end; minus infinity unless given. */
  readonly scoreMaskValue?: number | undefined;
  readonly dtype?: DType | undefined;
  /** Makes other keys and values of those that the mechanism has. */
  readonly customKeyValueFn?: ((keys: Tensor, values: Tensor) => readonly [keys: Tensor, values: Tensor]) | undefined;
  readonly name?: string | undefined;
}
const optionNames = [
  'memorySequenceLength',
  'probabilityFn',
  'scoreMaskValue',
  'dtype',
  'customKeyValueFn',
  'name',
] as const;

/** What attention mechanisms share: a memory [batch, time, depth], as keys to compare with and values to look up. */
export abstract class AttentionMechanism {
  readonly values: Tensor;
  readonly keys: Tensor;
  protected readonly dtype: DType;
  private readonly lengths: Tensor | undefined;
  private readonly probability: (score: Tensor, previous: Tensor) => Tensor;
  private readonly maskValue: number;

  constructor(
    readonly numUnits: number,
    memory: TensorLike,
    options: AttentionOptions,
  ) {
    this.dtype = options.dtype ?? float32;
    this.probability = options.probabilityFn ?? ((score) => softmax(score));
    this.maskValue = options.scoreMaskValue ?? Number.NEGATIVE_INFINITY;
    this.lengths =
      options.memorySequenceLength === undefined ? undefined : convertToTensor(options.memorySequenceLength);
    const values = this.masked(convertToTensor(memory));
    const keys = new Dense(numUnits, { name: 'memory_layer', useBias: false, dtype: this.dtype }).apply(values);
    [this.keys, this.values] = options.customKeyValueFn?.(keys, values) ?? [keys, values];
  }

  get batchSize(): number | Tensor {
    return this.keys.shape?.[0] ?? shape(this.keys).slice('0');
  }
  /** How many steps the memory has. */
  get alignmentsSize(): number | Tensor {
    return this.keys.shape?.[1] ?? shape(this.keys).slice('1');
  }

  /** The weights of the memory's steps for a query [batch, depth]; they sum to 1. */
  alignments(query: Tensor, previous: Tensor): Tensor {
    return this.probability(this.maskedScore(this.score(query, previous)), previous);
  }

  /** How well each step of the memory fits, [batch, time]. */
  protected abstract score(query: Tensor, previous: Tensor): Tensor;

  /** Alignments of no step at all, for the state before the first. */
  initialAlignments(batchSize: number | Tensor, dtype: DType): Tensor {
    const result = zeros([batchSize, this.alignmentsSize], { dtype });
    const known = (n: number | Tensor) => (typeof n === 'number' ? n : null);
    result.setShape([known(batchSize), known(this.alignmentsSize)]);
    return result;
  }

  private masked(memory: Tensor): Tensor {
    if (!this.lengths) return memory;
    const mask = sequenceMask(this.lengths, { maxlen: shape(memory).slice('1'), dtype: memory.dtype });
    return memory.mul(expandDims(mask, 2));
  }

  private maskedScore(score: Tensor): Tensor {
    if (!this.lengths) return score;
    const mask = sequenceMask(this.lengths, { maxlen: shape(score).slice('1') });
    return where(mask, score, onesLike(score).mul(this.maskValue));
  }
}

export interface BahdanauOptions extends AttentionOptions {
  /** Weight normalization of the score's vector. */
  readonly normalize?: boolean | undefined;
}

/**
 * Additive attention (Bahdanau): `v · tanh(keys + query * W)`.
 *
 * @example new tf.contrib.seq2seq.BahdanauAttention(128, encoderOutputs, { memorySequenceLength: lengths })
 */
export class BahdanauAttention extends AttentionMechanism {
  /** The variable scope of a score. */
  protected readonly scopeName: string = 'bahdanau_attention';
  private readonly queryLayer: Dense;
  private readonly normalize: boolean;

  constructor(numUnits: number, memory: TensorLike, options: BahdanauOptions = {}) {
    onlyOptions('tf.contrib.seq2seq.BahdanauAttention', options, ...optionNames, 'normalize');
    super(numUnits, memory, options);
    this.queryLayer = new Dense(numUnits, { name: 'query_layer', useBias: false, dtype: this.dtype });
    this.normalize = options.normalize ?? false;
  }

  protected override score(query: Tensor): Tensor {
    return variableScope(null, { defaultName: this.scopeName }, () => this.shifted(this.compared(query)));
  }

  /** What else happens to scores, in their scope. */
  protected shifted(score: Tensor): Tensor {
    return score;
  }

  private compared(query: Tensor): Tensor {
    const processed = expandDims(this.queryLayer.apply(query), 1);
    const { dtype, numUnits, keys } = this;
    const v = getVariable('attention_v', [numUnits], { dtype });
    if (!this.normalize) return reduceSum(multiply(v, tanh(keys.add(processed))), [2]);
    const g = getVariable('attention_g', [], { dtype, initializer: constantInitializer(Math.sqrt(1 / numUnits)) });
    const b = getVariable('attention_b', [numUnits], { dtype, initializer: zerosInitializer() });
    const unit = multiply(multiply(g, v), rsqrt(reduceSum(square(v))));
    return reduceSum(unit.mul(tanh(keys.add(processed).add(b))), [2]);
  }
}

export interface LuongOptions extends AttentionOptions {
  /** Multiplies scores by a trained number. */
  readonly scale?: boolean | undefined;
}

/**
 * Multiplicative attention (Luong): `keys · query`. The query is as wide as `numUnits`.
 *
 * @example new tf.contrib.seq2seq.LuongAttention(128, encoderOutputs)
 */
export class LuongAttention extends AttentionMechanism {
  /** The variable scope of a score. */
  protected readonly scopeName: string = 'luong_attention';
  private readonly scale: boolean;

  constructor(numUnits: number, memory: TensorLike, options: LuongOptions = {}) {
    onlyOptions('tf.contrib.seq2seq.LuongAttention', options, ...optionNames, 'scale');
    super(numUnits, memory, options);
    this.scale = options.scale ?? false;
  }

  protected override score(query: Tensor): Tensor {
    return variableScope(null, { defaultName: this.scopeName }, () => {
      const score = squeeze(matmul(expandDims(query, 1), this.keys, { transposeB: true }), { axis: [1] });
      if (!this.scale) return this.shifted(score);
      const g = getVariable('attention_g', [], { dtype: this.dtype, initializer: onesInitializer() });
      return this.shifted(multiply(g, score));
    });
  }

  /** What else happens to scores, in their scope. */
  protected shifted(score: Tensor): Tensor {
    return score;
  }
}

/** The part of a memory that alignments pick, [batch, depth]. */
export function contextOf(alignments: Tensor, values: Tensor): Tensor {
  return squeeze(matmul(expandDims(alignments, 1), values), { axis: [1] });
}

/**
 * One at the largest element of the last axis, zeros beside it. Adds nodes under `Hardmax/`.
 *
 * @example tf.contrib.seq2seq.hardmax([[1.5, 3, 2]]) // runs to [[0. 1. 0.]]
 */
export function hardmax(logits: TensorLike, options: { readonly name?: string | undefined } = {}): Tensor {
  const { name } = onlyOptions('tf.contrib.seq2seq.hardmax', options, 'name');
  return nameScope(name ?? 'Hardmax', () => {
    const scores = convertToTensor(logits, { name: 'logits', hint: float32 });
    const depth = scores.shape?.at(-1) ?? shape(scores).slice('-1');
    return oneHot(argmax(scores, -1), depth, { dtype: scores.dtype });
  });
}
