/** @file A native library that was built from other sources is used by nobody. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'tensorloom-other-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, 'libtensorloom.so');
const source =
  'extern "C" long long tl_version() { return 1; } extern "C" const char* tl_variant() { return "portable"; }';
const options = ['-shared', '-fPIC', '-o', path, '-x', 'c++', '-'];
const isBuilt = spawnSync(process.env['CXX'] || 'c++', options, { input: source }).status === 0;

it.skipIf(!isBuilt)('neither for files nor as a device', async () => {
  vi.resetModules();
  vi.stubEnv('TENSORLOOM_LIBRARY', path);
  try {
    const { nativeFunctions } = await import('../../src/io/native.ts');
    const { CpuDevice } = await import('../../src/devices/cpu/device.ts');
    expect(nativeFunctions()).toBeUndefined();
    expect(CpuDevice.open()).toBeUndefined();
    expect(CpuDevice.problem).toMatch(/it has version 1, but version \d+ is needed/);
  } finally {
    vi.unstubAllEnvs();
  }
});
