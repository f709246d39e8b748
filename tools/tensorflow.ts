/** @file Finds a Python with TensorFlow and runs scripts in it. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A Python that can import TensorFlow, or why there is none. `TENSORFLOW_PYTHON` names one. */
export function findTensorFlow(): { readonly python: string } | { readonly reason: string } {
  const asked = process.env['TENSORFLOW_PYTHON'];
  const candidates = asked ? [asked] : ['/opt/tfenv/bin/python', 'python3'];
  for (const python of candidates) {
    if (python.includes('/') && !existsSync(python)) continue;
    const found = spawnSync(python, [
      '-c',
      'import importlib.util as u, sys; sys.exit(u.find_spec("tensorflow") is None)',
    ]);
    if (found.status === 0) return { python };
  }
  return {
    reason: `no Python with TensorFlow found (tried ${candidates.join(', ')}); set TENSORFLOW_PYTHON to one to run this check`,
  };
}

/** Runs a Python script with its output on the terminal; gives its exit code. */
export function runPython(python: string, script: string, args: readonly string[]): number {
  const { status } = spawnSync(python, [script, ...args], {
    stdio: 'inherit',
    env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: '3', TF_ENABLE_ONEDNN_OPTS: '0', CUDA_VISIBLE_DEVICES: '' },
  });
  return status ?? 1;
}

/** A folder of its own for `body`, removed afterwards: several checks may run at once. */
export async function withTemporaryFolder<T>(body: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'tensorloom-'));
  try {
    return await body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
