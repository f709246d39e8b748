/** @file AttentionWrapper: a cell that looks at memories with every step. */
import { type DType, int32 } from '../../../core/dtypes.ts';
import { nameScope } from '../../../graph/graph.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { concat, identity, zeros } from '../../../ops/array/index.ts';
import { TensorArray } from '../../controlFlow/tensorArray.ts';
import { Dense } from '../../layers/dense.ts';
import { mapStructure } from '../../nest.ts';
import { type CellStep, RNNCell, type Sizes } from '../../rnn/cell.ts';
import { type AttentionMechanism, contextOf } from './attention.ts';

/** The state of an `AttentionWrapper`. */
export interface AttentionWrapperState<S> {
  readonly cellState: S;
  /** What the attention of the step before gave. */
  readonly attention: Tensor;
  readonly time: Tensor;
  /** The weights given to each memory's steps. */
  readonly alignments: readonly Tensor[];
  /** The alignments of all steps so far, where they are kept. */
  readonly alignmentHistory: readonly TensorArray[];
}

export interface AttentionWrapperOptions<S> {
  /** Width of a layer over the cell's output and what was looked up; without it, what was looked up is the attention. */
  readonly attentionLayerSize?: number | readonly number[] | undefined;
  /** The layer itself, in place of its width; one for each mechanism. */
  readonly attentionLayer?: Dense | readonly Dense[] | undefined;
  /** Keeps the alignments of all steps. */
  readonly alignmentHistory?: boolean | undefined;
  /** Joins inputs and attention for the cell; side by side unless given. */
  readonly cellInputFn?: ((inputs: Tensor, attention: Tensor) => Tensor) | undefined;
  /** Whether steps give the attention (so it is unless given) or the cell's output. */
  readonly outputAttention?: boolean | undefined;
  /** The cell's state before the first step; zeros unless given. */
  readonly initialCellState?: S | undefined;
  readonly name?: string | undefined;
}

/**
 * A cell with attention: each step compares the cell's output with the memories, looks up what fits, and feeds it into the
 * next step.
 *
 * @example
 * const attention = new tf.contrib.seq2seq.LuongAttention(64, encoderOutputs);
 * const cell = new tf.contrib.seq2seq.AttentionWrapper(new tf.nn.rnnCell.GRUCell(64), attention, { attentionLayerSize: 64 });
 */
export class AttentionWrapper<S = Tensor> extends RNNCell<AttentionWrapperState<S>> {
  readonly stateSize: Sizes<AttentionWrapperState<S>>;
  readonly outputSize: number;
  private readonly mechanisms: readonly AttentionMechanism[];
  private readonly layers: readonly (Dense | undefined)[];
  private readonly attentionSize: number;

  constructor(
    readonly cell: RNNCell<S>,
    mechanism: AttentionMechanism | readonly AttentionMechanism[],
    private readonly options: AttentionWrapperOptions<S> = {},
  ) {
    super(options.name === undefined ? {} : { name: options.name });
    onlyOptions(
      'tf.contrib.seq2seq.AttentionWrapper',
      options,
      'attentionLayerSize',
      'attentionLayer',
      'alignmentHistory',
      'cellInputFn',
      'outputAttention',
      'initialCellState',
      'name',
    );
    this.mechanisms = 'length' in mechanism ? mechanism : [mechanism];
    const { attentionLayerSize, attentionLayer } = options;
    if (attentionLayerSize !== undefined && attentionLayer !== undefined)
      throw userError('Only one of attentionLayerSize and attentionLayer should be set');
    const given = attentionLayer instanceof Dense ? [attentionLayer] : attentionLayer;
    const sizes =
      given?.map((layer) => layer.units) ??
      (typeof attentionLayerSize === 'number' ? [attentionLayerSize] : attentionLayerSize);
    if (sizes && sizes.length !== this.mechanisms.length)
      throw userError(
        `If provided, ${given ? 'attentionLayer must contain exactly one layer' : 'attentionLayerSize must contain exactly one integer'} per attention mechanism: ${sizes.length} vs ${this.mechanisms.length}`,
      );
    this.layers = this.mechanisms.map(
      (_, i) => given?.[i] ?? (sizes && new Dense(sizes[i]!, { name: 'attention_layer', useBias: false })),
    );
    this.attentionSize = this.mechanisms.reduce((n, m, i) => n + (sizes?.[i] ?? m.values.shape!.at(-1)!), 0);
    this.outputSize = (options.outputAttention ?? true) ? this.attentionSize : cell.outputSize;
    this.stateSize = {
      cellState: cell.stateSize,
      attention: this.attentionSize,
      time: 0,
      alignments: this.mechanisms.map((m) => m.keys.shape?.[1] ?? -1),
      alignmentHistory: [],
    } as unknown as Sizes<AttentionWrapperState<S>>; // arrays of no known size have no size to tell
  }

  override zeroState(batchSize: number | Tensor, dtype: DType): AttentionWrapperState<S> {
    return nameScope('AttentionWrapperZeroState', () => {
      const { initialCellState, alignmentHistory = false } = this.options;
      const given = initialCellState ?? this.cell.zeroState(batchSize, dtype);
      const attention = zeros([batchSize, this.attentionSize], { dtype });
      attention.setShape([typeof batchSize === 'number' ? batchSize : null, this.attentionSize]);
      return {
        cellState: mapStructure((t: Tensor) => identity(t), given) as S, // the same structure
        attention,
        time: zeros([], { dtype: int32 }),
        alignments: this.mechanisms.map((m) => m.initialAlignments(batchSize, dtype)),
        alignmentHistory: alignmentHistory
          ? this.mechanisms.map(() => new TensorArray(dtype, { size: 0, dynamicSize: true }))
          : [],
      };
    });
  }

  override call(inputs: Tensor, state: AttentionWrapperState<S>): CellStep<AttentionWrapperState<S>> {
    const { cellInputFn = (x: Tensor, a: Tensor) => concat([x, a], -1), outputAttention = true } = this.options;
    const [output, cellState] = this.cell.apply(cellInputFn(inputs, state.attention), state.cellState);
    const looked = this.mechanisms.map((mechanism, i) => {
      const alignments = mechanism.alignments(output, state.alignments[i]!);
      const context = contextOf(alignments, mechanism.values);
      const layer = this.layers[i];
      return { alignments, attention: layer ? layer.apply(concat([output, context], 1)) : context };
    });
    const attention =
      looked.length === 1
        ? looked[0]!.attention
        : concat(
            looked.map((l) => l.attention),
            1,
          );
    const next = {
      cellState,
      attention,
      time: state.time.add(1),
      alignments: looked.map((l) => l.alignments),
      alignmentHistory: state.alignmentHistory.map((history, i) => history.write(state.time, looked[i]!.alignments)),
    };
    return [outputAttention ? attention : output, next];
  }
}
