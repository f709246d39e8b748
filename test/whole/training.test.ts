/** @file Optimizers, schedules and moving averages: the same nodes and values as real TensorFlow (tools/golden/training.py). */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

interface Run {
  readonly steps: readonly (readonly number[])[];
  readonly slots: Readonly<Record<string, readonly number[]>>;
  readonly slotNames: readonly string[];
  readonly nodes?: readonly string[];
}
const golden = JSON.parse(readFileSync(new URL('../golden/training.json', import.meta.url), 'utf8')) as {
  models: Record<string, readonly string[]>;
  runs: Record<string, Run>;
  schedules: Record<string, { nodes: readonly string[]; values: readonly number[] }>;
  averages: Record<
    string,
    { nodes: readonly string[]; values: readonly number[][]; averageName: string; restore: readonly string[] }
  >;
};

const { train } = tf;
const proximal = { l1RegularizationStrength: 0.001, l2RegularizationStrength: 0.25 };
const optimizers: Record<string, (step: tf.Variable) => tf.train.Optimizer> = {
  GradientDescent: () => new train.GradientDescentOptimizer(0.1),
  Momentum: () => new train.MomentumOptimizer(0.1, 0.9),
  Nesterov: () => new train.MomentumOptimizer(0.1, 0.9, { useNesterov: true }),
  Adam: () => new train.AdamOptimizer(0.1),
  AdamBetas: () => new train.AdamOptimizer(0.1, { beta1: 0.5, beta2: 0.75, epsilon: 0.25, name: 'Mine' }),
  Adagrad: () => new train.AdagradOptimizer(0.1),
  AdagradDA: (step) => new train.AdagradDAOptimizer(0.1, step, proximal),
  Adadelta: () => new train.AdadeltaOptimizer(0.5),
  RMSProp: () => new train.RMSPropOptimizer(0.1, { momentum: 0.5 }),
  CenteredRMSProp: () => new train.RMSPropOptimizer(0.1, { centered: true }),
  Ftrl: () => new train.FtrlOptimizer(0.1, proximal),
  FtrlPower: () => new train.FtrlOptimizer(0.1, { learningRatePower: -0.25, beta: 0.5 }),
  FtrlShrinkage: () => new train.FtrlOptimizer(0.1, { l2ShrinkageRegularizationStrength: 0.1 }),
  ProximalGradientDescent: () => new train.ProximalGradientDescentOptimizer(0.1, proximal),
  ProximalAdagrad: () => new train.ProximalAdagradOptimizer(0.1, proximal),
};
const start = [
  [1.5, -2],
  [0.25, 3],
  [-1.25, 0.5],
];

function nodes(graph: tf.Graph, from = 0): string[] {
  return graph.operations.slice(from).map((op) => [op.name, op.type, ...op.nodeDef.input].join(' '));
}

/** The largest relative difference a type allows: float32 follows TensorFlow's own order of operations closely. */
const tolerances: Record<string, number> = { float32: 1e-6, float64: 1e-12, float16: 4e-3 };

function expectClose(actual: readonly number[], wanted: readonly number[], tolerance: number, what: string): void {
  for (const [i, x] of wanted.entries())
    if (!(Math.abs(actual[i]! - x) <= tolerance * Math.max(1, Math.abs(x))))
      throw new Error(`${what}, element ${i}: ${actual[i]} instead of ${x}`);
}

describe('ten steps equal TensorFlow', () => {
  for (const [key, run] of Object.entries(golden.runs))
    it(key, async () => {
      const [name, form, kind, type] = key.split(' ') as [string, string, string, 'float32'];
      const graph = new tf.Graph();
      await graph.asDefault(async () => {
        const dtype = tf[type];
        const w = new tf.Variable(start, { name: 'W', useResource: kind === 'resource', dtype });
        const rows = form === 'sparse' ? tf.gather(w, [0, 2, 0]) : w;
        const loss = tf.reduceSum(tf.square(rows.sub(0.75)), undefined, { name: 'loss' });
        const step = train.getOrCreateGlobalStep();
        const optimizer = optimizers[name]!(step);
        const pairs = optimizer.computeGradients(loss);
        const computed = graph.operations.length;
        const update = optimizer.applyGradients(pairs, { globalStep: step });
        if (run.nodes) {
          expect(nodes(graph, 0).slice(0, computed)).toEqual(golden.models[`${form} ${kind}`]);
          expect(nodes(graph, computed)).toEqual(run.nodes);
        }
        expect(optimizer.getSlotNames()).toEqual(run.slotNames);
        const sess = new tf.Session({ graph });
        await sess.run(tf.globalVariablesInitializer());
        for (const [i, wanted] of run.steps.entries()) {
          await sess.run(update);
          expectClose((await sess.run(w)).numbers(), wanted, tolerances[type]!, `step ${i}`);
        }
        const slots = optimizer.variables();
        expect(slots.map((v) => v.op.name)).toEqual(Object.keys(run.slots).sort());
        for (const v of slots)
          expectClose((await sess.run(v)).numbers(), run.slots[v.op.name]!, tolerances[v.dtype.name]!, v.name);
        expect(await train.globalStep(sess, step)).toBe(10);
      });
    });
});

describe('what an optimizer is made with', () => {
  it('must be there, and in order', () => {
    const missing = undefined as never; // what plain JavaScript may leave out
    const named = { learningRate: 0.1, momentum: 0.9 } as never; // or write as Python does
    expect(() => new train.MomentumOptimizer(0.1, missing)).toThrow(
      /MomentumOptimizer needs a number or tensor for momentum, but got undefined\. Write new tf\.train\.MomentumOptimizer\(learningRate, momentum\).*\n.*training\.test\.ts:\d+/,
    );
    expect(() => new train.MomentumOptimizer(0.1, { name: 'm' } as never)).toThrow(/momentum, but got { name: 'm' }/);
    expect(() => new train.MomentumOptimizer(named, missing)).toThrow(/learningRate, but got { learningRate: 0\.1/);
    expect(() => new train.AdamOptimizer({ learningRate: '0.1' })).toThrow(/AdamOptimizer needs a number/);
    expect(() => new train.GradientDescentOptimizer('0.1')).toThrow(/learningRate, but got '0\.1'/);
    new train.MomentumOptimizer(() => tf.constant(0.1), [0.5][0]!);
  });
});

const schedules: Record<string, (step: tf.Variable) => tf.Tensor> = {
  exponentialDecay: (s) => train.exponentialDecay(0.1, s, 10, 0.5),
  exponentialStairs: (s) => train.exponentialDecay(0.1, s, 10, 0.5, { staircase: true, name: 'mine' }),
  naturalExpDecay: (s) => train.naturalExpDecay(0.1, s, 10, 0.5),
  inverseTimeDecay: (s) => train.inverseTimeDecay(0.1, s, 10, 0.5),
  piecewiseConstant: (s) => train.piecewiseConstant(s, [5, 20], [0.1, 0.05, 0.01]),
  polynomialDecay: (s) => train.polynomialDecay(0.1, s, 30, { endLearningRate: 0.01, power: 0.5 }),
  polynomialCycle: (s) => train.polynomialDecay(0.1, s, 10, { endLearningRate: 0.01, power: 0.5, cycle: true }),
  cosineDecay: (s) => train.cosineDecay(0.1, s, 30, { alpha: 0.25 }),
  cosineDecayRestarts: (s) => train.cosineDecayRestarts(0.1, s, 10, { tMul: 1.5, mMul: 0.5, alpha: 0.25 }),
  cosineRestartsEven: (s) => train.cosineDecayRestarts(0.1, s, 10, { tMul: 1, mMul: 0.5 }),
  linearCosineDecay: (s) => train.linearCosineDecay(0.1, s, 30, { numPeriods: 1.5 }),
  noisyLinearCosineDecay: (s) =>
    train.noisyLinearCosineDecay(0.1, s, 30, { numPeriods: 1.5, initialVariance: 0.25, varianceDecay: 0.75 }),
};
/** These choose by a branch in Python and by a select here. */
const branching = ['piecewiseConstant', 'cosineDecayRestarts', 'cosineRestartsEven'];

describe('schedules equal TensorFlow', () => {
  for (const [name, { nodes: wantedNodes, values }] of Object.entries(golden.schedules))
    it(name, async () => {
      const graph = new tf.Graph();
      await graph.asDefault(async () => {
        tf.setRandomSeed(7);
        const step = train.getOrCreateGlobalStep();
        const rate = schedules[name]!(step);
        if (!branching.includes(name)) expect(nodes(graph)).toEqual(wantedNodes);
        const sess = new tf.Session({ graph });
        const actual: number[] = [];
        for (const k of [0, 1, 5, 6, 10, 17, 20, 21, 29, 30, 45]) {
          await step.load(k, sess);
          actual.push((await sess.run(rate)).numberAt(0));
        }
        expectClose(actual, values, 1e-6, name);
      });
    });
});

describe('moving averages equal TensorFlow', () => {
  it('begin with the present value of a variable that has one', async () => {
    await new tf.Graph().asDefault(async () => {
      const v = new tf.Variable([1.5, 2]);
      const ema = new train.ExponentialMovingAverage(0.9);
      ema.apply([v]);
      const average = ema.average(v)!;
      const sess = new tf.Session();
      await sess.run(average.initializer);
      expect((await sess.run(average)).toArray()).toEqual([1.5, 2]);
      await v.load([4, 5], sess);
      await sess.run(average.initializer);
      expect((await sess.run(average)).toArray()).toEqual([4, 5]);
    });
  });

  for (const [name, wanted] of Object.entries(golden.averages))
    it(name, async () => {
      const graph = new tf.Graph();
      await graph.asDefault(async () => {
        const v = new tf.Variable([1.5, 2], { name: 'v' });
        const step = train.getOrCreateGlobalStep();
        const value = name === 'tensor' || name === 'debiased' ? tf.identity(v, { name: 't' }) : v;
        const ema = new train.ExponentialMovingAverage(0.9, {
          zeroDebias: name === 'debiased',
          ...(name === 'counted' ? { numUpdates: step } : {}),
        });
        const update = ema.apply([value]);
        expect(nodes(graph)).toEqual(wanted.nodes);
        const change = v.assignAdd([1, -0.5]);
        const tick = step.assignAdd(1);
        expect(ema.averageName(value)).toBe(wanted.averageName);
        expect([...ema.variablesToRestore().keys()].sort()).toEqual(wanted.restore);
        const sess = new tf.Session({ graph });
        await sess.run(tf.globalVariablesInitializer());
        for (const expected of wanted.values) {
          await sess.run([change, tick]);
          await sess.run(update);
          expectClose((await sess.run(ema.average(value)!)).numbers(), expected, 1e-6, name);
        }
      });
    });
});
