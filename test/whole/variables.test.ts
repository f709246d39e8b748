/** @file Variables and scopes: the same nodes, names and values as real TensorFlow (tools/golden/variables.py). */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

interface Case {
  readonly nodes: readonly [name: string, op: string, inputs: readonly string[]][];
  readonly result: unknown;
}
const golden = JSON.parse(readFileSync(new URL('../golden/variables.json', import.meta.url), 'utf8')) as {
  cases: Record<string, Case>;
  initializers: Record<string, unknown>;
};

const programs: Record<string, () => unknown> = {
  resource() {
    const v = new tf.Variable(tf.zeros([2, 2]), { name: 'v' });
    tf.matmul(v, v);
    v.add(1);
    v.mul(v);
    tf.add(v, 1);
    v.assign(tf.ones([2, 2]));
    const a = v.assignAdd(tf.ones([2, 2]));
    tf.identity(a);
    v.readValue();
    v.value();
    v.neg();
    v.slice('0');
    v.slice('0:1').assign([[1, 2.5]]);
    tf.assign(v, [
      [1.5, 2],
      [3, 4],
    ]);
    tf.scatterUpdate(v, [0], [[1.5, 2]]);
    v.scatterAdd(new tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0])));
    v.sparseRead([0]);
    tf.gather(v, [0]);
    tf.scatterNdUpdate(v, [[0]], [[1.5, 2]]);
    v.scatterNdAdd([[0]], [[1.5, 2]]);
    tf.isVariableInitialized(v);
    tf.globalVariablesInitializer();
    tf.reportUninitializedVariables();
    return [String(v), String(a)];
  },

  forms() {
    new tf.Variable(1.5);
    new tf.Variable([1, 2], { name: 'x/y' });
    new tf.Variable(() => tf.zeros([3]), { name: 'lam', trainable: false });
    new tf.Variable(3);
    return tf.trainableVariables().map((v) => v.name);
  },

  reference() {
    const v = new tf.Variable(tf.zeros([2, 2]), { name: 'v', useResource: false });
    tf.matmul(v, v);
    v.add(1);
    v.assign(tf.ones([2, 2]));
    v.assignAdd(tf.ones([2, 2]));
    v.value();
    v.readValue();
    v.slice('0:1').assign([[1, 2.5]]);
    tf.scatterUpdate(v, [0], [[1.5, 2]]);
    tf.isVariableInitialized(v);
    tf.assign(v, [
      [1.5, 2],
      [3, 4],
    ]);
    v.scatterNdAdd([[0]], [[1.5, 2]]);
    new tf.Variable(() => tf.zeros([3]), { name: 'lam', useResource: false });
    new tf.Variable(1.5, { useResource: false });
    return [String(v)];
  },

  getVariable() {
    tf.variableScope('s', () => {
      tf.getVariable('w', [2, 3]);
      tf.getVariable('b', [3], { initializer: tf.zerosInitializer() });
      tf.getVariable('c', { initializer: tf.constant([1.5, 2]) });
      tf.getVariable('d', [], { dtype: tf.int32, initializer: tf.constantInitializer(3) });
      tf.getVariable('e', [2], { dtype: tf.int32 });
      tf.getVariable('f', { initializer: [1.5, 2] });
      tf.getVariable('k', { initializer: () => tf.ones([2]) });
      tf.getVariable('r', [2, 2], { regularizer: (x) => tf.reduceSum(x) });
    });
    tf.variableScope('s', { reuse: true }, () => {
      tf.getVariable('w');
      tf.ones([1]);
    });
    for (let i = 0; i < 2; i++) tf.variableScope(null, { defaultName: 'q' }, () => tf.getVariable('w', [1]));
    return tf.getCollection<tf.Tensor>(tf.GraphKeys.REGULARIZATION_LOSSES).map((t) => t.name);
  },

  scopes() {
    const out: unknown[] = [];
    const v = (name: string) => tf.getVariable(name, [1]).name;
    const one = () => tf.ones([1]).name;
    const [a, b] = tf.variableScope('a', (outer) => {
      out.push(outer.name, outer.originalNameScope);
      const first = tf.variableScope('b', (inner) => {
        out.push(inner.name, inner.originalNameScope, v('v'), one());
        return inner;
      });
      tf.variableScope('b', (inner) => out.push(inner.name, inner.originalNameScope, v('w'), one()));
      return [outer, first] as const;
    });
    tf.variableScope(b, () => out.push(v('x'), one()));
    tf.variableScope('c', () =>
      tf.variableScope(b, (again) => out.push(again.name, again.originalNameScope, v('y'), one())),
    );
    tf.variableScope(a, { reuse: true }, () => tf.variableScope('b', () => out.push(tf.getVariable('v').name, one())));
    tf.nameScope('n', () => {
      tf.variableScope('d', () => out.push(v('v'), one()));
      tf.variableScope('e', { auxiliaryNameScope: false }, (e) => out.push(e.name, e.originalNameScope, v('v'), one()));
    });
    tf.variableScope('t', { reuse: tf.AUTO_REUSE }, () => {
      const made = tf.getVariable('v', [1]);
      out.push(tf.getVariable('v', [1]) === made);
    });
    for (let i = 0; i < 2; i++)
      tf.variableScope(null, { defaultName: 'dflt' }, () => {
        for (let k = 0; k < 2; k++) tf.variableScope(null, { defaultName: 'inner' }, () => out.push(v('v'), one()));
      });
    const suffix =
      (text: string): tf.CustomGetter =>
      (getter, name, options) =>
        getter(name + text, options);
    tf.variableScope('cg', { customGetter: suffix('_outer') }, () =>
      tf.variableScope('in', { customGetter: suffix('_inner') }, () => out.push(v('v'))),
    );
    tf.variableScope('', () => out.push(v('root'), one()));
    tf.variableScope('init', { initializer: tf.onesInitializer(), dtype: tf.float64 }, (s) => {
      const made = tf.getVariable('v', [1]);
      out.push(made.initialValue.op.type, made.dtype.name, [...s.globalVariables().map((x) => x.name)]);
    });
    return out;
  },

  partitioned() {
    const p = tf.getVariable('p', [5, 2], { partitioner: tf.fixedSizePartitioner(2) });
    tf.identity(p);
    const names = (parts: Iterable<tf.Variable>) => [...parts].map((v) => v.name);
    const [q, r] = tf.variableScope('s', () => {
      const partitioner = tf.fixedSizePartitioner(3);
      return [
        tf.getVariable('q', [4], { initializer: tf.zerosInitializer(), partitioner }),
        tf.getVariable('r', undefined, { initializer: tf.constant([1.5, 2, 3]), partitioner }),
      ];
    }) as [tf.PartitionedVariable, tf.PartitionedVariable]; // two of them
    tf.getVariable('one', [5, 2], { partitioner: tf.fixedSizePartitioner(1) });
    return [names(p), names(q), [...q].map((v) => v.shape), names(r)];
  },

  initializers() {
    const rows: Record<string, tf.Initializer> = {
      identity: tf.initializers.identity(),
      gain: tf.initializers.identity({ gain: 2.5 }),
      glorotNormal: tf.glorotNormalInitializer({ seed: 3 }),
      uniform: tf.randomUniformInitializer(-1, 2.5),
      normal: tf.randomNormalInitializer(1.5, 2.5),
      truncated: tf.truncatedNormalInitializer(0, 1, { seed: 1 }),
      unit: tf.uniformUnitScalingInitializer(),
      he: tf.initializers.heNormal(),
      lecun: tf.initializers.lecunUniform(),
    };
    for (const [name, initializer] of Object.entries(rows))
      tf.getVariable(name, name === 'identity' ? [3, 3] : [2, 3], { initializer });
    tf.getVariable('big', [100, 100], { initializer: tf.zerosInitializer() });
    tf.getVariable('fill', [4], { initializer: tf.constantInitializer([1, 2]) });
  },

  orthogonal() {
    tf.getVariable('wide', [2, 3], { initializer: tf.orthogonalInitializer() });
    tf.getVariable('tall', [2, 3, 4], { initializer: tf.orthogonalInitializer({ gain: 1.5 }) });
  },
};

describe('nodes equal Python', () => {
  for (const [name, program] of Object.entries(programs))
    it(name, () => {
      const graph = new tf.Graph();
      const result = graph.asDefault(program);
      const nodes = graph.operations.map((op) => [op.name, op.type, op.nodeDef.input]);
      expect(nodes).toEqual(golden.cases[name]!.nodes);
      expect(result ?? null).toEqual(golden.cases[name]!.result);
    });
});

const initializers: Record<string, tf.Initializer> = {
  glorotUniform: tf.glorotUniformInitializer({ seed: 3 }),
  glorotNormal: tf.glorotNormalInitializer({ seed: 3 }),
  heUniform: tf.initializers.heUniform({ seed: 5 }),
  heNormal: tf.initializers.heNormal({ seed: 5 }),
  lecunUniform: tf.initializers.lecunUniform({ seed: 5 }),
  lecunNormal: tf.initializers.lecunNormal({ seed: 5 }),
  randomUniform: tf.randomUniformInitializer(-1, 2.5, { seed: 2 }),
  randomNormal: tf.randomNormalInitializer(1.5, 2.5, { seed: 2 }),
  truncatedNormal: tf.truncatedNormalInitializer(0.5, 2, { seed: 2 }),
  uniformUnitScaling: tf.uniformUnitScalingInitializer(1.5, { seed: 2 }),
  varianceScaling: tf.varianceScalingInitializer({
    scale: 2,
    mode: 'fan_out',
    distribution: 'untruncated_normal',
    seed: 2,
  }),
  constant: tf.constantInitializer([1, 2]),
  orthogonal: tf.orthogonalInitializer({ seed: 4 }),
  identity: tf.initializers.identity({ gain: 2.5 }),
};

describe('initializers give the values of TensorFlow', () => {
  for (const [name, initializer] of Object.entries(initializers))
    it(name, async () => {
      const graph = new tf.Graph();
      await graph.asDefault(async () => {
        const value = await new tf.Session({ graph }).run(initializer([3, 4]));
        const wanted = golden.initializers[name] as number[][]; // all are matrices
        // The rounding of a QR decomposition depends on how its sums are ordered; all else is equal to the bit.
        if (name !== 'orthogonal') expect(value.toArray()).toEqual(wanted);
        else for (const [i, x] of wanted.flat().entries()) expect(value.numberAt(i)).toBeCloseTo(x, 6);
      });
    });
});

it('lookups see the parts of a partitioned variable as tables', async () => {
  const graph = new tf.Graph();
  await graph.asDefault(async () => {
    const table = tf.getVariable('table', [5, 1], {
      initializer: ([rows]) =>
        tf.constant(
          Array.from({ length: rows! }, (_, i) => [10 * i]),
          tf.float32,
        ),
      partitioner: tf.fixedSizePartitioner(2),
    });
    const ids = new tf.SparseTensor(
      [
        [0, 0],
        [1, 0],
      ],
      [2, 1],
      [2, 1],
    );
    const found = {
      mod: tf.nn.embeddingLookup(table, [2, 1]),
      div: tf.nn.embeddingLookup(table, [2, 1], { partitionStrategy: 'div' }),
      sparse: tf.nn.embeddingLookupSparse(table, ids, null, { combiner: 'sum' }),
      safe: tf.nn.safeEmbeddingLookupSparse(table, ids, { partitionStrategy: 'mod' }),
    };
    const sess = new tf.Session({ graph });
    await sess.run(tf.globalVariablesInitializer());
    // The parts are 0, 10, 20 and 0, 10.
    const { mod, div, sparse, safe } = await sess.run(found);
    expect([mod, div, sparse, safe].map((x) => x.toArray())).toEqual([
      [[10], [0]],
      [[20], [10]],
      [[10], [0]],
      [[10], [0]],
    ]);
  });
});
