/** @file A pipeline of tf.data as work for a row. */
import * as tf from '../../src/api/index.ts';
import type { Work } from './row.ts';

/** Runs a pipeline from its beginning to its end. */
export function pipeline(make: () => tf.data.Dataset): Work {
  const graph = new tf.Graph();
  const { iterator, next } = graph.asDefault(() => {
    const made = make().makeInitializableIterator();
    const [first] = [made.getNext()].flat() as tf.Tensor[]; // one tensor, or a list of them
    return { iterator: made, next: first! };
  });
  const session = new tf.Session({ graph, config: { intraOpParallelismThreads: 1, interOpParallelismThreads: 1 } });
  const begin = session.makeCallable(iterator.initializer);
  const step = session.makeCallable(next.op);
  return {
    async run() {
      await begin();
      try {
        for (;;) await step();
      } catch (error) {
        if (!(error instanceof tf.errors.OutOfRangeError)) throw error;
      }
    },
    close: () => session.close(),
  };
}
