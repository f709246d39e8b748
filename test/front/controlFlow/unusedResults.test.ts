/** @file Branches and loops of which only some results are used: what the others need does not happen, as in TensorFlow. */
import { beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';

beforeEach(() => tf.resetDefaultGraph());

const zeroVariable = () => new tf.Variable(0, { dtype: tf.float32 });

/** What the variables hold after one run of `fetch`. */
async function leftBy(fetch: tf.Tensor | tf.Operation | readonly tf.Tensor[], variables: readonly tf.Variable[]) {
  const session = new tf.Session();
  await session.run(tf.globalVariablesInitializer());
  await session.run(fetch);
  const values = await session.run(variables.map((v) => v.value()));
  await session.close();
  return values.map((v) => v.toArray());
}

const increased = (v: tf.Variable) => tf.identity(tf.convertToTensor(v.assignAdd(1)));
const isTrue = () => tf.placeholderWithDefault(true, []);
/** The node that a result comes from. */
function callOf(result: tf.Tensor): tf.Operation {
  let { op } = result;
  while (op.type === 'Identity') op = op.inputs[0]!.op;
  return op;
}

describe('a branch', () => {
  const build = () => {
    const [a, b, c] = [zeroVariable(), zeroVariable(), zeroVariable()];
    const results = tf.cond(
      isTrue(),
      () => [increased(a), increased(b)],
      () => [increased(c), tf.constant(5, tf.float32)],
    );
    return { variables: [a, b, c], results };
  };

  it('runs what the fetched results need', async () => {
    const { variables, results } = build();
    expect(await leftBy(results, variables)).toEqual([1, 1, 0]);
    expect(await leftBy(results[0]!, variables)).toEqual([1, 0, 0]);
    expect(await leftBy(results[1]!, variables)).toEqual([0, 1, 0]);
  });

  it('runs nothing for who only waits for it', async () => {
    const { variables, results } = build();
    const seven = tf.controlDependencies([callOf(results[0]!)], () => tf.constant(7));
    expect(await leftBy(seven, variables)).toEqual([0, 0, 0]);
    const waits = tf.controlDependencies([results[1]!], () => tf.constant(7));
    expect(await leftBy(waits, variables)).toEqual([0, 1, 0]);
  });

  it('runs whole when it is asked for itself', async () => {
    const { variables, results } = build();
    expect(await leftBy(callOf(results[0]!), variables)).toEqual([1, 1, 0]);
  });

  it('inside another gives what the outer one uses', async () => {
    const [a, b] = [zeroVariable(), zeroVariable()];
    const zero = tf.constant(0, tf.float32);
    const inner = () =>
      tf.cond(
        a.value().less(1),
        () => [increased(a), increased(b)],
        () => [zero, zero],
      );
    const outer = tf.cond(isTrue(), inner, () => [zero, zero]);
    expect(await leftBy(outer[1]!, [a, b])).toEqual([0, 1]);
  });

  it('of many leaves out results of every type', async () => {
    const x = tf.placeholderWithDefault(tf.constant(2, tf.float32), []);
    const texts = tf.switchCase(tf.placeholderWithDefault(tf.constant(1), []), [
      () => [tf.constant('one'), x, tf.range(2)] as tf.Tensor[],
      () => [tf.constant('two'), x.mul(2), tf.range(1)] as tf.Tensor[],
    ]);
    const session = new tf.Session();
    expect(String((await session.run(texts[0]!)).toArray())).toBe('two');
    expect((await session.run(texts[1]!)).toArray()).toBe(4);
    expect((await session.run(texts[2]!)).toArray()).toEqual([0]);
  });
});

describe('a loop', () => {
  const build = (limit: tf.Tensor) => {
    const [a, b] = [zeroVariable(), zeroVariable()];
    const zero = tf.constant(0, tf.float32);
    const results = tf.whileLoop(
      (i) => i.less(limit),
      (i) => [i.add(1), increased(a), increased(b)],
      [tf.constant(0), zero, zero],
    );
    return { variables: [a, b], results };
  };
  // A limit that is looked at is unrolled; one that follows from numbers drawn in the run is not.
  const limits: Record<string, () => tf.Tensor> = {
    unrolled: () => tf.constant(3),
    run: () => tf.cast(tf.randomUniform([], { seed: 1 }).mul(0), tf.int32).add(3),
  };

  for (const [how, limit] of Object.entries(limits))
    it(`that is ${how} runs what the fetched results need`, async () => {
      const { variables, results } = build(limit());
      expect(await leftBy(results, variables)).toEqual([3, 3]);
      expect(await leftBy(results[2]!, variables)).toEqual([0, 3]);
      expect(await leftBy(results[0]!, variables)).toEqual([0, 0]);
    });

  it('runs whole for who waits for it or fetches from it itself', async () => {
    const { variables, results } = build(tf.constant(3));
    const loop = callOf(results[0]!);
    const seven = tf.controlDependencies([loop], () => tf.constant(7));
    expect(await leftBy(seven, variables)).toEqual([3, 3]);
    expect(await leftBy(loop, variables)).toEqual([3, 3]);
    expect(await leftBy(loop.outputs[0]!, variables)).toEqual([3, 3]);
  });

  it('keeps what later trips need for a fetched result', async () => {
    const [a, b] = [zeroVariable(), zeroVariable()];
    const zero = tf.constant(0, tf.float32);
    // The third result needs the second of the trip before, and that needs `a`; nothing needs `b`.
    const results = tf.whileLoop(
      (i) => i.less(3),
      (i, x, y) => [i.add(1), increased(a), y.add(x), increased(b)],
      [tf.constant(0), zero, zero, zero],
    );
    const session = new tf.Session();
    await session.run(tf.globalVariablesInitializer());
    expect((await session.run(results[2]!)).toArray()).toBe(3);
    expect((await session.run([a.value(), b.value()])).map((v) => v.toArray())).toEqual([3, 0]);
  });
});
