/** @file Graphs with functions, branches and loops that TensorFlow built: the same values as TensorFlow's, run after run. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as tf from '../../src/api/index.ts';
import type { Nested } from '../../src/core/ndarray.ts';
import type { FeedValue } from '../../src/runtime/feeds.ts';

interface Golden {
  readonly name: string;
  readonly graph: string;
  readonly init: string | null;
  readonly feeds: readonly Record<string, Nested>[];
  readonly fetches: readonly string[];
  readonly results: readonly (readonly Nested[])[];
}
const cases = JSON.parse(readFileSync(new URL('../golden/functionalGraphs.json', import.meta.url), 'utf8')) as Golden[]; // written by tools/golden/functional_graphs.py

const flat = (value: unknown): number[] => (Array.isArray(value) ? value.flatMap(flat) : [Number(value)]);

describe.each(cases)('$name', ({ graph: bytes, init, feeds, fetches, results }) => {
  test.each([true, false])('runs as in TensorFlow, simplified: %s', async (simplify) => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(tf.GraphDef.decode(Buffer.from(bytes, 'base64')), { name: '' }));
    const sess = new tf.Session({ graph, config: { graphOptions: { simplify } } });
    if (init) await sess.run(init);
    for (const [k, feed] of feeds.entries()) {
      const fed = Object.entries(feed).map(([name, value]) => [`${name}:0`, value as FeedValue] as const); // nested numbers
      const values = await sess.run([...fetches], new Map(fed));
      for (const [i, value] of values.entries()) {
        const wanted = flat(results[k]![i]);
        const got = flat((value as { toArray(): unknown }).toArray());
        expect(got.length, fetches[i]).toBe(wanted.length);
        for (const [j, w] of wanted.entries()) expect(got[j]! - w, `${fetches[i]} run ${k}`).toBeCloseTo(0, 4);
      }
    }
  });
});
