/** @file What the golden frame graphs do not show: old forms of the ops, long loops, stopping, and graphs that make no sense. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { MasterSession } from '../../src/cluster/masterSession.ts';
import { int32 } from '../../src/core/dtypes.ts';
import { type NDArray, type Nested, scalar } from '../../src/core/ndarray.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { node } from '../../src/op/node.ts';
import { ConfigProto } from '../../src/proto/config.ts';
import { Dataflow } from '../../src/runtime/dataflow.ts';
import { Engine } from '../../src/runtime/engine.ts';
import { ResourceManager } from '../../src/runtime/resources.ts';
import { frameCases } from './frameCases.ts';

/** A session on a graph in TensorFlow's text form, where `name = Op(input, ^wait) { attr: value }` stands for a node. */
function sessionOf(text: string): tf.Session {
  const graph = new tf.Graph();
  graph.asDefault(() => tf.importGraphDef(tf.GraphDef.parseText(expand(text)), { name: '' }));
  return new tf.Session({ graph });
}

function expand(text: string): string {
  return [...text.matchAll(/([\w/]+) = (\w+)\(([^)]*)\)(?: \{ ([^}]*) \})?/g)]
    .map(([, name, op, inputs, attrs = '']) => {
      const input = inputs!.split(', ').filter(Boolean);
      const each = attrs.split(', ').filter(Boolean).map(attrText);
      return `node { name: "${name}" op: "${op}" ${input.map((i) => `input: "${i}"`).join(' ')} ${each.join(' ')} }`;
    })
    .join('\n');
}

function attrText(attr: string): string {
  const [key, value] = attr.split(': ') as [string, string]; // as `sessionOf` describes
  const types: Record<string, string> = { float: 'DT_FLOAT', int: 'DT_INT32', resource: 'DT_RESOURCE' };
  if (value.startsWith('#')) return `attr { key: "${key}" value { i: ${value.slice(1)} } }`;
  const said = /^[\d.-]+$/.test(value)
    ? `tensor { dtype: ${value.includes('.') ? 'DT_FLOAT float_val' : 'DT_INT32 int_val'}: ${value} tensor_shape {} }`
    : value in types
      ? `type: ${types[value]}`
      : value === 'true'
        ? 'b: true'
        : value === 'scalar'
          ? 'shape {}'
          : `s: "${value}"`;
  return `attr { key: "${key}" value { ${said} } }`;
}

/** Counts to `n`; `body` names what the loop makes of the counter. */
const counting = (body = 'next = AddV2(now, one) { T: int }') => `
  zero = Const() { dtype: int, value: 0 }
  n = Placeholder() { dtype: int, shape: scalar }
  enter = Enter(zero) { T: int, frame_name: loop }
  limit = Enter(n) { T: int, frame_name: loop, is_constant: true }
  merge = Merge(enter, again) { T: int }
  less = Less(merge, limit) { T: int }
  cond = LoopCond(less)
  switch = Switch(merge, cond) { T: int }
  now = Identity(switch:1) { T: int }
  one = Const(^now) { dtype: int, value: 1 }
  ${body}
  again = NextIteration(next) { T: int }
  exit = Exit(switch) { T: int }`;

describe('long loops', () => {
  it('run a hundred thousand times', async () => {
    using sess = sessionOf(counting());
    expect(Number(await sess.run('exit:0', { 'n:0': 100_000 }))).toBe(100_000);
  });

  it('let others have their turn', async () => {
    using sess = sessionOf(counting());
    const abort = new AbortController();
    let turns = 0;
    const timer = setInterval(() => {
      if (++turns === 10) abort.abort();
    }, 0);
    // Without turns for others the loop would come to its end.
    const run = sess.run('exit:0', { 'n:0': 10_000_000 }, { signal: abort.signal });
    await expect(run).rejects.toThrow(tf.errors.CancelledError);
    clearInterval(timer);
  });

  it('stop when they are cancelled or out of time', async () => {
    const forever = 2 ** 31 - 1;
    using sess = sessionOf(counting());
    const abort = new AbortController();
    const cancelled = sess.run('exit:0', { 'n:0': forever }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 5);
    await expect(cancelled).rejects.toThrow(tf.errors.CancelledError);
    await expect(sess.run('exit:0', { 'n:0': forever }, { options: { timeoutInMs: 5 } })).rejects.toThrow(
      tf.errors.DeadlineExceededError,
    );
  });

  it('stop at whatever point their session is closed', async () => {
    for (let turns = 0; turns <= 12; turns++) {
      using sess = sessionOf(counting());
      await sess.run('exit:0', { 'n:0': 1 });
      const closed = sess.run('exit:0', { 'n:0': 2 ** 31 - 1 });
      const outcome = expect(closed).rejects.toThrow(tf.errors.CancelledError);
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      sess.close();
      await outcome;
    }
  });

  it('stop at whatever point their session on a server is closed', async () => {
    for (let turns = 0; turns <= 12; turns++) {
      const session = new MasterSession({
        ...{ device: new ReferenceDevice(), resources: new ResourceManager(), task: '/job:local', deviceNames: [] },
        config: ConfigProto.decode(new Uint8Array()),
      });
      session.add(tf.GraphDef.parseText(expand(counting())));
      const { signal } = new AbortController();
      const counted = (n: number) =>
        session.run({
          feeds: new Map([['n:0', scalar(int32, n)]]),
          fetches: ['exit:0'],
          targets: [],
          options: undefined,
          signal,
        });
      await counted(1);
      const outcome = expect(counted(2 ** 31 - 1)).rejects.toThrow(/Session::Close/);
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      session.close();
      await outcome;
    }
  });

  it('say which node failed, and are all right the next time', async () => {
    using sess = sessionOf(
      counting(`five = Const(^now) { dtype: int, value: 5 }
        rest = Sub(five, now) { T: int }
        quotient = FloorDiv(five, rest) { T: int }
        step = Minimum(quotient, one) { T: int }
        next = AddV2(now, step) { T: int }`),
    );
    await expect(sess.run('exit:0', { 'n:0': 9 })).rejects.toThrow(
      /Integer division by zero\s+\[\[FloorDiv 'quotient'/,
    );
    expect(Number(await sess.run('exit:0', { 'n:0': 5 }))).toBe(5);
  });
});

describe('graphs that make no sense', () => {
  const scalar = (name: string) => `${name} = Const() { dtype: float, value: 1.0 }`;

  it.each([
    [
      'mixed frames',
      `${scalar('a')} enter = Enter(a) { T: float, frame_name: loop } sum = AddV2(enter, a) { T: float }`,
      'sum:0',
      /\{\{node sum\}\} has inputs from different frames\. The input \{\{node a\}\} is in frame ''\. The input \{\{node enter\}\} is in frame 'loop'\./,
    ],
    [
      'a frame without a name',
      `${scalar('a')} enter = Enter(a) { T: float, frame_name:  }`,
      'enter:0',
      /must have a frame name/,
    ],
    [
      'a frame in two frames',
      `${scalar('a')} x = Enter(a) { T: float, frame_name: x } y = Enter(x) { T: float, frame_name: y } z = Enter(a) { T: float, frame_name: y }
       join = AddV2(y, z) { T: float }`,
      'join:0',
      /Mismatched parent frames for "y"/,
    ],
    ['a value of every iteration', counting(), 'now:0', /Retval\[0\] has already been set/],
  ])('%s', async (_, text, fetch, message) => {
    using sess = sessionOf(text);
    await expect(sess.run(fetch, text.includes('n = Place') ? { 'n:0': 3 } : {})).rejects.toThrow(message);
  });

  it('a circle without the end of a loop', () => {
    const engine = new Engine(new ReferenceDevice(), new ResourceManager());
    const text = 'a = Identity(b) { T: float } b = Identity(a) { T: float }';
    expect(() => engine.extend(tf.GraphDef.parseText(expand(text)).node)).toThrow(/cycle/);
  });
});

describe('references', () => {
  const variable = (name: string) => `${name} = VariableV2() { dtype: float, shape: scalar }`;

  it('go round a loop', async () => {
    using sess = sessionOf(`
      ${variable('v')}
      two = Const() { dtype: float, value: 2.0 }
      init = Assign(v, two) { T: float }
      enter = RefEnter(v) { T: float, frame_name: loop }
      merge = RefMerge(enter, again) { T: float }
      ten = Const(^merge) { dtype: float, value: 10.0 }
      less = Less(merge, ten) { T: float }
      cond = LoopCond(less)
      switch = RefSwitch(merge, cond) { T: float }
      half = Const(^switch) { dtype: float, value: 3.5 }
      more = AssignAdd(switch:1, half) { T: float }
      again = RefNextIteration(more) { T: float }
      exit = RefExit(switch) { T: float }
      after = Assign(exit, two) { T: float }`);
    await sess.run('init');
    expect(Number(await sess.run('exit:0'))).toBe(12.5);
    expect(Number(await sess.run('v:0'))).toBe(12.5);
    expect(Number(await sess.run('after:0'))).toBe(2);
  });

  it('are chosen by number', async () => {
    using sess = sessionOf(`
      ${variable('v')} ${variable('w')}
      i = Placeholder() { dtype: int, shape: scalar }
      one = Const() { dtype: float, value: 1.0 }
      two = Const() { dtype: float, value: 2.0 }
      initV = Assign(v, one) { T: float }
      initW = Assign(w, two) { T: float }
      chosen = RefSelect(i, v, w) { T: float }
      more = AssignAdd(chosen, two) { T: float }`);
    await sess.run(['initV', 'initW']);
    await sess.run('more', { 'i:0': 1 });
    await sess.run('more', { 'i:0': 0 });
    expect((await sess.run(['v:0', 'w:0'])).map(Number)).toEqual([3, 4]);
    await expect(sess.run('more', { 'i:0': 2 })).rejects.toThrow('Index must be in the range [0, 2) but got 2');
  });
});

describe('tensor arrays', () => {
  /** All actions on an array of one version; the first version's handles are references. */
  async function roundTrip(version: 'V2' | ''): Promise<NDArray[]> {
    const graph = new tf.Graph();
    const results = graph.asDefault(() => {
      const op = (action: string, inputs: Record<string, tf.TensorLike>, attrs = {}) =>
        node(`TensorArray${action}${version}`, inputs, { attrs }).outputs;
      const start = tf.constant(0, tf.float32);
      const dtype = { dtype: tf.float32 };
      const [handle] = op('', { size: 3 }, { ...dtype, clear_after_read: false });
      const [first] = op('Write', { handle: handle!, index: 1, value: [1.5, 2], flow_in: start });
      const [flow] = op('Scatter', {
        handle: handle!,
        indices: [0, 2],
        value: tf.constant(
          [
            [3, 4],
            [5, 6],
          ],
          tf.float32,
        ),
        flow_in: first!,
      });
      const [size] = op('Size', { handle: handle!, flow_in: flow! });
      const [read] = op('Read', { handle: handle!, index: 1, flow_in: flow! }, dtype);
      const [rows] = op('Gather', { handle: handle!, indices: [2, 0], flow_in: flow! }, dtype);
      const [all, lengths] = op('Concat', { handle: handle!, flow_in: flow! }, dtype);
      const [other] = op('', { size: 2 }, dtype);
      const [pieces] = op('Split', {
        handle: other!,
        value: all!,
        lengths: tf.constant([1, 5], tf.int64),
        flow_in: start,
      });
      const [long] = op('Read', { handle: other!, index: 1, flow_in: pieces! }, dtype);
      const [gradient] = op('Grad', { handle: handle!, flow_in: flow! }, { source: 'gradients' });
      const [once] = op('Write', {
        handle: gradient!,
        index: 0,
        value: tf.constant([1, 1], tf.float32),
        flow_in: flow!,
      });
      const [twice] = op('Write', {
        handle: gradient!,
        index: 0,
        value: tf.constant([2, 3], tf.float32),
        flow_in: once!,
      });
      const [summed] = op('Read', { handle: gradient!, index: 0, flow_in: twice! }, dtype);
      const [zeros] = op('Read', { handle: gradient!, index: 2, flow_in: twice! }, dtype);
      return [size!, read!, rows!, all!, lengths!, long!, summed!, zeros!];
    });
    using sess = new tf.Session({ graph });
    return await sess.run(results);
  }

  it.each(['V2', ''] as const)('of the version "%s" work alike', async (version) => {
    expect((await roundTrip(version)).map((v) => v.toArray())).toEqual([
      3,
      [1.5, 2],
      [
        [5, 6],
        [3, 4],
      ],
      [3, 4, 1.5, 2, 5, 6],
      [2, 2, 2],
      [4, 1.5, 2, 5, 6],
      [3, 4],
      [0, 0],
    ]);
  });

  it('are packed and unpacked whole in the first version', async () => {
    const graph = new tf.Graph();
    const packed = graph.asDefault(() => {
      const start = tf.constant(0, tf.float32);
      const [handle] = node('TensorArray', { size: 2 }, { attrs: { dtype: tf.int32 } }).outputs;
      const value = tf.constant([
        [1, 2],
        [3, 4],
      ]);
      const [flow] = node('TensorArrayUnpack', { handle: handle!, value, flow_in: start }).outputs;
      return node('TensorArrayPack', { handle: handle!, flow_in: flow! }, { attrs: { dtype: tf.int32 } }).outputs[0]!;
    });
    using sess = new tf.Session({ graph });
    expect((await sess.run(packed)).toArray()).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  it('collect gradients of a larger shape', async () => {
    const graph = new tf.Graph();
    const result = graph.asDefault(() => {
      const attrs = { dtype: tf.float32, element_shape: [2] };
      const [handle, start] = node('TensorArrayV3', { size: 2 }, { attrs }).outputs;
      const [flow] = node('TensorArrayWriteV3', {
        handle: handle!,
        index: 0,
        value: [1.5, 2],
        flow_in: start!,
      }).outputs;
      const [larger, first] = node(
        'TensorArrayGradWithShape',
        { handle: handle!, flow_in: flow!, shape_to_prepend: [3] },
        { attrs: { source: 'gradients' } },
      ).outputs;
      return node('TensorArrayReadV3', { handle: larger!, index: 0, flow_in: first! }, { attrs: { dtype: tf.float32 } })
        .outputs[0]!;
    });
    using sess = new tf.Session({ graph });
    expect((await sess.run(result)).toArray()).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  it('have the gradients that Python builds', async () => {
    const golden = JSON.parse(
      readFileSync(new URL('../golden/tensorArrayGradients.json', import.meta.url), 'utf8'),
    ) as { graph: string; ys: string[]; nodes: unknown[]; value: Nested }; // by tools/golden/frames.py
    const graph = new tf.Graph();
    const definition = tf.GraphDef.decode(gunzipSync(Buffer.from(golden.graph, 'base64')));
    const gradient = graph.asDefault(() => {
      tf.importGraphDef(definition, { name: '' });
      const ys = golden.ys.map((name) => graph.getTensorByName(name));
      return tf.gradients(ys, [graph.getTensorByName('x:0')])[0] as tf.Tensor; // it is dense
    });
    const added = graph.operations.slice(definition.node.length);
    expect(
      added.map((op) => [op.name, op.type, op.inputs.map((t) => t.name), op.controlInputs.map((c) => c.name)]),
    ).toEqual(golden.nodes);
    using sess = new tf.Session({ graph });
    const x = [
      [1, 2],
      [3, 4],
      [5, 6],
    ];
    expect((await sess.run(gradient, { 'x:0': x })).toArray()).toEqual(golden.value);
  });
});

describe('branches', () => {
  it('are differentiated through their own nodes', async () => {
    const graph = new tf.Graph();
    const [x, gradient] = graph.asDefault(() => {
      const data = tf.placeholder(tf.float32, []);
      const [off, on] = node('Switch', { data, pred: tf.greater(data, 0) }).outputs;
      const [y] = node('Merge', { inputs: [tf.multiply(off!, -2), tf.multiply(on!, on!)] as never }).outputs; // a list port
      return [data, tf.gradients(y!, [data])[0] as tf.Tensor]; // it is dense
    });
    using sess = new tf.Session({ graph });
    expect(Number(await sess.run(gradient, [[x, 3]]))).toBe(6);
    expect(Number(await sess.run(gradient, [[x, -3]]))).toBe(-2);
  });

  it('run in pieces', async () => {
    using sess = sessionOf(`
      x = Placeholder() { dtype: float, shape: scalar }
      y = Placeholder() { dtype: float, shape: scalar }
      p = Greater(x, y) { T: float }
      split = Switch(x, p) { T: float }
      up = Exp(split:1) { T: float }
      down = Neg(split) { T: float }
      z = Merge(down, up) { T: float }
      sum = AddV2(z, y) { T: float }`);
    const run = sess.partialRunSetup(['p:0', 'sum:0'], ['x:0', 'y:0']);
    expect(Number(await sess.partialRun(run, 'p:0', { 'x:0': 1, 'y:0': 2 }))).toBe(0);
    expect(Number(await sess.partialRun(run, 'sum:0'))).toBe(1);
  });
});

describe('what lives and dies by itself', () => {
  it('a loop variable that ends before the loop does', async () => {
    using sess = sessionOf(
      counting(`
        start = Enter(zero) { T: int, frame_name: loop }
        merged = Merge(start, further) { T: int }
        both = Switch(merged, cond) { T: int }
        mine = Identity(both:1) { T: int }
        two = Const(^now) { dtype: int, value: 2 }
        early = Less(now, two) { T: int }
        more = AddV2(mine, one) { T: int }
        kept = Switch(more, early) { T: int }
        further = NextIteration(kept:1) { T: int }
        next = AddV2(now, one) { T: int }`),
    );
    expect(Number(await sess.run('exit:0', { 'n:0': 6 }, { options: { timeoutInMs: 20_000 } }))).toBe(6);
    expect(Number((await sess.run({ exit: 'exit:0', also: 'further' }, { 'n:0': 5 })).exit)).toBe(5);
  });

  it('a merge of some branches of many', async () => {
    using sess = sessionOf(`
      x = Placeholder() { dtype: float, shape: scalar }
      i = Placeholder() { dtype: int, shape: scalar }
      one = Const() { dtype: float, value: 1.0 }
      way = _SwitchN(x, i) { T: float, num_outs: #3 }
      a = Neg(way) { T: float }
      b = Exp(way:1) { T: float }
      c = Abs(way:2) { T: float }
      some = Merge(a, b) { T: float }
      all = Merge(a, b, c) { T: float }
      someMore = AddV2(some, one) { T: float }
      allMore = AddV2(all, one) { T: float }`);
    const both = { target: 'someMore', value: 'allMore:0' };
    const results = [];
    for (const i of [0, 1, 2, 7, -1]) results.push(Number((await sess.run(both, { 'x:0': -2, 'i:0': i })).value));
    expect(results.map((x) => Math.round(x * 1000))).toEqual([3000, 1135, 3000, 3000, 3000]);
    await expect(sess.run('someMore:0', { 'x:0': 1, 'i:0': 2 })).rejects.toThrow('Retval[0] does not have value');
  });
});

describe('what runs together', () => {
  it('is one program between control flow', () => {
    const { definition, steps } = frameCases.find(({ name }) => name === 'recurrent_training')!;
    const engine = new Engine(new ReferenceDevice(), new ResourceManager());
    engine.extend(definition.node);
    const { feeds, fetches, targets } = steps[1]!;
    const executable = engine.prepare(Object.keys(feeds), fetches, targets);
    if (!(executable instanceof Dataflow)) throw new Error('the graph has loops');
    const clusters = executable.graph.units.filter((unit) => unit.kind === 'cluster');
    const sizes = (frame: string) =>
      clusters.filter((unit) => unit.layout.frame.name === frame).map((unit) => unit.nodes.length);
    // Before, between and after the two loops; the test and the body of each, one of which has two stages and an aside.
    expect(sizes('')).toHaveLength(3);
    expect(sizes('rnn/while/while_context')).toHaveLength(2);
    expect(sizes('gradients/rnn/while/while_context')).toHaveLength(4);
    expect(executable.source.length).toBeGreaterThan(370);
  });
});

it('a graph may end its run, but not the process', async () => {
  using sess = sessionOf('stop = Abort() { error_msg: enough }');
  await expect(sess.run('stop')).rejects.toThrow(tf.errors.AbortedError);
  await expect(sess.run('stop')).rejects.toThrow('Abort_op intentional failure; enough');
});

describe('step statistics', () => {
  it('count what the host does in every iteration, and name a device even for a run of nothing', async () => {
    using sess = sessionOf(
      `${counting(`
      stack = StackV2(n) { elem_type: int }
      handle = Enter(stack) { T: resource, frame_name: loop, is_constant: true }
      pushed = StackPushV2(handle, now) { T: int }
      next = AddV2(pushed, one) { T: int }`)}`,
    );
    const nodesOf = async (fetch: string) => {
      const runMetadata = new tf.RunMetadata();
      const options = { traceLevel: tf.RunOptions.FULL_TRACE };
      await sess.run(fetch, { 'n:0': 4 }, { options, runMetadata });
      return runMetadata.stepStats!.devStats.map(({ nodeStats }) => nodeStats.map(({ nodeName }) => nodeName));
    };
    expect((await nodesOf('exit:0')).flat().filter((name) => name === 'pushed')).toHaveLength(4);
    expect(await nodesOf('zero:0')).toEqual([[]]);
  });
});
