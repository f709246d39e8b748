/** @file Mistakes in branches, loops and functions are named while building, with the user's line. */
import { beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';

beforeEach(() => tf.resetDefaultGraph());

const here = /errors\.test\.ts:\d+:\d+/;
const x = () => tf.placeholder(tf.float32, [2], { name: 'x' });
const yes = () => tf.placeholder(tf.bool, [], { name: 'p' });

/** The message of what `body` throws, which must name this file. */
function mistake(body: () => unknown): string {
  try {
    body();
  } catch (error) {
    const { message } = error as Error;
    expect(message).toMatch(here);
    return message;
  }
  throw new Error('nothing was thrown');
}

describe('cond', () => {
  it('wants a tensor to choose by', () => {
    const choose = () =>
      tf.cond(
        true,
        () => tf.zeros([]),
        () => tf.ones([]),
      );
    expect(mistake(choose)).toMatch(/pred must not be a plain boolean.*tf\.smartCond/);
  });
  it('wants functions', () => {
    expect(mistake(() => tf.cond(yes(), tf.zeros([]) as never, (() => tf.ones([])) as never))).toMatch(
      /trueFn of tf\.cond must be a function/,
    );
  });
  it('wants the same structure from both', () => {
    const choose = () =>
      tf.cond(
        yes(),
        () => [tf.zeros([]), tf.zeros([])],
        () => [tf.ones([])] as never,
      );
    expect(mistake(choose)).toMatch(
      /trueFn and falseFn arguments to tf\.cond must have the same number, type, and overall structure of return values\.[\s\S]*The first has 2 elements, the second has 1/,
    );
  });
  it('wants the same types from both', () => {
    const choose = () =>
      tf.cond(
        yes(),
        () => tf.constant([1.5]),
        () => tf.constant([1]),
      );
    expect(mistake(choose)).toMatch(/same number, type, and overall structure[\s\S]*have different types/);
  });
  it('wants results', () => {
    expect(
      mistake(() =>
        tf.cond(
          yes(),
          () => null,
          () => null,
        ),
      ),
    ).toMatch(/must return at least one tensor or operation/);
  });
  it('wants tensors, not objects', () => {
    const choose = () =>
      tf.cond(
        yes(),
        () => new Date() as never,
        () => tf.zeros([]) as never,
      );
    expect(mistake(choose)).toMatch(/trueFn of tf\.cond must return tensors/);
  });
  it('does not wait for promises', () => {
    const choose = () => tf.cond(yes(), (async () => tf.zeros([])) as never, () => tf.zeros([]) as never);
    expect(mistake(choose)).toMatch(/trueFn of tf\.cond is asynchronous/);
  });
});

describe('tensors of a body', () => {
  it('cannot be used outside', () => {
    let inner: tf.Tensor | undefined;
    tf.cond(
      yes(),
      () => (inner = tf.zeros([], { name: 'hidden' })),
      () => tf.ones([]),
    );
    expect(mistake(() => tf.add(inner!, 1))).toMatch(
      /hidden:0.* is out of scope and cannot be used here: it belongs to the inside of function 'cond_true_\d+'\. Return it/,
    );
  });
  it('cannot be used in the other branch', () => {
    let inner: tf.Tensor | undefined;
    const choose = () =>
      tf.cond(
        yes(),
        () => (inner = tf.zeros([])),
        () => tf.add(inner!, 1),
      );
    expect(mistake(choose)).toMatch(/is out of scope and cannot be used here/);
  });
  it('of another graph are refused', () => {
    const foreign = new tf.Graph().asDefault(() => tf.zeros([]));
    const choose = () =>
      tf.cond(
        yes(),
        () => tf.add(foreign, 1),
        () => tf.zeros([]),
      );
    expect(mistake(choose)).toMatch(/must be from the same graph/);
  });
});

describe('whileLoop', () => {
  const loop = (body: (i: tf.Tensor, a: tf.Tensor) => unknown, options?: tf.WhileOptions) =>
    mistake(() => tf.whileLoop((i) => i.less(3), body as never, [tf.constant(0), x()], options));

  it('wants the structure that it was given', () => {
    expect(loop((i) => [i.add(1)])).toMatch(
      /'body' of tf\.whileLoop must return the variables in the structure in which they enter\.[\s\S]*The first has 2 elements, the second has 1/,
    );
    expect(loop((i, a) => ({ i, a }))).toMatch(/The first is an array of 2, the second is a record/);
  });
  it('wants types to stay', () => {
    expect(loop((i, a) => [i.add(1), tf.cast(a, tf.int32)])).toMatch(
      /Loop var x:0 enters the loop with type float32 but has type int32 after 1 iteration\. x:0 type should remain constant\./,
    );
  });
  it('wants shapes to stay, or invariants that say how they change', () => {
    expect(loop((i, a) => [i.add(1), tf.concat([a, a], 0)])).toMatch(
      /Input tensor `x:0` enters the loop with shape \(2,\), but has shape \(4,\) after one iteration\. To allow the shape to vary across iterations, use the `shapeInvariants` argument of tf\.whileLoop/,
    );
  });
  it('wants invariants that hold at the beginning', () => {
    expect(loop((i, a) => [i.add(1), a], { shapeInvariants: [[], [3]] })).toMatch(
      /The shape invariant specified for x:0 is not compatible with the initial shape of the loop variable\. It enters the loop with shape \(2,\), but the specified shape invariant is \(3,\)\./,
    );
    expect(loop((i, a) => [i.add(1), a], { shapeInvariants: [[null]] as never })).toMatch(
      /must have one entry for each of 2 variables/,
    );
    expect(loop((i, a) => [i.add(1), a], { shapeInvariants: [[], 'any'] })).toMatch(
      /shapeInvariants\[1\] must be a shape/,
    );
  });
  it('wants one condition', () => {
    const run = () =>
      tf.whileLoop(
        (i) => [i.less(3), i.less(4)] as never,
        (i) => i.add(1),
        [tf.constant(0)],
      );
    expect(mistake(run)).toMatch(/'cond' of tf\.whileLoop must return one condition/);
  });
  it('wants variables', () => {
    expect(
      mistake(() =>
        tf.whileLoop(
          () => true,
          () => [] as never,
          [],
        ),
      ),
    ).toMatch(/must be an array with at least one variable/);
    expect(
      mistake(() =>
        tf.whileLoop(
          () => true,
          (a) => a as never,
          [null] as never,
        ),
      ),
    ).toMatch(/variable 0 of tf\.whileLoop is null/);
  });
  it('wants a positive number of parallel iterations and options that exist', () => {
    expect(loop((i, a) => [i, a], { parallelIterations: 0 })).toMatch(
      /'parallelIterations' must be a positive integer/,
    );
    expect(loop((i, a) => [i, a], { maxIterations: 3 } as never)).toMatch(
      /no option 'maxIterations'\. Did you mean 'maximumIterations'/,
    );
    expect(loop((i, a) => [i, a], { maximumIterations: [1, 2] })).toMatch(
      /'maximumIterations' must be a scalar\. Received shape: \(2,\)/,
    );
  });
  it('names the operation inside that does not fit', () => {
    expect(loop((i, a) => [i.add(1), tf.matmul(a, a)])).toMatch(/MatMul 'MatMul'/);
  });
});

describe('mapFn, scan and folds', () => {
  it('want something to go along', () => {
    expect(mistake(() => tf.mapFn((a) => a, tf.constant(1)))).toMatch(/must be 1\+ dimensional Tensors, not scalars/);
    expect(mistake(() => tf.mapFn((a) => a, []))).toMatch(/does not contain any Tensors/);
    const unequal = () => tf.scan((a) => a, [tf.zeros([2]), tf.zeros([3])]);
    expect(mistake(unequal)).toMatch(/Dimensions 2 and 3 are not compatible/);
  });
  it('want the type that was announced', () => {
    expect(mistake(() => tf.mapFn((a) => tf.cast(a, tf.int32), x()))).toMatch(
      /has dtype int32, but the TensorArray holds float32\. Wrap it in tf\.cast/,
    );
    expect(mistake(() => tf.mapFn((a) => a, x(), { dtype: 'float32' }))).toMatch(/dtype of tf\.mapFn must be a type/);
  });
  it('want the structure that was announced', () => {
    expect(mistake(() => tf.mapFn((a) => [a, a], x()))).toMatch(/don't have the same nested structure/);
  });
});

describe('TensorArray', () => {
  it('wants a size', () => {
    expect(mistake(() => new tf.TensorArray(tf.float32))).toMatch(
      /Argument `size` must be provided if argument `flow` is not provided/,
    );
    expect(mistake(() => new tf.TensorArray(tf.float32, { flow: x() }))).toMatch(
      /Expected `flow` to be a variant tensor/,
    );
  });
  it('wants elements of one shape and type', () => {
    const array = new tf.TensorArray(tf.float32, { size: 2 }).write(0, x());
    expect(mistake(() => array.write(1, tf.zeros([3])))).toMatch(/Inconsistent shapes: saw \(3,\) but expected \(2,\)/);
    expect(mistake(() => array.write(1, tf.zeros([2], { dtype: tf.int32 })))).toMatch(
      /has dtype int32, but the TensorArray holds float32/,
    );
  });
  it('refuses at run time what the list refuses', async () => {
    const array = new tf.TensorArray(tf.float32, { size: 2 }).write(0, x());
    const session = new tf.Session();
    const feeds = new Map([[tf.getDefaultGraph().getTensorByName('x:0'), [1, 2]]]);
    await expect(session.run(array.read(5), feeds)).rejects.toThrow(
      /Trying to access element 5 in a list with 2 elements/,
    );
    await expect(session.run(array.write(7, [1, 2]).stack(), feeds)).rejects.toThrow(/index 7|element 7/);
  });
});

describe('case and switchCase', () => {
  it('want pairs of a bool tensor and a function', () => {
    expect(mistake(() => tf.case([]))).toMatch(/needs pairs of a condition and a function/);
    expect(mistake(() => tf.case([[tf.constant(1), () => x()]]))).toMatch(/pred must be Tensor of type bool: Const:0/);
    expect(mistake(() => tf.case([[true as never, () => x()]]))).toMatch(/pred must be a Tensor, got: true/);
  });
  it('want numbers without gaps', () => {
    expect(mistake(() => tf.switchCase(tf.constant(0), { 0: () => x(), 2: () => x() }))).toMatch(
      /branch indices \(keys\) must form contiguous range of \[0 to 2\) but found \{0,2\}/,
    );
    expect(mistake(() => tf.switchCase(tf.constant(0.5), [() => x()]))).toMatch(
      /'branchIndex' must be an integer Tensor, got float32/,
    );
  });
  it('fail at run time when no condition of a case without default is true', async () => {
    const p = yes();
    const y = tf.case([
      [p, () => tf.constant(1)],
      [tf.constant(false), () => tf.constant(2)],
    ]);
    const session = new tf.Session();
    expect((await session.run(y, new Map([[p, true]]))).toArray()).toBe(1);
    await expect(session.run(y, new Map([[p, false]]))).rejects.toThrow(/None of conditions evaluated as True/);
  });
});

describe('functions', () => {
  it('want the arguments of their signature', () => {
    const f = tf.Defun([tf.float32], (a) => a, { funcName: 'F' });
    expect(mistake(() => f())).toMatch(/the function 'F' takes 1 arguments, but 0 were given/);
    expect(mistake(() => f(tf.constant(1)))).toMatch(/requested dtype float32 for Tensor with dtype int32/);
  });
});

describe('the gradient of a loop from elsewhere', () => {
  it('is refused when the loop does not count', () => {
    const graph = tf.getDefaultGraph();
    const { library } = new tf.Graph().asDefault(() => {
      tf.whileLoop(
        (a) => a.less(3),
        (a) => a.mul(2),
        [tf.placeholder(tf.float32, [])],
      );
      return tf.getDefaultGraph().asGraphDef();
    });
    const strip = <T>(list: readonly T[]) => list.slice(2);
    const functions = library!.function.map((f) => ({
      ...f,
      signature: {
        ...f.signature!,
        input_arg: strip(f.signature!.input_arg),
        output_arg: f.signature!.output_arg.length > 1 ? strip(f.signature!.output_arg) : f.signature!.output_arg,
      },
      node_def: f.node_def.filter((n) => !n.input.some((i) => i.startsWith('while_'))),
    }));
    for (const f of functions) graph.functions.set(f.signature.name, f);
    const a = tf.placeholder(tf.float32, []);
    const [cond, body] = ['cond', 'body'].map((part) => functions.find((f) => f.signature.name.includes(part))!);
    const op = graph.createOp({
      type: 'StatelessWhile',
      inputs: [a],
      attrs: {
        cond: { func: { name: cond!.signature.name, attr: {} } },
        body: { func: { name: body!.signature.name, attr: {} } },
      },
    });
    expect(() => tf.gradients(op.outputs[0]!, [a])).toThrow(
      /cannot be differentiated: it does not begin with a counter and a limit/,
    );
  });
});
