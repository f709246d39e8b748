/** @file Running what only orders, prints, checks or calls back: group, Assert, Print, print, jsFunc, checks. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

let sess: tf.Session;
const inGraph = (body: () => Promise<void>) => async () => {
  const graph = new tf.Graph();
  sess = new tf.Session({ graph });
  await graph.asDefault(body);
};

describe('printing', () => {
  let printed = '';
  beforeEach(() => {
    printed = '';
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      printed += String(text);
      return true;
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it(
    'Print writes each value in brackets, as TensorFlow does, and passes its input on',
    inGraph(async () => {
      const x = tf.placeholder(tf.float32, [4]);
      const y = tf.Print(
        x,
        [
          x,
          tf.constant('s'),
          tf.constant([
            [1.5, 2],
            [3, 4],
          ]),
        ],
        { message: 'hi: ' },
      );
      expect((await sess.run(y, [[x, [1, 2.5, 3, 4]]])).toArray()).toEqual([1, 2.5, 3, 4]);
      expect(printed).toBe('hi: [1 2.5 3...][s][[1.5 2][3...]...]\n');
    }),
  );

  it(
    'Print stops after firstN times',
    inGraph(async () => {
      const x = tf.constant(1.5);
      const y = tf.Print(x, [x], { firstN: 2 });
      for (let i = 0; i < 4; i++) await sess.run(y);
      expect(printed).toBe('[1.5]\n[1.5]\n');
    }),
  );

  it(
    'print takes what to print one by one, too, and options last',
    inGraph(async () => {
      const x = tf.constant([1, 2]);
      await sess.run(tf.print('x', x, { sep: '=', end: ';' }));
      await sess.run(tf.print(x, { k: x }));
      await sess.run(tf.print(x, [x, 3]));
      expect(printed).toBe("x=[1 2];[1 2] {'k': [1 2]}\n[1 2] [[1 2], 3]\n");
      expect(() => tf.print([x], { sepp: '' } as never)).toThrow(/tf\.print has no option 'sepp'/);
    }),
  );

  it(
    'print shows tensors inside text, lists and records',
    inGraph(async () => {
      const x = tf.placeholder(tf.float32, [4]);
      const p = tf.print(['a', x, { k: x }, [1, x]]);
      await sess.run(p, [[x, [1, 2.5, 3, 4]]]);
      expect(printed).toBe("a [1 2.5 3 4] {'k': [1 2.5 3 4]} [1, [1 2.5 3 4]]\n");
    }),
  );

  it(
    'print writes to files',
    inGraph(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'tensorloom-'));
      const file = join(folder, 'out.txt');
      try {
        await sess.run(tf.print(['x', tf.constant([1, 2])], { outputStream: `file://${file}`, sep: '=', end: ';' }));
        expect(readFileSync(file, 'utf8')).toBe('x=[1 2];');
      } finally {
        rmSync(folder, { recursive: true });
      }
    }),
  );
});

describe('waiting', () => {
  it(
    'group takes what it waits for one by one, in lists, and with a name',
    inGraph(async () => {
      const v = new tf.Variable([1.5], { name: 'v' });
      const ops = [v.assignAdd([1]), v.initializer];
      const groups = [
        tf.group(v.assignAdd([1]), v.op),
        tf.group(...ops, { name: 'both' }),
        tf.group(v.initializer, ops, null),
        tf.group(),
        tf.group({ name: 'nothing' }),
        tf.group({ op: v.op }),
        tf.group([], { name: 'list' }),
      ];
      expect(groups.map((g) => [g.name, g.controlInputs.length])).toEqual([
        ['group_deps', 2],
        ['both', 2],
        ['group_deps_1', 2],
        ['group_deps_2', 0],
        ['nothing', 0],
        ['group_deps_3', 1],
        ['list', 0],
      ]);
      expect(() => tf.group(v.op, { nam: 'x' } as never)).toThrow(/tf\.group has no option 'nam'/);
    }),
  );

  it(
    'group and withDependencies run what they wait for',
    inGraph(async () => {
      const calls: string[] = [];
      const note = (name: string) =>
        tf.jsFunc(
          () => {
            calls.push(name);
            return 1;
          },
          [],
          tf.int32,
        );
      const [a, b] = [note('a'), note('b')];
      await sess.run(tf.group([a, [b]]));
      expect(calls.sort()).toEqual(['a', 'b']);
      const held = tf.withDependencies([note('c')], tf.constant(5));
      expect((await sess.run(held)).item()).toBe(5);
      expect(calls).toContain('c');
    }),
  );
});

describe('jsFunc', () => {
  it(
    'gives arrays to the function and takes arrays or plain values back',
    inGraph(async () => {
      const x = tf.placeholder(tf.float32, [null]);
      const largest = tf.jsFunc((a) => Math.max(...a.numbers()), [x], tf.float32);
      const [twice, count] = tf.jsFunc((a) => [a.numbers().map((v) => 2 * v), a.size], [x], [tf.float32, tf.int64]);
      const [m, t, c] = await sess.run([largest, twice!, count!], [[x, [1, 5, 3]]]);
      expect([m.item(), t.toArray(), c.item()]).toEqual([5, [2, 10, 6], 3]);
    }),
  );

  it(
    'may answer later, and its errors come through',
    inGraph(async () => {
      const late = tf.jsFunc(async () => 'done', [], tf.string);
      expect((await sess.run(late)).item()).toBe('done');
      const bad = tf.jsFunc(
        () => {
          throw new Error('the user said no');
        },
        [],
        tf.float32,
      );
      await expect(sess.run(bad)).rejects.toThrow(/the user said no/);
      const wrong = tf.jsFunc(() => [1, 2, 3], [], [tf.float32, tf.float32]);
      await expect(sess.run(wrong.slice())).rejects.toThrow(/returns 3 values, but expects to see 2/);
    }),
  );
});

describe('checks at run time', () => {
  it(
    'Assert shows the data in TensorFlow words',
    inGraph(async () => {
      const ok = tf.placeholder(tf.bool, []);
      const check = tf.Assert(ok, ['numbers', tf.constant([1, 2, 3, 4])]);
      await sess.run(check, [[ok, true]]);
      await expect(sess.run(check, [[ok, false]])).rejects.toThrow(/assertion failed: \[numbers\] \[1 2 3\.\.\.\]/);
    }),
  );

  it(
    'the assert family fails on the wrong values and passes on the right ones',
    inGraph(async () => {
      const x = tf.placeholder(tf.float32, null);
      const y = tf.placeholder(tf.float32, null);
      const checks: [tf.Operation, number[], number[], RegExp][] = [
        [tf.assertEqual(x, y), [1, 2], [1, 3], /Condition x == y did not hold/],
        [tf.assertNoneEqual(x, y), [2, 1], [1, 0], /Condition x != y/],
        [tf.assertLess(x, y), [0, 0], [1, 2], /Condition x < y/],
        [tf.assertLessEqual(x, y), [1, 2], [2, 3], /Condition x <= y/],
        [tf.assertGreater(x, y), [2, 3], [1, 2], /Condition x > y/],
        [tf.assertGreaterEqual(x, y), [1, 2], [0, 2], /Condition x >= y/],
        [tf.assertPositive(x), [1, 2], [1, 0], /Condition x > 0/],
        [tf.assertNegative(x), [-1, -2], [1, 0], /Condition x < 0/],
        [tf.assertNonNegative(x), [0, 2], [1, -1], /Condition x >= 0/],
        [tf.assertNonPositive(x), [0, -2], [1, 0], /Condition x <= 0/],
        [tf.assertNear(x, y), [1, 2.0000001], [1, 3], /not equal to tolerance/],
        [tf.assertRank(x, 1), [1], [1], /must have rank/],
      ];
      const other = [1, 2];
      for (const [check, good, bad, message] of checks) {
        await sess.run(check, [
          [x, good],
          [y, other],
        ]);
        const isRank = check.name.startsWith('assert_rank');
        await expect(
          sess.run(check, [
            [x, isRank ? 5 : bad],
            [y, other],
          ]),
        ).rejects.toThrow(message);
      }
    }),
  );

  it(
    'what is known while building fails while building',
    inGraph(async () => {
      expect(() => tf.assertPositive([1, -1])).toThrow(/Condition x > 0/);
      expect(() => tf.assertRank(tf.constant([1, 2]), 2, { message: 'matrix' })).toThrow(
        /matrix\. {2}Tensor .* rank 2\. {2}Received rank 1/,
      );
      expect(() => tf.assertRankIn([1], [2, 3])).toThrow(/rank in \(2, 3\)/);
      expect(() => tf.assertInteger([0.5])).toThrow(/integer type/);
      expect(() => tf.assertType([1], tf.float32)).toThrow(/must be of type float32; got int32/);
      expect(() => tf.assertScalar([1])).toThrow(/Expected scalar shape/);
      expect(tf.isNumericTensor(tf.constant('a'))).toBe(false);
    }),
  );

  it(
    'order along a tensor',
    inGraph(async () => {
      const x = tf.placeholder(tf.float32, [null]);
      const [weak, strict] = [tf.isNonDecreasing(x), tf.isStrictlyIncreasing(x)];
      const both = async (values: number[]) => {
        const [a, b] = await sess.run([weak, strict], [[x, values]]);
        return [a.item(), b.item()];
      };
      expect(await both([1, 2, 2])).toEqual([true, false]);
      expect(await both([1, 2, 3])).toEqual([true, true]);
      expect(await both([3, 2])).toEqual([false, false]);
      expect(await both([7])).toEqual([true, true]);
      expect(await both([])).toEqual([true, true]);
    }),
  );
});

describe('tf.test', () => {
  it(
    'computeGradientError is small for a right gradient and large for a wrong one',
    inGraph(async () => {
      const x = tf.placeholder(tf.float64, [2, 3]);
      const w = tf.constant(
        [
          [0.15, 0.2],
          [0.3, 0.4],
          [0.5, 0.6],
        ],
        { dtype: tf.float64 },
      );
      // So flat that differences are near derivatives wherever x is drawn.
      const y = tf.tanh(tf.matmul(x, w));
      expect(await tf.test.computeGradientError(x, [2, 3], y, [2, 2], { session: sess })).toBeLessThan(1e-5);
      tf.registerGradient('Halved', (_, dy) => tf.multiply(dy, tf.constant(0.5, { dtype: tf.float64 })));
      const wrong = tf.getDefaultGraph().gradientOverrideMap({ Tanh: 'Halved' }, () => tf.tanh(x));
      expect(await tf.test.computeGradientError(x, [2, 3], wrong, [2, 3], { session: sess })).toBeGreaterThan(0.01);
      const [theoretical] = await sess.asDefault(() => tf.test.computeGradient([x], [[2, 3]], tf.square(x), [2, 3]));
      expect(theoretical![0].shape).toEqual([6, 6]);
    }),
  );

  it(
    'treats complex numbers as pairs',
    inGraph(async () => {
      const x = tf.placeholder(tf.complex128, [2]);
      const error = await tf.test.computeGradientError(x, [2], tf.multiply(x, x), [2], { session: sess });
      expect(error).toBeLessThan(1e-8);
    }),
  );
});
