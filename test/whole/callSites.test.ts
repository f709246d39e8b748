/** @file Every operation names the user's line it comes from, however deep inside the library it is made. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

const fileAndLine = /[^/]+:\d+(?=:\d+\)?$)/;

/** `build` and the line it stands on: that of the call of `at`. */
function at(build: () => unknown): { line: string; build: () => unknown } {
  const caller = new Error().stack!.split('\n')[2]!;
  return { line: fileAndLine.exec(caller)![0], build };
}

/** The lines that operations added to the default graph by `build` name. */
function linesOf(build: () => unknown): (string | undefined)[] {
  const graph = tf.getDefaultGraph();
  const before = graph.operations.length;
  build();
  const lines = graph.operations.slice(before).map((op) => fileAndLine.exec(op.createdAt ?? '')?.[0]);
  return [...new Set(lines)];
}

/** Calls `body` at the bottom of `depth` functions. */
function nested<T>(depth: number, body: () => T): T {
  return depth === 0 ? body() : nested(depth - 1, body);
}

const train = () => new tf.train.AdamOptimizer(0.1);
let x: tf.Tensor;
let loss: tf.Tensor;

// Each stands on one line.
const entries = {
  'an op of tensors': at(() => tf.tanh(x)),
  'an op of literals': at(() => tf.add([1, 2], 3)),
  'a method of a tensor': at(() => x.add(1)),
  'a list with tensors in it': at(() => tf.stack([1, x.slice('0, 0')])),
  'a variable': at(() => new tf.Variable(tf.zeros([2]))),
  'a reference variable': at(() => new tf.Variable([1, 2], { useResource: false })),
  'a variable of a scope': at(() => tf.getVariable('v', [3, 3], { initializer: tf.orthogonalInitializer() })),
  'a partitioned variable': at(() => tf.getVariable('p', [4], { partitioner: tf.fixedSizePartitioner(2) })),
  'an assignment': at(() => tf.trainableVariables()[0]!.assignAdd(tf.ones([3, 2]))),
  'a layer': at(() => tf.layers.dense(x, 4, { kernelRegularizer: tf.contrib.layers.l2Regularizer(0.1) })),
  'a layer of contrib': at(() => tf.contrib.layers.fullyConnected(x, 4)),
  gradients: at(() => tf.gradients(loss, x)),
  hessians: at(() => tf.hessians(loss, x)),
  minimize: at(() => train().minimize(loss, { globalStep: tf.train.getOrCreateGlobalStep() })),
  computeGradients: at(() => train().computeGradients(loss)),
  applyGradients: at(() => train().applyGradients([[tf.ones([3, 2]), tf.trainableVariables()[0]!]])),
  'a loss': at(() => tf.losses.huberLoss(x, x, { weights: [[1, 2, 3]] })),
  'a metric': at(() => tf.metrics.auc(tf.cast(x, tf.bool), x)),
  'a schedule': at(() => tf.train.cosineDecayRestarts(0.1, tf.train.getOrCreateGlobalStep(), 100)),
  'moving averages': at(() => new tf.train.ExponentialMovingAverage(0.9).apply()),
  'an imported graph': at(() => tf.importGraphDef(tf.getDefaultGraph().asGraphDef())),
  'a call below many of the user': at(() => nested(300, () => tf.layers.dense(x, 4))),
};

describe('the line of', () => {
  it.each(Object.entries(entries))('%s', (_, { line, build }) => {
    new tf.Graph().asDefault(() => {
      x = tf.placeholder(tf.float32, [2, 3]);
      loss = tf.reduceSum(tf.square(tf.matmul(x, tf.getVariable('weights', [3, 2]))));
      expect(linesOf(build)).toEqual([line]);
    });
  });

  it('what a function given by the user makes is in that function', () => {
    new tf.Graph().asDefault(() => {
      const initializer = at(() => tf.ones([2]).add(1));
      expect(linesOf(() => tf.getVariable('v', { initializer: initializer.build as () => tf.Tensor }))).toContain(
        initializer.line,
      );
    });
  });

  it('an error while building, and of one while running', async () => {
    await new tf.Graph().asDefault(async () => {
      const wrong = at(() => tf.layers.dense(tf.placeholder(tf.float32, [2, 3]).matmul(tf.ones([2, 2]) as never), 4));
      expect(wrong.build).toThrow(`${wrong.line}:`);
      const zero = at(() => tf.floordiv(1, tf.cast(tf.zeros([]), tf.int32)));
      const failing = new tf.Session().run(zero.build() as tf.Tensor);
      await expect(failing).rejects.toThrow(`${zero.line}:`);
    });
  });

  it('an error inside a branch, a loop and a function of a dataset', async () => {
    const x = () => tf.placeholderWithDefault(0, []);
    const zero = () => tf.constant(0);
    const quotient = at(() => tf.floordiv(1, x(), { name: 'quotient' }));
    const divide = quotient.build as () => tf.Tensor;
    const users: Record<string, () => tf.Tensor> = {
      branch: () => tf.cond(tf.equal(x(), 0), divide, zero),
      loop: () => tf.whileLoop((i: tf.Tensor) => tf.less(i, 3), divide, [tf.constant(1)]),
      dataset: () => tf.data.Dataset.range(1).map(divide).makeOneShotIterator().getNext(),
    };
    for (const [name, use] of Object.entries(users))
      await new tf.Graph().asDefault(async () => {
        const error = await new tf.Session().run(use()).catch((e: unknown) => e);
        expect(String(error), name).toMatch(/Integer division by zero\n\t \[\[FloorDiv '.*quotient/);
        expect(String(error), name).toContain(`${quotient.line}:`);
      });
  });

  it('a run whose feeds do not fit, also where it is the first and not awaited there', async () => {
    await new tf.Graph().asDefault(async () => {
      const x = tf.placeholder(tf.float32, [2]);
      const y = x.mul(2);
      const run = at(() => new tf.Session().run(y, [[x, [1, 2, 3]]]));
      await expect(run.build()).rejects.toThrow(`${run.line}:`);
    });
  });

  it('a dataset that a one-shot iterator has copied', async () => {
    await new tf.Graph().asDefault(async () => {
      const none = at(() => tf.data.Dataset.range(3).batch(0));
      const next = (none.build() as tf.data.Dataset).makeOneShotIterator().getNext();
      const error = String(await new tf.Session().run(next as tf.Tensor).catch((e: unknown) => e));
      expect(error).toMatch(
        /Batch size must be greater than zero\.\n\t \[\[BatchDatasetV2 'BatchDatasetV2', created at/,
      );
      expect(error).toContain(`${none.line}:`);
    });
  });

  it('no error whose node may be one of several', async () => {
    await new tf.Graph().asDefault(async () => {
      const wrong = at(() => tf.floordiv(1, tf.placeholderWithDefault(0, []), { name: 'twice' }));
      const make = (divide: () => tf.Tensor) => tf.data.Dataset.range(1).map(divide).makeOneShotIterator().getNext();
      make(() => tf.floordiv(6, 3, { name: 'twice' }));
      const error = await new tf.Session().run(make(wrong.build as () => tf.Tensor)).catch((e: unknown) => e);
      expect(String(error)).toMatch(/Integer division by zero\n\t \[\[[^,]* 'twice'\]\]$/);
    });
  });
});

it('operations of one place share its record', () => {
  const graph = new tf.Graph();
  const [first, second] = [1, 2].map(() => graph.callSite());
  expect(second).toBe(first);
  expect(graph.callSite()).not.toBe(first);
});

it('a stack that overflows while building leaves errors as they are', () => {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const x = tf.placeholder(tf.float32, [2]);
  const deeper = (y: tf.Tensor): tf.Tensor => deeper(tf.tanh(y));
  expect(() => deeper(x)).toThrow(RangeError);
  expect(Error.prepareStackTrace).toBe(prepareStackTrace);
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
});
