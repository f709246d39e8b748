/** @file Messages of op schemas: OpDef, as the registry and functions carry it. */
import { AttrValue } from './attr.ts';
import { FullTypeDef } from './fullType.ts';
import { bool, enumField, int32, int64, type MessageType, message, msg, repeated, str } from './message.ts';
import { DataType, DtypeAndShape } from './tensor.ts';

export const ArgDef = message('OpDef.ArgDef', {
  name: str(1),
  description: str(2),
  /** The type itself, or else the attribute that names it: exactly one of `type`, `type_attr`, `type_list_attr`. */
  type: enumField(3, DataType),
  type_attr: str(4),
  number_attr: str(5),
  type_list_attr: str(6),
  handle_data: repeated(msg(7, () => DtypeAndShape)),
  is_ref: bool(16),
  experimental_full_type: msg(17, () => FullTypeDef),
});
export type ArgDef = MessageType<typeof ArgDef>;

export const AttrDef = message('OpDef.AttrDef', {
  name: str(1),
  type: str(2),
  default_value: msg(3, () => AttrValue),
  description: str(4),
  has_minimum: bool(5),
  minimum: int64(6),
  allowed_values: msg(7, () => AttrValue),
});
export type AttrDef = MessageType<typeof AttrDef>;

export const OpDeprecation = message('OpDeprecation', { version: int32(1), explanation: str(2) });
export type OpDeprecation = MessageType<typeof OpDeprecation>;

export const OpDef = message('OpDef', {
  name: str(1),
  input_arg: repeated(msg(2, () => ArgDef)),
  output_arg: repeated(msg(3, () => ArgDef)),
  attr: repeated(msg(4, () => AttrDef)),
  summary: str(5),
  description: str(6),
  deprecation: msg(8, () => OpDeprecation),
  is_aggregate: bool(16),
  is_stateful: bool(17),
  is_commutative: bool(18),
  allows_uninitialized_input: bool(19),
  control_output: repeated(str(20)),
  is_distributed_communication: bool(21),
});
export type OpDef = MessageType<typeof OpDef>;

export const OpList = message('OpList', { op: repeated(msg(1, () => OpDef)) });
export type OpList = MessageType<typeof OpList>;
