/** @file BasicDecoder: a cell, a helper that feeds it, and a layer that scores symbols. */
import type { DType } from '../../../core/dtypes.ts';
import type { Dims } from '../../../core/shape.ts';
import { nameScope } from '../../../graph/scopes.ts';
import type { Tensor } from '../../../graph/tensor.ts';
import type { Layer } from '../../layers/layer.ts';
import { flatten } from '../../nest.ts';
import type { RNNCell } from '../../rnn/cell.ts';
import { Decoder, type DecoderStep } from './decoder.ts';
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
export class BasicDecoder<S> extends Decoder<BasicDecoderOutput, S> {
  constructor(
    private readonly cell: RNNCell<S>,
    private readonly helper: Helper<S>,
    private readonly initialState: S,
    private readonly outputLayer?: Layer,
  ) {
    super();
  }

  override get batchSize(): number | Tensor {
    return this.helper.batchSize;
  }

  override get outputSize(): { readonly rnnOutput: Dims; readonly sampleId: Dims } {
    const { cell, outputLayer } = this;
    const ofCell = [null, cell.outputSize];
    const rows = outputLayer ? outputLayer.computeOutputShape(ofCell) : ofCell;
    return { rnnOutput: rows?.slice(1) ?? null, sampleId: this.helper.sampleIdsShape };
  }

  override get outputDtype(): { readonly rnnOutput: DType; readonly sampleId: DType } {
    const [first] = flatten(this.initialState) as Tensor[]; // states consist of tensors
    return { rnnOutput: first!.dtype, sampleId: this.helper.sampleIdsDtype };
  }

  override initialize(): Omit<DecoderStep<BasicDecoderOutput, S>, 'outputs'> {
    return { ...this.helper.initialize(), state: this.initialState };
  }

  override step(time: Tensor, inputs: Tensor, state: S): DecoderStep<BasicDecoderOutput, S> {
    return nameScope('BasicDecoderStep', () => {
      const [output, next] = this.cell.apply(inputs, state);
      const rnnOutput = this.outputLayer ? this.outputLayer.apply(output) : output;
      const sampleId = this.helper.sample(time, rnnOutput, next);
      const following = this.helper.nextInputs(time, rnnOutput, next, sampleId);
      return { outputs: { rnnOutput, sampleId }, ...following, state: following.state ?? next };
    });
  }
}
