/** @file Attention mechanisms: how well each step of a memory fits a query. */
import { type DType, float32 } from '../../../core/dtypes.ts';
import { isFullyDefined, showTuple } from '../../../core/shape.ts';
import { onlyOptions } from '../../../graph/options.ts';
import { controlDependencies, nameScope } from '../../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { convertToTensor } from '../../../op/convert.ts';
import {
  expandDims,
  identity,
  oneHot,
  reshape,
  sequenceMask,
  shape,
  squeeze,
  zeros,
} from '../../../ops/array/index.ts';
import { assertPositive } from '../../../ops/flow/index.ts';
import { argmax, matmul, multiply, onesLike, reduceSum, rsqrt, square, tanh, where } from '../../../ops/math/index.ts';
import { softmax } from '../../../ops/nn/index.ts';
import { constantInitializer, onesInitializer, zerosInitializer } from '../../initializers.ts';
import { Dense } from '../../layers/dense.ts';
import { getVariable, variableScope } from '../../variableScope.ts';

/**
 * What an `AttentionWrapper` looks things up with. `M` is what the mechanism remembers from step to step; those of this library
 * remember the alignments of the step before.
 */
export abstract class AttentionMechanism<M = Tensor> {
  /** What is looked up, [batch, time, depth]. */
  abstract readonly values: Tensor;
  abstract readonly batchSize: number | Tensor;
  /** How many steps the memory has. */
  abstract readonly alignmentsSize: number | Tensor;
  /** The type of the layers that an `AttentionWrapper` adds; float32 unless given. */
  readonly dtype: DType = float32;

  /** The weights of the memory's steps, [batch, time], for a query, [batch, depth], and what is remembered next. */
  abstract apply(query: Tensor, state: M): readonly [alignments: Tensor, state: M];

  /** What is remembered before the first step. */
  abstract initialState(batchSize: number | Tensor, dtype: DType): M;

  /** Alignments of no step at all, for the state before the first. */
  initialAlignments(batchSize: number | Tensor, dtype: DType): Tensor {
    const result = zeros([batchSize, this.alignmentsSize], { dtype });
    const known = (n: number | Tensor) => (typeof n === 'number' ? n : null);
    result.setShape([known(batchSize), known(this.alignmentsSize)]);
    return result;
  }
}

export interface AttentionOptions {
  /** The length of each memory, [batch], at least 1; what lies beyond gets no attention. */
  readonly memorySequenceLength?: TensorLike | undefined;
  /** Turns scores, and the weights of the step before, into weights; softmax of the scores unless given. */
  readonly probabilityFn?: ((score: Tensor, previous: Tensor) => Tensor) | undefined;
  /** The score of what lies beyond a memory's end; minus infinity unless given. */
  readonly scoreMaskValue?: number | undefined;
  readonly dtype?: DType | undefined;
  /** Makes other keys and values of those that the mechanism has. */
  readonly customKeyValueFn?: ((keys: Tensor, values: Tensor) => readonly [keys: Tensor, values: Tensor]) | undefined;
  /** The name scope of what is prepared; that of the class unless given. */
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

/** What the mechanisms below share: a memory [batch, time, depth], as keys to compare with and values to look up. */
abstract class MemoryAttention extends AttentionMechanism {
  readonly values: Tensor;
  readonly keys: Tensor;
  override readonly dtype: DType;
  private readonly lengths: Tensor | undefined;
  private readonly probability: (score: Tensor, previous: Tensor) => Tensor;
  private readonly maskValue: number;

  constructor(
    readonly numUnits: number,
    memory: TensorLike,
    options: AttentionOptions,
    defaultName: string,
  ) {
    super();
    this.dtype = options.dtype ?? float32;
    this.probability = options.probabilityFn ?? ((score) => softmax(score));
    this.maskValue = options.scoreMaskValue ?? Number.NEGATIVE_INFINITY;
    const { lengths, keys, values } = nameScope(options.name ?? defaultName, () => {
      const given = convertToTensor(memory, { name: 'memory', hint: this.dtype });
      if (given.shape === null || !isFullyDefined(given.shape.slice(2)))
        throw userError(
          `Expected memory ${given.name} to have fully defined inner dims, but saw shape: ${showTuple(given.shape)}`,
        );
      const lengths = positive(options.memorySequenceLength);
      const values = lengths ? withinLengths(given, lengths) : given;
      const layer = new Dense(numUnits, { name: 'memory_layer', useBias: false, dtype: this.dtype });
      const keys = layer.apply(values);
      const [otherKeys, otherValues] = options.customKeyValueFn?.(keys, values) ?? [keys, values];
      return { lengths, keys: otherKeys, values: otherValues };
    });
    this.lengths = lengths;
    this.keys = keys;
    this.values = values;
  }

  get batchSize(): number | Tensor {
    return this.keys.shape?.[0] ?? shape(this.keys).slice('0');
  }
  get alignmentsSize(): number | Tensor {
    return this.keys.shape?.[1] ?? shape(this.keys).slice('1');
  }

  override initialState(batchSize: number | Tensor, dtype: DType): Tensor {
    return this.initialAlignments(batchSize, dtype);
  }

  override apply(query: Tensor, state: Tensor): readonly [alignments: Tensor, state: Tensor] {
    const alignments = this.probability(this.masked(this.score(query)), state);
    return [alignments, alignments];
  }

  /** How well each step of the memory fits, [batch, time]. */
  protected abstract score(query: Tensor): Tensor;

  private masked(score: Tensor): Tensor {
    if (!this.lengths) return score;
    const mask = sequenceMask(this.lengths, { maxlen: shape(score).slice('1') });
    return where(mask, score, onesLike(score).mul(this.maskValue));
  }
}

/** Lengths that are checked once, before any step: a memory of length 0 has nothing to look at. */
function positive(given: TensorLike | undefined): Tensor | undefined {
  if (given === undefined) return undefined;
  const lengths = convertToTensor(given, { name: 'memory_sequence_length' });
  const message = 'All values in memory_sequence_length must be greater than zero.';
  return controlDependencies([assertPositive(lengths, { message })], () => identity(lengths));
}

/** A memory with zeros beyond its end. */
function withinLengths(memory: Tensor, lengths: Tensor): Tensor {
  const mask = sequenceMask(lengths, { maxlen: shape(memory).slice('1'), dtype: memory.dtype });
  const [rows, steps] = [shape(mask).slice('0'), shape(mask).slice('1')];
  return memory.mul(reshape(mask, [rows, steps, ...memory.shape!.slice(2).map(() => 1)]));
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
export class BahdanauAttention extends MemoryAttention {
  /** The variable scope of a score. */
  protected readonly scopeName: string = 'bahdanau_attention';
  private readonly queryLayer: Dense;
  private readonly normalize: boolean;

  constructor(numUnits: number, memory: TensorLike, options: BahdanauOptions = {}) {
    onlyOptions('tf.contrib.seq2seq.BahdanauAttention', options, ...optionNames, 'normalize');
    super(numUnits, memory, options, 'BahdanauAttention');
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
export class LuongAttention extends MemoryAttention {
  /** The variable scope of a score. */
  protected readonly scopeName: string = 'luong_attention';
  private readonly scale: boolean;

  constructor(numUnits: number, memory: TensorLike, options: LuongOptions = {}) {
    onlyOptions('tf.contrib.seq2seq.LuongAttention', options, ...optionNames, 'scale');
    super(numUnits, memory, options, 'LuongAttention');
    this.scale = options.scale ?? false;
  }

  protected override score(query: Tensor): Tensor {
    return variableScope(null, { defaultName: this.scopeName }, () => {
      const [depth, units] = [query, this.keys].map((t) => t.shape?.at(-1) ?? null);
      if (depth !== units)
        throw userError(
          `Incompatible or unknown inner dimensions between query and keys.  Query (${query.name}) has units: ${depth}.  Keys (${this.keys.name}) have units: ${units}.  Perhaps you need to set numUnits to the query's dimension (${depth})?`,
        );
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
