import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { openDevice } from '../../src/runtime/devices.ts';

beforeEach(() => tf.resetDefaultGraph());

const feed = (x: tf.Tensor, value: Parameters<typeof tf.constant>[0]) => [[x, value]] as const;

describe('fetches', () => {
  it('come back in their own structure', async () => {
    const [a, b] = [tf.constant(1.5, { name: 'a' }), tf.constant([1, 2], { name: 'b' })];
    const sess = new tf.Session();
    const result = await sess.run({ one: a, list: [b, a], nested: { op: a.op, name: 'b:0' }, nothing: null });
    expect(result.one.item()).toBe(1.5);
    expect(result.list[0].toArray()).toEqual([1, 2]);
    expect(result.nested).toMatchObject({ op: null });
    expect(result.nested.name!.toArray()).toEqual([1, 2]);
    expect(result.nothing).toBeNull();
    expect(await sess.run([])).toEqual([]);
  });

  it('that look alike are told apart, also when their owner changes them', async () => {
    const [a, b] = [tf.constant(1), tf.constant(2)];
    const sess = new tf.Session();
    const plain = async (fetch: Parameters<typeof sess.run>[0]) =>
      JSON.parse(JSON.stringify(await sess.run(fetch), numbers));
    const numbers = (_: string, value: unknown) => (value instanceof tf.NDArray ? Number(value) : value);
    const list = [a, b];
    for (let i = 0; i < 2; i++) {
      expect(await plain(a)).toBe(1);
      expect(await plain([a])).toEqual([1]);
      expect(await plain({ a })).toEqual({ a: 1 });
      expect(await plain({ graph: a })).toEqual({ graph: 1 });
      expect(await plain({ asGraphElement: a })).toEqual({ asGraphElement: 1 });
      expect(await plain({ a, b })).toEqual({ a: 1, b: 2 });
      expect(await plain({ b: a, a: b })).toEqual({ b: 1, a: 2 });
      expect(await plain(list)).toEqual(i === 0 ? [1, 2] : [1, 1]);
      list[1] = a;
    }
  });

  it('of constants do not change with the arrays that they were made of', async () => {
    const data = new Float32Array(100_000).fill(1);
    const a = tf.constant(new tf.NDArray(tf.float32, [data.length], data));
    data[0] = 2;
    const [sess, sum] = [new tf.Session(), a.add(1)];
    expect((await sess.run(sum)).at(0)).toBe(2);
    data[0] = 3;
    expect((await sess.run(sum)).at(0)).toBe(2);
  });

  it('own their memory', async () => {
    const v = new tf.Variable([1.5, 2]);
    const c = tf.constant([1, 2]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const [first, constant] = await sess.run([v, c]);
    first.data[0] = 99;
    constant.data[0] = 99;
    expect((await sess.run(v)).toArray()).toEqual([1.5, 2]);
    expect((await sess.run(c)).toArray()).toEqual([1, 2]);
    const [x, y] = await sess.run([v, v]);
    expect(x).toBe(y);
  });

  it('of unknown names and of other graphs are refused', async () => {
    const sess = new tf.Session();
    const other = new tf.Graph().asDefault(() => tf.constant(1));
    await expect(sess.run('nowhere:0')).rejects.toThrow(/nowhere.*does not exist/s);
    await expect(sess.run(other)).rejects.toThrow(/not an element of this graph/);
    await expect(sess.run(3 as never)).rejects.toThrow(/Fetch argument 3/);
  });
});

describe('feeds', () => {
  it('take three forms', async () => {
    const x = tf.placeholder(tf.float32, [2], { name: 'x' });
    const y = x.mul(2);
    const sess = new tf.Session();
    for (const feeds of [new Map([[x, [1, 2]]]), [[x, [1, 2]]] as const, { 'x:0': [1, 2] }])
      expect((await sess.run(y, feeds)).toArray()).toEqual([2, 4]);
  });

  it('replace any tensor', async () => {
    const a = tf.constant(3);
    const b = a.mul(2);
    const sess = new tf.Session();
    expect(Number(await sess.run(b.add(1), feed(b, 10)))).toBe(11);
    expect(Number(await sess.run(b, feed(b, 10)))).toBe(10);
  });

  it('of a wrong type or shape, or missing, are refused', async () => {
    const x = tf.placeholder(tf.int32, [2], { name: 'x' });
    const sess = new tf.Session();
    await expect(sess.run(x.add(1), feed(x, [1.5, 2]))).rejects.toThrow(/Cannot feed 'x:0' \(int32\).*1\.5/s);
    await expect(sess.run(x.add(1), feed(x, [1, 2, 3]))).rejects.toThrow(
      "Cannot feed value of shape (3,) for Tensor 'x:0', which has shape (2,)",
    );
    await expect(sess.run(x.add(1), feed(x, 'text' as never))).rejects.toThrow(/text/);
    const error = await sess.run(x.add(1)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(tf.errors.InvalidArgumentError);
    expect(String(error)).toMatch(
      /You must feed a value for placeholder tensor 'x' with dtype int32 and shape \[2\].*created at .*session\.test\.ts/s,
    );
    expect((await sess.run(x.add(1), feed(x, [1, 2]))).toArray()).toEqual([2, 3]);
  });

  it('whose values decide shapes are followed', async () => {
    const shape = tf.placeholder(tf.int32, [null]);
    const y = tf.fill(shape, 7);
    const sess = new tf.Session();
    for (const dims of [[2, 3], [4], [2, 3], []]) expect((await sess.run(y, feed(shape, dims))).shape).toEqual(dims);
  });
});

describe('runs', () => {
  it('look at computed values where shapes depend on them', async () => {
    const n = new tf.Variable(2);
    const y = tf.reshape(tf.range(6), tf.stack([n, -1]));
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    expect((await sess.run(y)).shape).toEqual([2, 3]);
    await sess.run(tf.assign(n, 3));
    expect((await sess.run(y)).shape).toEqual([3, 2]);
    expect((await sess.run(y)).shape).toEqual([3, 2]);
  });

  it('handle results whose shape depends on data', async () => {
    const x = tf.placeholder(tf.float32, [null]);
    const y = tf.reduceSum(tf.gather(x, tf.reshape(tf.where(tf.greater(x, 0)), [-1])));
    const sess = new tf.Session();
    for (const values of [
      [1, -1, 2],
      [-1, -2, -3],
      [5, 6, 7],
    ])
      expect(Number(await sess.run(y, feed(x, values)))).toBe(values.filter((v) => v > 0).reduce((a, b) => a + b, 0));
  });

  it('can go on at once without disturbing each other', async () => {
    const x = tf.placeholder(tf.float32, [null, 64]);
    const w = new tf.Variable(tf.ones([64, 64]));
    const y = tf.reduceSum(tf.matmul(x, w));
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        sess.run(y, feed(x, new tf.NDArray(tf.float32, [i + 1, 64], new Float32Array((i + 1) * 64).fill(1)))),
      ),
    );
    for (const [i, result] of results.entries()) expect(Number(result)).toBe((i + 1) * 64 * 64);
  });

  it('see the variable as it was when it was read', async () => {
    const v = new tf.Variable([1.5, 2]);
    const before = tf.identity(v);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const assign = tf.controlDependencies([before], () => tf.assign(v, [10, 20]));
    const after = tf.controlDependencies([assign], () => before.mul(1));
    expect((await sess.run(after)).toArray()).toEqual([1.5, 2]);
    expect((await sess.run(v)).toArray()).toEqual([10, 20]);
  });

  it('of uninitialized variables say so', async () => {
    const v = new tf.Variable(1, { name: 'v' });
    const sess = new tf.Session();
    const error = await sess.run(v.mul(2)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(tf.errors.FailedPreconditionError);
    expect(String(error)).toMatch(/v/);
    await sess.run(tf.globalVariablesInitializer());
    expect(Number(await sess.run(v.mul(2)))).toBe(2);
  });

  it('stop when they are cancelled or take too long', async () => {
    const never = tf.jsFunc(() => new Promise<tf.NDArray>(() => {}), [], tf.float32);
    const after = tf.identity(never);
    const sess = new tf.Session();
    const controller = new AbortController();
    const cancelled = sess.run(after, undefined, { signal: controller.signal });
    controller.abort();
    await expect(cancelled).rejects.toBeInstanceOf(tf.errors.CancelledError);
    const late = await sess.run(after, undefined, { options: { timeoutInMs: 20 } }).catch((e: unknown) => e);
    expect(late).toBeInstanceOf(tf.errors.DeadlineExceededError);
    expect(String(late)).toMatch(/longer than 20 ms/);
  });

  // The reference device does all its work on this thread.
  it.skipIf(openDevice() instanceof ReferenceDevice)(
    'stop while the device is at work, and leave the session usable',
    async () => {
      const x = tf.ones([500, 500]);
      const v = new tf.Variable(tf.zeros([]));
      const work = v.assign(tf.reduceMean(tf.matmul(tf.matmul(x, x), x)));
      const sess = new tf.Session({ config: { graphOptions: { simplify: false } } });
      await sess.run(v.initializer);
      const abort = new AbortController();
      const device = openDevice();
      const compile = device.compile.bind(device);
      const spy = vi.spyOn(device, 'compile').mockImplementation((segment) => {
        const kernel = compile(segment);
        return {
          run(bound, options) {
            const pending = kernel.run(bound, options);
            // The device has begun and the event loop has not turned, so nobody knows yet that it is done.
            if (pending) abort.abort();
            return pending;
          },
        };
      });
      const stopped = sess.run(work, undefined, { signal: abort.signal });
      await expect(stopped).rejects.toBeInstanceOf(tf.errors.CancelledError);
      spy.mockRestore();
      expect(Number(await sess.run(work))).toBe(250000);
    },
  );

  it('of new shapes can be traced at the same time', async () => {
    const x = tf.placeholder(tf.float32, []);
    let y = tf.fill(tf.stack([tf.cast(x.mul(2), tf.int32)]), 1.5);
    const steps = 300;
    for (let i = 0; i < steps; i++) y = tf.abs(y.add(x));
    const sess = new tf.Session();
    await sess.run(y, feed(x, 1));
    // A clock by which every question for the time takes a millisecond, so that tracing often pauses to let others run.
    let time = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++time);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const runs: Promise<tf.NDArray>[] = [];
    for (let k = 2; k < 6; k++) {
      runs.push(sess.run(y, feed(x, k)));
      await turn();
      await turn();
    }
    const results = await Promise.all(runs);
    clock.mockRestore();
    for (const [i, result] of results.entries())
      expect(result.numbers()).toEqual(new Array(2 * (i + 2)).fill(1.5 + steps * (i + 2)));
  });

  it('name the node that failed, also inside fused work', async () => {
    const x = tf.placeholder(tf.int32, [2]);
    const quotient = tf.floordiv(x, tf.constant([1, 0]), { name: 'quotient' });
    const y = quotient.mul(3).add(1);
    const error = await new tf.Session().run(y, feed(x, [1, 2])).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(tf.errors.InvalidArgumentError);
    expect(String(error)).toMatch(/Integer division by zero.*'quotient', created at .*session\.test\.ts/s);
    const thrown = tf.jsFunc(
      () => {
        throw new RangeError('boom');
      },
      [],
      tf.float32,
      { name: 'callback' },
    );
    const failure = await new tf.Session().run(thrown).catch((e: unknown) => e);
    expect(failure).toBeInstanceOf(tf.errors.UnknownError);
    expect(String(failure)).toMatch(/RangeError: boom.*'callback'/s);
  });

  it('that were begun are cancelled by a close, however far they have come', async () => {
    for (let turns = 0; turns < 4; turns++) {
      tf.resetDefaultGraph();
      const never = tf.jsFunc(() => new Promise<tf.NDArray>(() => {}), [], tf.float32);
      const sess = new tf.Session();
      const outcome = expect(sess.run(tf.identity(never))).rejects.toBeInstanceOf(tf.errors.CancelledError);
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      sess.close();
      await outcome;
    }
  });

  it('that step aside for the event loop are cancelled by a close too', async () => {
    const y = tf.constant(1);
    const sess = new tf.Session();
    await sess.run(y);
    const first = sess.run(y);
    const late = performance.now() + 20;
    while (performance.now() < late); // more than a run may hold the event loop, so the next one waits for a turn
    const outcome = expect(sess.run(y)).rejects.toBeInstanceOf(tf.errors.CancelledError);
    sess.close();
    await outcome;
    await Promise.allSettled([first]);
  });

  it('of a graph that cannot be run say so each time, until it is mended', async () => {
    const x = tf.constant([1, 2]);
    const y = tf.identity(x);
    const z = tf.identity(y);
    const sess = new tf.Session();
    y.op.controlInputs = [z.op];
    for (let i = 0; i < 2; i++)
      await expect(sess.run(z)).rejects.toThrow(/The graph has a cycle through node 'Identity/);
    y.op.controlInputs = [];
    expect((await sess.run(z)).toArray()).toEqual([1, 2]);
  });

  it('reject after close', async () => {
    const y = tf.constant(1);
    const sess = new tf.Session();
    await sess.run(y);
    sess.close();
    await expect(sess.run(y)).rejects.toBeInstanceOf(tf.errors.FailedPreconditionError);
  });

  it('of many shapes keep the programs of those that were run last', async () => {
    const x = tf.placeholder(tf.float32, [null]);
    const y = tf.exp(x);
    const sess = new tf.Session();
    const compile = vi.spyOn(openDevice(), 'compile');
    /** How many programs a run needs that are not there. */
    const compiled = async (size: number) => {
      compile.mockClear();
      await sess.run(y, feed(x, new tf.NDArray(tf.float32, [size], new Float32Array(size))));
      return compile.mock.calls.length;
    };
    for (let size = 1; size <= 256; size++) expect(await compiled(size)).toBe(1);
    expect(await compiled(1)).toBe(0);
    expect(await compiled(257)).toBe(1);
    expect(await compiled(1)).toBe(0);
    expect(await compiled(3)).toBe(0);
    expect(await compiled(2)).toBe(1);
    compile.mockRestore();
  });

  it('leave timers time to fire', async () => {
    const x = tf.placeholder(tf.float32, [2]);
    const y = x.mul(2);
    const sess = new tf.Session();
    let fired = 0;
    const timer = setInterval(() => fired++, 1);
    for (let i = 0; i < 200_000 && fired < 3; i++) await sess.run(y, feed(x, [1, 2]));
    clearInterval(timer);
    expect(fired).toBeGreaterThanOrEqual(3);
  });
});

describe('default sessions', () => {
  it('follow the async flow', async () => {
    const y = tf.constant(4);
    const [one, two] = [new tf.Session(), new tf.Session()];
    await one.asDefault(async () => {
      await Promise.resolve();
      expect(tf.getDefaultSession()).toBe(one);
      await two.asDefault(async () => {
        expect(tf.getDefaultSession()).toBe(two);
      });
      expect(Number(await y.eval())).toBe(4);
    });
    await expect(y.eval()).rejects.toThrow(/No default session/);
  });

  it('are interactive', async () => {
    const v = new tf.Variable(2);
    const sess = new tf.InteractiveSession();
    await tf.globalVariablesInitializer().run();
    expect(Number(await v.mul(3).eval())).toBe(6);
    sess.close();
  });
});

describe('partial runs', () => {
  it('feed and fetch in pieces, each node once', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => tf.placeholder(tf.float32, [], { name }));
    const counter = new tf.Variable(0);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const counted = tf.controlDependencies([tf.assignAdd(counter, 1)], () => a!.add(b!));
    const r2 = counted.mul(c!);
    const handle = sess.partialRunSetup([counted, r2], [a!, b!, c!]);
    expect(
      Number(
        await sess.partialRun(handle, counted, [
          [a!, 1],
          [b!, 2],
        ]),
      ),
    ).toBe(3);
    expect(Number(await sess.partialRun(handle, r2, [[c!, 17]]))).toBe(51);
    expect(Number(await sess.run(counter))).toBe(1);
    await expect(sess.partialRun(handle, r2)).rejects.toThrow(/already been fetched/);
  });

  it('say which feed is missing', async () => {
    const [a, b] = [tf.placeholder(tf.float32), tf.placeholder(tf.float32)];
    const sess = new tf.Session();
    const handle = sess.partialRunSetup([a.add(b)], [a, b]);
    await expect(sess.partialRun(handle, 'add:0', [[a, 1]])).rejects.toThrow(/can't be computed from the feeds/);
  });
});

describe('callables and metadata', () => {
  it('run again and again', async () => {
    const x = tf.placeholder(tf.float32, [2]);
    const call = new tf.Session().makeCallable([x.mul(2), x.add(1)], [x]);
    const [double, plus] = await call([1, 2]);
    expect([double.toArray(), plus.toArray()]).toEqual([
      [2, 4],
      [2, 3],
    ]);
    await expect(call()).rejects.toThrow(/takes 1 feeds/);
  });

  it('tell what ran and for how long', async () => {
    const x = tf.placeholder(tf.float32, [3], { name: 'x' });
    const y = tf.matmul(tf.reshape(x, [1, 3]), tf.reshape(x, [3, 1]), { name: 'product' });
    const runMetadata = new tf.RunMetadata();
    await new tf.Session().run(y, feed(x, [1, 2, 3]), {
      options: { traceLevel: tf.RunOptions.FULL_TRACE },
      runMetadata,
    });
    expect(runMetadata.partitionGraphs[0]!.node.map((n) => n.name)).toContain('product');
    expect(runMetadata.stepStats.devStats[0]!.nodeStats.map((s) => s.nodeName)).toContain('product');
  });

  it('tell how much memory they used, traced or not', async () => {
    const x = tf.placeholder(tf.float32, [100, 100]);
    const product = tf.matmul(x, x);
    const y = tf.reduceSum(tf.matmul(product, product, { transposeB: true }));
    const fed = new tf.NDArray(tf.float32, [100, 100], new Float32Array(1e4));
    const sess = new tf.Session();
    for (const traceLevel of [tf.RunOptions.NO_TRACE, tf.RunOptions.FULL_TRACE]) {
      const runMetadata = new tf.RunMetadata();
      await sess.run(y, feed(x, fed), { options: { traceLevel }, runMetadata });
      // The first product is there as long as the second is computed.
      expect(runMetadata.peakBytes).toBeGreaterThan(1e4 * 4 - 1);
      expect(runMetadata.peakBytes).toBeLessThan(1e4 * 4 * 3);
      expect(runMetadata.stepStats.devStats).toHaveLength(traceLevel === tf.RunOptions.NO_TRACE ? 0 : 1);
    }
  });
});

describe('the simplifier', () => {
  it('takes a common factor out', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => tf.placeholder(tf.float32, [2], { name }));
    const y = c!.mul(a!).add(c!.mul(b!));
    const runMetadata = new tf.RunMetadata();
    const result = await new tf.Session().run(
      y,
      [
        [a!, [1, 2]],
        [b!, [3, 4]],
        [c!, [5, 6]],
      ],
      { runMetadata },
    );
    expect(result.toArray()).toEqual([20, 36]);
    expect(runMetadata.partitionGraphs[0]!.node.filter((n) => n.op === 'Mul')).toHaveLength(1);
    expect(tf.graph.explain(y)).toMatch(/What runs/);
  });

  it('computes what no size of data decides first, so that little is compiled again for another size', async () => {
    const x = tf.placeholder(tf.int32, [null]);
    const y = tf.placeholder(tf.float32, [4]);
    const unique = tf.unique(x).y;
    const [first, other] = [tf.cast(unique, tf.float32).mul(2), tf.exp(y).mul(3)];
    const runMetadata = new tf.RunMetadata();
    const options = { traceLevel: tf.RunOptions.FULL_TRACE } as const;
    const fed = [
      [x, [5, 5, 7]],
      [y, [0, 0, 0, 0]],
    ] as const;
    const results = await new tf.Session().run([first, other], fed, { options, runMetadata });
    expect(results.map((array) => array.toArray())).toEqual([
      [10, 14],
      [3, 3, 3, 3],
    ]);
    const ran = runMetadata.stepStats.devStats[0]!.nodeStats.map(({ nodeName }) => nodeName);
    expect([...new Set(ran)]).toEqual([other.op.name, unique.op.name, first.op.name]);
  });

  it('gives each fetch memory of its own, though two are views of one result', async () => {
    const x = tf.placeholder(tf.float32, [2]);
    const y = tf.exp(x);
    const [flat, column] = await new tf.Session().run([y, tf.reshape(y, [2, 1])], feed(x, [0, 0]));
    flat.bytes.fill(0);
    expect(column.toArray()).toEqual([[1], [1]]);
  });

  it('looks again at an array that decides a shape, though it is the same array', async () => {
    const sizes = tf.placeholder(tf.int32, [2]);
    const result = tf.reshape(tf.range(6), sizes);
    const sess = new tf.Session();
    const given = new Int32Array([2, 3]);
    expect((await sess.run(result, [[sizes, given]])).shape).toEqual([2, 3]);
    given.set([3, 2]);
    expect((await sess.run(result, [[sizes, given]])).shape).toEqual([3, 2]);
  });

  it('merges equal nodes and folds constants, and never crosses a feed', async () => {
    const x = tf.placeholder(tf.float32, [2]);
    const y = tf.exp(x).add(tf.exp(x));
    const k = tf.constant(2).mul(3);
    const z = k.add(1);
    const runMetadata = new tf.RunMetadata();
    const sess = new tf.Session();
    await sess.run([y, z], feed(x, [0, 1]), { runMetadata });
    expect(runMetadata.partitionGraphs[0]!.node.filter((n) => n.op === 'Exp')).toHaveLength(1);
    expect(runMetadata.rewrites.join('\n')).toMatch(/constant folded/);
    expect(Number(await sess.run(z, feed(k, 100)))).toBe(101);
    // The node of a fed tensor may run all the same, for its other outputs.
    const [fed, other] = tf.unstack(tf.constant([1, 2])) as [tf.Tensor, tf.Tensor];
    expect((await sess.run([fed.add(10), other], feed(fed, 5))).map(Number)).toEqual([15, 2]);
  });
});
