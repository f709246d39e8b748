/** @file What variables and scopes do when they run, and what they say when they are used wrongly. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { node, outputOf } from '../../src/op/node.ts';

/** Runs a test in a graph and session of its own. */
function inGraph(body: (sess: tf.Session) => Promise<void>): () => Promise<void> {
  return async () => {
    const graph = new tf.Graph();
    await graph.asDefault(() => body(new tf.Session({ graph })));
  };
}
const message = (text: string) => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));

describe('sharing', () => {
  it(
    'an unshared name says where it was first made',
    inGraph(async () => {
      tf.getVariable('weights', [2]);
      const again = () => tf.getVariable('weights', [2]);
      expect(again).toThrow(
        message(
          'Variable weights already exists, disallowed. Did you mean { reuse: true } or { reuse: tf.AUTO_REUSE } in tf.variableScope?',
        ),
      );
      expect(again).toThrow(/Originally defined at: .*variableBehaviour\.test\.ts:\d+/);
    }),
  );

  it(
    'sharing needs an existing variable of the same shape and type',
    inGraph(async () => {
      tf.getVariable('w', [2, 3]);
      tf.variableScope(tf.getVariableScope(), { reuse: true }, () => {
        expect(() => tf.getVariable('x')).toThrow(
          message('Variable x does not exist, or was not created with tf.getVariable().'),
        );
        expect(() => tf.getVariable('w', [3, 3])).toThrow(
          message('Trying to share variable w, but specified shape (3, 3) and found shape (2, 3).'),
        );
        expect(() => tf.getVariable('w', [2, 3], { dtype: tf.float64 })).toThrow(
          message('Trying to share variable w, but specified dtype float64 and found dtype float32.'),
        );
      });
      expect(() => tf.getVariable('n')).toThrow(message('Variable n did not get an initializer'));
      expect(() => tf.getVariable('c', [2], { initializer: tf.constant([1, 2]) })).toThrow(
        message('If initializer is a constant, do not specify shape.'),
      );
    }),
  );

  it(
    'takes true, false and AUTO_REUSE and no other spelling',
    inGraph(async () => {
      const spelt = 'True' as never; // what plain JavaScript may pass
      const refusal =
        /reuse must be true, false or tf\.AUTO_REUSE, but got 'True'\.\n.*variableBehaviour\.test\.ts:\d+/;
      expect(() => tf.variableScope('s', { reuse: spelt }, () => tf.getVariable('w', [2]))).toThrow(refusal);
      expect(() => tf.getVariableScope().getVariable('w', [2], { reuse: spelt })).toThrow(refusal);
      expect(() => tf.layers.dense(tf.ones([1, 2]), 3, { name: 'd', reuse: spelt })).toThrow(refusal);
      expect(tf.globalVariables()).toEqual([]);
    }),
  );

  it(
    'reuseVariables shares from then on, also in inner scopes',
    inGraph(async () => {
      tf.variableScope('model', (scope) => {
        const first = tf.variableScope('conv', () => tf.getVariable('w', [1]));
        scope.reuseVariables();
        expect(tf.variableScope('conv', () => tf.getVariable('w', [1]))).toBe(first);
      });
      expect(tf.globalVariables().map(String)).toEqual(["<tf.Variable 'model/conv/w:0' shape=(1,) dtype=float32>"]);
    }),
  );

  it(
    'a scope lasts to the end of its block, or of the promise its body gives',
    inGraph(async () => {
      {
        using scope = tf.variableScope('a');
        expect(scope.name).toBe('a');
        expect(tf.getVariable('v', [1]).name).toBe('a/v:0');
      }
      expect(tf.getVariableScope().name).toBe('');
      const name = await tf.variableScope('b', async () => {
        await Promise.resolve();
        return tf.getVariable('v', [1]).name;
      });
      expect(name).toBe('b/v:0');
      expect(() => tf.variableScope(null, () => 0)).toThrow(/defaultName/);
    }),
  );

  it(
    'a template makes its variables once',
    inGraph(async (sess) => {
      const scale = tf.makeTemplate('scale', (x: number) =>
        tf.getVariable('factor', [], { initializer: tf.onesInitializer() }).mul(x),
      );
      const both = [scale(2), scale(3)];
      expect(tf.globalVariables().map((v) => v.name)).toEqual(['scale/factor:0']);
      expect(both.map((t) => t.name)).toEqual(['scale/mul:0', 'scale_1/mul:0']);
      await sess.run(tf.globalVariablesInitializer());
      expect((await sess.run(both)).map(Number)).toEqual([2, 3]);
      const wrong = tf.makeTemplate('wrong', () => new tf.Variable(1.5));
      wrong();
      expect(wrong).toThrow(/New trainable variables created when calling a template after the first time/);
    }),
  );

  it(
    'the kind of variable comes from the scope, or from the program',
    inGraph(async () => {
      const kinds = () => [
        new tf.Variable(1.5).op.type,
        tf.getVariable(`v${tf.globalVariables().length}`, [1]).op.type,
      ];
      expect(tf.variableScope('refs', { useResource: false }, kinds)).toEqual(['VariableV2', 'VariableV2']);
      tf.disableResourceVariables();
      expect(kinds()).toEqual(['VariableV2', 'VariableV2']);
      expect(tf.variableScope('handles', { useResource: true }, kinds)).toEqual(['VarHandleOp', 'VarHandleOp']);
      tf.enableResourceVariables();
      expect(kinds()).toEqual(['VarHandleOp', 'VarHandleOp']);
    }),
  );

  it(
    'two graphs do not share',
    inGraph(async () => {
      tf.getVariable('v', [1]);
      const other = new tf.Graph();
      expect(other.asDefault(() => tf.variableScope('s', () => tf.getVariable('v', [1]).name))).toBe('s/v:0');
    }),
  );
});

describe('values', () => {
  it(
    'are there only after initialization',
    inGraph(async (sess) => {
      const v = new tf.Variable([1.5, 2], { name: 'v' });
      const r = new tf.Variable([1.5, 2], { name: 'r', useResource: false });
      const [hasV, hasR] = [tf.isVariableInitialized(v), tf.isVariableInitialized(r)];
      const report = tf.reportUninitializedVariables();
      await expect(sess.run(v)).rejects.toThrow(
        message(
          'Could not find variable v. This could mean that the variable has been deleted. In TF1, it can also mean the variable is uninitialized.',
        ),
      );
      await expect(sess.run(v)).rejects.toThrow(tf.errors.FailedPreconditionError);
      await expect(sess.run(r)).rejects.toThrow(message('Attempting to use uninitialized value r'));
      await expect(sess.run(v.assignAdd([1, 1]))).rejects.toThrow(tf.errors.NotFoundError);
      expect((await sess.run([hasV, hasR])).map((x) => x.item())).toEqual([false, false]);
      expect((await sess.run(report)).toArray()).toEqual(['v', 'r']);
      await sess.run(v.initializer);
      expect((await sess.run(report)).toArray()).toEqual(['r']);
      await sess.run(r.initializer);
      expect((await sess.run([hasV, hasR])).map((x) => x.item())).toEqual([true, true]);
      expect((await sess.run(report)).toArray()).toEqual([]);
    }),
  );

  it(
    'are snapshots: a read before a write keeps what it read',
    inGraph(async (sess) => {
      const v = new tf.Variable([1, 2], { dtype: tf.float32 });
      const before = v.readValue();
      const write = tf.controlDependencies([before], () => v.assign([10, 20]));
      const after = tf.controlDependencies([write], () => v.readValue());
      await sess.run(v.initializer);
      const [a, , b] = await sess.run([before.add(0), write, after] as const);
      expect([a.toArray(), b.toArray()]).toEqual([
        [1, 2],
        [10, 20],
      ]);
    }),
  );

  it(
    'follow every write of one run in order',
    inGraph(async (sess) => {
      const v = new tf.Variable([
        [1.5, -2],
        [0.25, 3],
        [-1.25, 0.5],
      ]);
      const doubled = v.assign(v.mul(2));
      const added = tf.controlDependencies([doubled], () =>
        v.scatterAdd(new tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 2]))),
      );
      await sess.run(v.initializer);
      const [between, end] = await sess.run([doubled, added] as const);
      expect(between.toArray()).toEqual([
        [3, -4],
        [0.5, 6],
        [-2.5, 1],
      ]);
      expect(end.toArray()).toEqual([
        [4, -3],
        [0.5, 6],
        [-1.5, 2],
      ]);
    }),
  );

  it(
    'can be loaded and evaluated, and change size when the shape leaves it open',
    inGraph(async (sess) => {
      const v = new tf.Variable([1, 2], { dtype: tf.float32, shape: [null] });
      await v.load([3, 4], sess);
      expect((await v.eval([], sess)).toArray()).toEqual([3, 4]);
      await sess.run(v.assign([7]));
      expect((await sess.run(v.add(1))).toArray()).toEqual([8]);
      expect(() => new tf.Variable([1, 2]).assign([1, 2, 3])).toThrow(
        /shape \(3,\) to variable 'Variable_1:0', which has shape \(2,\)/,
      );
      expect(() => new tf.Variable([1, 2], { shape: [3] })).toThrow(/is not compatible/);
    }),
  );

  it(
    'of the wrong type or shape are refused',
    inGraph(async (sess) => {
      const v = new tf.Variable([1.5, 2], { name: 'v' });
      const r = new tf.Variable([1.5, 2], { name: 'r', useResource: false });
      await sess.run(tf.globalVariablesInitializer());
      expect(() => outputOf('ReadVariableOp', { resource: v.handle! }, { attrs: { dtype: tf.int32 } })).toThrow(
        message('Trying to read variable with wrong dtype. Expected float got int32'),
      );
      const x = tf.placeholder(tf.float32);
      const feeds = [[x, [[1, 2, 3]]]] as const;
      await expect(sess.run(v.assign(x), feeds)).rejects.toThrow(
        message('Trying to assign to variable with tensor with wrong shape. Expected [2] got [1,3]'),
      );
      await expect(sess.run(r.assign(x), feeds)).rejects.toThrow(
        message('Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [1,3]'),
      );
      await expect(sess.run(v.assignSub(x), feeds)).rejects.toThrow(
        message('Cannot update variable with shape [2] using a Tensor with shape [1,3], shapes must be equal.'),
      );
      const step = node('ResourceApplyGradientDescent', { var: v.handle!, alpha: 0.5, delta: x });
      await expect(sess.run(step, feeds)).rejects.toThrow(message('var and delta do not have the same shape[2] [1,3]'));
    }),
  );

  it(
    'are gone when destroyed, and come back when assigned',
    inGraph(async (sess) => {
      const v = new tf.Variable([1.5, 2], { name: 'v' });
      const destroy = node('DestroyResourceOp', { resource: v.handle! });
      const strict = node('DestroyResourceOp', { resource: v.handle! }, { attrs: { ignore_lookup_error: false } });
      await sess.run(v.initializer);
      await sess.run(destroy);
      await expect(sess.run(v)).rejects.toThrow(/Could not find variable v/);
      await sess.run(destroy);
      await expect(sess.run(strict)).rejects.toThrow(tf.errors.NotFoundError);
      await sess.run(v.initializer);
      expect((await sess.run(v)).toArray()).toEqual([1.5, 2]);
    }),
  );

  it(
    'of temporary variables last for one run',
    inGraph(async (sess) => {
      const attrs = { shape: [2], dtype: tf.float32, var_name: 'sum' };
      const ref = outputOf('TemporaryVariable', {}, { attrs });
      const set = outputOf('Assign', { ref, value: [1, 2] });
      const more = outputOf('AssignAdd', { ref: set, value: [3, 4] });
      const value = outputOf('DestroyTemporaryVariable', { ref: more }, { attrs: { var_name: 'sum' } });
      for (let i = 0; i < 2; i++) expect((await sess.run(value)).toArray()).toEqual([4, 6]);
    }),
  );

  it(
    'obey a constraint after each step of an optimizer',
    inGraph(async (sess) => {
      const v = new tf.Variable([1.5, -2], { constraint: (x) => tf.maximum(x, 0) });
      const train = new tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduceSum(v));
      await sess.run(tf.globalVariablesInitializer());
      await sess.run(train);
      expect((await sess.run(v)).toArray()).toEqual([1, 0]);
    }),
  );

  it(
    'of partitioned variables are concatenated and assigned slice by slice',
    inGraph(async (sess) => {
      const p = tf.getVariable('p', [3, 2], {
        partitioner: tf.fixedSizePartitioner(2),
        initializer: tf.zerosInitializer(),
      });
      await sess.run(tf.globalVariablesInitializer());
      await sess.run(
        p.assign([
          [1, 2],
          [3, 4],
          [5, 6],
        ]) as tf.Tensor[],
      );
      expect((await sess.run(tf.identity(p))).toArray()).toEqual([
        [1, 2],
        [3, 4],
        [5, 6],
      ]);
      expect([...p].map((v) => v.shape)).toEqual([
        [2, 2],
        [1, 2],
      ]);
    }),
  );
});

describe('optimizers', () => {
  it(
    'say what is missing',
    inGraph(async () => {
      const opt = new tf.train.GradientDescentOptimizer(0.1);
      const x = tf.placeholder(tf.float32, []);
      expect(() => opt.minimize(x)).toThrow(/No variables to optimize/);
      const v = new tf.Variable(1.5);
      expect(() => opt.minimize(x)).toThrow(/No gradients provided for any variable/);
      expect(() => opt.applyGradients([])).toThrow(/No variables provided/);
      expect(() => opt.computeGradients(tf.constant(1))).toThrow(/Invalid type int32/);
      expect(() => new tf.train.AdagradOptimizer(0.1, { initialAccumulatorValue: 0 })).toThrow(/must be positive/);
      expect(opt.computeGradients(x.mul(2), [v])).toEqual([[null, v]]);
    }),
  );

  it(
    'take rates as tensors and functions, and clipped gradients',
    inGraph(async (sess) => {
      const W = new tf.Variable([1.5, -2], { name: 'W' });
      const rate = tf.placeholder(tf.float32, []);
      const opt = new tf.train.MomentumOptimizer(rate, () => 0.5);
      const pairs = opt.computeGradients(tf.reduceSum(tf.square(W)), [W]);
      const clipped = pairs.map(([g, v]) => [g && tf.minimum(tf.maximum(g, -1), 1), v] as const);
      const train = opt.applyGradients(clipped);
      await sess.run(tf.globalVariablesInitializer());
      await sess.run(train, [[rate, 0.5]]);
      expect((await sess.run(W)).toArray()).toEqual([1, -1.5]);
      expect(opt.getSlot(W, 'momentum')!.name).toBe('W/Momentum:0');
      expect(opt.getSlot(W, 'other')).toBeNull();
    }),
  );
});

describe('a variable that gets another shape', () => {
  const filled = (size: number, value: number) => new Float32Array(size).fill(value);
  const kinds = [{ useResource: true }, { useResource: false }];
  /** A variable of four threes, and what gives it another content. */
  function changing(useResource: boolean) {
    const value = tf.placeholder(tf.float32, [null]);
    const initializer = tf.constant([3, 3, 3, 3], { dtype: tf.float32 });
    const variable = tf.getVariable('v', { initializer, useResource, validateShape: false });
    return { value, variable, assign: tf.assign(variable, value, { validateShape: false }) };
  }

  it.each(kinds)('is read as it was before, where that was asked for ($useResource)', ({ useResource }) =>
    inGraph(async (sess) => {
      const { value, variable } = changing(useResource);
      const before = tf.identity(variable);
      const twice = tf.controlDependencies([before], () =>
        tf.controlDependencies([tf.assign(variable, value, { validateShape: false })], () => tf.multiply(before, 2)),
      );
      await sess.run(tf.globalVariablesInitializer());
      expect((await sess.run(twice, new Map([[value, filled(100, 7)]]))).numbers()).toEqual([6, 6, 6, 6]);
      expect((await sess.run(variable)).numbers()).toEqual([...filled(100, 7)]);
    })(),
  );

  it.each(kinds)('is whole for everybody who reads it meanwhile ($useResource)', ({ useResource }) =>
    inGraph(async (sess) => {
      const { value, variable, assign } = changing(useResource);
      const read = tf.identity(variable);
      await sess.run(tf.globalVariablesInitializer());
      const sizes = [70_000, 300, 90_000, 20_000, 5000, 120_000];
      for (let round = 0; round < 4; round++)
        for (const size of sizes) {
          const writing = sess.run(assign.op, new Map([[value, filled(size, 3)]]));
          const reading = [0, 1, 2].map(() => sess.run(read));
          for (const array of [...(await Promise.all(reading)), await writing.then(() => sess.run(read))]) {
            expect([4, ...sizes]).toContain(array.size);
            expect((array.data as Float32Array).findIndex((x) => x !== 3)).toBe(-1);
          }
        }
    })(),
  );

  it.each(kinds)('keeps what it has when the new content cannot be computed ($useResource)', ({ useResource }) =>
    inGraph(async (sess) => {
      const { value, variable } = changing(useResource);
      const index = tf.placeholder(tf.int32, []);
      const assign = tf.assign(variable, tf.multiply(value, tf.gather(value, index)), { validateShape: false });
      await sess.run(tf.globalVariablesInitializer());
      const feeds = new Map<tf.Tensor, number | number[]>([
        [value, [7, 8, 9]],
        [index, 3],
      ]);
      await expect(sess.run(assign.op, feeds)).rejects.toThrow(tf.errors.InvalidArgumentError);
      expect((await sess.run(variable)).numbers()).toEqual([3, 3, 3, 3]);
    })(),
  );

  it('ends a run that has seen the shape before, and keeps its content', () =>
    inGraph(async (sess) => {
      const { value, variable, assign } = changing(true);
      let size = 8;
      const meanwhile = tf.jsFunc(
        async () => {
          await sess.run(assign.op, new Map([[value, filled(size++, 2)]]));
          return 0;
        },
        [],
        tf.int32,
      );
      const sum = tf.controlDependencies([meanwhile as tf.Tensor], () => tf.reduceSum(variable.readValue()));
      await sess.run(tf.globalVariablesInitializer());
      expect((await sess.run(sum)).toString()).toBe('16.0');
      await expect(sess.run(sum)).rejects.toThrow(tf.errors.AbortedError);
      expect((await sess.run(variable)).numbers()).toEqual([...filled(9, 2)]);
    })());
});
