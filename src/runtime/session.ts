/** @file Session: runs parts of a graph, with feeds and fetches in whatever structure the user likes. */
import type { DType } from '../core/dtypes.ts';
import type { NDArray } from '../core/ndarray.ts';
import { type Graph, getDefaultGraph } from '../graph/graph.ts';
import type { Tensor } from '../graph/tensor.ts';
import { toArray } from '../op/convert.ts';
import { openDevice } from './devices.ts';
import { Engine } from './engine.ts';
import { ResourceManager } from './resources.ts';

export class Session {
  readonly graph: Graph;
  private readonly engine: Engine;
  private sent = 0;
  constructor(options: { graph?: Graph } = {}) {
    this.graph = options.graph ?? getDefaultGraph();
    this.engine = new Engine(openDevice(), new ResourceManager());
  }
  async run(fetch: Tensor, feeds: readonly (readonly [Tensor, unknown])[] = []): Promise<NDArray> {
    const defs = this.graph.operations.slice(this.sent).map((op) => op.nodeDef);
    this.sent = this.graph.operations.length;
    this.engine.extend(defs);
    const executable = this.engine.prepare(
      feeds.map(([t]) => t.name),
      [fetch.name],
      [],
    );
    const arrays = feeds.map(([t, v]) => toArray(v as never, t.dtype as DType));
    const [result] = await executable.run(arrays);
    return result!;
  }
}
