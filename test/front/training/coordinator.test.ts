/** @file Coordinator and LooperThread: stopping together, and which error is handed on. */
import { describe, expect, it } from 'vitest';
import { DeadlineExceededError, InternalError, OutOfRangeError } from '../../../src/core/errors.ts';
import { Coordinator, LooperThread } from '../../../src/front/training/coordinator.ts';
import { BackgroundTask } from '../../../src/front/training/task.ts';

const untilStopped = (coord: Coordinator) => async () => {
  await coord.waitForStop();
};

describe('Coordinator', () => {
  it('joins tasks that end by themselves, without a stop', async () => {
    const coord = new Coordinator();
    let done = 0;
    const tasks = [1, 2].map((n) =>
      new BackgroundTask(async () => {
        done += n;
      }).start(),
    );
    await coord.join(tasks);
    expect(done).toBe(3);
    expect(coord.shouldStop()).toBe(false);
    expect(coord.joined).toBe(true);
  });

  it('joins registered tasks, plain promises and given ones once a stop is requested', async () => {
    const coord = new Coordinator();
    const task = new BackgroundTask(untilStopped(coord)).start();
    coord.registerThread(task);
    const promise = untilStopped(coord)();
    coord.requestStop();
    await coord.join([promise]);
    expect(task.isAlive).toBe(false);
    expect(await coord.waitForStop(0)).toBe(true);
  });

  it('throws the first error that was reported, wherever it is asked for', async () => {
    const coord = new Coordinator();
    const first = new InternalError('first');
    await coord.stopOnException(() => {
      throw first;
    });
    coord.requestStop(new InternalError('second'));
    expect(() => coord.raiseRequestedException()).toThrow(first);
    await expect(coord.join()).rejects.toBe(first);
    expect(() => coord.requestStop(new InternalError('late'))).toThrow('late');
    coord.clearStop();
    expect(coord.shouldStop()).toBe(false);
    await coord.join();
  });

  it('takes the end of the data as a clean stop, or whatever it is told', async () => {
    const coord = new Coordinator();
    await coord.stopOnException(() => Promise.reject(new OutOfRangeError('end')));
    expect(coord.shouldStop()).toBe(true);
    await coord.join();
    const strict = new Coordinator({ cleanStopExceptionTypes: [InternalError] });
    strict.requestStop(new OutOfRangeError('end'));
    await expect(strict.join()).rejects.toThrow('end');
  });

  it('names the tasks that do not stop in time', async () => {
    const coord = new Coordinator();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const task = new BackgroundTask(() => held, { name: 'reader' }).start();
    coord.requestStop();
    await expect(coord.join([task], { stopGracePeriodSecs: 0.01 })).rejects.toThrow(DeadlineExceededError);
    await coord.join([task], { stopGracePeriodSecs: 0.01, ignoreLiveThreads: true });
    expect(task.isAlive).toBe(true);
    release();
    await task.ended;
  });
});

describe('LooperThread', () => {
  it('loops until the coordinator stops; errors stop it', async () => {
    const coord = new Coordinator();
    let rounds = 0;
    LooperThread.loop(coord, null, () => {
      if (++rounds === 3) coord.requestStop();
    });
    await coord.join();
    expect(rounds).toBe(3);
    const failing = new Coordinator();
    LooperThread.loop(failing, 100, () => {
      throw new InternalError('in the loop');
    });
    await expect(failing.join()).rejects.toThrow('in the loop');
  });

  it('calls the methods of a derived class, the first round at once', async () => {
    const coord = new Coordinator();
    const calls: string[] = [];
    class Mine extends LooperThread {
      override startLoop = () => calls.push('start');
      override runLoop = () => {
        calls.push('run');
        coord.requestStop();
      };
      override stopLoop = () => calls.push('stop');
    }
    new Mine(coord, 100).start();
    await coord.join();
    expect(calls).toEqual(['start', 'run', 'stop']);
  });
});
