/** @file rawRnn: a cell in a loop whose inputs, states and end a function of yours decides step by step. */
import { int32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { constant, shape, stack, zeros } from '../../ops/array/index.ts';
import { logicalNot, logicalOr, reduceAll, where } from '../../ops/math/index.ts';
import { TensorArray } from '../controlFlow/tensorArray.ts';
import { uniformLoop } from '../controlFlow/whileLoop.ts';
import { flatten, mapStructure } from '../nest.ts';
import { type VariableScope, variableScope } from '../variableScope.ts';
import type { RNNCell } from './cell.ts';

/** What the loop function decides for the next step. */
export interface RawRnnStep<S, L> {
  /** Which examples are finished, [batch]. */
  readonly finished: Tensor;
  readonly input: Tensor;
  readonly state: S;
  /** What the step gives out; the cell's output unless given. In the first call: an example of it, of one row's shape. */
  readonly emit?: Tensor | undefined;
  /** Anything to hand on to the next call. */
  readonly loopState?: L | undefined;
}

/** The same as Python's tuple: finished, input, state, emit and loop state. */
export type RawRnnTuple<S, L> = readonly [
  finished: Tensor,
  input: Tensor,
  state: S,
  emit?: Tensor | null | undefined,
  loopState?: L | null | undefined,
];

function asStep<S, L>(decided: RawRnnStep<S, L> | RawRnnTuple<S, L>): RawRnnStep<S, L> {
  if (!Array.isArray(decided)) return decided as RawRnnStep<S, L>; // Array.isArray does not narrow readonly tuples
  const [finished, input, state, emit, loopState] = decided as RawRnnTuple<S, L>; // an array, as just checked
  return { finished, input, state, emit: emit ?? undefined, loopState: loopState ?? undefined };
}

/** Called before the first step with nothing but the time, and after each step with what the cell gave. */
export type RawRnnLoop<S, L> = (
  time: Tensor,
  output: Tensor | undefined,
  state: S | undefined,
  loopState: L | undefined,
) => RawRnnStep<S, L> | RawRnnTuple<S, L>;

export interface RawRnnOptions {
  readonly parallelIterations?: number | undefined;
  readonly swapMemory?: boolean | undefined;
  readonly scope?: string | VariableScope | undefined;
}

/**
 * Applies a cell as long as `decide` says that some example is not finished. Gives what the steps gave out, the last state, and
 * the last loop state.
 *
 * @example
 * const [outputs, state] = tf.nn.rawRnn(cell, (time, output, state) => ({
 *   finished: time.greaterEqual(lengths), input: nextInput(time), state: state ?? cell.zeroState(batch, tf.float32) }));
 */
export function rawRnn<S, L = null>(
  cell: RNNCell<S>,
  decide: RawRnnLoop<S, L>,
  options: RawRnnOptions = {},
): [outputs: TensorArray, state: S, loopState: L | undefined] {
  onlyOptions('tf.nn.rawRnn', options, 'parallelIterations', 'swapMemory', 'scope');
  return variableScope(options.scope ?? 'rnn', () => {
    const time = constant(0, { dtype: int32 });
    const first = asStep(decide(time, undefined, undefined, undefined));
    const rows = first.input.shape?.[0] ?? null;
    const batch = rows ?? shape(first.input).slice('0');
    const dtype = first.emit?.dtype ?? (flatten(first.state)[0] as Tensor).dtype; // states consist of tensors
    const row = first.emit ? [...(first.emit.shape ?? [])].map((n) => n ?? -1) : [cell.outputSize];
    const outputs = new TensorArray(dtype, { size: 0, dynamicSize: true, elementShape: [rows, ...row] });
    const idle = zeros(stack([batch, ...row]), { dtype });
    type Variables = [Tensor, Tensor, Tensor, TensorArray, S, L | Tensor];
    const step = (...[t, finished, input, emitted, state, given]: Variables): Variables => {
      const [output, next] = cell.apply(input, state);
      const own = first.loopState === undefined ? undefined : (given as L); // a constant goes round where there is none
      const decided = asStep(decide(t.add(1), output, next, own));
      const kept = (before: Tensor, after: Tensor) => (after.rank === 0 ? after : where(finished, before, after));
      return [
        t.add(1),
        logicalOr(finished, decided.finished),
        decided.input,
        emitted.write(t, kept(idle, decided.emit ?? output)),
        mapStructure(kept, state, decided.state) as S, // the same structure
        decided.loopState ?? given,
      ];
    };
    const [, , , emitted, state, loopState] = uniformLoop<Variables>(
      (_, finished) => logicalNot(reduceAll(finished)),
      step,
      [time, first.finished, first.input, outputs, first.state, first.loopState ?? constant(0, { dtype: int32 })],
      { parallelIterations: options.parallelIterations ?? 32, swapMemory: options.swapMemory },
    );
    return [emitted, state, first.loopState === undefined ? undefined : (loopState as L)]; // as in the steps
  });
}
