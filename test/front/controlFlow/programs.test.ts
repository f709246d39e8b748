/** @file Branches, loops and arrays give the values, derivatives and nodes that TensorFlow gives (tools/golden/controlFlow.py). */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';
import { feeds, programs } from './programs.ts';

interface Golden {
  /** Nodes of the program and its first derivatives. */
  readonly nodes: readonly string[];
  /** Of the nodes with the second derivatives too. */
  readonly digest: string;
  readonly runs: readonly (readonly unknown[])[];
}
const golden = JSON.parse(readFileSync(new URL('../../golden/controlFlow.json', import.meta.url), 'utf8')) as Record<
  string,
  Golden
>;

/** Python's functions also give out their arguments for the gradient; here the gradient takes them where the call did. */
const otherNodes = new Set(['functionCall', 'functionInLoop', 'loopInFunction', 'condInFunction']);

const rows = (graph: tf.Graph) =>
  graph.asGraphDef().node.map(({ name, op, input }) => `${name} ${op} ${input.join(' ')}`);

function isClose(found: number, wanted: number): boolean {
  return Math.abs(found - wanted) <= 2e-5 * Math.max(1, Math.abs(wanted));
}

const flat = (value: unknown): number[] => (Array.isArray(value) ? value.flatMap(flat) : [value as number]);

describe('programs', () => {
  for (const [name, build] of Object.entries(programs))
    it(name, async () => {
      const { nodes, digest, runs } = golden[name]!;
      const graph = new tf.Graph();
      const { fetches, hasVariables } = graph.asDefault(() => {
        const { y, by } = build();
        const dense = (gs: readonly (tf.Tensor | tf.IndexedSlices | null)[]) =>
          gs.map((g) => (g === null ? null : tf.convertToTensor(g)));
        const first = dense(tf.gradients(y, by as never));
        if (!otherNodes.has(name)) expect(rows(graph)).toEqual(nodes);
        const second = dense(
          tf.gradients(
            first.filter((g) => g !== null),
            by as never,
          ),
        );
        const all = createHash('sha256').update(rows(graph).join('\n')).digest('hex');
        if (!otherNodes.has(name)) expect(all).toBe(digest);
        return { fetches: [y, ...first, ...second], hasVariables: tf.globalVariables().length > 0 };
      });
      const session = new tf.Session({ graph });
      if (hasVariables) await session.run(graph.asDefault(() => tf.globalVariablesInitializer()));
      const x = graph.getTensorByName('x:0');
      const values = [feeds.scalars, feeds.vectors, feeds.matrices][x.shape!.length]!;
      for (const [k, value] of values.entries()) {
        const wanted = runs[k]!;
        const found = await session.run(fetches as tf.Tensor[], new Map([[x, value]]));
        for (const [i, t] of fetches.entries()) {
          expect(t === null).toBe(wanted[i] === null);
          if (t === null) continue;
          const [ours, theirs] = [flat(found[i]!.toArray()), flat(wanted[i])];
          expect(ours.length).toBe(theirs.length);
          for (const [j, v] of ours.entries())
            expect(isClose(v, theirs[j]!), `${t.name}: ${v} is not ${theirs[j]}`).toBe(true);
        }
      }
    });
});
