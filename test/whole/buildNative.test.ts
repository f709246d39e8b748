/** @file The build of the native library: what it compiles again and removes, with a compiler that only writes files; what Clang says. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const root = new URL('../..', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'tensorloom-build-'));
const arch = `test${process.pid}`;
const output = join(root, 'build', `native-${arch}`);
const objects = join(output, 'objects');
afterAll(() => {
  for (const made of [folder, output]) rmSync(made, { recursive: true, force: true });
});

/** Writes what it is told to write and counts how often it compiles. */
const compiler = join(folder, 'compiler');
const count = join(folder, 'count');
writeFileSync(
  compiler,
  `#!/bin/sh
[ "$1" = --version ] && echo pretends && exit
for last; do :; done
case "$*" in *" -c "*) echo >> '${count}' ;; esac
echo > "$last"
`,
);
chmodSync(compiler, 0o755);

/** How many files it has compiled. */
function build(): number {
  writeFileSync(count, '');
  const env = { ...process.env, TENSORLOOM_ARCH: arch, CXX: compiler };
  execFileSync(process.execPath, [join(root, 'tools/buildNative.mjs')], { env, stdio: 'pipe' });
  return readFileSync(count).length; // a line break each
}

it.skipIf(process.platform === 'win32')('keeps what another build under way may want', () => {
  const compiled = build();
  expect(compiled).toBeGreaterThan(50);
  const own = readdirSync(objects);
  expect(own).toHaveLength(compiled);
  const old = (name: string) => utimesSync(join(objects, name), 1, 1);
  for (const name of ['fresh.o', 'fresh.o.123', 'left.o', 'left.o.123']) writeFileSync(join(objects, name), '');
  for (const name of ['left.o', 'left.o.123', ...own]) old(name);
  rmSync(join(output, 'stamp'));
  rmSync(join(objects, own[0]!));
  expect(build()).toBe(1);
  expect(readdirSync(objects).sort()).toEqual([...own, 'fresh.o', 'fresh.o.123'].sort());
  expect(build()).toBe(0);
  expect(readdirSync(output).filter((name) => name.startsWith('lib'))).toHaveLength(1);
  expect(existsSync(join(output, 'stamp'))).toBe(true);
});

const noClang = spawnSync('clang++', ['--version']).status !== 0;
it.skipIf(noClang)(
  'has vectors that Clang understands, the only compiler of many machines',
  () => {
    const native = join(root, 'native');
    const files = readdirSync(native, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.simd.cpp'),
    );
    expect(files.length).toBeGreaterThan(10);
    const { stderr } = spawnSync('clang++', ['-std=c++17', '-fsyntax-only', '-DTL_SIMD=portable', ...files], {
      cwd: native,
      encoding: 'utf8',
    });
    expect(stderr.match(/^.* error: .*$/gm)).toBeNull();
  },
  60_000,
);
