/** @file Fine-tuning: a convolutional network learns the digits 0 to 4, is saved, and gets a new head for 5 to 9 in another graph. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export interface FineTuningOptions {
  /** Where checkpoints and exported models go. */
  readonly folder?: string;
  readonly steps?: number;
  /** How many digits of the new kind there are to learn from. */
  readonly newDigits?: number;
  readonly newSteps?: number;
  readonly testDigits?: number;
}

type Digits = Awaited<ReturnType<typeof tf.examples.mnist>>['train'];
interface Batch {
  readonly images: tf.NDArray;
  readonly labels: number[];
}

/** Digits from `first` to `first` + 4, labelled 0 to 4. */
function some(digits: Digits, first: number, count: number): Batch {
  const pixels = new Float32Array(count * 784);
  const labels: number[] = [];
  while (labels.length < count) {
    const [x, y] = digits.nextBatch(64);
    const all = Float32Array.from(x.numbers());
    for (const [i, digit] of y.numbers().entries()) {
      if (digit < first || digit >= first + 5 || labels.length === count) continue;
      pixels.set(all.subarray(i * 784, (i + 1) * 784), labels.length * 784);
      labels.push(digit - first);
    }
  }
  return { images: new tf.NDArray(tf.float32, [count, 784], pixels), labels };
}

/** What looks at pictures: two convolutions and a dense layer. */
function body(images: tf.Tensor): tf.Tensor {
  return tf.variableScope('body', () => {
    const { conv2d, maxPooling2d, flatten, dense } = tf.layers;
    const pixels = tf.reshape(images, [-1, 28, 28, 1]);
    const edges = maxPooling2d(conv2d(pixels, 8, 5, { activation: tf.nn.relu, name: 'conv1' }), 2, 2);
    const shapes = maxPooling2d(conv2d(edges, 16, 3, { activation: tf.nn.relu, name: 'conv2' }), 2, 2);
    return tf.identity(dense(flatten(shapes), 64, { activation: tf.nn.relu, name: 'dense' }), { name: 'features' });
  });
}

function head(features: tf.Tensor, labels: tf.Tensor, name: string) {
  const scores = tf.layers.dense(features, 5, { name });
  const loss = tf.losses.sparseSoftmaxCrossEntropy(labels, scores);
  const right = tf.reduceMean(tf.cast(tf.equal(tf.argmax(scores, 1), labels), tf.float32));
  return { scores, loss, right };
}

/** Trains the network on the digits 0 to 4; gives its checkpoint. */
async function pretrain(data: Digits, folder: string, steps: number): Promise<string> {
  tf.setRandomSeed(1);
  const images = tf.placeholder(tf.float32, [null, 784], { name: 'images' });
  const labels = tf.placeholder(tf.int64, [null], { name: 'labels' });
  const { loss } = head(body(images), labels, 'head');
  const globalStep = tf.train.getOrCreateGlobalStep();
  const train = new tf.train.AdamOptimizer(2e-3).minimize(loss, { globalStep });
  const saver = new tf.train.Saver({ maxToKeep: 3 });
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  for (let step = 0; step < steps; step++) {
    const batch = some(data, 0, 32);
    const feeds = [[images, batch.images], [labels, batch.labels]] as const; // biome-ignore format: pairs
    await sess.run(train, feeds);
  }
  // pretrained-N.index, .data-00000-of-00001 and .meta, and a `checkpoint` file that names it.
  return await saver.save(sess, join(folder, 'pretrained'), { globalStep });
}

/** Trains a head on few digits of the new kind; gives how many others it gets right. */
async function trainHead(
  sess: tf.Session,
  net: { images: tf.Tensor; labels: tf.Tensor; loss: tf.Tensor; right: tf.Tensor; train: tf.Operation },
  batch: Batch,
  test: Batch,
  steps: number,
): Promise<number> {
  const feeds = (b: Batch) => [[net.images, b.images], [net.labels, b.labels]] as const; // biome-ignore format: pairs
  for (let step = 0; step < steps; step++) await sess.run(net.train, feeds(batch));
  return Number(await sess.run(net.right, feeds(test)));
}

export async function main({
  folder = mkdtempSync(join(tmpdir(), 'fine-tuning-')),
  steps = 300,
  newDigits = 200,
  newSteps = 150,
  testDigits = 1000,
}: FineTuningOptions = {}) {
  const data = await tf.examples.mnist();
  const path = await new tf.Graph().asDefault(() => pretrain(data.train, folder, steps));
  const batch = some(data.train, 5, newDigits);
  const test = some(data.test, 5, testDigits);

  // One way: the graph comes out of the checkpoint, without the code that made it.
  const imported = await new tf.Graph().asDefault(async () => {
    const restorer = tf.train.importMetaGraph(`${path}.meta`)!;
    tf.setRandomSeed(3);
    const graph = tf.getDefaultGraph();
    const images = graph.getTensorByName('images:0');
    const labels = graph.getTensorByName('labels:0');
    const features = tf.stopGradient(graph.getTensorByName('body/features:0'));
    const net = { images, labels, ...head(features, labels, 'new_head') };
    const varList = tf.trainableVariables('new_head');
    const train = new tf.train.AdamOptimizer(1e-2, { name: 'NewAdam' }).minimize(net.loss, { varList });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    await restorer.restore(sess, path);
    const kernel = graph.getTensorByName('body/conv1/kernel/Read/ReadVariableOp:0');
    const before = String(await sess.run(kernel));
    const accuracy = await trainHead(sess, { ...net, train }, batch, test, newSteps);
    const isBodyKept = String(await sess.run(kernel)) === before;

    // The result goes out in two forms: a folder that TensorFlow Serving reads, and one graph without variables.
    const served = join(folder, 'export');
    const probabilities = tf.nn.softmax(net.scores, { name: 'probabilities' });
    await tf.savedModel.simpleSave(sess, served, { inputs: { images }, outputs: { probabilities } });
    const frozen = await tf.graphUtil.convertVariablesToConstants(sess, graph, ['probabilities']);
    tf.train.writeGraph(frozen, folder, 'frozen.pb', { asText: false });
    const one = new tf.NDArray(tf.float32, [1, 784], new Float32Array(784).fill(0.5));
    const expected = (await sess.run(probabilities, [[images, one]])).numbers();
    return { accuracy, isBodyKept, served, frozen, one, expected };
  });
  console.log(`a new head on the imported graph: ${(imported.accuracy * 100).toFixed(1)}% of new digits`);

  // The other way: the code builds the net, and only the body comes from the checkpoint. Here and with a body that knows nothing.
  const accuracies: number[] = [];
  for (const isPretrained of [true, false])
    await new tf.Graph().asDefault(async () => {
      tf.setRandomSeed(2);
      const images = tf.placeholder(tf.float32, [null, 784]);
      const labels = tf.placeholder(tf.int64, [null]);
      const net = { images, labels, ...head(tf.stopGradient(body(images)), labels, 'head') };
      const restorer = new tf.train.Saver({
        varList: tf.trainableVariables().filter((v) => !v.name.startsWith('head/')),
      });
      const varList = tf.trainableVariables('head');
      const train = new tf.train.AdamOptimizer(1e-2).minimize(net.loss, { varList });
      const sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      if (isPretrained) await restorer.restore(sess, tf.train.latestCheckpoint(folder)!);
      accuracies.push(await trainHead(sess, { ...net, train }, batch, test, newSteps));
    });
  const [restored, untrained] = accuracies as [number, number];
  console.log(
    `a new head on a restored body: ${(restored * 100).toFixed(1)}%, on an untrained one: ${(untrained * 100).toFixed(1)}%`,
  );

  const sess = new tf.Session({ graph: new tf.Graph() });
  const { signature_def } = await tf.savedModel.load(sess, [tf.savedModel.SERVING], imported.served);
  const { inputs, outputs } = signature_def['serving_default']!;
  const tensor = (name: string | undefined) => sess.graph.getTensorByName(name!);
  const loaded = await sess.run(tensor(outputs['probabilities']!.name), [
    [tensor(inputs['images']!.name), imported.one],
  ]);
  const alone = new tf.Graph();
  alone.asDefault(() => tf.importGraphDef(imported.frozen, { name: '' }));
  const fromFrozen = await new tf.Session({ graph: alone }).run(alone.getTensorByName('probabilities:0'), [
    [alone.getTensorByName('images:0'), imported.one],
  ]);
  const isSame = [loaded, fromFrozen].every((p) =>
    p.numbers().every((x, i) => Math.abs(x - imported.expected[i]!) < 1e-6),
  );
  console.log(`the exported model and the frozen graph ${isSame ? 'agree' : 'do not agree'} with the session`);
  return { path, imported: imported.accuracy, isBodyKept: imported.isBodyKept, restored, untrained, isSame };
}

await runDirectly(import.meta.url, main);
