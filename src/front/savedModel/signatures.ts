/** @file Signatures: which tensors of a graph are its inputs and outputs, and what it does with them. */
import { float32, string } from '../../core/dtypes.ts';
import { type Graph, getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { hasOnly } from '../../graph/options.ts';
import { prependNameScope } from '../../graph/scopedNames.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { SignatureDef, TensorInfo } from '../../proto/metaGraph.ts';
import { shapeToProto } from '../../proto/tensorProto.ts';
import type { BaseVariable } from '../baseVariable.ts';
import * as names from './signatureConstants.ts';

/** What a signature can name. */
export type Nameable = Tensor | SparseTensor | BaseVariable;

/**
 * How a tensor is named in signatures: its name, type and shape.
 *
 * @example tf.savedModel.buildTensorInfo(tf.placeholder(tf.float32, [null, 3], { name: 'x' })).name // 'x:0'
 */
export function buildTensorInfo(tensor: Nameable): TensorInfo {
  const base = { dtype: tensor.dtype.number, tensor_shape: shapeToProto(tensor.shape) };
  if (!(tensor instanceof SparseTensor)) return TensorInfo.create({ ...base, name: tensor.name });
  const { values, indices, denseShape } = tensor;
  return TensorInfo.create({
    ...base,
    coo_sparse: {
      values_tensor_name: values.name,
      indices_tensor_name: indices.name,
      dense_shape_tensor_name: denseShape.name,
    },
  });
}

/** How an operation is named in signatures: those of operations to be run at the beginning. */
function buildTensorInfoFromOp(op: Operation): TensorInfo {
  return TensorInfo.create({ dtype: 0, tensor_shape: shapeToProto(null), name: op.name });
}

/** The tensor that a signature names, in a graph that was loaded. */
export function getTensorFromTensorInfo(
  info: TensorInfo,
  options: { readonly graph?: Graph; readonly importScope?: string } = {},
): Tensor | SparseTensor {
  const { graph = getDefaultGraph(), importScope } = options;
  const find = (name: string) => graph.getTensorByName(prependNameScope(name, importScope));
  if (info.name !== undefined) return find(info.name);
  const sparse = info.coo_sparse;
  if (!sparse)
    throw userError('The signature names no tensor: neither a name nor the parts of a sparse tensor are set.');
  return new SparseTensor(
    find(sparse.indices_tensor_name),
    find(sparse.values_tensor_name),
    find(sparse.dense_shape_tensor_name),
  );
}

/** The operation or tensor that a signature names, in a graph that was loaded. */
export function getElementFromTensorInfo(
  info: TensorInfo,
  options: { readonly graph?: Graph; readonly importScope?: string } = {},
): Operation | Tensor {
  const { graph = getDefaultGraph(), importScope } = options;
  return graph.asGraphElement(prependNameScope(info.name ?? '', importScope));
}

type Infos = Readonly<Record<string, TensorInfo>>;
type Tensors = Readonly<Record<string, Nameable>>;
const infosOf = (tensors: Tensors): Infos =>
  Object.fromEntries(Object.entries(tensors).map(([key, tensor]) => [key, buildTensorInfo(tensor)]));

interface SignatureParts {
  readonly inputs?: Infos | undefined;
  readonly outputs?: Infos | undefined;
  readonly methodName?: string | undefined;
}

/** Whether something is about one tensor: then `inputs` is the name of an input. */
const isInfo = (x: Infos | undefined): boolean => typeof x?.['dtype'] === 'number' || typeof x?.['dtype'] === 'string';

/**
 * A signature of any kind.
 *
 * @example tf.savedModel.signatureDefUtils.buildSignatureDef({ inputs: { x: info }, outputs: { y: info }, methodName: 'm' })
 */
export function buildSignatureDef(inputs?: Infos, outputs?: Infos, methodName?: string): SignatureDef;
export function buildSignatureDef(parts: SignatureParts): SignatureDef;
export function buildSignatureDef(given?: Infos | SignatureParts, second?: Infos, third?: string): SignatureDef {
  const isAlone = second === undefined && third === undefined;
  const byName = isAlone && hasOnly<SignatureParts>(given, 'inputs', 'outputs', 'methodName') && !isInfo(given.inputs);
  const parts = byName ? given : { inputs: given as Infos | undefined, outputs: second, methodName: third }; // as declared
  const { inputs = {}, outputs = {}, methodName = '' } = parts;
  return SignatureDef.create({ inputs, outputs, method_name: methodName });
}

/** A signature by which tensors are computed from tensors. */
export function predictSignatureDef(inputs: Tensors, outputs: Tensors): SignatureDef {
  if (Object.keys(inputs ?? {}).length === 0) throw userError('Prediction `inputs` cannot be empty.');
  if (Object.keys(outputs ?? {}).length === 0) throw userError('Prediction `outputs` cannot be empty.');
  return buildSignatureDef(infosOf(inputs), infosOf(outputs), names.PREDICT_METHOD_NAME);
}

function expectType(what: string, tensor: Nameable, dtype: typeof string | typeof float32): TensorInfo {
  if (tensor?.dtype !== dtype)
    throw userError(`${what} must be a tensor of type ${dtype}, but is ${String(tensor?.dtype ?? tensor)}.`);
  return buildTensorInfo(tensor);
}

/** A signature by which serialized Examples get numbers. */
export function regressionSignatureDef(examples: Tensor, predictions: Tensor): SignatureDef {
  return buildSignatureDef(
    { [names.REGRESS_INPUTS]: expectType('Regression `examples`', examples, string) },
    { [names.REGRESS_OUTPUTS]: expectType('Regression `predictions`', predictions, float32) },
    names.REGRESS_METHOD_NAME,
  );
}

/** A signature by which serialized Examples get classes, scores, or both. */
export function classificationSignatureDef(
  examples: Tensor,
  classes: Tensor | null,
  scores: Tensor | null,
): SignatureDef {
  const inputs = { [names.CLASSIFY_INPUTS]: expectType('Classification `examples`', examples, string) };
  if (!classes && !scores) throw userError('Classification `classes` and `scores` cannot both be null.');
  return buildSignatureDef(
    inputs,
    {
      ...(classes && { [names.CLASSIFY_OUTPUT_CLASSES]: expectType('Classification `classes`', classes, string) }),
      ...(scores && { [names.CLASSIFY_OUTPUT_SCORES]: expectType('Classification `scores`', scores, float32) }),
    },
    names.CLASSIFY_METHOD_NAME,
  );
}

/** The signature of an operation, under which it can be found when the graph is loaded. */
export function opSignatureDef(op: Operation, key: string): SignatureDef {
  return buildSignatureDef({}, { [key]: buildTensorInfoFromOp(op) });
}

const hasExactly = (infos: Infos, types: Readonly<Record<string, number>>) =>
  Object.keys(infos).length === Object.keys(types).length &&
  Object.entries(types).every(([key, type]) => infos[key]?.dtype === type);

/** Whether TensorFlow Serving can serve a signature. */
export function isValidSignature(signature: SignatureDef | null | undefined): boolean {
  if (!signature) return false;
  const { inputs, outputs, method_name: method } = signature;
  const outputCount = Object.keys(outputs).length;
  if (method === names.PREDICT_METHOD_NAME) return Object.keys(inputs).length > 0 && outputCount > 0;
  if (!hasExactly(inputs, { inputs: string.number })) return false;
  if (method === names.REGRESS_METHOD_NAME) return hasExactly(outputs, { outputs: float32.number });
  if (method !== names.CLASSIFY_METHOD_NAME || outputCount === 0) return false;
  const allowed: Record<string, number> = { classes: string.number, scores: float32.number };
  return Object.entries(outputs).every(([key, info]) => allowed[key] === info.dtype);
}

/** Refuses signatures that name nothing, or that use the names of the library. */
export function checkSignatures(signatures: Readonly<Record<string, SignatureDef>>): void {
  for (const [key, { inputs, outputs }] of Object.entries(signatures)) {
    if (key === '__saved_model_init_op' || key === '__saved_model_train_op')
      throw userError(`SignatureDef map key "${key}" is reserved for initialization. Please use a different key.`);
    for (const [name, info] of [...Object.entries(inputs), ...Object.entries(outputs)])
      if ((info.name === undefined && !info.coo_sparse) || info.name === '' || info.dtype === 0)
        throw userError(
          `All TensorInfo protos used in the SignatureDefs must have the name and dtype fields set: '${name}' of '${key}' has not.`,
        );
  }
}
