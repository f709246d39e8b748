/** @file `tf.quantization`. */
export {
  type FakeQuantArgsOptions,
  type FakeQuantOptions,
  fakeQuantWithMinMaxArgs,
  fakeQuantWithMinMaxArgsGradient,
  fakeQuantWithMinMaxVars,
  fakeQuantWithMinMaxVarsGradient,
  fakeQuantWithMinMaxVarsPerChannel,
  fakeQuantWithMinMaxVarsPerChannelGradient,
} from '../ops/nn/fakeQuant.ts';
export { type QuantizeAndDequantizeOptions, quantizeAndDequantizeV2 } from '../ops/nn/quantizeAndDequantize.ts';
