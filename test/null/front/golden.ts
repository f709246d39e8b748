/** @file Compares graphs and values with what real TensorFlow made of the same programs. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { expect } from 'vitest';

interface Golden {
  readonly nodes?: readonly string[];
  readonly collections?: Readonly<Record<string, readonly string[]>>;
  readonly values?: readonly (readonly unknown[])[];
}

/** What a case builds: what to fetch in each step, and what to feed. */
export interface Built {
  readonly fetches: readonly tf.Fetch[];
  /** Run in every step after the first so many fetches. */
  readonly updates?: tf.Operation | undefined;
  readonly after?: number | undefined;
  readonly feeds: readonly (readonly [tf.Tensor, unknown])[];
}

export function readGolden(family: string): Readonly<Record<string, Golden>> {
  const path = new URL(`../../golden/front/${family}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')) as Record<string, Golden>; // written by tools/golden/front.py
}

/** `name = Op(inputs)` per node, with inputs as positions. */
function nodesOf(graph: tf.Graph): string[] {
  const position = new Map(graph.operations.map((op, i) => [op.name, i]));
  return graph.operations.map((op) => {
    const inputs = op.nodeDef.input.map((text) => {
      const [, control, name, port] = /^(\^?)([^:]+)(:\d+)?$/.exec(text)!;
      return `${control}${position.get(name!)}${port ?? ''}`;
    });
    return `${op.name} = ${op.type}(${inputs.join(' ')})`;
  });
}

/** Names instead of positions, so that a difference can be read. */
function readable(nodes: readonly string[]): string[] {
  const names = nodes.map((n) => n.split(' = ')[0]!);
  return nodes.map((n) =>
    n.replace(
      /\((.*)\)$/,
      (_, list: string) =>
        `(${list.replace(/\^?\d+(?!\d*:)/g, (p) => p.replace(/\d+/, (i) => names[Number(i)] ?? i))})`,
    ),
  );
}

const nameOf = (item: unknown) => (item as { name: string }).name; // these collections hold named things

/** Builds a case in a graph of its own, compares the nodes and collections, then runs it as often as TensorFlow did. */
export async function expectAsInTensorFlow(golden: Golden, make: () => Built): Promise<void> {
  const graph = new tf.Graph();
  const { fetches, feeds, updates, after } = graph.asDefault(make);
  if (golden.nodes) expect(readable(nodesOf(graph))).toEqual(readable(golden.nodes));
  for (const [key, names] of Object.entries(golden.collections ?? {}))
    expect([key, graph.getCollection(key).map(nameOf)]).toEqual([key, names]);
  const sess = new tf.Session({ graph });
  await graph.asDefault(() => sess.run([tf.globalVariablesInitializer(), tf.localVariablesInitializer()]));
  for (const step of golden.values ?? []) {
    for (const [i, fetch] of fetches.entries()) {
      if (updates && i === after) await sess.run(updates, feeds as never); // the pairs are as they should be
      const value = (await sess.run(fetch, feeds as never)) as tf.NDArray; // every fetch is a tensor
      expectClose(value.toArray(), step[i]);
    }
  }
  await sess.close();
}

function expectClose(actual: unknown, wanted: unknown): void {
  if (Array.isArray(wanted)) {
    expect(actual).toHaveLength(wanted.length);
    for (const [i, w] of wanted.entries()) expectClose((actual as unknown[])[i], w);
  } else if (typeof wanted === 'number')
    expect(Math.abs(Number(actual) - wanted)).toBeLessThan(2e-6 * (1 + Math.abs(wanted)));
  else expect(actual).toEqual(wanted);
}
