import { inspect } from 'node:util';
import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

/** What a program in plain JavaScript may pass: nothing checks it but the library. */
const wrong = (value: unknown) => value as never;
const here = /mistakes\.test\.ts:\d+:\d+/;

async function refusal(call: () => unknown): Promise<tf.errors.OpError> {
  try {
    await call();
  } catch (error) {
    expect(error).toBeInstanceOf(tf.errors.InvalidArgumentError);
    return error as tf.errors.OpError;
  }
  throw new Error('nothing was refused');
}

const x = () => tf.ones([2, 3]);
const v = () => new tf.Variable(1.5);

/** Each mistake, and what the error must say about it: what was given, and what to do. */
const mistakes: Record<string, [call: () => unknown, ...says: RegExp[]]> = {
  'a name to differentiate by': [
    () => tf.gradients(x(), wrong(['x'])),
    /xs\[0\] is 'x'/,
    /a tensor or a variable.*getTensorByName\('x:0'\)/,
  ],
  'a number to differentiate by': [() => tf.gradients(x(), wrong([3])), /xs\[0\] is 3/, /a tensor or a variable/],
  'nothing to differentiate by': [() => tf.gradients(x(), wrong([undefined])), /xs\[0\] is undefined/],
  'an operation to differentiate': [() => tf.gradients(wrong(tf.noOp()), [x()]), /got <tf.Operation 'NoOp'/],
  'a text for the handle of a partial run': [
    () => new tf.Session().partialRun(wrong('text'), x()),
    /handle is 'text'/,
    /sess\.partialRunSetup\(fetches, feeds\)/,
  ],
  'a text for a shape': [
    () => tf.placeholder(tf.float32, wrong('x')),
    /shape is 'x'/,
    /list of sizes.*\[null, 784\].*\{ name: 'x' \}/s,
  ],
  'a negative size': [() => tf.placeholder(tf.float32, [2, -3]), /shape is \[2, -3\]/, /null for unknown/],
  'a fraction of a size': [() => tf.placeholder(tf.float32, [2.5]), /shape is \[2.5\]/],
  'a negative size of zeros': [() => tf.zeros([2, -3]), /Dimension -3 must be.*the shape is \[2, -3\]/],
  'no number for a size of ones': [() => tf.ones([2, Number.NaN]), /Dimension NaN must be/],
  'a record for a tensor': [() => tf.square(wrong({ a: 1, b: 2 })), /got a record with the keys a, b/],
  'a promise for a tensor': [() => tf.square(wrong(Promise.resolve(1))), /got a promise: await it first/],
  'a function for a tensor': [() => tf.square(wrong(tf.zeros)), /got a function 'zeros': call it first/],
  'a slice that is none': [() => x().slice('0, last'), /'last' in the slice '0, last' is not an integer/],
  'a number for a loss': [
    () => new tf.train.AdamOptimizer(0.1).minimize(wrong(3), { varList: [v()] }),
    /loss must be a tensor, but it is 3/,
  ],
  'a loss without predictions': [() => tf.losses.meanSquaredError(x(), wrong(undefined)), /predictions is undefined/],
  'a loss without logits': [
    () => tf.losses.sparseSoftmaxCrossEntropy(wrong({ labels: [0], logits: x() }), wrong(undefined)),
    /logits is undefined/,
  ],
  'a metric without predictions': [() => tf.metrics.accuracy(x(), wrong(undefined)), /predictions is undefined/],
  'an activation by name': [
    () => tf.layers.dense(x(), 3, { activation: wrong('relu') }),
    /activation must be a function, such as tf\.nn\.relu, but it is 'relu'/,
  ],
  'an activation of a cell by name': [
    () => new tf.nn.rnnCell.LSTMCell(3, { activation: wrong('tanh') }),
    /activation must be a function/,
  ],
  'bytes for a graph': [() => tf.importGraphDef(wrong(new Uint8Array(3))), /tf\.GraphDef\.decode\(bytes\)/],
  'a custom gradient without one': [
    () => tf.customGradient(wrong((t: tf.Tensor) => t.mul(2)))(1.5),
    /must return \{ value, grad \}/,
  ],
  'a misspelt dtype': [() => tf.placeholder(wrong('float31')), /dtype is 'float31'/, /tf\.float32/],
  'a dtype by name': [() => tf.cast(x(), wrong('int32')), /is 'int32'/, /write tf\.int32/i],
  "a dtype by Python's name": [() => tf.placeholder(wrong('float')), /is 'float'/, /Write tf\.float32\./],
  'no dtype': [() => tf.placeholder(wrong(undefined)), /dtype/, /tf\.float32/],
  'a ragged literal': [() => tf.constant(wrong([[1], [2, 3]])), /\[0\] has 1 .* \[1\] has 2/, /same length/],
  'a ragged literal in an op': [() => tf.add(x(), wrong([[1], [2, 3]])), /same length/],
  'a ragged value of a variable': [() => new tf.Variable(wrong([[1], [2, 3]])), /same length/],
  'a literal of another type': [() => tf.constant('a', tf.float32 as never), /a/],
  'a literal that does not fit its shape': [() => tf.constant([1, 2, 3, 4], { shape: [3] }), /4 values.*\[3\]/],
  'a text for a count': [() => tf.unstack(x(), { num: wrong('2') }), /num.*'2'/, /whole number/],
  'a record for a count': [() => new tf.FIFOQueue(wrong({ capacity: 3 }), tf.int32), /capacity is \{"capacity":3\}/],
  'a fraction for an axis': [() => tf.stack([x(), x()], { axis: 0.5 }), /axis.*0\.5/, /whole number/],
  'a number for a flag': [() => tf.matmul(x(), x(), { transposeB: wrong(1) }), /transpose_b.*1/, /true or false/],
  'two kinds of transposing': [() => tf.matmul(x(), x(), { transposeB: true, adjointB: true }), /Only one of/],
  'an axis outside': [() => tf.nn.softmax(x(), 7), /dim must be in the range/],
  'a rate above one': [() => tf.nn.dropout(x(), { rate: 2 }), /rate must be/],
  'an unknown reduction': [() => tf.losses.absoluteDifference(x(), x(), { reduction: wrong('sum') }), /Reduction/],
  'no variables to train': [() => new tf.train.GradientDescentOptimizer(1).minimize(x()), /No variables/],
  'an unconnected loss': [
    () => new tf.train.GradientDescentOptimizer(1).minimize(x(), { varList: [v()] }),
    /No gradients provided for any variable/,
  ],
  'a variable that exists': [() => [tf.getVariable('a', [1]), tf.getVariable('a', [1])], /Variable a already exists/],
  'a variable that does not': [
    () => tf.variableScope('s', { reuse: true }, () => tf.getVariable('a', [1])),
    /Variable s\/a does not exist/,
  ],
  'an unknown name': [() => tf.getDefaultGraph().getTensorByName('nowhere:0'), /'nowhere:0'.*does not exist/],
  'a name that is none': [() => tf.placeholder(tf.float32, [], { name: 'a b' }), /'a b' is not a valid/],
  'a device that is none': [() => tf.device('/cat:0', x), /Unknown attribute 'cat'/],
  'a feed of another shape': [
    () => {
      const p = tf.placeholder(tf.float32, [2], { name: 'p' });
      return new tf.Session().run(p, [[p, [1, 2, 3]]]);
    },
    /Cannot feed value of shape \(3,\) for Tensor 'p:0', which has shape \(2,\)/,
  ],
  'a feed of another type': [
    () => {
      const p = tf.placeholder(tf.float32, [], { name: 'p' });
      return new tf.Session().run(p, [[p, 'text']]);
    },
    /Cannot feed 'p:0'/,
  ],
  'a feed by the name of a variable of the program': [
    () => new tf.Session().run(x(), wrong({ image: [1, 2] })),
    /'image' refers to an Operation not in the graph/,
    /new Map\(\[\[image, value\]\]\)/,
  ],
  'nothing for an input': [() => tf.add(wrong(null), wrong(1)), /x is null/, /a tensor or a value/],
  'nothing for an input of an op': [() => tf.nn.relu(wrong(undefined)), /Relu: features is undefined/],
  'nothing in a list': [() => tf.concat(wrong([x(), undefined]), 0), /ConcatV2: values\[1\] is undefined/],
  'an attribute in small letters': [
    () => tf.nn.maxPool(tf.ones([1, 4, 4, 1]), 2, 2, wrong('same')),
    /"same" is not in the list/,
    /Write 'SAME'/,
  ],
  'a convolution without padding': [
    () => tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), wrong(undefined)),
    /padding is undefined, but must be 'SAME', 'VALID'/,
  ],
  'a pool without padding': [
    () => tf.nn.avgPool(tf.ones([1, 4, 4, 1]), 2, 2, wrong(undefined)),
    /padding is undefined, but must be 'SAME' or 'VALID'/,
  ],
  'a pool without a size': [
    () => tf.layers.maxPooling2d(tf.ones([1, 4, 4, 1]), wrong(undefined), 2),
    /`poolSize` argument must be a positive integer or 2 of them\. Received: nothing/,
  ],
  'classes that are no whole numbers': [
    () => tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels: wrong(tf.ones([2])), logits: x() }),
    /'Tlabels' of float is not in the list of allowed values: int32, int64/,
    /the type of labels; tf\.cast/,
  ],
  'a width as text': [() => tf.layers.dense(x(), wrong('10')), /a positive integer, got "10"/],
  'a fetch of nothing': [() => new tf.Session().run('nowhere:0'), /Fetch argument nowhere:0/],
  'a fetch of what is not defined': [() => new tf.Session().run([x(), wrong(undefined)]), /undefined.*misspelt/],
  'the axis before the list': [() => tf.concat(wrong(1), wrong([x(), x()])), /list of tensors first.*is 1/],
  'labels and logits by place': [
    () => tf.nn.softmaxCrossEntropyWithLogits(wrong(x())),
    /write tf\.nn\.softmaxCrossEntropyWithLogits\(\{ labels, logits \}\)/,
  ],
  'arithmetic on a tensor': [() => wrong(x()) * 2, /Tensor 'ones:0'.*is no number/, /x\.mul\(2\)/],
  'arithmetic on a variable': [() => wrong(v()) - 1, /<tf\.Variable 'Variable:0'.*is no number/],
};

describe('mistakes say what was given, what to do and where', () => {
  for (const [name, [call, ...says]] of Object.entries(mistakes))
    it(name, async () => {
      const error = await refusal(call);
      for (const text of says) expect(error.message).toMatch(text);
      expect(error.message).toMatch(here);
      expect(error.createdAt).toMatch(here);
    });
});

it('An error that nobody catches is printed once, with what is known about it', async () => {
  const bad = tf.gather([1, 2], 7, { name: 'bad' });
  const error = await new tf.Session().run(bad).catch((e: unknown) => e);
  const printed = inspect(error);
  expect(printed.match(/indices = 7 is not in \[0, 2\)/g)).toHaveLength(1);
  expect(printed).toMatch(
    /^InvalidArgumentError: .*\n\t \[\[GatherV2 'bad', created at .*mistakes\.test\.ts.*\n {4}at /,
  );
  expect(printed).toMatch(/node: 'bad'/);
  expect(printed).not.toMatch(/undefined|cause/);
});

it('refuses a stored constant whose value is of another type than it says, also where it would be computed before', async () => {
  const text = `
    node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 1.5 } } } }
    node { name: "n" op: "Neg" input: "c" attr { key: "T" value { type: DT_INT32 } } }`;
  tf.importGraphDef(tf.GraphDef.parseText(text), { name: '' });
  using session = new tf.Session();
  for (const name of ['c:0', 'n:0']) {
    const error = await refusal(() => session.run(tf.getDefaultGraph().getTensorByName(name)));
    expect(error.message).toMatch(/Type mismatch between value \(float\) and dtype \(int32\)/);
  }
});

it('says which shapes do not broadcast where only the run knows them', async () => {
  const [t, e] = [tf.placeholder(tf.float32), tf.placeholder(tf.float32)];
  using session = new tf.Session();
  const feeds = new Map([
    [t, [1, 2]],
    [e, [3, 4, 5]],
  ]);
  const error = await refusal(() => session.run(tf.whereV2([true, false], t, e), feeds));
  expect(error.message).toMatch('condition [2], then [2], and else [3] must be broadcastable');
});
