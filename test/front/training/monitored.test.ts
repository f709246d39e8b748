/** @file Monitored training: the same nodes, files and events as TensorFlow's, and what happens when things go wrong. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

interface Run {
  readonly values?: readonly number[];
  readonly nodes: readonly unknown[];
  readonly files: readonly string[];
  readonly events: readonly unknown[];
}
const golden = JSON.parse(readFileSync(new URL('../../golden/monitored.json', import.meta.url), 'utf8')) as {
  monitored: { first: Run; again: Run };
  supervised: Run;
}; // made by tools/golden/monitored.py

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'monitored-'));
  tf.resetDefaultGraph();
});
afterEach(async () => {
  await tf.summary.FileWriterCache.clear();
  rmSync(folder, { recursive: true });
});

/** The model of the golden file. */
function model(): { train: tf.Operation; loss: tf.Tensor; w: tf.Variable } {
  const w = tf.getVariable('w', [2], { initializer: tf.constantInitializer([1, -2]) });
  tf.getLocalVariable('seen', [], { initializer: tf.zerosInitializer() });
  const loss = tf.reduceSum(w.mul(w), { name: 'loss' });
  const step = tf.train.getOrCreateGlobalStep();
  tf.summary.scalar('losses/total', loss);
  return { w, loss, train: new tf.train.GradientDescentOptimizer(0.25).minimize(loss, { globalStep: step }) };
}

const nodes = () =>
  tf
    .getDefaultGraph()
    .asGraphDef()
    .node.map(({ name, op, input }) => [name, op, input]);
const files = () =>
  readdirSync(folder)
    .map((name) => name.replace(/tfevents.*/, 'tfevents'))
    .sort();
const eventFiles = () =>
  readdirSync(folder)
    .filter((name) => name.startsWith('events'))
    .sort();

async function events(): Promise<unknown[]> {
  const listed: unknown[] = [];
  for (const name of eventFiles())
    for await (const e of tf.train.summaryIterator(join(folder, name))) {
      const values = e.summary?.value;
      if (values) {
        const numbers = values.filter(({ tag }) => !tag.endsWith('/sec')).map((v) => v.simpleValue);
        listed.push(['summary', e.step, values.map((v) => v.tag), numbers]);
      } else {
        const kinds = { fileVersion: 'file_version', graphDef: 'graph_def', metaGraphDef: 'meta_graph_def' } as const;
        const key = (['fileVersion', 'graphDef', 'metaGraphDef'] as const).find((k) => e[k] !== undefined);
        const { status = 0, checkpointPath = '' } = e.sessionLog ?? {};
        listed.push([key ? kinds[key] : 'session_log', e.step, status, basename(checkpointPath)]);
      }
    }
  return listed;
}

describe('MonitoredTrainingSession', () => {
  it('leaves the nodes, files and events of TensorFlow, and goes on where it was', async () => {
    for (const [name, last] of [
      ['first', 5],
      ['again', 7],
    ] as const) {
      await new tf.Graph().asDefault(async () => {
        const { train, loss } = model();
        const values: number[] = [];
        {
          await using sess = await tf.train.MonitoredTrainingSession({
            checkpointDir: folder,
            hooks: [new tf.train.StopAtStepHook({ lastStep: last })],
            saveCheckpointSteps: 2,
            saveSummariesSteps: 2,
            logStepCountSteps: 2,
          });
          expect(tf.getDefaultGraph().isFinalized).toBe(true);
          while (!sess.shouldStop()) values.push(Number((await sess.run([train, loss]))[1]));
        }
        expect(tf.getDefaultGraph().isFinalized).toBe(false);
        expect(values).toEqual(golden.monitored[name].values);
        expect(nodes()).toEqual(golden.monitored[name].nodes);
        await tf.summary.FileWriterCache.clear();
        expect(files()).toEqual(golden.monitored[name].files);
        expect(await events()).toEqual(golden.monitored[name].events);
        for (const file of eventFiles()) rmSync(join(folder, file));
      });
    }
  });

  it('begins again at the last checkpoint when a server goes away', async () => {
    const { train } = model();
    const steps: number[] = [];
    let failures = 0;
    class Flaky extends tf.train.SessionRunHook<tf.NDArray> {
      created = 0;
      override afterCreateSession() {
        this.created++;
      }
      override beforeRun() {
        return new tf.train.SessionRunArgs(tf.train.getGlobalStep());
      }
      override afterRun(_context: tf.train.SessionRunContext, { results }: tf.train.SessionRunValues<tf.NDArray>) {
        steps.push(Number(results));
        if (Number(results) === 2 && failures++ < 2)
          throw failures === 1 ? new tf.errors.AbortedError('gone') : new tf.errors.UnavailableError('away');
      }
    }
    const flaky = new Flaky();
    const hooks = [flaky, new tf.train.StopAtStepHook({ lastStep: 5 })];
    await using sess = await tf.train.MonitoredTrainingSession({
      checkpointDir: folder,
      hooks,
      saveCheckpointSteps: 2,
    });
    while (!sess.shouldStop()) await sess.run(train);
    // A step that was lost is made again from what the checkpoint before it had.
    expect(steps).toEqual([0, 1, 2, 2, 2, 3, 4]);
    expect(flaky.created).toBe(3);
  });

  it('throws other errors, tells hooks of no end then, and unlocks the graph', async () => {
    const { train } = model();
    const calls: string[] = [];
    class Watcher extends tf.train.SessionRunHook {
      override afterRun() {
        calls.push('run');
        throw new tf.errors.InternalError('broken');
      }
      override end() {
        calls.push('end');
      }
    }
    const body = async () => {
      await using sess = new tf.train.MonitoredSession({ hooks: [new Watcher()] });
      await sess.run(train);
    };
    await expect(body()).rejects.toThrow('broken');
    expect(calls).toEqual(['run']);
    expect(tf.getDefaultGraph().isFinalized).toBe(false);
  });

  it('closes a session that a hook refuses, and stops its tasks', async () => {
    const gs = tf.train.getOrCreateGlobalStep();
    const seen: { session?: tf.train.GraphSession; coord?: tf.train.Coordinator } = {};
    class Refusing extends tf.train.SessionRunHook {
      override afterCreateSession(session: tf.train.GraphSession, coord: tf.train.Coordinator): void {
        Object.assign(seen, { session, coord });
        throw new tf.errors.InternalError('not this one');
      }
    }
    await expect(tf.train.MonitoredTrainingSession({ hooks: [new Refusing()] })).rejects.toThrow('not this one');
    expect(seen.coord!.shouldStop()).toBe(true);
    await expect(seen.session!.run(gs)).rejects.toThrow(/Session has been closed/);
  });

  it('takes the end of the data as the end of the loop', async () => {
    model();
    const ended: string[] = [];
    class Watcher extends tf.train.SessionRunHook {
      override beforeRun() {
        if (ended.length === 0) throw new tf.errors.OutOfRangeError('no more data');
      }
      override end() {
        ended.push('end');
      }
    }
    const result = await tf.train.MonitoredTrainingSession({ hooks: [new Watcher()] }, async (sess) => {
      while (!sess.shouldStop()) await sess.run('loss:0');
      return 'unreachable';
    });
    expect(result).toBeUndefined();
    expect(ended).toEqual(['end']);
  });

  it('calls step functions with the session and with hooks', async () => {
    const { train, loss } = model();
    const hook = new tf.train.StopAtStepHook({ numSteps: 3 });
    const sess = new tf.train.MonitoredSession({ hooks: [hook] });
    const before = await sess.runStepFn(async (context) => {
      const value = Number(await context.session.run(loss));
      await context.runWithHooks(train);
      return value;
    });
    expect(before).toBe(5);
    await expect(sess.runStepFn((context) => context.requestStop())).rejects.toThrow(
      /requested the iterations to stop/,
    );
    while (!sess.shouldStop()) await sess.run(train);
    await expect(sess.run(train)).rejects.toThrow(/even after should_stop requested/);
    expect(Number(await sess.graph!.getCollection('global_step').length)).toBe(1);
    await sess.close();
    expect(sess.shouldStop()).toBe(true);
    expect(sess.graph).toBeNull();
    await expect(sess.run(train)).rejects.toThrow(/Session is already closed/);
  });

  it('says what a model lacks', async () => {
    const v = new tf.Variable(1, { name: 'lonely' });
    const scaffold = new tf.train.Scaffold({ initOp: tf.noOp() });
    const sess = new tf.train.MonitoredSession({ sessionCreator: new tf.train.ChiefSessionCreator({ scaffold }) });
    await expect(sess.run(v)).rejects.toThrow(/Variables not initialized: lonely/);
    expect(tf.getDefaultGraph().isFinalized).toBe(false);
  });

  it('refuses options that nobody reads, and two feeds of one tensor', async () => {
    expect(() => new tf.train.MonitoredSession({ hook: [] } as object)).toThrow(/Did you mean 'hooks'/);
    await expect(tf.train.MonitoredTrainingSession({ checkpointdir: folder } as object)).rejects.toThrow(
      /checkpointDir/,
    );
    const x = tf.placeholder(tf.float32, [], { name: 'x' });
    const hooks = [new tf.train.FeedFnHook(() => [[x, 1]])];
    await using sess = new tf.train.MonitoredSession({ hooks });
    expect(Number(await sess.run(x))).toBe(1);
    await expect(sess.run(x, [[x, 2]])).rejects.toThrow(/Same tensor is fed by a SessionRunHook and user.*x:0/);
  });

  it('refuses what is not a hook before it calls one, and says what it got', async () => {
    model();
    class Hook extends tf.train.SessionRunHook {
      override begin(): void {
        throw new Error('called');
      }
    }
    const given = (...hooks: unknown[]) =>
      tf.train.MonitoredTrainingSession({ hooks: hooks as tf.train.SessionRunHook[] });
    await expect(given(new Hook(), Hook)).rejects.toThrow(
      /hooks has \[class Hook extends SessionRunHook\] in it, which is not a hook: it has no begin, afterCreateSession, .*give an instance of it/,
    );
    await expect(given({ begin() {}, end() {} })).rejects.toThrow(/no afterCreateSession, beforeRun, afterRun\./);
    await expect(given(null)).rejects.toThrow(tf.errors.InvalidArgumentError);
    const one = { hooks: new Hook() } as object;
    expect(() => new tf.train.SingularMonitoredSession(one)).toThrow(/hooks must be an array, but it is Hook {}/);
  });

  it('lets a worker wait for its chief, no longer than it is told', { timeout: 25_000 }, async () => {
    model();
    const creator = new tf.train.WorkerSessionCreator({ maxWaitSecs: 0 });
    // In this process nobody else initializes the variables of a new session.
    await expect(new tf.train.MonitoredSession({ sessionCreator: creator }).run('loss:0')).rejects.toThrow(
      /Session was not ready after waiting 0 secs.*not initialized: w, global_step/,
    );
  });

  it('runs one session of one machine that can be had', async () => {
    const { train, w } = model();
    await using sess = new tf.train.SingularMonitoredSession({ checkpointDir: folder });
    await sess.run(train);
    const raw = sess.rawSession()!;
    expect(((await raw.run(w)) as tf.NDArray).toArray()).toEqual([0.5, -1]);
  });
});

describe('Supervisor', () => {
  it('leaves the nodes, files and events of TensorFlow', async () => {
    const { train } = model();
    const supervisor = new tf.train.Supervisor({ logdir: folder, saveSummariesSecs: 0, saveModelSecs: 0 });
    await supervisor.managedSession(async (sess) => {
      await sess.run(train);
    });
    expect(nodes()).toEqual(golden.supervised.nodes);
    expect(files()).toEqual(golden.supervised.files);
    expect(await events()).toEqual(golden.supervised.events);
  });

  it('writes checkpoints and summaries by the clock, and begins again at the last', async () => {
    const { train, w } = model();
    const sv = new tf.train.Supervisor({ logdir: folder, saveSummariesSecs: 100, saveModelSecs: 100 });
    let steps = 0;
    const added = vi.spyOn(sv.summaryWriter!, 'addSummary');
    const isRecorded = () => added.mock.calls.some(([summary]) => summary instanceof tf.NDArray);
    await tf.train.basicTrainLoop(sv, async (sess) => {
      await sess.run(train);
      // The tasks that write are started beside the loop, and a loop this short would end before they begin.
      if (++steps >= 3 && tf.train.latestCheckpoint(folder) && isRecorded()) sv.requestStop();
    });
    const last = tf.train.latestCheckpoint(folder)!;
    expect(last).toMatch(/model\.ckpt-\d+$/);
    const saved = await tf.train.loadVariable(last, 'w');
    const restored = await sv.managedSession('', { startStandardServices: false }, async (sess) => {
      await sv.summaryComputed(sess, { value: [{ tag: 'mine', simpleValue: 1 }] });
      return await sess.run(w);
    });
    expect(restored).toEqual(saved);
    const listed = JSON.stringify(await events());
    expect(listed).toContain('"losses/total"');
    expect(listed).toContain('"mine"');
    expect(listed).toContain('"session_log",0,1');
  });

  it('throws the errors of its tasks and of its loop', async () => {
    model();
    const sv = new tf.train.Supervisor({ logdir: folder });
    await expect(
      sv.managedSession(async () => {
        throw new tf.errors.InternalError('in the loop');
      }),
    ).rejects.toThrow('in the loop');
    await expect(
      sv.managedSession(async () => {
        sv.loop(null, () => {
          throw new tf.errors.InternalError('in a task');
        });
        await sv.waitForStop();
      }),
    ).rejects.toThrow('in a task');
  });

  it('tries a step again when a server goes away', async () => {
    model();
    const sv = new tf.train.Supervisor({});
    let calls = 0;
    await tf.train.basicTrainLoop(
      sv,
      (_sess, by: number) => {
        calls += by;
        if (calls === 2) throw new tf.errors.AbortedError('gone');
        if (calls === 6) sv.requestStop();
      },
      { args: [2] },
    );
    expect(calls).toBe(6);
  });
});
