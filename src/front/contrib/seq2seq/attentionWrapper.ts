/** @file AttentionWrapper: a cell that looks at memories with every step. */
import { type DType, int32 } from '../../../core/dtypes.ts';
import { compatible, showTuple } from '../../../core/shape.ts';
import { onlyOptions } from '../../../graph/options.ts';
import { controlDependencies, nameScope } from '../../../graph/scopes.ts';
import { Tensor } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { concat, identity, shape, zeros } from '../../../ops/array/index.ts';
import { assertEqual } from '../../../ops/flow/index.ts';
import { TensorArray } from '../../controlFlow/tensorArray.ts';
import { Dense } from '../../layers/dense.ts';
import { Layer } from '../../layers/layer.ts';
import { Fields, flatten, mapStructure } from '../../nest.ts';
import { type CellStep, RNNCell, type Sizes } from '../../rnn/cell.ts';
import { type AttentionMechanism, contextOf } from './attention.ts';

/** A mechanism, whatever it remembers. */
type AnyMechanism = AttentionMechanism<unknown>;
/** One mechanism, or several. */
export type Mechanisms = AnyMechanism | readonly AnyMechanism[];
/** One thing for one mechanism, a list for a list. */
export type PerMechanism<G extends Mechanisms, T> = G extends readonly unknown[] ? readonly T[] : T;
type StateOf<G> = G extends AttentionMechanism<infer M> ? M : never;
/** What a mechanism remembers, for one or for a list. */
export type AttentionStates<G extends Mechanisms> = G extends readonly (infer E)[] ? readonly StateOf<E>[] : StateOf<G>;
/** The alignments of all steps so far: an array of tensors where they are kept, nothing otherwise. */
export type AlignmentHistory<H extends boolean> = H extends true ? TensorArray : readonly [];

/** What the fields of an `AttentionWrapperState` are. */
export interface AttentionWrapperFields<S, G extends Mechanisms, H extends boolean> {
  readonly cellState: S;
  /** What the attention of the step before gave. */
  readonly attention: Tensor;
  readonly time: Tensor;
  /** The weights given to the steps of the memory; a list where the wrapper was given a list of mechanisms. */
  readonly alignments: PerMechanism<G, Tensor>;
  /** The alignments of all steps so far, where they are kept. */
  readonly alignmentHistory: PerMechanism<G, AlignmentHistory<H>>;
  /** What the mechanism remembers; the alignments, unless it is one of your own. */
  readonly attentionState: AttentionStates<G>;
}

/** The state of an `AttentionWrapper`. It is a structure: `tf.nest` and loops go through its fields. */
export class AttentionWrapperState<S, G extends Mechanisms = AttentionMechanism, H extends boolean = false>
  extends Fields
  implements AttentionWrapperFields<S, G, H>
{
  declare readonly cellState: S;
  declare readonly attention: Tensor;
  declare readonly time: Tensor;
  declare readonly alignments: PerMechanism<G, Tensor>;
  declare readonly alignmentHistory: PerMechanism<G, AlignmentHistory<H>>;
  declare readonly attentionState: AttentionStates<G>;

  constructor(fields: AttentionWrapperFields<S, G, H>) {
    super();
    Object.assign(this, fields);
  }

  /**
   * The state with some fields replaced by others of the same shapes.
   *
   * @example const start = cell.zeroState(batch, tf.float32).clone({ cellState: encoderState });
   */
  clone(changes: Partial<AttentionWrapperFields<S, G, H>>): AttentionWrapperState<S, G, H> {
    const changed = new AttentionWrapperState<S, G, H>({ ...this, ...changes });
    const checked = (old: unknown, now: unknown): unknown =>
      old instanceof Tensor && now instanceof Tensor ? withShapeOf(old, now) : now;
    return mapStructure(checked, this, changed) as AttentionWrapperState<S, G, H>; // the structure that was put in
  }
}

/** A tensor that must have the shape of another, as far as that can be known now; a step looks at what it is given. */
function withShapeOf(old: Tensor, now: Tensor): Tensor {
  if (!compatible(old.shape, now.shape))
    throw userError(
      `The shape of the AttentionWrapperState is expected to be same as the one to clone: ${now.name} is ${showTuple(now.shape)} but ${old.name} is ${showTuple(old.shape)}`,
    );
  return now;
}

/** Gives the attention, the alignments and what the mechanism remembers, from what the cell gave. */
export type AttentionFn = (
  mechanism: AnyMechanism,
  cellOutput: Tensor,
  attentionState: never, // what the mechanism itself gave, whatever that is
  attentionLayer: Layer | undefined,
) => readonly [attention: Tensor, alignments: Tensor, attentionState: unknown];

export interface AttentionWrapperOptions<S, H extends boolean = boolean> {
  /** Width of a layer over the cell's output and what was looked up; without it, what was looked up is the attention. */
  readonly attentionLayerSize?: number | readonly number[] | undefined;
  /** The layer itself, in place of its width; one for each mechanism. */
  readonly attentionLayer?: Layer | readonly Layer[] | undefined;
  /** Keeps the alignments of all steps. */
  readonly alignmentHistory?: H | undefined;
  /** Joins inputs and attention for the cell; side by side unless given. */
  readonly cellInputFn?: ((inputs: Tensor, attention: Tensor) => Tensor) | undefined;
  /** Whether steps give the attention (so it is unless given) or the cell's output. */
  readonly outputAttention?: boolean | undefined;
  /** The cell's state before the first step; zeros unless given. */
  readonly initialCellState?: S | undefined;
  /** Does the looking up; what it gives is as wide as the attention layers would make it. */
  readonly attentionFn?: AttentionFn | undefined;
  readonly dtype?: DType | undefined;
  readonly name?: string | undefined;
}
const optionNames = [
  'attentionLayerSize',
  'attentionLayer',
  'alignmentHistory',
  'cellInputFn',
  'outputAttention',
  'initialCellState',
  'attentionFn',
  'dtype',
  'name',
] as const;

const lookUp: AttentionFn = (mechanism, cellOutput, attentionState, attentionLayer) => {
  const [alignments, next] = mechanism.apply(cellOutput, attentionState);
  const context = contextOf(alignments, mechanism.values);
  const attention = attentionLayer ? attentionLayer.apply(concat([cellOutput, context], 1)) : context;
  return [attention, alignments, next];
};

const isList = (given: Mechanisms): given is readonly AnyMechanism[] => Array.isArray(given);

/**
 * A cell with attention: each step compares the cell's output with the memories, looks up what fits, and feeds it into the
 * next step. Given one mechanism, the state has its alignments; given a list, a list of them.
 *
 * @example
 * const attention = new tf.contrib.seq2seq.LuongAttention(64, encoderOutputs);
 * const cell = new tf.contrib.seq2seq.AttentionWrapper(new tf.nn.rnnCell.GRUCell(64), attention, { attentionLayerSize: 64 });
 */
export class AttentionWrapper<
  S = Tensor,
  G extends Mechanisms = AttentionMechanism,
  H extends boolean = false,
> extends RNNCell<AttentionWrapperState<S, G, H>> {
  readonly stateSize: Sizes<AttentionWrapperState<S, G, H>>;
  readonly outputSize: number;
  private readonly mechanisms: readonly AnyMechanism[];
  private readonly isMany: boolean;
  private readonly layers: readonly (Layer | undefined)[];
  private readonly attentionSize: number;
  private readonly initialCellState: S | undefined;

  constructor(
    readonly cell: RNNCell<S>,
    mechanism: G,
    private readonly options: AttentionWrapperOptions<S, H> = {},
  ) {
    super({ name: options.name, dtype: options.dtype });
    onlyOptions('tf.contrib.seq2seq.AttentionWrapper', options, ...optionNames);
    this.isMany = isList(mechanism);
    this.mechanisms = isList(mechanism) ? mechanism : [mechanism];
    this.layers = layersFor(this.mechanisms, options);
    this.attentionSize = this.mechanisms.reduce((n, m, i) => n + widthOf(this.layers[i], cell, m), 0);
    this.outputSize = (options.outputAttention ?? true) ? this.attentionSize : cell.outputSize;
    const steps = this.mechanisms.map((m) => (typeof m.alignmentsSize === 'number' ? m.alignmentsSize : -1));
    this.stateSize = {
      cellState: cell.stateSize,
      attention: this.attentionSize,
      time: 0,
      alignments: this.each(steps),
      attentionState: this.each(steps),
      alignmentHistory: this.each(steps.map(() => [])),
    } as unknown as Sizes<AttentionWrapperState<S, G, H>>; // arrays and memories of no known size have no size to tell
    const { initialCellState } = options;
    this.initialCellState =
      initialCellState &&
      nameScope(options.name ?? 'AttentionWrapperInit', () => {
        const last = flatten(initialCellState).at(-1) as Tensor; // states consist of tensors
        const rows = last.shape?.[0] ?? shape(last).slice('0');
        const hint = 'initialCellState. Are you using the BeamSearchDecoder? Tile the initial state with tileBatch.';
        return this.ifBatchIs(rows, `When constructing AttentionWrapper ${this.name}`, hint, initialCellState);
      });
  }

  override zeroState(batchSize: number | Tensor, dtype: DType): AttentionWrapperState<S, G, H> {
    return nameScope(`${this.constructor.name}ZeroState`, () => {
      const given = this.initialCellState ?? this.cell.zeroState(batchSize, dtype);
      const hint =
        'the requested batch size. Are you using the BeamSearchDecoder? Tile the encoder output with tileBatch and ask for batchSize * beamWidth.';
      const cellState = this.ifBatchIs(
        batchSize,
        `When calling zeroState of AttentionWrapper ${this.name}`,
        hint,
        given,
      );
      const attention = zeros([batchSize, this.attentionSize], { dtype });
      attention.setShape([typeof batchSize === 'number' ? batchSize : null, this.attentionSize]);
      const alignments = this.mechanisms.map((m) => m.initialAlignments(batchSize, dtype));
      const history = ({ shape }: Tensor) =>
        new TensorArray(dtype, { size: 0, dynamicSize: true, elementShape: shape });
      return new AttentionWrapperState<S, G, H>({
        cellState,
        attention,
        time: zeros([], { dtype: int32 }),
        alignments: this.each(alignments),
        attentionState: this.each(this.mechanisms.map((m) => m.initialState(batchSize, dtype))),
        alignmentHistory: this.each(alignments.map((a) => (this.options.alignmentHistory ? history(a) : []))),
      });
    });
  }

  override call(inputs: Tensor, state: AttentionWrapperState<S, G, H>): CellStep<AttentionWrapperState<S, G, H>> {
    if (state?.attention === undefined || state.attentionState === undefined)
      throw userError('Expected state to be an AttentionWrapperState. Begin with what zeroState gives.');
    const { cellInputFn = (x: Tensor, a: Tensor) => concat([x, a], -1), outputAttention = true } = this.options;
    const [given, cellState] = this.cell.apply(cellInputFn(inputs, state.attention), state.cellState);
    const output = this.checkedQuery(given);
    const before = this.list(state.attentionState);
    const attentionFn = this.options.attentionFn ?? lookUp;
    const looked = this.mechanisms.map((m, i) => attentionFn(m, output, before[i] as never, this.layers[i])); // what it gave itself
    const histories = this.list(state.alignmentHistory);
    const attention = concat(
      looked.map(([found]) => found),
      1,
    );
    const next = new AttentionWrapperState<S, G, H>({
      cellState,
      attention,
      time: state.time.add(1),
      alignments: this.each(looked.map(([, alignments]) => alignments)),
      attentionState: this.each(looked.map(([, , remembered]) => remembered)),
      alignmentHistory: this.each(
        histories.map((h, i) => (h instanceof TensorArray ? h.write(state.time, looked[i]![1]) : [])),
      ),
    });
    return [outputAttention ? attention : output, next];
  }

  /** One thing where one mechanism was given, the list where a list was. */
  private each<T>(list: readonly unknown[]): T {
    return (this.isMany ? list : list[0]) as T; // `T` is a field of the state, which follows what was given
  }
  private list(one: unknown): readonly unknown[] {
    return this.isMany ? (one as readonly unknown[]) : [one]; // as `each` made it
  }

  /** A state that can be had only if the memories have as many examples as there are rows. */
  private ifBatchIs(rows: number | Tensor, when: string, hint: string, state: S): S {
    const message = `${when}: Non-matching batch sizes between the memory (encoder output) and ${hint}`;
    const checks = this.mechanisms.map((m) => assertEqual(rows, m.batchSize, { message }));
    return controlDependencies(checks, () => mapStructure((t: Tensor) => identity(t), state) as S); // the same structure
  }

  /**
   * What the cell gave, if it has as many rows as the memories: refused now where that can be known, looked at when it runs
   * otherwise. One row would go with any number of others without a word.
   */
  private checkedQuery(output: Tensor): Tensor {
    const when = `When applying AttentionWrapper ${this.name}: Non-matching batch sizes between the memory (encoder output)`;
    const hint = 'Are you using the BeamSearchDecoder? Tile your memory with tileBatch.';
    const rows = output.shape?.[0] ?? null;
    const checks = this.mechanisms.flatMap(({ batchSize }) => {
      if (rows === null || typeof batchSize !== 'number') {
        const message = `${when} and the query (decoder output). ${hint}`;
        return [assertEqual(rows ?? shape(output).slice('0'), batchSize, { message })];
      }
      if (rows !== batchSize)
        throw userError(`${when}, ${batchSize}, and the query (decoder output), ${rows}. ${hint}`);
      return [];
    });
    if (checks.length === 0) return output;
    return controlDependencies(checks, () => identity(output, { name: 'checked_cell_output' }));
  }
}

/** The layers over what the mechanisms look up, as the options say. */
function layersFor<S>(
  mechanisms: readonly AnyMechanism[],
  { attentionLayerSize, attentionLayer }: AttentionWrapperOptions<S>,
): readonly (Layer | undefined)[] {
  if (attentionLayerSize !== undefined && attentionLayer !== undefined)
    throw userError('Only one of attentionLayerSize and attentionLayer should be set');
  const onePerMechanism = (given: readonly unknown[], option: string, thing: string) => {
    if (given.length !== mechanisms.length)
      throw userError(
        `If provided, ${option} must contain exactly one ${thing} per attention mechanism: ${given.length} vs ${mechanisms.length}`,
      );
  };
  if (attentionLayer !== undefined) {
    const layers = attentionLayer instanceof Layer ? [attentionLayer] : attentionLayer;
    onePerMechanism(layers, 'attentionLayer', 'layer');
    return layers;
  }
  if (attentionLayerSize === undefined) return mechanisms.map(() => undefined);
  const sizes = typeof attentionLayerSize === 'number' ? [attentionLayerSize] : attentionLayerSize;
  onePerMechanism(sizes, 'attentionLayerSize', 'integer');
  return mechanisms.map(({ dtype }, i) => new Dense(sizes[i]!, { name: 'attention_layer', useBias: false, dtype }));
}

/** How wide the attention of one mechanism is. */
function widthOf<S>(layer: Layer | undefined, cell: RNNCell<S>, { values }: AnyMechanism): number {
  const depth = values.shape?.at(-1) ?? null;
  const width = layer ? (layer.computeOutputShape([null, depth && cell.outputSize + depth])?.at(-1) ?? null) : depth;
  if (width === null) throw userError(`The width of the attention to ${values.name} must be known; use setShape.`);
  return width;
}
