/** @file Whatever happens while a checkpoint is written, the last complete one is there and the `checkpoint` file names it. */
import { spawn } from 'node:child_process';
import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from 'tensorloom';
import { build } from 'vite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { float32 } from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { removeCheckpoint, writeCheckpointState } from '../../src/io/checkpoints.ts';
import { mergeBundles, writeBundle } from '../../src/io/tensorBundle.ts';

// In memory, where there is such a place: the disk is not what is tested.
const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(place, 'tensorloom-atomic-'));
  tf.resetDefaultGraph();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The step that the latest checkpoint holds in all its values. */
async function latestStep(): Promise<number> {
  const path = tf.train.latestCheckpoint(folder);
  expect(path, `in ${readdirSync(folder)}`).not.toBe(null);
  const names = (await tf.train.listVariables(path!)).map(({ name }) => name);
  const values = new Set<number>();
  for (const name of names) for (const x of (await tf.train.loadVariable(path!, name)).numbers()) values.add(x);
  expect([names.length, values.size]).toEqual([2, 1]);
  return [...values][0]!;
}

describe('a process that is killed', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const cache = join(root, 'node_modules', '.cache');
  let outDir = '';
  beforeAll(async () => {
    mkdirSync(cache, { recursive: true });
    outDir = mkdtempSync(join(cache, 'tensorloom-saving-'));
    const ssr = join(root, 'test/whole/savingForever.ts');
    await build({ root, configFile: false, logLevel: 'error', build: { ssr, outDir, emptyOutDir: true } });
  }, 120_000);
  afterAll(() => rmSync(outDir, { recursive: true, force: true }));

  test.each(['steps', 'same', 'shards'])(
    'while it saves (%s) leaves a whole checkpoint',
    { timeout: 120_000 },
    async (manner) => {
      for (let kill = 0; kill < 3; kill++) {
        const child = spawn(process.execPath, [join(outDir, 'savingForever.js'), folder, manner]);
        let said = '';
        let complaint = '';
        child.stderr.on('data', (data: Buffer) => (complaint += data));
        await new Promise<void>((resolve, reject) => {
          child.stdout.on('data', (data: Buffer) => {
            // After its first checkpoint, at a moment that nobody chose.
            if (said === '') setTimeout(() => child.kill('SIGKILL'), Math.random() * 80);
            said += data;
          });
          // All that it said is there only at the close; the process may exit before it is read.
          child.on('close', (_code, signal) => (signal === 'SIGKILL' ? resolve() : reject(new Error(complaint))));
        }).finally(() => child.kill('SIGKILL'));
        const last = Number(said.trim().split('\n').at(-1));
        // The one it spoke of, or the next if it died between saving and speaking.
        expect([last, last + 1]).toContain(await latestStep());
      }
    },
  );
});

/** Functions of the file system that change something. */
const writing = ['mkdir', 'open', 'writeFile', 'rename', 'rm', 'rmdir', 'link'] as const;

/** Lets the nth change of the file system, and all after it, not happen: what is on disk is what a kill would leave. */
async function dyingAt(n: number, body: () => Promise<void>): Promise<'died' | 'done'> {
  const real = Object.fromEntries(writing.map((name) => [name, fs.promises[name]])) as Record<string, unknown>;
  let count = 0;
  let die = () => {};
  // A killed process has its files closed; one that only stands still must do it itself.
  const opened: Promise<fs.promises.FileHandle>[] = [];
  const death = new Promise<'died'>((resolve) => (die = () => resolve('died')));
  for (const name of writing)
    Object.assign(fs.promises, {
      [name]: (...args: unknown[]) => {
        if (++count < n) {
          const result: unknown = Reflect.apply(real[name] as () => unknown, fs.promises, args); // saved above
          if (name === 'open') opened.push(result as Promise<fs.promises.FileHandle>); // what `open` gives
          return result;
        }
        die();
        return new Promise(() => {});
      },
    });
  syncBuiltinESMExports();
  try {
    return await Promise.race([death, body().then(() => 'done' as const)]);
  } finally {
    Object.assign(fs.promises, real);
    syncBuiltinESMExports();
    for (const handle of await Promise.all(opened)) await handle.close();
  }
}

const filled = (step: number) => new NDArray(float32, [1000], new Float32Array(1000).fill(step));
const tensors = (step: number) => ['a', 'b'].map((name) => ({ name, array: filled(step) }));

describe('at every change of the file system', () => {
  /** What a saver does, without the graph. */
  const manners: Record<string, (step: number) => Promise<void>> = {
    async steps(step) {
      const path = join(folder, `m-${step}`);
      await writeBundle(path, tensors(step));
      await writeCheckpointState(folder, path, { allModelCheckpointPaths: [join(folder, `m-${step - 1}`), path] });
      await removeCheckpoint(join(folder, `m-${step - 2}`));
    },
    async same(step) {
      await writeBundle(join(folder, 'm'), tensors(step));
      await writeCheckpointState(folder, join(folder, 'm'));
    },
    async shards(step) {
      const parts = [0, 1].map((i) => join(folder, 'm_temp', `part-0000${i}-of-00002`));
      for (const [i, part] of parts.entries()) await writeBundle(part, [tensors(step)[i]!]);
      await mergeBundles(parts, join(folder, 'm'), { deleteFolders: true, allowMissing: false });
      await writeCheckpointState(folder, join(folder, 'm'));
    },
  };
  for (const [name, save] of Object.entries(manners))
    test(`(${name})`, async () => {
      let deaths = 0;
      let step = 2;
      await save(1);
      await save(2);
      for (let n = 1; ; n++) {
        step++;
        const outcome = await dyingAt(n, () => save(step));
        expect([step - 1, step], `after change ${n}`).toContain(await latestStep());
        if (outcome === 'done') break;
        deaths++;
        // The next attempt goes well, over whatever was left.
        await save(step);
        expect(await latestStep()).toBe(step);
      }
      expect(deaths).toBeGreaterThan(name === 'steps' ? 8 : 6);
    });
});

describe('saving that fails', () => {
  async function program() {
    const v = tf.getVariable('v', [1000], { initializer: tf.onesInitializer() });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    return { v, sess, saver: new tf.train.Saver([v]) };
  }

  test('on a full disk says so and leaves nothing', async () => {
    const { sess, saver } = await program();
    const before = await saver.save(sess, join(folder, 'm'), { globalStep: 1 });
    const probe = await fs.promises.open(join(folder, 'probe'), 'w');
    const handle = Object.getPrototypeOf(probe) as { write(...args: unknown[]): unknown };
    await probe.close();
    rmSync(join(folder, 'probe'));
    const { write } = handle;
    const files = readdirSync(folder);
    let writes = 0;
    handle.write = function full(...args: unknown[]) {
      // Half of it fits.
      if (writes++ === 0) return Reflect.apply(write, this, [args[0], args[1], 1000]);
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    };
    try {
      await expect(saver.save(sess, join(folder, 'm'), { globalStep: 2 })).rejects.toThrow(
        /m-2; No space left on device\. What was there before is as it was/,
      );
    } finally {
      handle.write = write;
    }
    expect(writes).toBe(2);
    expect(readdirSync(folder)).toEqual(files);
    expect(tf.train.latestCheckpoint(folder)).toBe(before);
  });

  test('where a file is in the way, or a folder cannot be written, says so', async () => {
    const { sess, saver } = await program();
    writeFileSync(join(folder, 'file'), '');
    await expect(saver.save(sess, join(folder, 'file', 'm'))).rejects.toThrow(tf.errors.FailedPreconditionError);
    mkdirSync(join(folder, 'closed'));
    chmodSync(join(folder, 'closed'), 0o500);
    if (process.getuid?.() !== 0)
      await expect(saver.save(sess, join(folder, 'closed', 'm'))).rejects.toThrow(/Permission denied/);
    mkdirSync(join(folder, 'm.index'));
    await expect(saver.save(sess, join(folder, 'm'))).rejects.toThrow(/Is a directory/);
    expect(readdirSync(folder).sort()).toEqual(['closed', 'file', 'm.index']);
  });

  test('reads damaged files as damaged', async () => {
    const { sess, saver } = await program();
    const path = await saver.save(sess, join(folder, 'm'));
    const data = `${path}.data-00000-of-00001`;
    const bytes = readFileSync(data);
    writeFileSync(data, bytes.subarray(0, 3000));
    await expect(saver.restore(sess, path)).rejects.toThrow(tf.errors.DataLossError);
    bytes[2000]! ^= 1;
    writeFileSync(data, bytes);
    await expect(saver.restore(sess, path)).rejects.toThrow(/Checksum does not match: tensor v/);
    rmSync(data);
    await expect(saver.restore(sess, path)).rejects.toThrow(/No such file/);
    expect(existsSync(`${path}.index`)).toBe(true);
  });
});
