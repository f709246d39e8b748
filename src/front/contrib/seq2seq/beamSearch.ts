/** @file Beam search: a decoder that follows the best few continuations of every example. */
import { float32, int32 } from '../../../core/dtypes.ts';
import { nameScope } from '../../../graph/graph.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { constantValue } from '../../../op/constantValue.ts';
import { convertToTensor } from '../../../op/convert.ts';
import {
  concat,
  constant,
  expandDims,
  fill,
  gather,
  oneHot,
  range,
  reshape,
  shape,
  stack,
  tile,
} from '../../../ops/array/index.ts';
import {
  add,
  cast,
  equal,
  floordiv,
  floormod,
  log,
  logicalNot,
  logicalOr,
  minimum,
  onesLike,
  pow,
  reduceMax,
  reduceMean,
  reduceSum,
  where,
  zerosLike,
} from '../../../ops/math/index.ts';
import { logSoftmax, topK } from '../../../ops/nn/index.ts';
import { scan } from '../../controlFlow/mapFn.ts';
import { TensorArray } from '../../controlFlow/tensorArray.ts';
import type { Layer } from '../../layers/layer.ts';
import { mapStructure } from '../../nest.ts';
import type { RNNCell } from '../../rnn/cell.ts';
import type { AttentionWrapperState } from './attentionWrapper.ts';
import type { Decoder, DecoderStep } from './decoder.ts';
import { type Embedding, embed } from './helper.ts';

/** What is kept of the beams from step to step. */
export interface BeamSearchDecoderState<S> {
  /** The cell's state, [batch, beam, …]. */
  readonly cellState: S;
  /** The summed log probabilities, [batch, beam]. */
  readonly logProbs: Tensor;
  readonly finished: Tensor;
  /** How many symbols each beam has, [batch, beam]. */
  readonly lengths: Tensor;
  /** How much attention each step of the memory got, [batch, beam, memory]; empty unless coverage counts. */
  readonly accumulatedAttentionProbs: readonly Tensor[];
}

/** The best continuations of a step, [batch, beam] each. */
export interface BeamSearchDecoderOutput {
  readonly scores: Tensor;
  readonly predictedIds: Tensor;
  /** Which beam of the step before each one continues. */
  readonly parentIds: Tensor;
}

export interface FinalBeamSearchDecoderOutput {
  /** The symbols of whole beams, best first: [batch, time, beam]. */
  readonly predictedIds: Tensor;
  /** What the steps gave, before the beams were put together. */
  readonly beamSearchDecoderOutput: BeamSearchDecoderOutput;
}

export interface BeamSearchOptions {
  readonly outputLayer?: Layer | undefined;
  /** 0 (the default) favours short beams; scores are divided by `((5 + length) / 6) ^ weight`. */
  readonly lengthPenaltyWeight?: number | undefined;
  /** How much it costs a finished beam that attention has not looked at all steps of the memory; the cell is an `AttentionWrapper`. */
  readonly coveragePenaltyWeight?: number | undefined;
  /** Accepted as in TensorFlow, and ignored: the steps of an alignment history stay in the order in which they were written. */
  readonly reorderTensorArrays?: boolean | undefined;
}

/** What attention looks at in a state, which must be an `AttentionWrapper`'s. */
function alignmentsIn(state: unknown): readonly Tensor[] {
  const found = (state as Partial<AttentionWrapperState<unknown>>).alignments; // looked for, not believed
  if (!found || found.length === 0)
    throw userError(
      'coveragePenaltyWeight needs a cell with attention: wrap it in tf.contrib.seq2seq.AttentionWrapper.',
    );
  return found;
}

/** The first axis with every entry repeated: [a, b] becomes [a, a, b, b]. */
function repeated(t: Tensor, multiplier: TensorLike): Tensor {
  if (t.shape === null || t.shape.length === 0) throw userError('tileBatch needs tensors with a batch axis');
  const rank = t.shape.length;
  const times = convertToTensor(multiplier, { dtype: int32 });
  const ones = (n: number) => constant(new Array<number>(n).fill(1), { dtype: int32 });
  const wide = tile(expandDims(t, 1), concat([ones(1), reshape(times, [1]), ones(rank - 1)], 0));
  const result = reshape(wide, concat([[-1], shape(t).slice('1:')], 0));
  const known = constantValue(times)?.numberAt(0);
  const rows = t.shape[0] ?? null;
  result.setShape([known === undefined || rows === null ? null : rows * known, ...t.shape.slice(1)]);
  return result;
}

/**
 * Every entry of a batch so many times, as beam search wants its encoder's results: [a, b] becomes [a, a, b, b].
 *
 * @example tf.contrib.seq2seq.tileBatch(tf.constant([1, 2]), 2) // runs to [1 1 2 2]
 */
export function tileBatch<T>(t: T, multiplier: TensorLike, options: { readonly name?: string | undefined } = {}): T {
  onlyOptions('tf.contrib.seq2seq.tileBatch', options, 'name');
  return nameScope(
    options.name ?? 'tile_batch',
    () => mapStructure((x: Tensor) => repeated(convertToTensor(x), multiplier), t) as T, // the structure that was given
  );
}

/**
 * Whole beams from what each step chose: `stepIds` and `parentIds` are [time, batch, beam], `maxSequenceLengths` [batch]. What
 * lies beyond a sequence's end, and after its first end token, is the end token.
 *
 * @example const beams = tf.contrib.seq2seq.gatherTree(stepIds, parentIds, lengths, END);
 */
export function gatherTree(
  stepIds: TensorLike,
  parentIds: TensorLike,
  maxSequenceLengths: TensorLike,
  endToken: TensorLike,
): Tensor {
  return nameScope('GatherTree', () => {
    const ids = convertToTensor(stepIds, { dtype: int32 });
    const parents = convertToTensor(parentIds, { dtype: int32 });
    const lengths = convertToTensor(maxSequenceLengths, { dtype: int32 });
    const end = convertToTensor(endToken, { dtype: int32 });
    const sizes = shape(ids);
    const steps = sizes.slice('0');
    const beams = range(sizes.slice('2'));
    const own = tile(expandDims(beams, 0), stack([sizes.slice('1'), 1]));
    const blank = fill(sizes.slice('1:'), end);
    // From the last step to the first: which beam's symbol belongs here, and that of the step before.
    const walk = scan(
      (after: { at: Tensor; id: Tensor }, now: { ids: Tensor; parents: Tensor; time: Tensor }) => {
        const inside = tile(expandDims(now.time.less(lengths), 1), stack([1, sizes.slice('2')]));
        return {
          at: where(inside, gather(now.parents, after.at, { batchDims: 1 }), after.at),
          id: where(inside, gather(now.ids, after.at, { batchDims: 1 }), blank),
        };
      },
      { ids, parents, time: range(steps) },
      { initializer: { at: own, id: blank }, reverse: true },
    ) as { at: Tensor; id: Tensor }; // the initializer's structure
    // After a beam's first end token come only end tokens.
    const marks = equal(walk.id, end);
    const ended = scan((before: Tensor, now: Tensor) => logicalOr(before, now), marks, {
      initializer: fill(sizes.slice('1:'), false),
    }) as Tensor; // one tensor in, one out
    const result = where(ended, walk.id.mul(0).add(end), walk.id);
    result.setShape(ids.shape);
    return result;
  });
}

/**
 * A decoder that keeps the `beamWidth` best continuations. The cell's first state has `batch * beamWidth` rows: see `tileBatch`.
 *
 * @example
 * const start = tf.contrib.seq2seq.tileBatch(encoderState, 5);
 * const decoder = new tf.contrib.seq2seq.BeamSearchDecoder(cell, embedding, tf.fill([batch], GO), END, start, 5, { outputLayer });
 * const [{ predictedIds }] = tf.contrib.seq2seq.dynamicDecode(decoder, { maximumIterations: 20 });
 */
export class BeamSearchDecoder<S>
  implements Decoder<BeamSearchDecoderOutput, BeamSearchDecoderState<S>, FinalBeamSearchDecoderOutput>
{
  readonly batchSize: number | Tensor;
  readonly tracksOwnFinished = true;
  readonly outputDtypes = { scores: float32, predictedIds: int32, parentIds: int32 } as const;
  private readonly start: Tensor;
  private readonly end: Tensor;
  private readonly startInputs: Tensor;

  constructor(
    private readonly cell: RNNCell<S>,
    private readonly embedding: Embedding,
    startTokens: TensorLike,
    endToken: TensorLike,
    private readonly initialState: S,
    private readonly beamWidth: number,
    private readonly options: BeamSearchOptions = {},
  ) {
    onlyOptions(
      'tf.contrib.seq2seq.BeamSearchDecoder',
      options,
      'outputLayer',
      'lengthPenaltyWeight',
      'coveragePenaltyWeight',
      'reorderTensorArrays',
    );
    if (options.coveragePenaltyWeight) alignmentsIn(initialState);
    if (!Number.isInteger(beamWidth) || beamWidth < 1)
      throw userError(`beamWidth must be a positive integer, but it is ${beamWidth}.`);
    this.start = convertToTensor(startTokens, { dtype: int32 });
    if (this.start.rank !== 1) throw userError('startTokens must be a vector');
    this.end = convertToTensor(endToken, { dtype: int32 });
    if (this.end.rank !== 0) throw userError('endToken must be a scalar');
    this.batchSize = this.start.shape?.[0] ?? shape(this.start).slice('0');
    this.startInputs = embed(embedding, tile(expandDims(this.start, 1), [1, beamWidth]));
  }

  initialize(): Omit<DecoderStep<BeamSearchDecoderOutput, BeamSearchDecoderState<S>>, 'outputs'> {
    const finished = fill(this.perBeam(), false);
    // All beams are the same in the beginning, so only the first may be continued.
    const first = oneHot(fill([this.batchSize], constant(0)), this.beamWidth, {
      onValue: constant(0, { dtype: float32 }),
      offValue: constant(Number.NEGATIVE_INFINITY, { dtype: float32 }),
    });
    const state = {
      cellState: mapStructure((t: Tensor | TensorArray) => this.split(t), this.initialState) as S, // the same structure
      logProbs: first,
      finished,
      lengths: fill(this.perBeam(), constant(0, { dtype: int32 })),
      accumulatedAttentionProbs: this.attention(this.initialState).map((t) => zerosLike(t)),
    };
    return { finished, inputs: this.startInputs, state };
  }

  step(
    _time: Tensor,
    inputs: Tensor,
    state: BeamSearchDecoderState<S>,
  ): DecoderStep<BeamSearchDecoderOutput, BeamSearchDecoderState<S>> {
    const joined = mapStructure((t: Tensor | TensorArray) => this.join(t), state.cellState) as S; // the same structure
    const [output, next] = this.cell.apply(this.join(inputs) as Tensor, joined); // a tensor stays one
    const logits = this.options.outputLayer ? this.options.outputLayer.apply(output) : output;
    const symbols = logits.shape?.at(-1) ?? shape(logits).slice('-1');
    const scores = reshape(logits, [this.batchSize, this.beamWidth, symbols]);
    const goesOn = expandDims(cast(logicalNot(state.finished), float32), 2);
    const attended = this.attention(next).map((t, i) => state.accumulatedAttentionProbs[i]!.add(t.mul(goesOn)));
    const chosen = this.best(scores, symbols, state, attended);
    const following = mapStructure((t: Tensor | TensorArray) => this.follow(t, chosen.parentIds), next) as S; // the same
    const allFinished = chosen.finished;
    return {
      outputs: { scores: chosen.scores, predictedIds: chosen.ids, parentIds: chosen.parentIds },
      state: {
        cellState: following,
        logProbs: chosen.logProbs,
        finished: allFinished,
        lengths: chosen.lengths,
        accumulatedAttentionProbs: attended.map((t) => gather(t, chosen.parentIds, { batchDims: 1 })),
      },
      inputs: embed(this.embedding, chosen.ids),
      finished: allFinished,
    };
  }

  finalize(
    outputs: BeamSearchDecoderOutput,
    state: BeamSearchDecoderState<S>,
    _lengths: Tensor,
  ): [FinalBeamSearchDecoderOutput, BeamSearchDecoderState<S>] {
    const longest = reduceMax(state.lengths, 1);
    const predictedIds = gatherTree(outputs.predictedIds, outputs.parentIds, longest, this.end);
    return [{ predictedIds, beamSearchDecoderOutput: outputs }, state];
  }

  /** The best continuations of all beams together. */
  private best(
    logits: Tensor,
    symbols: number | Tensor,
    state: BeamSearchDecoderState<S>,
    attended: readonly Tensor[],
  ) {
    const { beamWidth, end } = this;
    // A finished beam can only be followed by the end token, at no cost.
    const ending = oneHot(end, symbols, {
      onValue: constant(0, { dtype: float32 }),
      offValue: constant(float32.min, { dtype: float32 }),
    });
    const asEnded = tile(reshape(ending, [1, 1, -1]), [this.batchSize, beamWidth, 1]);
    const isOver = tile(expandDims(state.finished, 2), stack([1, 1, symbols]));
    const steps = where(isOver, asEnded, logSoftmax(logits));
    const total = add(expandDims(state.logProbs, 2), steps);
    // A beam that goes on has one symbol more, unless that is the end.
    const isEnd = equal(range(symbols), end);
    const grown = cast(logicalNot(logicalOr(expandDims(state.finished, 2), isEnd)), int32);
    const lengths = add(expandDims(state.lengths, 2), grown);
    const scores = this.covered(this.penalized(total, lengths), attended, state.finished);
    const flat = reshape(scores, [this.batchSize, -1]);
    const { values, indices } = topK(flat, beamWidth);
    const ids = floormod(indices, symbols);
    const parentIds = floordiv(indices, symbols);
    const pick = (t: Tensor) => gather(t, parentIds, { batchDims: 1 });
    const wasFinished = pick(state.finished);
    const finished = logicalOr(wasFinished, equal(ids, end));
    return {
      scores: values,
      ids,
      parentIds,
      finished,
      logProbs: gather(reshape(total, [this.batchSize, -1]), indices, { batchDims: 1 }),
      lengths: add(pick(state.lengths), cast(wasFinished, int32).mul(-1).add(1)),
    };
  }

  private penalized(total: Tensor, lengths: Tensor): Tensor {
    const { lengthPenaltyWeight = 0 } = this.options;
    if (lengthPenaltyWeight === 0) return total;
    return total.div(pow(cast(lengths, float32).add(5).div(6), lengthPenaltyWeight));
  }

  /** The scores less what the steps of the memory cost that finished beams have not looked at enough. */
  private covered(scores: Tensor, attended: readonly Tensor[], finished: Tensor): Tensor {
    const { coveragePenaltyWeight = 0 } = this.options;
    const [looks] = attended;
    if (!looks) return scores;
    // Steps beyond a memory's end never get attention, and cost nothing.
    const counted = where(equal(looks, 0), onesLike(looks), looks);
    const missing = reduceSum(log(minimum(counted, 1)), 2).mul(cast(finished, float32));
    return scores.add(expandDims(missing.mul(coveragePenaltyWeight), 2));
  }

  /** The weights that attention gives to the memory in a state of the cell, [batch, beam, memory], where coverage counts. */
  private attention(state: S): Tensor[] {
    if (!this.options.coveragePenaltyWeight) return [];
    const found = alignmentsIn(state);
    const probabilities = found.map((t) => this.split(t) as Tensor); // tensors stay tensors
    if (probabilities.length === 1) return probabilities;
    return [reduceMean(stack(probabilities, { axis: -1 }), -1)];
  }

  private perBeam(): TensorLike {
    return [this.batchSize, this.beamWidth];
  }

  /** [batch * beam, …] as [batch, beam, …]; numbers without a batch, and arrays, stay as they are. */
  private split(t: Tensor | TensorArray): Tensor | TensorArray {
    if (t instanceof TensorArray || t.rank === 0) return t;
    const result = reshape(t, concat([[this.batchSize, this.beamWidth], shape(t).slice('1:')], 0));
    const rows = typeof this.batchSize === 'number' ? this.batchSize : null;
    result.setShape([rows, this.beamWidth, ...t.shape!.slice(1)]);
    return result;
  }

  private join(t: Tensor | TensorArray): Tensor | TensorArray {
    if (t instanceof TensorArray || t.rank === 0) return t;
    const result = reshape(t, concat([[-1], shape(t).slice('2:')], 0));
    const rows = typeof this.batchSize === 'number' ? this.batchSize * this.beamWidth : null;
    result.setShape([rows, ...t.shape!.slice(2)]);
    return result;
  }

  /** What belongs to the beams that were continued, [batch, beam, …], from what the cell gave. */
  private follow(t: Tensor | TensorArray, parents: Tensor): Tensor | TensorArray {
    const apart = this.split(t);
    return apart instanceof TensorArray || apart.rank === 0 ? apart : gather(apart, parents, { batchDims: 1 });
  }
}
