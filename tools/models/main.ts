/** @file `npm run models`: SavedModels, checkpoints, meta graphs and frozen graphs, both ways between here and real TensorFlow. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from '../../src/api/index.ts';
import { findTensorFlow, runPython, withTemporaryFolder } from '../tensorflow.ts';

const here = (name: string) => fileURLToPath(new URL(`../../../tools/${name}`, import.meta.url));
const input = [[1, -2, 3], [0.5, 0.25, -1]]; // biome-ignore format: rows

/** Everything that real TensorFlow is to read, with what it must find. */
async function writeOurs(folder: string): Promise<void> {
  const graph = new tf.Graph();
  await graph.asDefault(async () => {
    tf.setRandomSeed(1);
    const x = tf.placeholder(tf.float32, [null, 3], { name: 'x' });
    const hidden = tf.layers.dense(x, 4, { activation: tf.nn.relu, name: 'hidden' });
    const table = tf.getVariable('table', [5, 4], {
      partitioner: tf.fixedSizePartitioner(2),
      initializer: tf.randomNormalInitializer({ seed: 2 }),
    });
    const w = tf.getVariable('w', [4, 4], { initializer: tf.randomNormalInitializer({ seed: 3 }), useResource: false });
    const long = tf.greater(tf.reduceSum(x), 0);
    const chosen = tf.cond(
      long,
      () => tf.matmul(hidden, w),
      () => hidden.neg(),
    ) as tf.Tensor;
    const [, looped] = tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, v: tf.Tensor) => [i.add(1), v.add(tf.gather(tf.convertToTensor(table), i))],
      [tf.constant(0), chosen],
    ) as [tf.Tensor, tf.Tensor];
    const y = tf.identity(looped, { name: 'y' });
    new tf.Variable(['one', 'größer', ''], { name: 'texts', trainable: false });
    new tf.Variable(tf.constant([1.5, -2, 3e38], tf.bfloat16), { name: 'brain', trainable: false });
    new tf.Variable(tf.constant([2 ** 40, -1], tf.int64), { name: 'longs', trainable: false });
    const step = tf.train.getOrCreateGlobalStep();
    const words = join(folder, 'words.txt');
    writeFileSync(words, 'cat\ndog\n');
    const asset = tf.constant(words, { name: 'words' });
    const content = new tf.Variable('', { name: 'content', trainable: false, collections: ['local_variables'] });
    const first = tf.group([content.assign(tf.readFile(asset)).op], { name: 'first' });
    const sess = new tf.Session();
    await sess.run([tf.globalVariablesInitializer(), tf.localVariablesInitializer()]);
    await sess.run(step.assign(17));
    const value = await sess.run(y, [[x, input]]);

    await tf.savedModel.simpleSave(sess, join(folder, 'simple'), { inputs: { x }, outputs: { y } });
    const builder = new tf.savedModel.Builder(join(folder, 'full'));
    const signature = tf.savedModel.predictSignatureDef({ x }, { y, content: content.readValue() });
    await builder.addMetaGraphAndVariables(sess, [tf.savedModel.SERVING], {
      signatureDefMap: { serving_default: signature },
      assetsCollection: [asset],
      mainOp: first,
      stripDefaultAttrs: true,
    });
    builder.save();

    mkdirSync(join(folder, 'checkpoints'));
    const saver = new tf.train.Saver();
    const path = join(folder, 'checkpoints', 'model');
    await saver.save(sess, path, { globalStep: step });
    await saver.save(sess, path, { globalStep: step });
    await new tf.train.Saver({ sharded: true }).save(sess, `${path}-sharded`, {
      writeMetaGraph: false,
      writeState: false,
    });
    await new tf.train.Saver({ varList: tf.trainableVariables(), writeVersion: 1 }).save(sess, `${path}-old`, {
      writeMetaGraph: false,
      writeState: false,
    });
    const frozen = await tf.graphUtil.convertVariablesToConstants(sess, graph, ['y']);
    tf.train.writeGraph(frozen, folder, 'frozen.pb', { asText: false });
    tf.train.writeGraph(graph, folder, 'graph.pbtxt');
    const variables = await tf.train.listVariables(`${path}-17`);
    const values = Object.fromEntries(
      await Promise.all(
        variables.map(async ({ name }) => {
          const array = await tf.train.loadVariable(`${path}-17`, name);
          const texts = array.dtype.isObject
            ? array.objects.map((b) => Buffer.from(b as Uint8Array).toString())
            : undefined; // strings are bytes
          return [name, { dtype: array.dtype.name, shape: array.shape, values: texts ?? array.numbers() }] as const;
        }),
      ),
    );
    writeFileSync(join(folder, 'expected.json'), JSON.stringify({ input, y: value.toArray(), values }));
  });
}

let wrong = 0;
function same(what: string, got: unknown, want: unknown): void {
  const isSame = JSON.stringify(got) === JSON.stringify(want);
  if (!isSame) wrong++;
  console.log(
    `${isSame ? 'ok   ' : 'WRONG'} ${what}${isSame ? '' : `: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`}`,
  );
}

/** What real TensorFlow has written, read and run here. */
async function readTheirs(folder: string): Promise<void> {
  const expected = JSON.parse(readFileSync(join(folder, 'theirs.json'), 'utf8')) as {
    readonly models: Record<
      string,
      { readonly feeds: Record<string, unknown>; readonly outputs: Record<string, unknown> }
    >;
    readonly checkpoints: Record<string, Record<string, unknown>>;
  };
  for (const [name, { feeds, outputs }] of Object.entries(expected.models)) {
    const sess = new tf.Session({ graph: new tf.Graph() });
    const def = await tf.savedModel.load(sess, [tf.savedModel.SERVING], join(folder, name));
    const signature = def.signature_def['serving_default']!;
    const tensor = (info: Parameters<typeof tf.savedModel.getTensorFromTensorInfo>[0]) =>
      tf.savedModel.getTensorFromTensorInfo(info, { graph: sess.graph }) as tf.Tensor; // these models have no sparse tensors
    const pairs = Object.entries(feeds).map(
      ([key, value]) => [tensor(signature.inputs[key]!), value as number[][]] as const,
    );
    const fetches = Object.fromEntries(Object.keys(outputs).map((key) => [key, tensor(signature.outputs[key]!)]));
    const got = (await sess.run(fetches, pairs)) as Record<string, tf.NDArray>;
    const rounded = Object.fromEntries(Object.entries(got).map(([key, array]) => [key, plain(array)]));
    same(`TensorFlow's ${name} runs here`, rounded, outputs);
  }
  for (const [name, values] of Object.entries(expected.checkpoints)) {
    const got: Record<string, unknown> = {};
    for (const key of Object.keys(values)) got[key] = plain(await tf.train.loadVariable(join(folder, name), key));
    same(`TensorFlow's checkpoint ${name} is read here`, got, values);
  }
}

const plain = (array: tf.NDArray): unknown =>
  array.dtype.isObject
    ? array.objects.map((b) => Buffer.from(b as Uint8Array).toString())
    : array.numbers().map((x) => Math.round(x * 1e4) / 1e4); // strings are bytes

const found = findTensorFlow();
if ('reason' in found) console.log(`models: skipped, ${found.reason}`);
else
  await withTemporaryFolder(async (folder) => {
    await writeOurs(folder);
    const status = runPython(found.python, here('models/check.py'), [folder]);
    if (status !== 0) wrong++;
    else await readTheirs(folder);
  });
console.log(wrong === 0 ? 'models: all the same' : `models: ${wrong} wrong`);
process.exitCode = wrong === 0 ? 0 : 1;
