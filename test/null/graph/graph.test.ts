/** @file Graphs: default graphs across await, several graphs, lookups and their errors, collections, finalize, containers. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

const { InvalidArgumentError } = tf.errors;

/** A graph with `a`, `s/b` and a two-output-free NoOp in it. */
function sample(): tf.Graph {
  const graph = new tf.Graph();
  graph.asDefault(() => {
    const a = tf.constant(1, { name: 'a' });
    tf.nameScope('s', () => tf.identity(a, { name: 'b' }));
  });
  return graph;
}

describe('default graph', () => {
  it('nests, and comes back', () => {
    const outer = tf.getDefaultGraph();
    const [one, two] = [new tf.Graph(), new tf.Graph()];
    one.asDefault(() => {
      expect(tf.getDefaultGraph()).toBe(one);
      two.asDefault(() => expect(tf.getDefaultGraph()).toBe(two));
      expect(tf.getDefaultGraph()).toBe(one);
    });
    expect(tf.getDefaultGraph()).toBe(outer);
  });

  it('follows await, separately in each flow', async () => {
    const build = (graph: tf.Graph, name: string) =>
      graph.asDefault(async () => {
        for (let i = 0; i < 5; i++) {
          await Promise.resolve();
          await tf.nameScope(name, async () => {
            await Promise.resolve();
            tf.constant(i, { name: 'c' });
          });
        }
      });
    const [one, two] = [new tf.Graph(), new tf.Graph()];
    await Promise.all([build(one, 'x'), build(two, 'y')]);
    const names = (g: tf.Graph) => g.getOperations().map((op) => op.name);
    expect(names(one)).toEqual(['x/c', 'x_1/c', 'x_2/c', 'x_3/c', 'x_4/c']);
    expect(names(two)).toEqual(['y/c', 'y_1/c', 'y_2/c', 'y_3/c', 'y_4/c']);
  });

  it('starts a graph outside all scopes, and keeps them when the graph is the default already', () => {
    const graph = new tf.Graph();
    tf.nameScope('outer', () => {
      expect(graph.asDefault(() => tf.constant(1, { name: 'c' }).name)).toBe('c:0');
    });
    graph.asDefault(() =>
      tf.nameScope('inner', () => expect(graph.asDefault(() => tf.constant(1, { name: 'c' }).name)).toBe('inner/c:0')),
    );
  });

  it('is left by the end of a using block', () => {
    const outer = tf.getDefaultGraph();
    const graph = new tf.Graph();
    {
      using _ = graph.asDefault();
      expect(tf.getDefaultGraph()).toBe(graph);
    }
    expect(tf.getDefaultGraph()).toBe(outer);
  });

  it('opens all scopes for using blocks, too', () => {
    const graph = new tf.Graph();
    const a = graph.asDefault(() => tf.constant(1, { name: 'a' }));
    const made: tf.Operation[] = [];
    const make = () => made.push(tf.noOp({ name: 'n' }));
    {
      using scope = graph.nameScope('s');
      expect(scope.value).toBe('s/');
      using _d = graph.device('/cpu:0');
      make();
    }
    {
      using _c = graph.controlDependencies([a]);
      using _l = graph.colocateWith(a);
      make();
    }
    {
      using _g = graph.asDefault();
      using _c = tf.colocateWith(a, { ignoreExisting: true });
      using _r = tf.container('box');
      using _o = graph.gradientOverrideMap({ NoOp: 'Mine' });
      make();
    }
    expect(made.map((op) => [op.name, op.device, op.controlInputs.length, op.colocationGroups])).toEqual([
      ['s/n', '/device:CPU:0', 0, ['loc:@s/n']],
      ['n', '', 1, ['loc:@a']],
      ['n_1', '', 0, ['loc:@a']],
    ]);
    expect(made[2]!.getAttr('_gradient_op_type')).toBe('Mine');
    expect(tf.getDefaultGraph()).not.toBe(graph);
    expect(
      graph.asDefault(() => tf.colocateWith(a, { ignoreExisting: true }, () => tf.noOp())).colocationGroups,
    ).toEqual(['loc:@a']);
  });

  it('stays as it is where a scope cannot be opened', () => {
    const outer = tf.getDefaultGraph();
    expect(() => new tf.Graph().nameScope('no name')).toThrow(/not a valid/);
    expect(tf.getDefaultGraph()).toBe(outer);
  });

  it('can be reset after a using block', () => {
    const outer = tf.getDefaultGraph();
    {
      using _ = tf.nameScope('scope');
      expect(tf.constant(1).graph).toBe(outer);
    }
    tf.resetDefaultGraph();
    expect(tf.getDefaultGraph()).not.toBe(outer);
    expect(tf.getDefaultGraph().operations.length).toBe(0);
  });

  it('refuses inputs of another graph, naming both ends', () => {
    const a = sample().getTensorByName('a:0');
    new tf.Graph().asDefault(() => {
      const b = tf.constant(2, { name: 'b' });
      expect(() => b.graph.createOp({ type: 'Identity', inputs: [a], name: 'mixed' })).toThrow(
        /Identity 'mixed': Tensor 'a:0'.*must be from the same graph/,
      );
      expect(b.graph.operations.length).toBe(1);
    });
  });
});

describe('lookups', () => {
  const graph = sample();
  it('find operations and tensors', () => {
    expect(graph.getOperationByName('s/b').type).toBe('Identity');
    expect(graph.getTensorByName('s/b:0').op).toBe(graph.getOperationByName('s/b'));
    expect(graph.asGraphElement('a')).toBe(graph.getOperationByName('a'));
    expect(graph.asGraphElement('a:0')).toBe(graph.getTensorByName('a:0'));
  });

  const failures: [() => unknown, string][] = [
    [() => graph.getTensorByName('a'), "The name 'a' refers to an Operation, not a Tensor."],
    [() => graph.getTensorByName('zz'), "The name 'zz' looks like an (invalid) Operation name, not a Tensor."],
    [() => graph.getTensorByName('a:x'), "The name 'a:x' looks a like a Tensor name, but is not a valid one."],
    [() => graph.getTensorByName('zz:0'), "The operation, 'zz', does not exist in the graph."],
    [() => graph.getTensorByName('a:1'), "The operation, 'a', exists but only has 1 outputs."],
    [() => graph.getOperationByName('a:0'), "Name 'a:0' appears to refer to a Tensor, not a Operation"],
    [() => graph.getOperationByName('zz'), "The name 'zz' refers to an Operation not in the graph."],
    [() => graph.asGraphElement(sample().getOperationByName('a')), 'is not an element of this graph'],
  ];
  for (const [act, words] of failures)
    it(words, () => {
      expect(act).toThrow(InvalidArgumentError);
      expect(act).toThrow(words);
    });
});

describe('collections', () => {
  const graph = new tf.Graph();
  const items = [{ name: 'a/x:0' }, { name: 'ab/x:0' }, { name: 'b/a:0' }, 7];
  for (const item of items) graph.addToCollection('things', item);
  graph.addToCollections(['things', 'others', 'others'], items[0]);

  it('give copies, filtered from the start of the name by a regular expression', () => {
    expect(graph.getCollection('things')).toEqual([...items, items[0]]);
    expect(graph.getCollection('things', 'a/')).toEqual([items[0], items[0]]);
    expect(graph.getCollection('things', 'a.?/')).toEqual([items[0], items[1], items[0]]);
    expect(graph.getCollection('things', 'x')).toEqual([]);
    expect(graph.getCollection('others')).toEqual([items[0]]);
    graph.getCollection('others').push(1);
    expect(graph.getCollection('others')).toEqual([items[0]]);
    expect(graph.getCollection('none')).toEqual([]);
  });

  it('give the live list, and can be cleared', () => {
    graph.getCollectionRef('others').push(8);
    expect(graph.getCollection('others')).toEqual([items[0], 8]);
    graph.clearCollection('others');
    expect(graph.getCollection('others')).toEqual([]);
    expect(graph.getAllCollectionKeys()).toEqual(['things']);
  });
});

describe('adding', () => {
  it('stops when the graph is finalized', () => {
    const graph = sample();
    graph.finalize();
    expect(() => graph.asDefault(() => tf.constant(1))).toThrow('Graph is finalized and cannot be modified.');
    expect(() => graph.asDefault(() => tf.importGraphDef(sample().asGraphDef()))).toThrow('Graph is finalized');
    expect(graph.operations.length).toBe(2);
  });

  it('refuses a name given as final that is taken, and names that are none', () => {
    const graph = sample();
    const add = (name: string) => graph.createOp({ type: 'NoOp', inputs: [], name });
    expect(() => add('a/')).toThrow("Duplicate node name in graph: 'a'");
    for (const bad of ['_a', 'a b', 'ä', '', '/a']) expect(() => add(bad)).toThrow('not a valid node name');
    expect(() => graph.asDefault(() => tf.nameScope('_s', () => 0))).toThrow("'_s' is not a valid root scope name");
    graph.asDefault(() =>
      tf.nameScope('s', () => expect(tf.nameScope('_t', () => tf.constant(1).name)).toBe('s_1/_t/Const:0')),
    );
    expect(() => graph.asDefault(() => tf.nameScope('s', () => tf.nameScope('a b', () => 0)))).toThrow(
      "'a b' is not a valid scope name",
    );
  });

  it('adds nothing when the op refuses its inputs', () => {
    const graph = sample();
    const before = graph.version;
    const a = graph.getTensorByName('a:0');
    expect(() => graph.createOp({ type: 'MatMul', inputs: [a, a] })).toThrow(InvalidArgumentError);
    expect(() => graph.createOp({ type: 'NoSuchOp', inputs: [] })).toThrow(tf.errors.NotFoundError);
    expect(graph.version).toBe(before);
  });

  it('tells the line of the user, in errors too', () => {
    const graph = sample();
    expect(graph.getOperationByName('a').createdAt).toMatch(/graph\.test\.ts:\d+:\d+$/);
    const a = graph.getTensorByName('a:0');
    expect(() => graph.createOp({ type: 'MatMul', inputs: [a, a] })).toThrow(/created at .*graph\.test\.ts/);
  });

  it('waits for an operation once, in the outermost frame that names it', () => {
    new tf.Graph().asDefault(() => {
      const first = tf.constant(1, { name: 'first' });
      tf.controlDependencies([first], () => {
        const made = tf.constant(2, { name: 'made' });
        tf.controlDependencies([first], () => {
          expect(tf.identity(made).op.controlInputs).toEqual([]);
          expect(tf.constant(3).op.controlInputs).toEqual([first.op]);
        });
      });
    });
  });

  it('puts stateful operations in the container around them', () => {
    new tf.Graph().asDefault((graph) => {
      const attrs = { dtype: { type: tf.float32.number }, shape: { shape: { dim: [], unknown_rank: false } } };
      const text = (name: string) => {
        const op = graph.createOp({ type: 'VarHandleOp', inputs: [], attrs, name });
        return new TextDecoder().decode(op.attrs['container']!.s);
      };
      expect(tf.container('box', () => text('v'))).toBe('box');
      expect(text('w')).toBe('');
    });
  });
});
