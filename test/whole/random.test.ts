/** @file Seeded random functions: bit for bit TensorFlow's over several runs, and the same again in a new session. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

const golden = JSON.parse(readFileSync(new URL('../golden/randomRuns.json', import.meta.url), 'utf8')) as Record<
  string,
  string[][]
>;

/** The bits of floats as hexadecimal digits, integers as text: what the golden file holds. */
function bits(array: tf.NDArray): string[] {
  if (array.dtype.isInteger) return array.numbers().map(String);
  const { bytes } = array;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: array.size }, (_, i) => {
    const at = i * array.dtype.size;
    if (array.dtype.size === 8) return view.getBigUint64(at, true).toString(16);
    return (array.dtype.size === 4 ? view.getUint32(at, true) : view.getUint16(at, true)).toString(16);
  });
}

const programs: Record<string, () => tf.Tensor> = {
  uniform: () => tf.randomUniform([3, 3], { minval: -1, maxval: 3, seed: 5 }),
  uniform64: () => tf.randomUniform([3], { seed: 5, dtype: tf.float64 }),
  integers: () => tf.randomUniform([5], { minval: 0, maxval: 1000, dtype: tf.int32, seed: 6 }),
  integers64: () => tf.randomUniform([3], { minval: -7, maxval: 10 ** 10, dtype: tf.int64, seed: 6 }),
  normal: () => tf.randomNormal([5], { mean: 1.5, stddev: 0.5, seed: 7 }),
  normal16: () => tf.randomNormal([5], { seed: 7, dtype: tf.float16 }),
  truncated: () => tf.truncatedNormal([7], { stddev: 0.1, seed: 8 }),
  shuffle: () => tf.randomShuffle(tf.range(10), { seed: 9 }),
  shuffleRows: () => tf.randomShuffle(tf.reshape(tf.range(12), [6, 2]), { seed: 9 }),
  multinomial: () =>
    tf.multinomial(
      tf.constant(
        [
          [0, 1, 2],
          [3, 0, 0],
        ],
        { dtype: tf.float32 },
      ),
      5,
      { seed: 10 },
    ),
  gamma: () => tf.randomGamma([2], [0.5, 1, 3], { seed: 11 }),
  dropout: () => tf.nn.dropout(tf.ones([10]), { rate: 0.4, seed: 12 }),
  graphSeed: () => tf.randomUniform([3]),
  graphSeedAgain: () => tf.randomUniform([3]),
};

function build(): Record<string, tf.Tensor> {
  const tensors: Record<string, tf.Tensor> = {};
  for (const [name, make] of Object.entries(programs)) {
    if (name === 'graphSeed') tf.setRandomSeed(1234);
    tensors[name] = make();
  }
  return tensors;
}

describe('three runs of one session', () => {
  const graph = new tf.Graph();
  const tensors = graph.asDefault(build);
  const session = new tf.Session({ graph });
  for (const name of Object.keys(programs))
    it(name, async () => {
      for (const expected of golden[name]!) expect(bits(await session.run(tensors[name]!))).toEqual(expected);
    });

  it('two calls of one function have a generator each', async () => {
    const graph = new tf.Graph();
    const both = graph.asDefault(() => {
      tf.setRandomSeed(3);
      const draw = tf.function(() => tf.randomUniform([], { seed: 5 }));
      return [draw(), draw()] as const;
    });
    const session = new tf.Session({ graph });
    const [first, again] = [await session.run(both), await session.run(both)];
    expect(Number(first[0])).toBe(Number(first[1]));
    expect(Number(again[0])).toBe(Number(again[1]));
    expect(Number(again[0])).not.toBe(Number(first[0]));
  });

  it('a new session begins again', async () => {
    const again = new tf.Session({ graph });
    for (const name of Object.keys(programs))
      expect(bits(await again.run(tensors[name]!)), name).toEqual(golden[name]![0]);
  });
});

describe('without seeds', () => {
  it('numbers differ between runs, nodes and sessions', async () => {
    const graph = new tf.Graph();
    const [a, b] = graph.asDefault(() => [tf.randomUniform([4]), tf.randomUniform([4])]);
    const first = new tf.Session({ graph });
    const second = new tf.Session({ graph });
    const drawn = [await first.run(a!), await first.run(a!), await first.run(b!), await second.run(a!)];
    expect(new Set(drawn.map((x) => bits(x).join())).size).toBe(4);
  });
});

describe('stateless numbers', () => {
  const constant = (name: string, type: string, dims: string, values: string) =>
    `node { name: "${name}" op: "Const" attr { key: "dtype" value { type: ${type} } }
       attr { key: "value" value { tensor { dtype: ${type} tensor_shape { ${dims} } ${values} } } } }`;
  const draw = (inputs: string) =>
    `name: "draw" op: "StatelessRandomUniformV2" ${inputs}
       attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "Tshape" value { type: DT_INT32 } }`;
  const given = [
    constant('shape', 'DT_INT32', 'dim { size: 1 }', 'int_val: 2'),
    constant('key', 'DT_UINT64', 'dim { size: 1 }', 'uint64_val: 10413732777507651514'),
    constant('counter', 'DT_UINT64', 'dim { size: 2 }', 'uint64_val: 0 uint64_val: 17830669156045600267'),
    constant('alg', 'DT_INT32', '', 'int_val: 1'),
  ].join('\n');
  const ports = ['shape', 'key', 'counter', 'alg'];
  const inputs = ports.map((port) => `input: "${port}"`).join(' ');
  const call = `
    node { name: "call" op: "PartitionedCall" ${inputs} attr { key: "f" value { func { name: "drawing" } } }
      attr { key: "Tin" value { list { type: [DT_INT32, DT_UINT64, DT_UINT64, DT_INT32] } } }
      attr { key: "Tout" value { list { type: DT_FLOAT } } } }
    library { function {
      signature { name: "drawing" output_arg { name: "y" type: DT_FLOAT }
        input_arg { name: "shape" type: DT_INT32 } input_arg { name: "key" type: DT_UINT64 }
        input_arg { name: "counter" type: DT_UINT64 } input_arg { name: "alg" type: DT_INT32 } }
      node_def { ${draw(inputs)} } ret { key: "y" value: "draw:output:0" } } }`;

  it.each([
    ['of constants', `${given} node { ${draw(inputs)} }`, 'draw:0'],
    ['in a function', `${given} ${call}`, 'call:0'],
  ])('%s are the same in every run', async (_, text, fetch) => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(tf.GraphDef.parseText(text), { name: '' }));
    const session = new tf.Session({ graph });
    const fed = new Map([[graph.getTensorByName('counter:0'), [0n, 17830669156045600267n]]]);
    for (const feeds of [undefined, fed, undefined])
      expect((await session.run(graph.getTensorByName(fetch), feeds)).numbers()).toEqual([
        0.8440604209899902, 0.19204533100128174,
      ]);
  });
});
