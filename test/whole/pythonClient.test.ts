/** @file TensorFlow's own Python client, unchanged, on our server: same random weights, same training, same errors. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { findTensorFlow } from '../../tools/tensorflow.ts';

interface Outcome {
  losses: number[];
  weights: number[][];
  classes: number[];
  called: number[];
  errors: Record<string, [string, string]>;
  partial: [number[][], number];
  text: boolean;
}

const found = findTensorFlow();
const script = fileURLToPath(new URL('pythonClient.py', import.meta.url));

describe.skipIf('reason' in found)('a Python client', () => {
  it('trains here as it does in TensorFlow', { timeout: 120_000 }, async () => {
    if ('reason' in found) return;
    const server = await tf.train.Server.createLocalServer();
    const { stdout } = await promisify(execFile)(found.python, [script, server.target]);
    await server.stop();
    const line = stdout.split('\n').find((text) => text.startsWith('RESULT '))!;
    const { ours, theirs } = JSON.parse(line.slice('RESULT '.length)) as { ours: Outcome; theirs: Outcome }; // as the script prints
    const close = (a: readonly number[], b: readonly number[]) => {
      expect(a.length).toBe(b.length);
      for (const [i, x] of a.entries()) expect(x).toBeCloseTo(b[i]!, 4);
    };
    close(ours.losses, theirs.losses);
    expect(ours.losses.at(-1)).toBeLessThan(ours.losses[0]! / 2);
    close(ours.weights.flat(), theirs.weights.flat());
    close(ours.partial[0].flat(), theirs.partial[0].flat());
    close([ours.partial[1]], [theirs.partial[1]]);
    expect(ours.classes).toEqual(theirs.classes);
    expect(ours.called).toEqual(theirs.classes);
    expect(ours.errors).toEqual(theirs.errors);
    expect(ours.errors['unfed']).toEqual(['InvalidArgumentError', 'x']);
    expect(ours.text).toBe(true);
  });
});
