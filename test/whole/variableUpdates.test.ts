/** @file Gathers from variables, their gradients and scatter updates build TensorFlow's nodes and give its values. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { expect, it } from 'vitest';

interface Golden {
  readonly nodes: readonly string[];
  readonly values: readonly (readonly (readonly number[])[])[];
}
const golden = JSON.parse(readFileSync(new URL('../golden/variableUpdates.json', import.meta.url), 'utf8')) as Record<
  string,
  Golden
>;

const rows = [
  [2.5, 2.5, 2.5],
  [2.5, 2.5, 2.5],
];
const cases: Record<string, (v: tf.Variable) => readonly unknown[]> = {};

function squared(y: tf.Tensor, v: tf.Variable): readonly unknown[] {
  return [y, tf.gradients(y.mul(y), v)[0]];
}
cases['gatherNd rows'] = (v) => squared(tf.gatherNd(v, [[1], [3], [1]]), v);
cases['gatherNd batch'] = (v) => squared(tf.gatherNd(v, [[[1], [3]]]), v);
cases['gatherNd elements'] = (v) => {
  const picks = [
    [1, 2],
    [3, 0],
  ];
  return squared(tf.gatherNd(v, picks), v);
};
cases['gather'] = (v) => squared(tf.gather(v, [1, 3, 1]), v);
for (const [name, scatter] of Object.entries({
  update: tf.scatterNdUpdate,
  add: tf.scatterNdAdd,
  sub: tf.scatterNdSub,
}))
  cases[`scatterNd ${name}`] = (v) => [scatter(v, [[1], [3]], rows)];
cases['scatterNd max'] = (v) => [v.scatterNdMax([[1], [3]], rows)];
cases['scatterNd min'] = (v) => [v.scatterNdMin([[1], [3]], rows)];
for (const [name, scatter] of Object.entries({
  add: tf.scatterAdd,
  sub: tf.scatterSub,
  mul: tf.scatterMul,
  div: tf.scatterDiv,
  min: tf.scatterMin,
  max: tf.scatterMax,
  update: tf.scatterUpdate,
}))
  cases[`scatter ${name}`] = (v) => [scatter(v, [1, 3], rows)];

function text(op: tf.Operation): string {
  const inputs = op.inputs.map((t) => (t.index === 0 ? t.op.name : t.name));
  return [op.name, op.type, ...inputs, ...op.controlInputs.map((c) => `^${c.name}`).sort()].join(' ');
}

function parts(value: unknown): number[][] {
  if (value instanceof tf.NDArray) return [value.numbers()];
  const { values, indices, denseShape } = value as Record<'values' | 'indices' | 'denseShape', tf.NDArray>; // slices
  return [values, indices, denseShape].map((array) => array.numbers());
}

it('every golden case is tried', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden).sort()));

for (const [name, build] of Object.entries(cases))
  it(name, async () => {
    const graph = new tf.Graph();
    const [v, fetches] = graph.asDefault(() => {
      const numbers = Float64Array.from({ length: 12 }, (_, i) => i);
      const variable = new tf.Variable(new tf.NDArray(tf.float64, [4, 3], numbers), { name: 'v' });
      return [variable, build(variable)];
    });
    expect(graph.operations.map(text)).toEqual(golden[name]!.nodes);
    const session = new tf.Session({ graph });
    await session.run(v.initializer);
    const values: number[][][] = [];
    for (const fetch of fetches) values.push(parts(await session.run([fetch]).then(([value]) => value)));
    expect(values).toEqual(golden[name]!.values);
  });
