/** @file Messages of graphs: GraphDef and its nodes, functions and versions. */
import { AttrValue } from './attr.ts';
import { FullTypeDef } from './fullType.ts';
import { fixed64, int32, type MessageType, map, message, msg, optional, repeated, str, uint32 } from './message.ts';
import { OpDef } from './opDef.ts';

export const NodeDebugInfo = message('NodeDef.ExperimentalDebugInfo', {
  original_node_names: repeated(str(1)),
  original_func_names: repeated(str(2)),
});
export type NodeDebugInfo = MessageType<typeof NodeDebugInfo>;

export const NodeDef = message('NodeDef', {
  name: str(1),
  op: str(2),
  /** `node`, `node:1` or `^control`; inside functions `node:port:0`. Control inputs come last. */
  input: repeated(str(3)),
  device: str(4),
  attr: map(5, () => AttrValue),
  experimental_debug_info: msg(6, () => NodeDebugInfo),
  experimental_type: msg(7, () => FullTypeDef),
});
export type NodeDef = MessageType<typeof NodeDef>;

export const VersionDef = message('VersionDef', {
  producer: int32(1),
  min_consumer: int32(2),
  bad_consumers: repeated(int32(3)),
});
export type VersionDef = MessageType<typeof VersionDef>;

export const ArgAttrs = message('FunctionDef.ArgAttrs', {
  attr: map(1, () => AttrValue),
});
export type ArgAttrs = MessageType<typeof ArgAttrs>;

export const FunctionDef = message('FunctionDef', {
  signature: msg(1, () => OpDef),
  node_def: repeated(msg(3, () => NodeDef)),
  /** Output name to the `node:port:index` that produces it. */
  ret: map(4, str(2)),
  attr: map(5, () => AttrValue),
  control_ret: map(6, str(2)),
  arg_attr: map(7, () => ArgAttrs, 'uint32'),
  resource_arg_unique_id: map(8, uint32(2), 'uint32'),
});
export type FunctionDef = MessageType<typeof FunctionDef>;

export const GradientDef = message('GradientDef', { function_name: str(1), gradient_func: str(2) });
export type GradientDef = MessageType<typeof GradientDef>;

export const RegisteredGradient = message('RegisteredGradient', { gradient_func: str(1), registered_op_type: str(2) });
export type RegisteredGradient = MessageType<typeof RegisteredGradient>;

export const FunctionDefLibrary = message('FunctionDefLibrary', {
  function: repeated(msg(1, () => FunctionDef)),
  gradient: repeated(msg(2, () => GradientDef)),
  registered_gradients: repeated(msg(3, () => RegisteredGradient)),
});
export type FunctionDefLibrary = MessageType<typeof FunctionDefLibrary>;

export const FileLineCol = message('GraphDebugInfo.FileLineCol', {
  file_index: optional(int32(1)),
  line: optional(int32(2)),
  col: optional(int32(3)),
  func: optional(str(4)),
  code: optional(str(5)),
});
export type FileLineCol = MessageType<typeof FileLineCol>;

export const StackTrace = message('GraphDebugInfo.StackTrace', {
  file_line_cols: repeated(msg(1, () => FileLineCol)),
  frame_id: repeated(fixed64(2)),
});
export type StackTrace = MessageType<typeof StackTrace>;

/** Where in the user's source the nodes were made. */
export const GraphDebugInfo = message('GraphDebugInfo', {
  files: repeated(str(1)),
  traces: map(2, () => StackTrace),
  frames_by_id: map(4, () => FileLineCol, 'fixed64'),
  name_to_trace_id: map(5, fixed64(2)),
  traces_by_id: map(6, () => StackTrace, 'fixed64'),
});
export type GraphDebugInfo = MessageType<typeof GraphDebugInfo>;

export const GraphDef = message('GraphDef', {
  node: repeated(msg(1, () => NodeDef)),
  library: msg(2, () => FunctionDefLibrary),
  /** Superseded by `versions`; only files from before 2015 have it. */
  version: int32(3),
  versions: msg(4, () => VersionDef),
  debug_info: msg(5, () => GraphDebugInfo),
});
export type GraphDef = MessageType<typeof GraphDef>;
