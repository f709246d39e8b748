/** @file Rows about checkpoints: a hundred megabytes of variables, saved and restored by a Saver. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '../../src/api/index.ts';
import type { Row, Work } from './row.ts';

const variables = 4;
const rows = 2500;
const columns = 2500;
const megabytes = (variables * rows * columns * 4) / 1e6;

async function prepared(
  folder: string,
  work: (saver: tf.train.Saver, session: tf.Session, prefix: string) => Promise<unknown>,
): Promise<Work> {
  const graph = new tf.Graph();
  const [saver, initialize] = graph.asDefault(() => {
    for (let i = 0; i < variables; i++)
      tf.getVariable(`v${i}`, [rows, columns], { initializer: tf.randomUniformInitializer(0, 1, { seed: i }) });
    return [new tf.train.Saver(), tf.globalVariablesInitializer()] as const;
  });
  const session = new tf.Session({ graph, config: { intraOpParallelismThreads: 1 } });
  await session.run(initialize);
  const ours = join(folder, 'ours');
  mkdirSync(ours, { recursive: true });
  const prefix = join(ours, 'model');
  await saver.save(session, prefix);
  return { run: () => work(saver, session, prefix), close: () => session.close() };
}

export const checkpointRows: readonly Row[] = [
  {
    name: 'checkpoint_saved',
    unit: 'MB',
    amount: megabytes,
    prepare: (folder) =>
      prepared(folder, (saver, session, prefix) => saver.save(session, prefix, { writeMetaGraph: false })),
  },
  {
    name: 'checkpoint_restored',
    unit: 'MB',
    amount: megabytes,
    prepare: (folder) => prepared(folder, (saver, session, prefix) => saver.restore(session, prefix)),
  },
];
