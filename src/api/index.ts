/// <reference lib="esnext.disposable" preserve="true" />
/** @file The public `tf` namespace: only re-exports. */
export * from '../autodiff/index.ts';
export * from '../core/dtypes.ts';
export * as errors from '../core/errors.ts';
export { OpError } from '../core/errors.ts';
export { NDArray } from '../core/ndarray.ts';
export { TensorShape } from '../core/tensorShape.ts';
export { confusionMatrix } from '../front/confusionMatrix.ts';
export * from '../front/index.ts';
export * as initializers from '../front/initializersApi.ts';
export * as layers from '../front/layers/index.ts';
export { lstsq as matrixSolveLs } from '../front/linalg.ts';
export * as losses from '../front/losses.ts';
export * as metrics from '../front/metrics/index.ts';
export * as summary from '../front/summary/index.ts';
export {
  Event,
  HistogramProto,
  LogMessage,
  SessionLog,
  Summary,
  SummaryMetadata,
} from '../front/summary/messages.ts';
export * as test from '../front/testing.ts';
export { DeviceSpec } from '../graph/device.ts';
export { Graph, getDefaultGraph, resetDefaultGraph } from '../graph/graph.ts';
export { GraphDef } from '../graph/graphDef.ts';
export { IndexedSlices } from '../graph/indexedSlices.ts';
export { Operation } from '../graph/operation.ts';
export type { Feeds, FeedValue, Fetch, Fetched } from '../graph/runTypes.ts';
export { colocateWith, container, controlDependencies, device, nameScope } from '../graph/scopes.ts';
export { Tensor, type TensorLike } from '../graph/tensor.ts';
export { convertToTensor, convertToTensorOrIndexedSlices, isTensor } from '../op/convert.ts';
export { importGraphDef } from '../op/importGraphDef.ts';
export { type MakeTensorProtoOptions, makeTensorProto } from '../op/makeTensorProto.ts';
export * from '../ops/array/index.ts';
export * from '../ops/files/index.ts';
export * from '../ops/flow/index.ts';
export * from '../ops/math/index.ts';
export {
  fakeQuantWithMinMaxArgs,
  fakeQuantWithMinMaxArgsGradient,
  fakeQuantWithMinMaxVars,
  fakeQuantWithMinMaxVarsGradient,
  fakeQuantWithMinMaxVarsPerChannel,
  fakeQuantWithMinMaxVarsPerChannelGradient,
} from '../ops/nn/fakeQuant.ts';
export { extractImagePatches, extractVolumePatches } from '../ops/nn/patches.ts';
export * from '../ops/parsing/index.ts';
export * from '../ops/ragged/index.ts';
export * from '../ops/random/index.ts';
export * from '../ops/sparse/index.ts';
export * from '../ops/state/index.ts';
export * from '../ops/string/index.ts';
export { tensorFromProto as makeNdarray } from '../proto/tensorProto.ts';
export { RunMetadata, RunOptions, type SessionConfig } from '../runtime/config.ts';
export { ConfigProto, GPUOptions, GraphOptions } from '../runtime/configProto.ts';
export { getDefaultSession } from '../runtime/defaultSession.ts';
export { InteractiveSession, Session, type SessionOptions } from '../runtime/session.ts';
export * as app from './app.ts';
export * as contrib from './contrib.ts';
export * as data from './data.ts';
export * as debugging from './debugging.ts';
export * as examples from './examples.ts';
export * as flags from './flags.ts';
export * as gfile from './gfile.ts';
export * as graph from './graph.ts';
export * as graphUtil from './graphUtil.ts';
export * as image from './image.ts';
export * as io from './io.ts';
export * as linalg from './linalg.ts';
export * as logging from './logging.ts';
export * as lookup from './lookup.ts';
export * as math from './math.ts';
export * as nest from './nest.ts';
export * as nn from './nn.ts';
export * as pythonIo from './pythonIo.ts';
export * as quantization from './quantization.ts';
export * as queue from './queue.ts';
export * as ragged from './ragged.ts';
export * as random from './random.ts';
export * as savedModel from './savedModel.ts';
export * as sets from './sets.ts';
export * as signal from './signal.ts';
export * as sparse from './sparse.ts';
export * as strings from './strings.ts';
export * as train from './train.ts';
export * as version from './version.ts';
export { GIT_VERSION, VERSION } from './version.ts';
