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

/** What a program gives on a server of ours and in TensorFlow's own process. */
async function runBoth<T>(program: string, python: string): Promise<{ ours: T; theirs: T }> {
  const server = await tf.train.Server.createLocalServer();
  const script = fileURLToPath(new URL(program, import.meta.url));
  const { stdout } = await promisify(execFile)(python, [script, server.target]);
  await server.stop();
  const line = stdout.split('\n').find((text) => text.startsWith('RESULT '))!;
  return JSON.parse(line.slice('RESULT '.length)) as { ours: T; theirs: T }; // as the programs print
}

function close(a: readonly number[], b: readonly number[]): void {
  expect(a.length).toBe(b.length);
  for (const [i, x] of a.entries()) expect(x).toBeCloseTo(b[i]!, 4);
}

describe.skipIf('reason' in found)('a Python client', () => {
  it('trains here as it does in TensorFlow', { timeout: 120_000 }, async () => {
    if ('reason' in found) return;
    const { ours, theirs } = await runBoth<Outcome>('pythonClient.py', found.python);
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

  it('trains a recurrent net with loops, branches and reference variables of TensorFlow 1.x', {
    timeout: 120_000,
  }, async () => {
    if ('reason' in found) return;
    interface Training {
      history: number[][];
      weights: number[][];
      kinds: string[];
    }
    const { ours, theirs } = await runBoth<Training>('pythonFrames.py', found.python);
    expect(theirs.kinds).toEqual(['Enter', 'RefSwitch', 'StackPushV2', 'TensorArrayReadV3', 'VariableV2']);
    close(ours.history.flat(), theirs.history.flat());
    close(ours.weights.flat(), theirs.weights.flat());
    expect(theirs.history.at(-1)![0]).toBeLessThan(theirs.history[0]![0]!);
  });
});
