/** @file The nodes of gradients, groups and checks equal TensorFlow's (tools/golden/gradients.py), and bad calls are refused. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import {
  AggregationMethod,
  customGradient,
  gradients,
  notDifferentiable,
  registerGradient,
} from '../../src/autodiff/index.ts';

type Row = [name: string, op: string, inputs: string[], colocation?: string[]];
const golden = JSON.parse(readFileSync(new URL('../golden/gradients.json', import.meta.url), 'utf8')) as Record<
  string,
  Row[]
>;

const x4 = () => tf.placeholder(tf.float32, [4], { name: 'x' });

registerGradient('Tripled', (_, dy) => tf.multiply(dy, 3));

const programs: Record<string, () => void> = {
  single() {
    const x = x4();
    gradients(tf.square(x), x);
  },
  severalYs() {
    const x = tf.placeholder(tf.float32, [null, 3], { name: 'x' });
    const y = tf.multiply(x, x);
    gradients([y, tf.add(tf.exp(x), y)], [x, y]);
  },
  gradYs() {
    const x = x4();
    const y = tf.square(x);
    gradients(y, x, { gradYs: [[1, 2, 3, 4]] });
    gradients(y, x, { gradYs: x });
  },
  unusedOutputs() {
    const x = x4();
    gradients(tf.split(x, 2)[0]!, x);
  },
  unconnected() {
    const x = x4();
    const p = tf.placeholder(tf.float32, [2], { name: 'p' });
    const q = tf.placeholder(tf.float32, [null], { name: 'q' });
    gradients(tf.exp(x), [p, q], { unconnectedGradients: 'zero' });
    expect(gradients(tf.exp(x), p)).toEqual([null]);
  },
  pairwise() {
    const x = x4();
    gradients(tf.add(tf.add(x, x), x), x, { aggregationMethod: AggregationMethod.EXPERIMENTAL_TREE });
  },
  sparse() {
    const x = tf.placeholder(tf.float32, [4, 2], { name: 'x' });
    const [dx] = gradients(tf.add(tf.gather(x, [0, 1]), tf.gather(x, [1, 2])), x);
    expect(dx).toBeInstanceOf(tf.IndexedSlices);
  },
  colocated() {
    const x = x4();
    const y = tf.multiply(x, x);
    gradients(tf.add(y, y), x, { colocateGradientsWithOps: true });
  },
  gated() {
    const x = x4();
    gradients(tf.multiply(x, x), x, { gateGradients: true });
  },
  integers() {
    const x = tf.placeholder(tf.int32, [4], { name: 'x' });
    expect(gradients(tf.multiply(x, x), x)).toEqual([null]);
  },
  stopped() {
    const a = tf.placeholder(tf.float32, [], { name: 'a' });
    const b = tf.multiply(a, 2);
    gradients(tf.add(a, b), [a, b], { stopGradients: [a, b] });
  },
  overridden() {
    const x = x4();
    const y = tf.getDefaultGraph().gradientOverrideMap({ Exp: 'Tripled' }, () => tf.exp(x));
    gradients(y, x);
  },
  custom() {
    const f = customGradient((x) => ({ value: tf.exp(x), grad: (dy) => tf.multiply(dy, x) }));
    const x = x4();
    const [dx] = gradients(f(x), x);
    gradients(dx!, x);
  },
  secondOrder() {
    const x = x4();
    const [dx] = gradients(tf.multiply(tf.multiply(x, x), x), x);
    gradients(dx!, x, { name: 'second' });
  },
  hessian() {
    const x = tf.placeholder(tf.float32, [null], { name: 'x' });
    tf.hessians(tf.reduceSum(tf.multiply(tf.square(x), x)), x);
  },
  groups() {
    const x = x4();
    const y = tf.add(x, 1);
    tf.group([x, y]);
    tf.tuple([x, y, null]);
    tf.noOp();
    tf.group([]);
    const z = tf.device('/cpu:0', () => tf.multiply(x, 2));
    tf.group([x, z], { name: 'both' });
  },
  checks() {
    const x = tf.placeholder(tf.int32, [4], { name: 'x' });
    const y = tf.placeholder(tf.int32, null, { name: 'y' });
    const r = tf.placeholder(tf.int32, [], { name: 'r' });
    tf.assertEqual(x, y);
    tf.assertEqual(x, x);
    tf.assertPositive(x);
    tf.assertNonPositive(x);
    tf.assertLess(x, 3, { message: 'm', name: 'named' });
    tf.assertRank(y, 2);
    tf.assertRank(x, 1);
    tf.assertRank(x, r);
    tf.assertRankAtLeast(y, 1);
    tf.assertRankIn(y, [1, 2]);
    tf.assertInteger(x);
    tf.assertType(x, tf.int32);
    tf.Assert(tf.reduceAll(tf.greater(x, 0)), ['hello', x]);
  },
};

function rows(graph: tf.Graph): Row[] {
  return graph.operations.map((op) => {
    const { name, input, attr } = op.nodeDef;
    const colocation = attr['_class']?.list?.s.map((s) => new TextDecoder().decode(s));
    return colocation ? [name, op.type, [...input], colocation] : [name, op.type, [...input]];
  });
}

describe('nodes equal TensorFlow', () => {
  it.each(Object.keys(golden))('%s', (name) => {
    const graph = new tf.Graph();
    graph.asDefault(programs[name]!);
    const text = (list: Row[]) => list.map((row) => JSON.stringify(row)).join('\n');
    expect(text(rows(graph))).toBe(text(golden[name]!));
  });
});

describe('gradients', () => {
  const inGraph = <T>(body: () => T): T => new tf.Graph().asDefault(body);

  it('of complex ys need gradYs', () => {
    inGraph(() => {
      const x = tf.placeholder(tf.complex64, [4]);
      expect(() => gradients(tf.multiply(x, x), x)).toThrow(/Gradients of complex tensors .* must set gradYs/);
    });
  });

  it('of one operation named twice count twice', async () => {
    const graph = new tf.Graph();
    const dx = graph.asDefault(() => {
      const x = tf.constant([3, 5], tf.float32);
      const y = tf.square(x);
      const [first, second] = tf.unstack(x) as [tf.Tensor, tf.Tensor];
      return [...gradients([y, y], x), ...gradients([first, second.mul(4)], x)] as tf.Tensor[];
    });
    const [twice, parts] = await new tf.Session({ graph }).run(dx);
    expect(twice!.toArray()).toEqual([12, 20]);
    expect(parts!.toArray()).toEqual([1, 4]);
  });

  it('wait for each other only where there is more than one', () => {
    const gates = (build: (x: tf.Tensor) => tf.Tensor) =>
      inGraph(() => {
        const x = x4();
        gradients(build(x), x, { gateGradients: true });
        return tf.getDefaultGraph().operations.filter(({ name }) => name.includes('/tuple/')).length;
      });
    expect(gates((x) => tf.reshape(x, [2, 2]))).toBe(0);
    expect(gates((x) => tf.multiply(x, x))).toBeGreaterThan(0);
  });

  it('refuse the wrong number of gradYs', () => {
    inGraph(() => {
      const x = x4();
      expect(() => gradients([x, x], x, { gradYs: [x] })).toThrow(/Passed 1 gradYs for 2 ys/);
    });
  });

  it('refuse a gradient function that returns too many or of the wrong shape', () => {
    registerGradient('TooMany', (_, dy) => [dy, dy]);
    registerGradient('WrongShape', () => tf.constant([1.5]));
    inGraph(() => {
      const x = x4();
      const graph = tf.getDefaultGraph();
      const many = graph.gradientOverrideMap({ Exp: 'TooMany' }, () => tf.exp(x));
      expect(() => gradients(many, x)).toThrow(/Num gradients 2 generated for op 'Exp'.*num inputs 1/);
      const wrong = graph.gradientOverrideMap({ Exp: 'WrongShape' }, () => tf.exp(x));
      expect(() => gradients(wrong, x)).toThrow(/Incompatible shapes between op input and calculated input gradient/);
    });
  });

  it('refuse a name registered twice, and say which op has none', () => {
    registerGradient('Once', (_, dy) => dy);
    expect(() => registerGradient('Once', (_, dy) => dy)).toThrow(/two gradient with name 'Once'/);
    expect(() => registerGradient('Exp', (_, dy) => dy)).toThrow(/two gradient with name 'Exp'/);
    notDifferentiable('Nothing');
    inGraph(() => {
      const x = x4();
      const graph = tf.getDefaultGraph();
      const nothing = graph.gradientOverrideMap({ Exp: 'Nothing' }, () => tf.exp(x));
      expect(gradients(nothing, x)).toEqual([null]);
      const lost = graph.gradientOverrideMap({ Exp: 'NeverRegistered' }, () => tf.exp(x));
      expect(() => gradients(lost, x)).toThrow(
        /No gradient defined for operation 'Exp_1' \(op type: NeverRegistered\)/,
      );
    });
  });

  it('refuse unknown options', () => {
    inGraph(() => {
      const x = x4();
      // @ts-expect-error: not one of the two
      expect(() => gradients(x, x, { unconnectedGradients: 'ones' })).toThrow(/'ones'/);
      // @ts-expect-error: not a method
      expect(() => gradients(x, x, { aggregationMethod: 7 })).toThrow(/aggregationMethod 7/);
    });
  });

  it('go through a chain of 100,000 nodes', () => {
    inGraph(() => {
      const x = tf.placeholder(tf.float32, [2]);
      let y: tf.Tensor = x;
      for (let i = 0; i < 100_000; i++) y = tf.negative(y);
      const [dx] = gradients(y, x);
      expect(dx).toBeInstanceOf(tf.Tensor);
    });
  });
});

describe('values', () => {
  it('of first and second derivatives', async () => {
    await new tf.Graph().asDefault(async () => {
      const x = tf.placeholder(tf.float32, [2]);
      const [dx] = gradients(tf.multiply(tf.multiply(x, x), x), x);
      const [d2x] = gradients(dx!, x);
      const sess = new tf.Session();
      const [a, b] = await sess.run([dx as tf.Tensor, d2x as tf.Tensor], [[x, [1, -2]]]);
      expect(a.toArray()).toEqual([3, 12]);
      expect(b.toArray()).toEqual([6, -12]);
    });
  });

  it('of a Hessian', async () => {
    await new tf.Graph().asDefault(async () => {
      const x = tf.placeholder(tf.float32, [2]);
      const y = tf.reduceSum(tf.multiply(tf.multiply(x, x), tf.reduceSum(x)));
      const [h] = tf.hessians(y, x);
      const sess = new tf.Session();
      // y = (a² + b²)(a + b): d²/da² = 6a + 2b, d²/dadb = 2a + 2b, d²/db² = 6b + 2a
      expect((await sess.run(h!, [[x, [1, 2]]])).toArray()).toEqual([
        [10, 6],
        [6, 14],
      ]);
    });
  });

  it('of Hessians whose size is known only when they run', async () => {
    await new tf.Graph().asDefault(async () => {
      const x = tf.placeholder(tf.float32, null);
      const [ofCube, ofLine] = [tf.pow(x, 3), tf.multiply(x, 2)].map((y) => tf.hessians(y, x)[0]!);
      const sess = new tf.Session();
      expect((await sess.run(ofCube!, [[x, [1, 2]]])).toArray()).toEqual([
        [6, 0],
        [0, 12],
      ]);
      expect((await sess.run(ofCube!, [[x, [[1], [2], [3]]]])).shape).toEqual([3, 1, 3, 1]);
      expect((await sess.run(ofCube!, [[x, 5]])).toArray()).toBe(30);
      expect((await sess.run(ofLine!, [[x, [1, 2]]])).toArray()).toEqual([
        [0, 0],
        [0, 0],
      ]);
      expect(() => tf.hessians(tf.constant(1.5), x)).toThrow(/ys do not depend on .*so there is no Hessian/);
    });
  });

  it('of sparse gradients summed', async () => {
    await new tf.Graph().asDefault(async () => {
      const x = tf.placeholder(tf.float32, [3, 1]);
      const y = tf.add(tf.gather(x, [0, 1]), tf.gather(x, [1, 2]));
      const [dx] = gradients(y, x);
      const dense = tf.convertToTensor(dx!);
      const sess = new tf.Session();
      expect((await sess.run(dense, [[x, [[1], [2], [3]]]])).toArray()).toEqual([[1], [2], [1]]);
    });
  });
});
