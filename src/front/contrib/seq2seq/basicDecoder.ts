/** @file BasicDecoder: a cell, a helper that feeds it, and a layer that scores symbols. */
import { type DType, int32 } from '../../../core/dtypes.ts';
import type { Tensor } from '../../../graph/tensor.ts';
import type { Layer } from '../../layers/layer.ts';
import { flatten } from '../../nest.ts';
import type { RNNCell } from '../../rnn/cell.ts';
import type { Decoder, DecoderStep } from './decoder.ts';
import type { Helper } from './helper.ts';

export interface BasicDecoderOutput {
  /** The cell's outputs, or the scores that the output layer makes of them. */
  readonly rnnOutput: Tensor;
  /** The symbols chosen. */
  readonly sampleId: Tensor;
}

/**
 * A decoder that writes one symbol per step.
 *
 * @example new tf.contrib.seq2seq.BasicDecoder(cell, helper, encoderState, new tf.layers.Dense(symbols))
 */
export class BasicDecoder<S> implements Decoder<BasicDecoderOutput, S> {
  constructor(
    private readonly cell: RNNCell<S>,
    private readonly helper: Helper,
    private readonly initialState: S,
    private readonly outputLayer?: Layer,
  ) {}

  get batchSize(): number | Tensor {
    return this.helper.batchSize;
  }

  get outputDtypes(): { readonly rnnOutput: DType; readonly sampleId: DType } {
    const [first] = flatten(this.initialState) as Tensor[]; // states consist of tensors
    return { rnnOutput: first!.dtype, sampleId: this.helper.sampleIdsDtype ?? int32 };
  }

  initialize(): Omit<DecoderStep<BasicDecoderOutput, S>, 'outputs'> {
    return { ...this.helper.initialize(), state: this.initialState };
  }

  step(time: Tensor, inputs: Tensor, state: S): DecoderStep<BasicDecoderOutput, S> {
    const [output, next] = this.cell.apply(inputs, state);
    const rnnOutput = this.outputLayer ? this.outputLayer.apply(output) : output;
    const sampleId = this.helper.sample(time, rnnOutput);
    const following = this.helper.nextInputs(time, rnnOutput, sampleId);
    return { outputs: { rnnOutput, sampleId }, state: next, ...following };
  }
}
