/** @file FileWriter and summaryIterator: what is in the files, and what happens when something goes wrong. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

// Lets a test see the disk full: the real functions otherwise.
const disk = vi.hoisted(() => ({ isFull: false }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const write = (...args: unknown[]) => {
    const done = args.at(-1) as (error: Error | null) => void; // the callback is the last argument
    if (disk.isFull) process.nextTick(done, Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }));
    else Reflect.apply(real.write, undefined, args);
  };
  return { ...real, write: Object.assign(write, { ...real.write }), default: real };
});

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'events-'));
});
afterEach(() => {
  disk.isFull = false;
  fs.rmSync(folder, { recursive: true });
});

const files = (path = folder) =>
  fs
    .readdirSync(path)
    .sort()
    .map((name) => join(path, name));
async function eventsIn(path: string): Promise<tf.Event[]> {
  const events: tf.Event[] = [];
  for await (const event of tf.train.summaryIterator(path)) events.push(event);
  return events;
}
const scalarOf = (tag: string, simpleValue: number) => ({ value: [{ tag, simpleValue }] });

describe('FileWriter', () => {
  it('names files as TensorFlow does and begins them with their version', async () => {
    const writer = new tf.summary.FileWriter(folder, null, { filenameSuffix: '.mine' });
    expect(files()).toEqual([]);
    writer.addSummary(scalarOf('loss', 0.5), 7);
    await writer.close();
    expect(files()[0]).toMatch(/events\.out\.tfevents\.\d{10}\.[^/]+\.mine$/);
    const [version, event] = await eventsIn(files()[0]!);
    expect(version!.fileVersion).toBe('brain.Event:2');
    expect(version!.sourceMetadata).toEqual({ writer: 'tensorflow.core.util.events_writer' });
    expect(event!.step).toBe(7);
    expect(event!.summary).toMatchObject({ value: [{ tag: 'loss', simpleValue: 0.5 }] });
    expect(Math.abs(event!.wallTime - Date.now() / 1000)).toBeLessThan(60);
  });

  it('adds the graph with its shapes, and everything else there is', async () => {
    const graph = new tf.Graph();
    const runMetadata = new tf.RunMetadata();
    const writer = await graph.asDefault(async () => {
      const x = tf.placeholder(tf.float32, [2], { name: 'x' });
      tf.summary.histogram('x', x);
      tf.summary.text('note', tf.constant('hello'));
      const merged = tf.summary.mergeAll();
      using sess = new tf.Session({ graph });
      await using writer = new tf.summary.FileWriter(folder, sess.graph);
      for (let step = 0; step < 2; step++) {
        const options = { traceLevel: tf.RunOptions.FULL_TRACE };
        writer.addSummary(await sess.run(merged, [[x, [step, 1]]], { options, runMetadata }), step);
      }
      writer.addRunMetadata(runMetadata, 'step1', 1);
      writer.addSessionLog({ status: tf.SessionLog.CHECKPOINT, checkpointPath: 'model-1' }, 1);
      writer.addEvent({ wallTime: 1, step: 9, fileVersion: 'mine' });
      expect(() => writer.addRunMetadata(runMetadata, 'step1')).toThrow(/already used/);
      return writer;
    });
    expect(writer.getLogdir()).toBe(folder);
    const [, graphEvent, metaGraph, first, second, metadata, log, own] = await eventsIn(files()[0]!);
    const nodes = tf.GraphDef.decode(graphEvent!.graphDef!).node;
    expect(nodes.find((node) => node.name === 'x')?.attr._output_shapes).toBeDefined();
    expect(metaGraph!.metaGraphDef!.length).toBeGreaterThan(0);
    expect(first!.summary!.value.map(({ tag, histo }) => [tag, histo?.num])).toEqual([
      ['x_1', 2],
      ['note', undefined],
    ]);
    // The metadata of a tag stands in the file once.
    expect(first!.summary!.value[1]!.metadata?.pluginData?.pluginName).toBe('text');
    expect(second!.summary!.value[1]!.metadata).toBeUndefined();
    expect(metadata!.taggedRunMetadata!.tag).toBe('step1');
    expect(metadata!.taggedRunMetadata!.runMetadata.length).toBeGreaterThan(0);
    expect(log!.sessionLog).toEqual({ status: 3, checkpointPath: 'model-1', msg: '' });
    expect([own!.wallTime, own!.step, own!.fileVersion]).toEqual([1, 9, 'mine']);
  });

  it('takes the graph among the options, and none at all', async () => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.constant(1, { name: 'one' }));
    await new tf.summary.FileWriter(folder, { graph, filenameSuffix: '.a' }).close();
    const [, event] = await eventsIn(files()[0]!);
    expect(tf.GraphDef.decode(event!.graphDef!).node.map((node) => node.name)).toEqual(['one']);
    await new tf.summary.FileWriter(folder, { maxQueue: 1 }).close();
    expect(files().length).toBe(1);
    await new tf.summary.FileWriter(folder, graph.asGraphDef()).close();
    expect(files().length).toBe(2);
    expect(() => new tf.summary.FileWriter(folder, { flushSeconds: 1 } as object)).toThrow(/Did you mean 'flushSecs'/);
  });

  it('takes the step as a number or as an option, and the graph as a message', async () => {
    const graphDef = new tf.Graph().asGraphDef();
    const writer = new tf.summary.FileWriter(folder, { graphDef });
    const summary = new tf.Summary({ value: [{ tag: 'x', simpleValue: 1 }] });
    writer.addSummary(summary, 3);
    writer.addSummary(summary, { globalStep: 4n });
    writer.addGraph(graphDef, { globalStep: 5 });
    expect(() => writer.addSummary(summary, 'six' as never)).toThrow('A step is a number');
    expect(() => writer.addSummary(summary, { step: 7 } as object)).toThrow(/has no option 'step'/);
    await writer.close();
    const steps = (await eventsIn(files()[0]!)).map(({ step }) => Number(step));
    expect(steps).toEqual([0, 0, 0, 3, 4, 5]); // the version, the graph, the meta graph
  });

  it('keeps all events in order, however fast they come', async () => {
    const writer = new tf.summary.FileWriter(folder, null, { maxQueue: 3, flushSecs: 1000 });
    for (let step = 0; step < 500; step++) {
      writer.addSummary(scalarOf('s', step), step);
      if (step % 50 === 0) await new Promise(setImmediate);
    }
    await writer.flush();
    const steps = (await eventsIn(files()[0]!)).slice(1).map((event) => event.step);
    expect(steps).toEqual(Array.from({ length: 500 }, (_, i) => i));
    await writer.close();
  });

  it('writes a new file after it was reopened; a closed one does nothing but warn', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const writer = new tf.summary.FileWriter(folder);
    writer.addSummary(scalarOf('a', 1), 1);
    await writer.close();
    await writer.close();
    writer.addSummary(scalarOf('lost', 1), 2);
    await writer.flush();
    expect(warn).toHaveBeenCalledTimes(2);
    writer.reopen();
    writer.addSummary(scalarOf('b', 1), 3);
    await writer.close();
    warn.mockRestore();
    const tags = await Promise.all(
      files().map(async (path) => (await eventsIn(path)).flatMap((e) => e.summary?.value.map((v) => v.tag) ?? [])),
    );
    expect(tags).toEqual([['a'], ['b']]);
  });

  it('has written everything when close returns, for whoever does not wait', async () => {
    const writer = new tf.summary.FileWriter(folder, null, { maxQueue: 5 });
    for (let step = 0; step < 23; step++) writer.addSummary(scalarOf('s', step), step);
    const closing = writer.close();
    const [path] = files();
    const now = fs.readFileSync(path!);
    await closing;
    expect(fs.readFileSync(path!).equals(now)).toBe(true);
    const steps = (await eventsIn(path!)).slice(1).map((event) => event.step);
    expect(steps).toEqual(Array.from({ length: 23 }, (_, i) => i));
  });

  it('gives one writer for each folder', async () => {
    const graph = new tf.Graph();
    await graph.asDefault(async () => {
      tf.constant(1);
      const writer = tf.summary.FileWriterCache.get(folder);
      expect(tf.summary.FileWriterCache.get(folder)).toBe(writer);
      await tf.summary.FileWriterCache.clear();
      expect((await eventsIn(files()[0]!))[1]!.graphDef).toBeDefined();
    });
  });

  it('says when a folder cannot be written', () => {
    fs.writeFileSync(join(folder, 'file'), '');
    expect(() => new tf.summary.FileWriter(join(folder, 'file'))).toThrow(/file; Not a directory/);
    expect(() => new tf.summary.FileWriter(join(folder, 'file', 'below'))).toThrow(tf.errors.FailedPreconditionError);
  });

  it('says that the disk is full, to whoever asks next', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const writer = new tf.summary.FileWriter(folder);
    disk.isFull = true;
    writer.addSummary(scalarOf('a', 1), 1);
    await expect(writer.flush()).rejects.toThrow(tf.errors.ResourceExhaustedError);
    expect(() => writer.addSummary(scalarOf('a', 1), 2)).toThrow(/No space left on device/);
    await expect(writer.close()).rejects.toThrow(/No space left on device/);
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });

  it('has a word for a graph without summaries and for what is none', () => {
    const writer = new tf.summary.FileWriter(folder);
    expect(() => writer.addSummary(null)).toThrow(/mergeAll\(\) gives null/);
    expect(() => writer.addSummary(new tf.NDArray(tf.string, [0], []))).toThrow(/scalar of type string/);
    const scalar = tf.summary.scalar('x', 1);
    const add = (summary: unknown) => () => new tf.summary.FileWriter(folder).addSummary(summary as null, 1);
    expect(add(scalar)).toThrow(/'x:0'.* has no value yet\. Add what running it gives: writer\.addSummary\(await/);
    expect(add(Promise.resolve())).toThrow(/a promise of a summary/);
    expect(add([1])).toThrow(/one by one/);
  });

  // A process of its own needs the compiled program.
  const module = new URL('../../../dist/src/io/eventFile.js', import.meta.url);
  it.skipIf(!fs.existsSync(module)).each([
    ['exits', 'process.exit(0)'],
    ['fails', "throw new Error('on purpose')"],
    ['ends', ''],
    ['is interrupted', "process.kill(process.pid, 'SIGINT'); setTimeout(() => {}, 60_000)"],
  ])('loses nothing when the process %s without closing', async (_how, end) => {
    const program = `import { EventFileWriter } from '${module.href}';
      const writer = new EventFileWriter(${JSON.stringify(folder)}, { maxQueue: 7, flushSecs: 1000 });
      for (let step = 0; step < 100; step++) writer.add({ step, summary: { value: [{ tag: 'x', simple_value: step }] } });
      setImmediate(() => { ${end} });`;
    const { stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    expect(signal).toBe(end.includes('SIGINT') ? 'SIGINT' : null);
    expect(stderr).toEqual(end.startsWith('throw') ? expect.stringContaining('Error: on purpose\n') : '');
    expect((await eventsIn(files()[0]!)).slice(1).map((event) => event.step)).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    );
  });
});

describe('summaryIterator', () => {
  const path = new URL('../../golden/io/events.out.tfevents.golden', import.meta.url).pathname;

  it("reads TensorFlow's files", async () => {
    const golden = JSON.parse(fs.readFileSync(new URL('../../golden/summaries.json', import.meta.url), 'utf8')) as {
      events: { what: string; values: object[]; [key: string]: unknown }[];
    }; // made by tools/golden/summaries.py
    const kinds = ['simpleValue', 'histo', 'image', 'audio', 'tensor'] as const;
    const snake = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const ours = (await eventsIn(path)).map((e) => ({
      step: e.step,
      wallTime: e.wallTime,
      what: snake(
        (['fileVersion', 'graphDef', 'metaGraphDef', 'summary', 'sessionLog', 'taggedRunMetadata'] as const).find(
          (key) => e[key] !== undefined,
        )!,
      ),
      values: (e.summary?.value ?? []).map((v) => ({
        tag: v.tag,
        kind: snake(kinds.find((kind) => v[kind] !== undefined)!),
        simpleValue: v.simpleValue ?? 0,
        plugin: v.metadata?.pluginData?.pluginName ?? '',
        num: v.histo?.num ?? 0,
      })),
      status: e.sessionLog?.status ?? 0,
      graphBytes: e.graphDef?.length ?? 0,
      metaGraphBytes: e.metaGraphDef?.length ?? 0,
      runTag: e.taggedRunMetadata?.tag ?? '',
    }));
    expect(ours).toEqual(golden.events);
  });

  it('says where a file is damaged', async () => {
    const damaged = join(folder, 'events.out.tfevents.0');
    const bytes = fs.readFileSync(path);
    bytes[40]! ^= 1;
    fs.writeFileSync(damaged, bytes);
    await expect(eventsIn(damaged)).rejects.toThrow(tf.errors.DataLossError);
    await expect(eventsIn(join(folder, 'none'))).rejects.toThrow(tf.errors.NotFoundError);
  });
});

describe('a writer of a session', () => {
  beforeEach(() => tf.resetDefaultGraph());

  it('has the nodes of Python, and one file for all writers of a folder', async () => {
    const sess = new tf.Session();
    const first = new tf.summary.FileWriter(folder, { session: sess, filenameSuffix: '.x' });
    const second = new tf.summary.FileWriter(folder, { session: sess });
    const nodes = sess.graph.asGraphDef().node.map((node) => node.name);
    expect(nodes.filter((name) => name.startsWith('filewriter/') && name.split('/').length === 2)).toEqual([
      'filewriter/SummaryWriter',
      'filewriter/CreateSummaryFileWriter',
      'filewriter/Const',
      'filewriter/PlaceholderWithDefault',
      'filewriter/ImportEvent',
      'filewriter/FlushSummaryWriter',
      'filewriter/CreateSummaryFileWriter_1',
      'filewriter/FlushSummaryWriter_1',
      'filewriter/FlushSummaryWriter_2',
      'filewriter/CloseSummaryWriter',
    ]);
    expect(nodes).toContain('filewriter_1/Const_1'); // the empty suffix is a constant of its own
    first.addSummary(scalarOf('a', 1), 3);
    await first.flush();
    second.addSummary(scalarOf('a', 2), 4);
    await second.flush();
    await first.close();
    expect(files()).toHaveLength(1);
    expect((await eventsIn(files()[0]!)).map(({ step }) => step)).toEqual([0, 3, 4]);
    second.addSummary(scalarOf('a', 2), 5);
    await expect(second.flush()).rejects.toThrow(
      /Resource localhost\/logdir:.*\/SummaryWriterInterface does not exist/,
    );
    first.reopen();
    first.addSummary(scalarOf('a', 1), 6);
    await first.close();
    expect(files()).toHaveLength(2);
    expect((await eventsIn(files()[1]!)).map(({ step }) => step)).toEqual([0, 6]);
    await sess.close();
  });

  it('says what went wrong', async () => {
    const sess = new tf.Session();
    fs.writeFileSync(join(folder, 'file'), '');
    const writer = new tf.summary.FileWriter(join(folder, 'file'), { session: sess });
    writer.addSummary(scalarOf('a', 1), 3);
    await expect(writer.close()).rejects.toThrow(/Not a directory/);
    await sess.close();
  });
});

it('a second close waits for the first', async () => {
  const writer = new tf.summary.FileWriter(join(folder, 'twice'));
  disk.isFull = true;
  writer.addSummary(scalarOf('a', 1), 1);
  await expect(writer.flush()).rejects.toThrow(/No space left/);
  const [first, second] = await Promise.allSettled([writer.close(), writer.close()]);
  expect([first.status, second]).toEqual(['rejected', first]);
});

it('records with fields that messages do not have are refused, for they would be lost', async () => {
  await using writer = new tf.summary.FileWriter(join(folder, 'fields'));
  const value = [{ tag: 'x', simpleValue: 1 }];
  // @ts-expect-error misspelt
  expect(() => writer.addSummary({ values: value }, 1)).toThrow(
    /tf\.Summary has no field 'values'. Did you mean 'value'/,
  );
  // @ts-expect-error not a list
  expect(() => writer.addSummary({ value: value[0] }, 1)).toThrow(
    /'value' of tf\.Summary is a list, but this is an object/,
  );
  // @ts-expect-error there is none
  expect(() => new tf.Summary({ value: [{ tag: 'x', number: 1 }] })).toThrow(
    /has no field 'number'. The fields are: .*simpleValue/,
  );
  // @ts-expect-error misspelt
  expect(() => writer.addEvent({ stp: 1 })).toThrow(/tf\.Event has no field 'stp'. Did you mean 'step'/);
  const summary = new tf.Summary({
    value: [{ tag: 'x', tensor: tf.makeTensorProto(new tf.NDArray(tf.int32, [2], Int32Array.of(1, 2))) }],
  });
  expect(tf.Summary.fromString(summary.serializeToString())).toEqual(summary);
});
