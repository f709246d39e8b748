/** @file Decoders and dynamicDecode: a loop that writes sequences until all are finished. */
import { type DType, int32 } from '../../../core/dtypes.ts';
import type { Dims } from '../../../core/shape.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { constantValue } from '../../../op/constantValue.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { constant, transpose } from '../../../ops/array/index.ts';
import { logicalNot, logicalOr, onesLike, reduceAll, where, zerosLike } from '../../../ops/math/index.ts';
import { TensorArray } from '../../controlFlow/tensorArray.ts';
import { uniformLoop } from '../../controlFlow/whileLoop.ts';
import { mapStructure } from '../../nest.ts';
import { type VariableScope, variableScope } from '../../variableScope.ts';

/** What one step of a decoder gives: records of tensors whose first axis is the batch. */
export interface DecoderStep<O, S> {
  readonly outputs: O;
  readonly state: S;
  readonly inputs: Tensor;
  readonly finished: Tensor;
}

/** Something that writes sequences step by step. `F` and `L` are what `finalize` makes of all outputs and the last state. */
export abstract class Decoder<O, S, F = O, L = S> {
  abstract readonly batchSize: number | Tensor;
  /** The shapes of the outputs of one example, in their structure. */
  abstract readonly outputSize: { readonly [K in keyof O]: Dims };
  /** Types of the outputs, in their structure. */
  abstract readonly outputDtype: { readonly [K in keyof O]: DType };
  /** It keeps track itself of which sequences are finished. */
  readonly tracksOwnFinished: boolean = false;

  abstract initialize(): Omit<DecoderStep<O, S>, 'outputs'>;
  abstract step(time: Tensor, inputs: Tensor, state: S): DecoderStep<O, S>;
  /** Turns the outputs of all steps, [time, batch, …], and the last state into results; they are the results unless given. */
  finalize?(outputs: O, state: S, lengths: Tensor): readonly [F, L];
}

export interface DynamicDecodeOptions {
  /** Results are [time, batch, …] rather than [batch, time, …]. */
  readonly outputTimeMajor?: boolean | undefined;
  /** Outputs of finished sequences are zeros, and their states stay as they are. */
  readonly imputeFinished?: boolean | undefined;
  readonly maximumIterations?: TensorLike | undefined;
  readonly parallelIterations?: number | undefined;
  readonly swapMemory?: boolean | undefined;
  readonly scope?: string | VariableScope | undefined;
}

/**
 * Runs a decoder until all sequences are finished. Gives its outputs, [batch, time, …], its last state, and the lengths.
 *
 * @example const [{ rnnOutput, sampleId }, state, lengths] = tf.contrib.seq2seq.dynamicDecode(decoder);
 */
export function dynamicDecode<O extends object, S, F = O, L = S>(
  decoder: Decoder<O, S, F, L>,
  options: DynamicDecodeOptions = {},
): [outputs: F, state: L, lengths: Tensor] {
  onlyOptions(
    'tf.contrib.seq2seq.dynamicDecode',
    options,
    'outputTimeMajor',
    'imputeFinished',
    'maximumIterations',
    'parallelIterations',
    'swapMemory',
    'scope',
  );
  const { imputeFinished = false } = options;
  return variableScope(options.scope ?? null, { defaultName: 'decoder' }, () => {
    const most = scalarOf(options.maximumIterations);
    const first = decoder.initialize();
    // With no step allowed, nothing is written and all lengths are 0.
    const over = most ? logicalOr(first.finished, constant(0, { dtype: int32 }).greaterEqual(most)) : first.finished;
    const { batchSize, outputSize } = decoder;
    const arrays = Object.fromEntries(
      Object.entries<DType>(decoder.outputDtype).map(([key, dtype]) => {
        const elementShape = rowsBefore(batchSize, outputSize[key as keyof O]); // the same keys
        return [key, new TensorArray(dtype, { size: 0, dynamicSize: true, elementShape })];
      }),
    );
    const lengths = zerosLike(over, { dtype: int32 });
    type Variables = [
      time: Tensor,
      written: Record<string, TensorArray>,
      state: S,
      inputs: Tensor,
      finished: Tensor,
      counts: Tensor,
    ];
    const step = (...[time, written, state, inputs, finished, counts]: Variables): Variables => {
      const next = decoder.step(time, inputs, state);
      const over = decoder.tracksOwnFinished ? next.finished : logicalOr(next.finished, finished);
      const after = where(finished, counts, onesLike(counts).mul(time.add(1)));
      const kept = (before: Tensor, now: Tensor) => (now.rank === 0 ? now : where(finished, before, now));
      const outputs = (
        imputeFinished ? mapStructure((t: Tensor) => where(finished, zerosLike(t), t), next.outputs) : next.outputs
      ) as Record<string, Tensor>; // a record of tensors
      const carried = imputeFinished ? (mapStructure(keepTensors(kept), state, next.state) as S) : next.state; // the same structure
      const arrays = Object.fromEntries(
        Object.entries(written).map(([key, ta]) => [key, ta.write(time, outputs[key]!)]),
      );
      return [time.add(1), arrays, carried, next.inputs, over, after];
    };
    const [, written, state, , , final] = uniformLoop<Variables>(
      (...[, , , , finished]) => logicalNot(reduceAll(finished)),
      step,
      [constant(0, { dtype: int32 }), arrays, first.state, first.inputs, over, lengths],
      {
        maximumIterations: most,
        parallelIterations: options.parallelIterations ?? 32,
        swapMemory: options.swapMemory,
      },
    );
    const stacked = mapStructure((ta: TensorArray) => ta.stack(), written) as O; // one tensor per array
    const [outputs, last] = decoder.finalize
      ? decoder.finalize(stacked, state, final)
      : ([stacked, state] as unknown as [F, L]); // `F` is `O` and `L` is `S` without a `finalize`
    return [options.outputTimeMajor ? outputs : (mapStructure(batchFirst, outputs) as F), last, final];
  });
}

function scalarOf(maximumIterations: TensorLike | undefined): Tensor | undefined {
  if (maximumIterations === undefined) return undefined;
  const most = convertToTensor(maximumIterations, { dtype: int32, name: 'maximum_iterations' });
  if (most.rank !== null && most.rank !== 0) throw userError('maximumIterations must be a scalar');
  return most;
}

/** The shape of a batch of what has a shape. */
function rowsBefore(batchSize: number | Tensor, dims: Dims): Dims {
  if (dims === null) return null;
  const known = typeof batchSize === 'number' ? batchSize : (constantValue(batchSize)?.numberAt(0) ?? null);
  return [known, ...dims];
}

/** Arrays of tensors go on as they are. */
function keepTensors(kept: (before: Tensor, now: Tensor) => Tensor) {
  return (before: Tensor | TensorArray, now: Tensor | TensorArray) =>
    before instanceof TensorArray || now instanceof TensorArray ? now : kept(before, now);
}

/** [time, batch, …] as [batch, time, …]. */
function batchFirst(x: Tensor): Tensor {
  const rank = x.shape?.length;
  if (rank === undefined || rank < 2) return x;
  return transpose(x, [1, 0, ...Array.from({ length: rank - 2 }, (_, i) => i + 2)]);
}
