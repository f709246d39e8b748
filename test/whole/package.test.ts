/** @file The package as others import it: the files that package.json names, joined by tools/bundle.mjs. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = new URL('../..', import.meta.url);
const { exports, bin } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
const library = new URL(exports['.'].default, root);

/** What a program of its own prints. */
async function printed(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.trim();
}

describe.skipIf(!existsSync(library))('the package', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'package-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function program(...lines: readonly string[]): string {
    const file = join(folder, 'program.mjs');
    writeFileSync(file, [`import * as tf from '${library.href}';`, ...lines].join('\n'));
    return file;
  }

  it('computes and differentiates', async () => {
    const file = program(
      'const w = new tf.Variable([[1.5, -2]]);',
      'const loss = tf.reduceSum(tf.square(w.matmul([[3], [1]])));',
      'const step = new tf.train.GradientDescentOptimizer(0.125).minimize(loss);',
      'const sess = new tf.Session();',
      'await sess.run(tf.globalVariablesInitializer());',
      'await sess.run(step);',
      'console.log(JSON.stringify((await sess.run(w)).toArray()));',
    );
    expect(await printed(file)).toBe('[[-0.375,-2.625]]');
  });

  it("knows the user's lines from its own", async () => {
    const file = program('const x = tf.layers.dense(tf.zeros([1, 2]), 3);', 'console.log(x.op.createdAt);');
    expect(await printed(file)).toBe(`${file}:2:21`);
  });

  it('explains flags under the file that defines them', async () => {
    const file = program("tf.flags.DEFINE_integer('steps', 3, 'How many.');", 'console.log(tf.flags.flagsHelp());');
    expect((await printed(file)).split('\n')[0]).toBe('program.mjs:');
  });

  it('has types that need no other package and no newer library than the program has', async () => {
    const options = { strict: true, module: 'nodenext', target: 'es2022', lib: ['es2022'], types: [], noEmit: true };
    const types = new URL(exports['.'].types, root).pathname;
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(
      join(folder, 'program.ts'),
      "import * as tf from 'tensorloom';\nnew tf.Session({ graph: new tf.Graph() }).close();\n",
    );
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...options, paths: { tensorloom: [types] } }, files: ['program.ts'] }),
    );
    const compiler = new URL('node_modules/typescript/bin/tsc', root).pathname;
    const said = await printed(compiler, '-p', folder).catch((error: { stdout: string }) => error.stdout);
    expect(said).toBe('');
  });

  it('does not load gRPC before there is a server', async () => {
    const lines = [
      "import { createRequire } from 'node:module';",
      'const loaded = Object.keys(createRequire(import.meta.url).cache);',
    ];
    const file = program(...lines, "console.log(loaded.filter((name) => name.includes('grpc')).length);");
    expect(await printed(file)).toBe('0');
  });

  it('has a command', async () => {
    expect(await printed(new URL(bin.tensorloom, root).pathname, '--help')).toContain('serve');
  });
});
