/** @file What branches, loops and functions do: effects, variables, captures, changed operations, imported graphs. */
import { beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';
import { AttrList } from '../../../src/proto/attr.ts';

beforeEach(() => tf.resetDefaultGraph());

const run = async (fetches: tf.Tensor, x?: tf.Tensor, value?: unknown) => {
  const session = new tf.Session();
  if (tf.globalVariables().length > 0) await session.run(tf.globalVariablesInitializer());
  return (await session.run(fetches, x ? new Map([[x, value]]) : new Map())).toArray();
};
const scalar = (name = 'x') => tf.placeholder(tf.float32, [], { name });

describe('effects', () => {
  it('are told from reading: a call says which resources it only reads', () => {
    const [v, w] = [new tf.Variable(1.5), new tf.Variable(2.5)];
    const zero = tf.constant(0, tf.float32);
    const chosen = tf.cond(
      scalar().greater(0),
      () => tf.identity(tf.convertToTensor(w.assignAdd(v.value()))),
      () => zero,
    );
    let { op } = chosen;
    while (op.type === 'Identity') op = op.inputs[0]!.op;
    const onlyRead = (op.attrs['_read_only_resource_inputs']?.list?.i ?? []).map((i) => op.inputs[Number(i)]);
    expect(onlyRead).toEqual([v.handle]);
    expect(op.inputs).toContain(w.handle);
  });

  it('of a branch happen when its result needs them, and only in the branch taken', async () => {
    const x = scalar();
    const v = new tf.Variable(0, { dtype: tf.float32 });
    const op = tf.cond(
      x.greater(0),
      () => tf.group([v.assignAdd(1).op]),
      () => v.assignAdd(10).op,
    );
    const unused = tf.cond(
      x.greater(0),
      () => {
        v.assignAdd(1000);
        return x;
      },
      () => x,
    );
    const session = new tf.Session();
    await session.run(v.initializer);
    for (const value of [1, -1, 1]) await session.run([op, unused], new Map([[x, value]]));
    expect((await session.run(v)).toArray()).toBe(12);
  });

  it('of a loop happen in every iteration', async () => {
    const v = new tf.Variable(1, { dtype: tf.float32 });
    const [, last] = tf.whileLoop(
      (i) => i.less(5),
      (i, _) => [i.add(1), tf.convertToTensor(v.assignAdd(v.value()))],
      [tf.constant(0), tf.constant(0, tf.float32)],
    );
    expect(await run(last)).toBe(32);
  });

  it('of a function happen in their order, though nothing needs them', async () => {
    const v = new tf.Variable(1, { dtype: tf.float32 });
    const f = tf.function(() => {
      v.assign(v.value().mul(10));
      v.assignAdd(1);
      const now = v.value();
      v.assign(100);
      return now;
    });
    const y = f();
    const session = new tf.Session();
    await session.run(v.initializer);
    expect([(await session.run(y)).toArray(), (await session.run(v)).toArray()]).toEqual([11, 100]);
    const [body] = [...tf.getDefaultGraph().functions.values()];
    const waits = Object.fromEntries(
      body!.node_def.map((n) => [n.name, n.input.filter((text) => text.startsWith('^'))]),
    );
    expect(waits).toMatchObject({
      AssignVariableOp: ['^ReadVariableOp'],
      ReadVariableOp_1: ['^AssignVariableOp'],
      AssignAddVariableOp: ['^AssignVariableOp', '^ReadVariableOp_1'],
      Identity: ['^NoOp'],
    });
    expect(Object.values(body!.control_ret)).toContain('AssignVariableOp_1');
  });

  it('wait for operations outside that the body waits for', async () => {
    const x = scalar();
    const v = new tf.Variable(0, { dtype: tf.float32 });
    const first = v.assign(5).op;
    const y = tf.cond(
      x.greater(0),
      () => tf.controlDependencies([first], () => v.value().add(0)),
      () => x,
    );
    expect(graphInputs('cond')).toContain(`^${first.name}`);
    expect(await run(y, x, 1)).toBe(5);
  });
});

const graphInputs = (name: string) => tf.getDefaultGraph().getOperationByName(name).nodeDef.input;

describe('variables', () => {
  it('made in a body are made once, outside, under the scope of the loop', async () => {
    const x = scalar();
    const [, y] = tf.variableScope('s', { reuse: tf.AUTO_REUSE }, () =>
      tf.whileLoop(
        (i) => i.less(3),
        (i, a) => [i.add(1), a.mul(tf.getVariable('w', [], { initializer: tf.constantInitializer(2) }))],
        [tf.constant(0), x],
      ),
    );
    expect(tf.globalVariables().map((v) => v.name)).toEqual(['s/w:0']);
    expect(await run(y, x, 3)).toBe(24);
  });

  it('can be trained inside a branch', async () => {
    const x = scalar();
    const v = new tf.Variable(3, { dtype: tf.float32 });
    const train = tf.cond(
      x.greater(0),
      () => new tf.train.AdamOptimizer(0.5).minimize(tf.square(v.value().sub(x))),
      () => tf.noOp(),
    );
    const session = new tf.Session();
    await session.run(tf.globalVariablesInitializer());
    await session.run(train, new Map([[x, -1]]));
    expect((await session.run(v)).toArray()).toBe(3);
    await session.run(train, new Map([[x, 1]]));
    expect((await session.run(v)).toArray()).toBeCloseTo(2.5, 5);
  });

  it('give their initial value before they have one', async () => {
    const v = new tf.Variable(2, { dtype: tf.float32, name: 'v' });
    const w = new tf.Variable(v.initializedValue().mul(3), { name: 'w' });
    expect(await run(w.value())).toBe(6);
  });

  it('cannot take a tensor of the body as initial value', () => {
    const make = () =>
      tf.cond(
        scalar().greater(0),
        () => new tf.Variable(tf.zeros([])).value(),
        () => tf.zeros([]),
      );
    expect(make).toThrow(/Tensor-typed variable initializers must be functions/);
  });
});

describe('collections and seeds', () => {
  it('are those of the graph outside', async () => {
    tf.setRandomSeed(7);
    const x = scalar();
    tf.cond(
      x.greater(0),
      () => {
        tf.addToCollection('mine', 'here');
        return tf.randomUniform([]);
      },
      () => x,
    );
    expect(tf.getCollection('mine')).toEqual(['here']);
    const [body] = [...tf.getDefaultGraph().functions.values()].filter((f) => f.signature?.name.includes('true'));
    const random = body!.node_def.find((n) => n.op === 'RandomUniform')!;
    expect([random.attr['seed']!.i, random.attr['seed2']!.i]).toEqual([7n, 0n]);
  });
});

describe('a gradient', () => {
  it('that changes a loop leaves sessions that ran it in working order', async () => {
    const x = scalar();
    const v = new tf.Variable(2, { dtype: tf.float32 });
    const [, y] = tf.whileLoop(
      (i) => i.less(3),
      (i, a) => [i.add(1), tf.sin(a.mul(v))],
      [tf.constant(0), x],
    );
    const session = new tf.Session();
    await session.run(v.initializer);
    await session.run(v.assign(0.5).op);
    const before = (await session.run(y, new Map([[x, 1]]))).toArray();
    const call = session.makeCallable(y, [x]);
    const g = tf.gradients(y, [x])[0] as tf.Tensor;
    const slope = (await session.run(g, new Map([[x, 1]]))).toArray() as number;
    expect((await session.run(y, new Map([[x, 1]]))).toArray()).toBe(before);
    expect((await call(1)).toArray()).toBe(before);
    const near = (await session.run(y, new Map([[x, 1.001]]))).toArray() as number;
    expect(slope).toBeCloseTo((near - (before as number)) / 0.001, 3);
  });

  it('of variables that change places is right (TensorFlow 2.21 takes them for constants of the loop)', async () => {
    const [a, b] = [scalar('a'), scalar('b')];
    const [, , y] = tf.whileLoop(
      (i) => i.less(3),
      (i, p, q) => [i.add(1), q, p.mul(q)],
      [tf.constant(0), a, b],
    );
    const session = new tf.Session();
    const found = await session.run(
      tf.gradients(y, [a, b]) as tf.Tensor[],
      new Map([
        [a, 2],
        [b, 3],
      ]),
    );
    expect(found.map((t) => t.toArray())).toEqual([108, 108]); // of a² b³
  });

  it('of a random number uses the number that was drawn', async () => {
    tf.setRandomSeed(3);
    const x = scalar();
    const [, y] = tf.whileLoop(
      (i) => i.less(4),
      (i, a) => [i.add(1), a.mul(tf.randomUniform([]))],
      [tf.constant(0), x],
    );
    const [g] = tf.gradients(y, [x]);
    const session = new tf.Session();
    const [value, slope] = await session.run([y, g as tf.Tensor], new Map([[x, 2]]));
    expect(slope!.toArray()).toBeCloseTo((value!.toArray() as number) / 2, 6);
  });

  it('stops at loops without backProp', () => {
    const x = scalar();
    const y = tf.whileLoop(
      (a) => a.less(10),
      (a) => a.mul(2),
      [x],
      { backProp: false },
    );
    expect(y.op.type).toBe('StopGradient');
    expect(tf.gradients(y, [x])).toEqual([null]);
  });

  it('passes through a graph that was imported', async () => {
    const build = () => {
      const x = scalar();
      const [, y] = tf.whileLoop(
        (i) => i.less(3),
        (i, a) => [
          i.add(1),
          tf.cond(
            i.equal(1),
            () => tf.sin(a.mul(x)),
            () => tf.square(a),
          ),
        ],
        [tf.constant(0), x],
      );
      tf.identity(y, { name: 'y' });
      return tf.getDefaultGraph();
    };
    const original = new tf.Graph().asDefault(build);
    const bytes = tf.GraphDef.encode(original.asGraphDef());
    const answers = [];
    for (const graph of [original, new tf.Graph()]) {
      if (graph !== original) graph.asDefault(() => tf.importGraphDef(tf.GraphDef.decode(bytes), { name: '' }));
      const [x, y] = ['x:0', 'y:0'].map((name) => graph.getTensorByName(name)) as [tf.Tensor, tf.Tensor];
      const g = graph.asDefault(() => tf.gradients(y, [x])[0] as tf.Tensor);
      const h = graph.asDefault(() => tf.gradients(g, [x])[0] as tf.Tensor);
      const found = await new tf.Session({ graph }).run([y, g, h], new Map([[x, 1.2]]));
      answers.push(found.map((t) => t.toArray()));
    }
    expect(answers[1]).toEqual(answers[0]);
  });

  it('of a function is taken twice, through two calls of the same body', async () => {
    const x = scalar();
    const v = new tf.Variable(2, { dtype: tf.float32 });
    const f = tf.function((a: tf.Tensor) => tf.sin(a.mul(v)));
    const y = f(f(x));
    const g = tf.gradients(y, [x])[0] as tf.Tensor;
    const h = tf.gradients(g, [x])[0] as tf.Tensor;
    const [s, c] = [Math.sin(1), Math.cos(1)]; // x = 0.5, so the inner argument is 1
    const slope = Math.cos(2 * s) * 2 * c * 2;
    const curve = -Math.sin(2 * s) * (2 * c * 2) ** 2 - Math.cos(2 * s) * 8 * s;
    expect(await run(g, x, 0.5)).toBeCloseTo(slope, 5);
    expect(await run(h, x, 0.5)).toBeCloseTo(curve, 4);
  });
});

describe('functions', () => {
  it('are built once for each combination of types and shapes', () => {
    let built = 0;
    const f = tf.function((a: tf.Tensor, twice: boolean) => {
      built++;
      return twice ? a.mul(2) : a;
    });
    f(tf.zeros([2]), true);
    f(tf.ones([2]), true);
    expect(built).toBe(1);
    f(tf.zeros([3]), true);
    f(tf.zeros([2]), false);
    expect(built).toBe(3);
  });

  it('take structures and give structures', async () => {
    const f = tf.function((p: { a: tf.Tensor; b: readonly [tf.Tensor, tf.Tensor] }) => ({
      sum: p.a.add(p.b[0]).add(p.b[1]),
      none: null,
    }));
    const { sum, none } = f({ a: tf.constant(1), b: [tf.constant(2), tf.constant(3)] });
    expect(none).toBeNull();
    expect(await run(sum)).toBe(6);
  });

  it('with a signature are built once for all shapes', async () => {
    const f = tf.function((a: tf.Tensor) => tf.reduceSum(a), {
      inputSignature: [{ dtype: tf.float32, shape: [null] }],
      name: 'total',
    });
    expect(await run(f(tf.constant([1.5, 2])).add(f(tf.constant([1, 2, 3], tf.float32))))).toBe(9.5);
    const names = [...tf.getDefaultGraph().functions.keys()].filter((name) => name.includes('total'));
    expect(names.length).toBe(1);
  });

  it('of the library are ops', async () => {
    const dy = tf.Defun([tf.float32, tf.float32], (_, d) => d.mul(100), { funcName: 'SquareGrad' });
    const square = tf.Defun([tf.float32], (a) => tf.square(a), { funcName: 'Square2', gradFunc: dy });
    const x = scalar();
    const y = square(x);
    expect([y.op.type, y.op.name]).toEqual(['Square2', 'Square2']);
    expect(await run(y, x, 3)).toBe(9);
    expect(await run(tf.gradients(y, [x])[0] as tf.Tensor, x, 3)).toBe(100);
  });

  it('of the library can have their gradient built by code', async () => {
    const square = tf.Defun([tf.float32], (a) => tf.square(a), {
      funcName: 'Square3',
      pythonGradFunc: (op, dy) => dy.mul(op.inputs[0]!).mul(7),
    });
    const x = scalar();
    expect(await run(tf.gradients(square(x), [x])[0] as tf.Tensor, x, 3)).toBe(21);
    const both = { gradFunc: square, pythonGradFunc: () => null };
    expect(() => tf.Defun([tf.float32], (a) => a, both)).toThrow(/Gradient defined twice/);
  });

  it('are differentiated when the graph runs, where it says SymbolicGradient', async () => {
    const loop = tf.Defun(
      [tf.float32, tf.int32, tf.float32],
      (a, n) => {
        const square = tf.function((b: tf.Tensor) => tf.square(b));
        const step = (i: tf.Tensor, b: tf.Tensor) => [i.add(1), tf.sin(square(b)).mul(a)] as const;
        return tf.whileLoop((i) => i.less(n), step, [tf.constant(0), a])[1]!;
      },
      { funcName: 'Loop' },
    );
    const x = scalar();
    const y = loop(x, 3, 1);
    const graph = tf.getDefaultGraph();
    const types = y.op.inputs.map((t) => t.dtype);
    const found = ['first', 'second'].map(
      (name) =>
        graph.createOp({
          type: 'SymbolicGradient',
          name,
          inputs: [...y.op.inputs, tf.constant(2, { dtype: tf.float32 })],
          attrs: {
            f: { func: { name: 'Loop', attr: {} } },
            Tin: { list: AttrList.create({ type: [...types, tf.float32].map((t) => t.number) }) },
            Tout: { list: AttrList.create({ type: types.map((t) => t.number) }) },
          },
        }).outputs,
    );
    const expected = tf.gradients(y, [x])[0] as tf.Tensor;
    for (const [dx, dn, unused] of found) {
      expect(await run(dx!, x, 0.9)).toBeCloseTo(2 * ((await run(expected, x, 0.9)) as number), 5);
      expect(await run(dn!, x, 0.9)).toBe(0);
      expect(await run(unused!, x, 0.9)).toBe(0);
    }
  });

  it('that are recomputed give the same gradients, also of variables', async () => {
    const x = scalar();
    const v = new tf.Variable(2, { dtype: tf.float32 });
    const f = (a: tf.Tensor) => tf.tanh(a.mul(v)).mul(a);
    const plain = tf.gradients(f(x), [x, v]) as tf.Tensor[];
    const again = tf.gradients(tf.recomputeGrad(f)(x), [x, v]) as tf.Tensor[];
    for (const [i, g] of plain.entries())
      expect(await run(again[i]!, x, 0.3)).toBeCloseTo((await run(g, x, 0.3)) as number, 6);
  });

  it('with a gradient of their own say so when they forget their variables', () => {
    const v = new tf.Variable(2, { dtype: tf.float32 });
    const x = scalar();
    const f = tf.customGradient((a) => ({ value: a.mul(v), grad: (dy) => dy }));
    expect(() => tf.gradients(f(x), [x, v])).toThrow(
      /reads variables \(Variable\), so it must also return 'variableGrads'/,
    );
    const g = tf.customGradient((a) => ({
      value: a.mul(v),
      grad: (dy) => dy,
      variableGrads: (variables, dy) => variables.map(() => dy.mul(7)),
    }));
    expect(tf.gradients(g(x), [x, v]).every((t) => t !== null)).toBe(true);
  });
});

describe('smartCond', () => {
  it('builds only the branch that is known', () => {
    const y = tf.smartCond(
      tf.constant(true),
      () => tf.constant(1, { name: 'one' }),
      () => tf.constant(2, { name: 'two' }),
    );
    expect(y.name).toBe('one:0');
    expect(tf.getDefaultGraph().has('two')).toBe(false);
    expect(
      tf.smartCond(
        scalar().greater(0),
        () => tf.zeros([]),
        () => tf.ones([]),
      ).op.type,
    ).toBe('Identity');
  });
});

describe('loops over composite values', () => {
  it('carry indexed slices', async () => {
    const x = scalar();
    const slices = new tf.IndexedSlices(tf.reshape(x, [1]), tf.constant([2]), tf.constant([4]));
    const [, out] = tf.whileLoop(
      (i) => i.less(3),
      (i, s) => [i.add(1), new tf.IndexedSlices(s.values.mul(2), s.indices, s.denseShape)],
      [tf.constant(0), slices],
    );
    expect(out).toBeInstanceOf(tf.IndexedSlices);
    expect(await run(tf.convertToTensor(out), x, 1.5)).toEqual([0, 0, 12, 0]);
  });

  it('carry sparse tensors, also through branches', async () => {
    const x = scalar();
    const sparse = new tf.SparseTensor([[1]], tf.reshape(x, [1]), [3]);
    const [, out] = tf.whileLoop(
      (i) => i.less(3),
      (i, s) => [
        i.add(1),
        tf.cond(
          i.equal(0),
          () => new tf.SparseTensor(s.indices, s.values.mul(2), s.denseShape),
          () => s,
        ),
      ],
      [tf.constant(0), sparse],
    );
    expect(out).toBeInstanceOf(tf.SparseTensor);
    expect(await run(out.values, x, 1.5)).toEqual([3]);
    expect(await run(tf.gradients(out.values, [x])[0] as tf.Tensor, x, 1.5)).toBe(2);
  });

  it('carry and grow arrays', async () => {
    const [, squares] = tf.whileLoop(
      (i) => i.less(4),
      (i, array) => [i.add(1), array.write(i, i.mul(i))],
      [tf.constant(0), new tf.TensorArray(tf.int32, { size: 0, dynamicSize: true })],
    );
    expect(await run(squares.stack())).toEqual([0, 1, 4, 9]);
    expect(await run(squares.size())).toBe(4);
  });
});

describe('conditions that are not bool', () => {
  it('follow TensorFlow: numbers other than 0, texts that are not empty', async () => {
    const pick = (pred: tf.Tensor) =>
      tf.cond(
        pred,
        () => tf.constant(1),
        () => tf.constant(2),
      );
    expect(await run(pick(tf.constant(0.5)))).toBe(1);
    expect(await run(pick(tf.constant(0)))).toBe(2);
    expect(await run(pick(tf.constant('no')))).toBe(1);
    expect(await run(pick(tf.constant('')))).toBe(2);
    expect(await run(pick(tf.constant([[true]])))).toBe(1);
  });
});
