import { inspect } from 'node:util';
import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it, vi } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

describe('what users of TensorFlow try first', () => {
  it('a dtype as the second argument', async () => {
    const values = [tf.constant([3, 4], tf.float32), tf.zeros([2], tf.int64), tf.ones([1], tf.float64)];
    expect(values.map(String)).toEqual([
      "Tensor 'Const:0' shape=(2,) dtype=float32",
      "Tensor 'zeros:0' shape=(2,) dtype=int64",
      "Tensor 'ones:0' shape=(1,) dtype=float64",
    ]);
  });

  it('whole numbers where floats are wanted', () => {
    expect(() => tf.sqrt(tf.constant([3, 4]))).toThrow(
      /Whole numbers make int32; .* tf\.constant\(\[3, 4\], tf\.float32\)/,
    );
  });

  it('a variable evaluated in a given session', async () => {
    const v = new tf.Variable([1.5]);
    const sess = new tf.Session();
    await sess.run(v.initializer);
    expect((await v.eval(sess)).toArray()).toEqual([1.5]);
    expect((await v.eval([], sess)).toArray()).toEqual([1.5]);
    await sess.asDefault(async () => expect((await v.eval()).toArray()).toEqual([1.5]));
  });

  it('complex literals', async () => {
    const z = tf.constant({ re: 1, im: -2 } as never);
    expect(z.dtype).toBe(tf.complex128);
    expect((await new tf.Session().run(z)).item()).toEqual({ re: 1, im: -2 });
  });
});

describe('more of what users of TensorFlow try first', () => {
  it('a function called for what it does', async () => {
    let calls = 0;
    const op = tf.jsFunc(() => void calls++, [tf.constant(1)], []);
    const sess = new tf.Session();
    await sess.run(op);
    await sess.run(op);
    expect(calls).toBe(2);
  });

  it('dropout with the probability of keeping', async () => {
    tf.setRandomSeed(1);
    const x = tf.ones([1000]);
    const keepProb = tf.placeholder(tf.float32, []);
    const sess = new tf.Session();
    const kept = async (y: tf.Tensor) =>
      (await sess.run(y, [[keepProb, 0.25]])).numbers().filter((v) => v === 4).length;
    for (const y of [tf.nn.dropout(x, 0.25), tf.nn.dropout(x, keepProb), tf.nn.dropout(x, { keepProb: 0.25 })]) {
      expect(await kept(y)).toBeGreaterThan(150);
      expect(await kept(y)).toBeLessThan(350);
    }
  });

  it('methods of graphs, operations, tensors and variables', async () => {
    const graph = new tf.Graph();
    const a = graph.nameScope('scope', () => tf.constant([1.5], { name: 'a' }));
    const b = graph.controlDependencies([a], () => graph.device('/cpu:0', () => tf.constant(2, { name: 'b' })));
    const c = graph.colocateWith(a, () => graph.controlDependencies(['b:0'], () => tf.constant(3)));
    expect([a.name, b.device, b.op.controlInputs, c.op.controlInputs, c.op.colocationGroups]).toEqual([
      'scope/a:0',
      '/device:CPU:0',
      [a.op],
      [b.op],
      ['loc:@scope/a'],
    ]);
    expect(() => graph.controlDependencies(['nowhere'], () => tf.noOp())).toThrow(/'nowhere'.*not in the graph/);
    expect(a.op.getAttr('dtype')).toBe(tf.float32);
    expect(String(a.op.getAttr('value'))).toBe('[1.5]');
    expect(c.op.getAttr('_class')).toEqual(['loc:@scope/a']);
    expect(() => a.op.getAttr('shape')).toThrow(/'scope\/a' has no attr named 'shape'. It has: dtype, value/);
    expect([a.op.values(), a.valueIndex, String(graph)]).toEqual([[a], 0, '<tf.Graph of 3 operations>']);
    expect(inspect(a.dtype)).toBe('tf.float32');
    const v = new tf.Variable([1.5]);
    const sess = new tf.Session();
    const given = v.isInitialized();
    expect((await sess.run(given)).item()).toBe(false);
    await sess.run(v.initializer);
    expect((await sess.run(given)).item()).toBe(true);
  });
});

describe('arguments that Python takes in their place and by name', () => {
  const x = () => tf.constant([[1.5, 2, 3]]);
  const nodes = (body: () => unknown) => {
    const graph = new tf.Graph();
    const result = graph.asDefault(body);
    return [String(result), graph.asGraphDef()];
  };
  const forms: Record<string, readonly [inPlace: () => unknown, byName: () => unknown]> = {
    placeholder: [
      () => tf.placeholder(tf.float32, [null, 2], { name: 'x' }),
      () => tf.placeholder(tf.float32, { shape: [null, 2], name: 'x' }),
    ],
    placeholderOfAnyShape: [
      () => tf.placeholder(tf.float32, null, { name: 'x' }),
      () => tf.placeholder(tf.float32, { name: 'x' }),
    ],
    sparsePlaceholder: [
      () => tf.sparse.placeholder(tf.float32, [2, 3], { name: 'x' }).values,
      () => tf.sparse.placeholder(tf.float32, { shape: [2, 3], name: 'x' }).values,
    ],
    getVariable: [
      () => tf.getVariable('v', [2, 3], { dtype: tf.float64 }),
      () => tf.getVariable('v', { shape: [2, 3], dtype: tf.float64 }),
    ],
    getVariableOfType: [
      () => tf.getVariable('v', [2], { dtype: tf.float64, initializer: tf.zerosInitializer() }),
      () => tf.getVariable('v', [2], tf.float64, { initializer: tf.zerosInitializer() }),
    ],
    getLocalVariable: [() => tf.getLocalVariable('v', [2, 3]), () => tf.getLocalVariable('v', { shape: [2, 3] })],
    transpose: [() => tf.transpose(x(), [1, 0]), () => tf.transpose(x(), { perm: [1, 0] })],
    transposeMethod: [() => x().transpose([1, 0]), () => x().transpose({ perm: [1, 0] })],
    expandDims: [() => tf.expandDims(x(), -1), () => tf.expandDims(x(), { axis: -1 })],
    expandDimsMethod: [() => x().expandDims(1), () => x().expandDims({ axis: 1 })],
    cumsum: [() => tf.cumsum(x(), 1, { reverse: true }), () => tf.cumsum(x(), { axis: 1, reverse: true })],
    cumprodMethod: [() => x().cumprod(1), () => x().cumprod({ axis: 1 })],
    stridedSlice: [
      () => tf.stridedSlice(x(), [0, 0], [1, 3], [1, 2], { endMask: 1 }),
      () => tf.stridedSlice(x(), [0, 0], [1, 3], { strides: [1, 2], endMask: 1 }),
    ],
    slice: [() => x().slice([0]), () => x().slice(0)],
    reduceJoin: [() => tf.reduceJoin([['a', 'b']], 1), () => tf.reduceJoin([['a', 'b']], { axis: 1 })],
    l2Normalize: [() => tf.nn.l2Normalize(x(), 1), () => tf.nn.l2Normalize(x(), { axis: 1 })],
    sparseReduceSum: [
      () => tf.sparse.reduceSum(new tf.SparseTensor([[0, 1]], [2.5], [2, 2]), 1, { keepdims: true }),
      () => tf.sparse.reduceSum(new tf.SparseTensor([[0, 1]], [2.5], [2, 2]), { axis: 1, keepdims: true }),
    ],
    meshgrid: [
      () => tf.meshgrid([[1, 2], [3]], { indexing: 'ij' }),
      () => tf.meshgrid([1, 2], [3], { indexing: 'ij' }),
    ],
    dropoutLayer: [
      () => new tf.layers.Dropout(0.4, { seed: 1 }).apply(x(), { training: true }),
      () => new tf.layers.Dropout({ rate: 0.4, seed: 1 }).apply(x(), { training: true }),
    ],
    repeat: [
      () => tf.data.Dataset.range(3).repeat(2).cache('file').variant,
      () => tf.data.Dataset.range(3).repeat({ count: 2 }).cache({ filename: 'file' }).variant,
    ],
    adam: [
      () => new tf.train.AdamOptimizer(0.1, { beta1: 0.8 }).minimize(tf.getVariable('v', [2]).square()),
      () => new tf.train.AdamOptimizer({ learningRate: 0.1, beta1: 0.8 }).minimize(tf.getVariable('v', [2]).square()),
    ],
    adadelta: [
      () => new tf.train.AdadeltaOptimizer(0.1).minimize(tf.getVariable('v', [2]).square()),
      () => new tf.train.AdadeltaOptimizer({ learningRate: 0.1 }).minimize(tf.getVariable('v', [2]).square()),
    ],
  };
  const image = () => tf.zeros([1, 6, 6, 2]);
  const taps = () => tf.ones([3, 3, 2, 2]);
  const ones = [1, 1, 1, 1];
  const two = [1, 2, 2, 1];
  const queued = { capacity: 9, minAfterDequeue: 3 };
  // Required arguments that Python's users name all the same.
  const required: typeof forms = {
    conv2d: [
      () => tf.nn.conv2d(image(), taps(), two, 'SAME', { name: 'c' }),
      () => tf.nn.conv2d(image(), taps(), { strides: two, padding: 'SAME', name: 'c' }),
    ],
    conv1d: [
      () => tf.nn.conv1d(tf.ones([1, 5, 2]), tf.ones([3, 2, 1]), 2, 'SAME'),
      () => tf.nn.conv1d(tf.ones([1, 5, 2]), tf.ones([3, 2, 1]), { stride: 2, padding: 'SAME' }),
    ],
    conv3d: [
      () => tf.nn.conv3d(tf.ones([1, 4, 4, 4, 2]), tf.ones([2, 2, 2, 2, 1]), [1, 1, 1, 1, 1], 'SAME'),
      () =>
        tf.nn.conv3d(tf.ones([1, 4, 4, 4, 2]), tf.ones([2, 2, 2, 2, 1]), { strides: [1, 1, 1, 1, 1], padding: 'SAME' }),
    ],
    conv2dTranspose: [
      () => tf.nn.conv2dTranspose(image(), taps(), [1, 12, 12, 2], two),
      () => tf.nn.conv2dTranspose(image(), taps(), [1, 12, 12, 2], { strides: two }),
    ],
    depthwise: [
      () => tf.nn.depthwiseConv2d(image(), taps(), ones, 'VALID', { rate: [2, 2] }),
      () => tf.nn.depthwiseConv2d(image(), taps(), { strides: ones, padding: 'VALID', rate: [2, 2] }),
    ],
    separable: [
      () => tf.nn.separableConv2d(image(), taps(), tf.ones([1, 1, 4, 3]), ones, 'SAME'),
      () => tf.nn.separableConv2d(image(), taps(), tf.ones([1, 1, 4, 3]), { strides: ones, padding: 'SAME' }),
    ],
    atrous: [
      () => tf.nn.atrousConv2d(image(), taps(), 2, 'SAME'),
      () => tf.nn.atrousConv2d(image(), taps(), { rate: 2, padding: 'SAME' }),
    ],
    maxPool: [
      () => tf.nn.maxPool(image(), two, two, 'SAME', { name: 'p' }),
      () => tf.nn.maxPool(image(), { ksize: two, strides: two, padding: 'SAME', name: 'p' }),
    ],
    avgPool: [
      () => tf.nn.avgPool(image(), two, two, 'VALID'),
      () => tf.nn.avgPool(image(), two, { strides: two, padding: 'VALID' }),
    ],
    denseLayer: [
      () => tf.layers.dense(tf.zeros([2, 3]), 4, { name: 'd' }),
      () => tf.layers.dense(tf.zeros([2, 3]), { units: 4, name: 'd' }),
    ],
    convLayer: [
      () => tf.layers.conv2d(image(), 8, [5, 5], { padding: 'same' }),
      () => tf.layers.conv2d(image(), { filters: 8, kernelSize: [5, 5], padding: 'same' }),
    ],
    transposeLayer: [
      () => tf.layers.conv2dTranspose(image(), 8, 3, { strides: 2 }),
      () => tf.layers.conv2dTranspose(image(), { filters: 8, kernelSize: 3, strides: 2 }),
    ],
    poolLayer: [
      () => tf.layers.maxPooling2d(image(), [2, 2], 2),
      () => tf.layers.maxPooling2d(image(), { poolSize: [2, 2], strides: 2 }),
    ],
    batch: [
      () => tf.train.batch([tf.constant(1), tf.constant('a')], 4, { capacity: 8 }),
      () => tf.train.batch([tf.constant(1), tf.constant('a')], { batchSize: 4, capacity: 8 }),
    ],
    shuffleBatch: [
      () => tf.train.shuffleBatch([tf.constant(1)], 4, 9, 3, { seed: 1 }),
      () => tf.train.shuffleBatch([tf.constant(1)], { batchSize: 4, ...queued, seed: 1 }),
    ],
    nceLoss: [
      () => tf.nn.nceLoss(tf.ones([9, 2]), tf.ones([9]), [[1]], tf.ones([1, 2]), 3, 9, { numTrue: 1 }),
      () =>
        tf.nn.nceLoss({
          weights: tf.ones([9, 2]),
          biases: tf.ones([9]),
          labels: [[1]],
          inputs: tf.ones([1, 2]),
          numSampled: 3,
          numClasses: 9,
          numTrue: 1,
        }),
    ],
    sparseTensor: [
      () => new tf.SparseTensor([[0, 1]], [2.5], [2, 2]).values,
      () => new tf.SparseTensor({ indices: [[0, 1]], values: [2.5], denseShape: [2, 2] }).values,
    ],
    paddedBatch: [
      () => tf.data.Dataset.fromTensors([1, 2]).paddedBatch(2, [null], { dropRemainder: true }).variant,
      () => tf.data.Dataset.fromTensors([1, 2]).paddedBatch(2, { paddedShapes: [null], dropRemainder: true }).variant,
    ],
    paddedRecords: [
      () => tf.data.Dataset.fromTensors({ a: [1, 2] }).paddedBatch(2, { a: [3] }).variant,
      () => tf.data.Dataset.fromTensors({ a: [1, 2] }).paddedBatch(2, { paddedShapes: { a: [3] } }).variant,
    ],
  };
  it.each(Object.entries(required))('%s, required', (_, [inPlace, byName]) =>
    expect(nodes(byName)).toEqual(nodes(inPlace)),
  );

  it.each(Object.entries(forms))('%s', (_, [inPlace, byName]) => expect(nodes(byName)).toEqual(nodes(inPlace)));

  it('the variables to differentiate for, and the scope of a collection', () => {
    const [a, b] = ['a', 'b'].map((scope) => tf.variableScope(scope, () => tf.getVariable('v', [])));
    const opt = new tf.train.GradientDescentOptimizer(0.1);
    const pairs = opt.computeGradients(tf.mul(a!, b!), { varList: [b!], gateGradients: tf.train.Optimizer.GATE_NONE });
    expect(pairs.map(([, v]) => v)).toEqual([b]);
    const key = tf.GraphKeys.TRAINABLE_VARIABLES;
    expect(tf.getCollection(key, { scope: 'a/' })).toEqual([a]);
    expect(tf.trainableVariables({ scope: 'b' })).toEqual([b]);
    expect(tf.getDefaultGraph().getCollection(key, { scope: 'b' })).toEqual([b]);
    expect(() => tf.globalVariables({ scop: 'b' } as never)).toThrow(/no option 'scop'/);
  });

  it('the variables of minimize, which are handed on in their place, as in Python', () => {
    const given: unknown[] = [];
    class Watched extends tf.train.GradientDescentOptimizer {
      override computeGradients(...args: Parameters<tf.train.Optimizer['computeGradients']>) {
        given.push(...args.slice(1));
        return super.computeGradients(...args);
      }
    }
    const v = tf.getVariable('v', []);
    const gateGradients = tf.train.Optimizer.GATE_NONE;
    new Watched(0.1).minimize(tf.square(v), { varList: [v], gateGradients, name: 'step' });
    expect(given).toEqual([[v], { gateGradients }]);
  });

  it('are refused twice, and options that are none', () => {
    expect(() => tf.transpose(x(), [1, 0], { perm: [0, 1] })).toThrow(/The perm was given twice/);
    expect(() => tf.cumsum(x(), 0, true as never)).toThrow(/tf\.cumsum takes its options as an object.*got true/);
    expect(() => tf.placeholder(tf.float32, [2], 'x' as never)).toThrow(/takes its options as an object.*got "x"/);
    expect(() => tf.transpose(x(), [1, 0], null as never)).toThrow(
      /tf\.transpose takes its options as an object.*got null/,
    );
    expect(() => tf.layers.dense(x(), 10, { units: 4 } as never)).toThrow(/units was given twice/);
    expect(() => tf.transpose(x(), { perm: [1, 0] }, { name: 'y' })).toThrow(/Two records of options were given/);
    expect(() => tf.layers.dense(x(), 10, x() as never)).toThrow(/takes units in their places.*but got Tensor '/);
  });

  it('may have an undefined behind them, as what a function hands on', () => {
    const filter = tf.ones([1, 1, 1, 1]);
    const image = tf.ones([1, 2, 2, 1]);
    expect(tf.layers.dense(x(), 10, undefined).shape).toEqual([1, 10]);
    expect(tf.nn.conv2d(image, filter, 1, 'SAME', undefined).shape).toEqual([1, 2, 2, 1]);
    expect(tf.nn.maxPool(image, 2, 2, 'SAME', undefined).shape).toEqual([1, 1, 1, 1]);
  });
});

describe('functions of one tensor, and of two, are methods', () => {
  const x = () => tf.constant([2.5, 1]);
  const [one, two] = [
    ['negative', 'digamma', 'lgamma', 'rint', 'reduceStd', 'reduceVariance', 'reduceEuclideanNorm', 'countNonzero'],
    [
      'subtract',
      'multiply',
      'divide',
      'truediv',
      'realdiv',
      'floormod',
      'truncatemod',
      'divNoNan',
      'xlogy',
      'xdivy',
    ].concat(['atan2', 'igamma', 'igammac', 'zeta', 'polygamma']),
  ] as const;
  // All of these names are functions of tf or tf.math.
  const all = { ...tf.math, ...tf } as unknown as Record<string, (...args: tf.Tensor[]) => tf.Tensor>;
  const nodes = (body: () => tf.Tensor) => {
    const graph = new tf.Graph();
    return [graph.asDefault(body).name, graph.asGraphDef()];
  };
  const method = (t: tf.Tensor, name: string) => (t as unknown as typeof all)[name]!.bind(t);
  it.each(one)('%s', (name) => expect(nodes(() => method(x(), name)())).toEqual(nodes(() => all[name]!(x()))));
  it.each(two)('%s', (name) => expect(nodes(() => method(x(), name)(x()))).toEqual(nodes(() => all[name]!(x(), x()))));
});

describe('results with names', () => {
  it('come in order, too, and so do their values', async () => {
    const x = tf.constant([1.5, 3.5, 2.5]);
    const [values, indices] = tf.nn.topK(x, 2);
    const [y, idx, count] = tf.uniqueWithCounts([3, 1, 3]);
    const [left] = tf.setdiff1d([1, 2, 3], [2]);
    const sess = new tf.Session();
    const got = await sess.run([values!, indices!, y!, idx!, count!, left!]);
    expect(got.map((r) => r.toArray())).toEqual([
      [3.5, 2.5],
      [1, 2],
      [3, 1],
      [0, 1, 0],
      [2, 1],
      [1, 3],
    ]);
    const [top, at] = await sess.run(tf.nn.topK(x, 1));
    expect([top!.toArray(), at!.toArray()]).toEqual([[3.5], [1]]);
    const { s, u } = await sess.run(tf.svd([[2.5, 0], [0, 3.5]])); // biome-ignore format: a matrix
    expect([s.toArray(), u.shape]).toEqual([
      [3.5, 2.5],
      [2, 2],
    ]);
    const [q, r] = tf.qr(tf.ones([3, 2]));
    const [sign, log] = tf.linalg.slogdet([[2.5, 0], [0, 2]]); // biome-ignore format: a matrix
    const [e, v] = tf.selfAdjointEig([[2.5, 0], [0, 2]]); // biome-ignore format: a matrix
    expect([q, r, sign, log, e, v].map((t) => t!.shape)).toEqual([[3, 2], [2, 2], [], [], [2], [2, 2]]);
  });

  it('states of an LSTM are taken apart after a loop', async () => {
    const cell = new tf.nn.rnnCell.LSTMCell(2);
    const [, state] = tf.nn.dynamicRnn(cell, tf.ones([1, 3, 4]), { dtype: tf.float32 });
    const [c, h] = state as typeof state & Iterable<tf.Tensor>;
    expect([c, h]).toEqual([state.c, state.h]);
    const [first] = tf.nn.rnnCell.LSTMStateTuple(c!, h!);
    expect(first).toBe(c);
  });
});

describe('bytes and rows of numbers', () => {
  it('are numbers where numbers are asked for', async () => {
    const sess = new tf.Session();
    const x = tf.placeholder(tf.float32, [null, 2]);
    const fed = async (value: tf.FeedValue) => (await sess.run(x, [[x, value]])).toArray();
    const rows = [[1, 255], [3, 4]]; // biome-ignore format: a matrix
    expect(await fed(new Uint8Array([1, 255, 3, 4]))).toEqual(rows);
    expect(await fed([new Uint8Array([1, 255]), Buffer.from([3, 4])])).toEqual(rows);
    expect(await fed([new Float32Array([1, 255]), new Float32Array([3, 4])])).toEqual(rows);
    const [a, b] = await sess.run([tf.constant([1, 255], tf.float32), tf.constant([3, 4], tf.float64)]);
    expect(await fed([a, b])).toEqual(rows);
    expect(await fed([[1, 255], b])).toEqual(rows);
    expect(await fed([[1, 255], new Uint8Array([3, 4])])).toEqual(rows);
    await expect(fed([new Float32Array([1, 255]), [3]])).rejects.toThrow(/Cannot feed/);
    const pixels = tf.constant(new Uint8Array([1, 255]), tf.uint8);
    expect([pixels.dtype, pixels.shape, (await sess.run(pixels)).toArray()]).toEqual([tf.uint8, [2], [1, 255]]);
    expect((await sess.run(tf.constant(new Float64Array([1.5])))).dtype).toBe(tf.float64);
  });

  it('are text otherwise', async () => {
    const sess = new tf.Session();
    const s = tf.placeholder(tf.string, [null]);
    expect((await sess.run(tf.constant(Buffer.from('ab')))).item()).toBe('ab');
    expect((await sess.run(s, [[s, [Buffer.from('ab'), 'c']]])).toArray()).toEqual(['ab', 'c']);
  });
});

describe('linspace', () => {
  it('takes whole numbers for float32, and makes float64 of integer tensors', async () => {
    const sess = new tf.Session();
    const a = await sess.run(tf.linspace(-1, 1, 5));
    expect([a.dtype, a.toArray()]).toEqual([tf.float32, [-1, -0.5, 0, 0.5, 1]]);
    const b = await sess.run(tf.linspace(tf.constant(0), 10, 5));
    expect([b.dtype, b.toArray()]).toEqual([tf.float64, [0, 2.5, 5, 7.5, 10]]);
  });
});

describe('mistakes that JavaScript would turn into NaN', () => {
  const missing = undefined as never;
  it('are refused where a tensor is made', () => {
    expect(() => tf.constant(missing)).toThrow(/expected float32, but got undefined/);
    expect(() => tf.mul(tf.constant(1.5), missing)).toThrow(/y is undefined, but must be a tensor/);
    expect(() => tf.constant([1, null] as never)).toThrow(/but got null/);
    expect(() => tf.add(1.5, tf.noOp() as never)).toThrow(/but got <tf.Operation 'NoOp'/);
  });
  it('are refused where a value is fed or returned', async () => {
    const x = tf.placeholder(tf.float32);
    const sess = new tf.Session();
    await expect(sess.run(x.add(1), [[x, missing]])).rejects.toThrow(/Cannot feed 'Placeholder:0'.*got undefined/);
    await expect(sess.run(tf.jsFunc(() => missing, [], tf.float32))).rejects.toThrow(/got undefined.*PyFunc/s);
  });
});

it('A variable made deep in a layer knows the line that asked for it', () => {
  const layer = () => tf.variableScope('a', () => tf.layers.dense(tf.zeros([1, 2]), 3, { name: 'd' }));
  layer();
  expect(layer).toThrow(/a\/d\/kernel already exists.*Originally defined at: .*firstTries\.test\.ts:\d+/s);
});

describe('sessions', () => {
  const onGpu = () => tf.device('/gpu:0', () => tf.matmul(tf.ones([2, 2]), tf.ones([2, 2])));

  it('refuse a device that is not there, unless placement is soft', async () => {
    const c = onGpu();
    await expect(new tf.Session().run(c)).rejects.toThrow(
      /operation ones: Could not satisfy .*'\/device:GPU:0'.*\/device:CPU:0.*firstTries\.test\.ts:\d+/s,
    );
    const soft = new tf.Session({ config: { allowSoftPlacement: true } });
    expect((await soft.run(c)).toArray()).toEqual([
      [2, 2],
      [2, 2],
    ]);
  });

  it('refuse a target they cannot reach', () => {
    expect(() => new tf.Session({ target: 'grpc://localhost:2222' })).toThrow(
      /cannot run on 'grpc:\/\/localhost:2222' yet/,
    );
  });

  it('give their graph, and callables by feed list', async () => {
    const x = tf.placeholder(tf.float32, [], { name: 'x' });
    const sess = new tf.Session();
    expect(sess.graphDef.node.map((n) => n.name)).toEqual(['x']);
    const triple = sess.makeCallable(x.mul(3), { feedList: [x] });
    expect(Number(await triple(2))).toBe(6);
    expect(Number(await sess.makeCallable(tf.constant(7), {})())).toBe(7);
  });

  it('are the default with their graph until the end of a block', () => {
    const graph = new tf.Graph();
    const sess = new tf.Session({ graph });
    const outside = tf.getDefaultGraph();
    {
      using _ = sess.asDefault();
      expect([tf.getDefaultGraph(), tf.getDefaultSession()]).toEqual([graph, sess]);
    }
    expect([tf.getDefaultGraph(), tf.getDefaultSession()]).toEqual([outside, undefined]);
  });

  it('when closed leave another interactive session in place', () => {
    const interactive = new tf.InteractiveSession();
    const other = new tf.Session();
    other.asDefault(() => other.close());
    expect(tf.getDefaultSession()).toBe(interactive);
    interactive.close();
    expect(tf.getDefaultSession()).toBeUndefined();
  });
});

it('Without the native library it runs slowly, and says why and what to do', async () => {
  vi.resetModules();
  vi.stubEnv('TENSORLOOM_LIBRARY', '/nowhere/libtensorloom.so');
  vi.stubEnv('TENSORLOOM_DEVICE', undefined);
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  try {
    const slow = await import('../../src/api/index.ts');
    const sess = new slow.Session();
    expect(Number(await sess.run(slow.constant(2).mul(3)))).toBe(6);
    expect(sess.listDevices()[0]!.physicalDeviceDesc).toMatch(/^reference/);
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringMatching(/slow reference device. \/nowhere\/.* not been built.*node .*tools\/buildNative\.mjs/),
    ]);
  } finally {
    warn.mockRestore();
    vi.unstubAllEnvs();
  }
});
