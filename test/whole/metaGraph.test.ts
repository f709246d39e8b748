/** @file Meta graphs: the same as TensorFlow's for the same programs, and graphs that come back from them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeMetaGraph } from '../../src/front/saving/metaGraph.ts';
import type { AttrValue } from '../../src/proto/attr.ts';
import type { GraphDef, NodeDef } from '../../src/proto/graph.ts';
import { MetaGraphDef, VariableDef } from '../../src/proto/metaGraph.ts';
import { tensorFromProto } from '../../src/proto/tensorProto.ts';
import { turnsDuring } from '../turnsDuring.ts';

interface Golden {
  readonly metaGraphs: Record<string, string>;
  readonly graphs: Record<string, string>;
}
const golden = JSON.parse(readFileSync(new URL('../golden/front/metaGraphs.json', import.meta.url), 'utf8')) as Golden;
const unpack = (text: string) => inflateSync(Buffer.from(text, 'base64'));

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tensorloom-meta-'));
  tf.resetDefaultGraph();
});
afterEach(() => rmSync(folder, { recursive: true }));

const zeros = { initializer: tf.zerosInitializer() };

function dense() {
  const { w, b } = tf.variableScope('layer', () => ({
    w: tf.getVariable('w', [2, 3], zeros),
    b: tf.getVariable('b', [3], { ...zeros, trainable: false }),
  }));
  const x = tf.placeholder(tf.float32, [null, 2], { name: 'x' });
  return { x, y: tf.add(tf.matmul(x, w), b, { name: 'y' }) };
}

const partitions = { ...zeros, partitioner: tf.fixedSizePartitioner(2) };

const programs: Record<string, () => MetaGraphDef> = {
  plain() {
    tf.train.getOrCreateGlobalStep();
    const { x, y } = dense();
    tf.addToCollection('inputs', x);
    tf.addToCollection('outputs', y);
    tf.addToCollection('outputs', y.op);
    tf.addToCollection('counts', 3);
    tf.addToCollection('counts', 4);
    tf.addToCollection('rates', 0.5);
    tf.addToCollection('names', 'one');
    const local = new tf.Variable(1, { dtype: tf.float32, name: 'local', trainable: false, collections: [] });
    tf.addToCollection(tf.GraphKeys.LOCAL_VARIABLES, local);
    const saver = new tf.train.Saver({ maxToKeep: 3 });
    tf.addToCollection(tf.GraphKeys.SAVERS, saver);
    return saver.exportMetaGraph();
  },
  references() {
    tf.variableScope('s', { useResource: false }, () => {
      tf.getVariable('p', [4, 3], partitions);
      tf.getVariable('b', [3], zeros);
    });
    return new tf.train.Saver().exportMetaGraph();
  },
  partitioned() {
    tf.getVariable('p', [4, 3], partitions);
    tf.getVariable('b', [3], zeros);
    return new tf.train.Saver().exportMetaGraph();
  },
  sharded() {
    tf.device('/cpu:0', () => tf.getVariable('w', [2, 3], zeros));
    tf.device('/cpu:1', () => tf.getVariable('b', [3], zeros));
    tf.getVariable('c', [3], zeros);
    return new tf.train.Saver({ sharded: true, keepCheckpointEveryNHours: 2 }).exportMetaGraph();
  },
  reshape() {
    const w = tf.getVariable('w', [2, 3], zeros);
    const b = tf.getVariable('b', [3], { ...zeros, useResource: false });
    return new tf.train.Saver({ x: w, a: b }, { reshape: true, name: 'mine', filename: 'here' }).exportMetaGraph();
  },
  old_format() {
    const w = tf.getVariable('w', [2, 3], zeros);
    const b = tf.getVariable('b', [3], { ...zeros, useResource: false });
    return new tf.train.Saver([w, b], { writeVersion: 1, sharded: true }).exportMetaGraph();
  },
  scope() {
    const { x, y } = dense();
    tf.nameScope('outer', () => {
      const z = tf.nameScope('inner', () => tf.multiply(y, 2, { name: 'z' }));
      tf.add(z, x.slice('0, 0'), { name: 'sum' });
    });
    return tf.train.exportMetaGraph({ exportScope: 'outer' });
  },
  cleared() {
    tf.device('/cpu:0', dense);
    new tf.train.Saver({ name: 'one' });
    const saver = new tf.train.Saver({ name: 'two' });
    return saver.exportMetaGraph({ clearDevices: true, clearExtraneousSavers: true, stripDefaultAttrs: true });
  },
};

/** Attributes that TensorFlow's runtime keeps for itself. */
const own = new Set(['_has_manual_control_dependencies']);
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

/** Equal values may be written as a list or as bytes. */
const plainValue = (value: AttrValue) => (value.tensor ? String(tensorFromProto(value.tensor)) : value);

const plainNode = (node: NodeDef) => {
  const attr = Object.entries(node.attr).filter(([name]) => !own.has(name));
  return { ...node, attr: Object.fromEntries(attr.sort().map(([name, value]) => [name, plainValue(value)])) };
};
const nodes = ({ node }: GraphDef) => node.map(plainNode);

function collections({ collection_def }: MetaGraphDef) {
  return Object.fromEntries(
    Object.entries(collection_def).map(([key, def]) => {
      const isVariables = /variables|global_step/.test(key);
      const bytes = def.bytes_list?.value.map((v) => (isVariables ? VariableDef.decode(v) : text(v)));
      return [key, { ...def, ...(bytes && { bytes_list: bytes }) }];
    }),
  );
}

describe('meta graphs are TensorFlow’s', () => {
  for (const [name, program] of Object.entries(programs))
    test(name, () => {
      const theirs = MetaGraphDef.decode(unpack(golden.metaGraphs[name]!));
      const ours = MetaGraphDef.decode(MetaGraphDef.encode(program()));
      expect(nodes(ours.graph_def!)).toEqual(nodes(theirs.graph_def!));
      expect(ours.saver_def).toEqual(theirs.saver_def);
      expect(collections(ours)).toEqual(collections(theirs));
      const ops = (def: MetaGraphDef) => def.meta_info_def?.stripped_op_list?.op.map((op) => op.name);
      expect(ops(ours)).toEqual(ops(theirs));
      expect(ours.meta_info_def?.stripped_default_attrs).toBe(theirs.meta_info_def?.stripped_default_attrs);
    });
});

describe('a meta graph', () => {
  test('brings graph, collections and saver back without the program', async () => {
    const { x, y } = dense();
    tf.addToCollection('io', x);
    tf.addToCollection('io', y);
    tf.addToCollection('note', 'größer');
    tf.addToCollection('raw', Uint8Array.of(255, 0, 128));
    const saver = new tf.train.Saver({ maxToKeep: 2 });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    await sess.run(tf.assign(tf.globalVariables()[0]!, [[1, 2, 3], [4, 5, 6]])); // biome-ignore format: rows
    const path = await saver.save(sess, join(folder, 'model'), { globalStep: 7 });

    const graph = new tf.Graph();
    const restored = graph.asDefault(() => tf.train.importMetaGraph(`${path}.meta`));
    const other = new tf.Session({ graph });
    await restored.restore(other, path);
    const [x2, y2] = graph.getCollection('io') as [tf.Tensor, tf.Tensor];
    expect((await other.run(y2, [[x2, [[1, 10]]]])).toArray()).toEqual([[41, 52, 63]]);
    expect(graph.getCollection('note')).toEqual(['größer']);
    expect(graph.getCollection('raw')).toEqual([Uint8Array.of(255, 0, 128)]);
    const variables = graph.getCollection('variables') as tf.Variable[];
    expect(variables.map((v) => [v.name, v.trainable, v.shape])).toEqual([
      ['layer/w:0', true, [2, 3]],
      ['layer/b:0', false, [3]],
    ]);
    expect(graph.getCollection('trainable_variables')).toEqual([variables[0]]);
    expect(restored.saverDef).toEqual(saver.saverDef);
    // What was imported exports as it came.
    const again = graph.asDefault(() => restored.exportMetaGraph());
    expect(Buffer.from(MetaGraphDef.encode(again)).equals(readFileSync(`${path}.meta`))).toBe(true);
    // Variables that were imported are variables: they train.
    const train = graph.asDefault(() => {
      const loss = tf.reduceMean(tf.square(y2));
      return new tf.train.GradientDescentOptimizer(0.1).minimize(loss);
    });
    const before = String(await other.run(variables[0]!));
    await other.run(train, [[x2, [[1, 10]]]]);
    expect(String(await other.run(variables[0]!))).not.toBe(before);
  });

  test('without variables comes with a saver that leaves those around it alone', async () => {
    const def = new tf.Graph().asDefault(() => {
      tf.constant(1, { name: 'c' });
      return tf.train.exportMetaGraph();
    });
    const graph = new tf.Graph();
    const saver = graph.asDefault(() => {
      tf.getVariable('v', [2]);
      return tf.train.importMetaGraph(def, { importScope: 's' });
    });
    expect(graph.operations.filter((op) => !op.name.startsWith('v/')).map((op) => op.name)).toEqual(['v', 's/c']);
    await saver.restore(new tf.Session({ graph }), join(folder, 'none'));
  });

  test('goes under a scope, twice, with savers of their own', async () => {
    dense();
    const saver = new tf.train.Saver();
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const path = await saver.save(sess, join(folder, 'model'));
    const graph = new tf.Graph();
    const savers = graph.asDefault(() =>
      [1, 2].map(() => tf.train.importMetaGraph(`${path}.meta`, { importScope: 'tower' })),
    );
    expect(savers.map((s) => s.saverDef?.restore_op_name)).toEqual([
      'tower/save/restore_all',
      'tower_1/save/restore_all',
    ]);
    const other = new tf.Session({ graph });
    for (const s of savers) await s.restore(other, path);
    const names = (graph.getCollection('variables') as tf.Variable[]).map((v) => v.name);
    expect(names).toEqual(['tower/layer/w:0', 'tower/layer/b:0', 'tower_1/layer/w:0', 'tower_1/layer/b:0']);
    expect((await other.run(graph.getTensorByName('tower_1/layer/b/Read/ReadVariableOp:0'))).toString()).toBe(
      '[0. 0. 0.]',
    );
  });

  test('of a scope is imported with its inputs supplied', async () => {
    const def = programs['scope']!();
    const graph = new tf.Graph();
    expect(() => graph.asDefault(() => tf.train.importMetaGraph(def))).toThrow(
      /unbound inputs: \$unbound_inputs_y,\$unbound_inputs_x/,
    );
    graph.asDefault(() => {
      const inputMap = {
        $unbound_inputs_y: tf.constant([[1, 2, 3]], tf.float32),
        $unbound_inputs_x: tf.constant([[5, 6]], tf.float32),
      };
      tf.train.importMetaGraph(def, { inputMap, importScope: 'new' });
    });
    const sess = new tf.Session({ graph });
    expect((await sess.run(graph.getTensorByName('new/sum:0'))).toArray()).toEqual([[7, 9, 11]]);
  });

  test('of a newer TensorFlow is read where its new attributes say the usual', () => {
    const { x } = dense();
    tf.identity(x, { name: 'last' });
    const def = tf.train.exportMetaGraph();
    const changed = (value: boolean): MetaGraphDef => {
      const info = def.meta_info_def!;
      const op = info.stripped_op_list!.op.map((o) =>
        o.name === 'Identity'
          ? { ...o, attr: [...o.attr, { name: 'later', type: 'bool', default_value: { b: false } }] }
          : o,
      );
      const node = def.graph_def!.node.map((n) =>
        n.name === 'last' ? { ...n, attr: { ...n.attr, later: { b: value } } } : n,
      );
      return MetaGraphDef.create({
        ...def,
        meta_info_def: { ...info, stripped_op_list: { op } },
        graph_def: { ...def.graph_def!, node },
      });
    };
    for (const [value, kept] of [
      [false, false],
      [true, true],
    ] as const) {
      // biome-ignore format: a table
      const graph = new tf.Graph();
      graph.asDefault(() => tf.train.importMetaGraph(changed(value)));
      expect('later' in graph.getOperationByName('last').attrs).toBe(kept);
    }
  });

  test('is written as text and as bytes, and says when it is neither', () => {
    dense();
    const def = tf.train.exportMetaGraph({ filename: join(folder, 'a.pbtxt'), asText: true });
    expect(readFileSync(join(folder, 'a.pbtxt'), 'utf8')).toMatch(/^meta_info_def \{/);
    const graph = new tf.Graph();
    graph.asDefault(() => tf.train.importMetaGraph(join(folder, 'a.pbtxt')));
    expect(graph.operations.length).toBeGreaterThanOrEqual(def.graph_def!.node.length);
    expect(() => tf.train.importMetaGraph(join(folder, 'none.meta'))).toThrow(/does not exist/);
    expect(tf.train.writeGraph(tf.getDefaultGraph(), folder, 'g.pb', { asText: false })).toBe(join(folder, 'g.pb'));
    const back = tf.GraphDef.decode(readFileSync(join(folder, 'g.pb')));
    tf.train.writeGraph(back, folder, 'g.pbtxt');
    expect(() => tf.train.writeGraph(back, join(folder, 'g.pb'), 'inside')).toThrow(tf.errors.FailedPreconditionError);
    expect(() => tf.train.writeGraph(back, '/proc/none', 'g.pb')).toThrow(tf.errors.NotFoundError);
    expect(() => tf.train.importMetaGraph(folder)).toThrow(/Is a directory/);
    expect(tf.GraphDef.parseText(readFileSync(join(folder, 'g.pbtxt'), 'utf8'))).toEqual(back);
    expect(() => tf.train.importMetaGraph(join(folder, 'g.pbtxt'))).toThrow(/Cannot parse file/);
  });
});

describe('graphs for inference', () => {
  async function freezable(useResource: boolean) {
    const x = tf.placeholder(tf.float32, [null, 3], { name: 'x' });
    const { w, e } = tf.variableScope('a', { useResource }, () => ({
      w: tf.getVariable('w', [3, 2], { initializer: tf.constantInitializer(0.5) }),
      e: tf.getVariable('e', [5, 2], { initializer: tf.constantInitializer(0.25) }),
    }));
    const y = tf.matmul(x, w);
    const z = tf.nn.embeddingLookup(e, [1, 2]);
    tf.add(y, z, { name: 'out' });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    return { sess, w, x };
  }

  for (const [name, useResource] of [['frozen', true], ['frozenReferences', false]] as const) // biome-ignore format: a table
    test(`${name} is TensorFlow’s`, async () => {
      const { sess } = await freezable(useResource);
      const ours = await tf.graphUtil.convertVariablesToConstants(sess, sess.graph, ['out']);
      const theirs = tf.GraphDef.decode(unpack(golden.graphs[name]!));
      // Add is AddV2 in TensorFlow 2.
      const same = (def: GraphDef) => nodes(def).map((n) => ({ ...n, op: n.op === 'Add' ? 'AddV2' : n.op }));
      expect(same(ours)).toEqual(same(theirs));
      const graph = new tf.Graph();
      const [out] = graph.asDefault(() => tf.importGraphDef(ours, { returnElements: ['out:0'], name: '' })) as [
        tf.Tensor,
      ];
      const feeds = [[graph.getTensorByName('x:0'), [[1, 2, 3], [0, 0, 0]]]] as const; // biome-ignore format: rows
      expect((await new tf.Session({ graph }).run(out, feeds)).toArray()).toEqual([
        [3.25, 3.25],
        [0.25, 0.25],
      ]);
    });

  test('have no variables inside branches and loops either', async () => {
    const { sess, w, x } = await freezable(true);
    const out = sess.graph.getTensorByName('out:0');
    const chosen = tf.cond(
      tf.greater(tf.reduceSum(x), 0),
      () => out.add(w.slice('0')),
      () => out.sub(w.slice('1')),
    );
    const [, looped] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, v) => [i.add(1), v.mul(w.slice('0'))],
      [tf.constant(0), chosen as tf.Tensor],
    ) as [tf.Tensor, tf.Tensor];
    tf.identity(looped, { name: 'last' });
    const frozen = await tf.graphUtil.convertVariablesToConstants(sess, sess.graph.asGraphDef(), ['last']);
    const all = [...frozen.node, ...(frozen.library?.function ?? []).flatMap((f) => f.node_def)];
    expect(all.filter((n) => /Variable|VarHandle/.test(n.op))).toEqual([]);
    const graph = new tf.Graph();
    const [last] = graph.asDefault(() => tf.importGraphDef(frozen, { returnElements: ['last:0'], name: '' })) as [
      tf.Tensor,
    ];
    for (const row of [
      [1, 2, 3],
      [-1, -2, -3],
    ]) {
      // biome-ignore format: rows
      const feed = [row, row];
      const want = await sess.run(sess.graph.getTensorByName('last:0'), [[x, feed]]);
      const got = await new tf.Session({ graph }).run(last, [[graph.getTensorByName('x:0'), feed]]);
      expect(String(got)).toBe(String(want));
    }
  });

  test('keep the variables they are told to, and say what cannot be frozen', async () => {
    const { sess, w } = await freezable(true);
    const options = { variableNamesBlacklist: ['a/e'] };
    const part = await tf.graphUtil.convertVariablesToConstants(sess, sess.graph, ['out'], options);
    expect(part.node.filter((n) => n.op === 'VarHandleOp').map((n) => n.name)).toEqual(['a/e']);
    const update = w.assignAdd(tf.ones([3, 2]), { name: 'more' });
    await expect(
      tf.graphUtil.convertVariablesToConstants(sess, sess.graph, [(update as tf.UpdatedVariable).op.name]),
    ).rejects.toThrow(/Cannot freeze the variable 'a\/w': AssignAddVariableOp 'more'/);
    await expect(tf.graphUtil.convertVariablesToConstants(sess, sess.graph, ['none'])).rejects.toThrow(
      /none is not in graph/,
    );
  });

  test('lose what only training needs', () => {
    const x = tf.placeholder(tf.float32, [2], { name: 'x' });
    const a = tf.identity(x, { name: 'a' });
    const b = tf.checkNumerics(a, 'bad', { name: 'b' });
    const c = tf.controlDependencies([b], () => tf.identity(a, { name: 'c' }));
    const d = tf.stopGradient(tf.identity(c, { name: 'kept' }), { name: 'd' });
    tf.add(d, 1, { name: 'out' });
    const ours = tf.graphUtil.removeTrainingNodes(tf.getDefaultGraph().asGraphDef(), { protectedNodes: ['kept'] });
    const theirs = tf.GraphDef.decode(unpack(golden.graphs['trainingNodes']!));
    const shown = (def: GraphDef) => def.node.map((n) => `${n.name}(${n.input.join(', ')})`);
    expect(shown(ours)).toEqual(shown(theirs));
    expect(tf.graphUtil.tensorShapeFromNodeDefName(tf.getDefaultGraph(), 'out')).toEqual([2]);
    expect(tf.graphUtil.mustRunOnCpu(tf.constant(1).op)).toBe(true);
    expect(tf.graphUtil.mustRunOnCpu(tf.constant(1.5).op)).toBe(false);
  });
});

describe('written in turns', () => {
  /** Writes a meta graph in turns, and calls `change` in each of them. */
  async function writtenWhile(change: () => void): Promise<{ meta: MetaGraphDef; turns: number }> {
    const graph = tf.getDefaultGraph();
    const path = join(folder, 'm.meta');
    let isWriting = true;
    const changing = () => {
      graph.asDefault(change);
      if (isWriting) setImmediate(changing);
    };
    setImmediate(changing);
    const turns = await turnsDuring(() => writeMetaGraph(path, { graph }));
    isWriting = false;
    await new Promise(setImmediate);
    return { meta: MetaGraphDef.decode(readFileSync(path)), turns };
  }

  /** Names that nodes and collections speak of, but that are no nodes. */
  function missingNames({ graph_def, collection_def }: MetaGraphDef): string[] {
    const names = new Set(graph_def!.node.map(({ name }) => name));
    const variables = collection_def['variables']!.bytes_list!.value.map((bytes) => VariableDef.decode(bytes));
    const wanted = [
      ...graph_def!.node.flatMap(({ input }) => input.map((name) => name.replace(/^\^|:.*$/g, ''))),
      ...variables.map(({ variable_name }) => variable_name.replace(/:.*$/, '')),
    ];
    return wanted.filter((name) => !names.has(name));
  }

  const addMany = () => {
    for (let i = 0; i < 1000; i++) tf.getVariable(`v${i}`, [1], zeros);
  };

  test('a graph that grows meanwhile is written as it was', async () => {
    addMany();
    const { length } = tf.getDefaultGraph().operations;
    let added = 0;
    const { meta, turns } = await writtenWhile(() => {
      tf.getVariable(`added${added++}`, [1], zeros);
    });
    expect(turns).toBeGreaterThan(10);
    expect(missingNames(meta)).toEqual([]);
    // One may have come before it began.
    expect(meta.graph_def!.node.length).toBeLessThan(length + 20);
  });

  test('a loop that is differentiated meanwhile is written with all of its inputs', async () => {
    addMany();
    const x = tf.getVariable('x', [], zeros);
    const y = tf.whileLoop(
      (i) => tf.less(i, 10),
      (i, y) => [tf.add(i, 1), tf.mul(y, x)],
      [tf.constant(0), tf.constant(1, tf.float32)],
    )[1];
    let turn = 0;
    const { meta } = await writtenWhile(() => {
      if (++turn === 2) tf.gradients(y!, [x]);
    });
    expect(turn).toBeGreaterThan(2);
    expect(missingNames(meta)).toEqual([]);
  });

  test('a saver writes what exportMetaGraph gives', async () => {
    dense();
    const saver = new tf.train.Saver();
    using session = new tf.Session();
    await session.run(tf.globalVariablesInitializer());
    await saver.save(session, join(folder, 'm'), { stripDefaultAttrs: true });
    const expected = MetaGraphDef.encode(saver.exportMetaGraph({ stripDefaultAttrs: true }));
    expect(readFileSync(join(folder, 'm.meta')).equals(expected)).toBe(true);
  });
});
