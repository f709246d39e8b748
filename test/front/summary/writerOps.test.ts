/** @file Summary writers in the graph, as graphs of TensorFlow 2's tf.summary have them. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  ImportEvent,
  WriteAudioSummary,
  WriteGraphSummary,
  WriteHistogramSummary,
  WriteImageSummary,
  WriteRawProtoSummary,
  WriteScalarSummary,
  WriteSummary,
} from '../../../src/ops/summary/writeOps.ts';
import {
  CloseSummaryWriter,
  CreateSummaryDbWriter,
  CreateSummaryFileWriter,
  FlushSummaryWriter,
  SummaryWriter,
} from '../../../src/ops/summary/writer.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'writer-'));
  tf.resetDefaultGraph();
});
afterEach(() => rmSync(folder, { recursive: true }));

const step = () => tf.constant(7, { dtype: tf.int64 });
const open = (writer: tf.Tensor) =>
  CreateSummaryFileWriter.node({
    writer,
    logdir: folder,
    max_queue: 10,
    flush_millis: 100_000,
    filename_suffix: '.v2',
  });

it('writes every kind of event', async () => {
  const { writer } = SummaryWriter.build({});
  const at = { writer, step: step() };
  const serialized = new tf.Summary({ value: [{ tag: 'raw', simpleValue: 4 }] }).serializeToString();
  const event = new tf.Event({ step: 9, summary: { value: [{ tag: 'mine', simpleValue: 1 }] } });
  const writes = [
    WriteScalarSummary.node({ ...at, tag: 'number', value: 1.5 }),
    WriteHistogramSummary.node({ ...at, tag: 'many', values: [1, 2, 3] }),
    WriteImageSummary.node(
      { ...at, tag: 'picture', tensor: tf.zeros([1, 2, 3, 1]), bad_color: tf.constant([9], { dtype: tf.uint8 }) },
      { attrs: { max_images: 1 } },
    ),
    WriteAudioSummary.node({ ...at, tag: 'tone', tensor: tf.zeros([1, 4, 1]), sample_rate: 8000 }),
    WriteSummary.node({ ...at, tag: 'tensor', tensor: [1, 2], summary_metadata: '\n\u0006\n\u0004text' }),
    WriteRawProtoSummary.node({ ...at, tensor: tf.constant(serialized) }),
    ImportEvent.node({ writer, event: tf.constant(event.serializeToString()) }),
    WriteGraphSummary.node({ ...at, tensor: tf.constant(tf.GraphDef.encode(tf.getDefaultGraph().asGraphDef())) }),
  ];
  const create = open(writer);
  const flush = FlushSummaryWriter.node({ writer });
  const close = CloseSummaryWriter.node({ writer });
  using sess = new tf.Session();
  await expect(sess.run(writes[0])).rejects.toThrow(tf.errors.NotFoundError);
  await sess.run(create);
  await sess.run(create);
  for (const write of writes) await sess.run(write);
  await sess.run(flush);
  const [file] = readdirSync(folder);
  expect(file).toMatch(/\.v2$/);
  const found: unknown[] = [];
  for await (const e of tf.train.summaryIterator(join(folder, file!)))
    for (const v of e.summary?.value ?? [{ tag: e.graphDef ? 'graph' : 'version', metadata: undefined }])
      found.push([e.step, v.tag, v.metadata?.pluginData?.pluginName ?? '']);
  expect(found).toEqual([
    [0, 'version', ''],
    [7, 'number', ''],
    [7, 'many', ''],
    [7, 'picture/image', ''],
    [7, 'tone/audio/0', ''],
    [7, 'tensor', 'text'],
    [7, 'raw', ''],
    [9, 'mine', ''],
    [7, 'graph', ''],
  ]);
  await sess.run(close);
  await expect(sess.run(flush)).rejects.toThrow(tf.errors.NotFoundError);
  // Opened again, it goes on in a file of its own.
  await sess.run(create);
  await sess.run(close);
  expect(readdirSync(folder).length).toBe(2);
});

it('says what is wrong', async () => {
  const { writer } = SummaryWriter.build({});
  const create = open(writer);
  const at = { writer, step: step() };
  const badSummary = WriteRawProtoSummary.node({ ...at, tensor: ['', '\u0007'] });
  const badGraph = WriteGraphSummary.node({ ...at, tensor: '\u0007' });
  const database = CreateSummaryDbWriter.node({
    writer,
    db_uri: '',
    experiment_name: '',
    run_name: '',
    user_name: '',
  });
  const twoTimes = CreateSummaryFileWriter.node({
    writer,
    logdir: folder,
    max_queue: 10,
    flush_millis: [1, 2],
    filename_suffix: '',
  });
  using sess = new tf.Session();
  await expect(sess.run(twoTimes)).rejects.toThrow(/flush_millis must be scalar, got shape \[2\]/);
  await sess.run(create);
  await expect(sess.run(badSummary)).rejects.toThrow(/Bad tf.compat.v1.Summary binary proto tensor string at index 1/);
  await expect(sess.run(badGraph)).rejects.toThrow(/Bad tf.GraphDef binary proto tensor string/);
  await expect(sess.run(database)).rejects.toThrow(/not written to databases/);
});
