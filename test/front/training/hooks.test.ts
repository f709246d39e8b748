/** @file The hooks, one by one. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { setTarget } from '../../../src/core/logging.ts';
import { chromeTrace } from '../../../src/front/training/timeline.ts';
import { GraphDef } from '../../../src/proto/graph.ts';

let folder: string;
let logged: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hooks-'));
  tf.resetDefaultGraph();
  logged = [];
  tf.logging.setVerbosity(tf.logging.INFO);
  setTarget((line) => logged.push(line.trimEnd()));
});
afterEach(async () => {
  tf.logging.setVerbosity(tf.logging.WARN);
  setTarget();
  await tf.summary.FileWriterCache.clear();
  rmSync(folder, { recursive: true });
});

/** An operation that counts steps. */
const counting = () => tf.assignAdd(tf.train.getOrCreateGlobalStep(), 1);

/** Runs a fetch so often in a session with these hooks, or until one of them stops it. */
async function runs(hooks: readonly tf.train.SessionRunHook[], fetch: tf.Fetch, times: number): Promise<number> {
  await using sess = new tf.train.MonitoredSession({ hooks });
  let done = 0;
  for (; done < times && !sess.shouldStop(); done++) await sess.run(fetch);
  return done;
}

describe('SecondOrStepTimer', () => {
  it('wants exactly one of seconds and steps', () => {
    expect(() => new tf.train.SecondOrStepTimer()).toThrow(/Either everySecs or everySteps/);
    expect(() => new tf.train.SecondOrStepTimer({ everySecs: 1, everySteps: 1 })).toThrow(
      /both everySecs and everySteps/,
    );
  });

  it('triggers once for a step, and again after so many', () => {
    const timer = new tf.train.SecondOrStepTimer({ everySteps: 3 });
    expect(timer.lastTriggeredStep()).toBeNull();
    expect(timer.shouldTriggerForStep(5)).toBe(true);
    expect(timer.updateLastTriggeredStep(5)).toEqual([null, null]);
    expect([5, 6, 7, 8].map((step) => timer.shouldTriggerForStep(step))).toEqual([false, false, false, true]);
    expect(timer.updateLastTriggeredStep(8)[1]).toBe(3);
    const byClock = new tf.train.SecondOrStepTimer({ everySecs: 1000 });
    byClock.updateLastTriggeredStep(1);
    expect(byClock.shouldTriggerForStep(100)).toBe(false);
    byClock.reset();
    expect(byClock.shouldTriggerForStep(100)).toBe(true);
  });
});

describe('StopAtStepHook', () => {
  it('stops after so many steps or at a step', async () => {
    const count = counting();
    expect(await runs([new tf.train.StopAtStepHook({ numSteps: 4 })], count, 10)).toBe(4);
    expect(await runs([new tf.train.StopAtStepHook({ lastStep: 2 })], count, 10)).toBe(2);
    expect(() => new tf.train.StopAtStepHook({})).toThrow(/One of numSteps or lastStep/);
    expect(() => new tf.train.StopAtStepHook({ numSteps: 1, lastStep: 2 })).toThrow(/Only one/);
  });

  it('needs a global step', () => {
    expect(() => new tf.train.MonitoredSession({ hooks: [new tf.train.StopAtStepHook({ numSteps: 1 })] })).toThrow(
      /Global step should be created to use StopAtStepHook/,
    );
  });
});

describe('LoggingTensorHook', () => {
  it('prints every so many runs, in the order of the tags, and at the end', async () => {
    const t = tf.constant(42, { name: 'foo' });
    const hook = new tf.train.LoggingTensorHook({ b: t, a: 'foo:0' }, { everyNIter: 2, atEnd: true });
    await runs([hook], t, 3);
    expect(logged.map((line) => line.replace(/ \([\d.]+ sec\)/, ' (s)'))).toEqual([
      'INFO:tensorflow:a = 42, b = 42',
      'INFO:tensorflow:a = 42, b = 42 (s)',
      'INFO:tensorflow:a = 42, b = 42 (s)',
    ]);
  });

  it('takes names and a formatter', async () => {
    const t = tf.constant([1.5, 2], { name: 'bar' });
    const formatter = (values: Readonly<Record<string, tf.NDArray>>) => `got ${values['bar']}`;
    await runs([new tf.train.LoggingTensorHook(['bar'], { atEnd: true, formatter })], t, 2);
    expect(logged).toEqual(['INFO:tensorflow:got [1.5 2. ]']);
  });

  it('takes variables', async () => {
    const step = tf.train.getOrCreateGlobalStep();
    const next = tf.assignAdd(step, 1);
    await runs([new tf.train.LoggingTensorHook({ step }, { everyNIter: 1 })], next, 1);
    expect(logged).toEqual([expect.stringMatching(/^INFO:tensorflow:step = [01]$/)]);
  });

  it('wants to know when', () => {
    expect(() => new tf.train.LoggingTensorHook(['t'])).toThrow(/exactly one of everyNIter and everyNSecs/);
    expect(() => new tf.train.LoggingTensorHook(['t'], { everyNIter: 5, everyNSecs: 5 })).toThrow(/exactly one/);
    expect(() => new tf.train.LoggingTensorHook(['t'], { everyNIter: 0 })).toThrow(/invalid everyNIter=0/);
    tf.split(tf.constant([1, 2]), 2, { name: 'two' });
    const hooks = [new tf.train.LoggingTensorHook(['two'], { everyNIter: 1 })];
    expect(() => new tf.train.MonitoredSession({ hooks })).toThrow(/Name two is ambiguous/);
  });
});

describe('NanTensorHook', () => {
  it('fails or stops when the loss is no number', async () => {
    const x = tf.placeholderWithDefault(Number.NaN, [], { name: 'x' });
    await expect(runs([new tf.train.NanTensorHook(x)], x, 5)).rejects.toThrow(tf.train.NanLossDuringTrainingError);
    expect(await runs([new tf.train.NanTensorHook(x, { failOnNanLoss: false })], x, 5)).toBe(1);
    expect(logged).toEqual([
      'ERROR:tensorflow:Model diverged with loss = NaN.',
      'WARNING:tensorflow:Model diverged with loss = NaN.',
    ]);
    expect(await runs([new tf.train.NanTensorHook(tf.constant(1.5))], x, 2)).toBe(2);
  });
});

describe('FinalOpsHook', () => {
  it('runs at the end, with feeds', async () => {
    const x = tf.placeholder(tf.float32, []);
    const hook = new tf.train.FinalOpsHook({ doubled: x.mul(2) }, { finalOpsFeedDict: [[x, 4]] });
    await runs([hook], tf.constant(1), 1);
    expect(hook.finalOpsValues).toMatchObject({ doubled: expect.anything() });
    expect(Number((hook.finalOpsValues as { doubled: tf.NDArray }).doubled)).toBe(8);
  });
});

describe('GlobalStepWaiterHook', () => {
  it('lets a worker go when the step is there', async () => {
    const count = counting();
    expect(await runs([new tf.train.GlobalStepWaiterHook(0)], count, 2)).toBe(2);
    const sess = new tf.train.MonitoredSession({ hooks: [new tf.train.GlobalStepWaiterHook(2)] });
    // The hook waits in this run, until the step is raised in the session inside.
    const waiting = sess.run(tf.train.getGlobalStep());
    await sess.runStepFn(async ({ session }) => {
      for (let i = 0; i < 2; i++) await session.run(count);
    });
    expect(Number(await waiting)).toBe(2);
    await sess.close();
    expect(logged).toContain('INFO:tensorflow:Waiting for global step 2 before starting training.');
  });
});

describe('StepCounterHook', () => {
  it('writes the steps per second, and complains about a step that stands still', async () => {
    const count = counting();
    await runs([new tf.train.StepCounterHook({ everyNSteps: 2, outputDir: folder })], count, 5);
    await tf.summary.FileWriterCache.clear();
    const steps: number[] = [];
    for await (const e of tf.train.summaryIterator(join(folder, readdirSync(folder)[0]!)))
      if (e.summary?.value[0]?.tag === 'global_step/sec') steps.push(e.step);
    expect(steps).toEqual([3, 5]);
    expect(logged.filter((line) => line.startsWith('INFO:tensorflow:global_step/sec: ')).length).toBe(2);
    await runs([new tf.train.StepCounterHook()], tf.constant(1), 9);
    expect(logged.filter((line) => line.includes('has not been increased')).length).toBe(5);
    expect(() => new tf.train.StepCounterHook({ everyNSteps: null })).toThrow(/exactly one/);
  });
});

describe('SummarySaverHook', () => {
  it('writes summaries every so many steps', async () => {
    const count = counting();
    const summaryOp = [tf.summary.scalar('a', 1), tf.summary.scalar('b', 2)];
    await runs([new tf.train.SummarySaverHook({ saveSteps: 2, outputDir: folder, summaryOp })], count, 5);
    const found: [number, string | undefined][] = [];
    for await (const e of tf.train.summaryIterator(join(folder, readdirSync(folder)[0]!)))
      if (e.summary) found.push([e.step, e.summary.value[0]?.tag]);
    expect(found).toEqual([1, 3, 5].flatMap((step) => ['a', 'b'].map((tag) => [step, tag])));
    expect(() => new tf.train.SummarySaverHook({ saveSteps: 1 })).toThrow(/Exactly one of scaffold or summaryOp/);
  });
});

describe('CheckpointSaverHook', () => {
  it('tells listeners, and stops when one of them wants to', async () => {
    const count = counting();
    const calls: string[] = [];
    class Listener extends tf.train.CheckpointSaverListener {
      override begin() {
        calls.push('begin');
      }
      override beforeSave(_s: unknown, step: number) {
        calls.push(`before ${step}`);
      }
      override afterSave(_s: unknown, step: number) {
        calls.push(`after ${step}`);
        return step >= 4;
      }
      override end(_s: unknown, step: number) {
        calls.push(`end ${step}`);
      }
    }
    const saver = new tf.train.Saver();
    const hook = new tf.train.CheckpointSaverHook(folder, { saveSteps: 2, saver, listeners: [new Listener()] });
    expect(await runs([hook], count, 10)).toBe(4);
    expect(calls).toEqual(['begin', 'before 0', 'after 0', 'before 2', 'after 2', 'before 4', 'after 4', 'end 4']);
    expect(tf.train.latestCheckpoint(folder)).toBe(join(folder, 'model.ckpt-4'));
  });

  it('wants one saver', async () => {
    const count = counting();
    const scaffold = new tf.train.Scaffold();
    expect(
      () => new tf.train.CheckpointSaverHook(folder, { saveSteps: 1, saver: new tf.train.Saver(), scaffold }),
    ).toThrow(/both saver and scaffold/);
    for (let i = 0; i < 2; i++) tf.addToCollection(tf.GraphKeys.SAVERS, new tf.train.Saver());
    const hook = new tf.train.CheckpointSaverHook(folder, { saveSteps: 1 });
    await expect(runs([hook], count, 1)).rejects.toThrow(/More than one item in collection savers/);
  });
});

describe('ProfilerHook', () => {
  it('writes a trace that Chrome reads, and metadata that TensorBoard reads', async () => {
    const count = counting();
    const x = tf.matmul(tf.randomUniform([8, 8]), tf.randomUniform([8, 8]), { name: 'product' });
    await runs([new tf.train.ProfilerHook({ saveSteps: 2, outputDir: folder })], [count, x], 4);
    await tf.summary.FileWriterCache.clear();
    const name = 'timeline-2.json';
    const { traceEvents } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
      traceEvents: { ph: string; name: string; ts: number; dur: number; args: { name: string } }[];
    };
    expect(traceEvents[0]).toMatchObject({ ph: 'M', name: 'process_name' });
    expect(traceEvents.some(({ ph, args, dur }) => ph === 'X' && args.name === 'product' && dur > 0)).toBe(true);
    const tags: string[] = [];
    for await (const e of tf.train.summaryIterator(
      join(folder, readdirSync(folder).find((file) => file.startsWith('events'))!),
    ))
      if (e.taggedRunMetadata) tags.push(e.taggedRunMetadata.tag);
    expect(tags).toEqual(['step_2', 'step_4']);
  });

  it('shows sizes of results where it is asked to', async () => {
    const count = counting();
    const x = tf.matmul(tf.randomUniform([8, 8]), tf.randomUniform([8, 8]), { name: 'product' });
    await runs([new tf.train.ProfilerHook({ saveSteps: 2, outputDir: folder, showMemory: true })], [count, x], 2);
    await tf.summary.FileWriterCache.clear();
    const { traceEvents } = JSON.parse(readFileSync(join(folder, 'timeline-2.json'), 'utf8')) as {
      traceEvents: { ph: string; name: string; args?: { bytes?: number } }[];
    };
    const made = traceEvents.filter(({ ph, name }) => ph === 'N' && name === 'product');
    expect(made).toHaveLength(1);
    // What was joined with the product may write more than the product.
    expect(made[0]!.args!.bytes).toBeGreaterThanOrEqual(8 * 8 * 4);
    expect(traceEvents.filter(({ ph }) => ph === 'C').at(-1)!.args!.bytes).toBe(0);
  });

  it('draws arrows between rows, through nodes that take no time', () => {
    const stat = (nodeName: string, allStartMicros: number, allEndRelMicros: number, outputBytes: number) => ({
      nodeName,
      timelineLabel: `${nodeName} = map`,
      allStartMicros,
      allEndRelMicros,
      outputBytes,
    });
    const nodes = [stat('a', 0, 10, 100), stat('b', 5, 10, 20), stat('c', 20, 5, 3)];
    const graph = GraphDef.create({
      node: [
        { name: 'a', op: 'A' },
        { name: 'b', op: 'B' },
        { name: 'shaped', op: 'Reshape', input: ['b:1'] },
        { name: 'c', op: 'C', input: ['a', '^shaped'] },
      ],
    });
    const record = { stepStats: { devStats: [{ device: 'cpu', nodeStats: nodes }] }, partitionGraphs: [graph] };
    type Event = { readonly ph: string; readonly name: string; readonly ts: number; readonly args?: object };
    const eventsOf = (options: object) =>
      (JSON.parse(chromeTrace(record, options)) as { traceEvents: readonly Event[] }).traceEvents;
    const short = (phases: string, options: object) =>
      eventsOf(options)
        .filter(({ ph }) => phases.includes(ph))
        .map(({ ph, name, ts }) => `${ph} ${name} ${ts}`);
    // a and c are in one row, b overlaps with a and is in another.
    expect(short('st', {})).toEqual(['s b 15', 't b 20']);
    expect(short('st', { showDataflow: false })).toEqual([]);
    expect(short('ND', { showMemory: true })).toEqual(['N a 0', 'D a 25', 'N b 5', 'D b 25', 'N c 20', 'D c 25']);
    const sizes = eventsOf({ showMemory: true }).filter(({ ph }) => ph === 'C');
    expect(sizes.map(({ args }) => args)).toEqual([100, 120, 123, 23, 3, 0].map((bytes) => ({ bytes })));
  });
});

describe('SessionManager', () => {
  it('prepares, recovers and waits for sessions', async () => {
    const v = tf.getVariable('v', [], { initializer: tf.constantInitializer(3) });
    const saver = new tf.train.Saver();
    const readyOp = tf.reportUninitializedVariables();
    const manager = new tf.train.SessionManager({ readyOp, recoveryWaitSecs: 0.01 });
    await expect(manager.prepareSession('')).rejects.toThrow(/Model is not initialized and no initOp/);
    const [fresh, wasLoaded] = await manager.recoverSession('', { saver, checkpointDir: folder });
    expect(wasLoaded).toBe(false);
    await fresh.close();
    const sess = await manager.prepareSession('', { initOp: tf.globalVariablesInitializer() });
    await sess.run(tf.assign(v, 7));
    const path = await saver.save(sess, join(folder, 'm'), { globalStep: 1 });
    const [again, isLoaded] = await manager.recoverSession('', { saver, checkpointDir: folder });
    expect([isLoaded, Number(await again.run(v))]).toEqual([true, 7]);
    const named = await manager.prepareSession('', { saver, checkpointFilenameWithPath: path });
    expect(Number(await named.run(v))).toBe(7);
    await expect(manager.waitForSession('', { maxWaitSecs: 0 })).rejects.toThrow(tf.errors.DeadlineExceededError);
    const both = { saver, checkpointDir: folder, checkpointFilenameWithPath: path };
    await expect(manager.recoverSession('', both)).rejects.toThrow(/both checkpointDir and/);
    expect(() => new tf.train.SessionManager({ readyForLocalInitOp: readyOp })).toThrow(/must also pass a localInitOp/);
  });
});

describe('Scaffold', () => {
  it('makes what is not given, once, and copies from another', async () => {
    tf.getVariable('v', [], { initializer: tf.constantInitializer(3) });
    const calls: unknown[] = [];
    const first = new tf.train.Scaffold({ initFn: (scaffold) => calls.push(scaffold) });
    const initOp = tf.globalVariablesInitializer();
    const copy = new tf.train.Scaffold({ copyFromScaffold: first, initOp });
    first.finalize();
    tf.getDefaultGraph().unfinalize();
    expect(first.summaryOp).toBeNull();
    copy.finalize();
    expect([copy.initOp, copy.readyOp, copy.saver]).toEqual([initOp, first.readyOp, first.saver]);
    copy.initFn!({} as never);
    expect(calls).toEqual([copy]);
    tf.addToCollection(tf.GraphKeys.INIT_OP, initOp);
    tf.getDefaultGraph().unfinalize();
    expect(() => new tf.train.Scaffold().finalize()).toThrow(/More than one item in the collection "init_op"/);
  });
});
