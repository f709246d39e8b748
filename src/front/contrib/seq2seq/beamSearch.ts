/** @file Beam search: a decoder that follows the best few continuations of every example. */
import { type DType, float32, int32, int64 } from '../../../core/dtypes.ts';
import { warn } from '../../../core/logging.ts';
import { type Dims, showTuple } from '../../../core/shape.ts';
import { onlyOptions } from '../../../graph/options.ts';
import { controlDependencies, nameScope } from '../../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import {
  concat,
  constant,
  expandDims,
  gather,
  identity,
  oneHot,
  range,
  reshape,
  shape,
  stack,
  tile,
  zeros,
} from '../../../ops/array/index.ts';
import { Assert } from '../../../ops/flow/index.ts';
import {
  add,
  cast,
  equal,
  floordiv,
  floormod,
  log,
  logicalAnd,
  logicalNot,
  logicalOr,
  minimum,
  onesLike,
  pow,
  reduceMax,
  reduceMean,
  reduceSum,
  where,
} from '../../../ops/math/index.ts';
import { logSoftmax, topK } from '../../../ops/nn/index.ts';
import { TensorArray } from '../../controlFlow/tensorArray.ts';
import type { Layer } from '../../layers/layer.ts';
import { flatten, mapStructure } from '../../nest.ts';
import type { RNNCell } from '../../rnn/cell.ts';
import type { AttentionWrapperState } from './attentionWrapper.ts';
import { gatherTree, gatherTreeFromArray } from './beams.ts';
import { Decoder, type DecoderStep } from './decoder.ts';
import { checkedTokens, type Embedding, embed } from './embeddingHelpers.ts';
import { rowsOf } from './helper.ts';

/** What is kept of the beams from step to step. */
export interface BeamSearchDecoderState<S> {
  /** The cell's state, [batch, beam, …]. */
  readonly cellState: S;
  /** The summed log probabilities, [batch, beam]. */
  readonly logProbs: Tensor;
  readonly finished: Tensor;
  /** How many symbols each beam has, [batch, beam], int64. */
  readonly lengths: Tensor;
  /** How much attention each step of the memory got, [batch, beam, memory]; nothing unless coverage counts. */
  readonly accumulatedAttentionProbs: Tensor | readonly [];
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

/** A state whose arrays of tensors have become stacks of what they held, where they could be put in the order of the beams. */
export type Reordered<S> = S extends TensorArray
  ? Tensor | TensorArray
  : S extends Tensor | ((...args: never[]) => unknown)
    ? S
    : S extends object
      ? { readonly [K in keyof S]: Reordered<S[K]> }
      : S;

export interface BeamSearchOptions {
  readonly outputLayer?: Layer | undefined;
  /** 0 (the default) favours short beams; scores are divided by `((5 + length) / 6) ^ weight`. */
  readonly lengthPenaltyWeight?: number | Tensor | undefined;
  /** How much it costs a finished beam that attention has not looked at all steps of the memory; the cell is an `AttentionWrapper`. */
  readonly coveragePenaltyWeight?: number | undefined;
  /**
   * Whether arrays of tensors in the cell's state, such as an alignment history, come out stacked and in the order of the
   * beams; true unless given. One whose elements have no row for every beam comes out as it is.
   */
  readonly reorderTensorArrays?: boolean | undefined;
}
const optionNames = ['outputLayer', 'lengthPenaltyWeight', 'coveragePenaltyWeight', 'reorderTensorArrays'] as const;

/** What attention looks at in a state: one tensor for each `AttentionWrapper`, the mean where one has several mechanisms. */
function alignmentsIn(state: unknown): Tensor[] {
  const states = (Array.isArray(state) ? state : [state]) as Partial<AttentionWrapperState<unknown>>[]; // looked at, not believed
  const found = states.flatMap(({ alignments, attentionState }) =>
    alignments && attentionState ? [mean(Array.isArray(alignments) ? alignments : [alignments])] : [],
  );
  if (found.length === 0)
    throw userError(
      'coveragePenaltyWeight needs a cell with attention: wrap it in tf.contrib.seq2seq.AttentionWrapper.',
    );
  return found;
}

function mean(parts: readonly Tensor[]): Tensor {
  return parts.length === 1 ? parts[0]! : reduceMean(stack(parts, { axis: -1 }), -1);
}

/**
 * A decoder that keeps the `beamWidth` best continuations. The cell's first state has `batch * beamWidth` rows: see `tileBatch`.
 *
 * @example
 * const start = tf.contrib.seq2seq.tileBatch(encoderState, 5);
 * const decoder = new tf.contrib.seq2seq.BeamSearchDecoder(cell, embedding, tf.fill([batch], GO), END, start, 5, { outputLayer });
 * const [{ predictedIds }] = tf.contrib.seq2seq.dynamicDecode(decoder, { maximumIterations: 20 });
 */
export class BeamSearchDecoder<S> extends Decoder<
  BeamSearchDecoderOutput,
  BeamSearchDecoderState<S>,
  FinalBeamSearchDecoderOutput,
  BeamSearchDecoderState<Reordered<S>>
> {
  readonly batchSize: number | Tensor;
  override readonly tracksOwnFinished = true;
  /** The type of scores: that of the cell's state. */
  private readonly dtype: DType;
  private readonly end: Tensor;
  private readonly startInputs: Tensor;
  private readonly initialCellState: S;

  constructor(
    private readonly cell: RNNCell<S>,
    private readonly embedding: Embedding,
    startTokens: TensorLike,
    endToken: TensorLike,
    initialState: S,
    private readonly beamWidth: number,
    private readonly options: BeamSearchOptions = {},
  ) {
    super();
    onlyOptions('tf.contrib.seq2seq.BeamSearchDecoder', options, ...optionNames);
    if (options.coveragePenaltyWeight) alignmentsIn(initialState);
    if (!Number.isInteger(beamWidth) || beamWidth < 1)
      throw userError(`beamWidth must be a positive integer, but it is ${beamWidth}.`);
    const { start, end } = checkedTokens(startTokens, endToken);
    this.end = end;
    this.batchSize = rowsOf(start);
    this.dtype = (flatten(initialState)[0] as Tensor | TensorArray).dtype; // states consist of these
    this.initialCellState = mapStructure((t: Tensor | TensorArray) => this.split(t), initialState) as S; // the same structure
    this.startInputs = embed(embedding, tile(expandDims(start, 1), [1, beamWidth]));
  }

  override get outputSize(): Record<keyof BeamSearchDecoderOutput, Dims> {
    const perBeam = [this.beamWidth];
    return { scores: perBeam, predictedIds: perBeam, parentIds: perBeam };
  }
  override get outputDtype(): Record<keyof BeamSearchDecoderOutput, DType> {
    return { scores: this.dtype, predictedIds: int32, parentIds: int32 };
  }

  override initialize(): Omit<DecoderStep<BeamSearchDecoderOutput, BeamSearchDecoderState<S>>, 'outputs'> {
    // All beams are the same in the beginning, so only the first may be continued.
    const first = zeros([this.batchSize], { dtype: int32 });
    const finished = oneHot(first, this.beamWidth, { onValue: false, offValue: true });
    const logProbs = oneHot(first, this.beamWidth, {
      onValue: constant(0, { dtype: this.dtype }),
      offValue: constant(Number.NEGATIVE_INFINITY, { dtype: this.dtype }),
    });
    const looks = this.attention(this.initialCellState);
    const state = {
      cellState: this.initialCellState,
      logProbs,
      finished,
      lengths: zeros([this.batchSize, this.beamWidth], { dtype: int64 }),
      accumulatedAttentionProbs: looks ?? ([] as const),
    };
    return { finished, inputs: this.startInputs, state };
  }

  override step(
    _time: Tensor,
    inputs: Tensor,
    state: BeamSearchDecoderState<S>,
  ): DecoderStep<BeamSearchDecoderOutput, BeamSearchDecoderState<S>> {
    return nameScope('BeamSearchDecoderStep', () => {
      const joined = mapStructure((t: Tensor | TensorArray) => this.join(t), state.cellState) as S; // the same structure
      const [output, after] = this.cell.apply(this.join(inputs) as Tensor, joined); // a tensor stays one
      const next = mapStructure((t: Tensor | TensorArray) => this.split(t), after) as S; // the same structure
      const apart = this.split(output) as Tensor; // a tensor stays one
      const logits = this.options.outputLayer ? this.options.outputLayer.apply(apart) : apart;
      const looks = this.attention(next);
      const goesOn = expandDims(cast(logicalNot(state.finished), this.dtype), 2);
      const attended = looks && (state.accumulatedAttentionProbs as Tensor).add(looks.mul(goesOn)); // there from the start
      const chosen = this.best(logits, state, attended);
      const pick = (t: Tensor) => gather(t, chosen.parentIds, { batchDims: 1 });
      const { finished } = chosen;
      return {
        outputs: { scores: chosen.scores, predictedIds: chosen.ids, parentIds: chosen.parentIds },
        state: {
          cellState: mapStructure((t: Tensor | TensorArray) => (hasBeams(t) ? pick(t) : t), next) as S, // the same structure
          logProbs: chosen.logProbs,
          finished,
          lengths: chosen.lengths,
          accumulatedAttentionProbs: attended ? pick(attended) : ([] as const),
        },
        inputs: embed(this.embedding, chosen.ids),
        finished,
      };
    });
  }

  override finalize(
    outputs: BeamSearchDecoderOutput,
    state: BeamSearchDecoderState<S>,
    _lengths: Tensor,
  ): [FinalBeamSearchDecoderOutput, BeamSearchDecoderState<Reordered<S>>] {
    const longest = cast(reduceMax(state.lengths, 1), int32);
    const predictedIds = gatherTree(outputs.predictedIds, outputs.parentIds, longest, this.end);
    const ordered = (t: Tensor | TensorArray) =>
      t instanceof TensorArray ? this.inOrder(t, outputs.parentIds, state.lengths) : t;
    const reorders = this.options.reorderTensorArrays ?? true;
    const cellState = (reorders ? mapStructure(ordered, state.cellState) : state.cellState) as Reordered<S>; // as it says
    return [
      { predictedIds, beamSearchDecoderOutput: outputs },
      { ...state, cellState },
    ];
  }

  /** The best continuations of all beams together. */
  private best(logits: Tensor, state: BeamSearchDecoderState<S>, attended: Tensor | undefined) {
    const { beamWidth, batchSize, end, dtype } = this;
    const symbols = logits.shape?.at(-1) ?? shape(logits).slice('-1');
    // A finished beam can only be followed by the end token, at no cost.
    const ending = oneHot(end, symbols, {
      onValue: constant(0, { dtype }),
      offValue: constant(dtype.min, { dtype }),
    });
    const asEnded = tile(reshape(ending, [1, 1, -1]), [batchSize, beamWidth, 1]);
    const isOver = tile(expandDims(state.finished, 2), stack([1, 1, symbols]));
    const steps = where(isOver, asEnded, logSoftmax(logits));
    const total = add(expandDims(state.logProbs, 2), steps);
    // A beam that goes on has one symbol more, unless that is the end.
    const isEnd = equal(range(symbols), end);
    const grown = cast(logicalNot(logicalOr(expandDims(state.finished, 2), isEnd)), int64);
    const lengths = add(expandDims(state.lengths, 2), grown);
    const scores = this.covered(this.penalized(total, lengths), attended, state.finished);
    const flat = reshape(scores, [batchSize, -1]);
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
      logProbs: gather(reshape(total, [batchSize, -1]), indices, { batchDims: 1 }),
      lengths: add(pick(state.lengths), cast(logicalNot(wasFinished), int64)),
    };
  }

  private penalized(total: Tensor, lengths: Tensor): Tensor {
    const { lengthPenaltyWeight = 0 } = this.options;
    if (lengthPenaltyWeight === 0) return total;
    const grown = pow(cast(lengths, float32).add(5), lengthPenaltyWeight);
    const penalty = grown.div(pow(constant(6, { dtype: float32 }), lengthPenaltyWeight));
    return total.div(cast(penalty, this.dtype));
  }

  /** The scores less what the steps of the memory cost that finished beams have not looked at enough. */
  private covered(scores: Tensor, looks: Tensor | undefined, finished: Tensor): Tensor {
    const { coveragePenaltyWeight = 0 } = this.options;
    if (!looks) return scores;
    // Steps beyond a memory's end never get attention, and cost nothing.
    const counted = where(equal(looks, 0), onesLike(looks), looks);
    const missing = reduceSum(log(minimum(counted, 1)), 2).mul(cast(finished, this.dtype));
    return scores.add(expandDims(missing.mul(coveragePenaltyWeight), 2));
  }

  /** The weights that attention gives to the memory in a state of the cell, [batch, beam, memory], where coverage counts. */
  private attention(state: S): Tensor | undefined {
    return this.options.coveragePenaltyWeight ? mean(alignmentsIn(state)) : undefined;
  }

  /** [batch * beam, …] as [batch, beam, …]; numbers without a batch, and arrays, stay as they are. */
  private split(t: Tensor | TensorArray): Tensor | TensorArray {
    if (!hasBeams(t)) return t;
    const rows = typeof this.batchSize === 'number' ? this.batchSize : null;
    const given = t.shape![0] ?? null;
    if (rows !== null && given !== null && given !== rows * this.beamWidth)
      throw userError(
        `${t.name} has ${given} rows, but a state of ${rows} examples with ${this.beamWidth} beams has ${rows * this.beamWidth}. Perhaps you forgot to create a zeroState with batchSize = encoderBatchSize * beamWidth, or to use tileBatch?`,
      );
    const result = reshape(t, concat([[this.batchSize, this.beamWidth], shape(t).slice('1:')], 0));
    result.setShape([rows, this.beamWidth, ...t.shape!.slice(1)]);
    return result;
  }

  private join(t: Tensor | TensorArray): Tensor | TensorArray {
    if (!hasBeams(t)) return t;
    const result = reshape(t, concat([[-1], shape(t).slice('2:')], 0));
    const rows = typeof this.batchSize === 'number' ? this.batchSize * this.beamWidth : null;
    result.setShape([rows, ...t.shape!.slice(2)]);
    return result;
  }

  /** What an array holds, stacked and in the order of the beams; the array itself where its elements have no row for each. */
  private inOrder(array: TensorArray, parentIds: Tensor, lengths: Tensor): Tensor | TensorArray {
    const { batchSize, beamWidth } = this;
    const dims = array.elementShape;
    const [rows, width] = [dims?.[0] ?? null, dims?.[1] ?? null];
    const known = typeof batchSize === 'number' ? batchSize : null;
    const mayJoin = rows === null || known === null || rows === known * beamWidth;
    const maySplit = (rows === null || known === null || rows === known) && (width === null || width === beamWidth);
    if (dims === null || dims.length === 0 || !(mayJoin || (maySplit && dims.length > 1))) {
      warn(
        `An array in the cell's state, whose elements are ${showTuple(dims)}, cannot be put in the order of the beams: they should be [${known ?? 'batch'} * ${beamWidth}, …] or [${known ?? 'batch'}, ${beamWidth}, …]. Consider reorderTensorArrays: false.`,
      );
      return array;
    }
    const stacked = array.stack();
    const sizes = shape(stacked);
    const isJoined = equal(sizes.slice('1'), cast(batchSize, int32).mul(beamWidth));
    const isSplit = () => logicalAnd(equal(sizes.slice('1'), batchSize), equal(sizes.slice('2'), beamWidth));
    const fits = Assert(dims.length === 1 ? isJoined : logicalOr(isJoined, isSplit()), [
      'reorderTensorArrays expects elements with one row for every beam, but the stacked array is ',
      sizes,
    ]);
    return controlDependencies([fits], () => gatherTreeFromArray(identity(stacked), parentIds, lengths));
  }
}

/** Whether something has a row for every beam: no array, and no number that all share, such as the time. */
function hasBeams(t: Tensor | TensorArray): t is Tensor {
  if (t instanceof TensorArray) return false;
  if (t.rank === null) throw userError(`Expected tensor (${t.name}) to have known rank; use setShape.`);
  return t.rank > 0;
}
