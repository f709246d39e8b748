/** @file The wire format: every kind of field, presence, unknown and damaged input. */
import { describe, expect, it } from 'vitest';
import { DataLossError, InvalidArgumentError } from '../../../src/core/errors.ts';
import { finish } from '../../../src/core/eventLoop.ts';
import { AttrValue } from '../../../src/proto/attr.ts';
import { ConfigProto } from '../../../src/proto/config.ts';
import { ClusterDef } from '../../../src/proto/device.ts';
import { FunctionDef, GraphDef, NodeDef } from '../../../src/proto/graph.ts';
import {
  bool,
  bytes,
  double,
  fixed32,
  fixed64,
  float,
  type Init,
  int32,
  int64,
  int64Number,
  type Message,
  type MessageType,
  map,
  message,
  msg,
  oneof,
  optional,
  repeated,
  sfixed32,
  sfixed64,
  sint32,
  sint64,
  str,
  uint32,
  uint64,
  uint64Number,
} from '../../../src/proto/message.ts';
import { MetaGraphDef, SavedModel } from '../../../src/proto/metaGraph.ts';
import { TensorProto } from '../../../src/proto/tensor.ts';
import { fromBase64, golden } from './golden.ts';

const hex = (data: Uint8Array) => Buffer.from(data).toString('hex');
const unhex = (text: string) => new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'));

const Leaf = message('Leaf', { n: int32(1), list: repeated(int32(2)) });
const Everything = message('Everything', {
  double: double(1),
  float: float(2),
  int32: int32(3),
  int64: int64(4),
  uint32: uint32(5),
  uint64: uint64(6),
  sint32: sint32(7),
  sint64: sint64(8),
  fixed32: fixed32(9),
  fixed64: fixed64(10),
  sfixed32: sfixed32(11),
  sfixed64: sfixed64(12),
  bool: bool(13),
  str: str(14),
  bytes: bytes(15),
  int64Number: int64Number(16),
  uint64Number: uint64Number(17),
  leaf: msg(18, () => Leaf),
  maybe: optional(int32(19)),
  doubles: repeated(double(31)),
  floats: repeated(float(32)),
  int32s: repeated(int32(33)),
  int64s: repeated(int64(34)),
  sint64s: repeated(sint64(35)),
  fixed64s: repeated(fixed64(36)),
  bools: repeated(bool(37)),
  strs: repeated(str(38)),
  leaves: repeated(msg(39, () => Leaf)),
  byName: map(50, () => Leaf),
  byNumber: map(51, str(2), 'int32'),
  byLong: map(52, int32(2), 'int64'),
  ...oneof({ a: int32(60), b: str(61), c: msg(62, () => Leaf) }),
});
type Everything = MessageType<typeof Everything>;

const full: Everything = Everything.create({
  double: 0.1,
  float: 1.5,
  int32: -(2 ** 31),
  int64: -(2n ** 63n),
  uint32: 2 ** 32 - 1,
  uint64: 2n ** 64n - 1n,
  sint32: -(2 ** 31),
  sint64: -(2n ** 63n),
  fixed32: 2 ** 32 - 1,
  fixed64: 2n ** 64n - 1n,
  sfixed32: -1,
  sfixed64: -5n,
  bool: true,
  str: 'grün 🌱',
  bytes: new Uint8Array([0, 255]),
  int64Number: -(2 ** 53) + 1,
  uint64Number: 2 ** 53 - 1,
  leaf: { n: 5 },
  maybe: 0,
  doubles: [1, Number.NaN, Number.POSITIVE_INFINITY],
  floats: [0.5, -0],
  int32s: [0, -1, 300],
  int64s: [0n, -1n, 2n ** 40n],
  sint64s: [-1n, 1n, 2n ** 62n],
  fixed64s: [1n, 2n ** 63n],
  bools: [true, false],
  strs: ['', 'x'],
  leaves: [{}, { n: 1, list: [1] }],
  byName: { b: { n: 1 }, a: {}, __proto__x: { n: 2 } },
  byNumber: { 10: 'ten', 9: 'nine', [-1]: '' },
  byLong: { '-9223372036854775808': 1, '9007199254740993': 2 },
  c: { n: 7 },
});

describe('round trip', () => {
  it('keeps every kind of field', () => {
    expect(Everything.decode(Everything.encode(full))).toEqual(full);
  });

  it('gives equal bytes for maps filled in another order', () => {
    const reversed = { ...full, byName: Object.fromEntries(Object.entries(full.byName).reverse()) };
    expect(hex(Everything.encode(reversed))).toBe(hex(Everything.encode(full)));
  });

  it('takes a map key named __proto__ for a key', () => {
    const attr = Object.fromEntries([['__proto__', { i: 1n }]]);
    const back = NodeDef.decode(NodeDef.encode({ attr }));
    expect(Object.entries(back.attr)).toEqual([['__proto__', { i: 1n }]]);
    expect(Object.getPrototypeOf(back.attr)).toBe(Object.prototype);
  });

  it.each(golden<{ type: string; bytes: string; sorted: boolean }[]>('messages').map((m) => [m.type, m] as const))(
    'writes TensorFlow’s bytes: %s',
    (name, m) => {
      const types: Record<string, Message<object>> = { ConfigProto, ClusterDef, NodeDef, TensorProto, AttrValue };
      const type = types[name]!;
      const data = fromBase64(m.bytes);
      const again = type.encode(type.decode(data));
      if (m.sorted) expect(hex(again)).toBe(hex(data));
      else expect(type.decode(again)).toEqual(type.decode(data));
    },
  );

  it('keeps a graph of TensorFlow’s', () => {
    const data = fromBase64(golden<{ bytes: string }>('graph').bytes);
    const graph = GraphDef.decode(data);
    const again = GraphDef.encode(graph);
    expect(again.length).toBe(data.length);
    expect(GraphDef.decode(again)).toEqual(graph);
    expect(graph.node.find((n) => n.name === 'last')).toEqual({
      name: 'last',
      op: 'NoOp',
      input: ['^y'],
      device: '/job:ps/task:1',
      attr: {},
    });
  });
});

describe('presence', () => {
  it('does not write zeros, and reads them when nothing is there', () => {
    expect(Everything.encode({ int32: 0, str: '', bytes: new Uint8Array(0), bool: false, int64: 0n }).length).toBe(0);
    expect(Leaf.decode(new Uint8Array(0))).toEqual({ n: 0, list: [] });
  });

  it('writes minus zero, whose bits are not zero', () => {
    expect(hex(Everything.encode({ float: -0 }))).toBe('1500000080');
  });

  it('writes a zero that is a member of a oneof', () => {
    expect(hex(AttrValue.encode({ i: 0n }))).toBe('1800');
    expect(AttrValue.decode(unhex('1800'))).toEqual({ i: 0n });
    expect(AttrValue.decode(new Uint8Array(0))).toEqual({});
    expect(Everything.decode(Everything.encode({ maybe: 0 })).maybe).toBe(0);
  });

  it('lets the last member of a oneof win', () => {
    expect(AttrValue.decode(unhex('1801 2801'))).toEqual({ b: true });
  });

  it('merges a message that comes twice', () => {
    const parts = [{ leaf: { n: 1, list: [1] } }, { leaf: { n: 2, list: [2] } }].map((x) => Everything.encode(x));
    expect(Everything.decode(Buffer.concat(parts)).leaf).toEqual({ n: 2, list: [1, 2] });
  });
});

describe('reading', () => {
  it('takes packed and unpacked numbers', () => {
    expect(Leaf.decode(unhex('12 02 01 02')).list).toEqual([1, 2]);
    expect(Leaf.decode(unhex('10 01 10 02')).list).toEqual([1, 2]);
    expect(Leaf.decode(unhex('12 01 01 10 02')).list).toEqual([1, 2]);
  });

  it('skips unknown fields of every wire type, and known ones of another wire type', () => {
    expect(
      Leaf.decode(unhex('50 01  59 0000000000000000  62 01 ff  6d 00000000  73 50 01 74  08 05  0a 01 00')),
    ).toEqual({
      n: 5,
      list: [],
    });
  });

  it('shares memory for large bytes and copies small ones', () => {
    const large = TensorProto.encode({ tensor_content: new Uint8Array(100_000) });
    expect(TensorProto.decode(large).tensor_content.buffer).toBe(large.buffer);
    const small = TensorProto.encode({ tensor_content: new Uint8Array(10) });
    expect(TensorProto.decode(small).tensor_content.buffer).not.toBe(small.buffer);
    expect(TensorProto.decode(Buffer.from(large)).tensor_content.constructor).toBe(Uint8Array);
  });

  it('reads a map entry without key or value', () => {
    expect(ClusterDef.decode(unhex('0a 02 12 00')).job[0]?.tasks).toEqual({ 0: '' });
    expect(NodeDef.decode(unhex('2a 00')).attr).toEqual({ '': {} });
    expect(FunctionDef.decode(unhex('42 00')).resource_arg_unique_id).toEqual({ 0: 0 });
  });
});

describe('refusals', () => {
  const nested = (levels: number): Uint8Array => {
    let data = new Uint8Array(0);
    for (let i = 0; i < levels; i++) data = new Uint8Array(Buffer.concat([Buffer.from([0x0a]), lengthOf(data), data]));
    return data;
  };
  const lengthOf = (data: Uint8Array) =>
    Buffer.from(data.length < 128 ? [data.length] : [(data.length & 127) | 128, data.length >> 7]);
  interface Chain {
    readonly next?: Chain;
  }
  const Chain: Message<Chain> = message('Chain', { next: msg(1, () => Chain) });

  it.each([
    ['a cut-off string', '0a 05 61', /NodeDef: damaged at byte 2 of 3: 5 bytes are announced, but 1 are left/],
    ['a length beyond memory', '0a ff ff ff ff 07', /are announced, but 0 are left/],
    ['a length beyond 31 bits', '0a ff ff ff ff 0f 00', /invalid length/],
    ['field number 0', '00 01', /damaged at byte/],
    ['a varint that does not end', '18 ff ff ff ff ff ff ff ff ff ff ff ff', /damaged at byte/],
    ['a group end without a group', '0c', /wire type 4/],
    ['text that is not UTF-8', '0a 01 ff', /NodeDef: damaged/],
    ['a message longer than the one around it', '2a 03 12 05 00', /damaged/],
    ['a cut-off tag', '80', /damaged/],
  ])('%s', (_, data, why) => {
    expect(() => NodeDef.decode(unhex(data))).toThrow(DataLossError);
    expect(() => NodeDef.decode(unhex(data))).toThrow(why);
  });

  it('names the inner message', () => {
    expect(() => GraphDef.decode(unhex('0a 03 0a 05 61'))).toThrow(/^NodeDef in GraphDef: damaged at byte 4 of 5/);
  });

  it('limits the nesting to 100', () => {
    expect(() => Chain.decode(nested(99))).not.toThrow();
    expect(() => Chain.decode(nested(101))).toThrow(/deeper than 100/);
  });

  it('refuses integers that a number cannot hold', () => {
    const data = Everything.encode({ int64: 2n ** 53n });
    data[0] = 16 << 3; // field 4 becomes field 16, whose tag takes two bytes
    const moved = Buffer.concat([Buffer.from([0x80, 0x01]), data.subarray(1)]);
    expect(() => Everything.decode(moved)).toThrow(/9007199254740992 before byte \d+ is beyond 2\^53/);
    expect(() => Everything.encode({ int64Number: 2 ** 53 })).toThrow(InvalidArgumentError);
  });

  it.each([
    [{ int32: 2 ** 31 }, /Everything.int32 must be an integer in \[-2147483648, 2147483647\], but 2147483648/],
    [{ int32: 0.5 }, /but 0.5 was given/],
    [{ uint64: -1n }, /unsigned/],
    [{ int64: 2n ** 63n }, /64-bit/],
    [{ bytes: null }, undefined],
  ])('refuses to write %o', (value, why) => {
    const write = () => Everything.encode(value as object); // wrong on purpose
    if (why) expect(write).toThrow(why);
    else expect(write().length).toBe(0);
  });
});

describe('in pieces', () => {
  const joined = <T>(type: Message<T>, value: Init<T>) => Buffer.concat(finish(type.encodeInPieces(value)));

  it('gives the bytes of the whole', () => {
    expect(hex(joined(Everything, full))).toBe(hex(Everything.encode(full)));
    const leaves = Array.from({ length: 200 }, (_, n) => Leaf.create({ n, list: [n] }));
    expect(hex(joined(Everything, { ...full, leaves }))).toBe(hex(Everything.encode({ ...full, leaves })));
    const graph = GraphDef.decode(fromBase64(golden<{ bytes: string }>('graph').bytes));
    expect(hex(joined(GraphDef, graph))).toBe(hex(GraphDef.encode(graph)));
    const graphs = {
      saved_model_schema_version: 1,
      meta_graphs: [1, 2].map(() => MetaGraphDef.create({ graph_def: graph })),
    };
    expect(hex(joined(SavedModel, graphs))).toBe(hex(SavedModel.encode(graphs)));
  });

  it('pauses between the nodes of a graph, wherever it is', () => {
    const node = Array.from({ length: 1000 }, (_, i) => NodeDef.create({ name: `node${i}` }));
    const f = FunctionDef.create({ node_def: node });
    const meta_graphs = [MetaGraphDef.create({ graph_def: { node, library: { function: [f] } } })];
    const pauses = [...SavedModel.encodeInPieces({ meta_graphs })];
    expect(pauses.length).toBeGreaterThan(30);
  });

  it('refuses what is no record', () => {
    const write = (value: object) => () => finish(Everything.encodeInPieces(value)); // wrong on purpose
    expect(write({ leaf: 5 })).toThrow(/Everything.leaf must be a record, but 5 was given/);
    expect(write({ leaves: [5] })).toThrow(/Everything.leaves must be a record, but 5 was given/);
  });
});

describe('size', () => {
  it('writes and reads a graph of 100,000 nodes', () => {
    const node = NodeDef.create({ op: 'AddV2', input: ['a', 'b'], attr: { T: { type: 1 } } });
    const graph = GraphDef.create({ node: Array.from({ length: 100_000 }, (_, i) => ({ ...node, name: `node${i}` })) });
    expect(GraphDef.decode(GraphDef.encode(graph)).node[99_999]).toEqual({ ...node, name: 'node99999' });
  });

  it('writes 100 MB deep inside a graph', () => {
    const content = new Uint8Array(100_000_000).fill(7, 99_999_990);
    const data = GraphDef.encode({ node: [{ attr: { value: { tensor: { tensor_content: content } } } }] });
    const back = GraphDef.decode(data).node[0]?.attr['value']?.tensor?.tensor_content;
    expect(back?.length).toBe(100_000_000);
    expect(back?.at(-1)).toBe(7);
  });
});
