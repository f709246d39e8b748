/** @file Graphs with control flow by frames that TensorFlow 1.x built: TensorFlow's values and errors, however they are run. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { OpError } from '../../src/core/errors.ts';
import { fromNested, type NDArray, type Nested } from '../../src/core/ndarray.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import type { Literal } from '../../src/graph/tensor.ts';
import { Engine } from '../../src/runtime/engine.ts';
import { ResourceManager } from '../../src/runtime/resources.ts';

interface Step {
  readonly feeds: Readonly<Record<string, Literal>>;
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

async function check(run: Promise<readonly unknown[]>, { fetches, results, error }: Step, what: string): Promise<void> {
  if (!error) {
    for (const [i, value] of (await run).entries())
      expectClose((value as NDArray).toArray(), results![i]!, `${what}: ${fetches[i]}`); // tensors are fetched as arrays
    return;
  }
  const thrown = await run.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(thrown, what).toBeInstanceOf(OpError);
  const { code, message } = thrown as OpError; // just checked
  expect([code, comparable(message)]).toEqual([error.code, comparable(error.message)]);
}

describe.each(cases)('$name', ({ name, graph: bytes, steps }) => {
  const definition = tf.GraphDef.decode(gunzipSync(Buffer.from(bytes, 'base64')));

  const isRandom = name.startsWith('random_');
  test.each(isRandom ? [true] : [true, false])('runs as in TensorFlow, simplified: %s', async (simplify) => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(definition, { name: '' }));
    using sess = new tf.Session({ graph, config: { graphOptions: { simplify } } });
    for (const [k, step] of steps.entries()) {
      const { feeds, fetches, targets } = step;
      const run = sess.run({ fetches: [...fetches], targets: [...targets] }, feeds);
      await check(
        run.then((r) => r.fetches as unknown[]), // of a list
        step,
        `step ${k}`,
      );
    }
  });

  test('runs as in TensorFlow, node by node', async () => {
    const engine = new Engine(new ReferenceDevice(), new ResourceManager(), { joinsNodes: false });
    engine.extend(definition.node, definition.library?.function ?? []);
    for (const [k, step] of steps.entries()) {
      const names = Object.keys(step.feeds);
      const executable = engine.prepare(names, step.fetches, step.targets);
      const feeds = names.map((name) => {
        const { node, index } = engine.graph.port(name, 'FeedInputs');
        return fromNested(step.feeds[name]!, node.outputs[index]!.dtype);
      });
      await check(executable.run(feeds), step, `step ${k}`);
    }
  });
});
