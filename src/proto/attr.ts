/** @file Messages of attributes: the values that make a node of an op a particular one. */
import {
  bool,
  bytes,
  enumField,
  float,
  int64,
  type Message,
  type MessageType,
  map,
  message,
  msg,
  oneof,
  repeated,
  str,
} from './message.ts';
import { DataType, TensorProto, TensorShapeProto } from './tensor.ts';

/** The value of one attribute: exactly one member is set (none in an attribute that nobody has filled in). */
export interface AttrValue {
  readonly list?: AttrList;
  /** Text and bytes alike; `TextDecoder` gives the text. */
  readonly s?: Uint8Array;
  readonly i?: bigint;
  readonly f?: number;
  readonly b?: boolean;
  /** A `DataType` number. */
  readonly type?: number;
  readonly shape?: TensorShapeProto;
  readonly tensor?: TensorProto;
  /** In a function body: the name of the function's attribute whose value belongs here. */
  readonly placeholder?: string;
  readonly func?: NameAttrList;
}

/** A function's name with the values of its attributes. */
export interface NameAttrList {
  readonly name: string;
  readonly attr: { readonly [name: string]: AttrValue };
}

export const NameAttrList: Message<NameAttrList> = message('NameAttrList', {
  name: str(1),
  attr: map(2, () => AttrValue),
});

export const AttrList = message('AttrValue.ListValue', {
  s: repeated(bytes(2)),
  i: repeated(int64(3)),
  f: repeated(float(4)),
  b: repeated(bool(5)),
  type: repeated(enumField(6, DataType)),
  shape: repeated(msg(7, () => TensorShapeProto)),
  tensor: repeated(msg(8, () => TensorProto)),
  func: repeated(msg(9, () => NameAttrList)),
});
/** A list attribute; all lists but one are empty. */
export type AttrList = MessageType<typeof AttrList>;

export const AttrValue: Message<AttrValue> = message('AttrValue', {
  ...oneof({
    list: msg(1, () => AttrList),
    s: bytes(2),
    i: int64(3),
    f: float(4),
    b: bool(5),
    type: enumField(6, DataType),
    shape: msg(7, () => TensorShapeProto),
    tensor: msg(8, () => TensorProto),
    placeholder: str(9),
    func: msg(10, () => NameAttrList),
  }),
});
