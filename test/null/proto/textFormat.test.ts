/** @file The text format against Python's: printing letter for letter, parsing everything that it parses. */
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../../src/core/errors.ts';
import { AttrValue } from '../../../src/proto/attr.ts';
import { ConfigProto } from '../../../src/proto/config.ts';
import { ClusterDef } from '../../../src/proto/device.ts';
import { GraphDef, NodeDef } from '../../../src/proto/graph.ts';
import type { Message } from '../../../src/proto/message.ts';
import { TensorProto } from '../../../src/proto/tensor.ts';
import { parseText, printText } from '../../../src/proto/textFormat.ts';
import { fromBase64, golden } from './golden.ts';

const types: Record<string, Message<object>> = { ConfigProto, ClusterDef, NodeDef, TensorProto, AttrValue };

describe('as Python writes it', () => {
  it('a graph', () => {
    const { bytes, text } = golden<{ bytes: string; text: string }>('graph');
    const graph = GraphDef.decode(fromBase64(bytes));
    expect(printText(GraphDef, graph)).toBe(text);
    expect(parseText(GraphDef, text)).toEqual(graph);
  });

  it.each(golden<{ type: string; bytes: string; text: string }[]>('messages').map((m) => [m.type, m] as const))(
    '%s',
    (name, { bytes, text }) => {
      const record = types[name]!.decode(fromBase64(bytes));
      expect(printText(types[name]!, record)).toBe(text);
      expect(parseText(types[name]!, text)).toEqual(record);
    },
  );
});

describe('parsing', () => {
  it('takes brackets, lists, separators and comments of every kind', () => {
    const text = `
      # a comment
      name: 'n'; input: ["a", "b"], input: "c" "d" # joined
      attr: { key: "T" value: < type: DT_FLOAT > }
      attr < key: "L" value { list { i: [1, -2, 0x10, 010] f: [1, .5, 1e3f, inf, -inf, nan] b: [true, f, 1] } } >
      attr [ { key: "a" }, { value { type: 3 } } ]`;
    const { name, input, attr } = parseText(NodeDef, text);
    expect(name).toBe('n');
    expect(input).toEqual(['a', 'b', 'cd']);
    expect(attr['T']).toEqual({ type: 1 });
    expect(attr['L']?.list?.i).toEqual([1n, -2n, 16n, 8n]);
    const inf = Number.POSITIVE_INFINITY;
    expect(attr['L']?.list?.f).toEqual([1, 0.5, 1000, inf, -inf, Number.NaN]);
    expect(attr['L']?.list?.b).toEqual([true, false, true]);
    expect(attr['a']).toEqual({});
    expect(attr['']).toEqual({ type: 3 });
  });

  it('reads escapes as bytes', () => {
    const bytes = parseText(AttrValue, String.raw`s: "\0\101\x41\n\t\\\'\"\377\u00e9é"`).s;
    expect(Array.from(bytes ?? [])).toEqual([0, 65, 65, 10, 9, 92, 39, 34, 255, 0xc3, 0xa9, 0xc3, 0xa9]);
  });

  it.each([
    ['nme: "x"', /^1:1: NodeDef has no field "nme"/],
    ['name: "x"\n  op "y"', /^2:6: ":" is expected after "op"/],
    ['name: "x" name: "y"', /^1:11: NodeDef must not have "name" twice/],
    ['attr { key: "a" value { i: 1 b: true } }', /^1:30: AttrValue cannot have both "i" and "b"/],
    ['name: "x', /^1:7: the string is not closed on its line/],
    ['name: 5', /^1:7: a string in quotes is expected, but "5" stands here/],
    ['attr { key: "a" ', /^1:17: the text ends inside "attr"; "}" is missing/],
    ['attr { key: "a" value { type: DT_FLOT } }', /^1:31: "DT_FLOT" is not a value of the enum DataType/],
    ['attr { key: "a" value { i: 9223372036854775808 } }', /^1:28: 9223372036854775808 is not in/],
    ['attr { key: "a" value { i: 1.5 } }', /^1:28: an integer is expected/],
    ['input: ["a" "b"', /^1:16: "," or "\]" is expected/],
    ['name: "\\q"', /^1:8: "\\q" is not an escape/],
    ['name: "\\777"', /^1:8: \\777 is more than a byte/],
    ['name: "\\xff"', /^1:7: the string is not valid UTF-8/],
    ['}', /^1:1: a field of NodeDef is expected, but "}" stands here/],
    ['attr { key: "a" value { type: constructor } }', /not a value of the enum/],
  ])('refuses %s', (text, why) => {
    expect(() => parseText(NodeDef, text)).toThrow(InvalidArgumentError);
    expect(() => parseText(NodeDef, text)).toThrow(why);
  });

  it('limits the nesting', () => {
    const deep = 'attr { key: "f" value { func { '.repeat(200);
    expect(() => parseText(NodeDef, deep)).toThrow(/deeper than 100/);
  });
});
