/** @file Decoders and dynamicDecode: a loop that writes sequences until all are finished. */
import { type DType, int32 } from '../../../core/dtypes.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { constant, transpose } from '../../../ops/array/index.ts';
import { logicalNot, logicalOr, reduceAll, where, zerosLike } from '../../../ops/math/index.ts';
import { TensorArray } from '../../controlFlow/tensorArray.ts';
import { whileLoop } from '../../controlFlow/whileLoop.ts';
import { mapStructure } from '../../nest.ts';
import { type VariableScope, variableScope } from '../../variableScope.ts';

/** What one step of a decoder gives: records of tensors whose first axis is the batch. */
export interface DecoderStep<O, S> {
  readonly outputs: O;
  readonly state: S;
  readonly inputs: Tensor;
  readonly finished: Tensor;
}

/** Something that writes sequences step by step. */
export interface Decoder<O, S, F = O> {
  readonly batchSize: number | Tensor;
  /** Types of the outputs, in their structure. */
  readonly outputDtypes: { readonly [K in keyof O]: DType };
  initialize(): Omit<DecoderStep<O, S>, 'outputs'>;
  step(time: Tensor, inputs: Tensor, state: S): DecoderStep<O, S>;
  /** Turns the outputs of all steps, [time, batch, …], into results; they are the results themselves unless given. */
  finalize?(outputs: O, state: S, lengths: Tensor): [F, S];
  /** It keeps track itself of which sequences are finished. */
  readonly tracksOwnFinished?: boolean;
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
export function dynamicDecode<O extends object, S, F = O>(
  decoder: Decoder<O, S, F>,
  options: DynamicDecodeOptions = {},
): [outputs: F, state: S, lengths: Tensor] {
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
  const { imputeFinished = false, maximumIterations } = options;
  return variableScope(options.scope ?? 'decoder', () => {
    const first = decoder.initialize();
    const arrays = mapStructure(
      (dtype: DType) => new TensorArray(dtype, { size: 0, dynamicSize: true }),
      decoder.outputDtypes,
    ) as Record<string, TensorArray>; // one per output
    const lengths = zerosLike(first.finished, { dtype: int32 });
    const step = (
      time: Tensor,
      written: Record<string, TensorArray>,
      state: S,
      inputs: Tensor,
      finished: Tensor,
      counts: Tensor,
    ) => {
      const next = decoder.step(time, inputs, state);
      const over = decoder.tracksOwnFinished ? next.finished : logicalOr(next.finished, finished);
      const after = where(finished, counts, counts.mul(0).add(time.add(1)));
      const kept = (before: Tensor, now: Tensor) => (now.rank === 0 ? now : where(finished, before, now));
      const outputs = (
        imputeFinished ? mapStructure((t: Tensor) => where(finished, zerosLike(t), t), next.outputs) : next.outputs
      ) as Record<string, Tensor>; // a record of tensors
      const carried = imputeFinished ? mapStructure(keepTensors(kept), state, next.state) : next.state;
      const arrays = Object.fromEntries(
        Object.entries(written).map(([key, ta]) => [key, ta.write(time, outputs[key]!)]),
      );
      return [time.add(1), arrays, carried, next.inputs, over, after];
    };
    const [, written, state, , , final] = whileLoop(
      // The loop's types follow records it knows; the states of a decoder are its own, so the functions say what they get.
      ((_: unknown, __: unknown, ___: unknown, ____: unknown, finished: Tensor) =>
        logicalNot(reduceAll(finished))) as never,
      step as never,
      [constant(0, { dtype: int32 }), arrays, first.state, first.inputs, first.finished, lengths],
      {
        maximumIterations,
        parallelIterations: options.parallelIterations ?? 32,
        swapMemory: options.swapMemory,
      },
    ) as unknown as [Tensor, Record<string, TensorArray>, S, Tensor, Tensor, Tensor]; // the structure that was put in
    const stacked = mapStructure((ta: TensorArray) => ta.stack(), written) as O; // one tensor per array
    const [outputs, last] = decoder.finalize
      ? decoder.finalize(stacked, state, final)
      : [stacked as unknown as F, state]; // `F` is `O` without a `finalize`
    return [options.outputTimeMajor ? outputs : (mapStructure(batchFirst, outputs) as F), last, final];
  });
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
