/** @file Graphs with control flow by frames that TensorFlow 1.x built: TensorFlow's values and errors, however they are run. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { OpError } from '../../src/core/errors.ts';
import type { Nested } from '../../src/core/ndarray.ts';

interface Step {
  readonly feeds: Readonly<Record<string, Nested>>;
  readonly fetches: readonly string[];
  readonly targets: readonly string[];
  readonly results?: readonly Nested[];
  readonly error?: { readonly code: number; readonly message: string };
}
interface Golden {
  readonly name: string;
  readonly graph: string;
  readonly steps: readonly Step[];
}
const cases = JSON.parse(readFileSync(new URL('../golden/frames.json', import.meta.url), 'utf8')) as Golden[]; // by tools/golden/frames.py

const flat = (value: unknown): unknown[] => (Array.isArray(value) ? value.flatMap(flat) : [value]);

/** Names of tensor arrays and stacks end in a number that counts all of the process. */
const comparable = (message: string) => message.split('\n')[0]!.replace(/(\w)_\d+(?=\b)/g, '$1_N');

function expectClose(got: unknown, wanted: Nested, what: string): void {
  const [ours, theirs] = [flat(got), flat(wanted)];
  expect(ours.length, what).toBe(theirs.length);
  for (const [i, value] of theirs.entries())
    if (typeof value === 'number')
      expect(Math.abs(Number(ours[i]) - value), `${what}[${i}]: ${ours[i]} for ${value}`).toBeLessThan(
        1e-5 * Math.max(1, Math.abs(value)),
      );
    else expect(ours[i], what).toBe(value);
}

describe.each(cases)('$name', ({ graph: bytes, steps }) => {
  test.each([true, false])('runs as in TensorFlow, simplified: %s', async (simplify) => {
    const graph = new tf.Graph();
    const definition = tf.GraphDef.decode(gunzipSync(Buffer.from(bytes, 'base64')));
    graph.asDefault(() => tf.importGraphDef(definition, { name: '' }));
    using sess = new tf.Session({ graph, config: { graphOptions: { simplify } } });
    for (const [k, { feeds, fetches, targets, results, error }] of steps.entries()) {
      const run = sess.run({ fetches: [...fetches], targets: [...targets] }, new Map(Object.entries(feeds)));
      if (error) {
        const thrown = await run.then(
          () => undefined,
          (e: unknown) => e,
        );
        expect(thrown, `step ${k}`).toBeInstanceOf(OpError);
        const { code, message } = thrown as OpError; // just checked
        expect([code, comparable(message)]).toEqual([error.code, comparable(error.message)]);
        continue;
      }
      const values = (await run).fetches as { toArray(): unknown }[]; // fetches of tensors are arrays
      for (const [i, value] of values.entries()) expectClose(value.toArray(), results![i]!, `step ${k}: ${fetches[i]}`);
    }
  });
});
