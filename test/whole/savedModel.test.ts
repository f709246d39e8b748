/** @file SavedModels: written and loaded here, and those of TensorFlow 1 and 2 loaded and run. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const golden = fileURLToPath(new URL('../golden/savedModels', import.meta.url));
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tensorloom-model-'));
  tf.resetDefaultGraph();
});
afterEach(() => rmSync(folder, { recursive: true }));

const SERVE = [tf.savedModel.tagConstants.SERVING];

/** Runs a signature of a loaded model. */
async function call(
  sess: tf.Session,
  signature: ReturnType<typeof tf.savedModel.buildSignatureDef>,
  feeds: Record<string, unknown>,
  importScope?: string,
): Promise<Record<string, tf.NDArray>> {
  const options = { graph: sess.graph, ...(importScope && { importScope }) };
  const tensor = (info: Parameters<typeof tf.savedModel.getTensorFromTensorInfo>[0]) =>
    tf.savedModel.getTensorFromTensorInfo(info, options) as tf.Tensor;
  const pairs = Object.entries(feeds).map(([name, value]) => [tensor(signature.inputs[name]!), value] as const);
  const outputs = Object.fromEntries(Object.entries(signature.outputs).map(([name, info]) => [name, tensor(info)]));
  return (await sess.run(outputs, pairs as never)) as Record<string, tf.NDArray>;
}

async function model() {
  const x = tf.placeholder(tf.float32, [null, 2], { name: 'x' });
  const w = tf.getVariable('w', { initializer: tf.constant([[1, 2], [3, 4]], tf.float32) }); // biome-ignore format: rows
  const y = tf.add(tf.matmul(x, w), 0.5, { name: 'y' });
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  return { x, y, w, sess };
}

describe('a SavedModel', () => {
  test('is saved simply and loaded', async () => {
    const { x, y, sess } = await model();
    const path = join(folder, 'export');
    await tf.savedModel.simpleSave(sess, path, { inputs: { x }, outputs: { y } });
    expect(readdirSync(path).sort()).toEqual(['saved_model.pb', 'variables']);
    expect(readdirSync(join(path, 'variables')).sort()).toEqual(['variables.data-00000-of-00001', 'variables.index']);
    expect(tf.savedModel.maybeSavedModelDirectory(path)).toBe(true);
    expect(tf.savedModel.containsSavedModel(folder)).toBe(false);
    for (const importScope of [undefined, 'served']) {
      const other = new tf.Session({ graph: new tf.Graph() });
      const def = await tf.savedModel.load(other, SERVE, path, importScope ? { importScope } : {});
      const signature = def.signature_def['serving_default']!;
      expect(tf.savedModel.isValidSignature(signature)).toBe(true);
      const { y: value } = await call(other, signature, { x: [[1, 10]] }, importScope);
      expect(value!.toArray()).toEqual([[31.5, 42.5]]);
    }
    await expect(tf.savedModel.simpleSave(sess, path, { inputs: { x }, outputs: { y } })).rejects.toThrow(
      /already exists, and isn't empty/,
    );
    const other = new tf.Session({ graph: new tf.Graph() });
    await expect(tf.savedModel.load(other, ['train'], path)).rejects.toThrow(
      /tags train could not be found.*\[serve\]/,
    );
    await expect(tf.savedModel.load(other, SERVE, folder)).rejects.toThrow(/does not exist at/);
  });

  test('has several graphs, files and something to run first', async () => {
    const { x, y, w, sess } = await model();
    const words = ['one', 'two', 'one'].map((text, i) => {
      const file = join(folder, `part${i}`, 'words.txt');
      mkdirSync(join(folder, `part${i}`));
      writeFileSync(file, text);
      return file;
    });
    const assets = words.map((path, i) => tf.constant(path, { name: `asset${i}` }));
    const seen = new tf.Variable('nothing', { name: 'seen', trainable: false, collections: ['local_variables'] });
    const first = tf.group([seen.assign(tf.stringJoin([assets[0]!, assets[1]!], { separator: ';' })).op], {
      name: 'first',
    });
    const builder = new tf.savedModel.Builder(join(folder, 'export'));
    const signatureDefMap = { mine: tf.savedModel.predictSignatureDef({ x }, { y, seen: seen.readValue() }) };
    expect(() => builder.addMetaGraph(SERVE)).toThrow(/invoke `addMetaGraphAndVariables\(\)` first/);
    const saver = new tf.train.Saver([w]);
    const options = { signatureDefMap, assetsCollection: assets, mainOp: first, saver };
    const saved = builder.addMetaGraphAndVariables(sess, SERVE, options);
    expect(() => builder.save()).toThrow(/still saving the variables.*await builder\.addMetaGraphAndVariables/);
    expect(() => builder.addMetaGraph(['train'])).toThrow(/still saving the variables/);
    await saved;
    await expect(builder.addMetaGraphAndVariables(sess, SERVE)).rejects.toThrow(/already been saved/);
    builder.addMetaGraph(['train', 'gpu'], { saver, stripDefaultAttrs: true });
    expect(builder.save({ asText: true })).toBe(join(folder, 'export', 'saved_model.pbtxt'));
    expect(readdirSync(join(folder, 'export', 'assets')).sort()).toEqual(['words.txt', 'words.txt_1']);
    const other = new tf.Session({ graph: new tf.Graph() });
    const def = await tf.savedModel.load(other, SERVE, join(folder, 'export'));
    const result = await call(other, def.signature_def['mine']!, { x: [[0, 0]] });
    const where = (name: string) => join(folder, 'export', 'assets', name);
    expect(String(result['seen']!.item())).toBe(`${where('words.txt')};${where('words.txt_1')}`);
    await tf.savedModel.load(new tf.Session({ graph: new tf.Graph() }), ['gpu', 'train'], join(folder, 'export'));
  });

  test('without variables has none', async () => {
    const x = tf.placeholder(tf.float32, [], { name: 'x' });
    const sess = new tf.Session();
    await tf.savedModel.simpleSave(sess, join(folder, 'm'), { inputs: { x }, outputs: { y: x.mul(2) } });
    expect(existsSync(join(folder, 'm', 'variables', 'variables.index'))).toBe(false);
    const other = new tf.Session({ graph: new tf.Graph() });
    const def = await tf.savedModel.load(other, SERVE, join(folder, 'm'));
    expect(Number((await call(other, def.signature_def['serving_default']!, { x: 4 }))['y'])).toBe(8);
  });

  test('has signatures that are checked', () => {
    const examples = tf.placeholder(tf.string, [null], { name: 'examples' });
    const scores = tf.placeholder(tf.float32, [null, 3], { name: 'scores' });
    const classes = tf.placeholder(tf.string, [null, 3], { name: 'classes' });
    const { isValidSignature, buildSignatureDef, buildTensorInfo } = tf.savedModel;
    expect(isValidSignature(tf.savedModel.classificationSignatureDef(examples, classes, scores))).toBe(true);
    expect(isValidSignature(tf.savedModel.classificationSignatureDef(examples, null, scores))).toBe(true);
    expect(isValidSignature(tf.savedModel.regressionSignatureDef(examples, scores))).toBe(true);
    const infos = { inputs: buildTensorInfo(scores) };
    expect(isValidSignature(buildSignatureDef(infos, infos, 'tensorflow/serving/regress'))).toBe(false);
    expect(isValidSignature(buildSignatureDef({}, infos, 'tensorflow/serving/predict'))).toBe(false);
    expect(buildSignatureDef({ inputs: infos, outputs: infos, methodName: 'm' })).toEqual(
      buildSignatureDef(infos, infos, 'm'),
    );
    // `inputs` may be the name of an input, too.
    expect(buildSignatureDef(infos)).toEqual(buildSignatureDef({ inputs: infos }));
    expect(buildSignatureDef(infos, undefined, 'm')).toEqual(buildSignatureDef({ inputs: infos, methodName: 'm' }));
    expect(() => tf.savedModel.classificationSignatureDef(examples, null, null)).toThrow(/cannot both be null/);
    expect(() => tf.savedModel.regressionSignatureDef(scores, scores)).toThrow(/type string, but is float32/);
    expect(() => tf.savedModel.predictSignatureDef({}, { scores })).toThrow(/`inputs` cannot be empty/);
    const sparse = tf.sparse.placeholder(tf.float32, [2, null], { name: 's' });
    const info = buildTensorInfo(sparse);
    expect(info.coo_sparse).toEqual({
      values_tensor_name: 's/values:0',
      indices_tensor_name: 's/indices:0',
      dense_shape_tensor_name: sparse.denseShape.name,
    });
    expect((tf.savedModel.getTensorFromTensorInfo(info) as tf.SparseTensor).values).toBe(sparse.values);
    const builder = new tf.savedModel.Builder(join(folder, 'x'));
    const reserved = { __saved_model_init_op: buildSignatureDef() };
    return expect(
      builder.addMetaGraphAndVariables(new tf.Session(), SERVE, { signatureDefMap: reserved }),
    ).rejects.toThrow(/is reserved/);
  });
});

describe('a SavedModel of TensorFlow', () => {
  test('1, with an asset, partitions and two graphs', async () => {
    const sess = new tf.Session({ graph: new tf.Graph() });
    const def = await tf.savedModel.load(sess, SERVE, join(golden, 'v1'));
    const result = await call(sess, def.signature_def['serving_default']!, { x: [[1, 10]] });
    expect(result['y']!.toArray()).toEqual([[32, 43]]);
    expect(String(result['words']!.item())).toBe('one\ntwo\n');
    const other = new tf.Session({ graph: new tf.Graph() });
    await tf.savedModel.load(other, ['gpu', 'serve'], join(golden, 'v1'));
  });

  test('2, with functions, loops and branches', async () => {
    const sess = new tf.Session({ graph: new tf.Graph() });
    const def = await tf.savedModel.load(sess, SERVE, join(golden, 'v2'));
    const signature = def.signature_def['serving_default']!;
    const up = await call(sess, signature, { x: [[1, 0], [0, 1]] }); // biome-ignore format: rows
    expect(up['y']!.toArray()).toEqual([[12, 18, 24], [36, 42, 48]]); // biome-ignore format: rows
    const down = await call(sess, signature, { x: [[-1, 0]] });
    expect(down['y']!.toArray()).toEqual([[4, 14, 24]]);
    expect([Number(up['calls']), Number(down['calls'])]).toEqual([1, 2]);
  });
});
