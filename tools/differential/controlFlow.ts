/**
 * @file Programs with branches and loops, and their first and second derivatives, built here: real TensorFlow runs the graphs
 * and must give what we give. `npm run differential:flow [-- PROGRAM …]`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '../../src/api/index.ts';
import { feeds, programs } from '../../test/front/controlFlow/programs.ts';
import { findTensorFlow, runPython, withTemporaryFolder } from '../tensorflow.ts';

/** A program as a graph, with what it gives here. */
async function record(name: string): Promise<unknown> {
  const graph = new tf.Graph();
  const built = graph.asDefault(() => {
    const { y, by } = programs[name]!();
    const derive = (ys: readonly tf.Tensor[]) =>
      tf
        .gradients(ys, by as never) // variables and tensors, mixed
        .filter((g) => g !== null)
        .map((g) => tf.convertToTensor(g));
    const first = derive([y]);
    const hasVariables = tf.globalVariables().length > 0;
    return { fetches: [y, ...first, ...derive(first)], init: hasVariables ? tf.globalVariablesInitializer() : null };
  });
  const session = new tf.Session({ graph });
  if (built.init) await session.run(built.init);
  const x = graph.getTensorByName('x:0');
  const values = [feeds.scalars, feeds.vectors, feeds.matrices][x.shape!.length]!;
  const results: unknown[] = [];
  for (const value of values) {
    const found = await session.run(built.fetches, new Map([[x, value]]));
    results.push(found.map((array) => array.toArray()));
  }
  return {
    name,
    graph: Buffer.from(tf.GraphDef.encode(graph.asGraphDef())).toString('base64'),
    init: built.init?.name ?? null,
    fetches: built.fetches.map((t) => t.name),
    feeds: values,
    results,
  };
}

const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : Object.keys(programs);
const found = findTensorFlow();
if ('reason' in found) console.log(`differential:flow: skipped, ${found.reason}`);
else
  await withTemporaryFolder(async (folder) => {
    const file = join(folder, 'programs.jsonl');
    const records: string[] = [];
    for (const name of names) records.push(JSON.stringify(await record(name)));
    writeFileSync(file, records.join('\n'));
    process.exitCode = runPython(found.python, 'tools/differential/controlFlow.py', [file]);
  });
