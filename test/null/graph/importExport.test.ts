/** @file GraphDef import and export against real TensorFlow: what is accepted, what is refused, and what comes out. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import type { NodeDef } from '../../../src/proto/graph.ts';
import './retiredOp.ts';
import { describeGraph, type GoldenGraph, type GoldenImport, golden, type Row } from './golden.ts';

const bytesOf = ({ binary }: GoldenGraph) => new Uint8Array(Buffer.from(binary, 'base64'));

/** `x:0` and `x` mean the same. */
const normal = (node: NodeDef): NodeDef => ({ ...node, input: node.input.map((text) => text.replace(/:0$/, '')) });
const text = (def: tf.GraphDef) => tf.GraphDef.printText({ ...def, node: def.node.map(normal) });

describe('graphs written by TensorFlow', () => {
  for (const entry of golden<GoldenGraph>('graphs')) {
    const addShapes = entry.name === 'shapes';
    for (const [form, def] of [
      ['binary', tf.GraphDef.decode(bytesOf(entry))],
      ['text', tf.GraphDef.parseText(entry.text)],
    ] as const)
      it(`${entry.name}, ${form}: import, then export, changes nothing`, () => {
        const graph = new tf.Graph();
        graph.asDefault(() => tf.importGraphDef(def, { name: '' }));
        expect(text(graph.asGraphDef({ addShapes }))).toBe(text(def));
      });

    it(`${entry.name}: static shapes are Python's`, () => {
      const graph = new tf.Graph();
      graph.asDefault(() => tf.importGraphDef(tf.GraphDef.decode(bytesOf(entry)), { name: '' }));
      const shapes = graph.operations.flatMap((op) => op.outputs.map((t) => [t.name, t.shape]));
      expect(Object.fromEntries(shapes)).toEqual(entry.shapes);
    });
  }

  it('exports bytes that are read back the same, and only what is new when asked', () => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.constant([1, 2, 3], { name: 'a' }));
    const { version } = graph;
    graph.asDefault(() => tf.identity(graph.getTensorByName('a:0'), { name: 'b' }));
    const def = graph.asGraphDef();
    expect(tf.GraphDef.decode(tf.GraphDef.encode(def))).toEqual(def);
    expect(def.versions?.producer).toBe(2474);
    expect(graph.asGraphDef({ fromVersion: version }).node.map((n) => n.name)).toEqual(['b']);
  });
});

/** Places where our words differ from TensorFlow's on purpose: ours name both types, or the node, or the remedy. */
const ownWords: [RegExp, RegExp][] = [
  [/^\d+ nodes in a cycle$/, /^\d+ nodes in a cycle, or behind one: the first is 'b'$/],
  [/^Op type not registered 'NoSuchOp'/, /^Op type not registered 'NoSuchOp' in binary running on/],
  [
    /^AttrValue had value with type '.*' when 'type' expected/,
    /'b': AttrValue had value with type .* when 'type' expected/,
  ],
  [/^Input 0 of node b was passed float/, /^Identity 'b': .*float32/s],
  [/^NodeDef expected inputs 'float, float' do not match \d inputs/, /^MatMul 'b': /],
  [/^Shape must be rank 2 but is rank 0 for '{{node b}}/, /^MatMul 'b': /],
  [
    /inconsistent with the GraphDef for output #0: /,
    /^Node 'b' has an _output_shapes attribute inconsistent with the GraphDef for output #0: /,
  ],
  [/^GraphDef (producer|min consumer|disallows)/, /^GraphDef (producer|min consumer|disallows)/],
  [/^'.*' is not a valid root scope name/, /^'.*' is not a valid root scope name/],
  [/^Cannot convert 'a:x' to a tensor name/, /^Cannot convert 'a:x' to a tensor name/],
];

describe('single imports', () => {
  for (const [i, c] of golden<GoldenImport>('imports').entries())
    it(`case ${i}: ${c.message?.split('\n')[0] ?? 'fine'}`, () => {
      const graph = new tf.Graph();
      const run = () =>
        graph.asDefault(() => {
          const given = tf.constant(2, { dtype: tf.float32, name: 'given' });
          return tf.importGraphDef(tf.GraphDef.parseText(c.text), {
            name: c.name ?? '',
            inputMap: Object.fromEntries((c.map ?? []).map((key) => [key, given])),
            returnElements: c.returns ?? [],
          });
        });
      if (c.message === undefined) {
        expect(run().map((x) => x.name)).toEqual(c.got);
        expect(describeGraph(graph)).toEqual(c.ops);
        const { producer, min_consumer, bad_consumers } = graph.versions;
        expect([producer, min_consumer, bad_consumers]).toEqual(c.versions);
        return;
      }
      const Class = c.error === 'NotFoundError' ? tf.errors.NotFoundError : tf.errors.InvalidArgumentError;
      expect(run).toThrow(Class);
      const own = ownWords.find(([theirs]) => theirs.test(c.message!));
      graph.asDefault(() => expect(run).toThrow(own ? own[1] : c.message));
      expect(graph.operations.every((op) => op.name.startsWith('given'))).toBe(true);
      expect(graph.versions.producer).toBe(2474);
    });
});

interface Repeated {
  text: string;
  other: string;
  pair: string;
  ops: Row[];
}

it('imports the same message again and again as Python does', () => {
  const { text: first, other, pair, ops } = golden<Repeated>('repeated')[0]!;
  let def = tf.GraphDef.parseText(first);
  const graph = new tf.Graph();
  graph.asDefault(() => {
    tf.importGraphDef(def, { name: '' });
    tf.importGraphDef(def, { name: '' });
    tf.importGraphDef(def);
    tf.importGraphDef(def);
    for (const name of ['B/A', 'b', 'import']) tf.constant(1, { dtype: tf.float32, name });
    tf.importGraphDef(tf.GraphDef.parseText(other), { name: '' });
    tf.nameScope('s', () => {
      tf.importGraphDef(def);
      tf.importGraphDef(def, { name: 'q/' });
      tf.importGraphDef(def, { name: 'q/' });
    });
    tf.controlDependencies([graph.getOperationByName('a')], () =>
      tf.device('/device:GPU:1', () => tf.importGraphDef(def, { name: 'ctl' })),
    );
    def = { ...def, node: def.node.map((n) => ({ ...n, device: '/job:w' })) };
    tf.device('/device:GPU:1', () =>
      tf.colocateWith(graph.getOperationByName('ctl/a'), () => tf.importGraphDef(def, { name: 'near' })),
    );
    tf.device('/device:GPU:1', () => tf.importGraphDef(def, { name: 'placed' }));
    tf.constant(1, { dtype: tf.float32, name: 'z' });
    tf.importGraphDef(tf.GraphDef.parseText(pair), { name: '' });
  });
  expect(describeGraph(graph)).toEqual(ops);
});

describe('input maps', () => {
  const def = tf.GraphDef.parseText(golden<GoldenImport>('imports').find((c) => c.map?.[0] === 'a:0')!.text);

  it('take literals, which become constants inside the prefix', () => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(def, { inputMap: { 'a:0': 3.5 } }));
    expect(graph.operations.map((op) => op.name)).toEqual(['import/_inputs/Const', 'import/a', 'import/b', 'import/c']);
    expect(graph.getOperationByName('import/c').inputs[0]!.name).toBe('import/_inputs/Const:0');
    expect(() => graph.asDefault(() => tf.importGraphDef(def, { name: '', inputMap: { 'a:0': 3.5 } }))).toThrow(
      'requires a non-empty `name`',
    );
  });

  it('take operations for control inputs only', () => {
    const graph = new tf.Graph();
    graph.asDefault(() => {
      const { op } = tf.constant(1, { name: 'x' });
      tf.importGraphDef(def, { inputMap: { '^a': op } });
      expect(() => tf.importGraphDef(def, { inputMap: { 'a:0': op } })).toThrow('a tensor is needed there');
    });
    expect(graph.getOperationByName('import/b').controlInputs.map((op) => op.name)).toEqual(['x']);
  });

  it('refuse a tensor of another graph or type, and leave the graph as it was', () => {
    const graph = new tf.Graph();
    graph.asDefault(() => {
      const foreign = new tf.Graph().asDefault(() => tf.constant(1, { dtype: tf.float32 }));
      expect(() => tf.importGraphDef(def, { inputMap: { 'a:0': foreign } })).toThrow('must be from the same graph');
      const whole = tf.constant(1, { dtype: tf.int32 });
      expect(() => tf.importGraphDef(def, { inputMap: { 'a:0': whole } })).toThrow(/import_1\/b.*int32/);
    });
    expect(graph.operations.length).toBe(1);
  });
});

describe('functions', () => {
  const entry = golden<GoldenGraph>('graphs').find(({ name }) => name === 'functions')!;
  const def = tf.GraphDef.decode(bytesOf(entry));

  it('are found as node types and kept in the library', () => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(def));
    expect([...graph.functions.keys()].sort()).toEqual(['Fourfold', 'Twice']);
    expect(graph.operations.some((op) => op.type === 'Fourfold')).toBe(true);
    graph.asDefault(() => tf.importGraphDef(def));
    expect(graph.functions.size).toBe(2);
  });

  it('cannot be replaced by others of the same name', () => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(def));
    const [first, ...rest] = def.library!.function;
    const changed = { ...def.library!, function: [{ ...first!, node_def: [] }, ...rest] };
    const before = graph.version;
    expect(() => graph.asDefault(() => tf.importGraphDef({ ...def, library: changed }))).toThrow(
      /Cannot add function '.*' because a different function with the same name already exists/,
    );
    expect(graph.version).toBe(before);
  });

  it('refuse calls with wrong arguments', () => {
    const node = def.node.map((n) => (n.op === 'Fourfold' ? { ...n, input: [] } : n));
    expect(() => new tf.Graph().asDefault(() => tf.importGraphDef({ ...def, node }))).toThrow(
      /takes 1 inputs, but 0 were given/,
    );
  });
});

it('refuses ops that the version of the writer no longer has', () => {
  const node = [{ name: 'x', op: 'RetiredOp', input: [], device: '', attr: {} }];
  const load = (producer: number) =>
    new tf.Graph().asDefault(() =>
      tf.importGraphDef({ node, version: 0, versions: { producer, min_consumer: 0, bad_consumers: [] } }),
    );
  expect(() => load(8)).not.toThrow();
  expect(() => load(9)).toThrow(tf.errors.UnimplementedError);
  expect(() => load(9)).toThrow(
    'Op RetiredOp is not available in GraphDef version 9. It has been removed in version 9.',
  );
});

it('survives 500 damaged copies of a real GraphDef, and never adds a part of one', () => {
  const original = bytesOf(golden<GoldenGraph>('graphs').find(({ name }) => name === 'training')!);
  let seed = 12345;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  let refused = 0;
  for (let i = 0; i < 500; i++) {
    const bytes = original.slice();
    for (let k = 0; k <= i % 3; k++) bytes[random(bytes.length)]! ^= 1 << random(8);
    const graph = new tf.Graph();
    try {
      graph.asDefault(() => tf.importGraphDef(tf.GraphDef.decode(bytes)));
    } catch (error) {
      if (!(error instanceof tf.errors.OpError)) throw error;
      refused++;
      expect(graph.operations.length).toBe(0);
    }
  }
  expect(refused).toBeGreaterThan(100);
});
