import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDevice } from '../../src/runtime/devices.ts';

beforeEach(() => tf.resetDefaultGraph());
afterEach(() => vi.restoreAllMocks());

/** What a program in plain JavaScript may pass: nothing checks it but the library. */
const misspelt = (options: object) => options as never;
const here = /options\.test\.ts:\d+:\d+/;

describe('devices of a session', () => {
  it('are as many CPUs as deviceCount says', async () => {
    const sess = new tf.Session({ config: { deviceCount: { CPU: 3 } } });
    expect(sess.listDevices().map(({ name, deviceType }) => [name, deviceType])).toEqual([
      ['/job:localhost/replica:0/task:0/device:CPU:0', 'CPU'],
      ['/job:localhost/replica:0/task:0/device:CPU:1', 'CPU'],
      ['/job:localhost/replica:0/task:0/device:CPU:2', 'CPU'],
    ]);
    const y = tf.device('/cpu:2', () => tf.constant([1, 2]).add(1));
    expect((await sess.run(y)).toArray()).toEqual([2, 3]);
    await expect(new tf.Session().run(y)).rejects.toThrow(/'\/device:CPU:2'.*available devices are \[ [^,]*CPU:0 \]/s);
  });

  it('show in the log and in the statistics', async () => {
    const x = tf.placeholder(tf.float32, [2], { name: 'x' });
    const y = tf.device('/cpu:1', () => tf.exp(x, { name: 'y' }));
    const z = tf.reduceSum(y, 0, { name: 'z' });
    const config = { deviceCount: { CPU: 2 }, logDevicePlacement: true };
    const lines: string[] = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
    const runMetadata = new tf.RunMetadata();
    const options = { traceLevel: tf.RunOptions.FULL_TRACE };
    await new tf.Session({ config }).run([y, z], [[x, [0, 0]]], { options, runMetadata });
    expect(lines).toContain('y: (Exp): /job:localhost/replica:0/task:0/device:CPU:1\n');
    expect(lines).toContain('z: (Sum): /job:localhost/replica:0/task:0/device:CPU:0\n');
    const times = runMetadata.stepStats.devStats.map((d) => [d.device.slice(-5), d.nodeStats.map((n) => n.nodeName)]);
    expect(Object.fromEntries(times)).toMatchObject({ 'CPU:1': ['y'], 'CPU:0': ['z'] });
  });

  it('of a server are those of its config', async () => {
    const server = await tf.train.Server.createLocalServer({ config: { deviceCount: { CPU: 2 } }, start: false });
    expect(server.listDevices().map((d) => d.name)).toEqual([
      '/job:local/replica:0/task:0/device:CPU:0',
      '/job:local/replica:0/task:0/device:CPU:1',
    ]);
  });

  it('are looked for when a run in pieces is set up', () => {
    const y = tf.device('/gpu:0', () => tf.constant(1, { name: 'there' }));
    expect(() => new tf.Session().partialRunSetup([y])).toThrow(
      /operation there: Could not satisfy explicit device specification.*options\.test\.ts/s,
    );
    expect(() => new tf.Session({ config: { allowSoftPlacement: true } }).partialRunSetup([y])).not.toThrow();
  });
});

describe('options that do not exist', () => {
  const refuse = (what: () => unknown, message: RegExp) => {
    let caught: unknown;
    try {
      what();
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(tf.errors.InvalidArgumentError);
    expect(String(caught)).toMatch(message);
    expect(String(caught)).toMatch(here);
    expect((caught as tf.errors.OpError).createdAt).toMatch(here);
  };

  it('of sessions are refused with the name that was meant', () => {
    refuse(() => new tf.Session(misspelt({ grpah: tf.getDefaultGraph() })), /no option 'grpah'. Did you mean 'graph'/);
    const configs: [object, RegExp][] = [
      [{ allowSoftPlacment: true }, /no option 'allowSoftPlacment'. Did you mean 'allowSoftPlacement'\?/],
      [{ allow_soft_placement: true }, /Did you mean 'allowSoftPlacement'\?/],
      [{ gpuOptions: { alowGrowth: true } }, /gpuOptions has no option 'alowGrowth'. Did you mean 'allowGrowth'\?/],
      [{ graphOptions: { optimizerOptions: { level: 1 } } }, /optimizerOptions has no option 'level'/],
      [{ deviceCount: { cpu: 2 } }, /deviceCount has no option 'cpu'. Did you mean 'CPU'\?/],
      [{ colour: 'red' }, /no option 'colour'. The options are: deviceCount, intraOp/],
      [{ deviceCount: { CPU: 0 } }, /CPU is 0 .* must be a whole number from 1 on/],
      [{ intraOpParallelismThreads: 1.5 }, /intraOpParallelismThreads is 1.5/],
    ];
    for (const [config, message] of configs) refuse(() => new tf.Session({ config: misspelt(config) }), message);
    refuse(() => new tf.RunOptions(misspelt({ timeoutInMS: 3 })), /Did you mean 'timeoutInMs'\?/);
    refuse(() => new tf.Session().makeCallable([], misspelt({ feedlist: [] })), /Did you mean 'feedList'\?/);
    refuse(() => new tf.train.Server({ local: ['localhost:0'] }, misspelt({ jobname: 'local' })), /'jobName'/);
  });

  it('of runs are refused', async () => {
    const sess = new tf.Session();
    const y = tf.constant(1);
    const wrong = sess.run(y, [], misspelt({ runMetaData: new tf.RunMetadata() }));
    await expect(wrong).rejects.toThrow(/run has no option 'runMetaData'. Did you mean 'runMetadata'\?/);
    await expect(sess.run(y, [], misspelt({ options: { trace: 3 } }))).rejects.toThrow(/no option 'trace'/);
  });

  const x = () => tf.ones([2, 2]);
  const calls: Record<string, (o: never) => unknown> = {
    exp: (o) => tf.exp(x(), o),
    add: (o) => tf.add(x(), 1, o),
    matmul: (o) => tf.matmul(x(), x(), o as object),
    reduceSum: (o) => tf.reduceSum(x(), 0, o),
    reduceLogsumexp: (o) => tf.reduceLogsumexp(x(), 0, o),
    argmax: (o) => tf.argmax(x(), 0, o),
    softmax: (o) => tf.nn.softmax(x(), -1, o),
    logSoftmax: (o) => tf.nn.logSoftmax(x(), o),
    softmaxCrossEntropyWithLogits: (o) =>
      tf.nn.softmaxCrossEntropyWithLogits({ labels: x(), logits: x(), ...(o as object) }),
    constant: (o) => tf.constant(1, o),
    placeholder: (o) => tf.placeholder(tf.float32, [], o),
    zeros: (o) => tf.zeros([1], o),
    fill: (o) => tf.fill([1], 1, o),
    oneHot: (o) => tf.oneHot([1], 2, o),
    concat: (o) => tf.concat([x(), x()], 0, o),
    stack: (o) => tf.stack([x(), x()], o),
    split: (o) => tf.split(x(), 2, o),
    gather: (o) => tf.gather(x(), [0], o),
    reshape: (o) => tf.reshape(x(), [4], o),
    transpose: (o) => tf.transpose(x(), [1, 0], o),
    expandDims: (o) => tf.expandDims(x(), 0, o),
    squeeze: (o) => tf.squeeze(x(), o),
    cast: (o) => tf.cast(x(), tf.int32, o),
    tile: (o) => tf.tile(x(), [1, 1], o),
    range: (o) => tf.range(0, 3, 1, o),
    topK: (o) => tf.nn.topK(x(), 1, o),
    dropout: (o) => tf.nn.dropout(x(), o),
    biasAdd: (o) => tf.nn.biasAdd(x(), [1, 1], o),
    randomNormal: (o) => tf.randomNormal([1], o),
    randomUniform: (o) => tf.randomUniform([1], o),
    clipByValue: (o) => tf.clipByValue(x(), 0, 1, o),
    clipByGlobalNorm: (o) => tf.clipByGlobalNorm([x()], 1, o),
    gradients: (o) => tf.gradients(x(), [x()], o),
    Variable: (o) => new tf.Variable(1, o),
    getVariable: (o) => tf.getVariable('v', [1], o),
    variableScope: (o) => tf.variableScope('s', o, () => {}),
    dense: (o) => tf.layers.dense(x(), 2, o),
    layersDropout: (o) => tf.layers.dropout(x(), o),
    fullyConnected: (o) => tf.contrib.layers.fullyConnected(x(), 2, o),
    absoluteDifference: (o) => tf.losses.absoluteDifference(x(), x(), o),
    metricsAccuracy: (o) => tf.metrics.accuracy(x(), x(), o),
    metricsAuc: (o) => tf.metrics.auc([true], [0.5], o),
    AdamOptimizer: (o) => new tf.train.AdamOptimizer(0.1, o),
    minimize: (o) => new tf.train.GradientDescentOptimizer(0.1).minimize(new tf.Variable(1.5).mul(2), o),
    applyGradients: (o) => new tf.train.GradientDescentOptimizer(0.1).applyGradients([], o),
    ExponentialMovingAverage: (o) => new tf.train.ExponentialMovingAverage(0.9, o),
    exponentialDecay: (o) => tf.train.exponentialDecay(0.1, tf.constant(1), 1, 0.5, o),
    randomNormalInitializer: (o) => tf.randomNormalInitializer(o),
    importGraphDef: (o) => tf.importGraphDef(tf.getDefaultGraph().asGraphDef(), o),
  };
  for (const [name, call] of Object.entries(calls))
    it(`of ${name} are refused`, () => {
      refuse(() => call(misspelt({ zzz: 1 })), /has no option 'zzz'\. The options are: /);
    });

  it('of functions are refused with the name that was meant', () => {
    refuse(() => tf.reduceSum(x(), 0, misspelt({ keep_dim: true })), /Did you mean 'keepdims'\?/);
    refuse(() => tf.matmul(x(), x(), { transpose_b: true } as object), /tf\.matmul .*Did you mean 'transposeB'\?/);
    refuse(() => tf.exp(x(), misspelt({ nmae: 'y' })), /Did you mean 'name'\?/);
  });

  it('are refused when they are no object', () => {
    refuse(
      () => tf.unstack(x(), 1 as never),
      /tf\.unstack takes its options as an object, as in \{ num: … \}, but got 1/,
    );
    refuse(() => tf.exp(x(), 'y' as never), /Exp takes its options as an object.*"y"/);
    refuse(() => tf.concat([x()], 0, [1] as never), /tf\.concat takes its options as an object.*\[1\]/);
    refuse(() => tf.gradients(x(), [x()], [x()] as never), /tf\.gradients takes its options as an object.*\[Tensor '/);
  });
});

describe('an axis', () => {
  it('stands alone or among the options', async () => {
    const x = tf.constant([
      [1.5, 2.5],
      [3.5, 0.5],
    ]);
    const pairs = [
      [tf.reduceSum(x, 1, { keepdims: true }), tf.reduceSum(x, { axis: 1, keepdims: true })],
      [tf.reduceMean(x), tf.reduceMean(x, {})],
      [tf.reduceLogsumexp(x, 0), tf.reduceLogsumexp(x, { axis: 0 })],
      [tf.math.reduceStd(x, 0), tf.math.reduceStd(x, { axis: 0 })],
      [tf.countNonzero(x, 0), tf.countNonzero(x, { axis: 0 })],
      [tf.argmax(x, 1), tf.argmax(x, { axis: 1 })],
      [tf.argmin(x), tf.argmin(x, { name: 'least' })],
      [tf.nn.softmax(x, 0), tf.nn.softmax(x, { axis: 0 })],
      [tf.nn.logSoftmax(x, 0), tf.nn.logSoftmax(x, { axis: 0 })],
      [tf.stack([x, x], 1), tf.stack([x, x], { axis: 1 })],
      [tf.split(x, 2, 1)[0]!, tf.split(x, 2, { axis: 1 })[0]!],
      [tf.squeeze(x.slice(':, :1'), [1]), tf.squeeze(x.slice(':, :1'), { axis: 1 })],
    ] as const;
    for (const [alone, among] of pairs) {
      const [a, b] = await new tf.Session().run([alone, among]);
      expect(b.toArray()).toEqual(a.toArray());
    }
    expect(() => tf.reduceSum(x, 1, { axis: 0 })).toThrow(/axis was given twice.*options\.test\.ts/s);
  });
});

it('Initializers take their arguments by place or by name', () => {
  expect(tf.randomNormalInitializer({ stddev: 0.5 }).getConfig()).toEqual(
    tf.randomNormalInitializer(0, 0.5).getConfig(),
  );
  expect(tf.truncatedNormalInitializer({ mean: 1, seed: 3 }).getConfig()).toMatchObject({
    mean: 1,
    stddev: 1,
    seed: 3,
  });
  expect(tf.randomUniformInitializer({ minval: -1, maxval: 1 }).getConfig()).toEqual(
    tf.randomUniformInitializer(-1, 1).getConfig(),
  );
  expect(tf.uniformUnitScalingInitializer({ factor: 2 }).getConfig()).toMatchObject({ factor: 2 });
});

it('no more threads compute than intraOpParallelismThreads says', async () => {
  const x = tf.randomUniform([1200, 1200], { seed: 1 });
  const y = tf.reduceSum(tf.matmul(tf.matmul(x, x), x));
  using sess = new tf.Session({ config: { intraOpParallelismThreads: 1 } });
  await sess.run(y);
  /** How many processors were busy in a run. */
  const busy = async () => {
    const [begin, before] = [performance.now(), process.cpuUsage()];
    await sess.run(y);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / (performance.now() - begin);
  };
  // The least of some runs: others have the collector of garbage beside them. Two threads would be nearly twice as much.
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 5; i++) least = Math.min(least, await busy());
  expect(least).toBeLessThan(1.4);
});

it('interOpParallelismThreads says how many instructions may share the threads', async () => {
  const x = tf.placeholder(tf.float32, [1000]);
  const parts = [tf.exp(x), tf.reduceSum(x), tf.cumsum(x)];
  const device = openDevice();
  const atOnce = async (interOpParallelismThreads: number) => {
    const compile = vi.spyOn(device, 'compile');
    using sess = new tf.Session({ config: { interOpParallelismThreads } });
    await sess.run(parts, [[x, new Array<number>(1000).fill(1)]]);
    const instructions = compile.mock.calls.flatMap(([segment]) => segment.instructions);
    compile.mockRestore();
    return Math.max(...instructions.map((i) => (i.kind === 'together' ? i.steps.length : 1)));
  };
  expect(await atOnce(0)).toBe(3);
  expect(await atOnce(2)).toBe(2);
  expect(await atOnce(1)).toBe(1);
  // TensorFlow runs everything on the calling thread then.
  expect(await atOnce(-1)).toBe(1);
});

it('Level 0 of the optimizer options runs the graph as it is', async () => {
  const y = tf.add(tf.constant(1, { name: 'a' }), tf.constant(2, { name: 'b' }), { name: 'sum' });
  const nodes = async (optLevel: number) => {
    const runMetadata = new tf.RunMetadata();
    await new tf.Session({ config: { graphOptions: { optimizerOptions: { optLevel } } } }).run(y, [], { runMetadata });
    return runMetadata.partitionGraphs[0]!.node.map((n) => n.name);
  };
  expect(await nodes(-1)).toEqual(['a', 'b', 'sum']);
  expect(await nodes(0)).toEqual(['sum']);
});
